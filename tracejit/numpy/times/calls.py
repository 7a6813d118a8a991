"""NumPy's functions of times that look at their elements, by those of the integers that they are.

What only moves elements (`where`, `concatenate`, `take`, indices) needs no rule here. What else looks at elements is
refused by the primitives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import NumberError, UnsupportedFunctionError
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import OF_TIMES
from tracejit.numpy.operands import cast, convert, dtype_of, promote, raw, shape_of
from tracejit.numpy.times.units import bits, instead, is_nat, of_bits, otherwise, plus, truncated
from tracejit.numpy.ufuncs import TABLE
from tracejit.ops.indexing.index_check import fail_where
from tracejit.records import record
from tracejit.tracing import new_array, wrap

_NOTHING = (None, True, False, np._NoValue)


def _refuse(name: str) -> Any:
    raise UnsupportedFunctionError(name=f"numpy.{name} of dates and times with these arguments")


def _plain_options(name: str, options: dict[str, Any], allowed: tuple[str, ...]) -> None:
    """Raises UnsupportedFunctionError for options that change what elements are."""
    for key, value in options.items():
        if key not in allowed and not any(value is x for x in _NOTHING):
            _refuse(name)


def _keys(x: Any, last: bool) -> Any:
    """Integers in the order of times; NaT is the smallest, or with `last` the largest."""
    n = bits(raw(x))
    return wrap(plus(n, -1) if last else n)


def _times(keys: Any, dtype: np.dtype, last: bool) -> Any:
    """The times of such integers."""
    out = wrap(of_bits(plus(raw(keys), 1) if last else raw(keys), dtype))
    out.scalar = keys.scalar
    return out


def _ordered(function: Any, last: bool, *allowed: str) -> Callable[..., Any]:
    """A function that gives some of the elements it is given."""

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        _plain_options(function.__name__, kwargs, ("axis", "keepdims", "kind", "stable", *allowed))
        return _times(NP[function](_keys(a, last), *args, **kwargs), dtype_of(raw(a)), last)

    return call


def _placed(function: Any, last: bool) -> Callable[..., Any]:
    """A function that gives the places of elements."""

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        return NP[function](_keys(a, last), *args, **kwargs)

    return call


def _unique(a: Any, *args: Any, **kwargs: Any) -> Any:
    if kwargs.pop("equal_nan", True) is not True or kwargs.get("size") is not None or len(args) > 3:
        _refuse("unique")
    found = NP[np.unique](_keys(a, True), *args, **kwargs)
    first, *others = found if type(found) is tuple else (found,)
    times = _times(first, dtype_of(raw(a)), True)
    return (times, *others) if others else times


def _searchsorted(a: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
    unit = promote(dtype_of(raw(a)), dtype_of(raw(v)))
    if unit.kind not in "mM":
        _refuse("searchsorted")
    return NP[np.searchsorted](*(_keys(wrap(convert(x, unit)), True) for x in (a, v)), *args, **kwargs)


# ---------------------------------------------------------------- sums


def _durations(name: str, a: Any) -> Any:
    """The integers of times of which there is a sum: not of dates."""
    x = raw(a)
    if dtype_of(x).kind != "m":
        _refuse(name)
    return bits(x)


@record(frozen=True)
class _Beyond:
    """The failure of a sum that may be beyond 64 bits: NumPy's is NaT where it passes that integer."""

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        return NumberError(message="a sum of times for which 64 bits are too few", where=where)


def _judge_sum(n: Any) -> None:
    """Let the program raise where the sum of these integers, NaT aside, may not fit in 64 bits."""
    known = instead(np.int64(0), is_nat(n), n)
    size = NP[np.sum](wrap(ops.arithmetic.abs(ops.create.convert(known, dtypes.float64))))
    fail_where(ops.compare.ge(raw(size), np.float64(2.0**62)), _Beyond())


def _total(name: str, a: Any, function: Any, axis: Any, keepdims: Any) -> Any:
    n = _durations(name, a)
    _judge_sum(n)
    total = function(wrap(n), axis, keepdims=keepdims)
    missing = NP[np.any](wrap(is_nat(n)), axis, keepdims=keepdims)
    return total, raw(missing)


def _sum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, **options: Any) -> Any:
    _plain_options("sum", {"dtype": dtype, **options}, ())
    total, missing = _total("sum", a, NP[np.sum], axis, keepdims)
    return wrap(of_bits(otherwise(missing, raw(total)), dtype_of(raw(a))))


def _mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, **options: Any) -> Any:
    _plain_options("mean", {"dtype": dtype, **options}, ())
    total, missing = _total("mean", a, NP[np.sum], axis, keepdims)
    shape = shape_of(raw(a))
    if not all(type(d) is int for d in shape):
        _refuse("mean")
    count = math.prod(shape) // max(math.prod(shape_of(total)), 1)  # type: ignore[arg-type]
    if not count or not math.prod(shape):  # type: ignore[arg-type]
        _refuse("mean")
    mean = truncated(raw(total), np.int64(count))
    return wrap(of_bits(otherwise(missing, mean), dtype_of(raw(a))))


