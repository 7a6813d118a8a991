"""Truth values that may be known only when the program runs."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.control.regions.staging import convert
from tracejit.frontend.rewrite.hooks.messages import fail_if
from tracejit.interpreters.stage import bounds_of
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.numbers import is_python
from tracejit.numpy.operands import dtype_of, result_type
from tracejit.tracing import Box, box


def asked(x: Any) -> Any:
    """What is to be true where `x` is a condition: for an object of a class with a `__bool__` or `__len__`, what that
    gives, which may be traced. Python itself takes nothing but True, False and integers there."""
    if type(x) in (Box, bool, int, float, str, list, tuple, dict, np.bool_):
        return x
    method = getattr(type(x), "__bool__", None)
    if method is None:
        out = length_of(x)
        return x if out is None else out
    method = getattr(method, "followed", method)
    return method(x) if isinstance(method, types.FunctionType) else x


class _Sized:
    """What `__len__` of a class of the user's has given, for Python to look at."""

    def __init__(self, out: Any) -> None:
        self.out = out

    def __len__(self) -> int:
        return self.out


def length_of(x: Any) -> Any:
    """What `len` gives for an object of a class of the user's with a `__len__`, which may be traced; None of other
    objects."""
    followed = getattr(getattr(type(x), "__len__", None), "followed", None)
    if followed is None:
        return None
    out = followed(x)
    if type(out) is not Box or out.aval.shape or out.aval.dtype.kind not in "iu" or truth(out) is not None:
        return len(_Sized(out))
    raw = convert(out.read(), dtypes.int64)
    known = bounds_of(raw)
    if known is None or known[0] < 0:
        fail_if(ops.compare.lt(raw, np.int64(0)), ValueError("__len__() should return >= 0"))
    return box(raw, weak=True)


def truth(x: Any) -> bool | None:
    """`bool(x)`; None if it is a traced value. Raises what `bool` raises."""
    if type(x) is not Box or extents.known(x.read()) is not None:
        return bool(x)
    return None if x.aval.is_static and x.aval.size == 1 else bool(x)


def raw_truth(x: Any) -> Any:
    """`bool(x)` as a raw value of no dimensions."""
    known = truth(x)
    if known is not None:
        return np.bool_(known)
    raw = x.read()
    if x.aval.shape:
        raw = ops.shape.squeeze(raw, dimensions=tuple(range(x.aval.ndim)))
    dtype = aval_of(raw).dtype
    return raw if dtype == dtypes.bool_ else ops.compare.ne(raw, dtype.type(0))


def need_select(xs: Sequence[Any]) -> bool:
    """Scalars of one dtype of which some are still unknown: Python's comparisons can be recorded.

    Python's numbers are of one kind: the type of the result depends on the values otherwise."""
    boxes = [x for x in xs if type(x) is Box]
    if not boxes or any(np.ndim(x) for x in xs) or all(extents.known(b.read()) is not None for b in boxes):
        return False
    try:
        dtype = result_type(*xs)
    except TypeError:
        return False
    if all(map(is_python, xs)):
        return len({dtype_of(x) for x in xs}) == 1
    return all(_fits(x, dtype) for x in xs)


def _fits(x: Any, dtype: np.dtype) -> bool:
    """Python's numbers, and boxes of them, give way to the other's precision, but not to its kind."""
    if type(x) is Box and x.weak:
        return x.aval.dtype.kind == dtype.kind
    return type(x) in (int, float) or dtype_of(x) == dtype
