"""Results that are views of other arrays, as JSON: the array, and which of its memory they show."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.api.exporting.values import Unstorable
from tracejit.api.jit.placing import Part
from tracejit.interpreters.jit_stored import DTYPES
from tracejit.ir.avals import Aval


class _Unknown:
    """Outputs that are not known before the program runs."""

    def __getitem__(self, n: int) -> Any:
        raise Unstorable("a view whose place is computed")


def describe(part: Any, base: Aval, like: np.ndarray | None = None) -> Any:
    """A part of an array of this type, in C order or as `like` lies in memory, as JSON. Raises Unstorable."""
    if type(part) is not Part:
        raise Unstorable("one of several arrays, as a condition says")
    if not base.is_static:
        raise Unstorable(
            "a view of an array whose size is computed or a name (a copy of it, `.copy()`, has one)"
        )
    whole = np.empty(base.shape, base.dtype) if like is None else np.empty_like(like)
    view: Any = part.made(whole, _Unknown())  # type: ignore[arg-type]
    if type(view) is not np.ndarray or view.dtype.name not in DTYPES:
        raise Unstorable(f"a view of the type {type(view).__name__}")
    offset = 0 if 0 in view.shape else view.ctypes.data - whole.ctypes.data
    strides = [0] * view.ndim if 0 in view.shape else list(view.strides)
    kind, n = part.base
    return [kind, n, view.dtype.name, list(view.shape), strides, offset, view.flags.writeable]


def make(d: Any, given: dict[str, Any]) -> np.ndarray:
    """The view of what a call was given and has computed; arrays among the arguments are in C order."""
    kind, n, dtype, shape, strides, offset, writeable = d
    base = np.asarray(given[kind][n])
    if not base.flags.c_contiguous:  # a captured array without gaps: its memory as C order has it
        base = base.transpose(np.argsort([-s for s in base.strides], kind="stable"))
    out = np.ndarray(tuple(shape), DTYPES[dtype], base, offset, tuple(strides))
    if not writeable:
        out.flags.writeable = False
    return out