def _median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    x = raw(a)
    if axis is None and keepdims is False:
        a, axis = NP[np.ravel](a), 0
    size: Any = shape_of(raw(a))[axis] if type(axis) is int else None
    if keepdims is not False or out is not None or type(size) is not int or not size:
        _refuse("median")
    middle = NP[np.take](NP[np.sort](a, axis), list(range((size - 1) // 2, size // 2 + 1)), axis)
    missing = NP[np.any](wrap(is_nat(bits(raw(a)))), axis)
    return wrap(of_bits(otherwise(raw(missing), bits(raw(_mean(middle, axis)))), dtype_of(x)))


def _cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    _plain_options("cumsum", {"dtype": dtype}, ())
    n = _durations("cumsum", a)
    _judge_sum(n)
    lost = NP[np.cumsum](wrap(ops.create.convert(is_nat(n), dtypes.int64)), axis)
    total = raw(NP[np.cumsum](wrap(n), axis))
    return wrap(of_bits(otherwise(ops.compare.ne(raw(lost), np.int64(0)), total), dtype_of(raw(a))))


# ---------------------------------------------------------------- others


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    out = a if low is None else TABLE["maximum"](a, low)
    return out if high is None else TABLE["minimum"](out, high)


def _array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    if equal_nan or shape_of(raw(a1)) != shape_of(raw(a2)):
        _refuse("array_equal")
    out = NP[np.all](TABLE["equal"](a1, a2))
    out.weak = True
    return out


def _arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    given = [x for x in (start, stop, step) if x is not None]
    if stop is None or any(shape_of(raw(x)) for x in given):
        _refuse("arange")
    kinds = [dtype_of(raw(x)) for x in (start, stop)]
    units = [*kinds, *([dtype_of(raw(step))] if step is not None else [])]
    if kinds[0].kind not in "mM" or any(k.kind not in "mM" and not dtypes.is_integer(k) for k in units):
        _refuse("arange")
    # The unit is the finest one; a span of time as the end is counted from the start.
    names = [dtypes.unit_of(k) for k in units if k.kind in "mM"]
    target = promote(*(np.dtype(f"m8[{count}{unit}]") for unit, count in names))
    unit, count = dtypes.unit_of(target)
    own = np.dtype(f"{kinds[0].kind}8[{count}{unit}]") if dtype is None else dtypes.canonical(dtype)
    if own.kind != kinds[0].kind or dtypes.unit_of(own) != (unit, count):
        _refuse("arange")
    span = np.dtype(f"m8[{count}{unit}]")
    low = bits(cast(raw(start), own))
    high = bits(cast(raw(stop), own if kinds[1].kind == own.kind else span))
    if kinds[1].kind != own.kind:
        high = ops.arithmetic.add(low, high)
    by = np.int64(1) if step is None else bits(cast(raw(step), span))
    if extents.known(by) is None or not int(extents.known(by)):
        _refuse("arange")
    ends = wrap(low), wrap(high), int(extents.known(by))
    return new_array(of_bits(raw(NP[np.arange](*ends)), own))


#: Functions that move elements, or subtract them by operators.
_MOVING = [
    "append", "argpartition", "array", "array_split", "asanyarray", "asarray", "asarray_chkfinite",
    "ascontiguousarray", "asfortranarray", "atleast_1d", "atleast_2d", "atleast_3d", "block",
    "broadcast_arrays", "broadcast_to", "choose", "column_stack", "compress", "concat", "concatenate",
    "copy", "copyto", "delete", "diagonal", "diff", "dsplit", "dstack", "ediff1d", "empty_like",
    "expand_dims", "extract", "flip", "fliplr", "flipud", "full", "full_like", "hsplit", "hstack",
    "insert", "isscalar", "matrix_transpose", "meshgrid", "moveaxis", "ndim", "ones_like", "partition",
    "permute_dims", "place", "ptp", "put", "put_along_axis", "putmask", "ravel", "repeat", "require",
    "reshape", "resize", "roll", "rollaxis", "rot90", "select", "shape", "size", "split", "squeeze",
    "stack", "swapaxes", "take", "take_along_axis", "tile", "transpose", "unstack", "vsplit", "vstack",
    "where", "zeros_like",
]  # fmt: skip
OF_TIMES.update({getattr(np, name): None for name in _MOVING})
for _function in (np.min, np.amin):
    OF_TIMES[_function] = _ordered(np.min, False)
for _function in (np.max, np.amax):
    OF_TIMES[_function] = _ordered(np.max, True)
OF_TIMES.update(
    {
        np.argmin: _placed(np.argmin, False),
        np.argmax: _placed(np.argmax, True),
        np.sort: _ordered(np.sort, True),
        np.argsort: _placed(np.argsort, True),
        np.unique: _unique,
        np.searchsorted: _searchsorted,
        np.sum: _sum,
        np.mean: _mean,
        np.median: _median,
        np.cumsum: _cumsum,
        np.clip: _clip,
        np.array_equal: _array_equal,
        np.arange: _arange,
    }
)
