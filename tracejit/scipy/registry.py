"""How a name of scipy.special becomes a traced one. SciPy is imported when one of them is first called.

Without traced operands they are SciPy's own. With them, SciPy's ufunc says which dtypes it computes in
(integers in float64, float16 and float32 in float32), and the primitives of `ops` compute.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tracejit import dtypes
from tracejit.numpy.boxes.layouts import as_numpys
from tracejit.numpy.dispatch import plain
from tracejit.numpy.operands import broadcast_operands, convert, has_box, kind_of, promote, store
from tracejit.numpy.ufuncs import Ufunc, loop_dtypes
from tracejit.ops._lazy import scipy_special

F = TypeVar("F", bound=Callable[..., Any])

#: Name in scipy.special -> ours.
NAMES: dict[str, Any] = {}


class ScipyUfunc(Ufunc):
    """A ufunc of scipy.special. `fn` takes raw operands of one float dtype, of one shape or 0-d."""

    def __init__(self, name: str, fn: Callable[..., Any], nin: int, nout: int = 1) -> None:
        self.__name__ = name
        self.__doc__ = f"`scipy.special.{name}`, for traced values too."
        self.fn = fn
        self.nin = nin
        self.nout = nout
        self.smooth = False

    @functools.cached_property
    def np(self) -> np.ufunc:  # type: ignore[override]
        """SciPy's."""
        return getattr(scipy_special(), self.__name__)

    def apply(self, args: tuple[Any, ...], dtype: Any = None, casting: Any = None) -> Any:
        """The raw result(s) on operands of any kind."""
        kinds = tuple(map(kind_of, args))
        if dtypes.bfloat16 in kinds:  # SciPy has none
            target = promote(*kinds)
        else:
            target = loop_dtypes(self.np, kinds, dtype, casting)[-1]
        raws = broadcast_operands(self.__name__, [convert(a, target) for a in args])
        return self.fn(*raws)


def ufunc(name: str, fn: Callable[..., Any], nin: int = 1, nout: int = 1) -> ScipyUfunc:
    """Register the traced form of the ufunc `scipy.special.<name>`."""
    NAMES[name] = ScipyUfunc(name, fn, nin, nout)
    return NAMES[name]


def function(fn: F, own: frozenset[str] = frozenset()) -> F:
    """Register the traced form of the Python function of scipy.special that has the name of `fn`.

    `own`: keywords that SciPy does not have; calls with one are ours, traced or not.
    """
    name = fn.__name__

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        traced = has_box(args) or (kwargs and has_box(kwargs.values()))
        if not traced and not (own and own & kwargs.keys()):
            return plain(getattr(scipy_special(), name), args, kwargs)
        out = kwargs.pop("out", None)
        result = as_numpys(getattr(scipy_special(), name), args, kwargs, fn(*args, **kwargs))
        return result if out is None else store(out, result, name)

    if not call.__doc__:
        call.__doc__ = f"`scipy.special.{name}`, for traced values too."
    NAMES[name] = call
    return call  # type: ignore[return-value]
