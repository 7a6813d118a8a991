"""How these functions take their operands."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tracejit import dtypes, ops, tree
from tracejit.errors import ArgumentError
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Var
from tracejit.ir.values import Value
from tracejit.numpy.boxes.layouts import as_numpys
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as tnp
from tracejit.numpy.dispatch import plain
from tracejit.numpy.operands import dtype_of, has_box, raw, shape_of
from tracejit.ops import _lazy
from tracejit.scipy.hosting.calls import parameters
from tracejit.tracing import Box, caller, to_raw

F = TypeVar("F", bound=Callable[..., Any])


def of_scipy(fn: F) -> F:
    """Decorator: SciPy's function of this name where no argument is traced, else `fn`."""

    def laid(scipys: Any, args: Any, kwargs: Any, out: Any) -> Any:
        return as_numpys(scipys, args, kwargs, out, ordered=True, regular=True)

    return _stand_in(fn, laid)


def of_scipy_in_order(fn: F) -> F:
    """The same of a function whose results lie in C order in memory: SciPy's is not asked, which draws at random."""
    return _stand_in(fn, lambda scipys, args, kwargs, out: out)


def _stand_in(fn: F, laid: Callable[..., Any]) -> F:
    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        scipys = getattr(_lazy.scipy_linalg(), fn.__name__)
        if has_box(args) or (kwargs and has_box(kwargs.values())):
            _refuse_narrow(fn.__name__, args, kwargs)
            _leave_infinite(scipys, args, kwargs)
            if stack := _stack_of(scipys, args, kwargs):
                return _over_stack(fn, laid, scipys, stack, args, kwargs)
            return laid(scipys, args, kwargs, fn(*args, **kwargs))
        return plain(scipys, args, kwargs)

    return call  # type: ignore[return-value]


def _stack_of(scipys: Any, args: Any, kwargs: Any) -> tuple[int, ...]:
    """The dimensions of the operands before those of a matrix, over which SciPy itself loops."""
    if not hasattr(scipys, "__wrapped__"):
        return ()
    cells = (cell.cell_contents for cell in scipys.__closure__ or ())
    said = dict(zip(scipys.__code__.co_freevars, cells, strict=True))
    shapes = []
    for n, (name, core) in enumerate(zip(said.get("names", ()), said.get("ndims", ()), strict=True)):
        x = args[n] if n < len(args) else kwargs.get(name)
        shape = () if x is None else shape_of(raw(x))
        shapes.append(shape[: len(shape) - (min(len(shape), 2) if core == "1|2" else core)])
    return np.broadcast_shapes(*shapes) if any(shapes) else ()


def _over_stack(
    fn: Any, laid: Callable[..., Any], scipys: Any, stack: tuple[int, ...], args: Any, kwargs: Any
) -> Any:
    """What SciPy gives for a stack of matrices: several results in a list, and all of them arrays."""
    try:
        out = fn(*args, **kwargs)
    except ValueError as e:
        problem = f"a stack of matrices has no traced form ({e})"
        raise ArgumentError(name=fn.__name__, problem=problem) from e
    several = out if isinstance(out, tuple) else (out,)
    several = tuple(
        tnp[np.copy](x) if type(x) is Box and x.chain else x for x in several
    )  # put together anew
    out = laid(scipys, args, kwargs, several if isinstance(out, tuple) else several[0])
    if not isinstance(out, tuple):
        return out
    return [x if type(x) is Box or isinstance(x, np.ndarray) else np.full(stack, x) for x in out]


#: Functions that compute with truth values, small and unsigned integers as SciPy's do.
_OF_ANY = frozenset({"block_diag", "circulant", "det", "expm", "khatri_rao", "norm", "toeplitz"})


def _refuse_narrow(name: str, args: Any, kwargs: Any) -> None:
    """Raises ArgumentError for operands of types that SciPy's functions treat each in its own way: some compute in
    single precision with truth values and integers of up to 16 bits, and negate unsigned ones as they are."""
    if name in _OF_ANY:
        return
    for x in tree.leaves((args, kwargs)):
        kind = x.aval.dtype if type(x) is Box else np.dtype(float)
        if kind.kind in "bu" or (kind.kind == "i" and kind.itemsize < 4) or kind.char == "e":
            problem = (
                f"SciPy computes with {kind} as each function decides; x.astype(float) has a traced form"
            )
            raise ArgumentError(name=name, problem=problem)


#: Functions that look for infinite numbers without being asked, as those that they call do.
_LOOKING = ("solve_continuous_lyapunov", "solve_lyapunov", "solve_sylvester", "tanhm", "tanm")


def _leave_infinite(scipys: Any, args: Any, kwargs: Any) -> None:
    """ValueError for operands that are not finite; programs leave them to Python, where SciPy raises it."""
    names = parameters(scipys)
    asked = scipys.__name__ in _LOOKING
    if "check_finite" in names:
        at = names.index("check_finite")
        asked = bool(kwargs.get("check_finite", args[at] if at < len(args) else True))
    xs = [x for x in tree.leaves((args, kwargs)) if type(x) is Box and dtypes.is_inexact(x.aval.dtype)]
    for x in xs if asked else ():
        bad = ops.compare.not_(ops.compare.isfinite(to_raw(x)))
        bad = ops.reduce.reduce_or(bad, axes=tuple(range(aval_of(bad).ndim)))
        if not isinstance(bad, Value):
            if bad:
                raise ValueError("array must not contain infs or NaNs")
        elif caller.does_over():
            leave_if(bad, "an error of SciPy's about infinite numbers")


def leave_if_ill(diagonal: Any) -> None:
    """Leave a matrix to Python that a factor with this diagonal makes ill-conditioned, where SciPy may warn: it does so
    by an estimate of the condition number, which is far from this only for matrices made for it."""
    if not shape_of(diagonal)[-1] or not caller.does_over():
        return
    size = ops.arithmetic.abs(diagonal)
    last = (len(shape_of(size)) - 1,)
    least, most = ops.reduce.reduce_min(size, axes=last), ops.reduce.reduce_max(size, axes=last)
    limit = 1e4 * float(np.finfo(dtype_of(size)).eps)
    bad = ops.compare.le(least, ops.arithmetic.mul(most, limit))
    axes = tuple(range(aval_of(bad).ndim))
    leave_if(ops.reduce.reduce_or(bad, axes=axes), "a warning of SciPy's about an ill-conditioned matrix")


def leave(name: str, x: Any, problem: str) -> None:
    """Raises ArgumentError for a raw operand that is not differentiated, if Python can take over: it has what the
    traced form has not."""
    if type(x) is Var and caller.does_over():
        raise ArgumentError(name=name, problem=problem)


def refuse(name: str, **options: Any) -> None:
    """Raises ArgumentError for options that are given and have no traced form."""
    for option, value in options.items():
        if value is not None and value is not False:
            raise ArgumentError(name=name, problem=f"{option}={value!r} is not available for traced values")
