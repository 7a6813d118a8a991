"""NumPy's scalar types as functions: `np.float64(x)`, `dtype.type(x)` of traced values."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.boxes.unsure import is_unsure
from tracejit.numpy.operands import cast
from tracejit.tracing import Box, box, to_raw

#: The largest number of an integer of Python's that is traced.
_LARGEST = int(np.iinfo(np.int64).max)


@functools.cache
def converter(cls: type[np.generic]) -> Callable[..., Any]:
    """What traced code calls for `cls(...)`: a scalar of a number or a 0-d array, an array of another array."""
    dtype = np.dtype(cls)

    def convert(*args: Any, **kwargs: Any) -> Any:
        if dtype.kind in "mM":
            time = None if kwargs else _time(dtype.kind, args)
            if time is not None:
                return time
            args = tuple(map(_known, args))  # NumPy refuses what stands for others
        if len(args) != 1 or kwargs or type(args[0]) is not Box or not _is_taken(args[0], dtype):
            return cls(*args, **kwargs)
        x: Any = args[0]
        if x.weak and dtype.kind in "iu" and dtype != dtypes.int64 and x.aval.dtype.kind == "i":
            limits = np.iinfo(dtype.str)
            beyond = (x < int(limits.min)) | (x > min(int(limits.max), _LARGEST))
            leave_if(to_raw(beyond), f"NumPy's error for a number that is no {dtype}")
        return x.astype(dtype, copy=False) if x.aval.shape else box(cast(x.read(), dtype))

    return convert


def _time(kind: str, args: tuple[Any, ...]) -> Any:
    """`np.datetime64(x, unit)` and `np.timedelta64(x, unit)` of a traced integer or time; None for others."""
    x = args[0] if args else None
    if type(x) is not Box or x.aval.shape or len(args) > 2 or not all(type(unit) is str for unit in args[1:]):
        return None
    if x.aval.dtype.kind == kind:
        return box(cast(x.read(), np.dtype(f"{kind}8[{args[1]}]")) if len(args) > 1 else x.read())
    if len(args) < 2 or x.aval.dtype.kind != "i" or is_unsure(x):
        return None
    return box(cast(x.read(), np.dtype(f"{kind}8[{args[1]}]")))


def _known(x: Any) -> Any:
    """The value of a traced integer or boolean; anything else as it is."""
    if type(x) is not Box or not (x.weak or x.scalar) or x.aval.dtype.kind not in "iub":
        return x
    if x.aval.dtype.kind == "b":
        return bool(x) if x.weak else np.bool_(bool(x))
    index: Any = operator.index
    return index(x)


def _is_taken(x: Box, target: np.dtype) -> bool:
    """Whether the conversion is `astype`'s. Integers of Python's that don't fit raise, and so do their NaN; complex
    numbers that become real warn."""
    kind, to = x.aval.dtype.kind, target.kind
    if (
        to not in "biufc" or np.dtype(target.str).char != target.char
    ):  # the long ones are refused, and long long
        return False
    if to in "iu" and x.weak:
        return not is_unsure(x) and kind in "bi"
    return kind != "c" or to in "bc"
