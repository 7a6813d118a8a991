"""Classes with SciPy's names: while something is traced they make objects of ours, elsewhere SciPy's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError, SolverOptionError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.numpy.operands import judge_times
from tracejit.ops._lazy import scipy_module
from tracejit.ops.elementwise import compare
from tracejit.tracing import is_tracing, new_array, to_raw


class Like(type):
    """The class of the classes. `isinstance` holds for SciPy's objects, too."""

    #: SciPy's module, which is one of interpolation if the class does not say another.
    part = "interpolate"

    @property
    def theirs(cls) -> Any:
        """SciPy's class."""
        return getattr(scipy_module(cls.part), cls.__name__)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            return cls.theirs(*args, **kwargs)
        judge_times(cls.__name__, (*args, *kwargs.values()))
        return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, x: Any) -> bool:
        return super().__instancecheck__(x) or isinstance(x, cls.theirs)

    def made(cls, **fields: Any) -> Any:
        """An object of the class with these attributes."""
        out: Any = object.__new__(cls)  # type: ignore[arg-type]
        out.__dict__.update(fields)
        return out


def maker(fn: Callable[..., Any]) -> Any:
    """Decorator of a class method that makes objects or arrays: SciPy's own where nothing is traced."""

    @functools.wraps(fn)
    def call(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return fn(cls, *args, **kwargs)
        return getattr(cls.theirs, fn.__name__)(*args, **kwargs)

    return classmethod(call)


def refuse(function: str, problem: str, remedy: str = "leave it away") -> None:
    """Raises SolverOptionError."""
    raise SolverOptionError(function=function, problem=problem, remedy=remedy)


def require(good: Any, message: str) -> None:
    """Fail where the truth value `good` does not hold when the program runs: SciPy raises ValueError then."""
    fail_if(compare.eq(to_raw(tnp.asarray(good)), False), SolverFailedError, message)


def floats(x: Any) -> Any:
    """An array of floats or of complex numbers."""
    x = tnp.asarray(x)
    return x.astype(complex if x.dtype.kind == "c" else float)


def as_array(x: Any) -> Any:
    """An array, not a number, also without dimensions."""
    return new_array(to_raw(x))


def increasing(x: Any, what: str = "`x` must be strictly increasing sequence.") -> Any:
    """The breakpoints `x`, a vector of floats. The program fails where they do not increase."""
    x = tnp.asarray(x).astype(float)
    if x.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    require(tnp.all(x[1:] > x[:-1]) & tnp.all(tnp.isfinite(x)), what)
    return x


def placed(out: Any, points: int, axis: int) -> Any:
    """The result, with the `points` leading dimensions of the points at `axis` of the data's: a view, as of SciPy's."""
    out = as_array(out)
    if not axis:
        return out
    n = list(range(out.ndim))
    return out.transpose(n[points : points + axis] + n[:points] + n[points + axis :])
