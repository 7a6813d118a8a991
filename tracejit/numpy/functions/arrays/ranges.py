"""Evenly spaced numbers: `arange`, whose length may be traced, `linspace` and `logspace`."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import UnsupportedFunctionError
from tracejit.interpreters.stage import SMALL_CONSTANT
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.dispatch import creates, implements
from tracejit.numpy.functions.arrays.creation import iota
from tracejit.numpy.functions.arrays.shaping import moveaxis
from tracejit.numpy.functions.order.selection import where
from tracejit.numpy.operands import cast, convert, dtype_of, raw, result_type, shape_of
from tracejit.numpy.ufuncs import TABLE
from tracejit.tracing import Box, new_array, wrap

#: More elements than this no array has.
_MOST = 2.0**62


def _statics(*xs: Any) -> list[Any] | None:
    """Python or NumPy scalars where all values are known, else None."""
    out = [extents.known(x.read()) if type(x) is Box else x for x in xs]
    return None if any(type(x) is Box and v is None for x, v in zip(xs, out, strict=True)) else out


@creates(np.arange, "arange")
def arange(start: Any, stop: Any = None, step: Any = None, dtype: Any = None) -> Any:
    """start, start + step, … below stop. The number of elements may be traced."""
    if any(dtype_of(raw(x)).kind == "c" for x in (start, stop, step) if x is not None):
        raise UnsupportedFunctionError(name="numpy.arange of complex numbers")
    values = _statics(start, stop, step)
    if values is not None and not any(is_real(v) for v in (start, stop, step)):
        return _arange_known(*values, dtype=dtype)
    if values is not None or not all(_is_whole(v) for v in (start, stop)) or _known_step(step) is None:
        return _arange_real(start, stop, step, dtype)
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    d = _arange_dtype(start, stop, step) if dtype is None else dtypes.canonical(dtype)
    low = extents.number(start)
    k: Any = _known_step(step)
    ends = (extents.number(stop), low) if k > 0 else (low, extents.number(stop))
    size = extents.maximum(extents.sub(*ends), 0)
    size = extents.floordiv(extents.add(size, abs(k) - 1), abs(k))
    out = iota(extents.to_dim(size, None), d)
    out = out if k == 1 else ops.arithmetic.mul(out, d.type(k))
    return new_array(out if type(low) is int and low == 0 else ops.arithmetic.add(out, convert(start, d)))


def _is_whole(x: Any) -> bool:
    """Whether an end of a range is an integer (None: it is not given)."""
    return x is None or dtype_of(x).kind in "biu"


def _known_step(step: Any) -> int | None:
    """The step of a range, if it is a known integer other than 0."""
    values = _statics(step)
    step = 1 if step is None else None if values is None or not _is_whole(step) else operator.index(values[0])
    return step or None


def _arange_dtype(*ends: Any) -> np.dtype:
    """NumPy gives no numbers smaller than its default integers."""
    return result_type(np.int64(0), *ends)


def is_real(x: Any) -> bool:
    """Whether it is a traced number that has a derivative."""
    return type(x) is Box and isinstance(x.read(), Value) and dtypes.is_inexact(x.aval.dtype)


def _arange_real(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """`arange` of traced numbers that are no integers: how many elements there are has no derivative."""
    start, stop = (0, start) if stop is None else (start, stop)
    step = 1 if step is None else step
    d = _arange_dtype(start, stop, step) if dtype is None else dtypes.canonical(dtype)
    size = count(start, stop, step)
    wide = np.dtype(np.float32) if d == np.float16 else d  # as NumPy fills it
    first, second = (cast(cast(raw(v), d), wide) for v in (start, TABLE["add"](start, step)))
    index = iota(extents.to_dim(size, None), dtypes.int64)
    steps = ops.arithmetic.mul(cast(index, wide), ops.arithmetic.sub(second, first))
    out = ops.compare.select(ops.compare.eq(index, np.int64(1)), second, ops.arithmetic.add(first, steps))
    return new_array(cast(out, d))


def count(start: Any, stop: Any, step: Any) -> Any:
    """How many elements `arange` has: an integer, traced if it is not known."""
    values = _statics(start, stop, step)
    if values is not None:
        return np.arange(*values).shape[0]
    distance = TABLE["subtract"](stop, start)
    span = TABLE["divide"](distance, step)
    lost = raw(TABLE["logical_and"](TABLE["equal"](span, 0), TABLE["not_equal"](distance, 0)))
    wrong = ops.compare.or_(ops.compare.not_(raw(TABLE["less"](TABLE["absolute"](span), _MOST))), lost)
    leave_if(wrong, "an array without end, or the error of one")
    return extents.maximum(extents.number(TABLE["ceil"](span).astype(dtypes.int64)), 0)


def _arange_known(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    args = (start,) if stop is None else (start, stop) if step is None else (start, stop, step)
    head = (0, start) if stop is None else (start, stop)
    try:
        with np.errstate(all="ignore"):
            count = math.ceil((head[1] - head[0]) / (1 if step is None else step))
    except (ArithmeticError, ValueError):  # NumPy knows what to raise
        count = 0
    if count <= SMALL_CONSTANT:
        return new_array(np.arange(*args, dtype=dtype))
    d = (
        np.arange(head[0], head[0], 1 if step is None else step, dtype).dtype  # type: ignore[call-overload]
        if dtype is None
        else np.dtype(dtype)
    )
    first = d.type(head[0])
    delta = d.type(head[0] + (1 if step is None else step)) - first  # as NumPy fills it
    out = ops.create.iota(shape=(count,), dtype=d, dimension=0)
    out = out if delta == 1 else ops.arithmetic.mul(out, delta)
    return new_array(out if first == 0 else ops.arithmetic.add(out, first))


@implements(np.linspace, "linspace")
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` evenly spaced numbers from start to stop; their number may be traced."""
    n = extents.number(num)
    if type(n) is not int and extents.decided_outside((n,)):
        n = operator.index(num)  # which refuses it: better to know it
    if not extents.at_least(n, 0):
        _refuse_negative(n)
    d = result_type(start, stop, 1.0)
    lo, hi = (wrap(convert(v, d)) for v in (start, stop))
    delta = hi - lo
    y, step = _spaced(n, lo, delta, endpoint, dtypes.real_part_dtype(d))
    if endpoint and not (type(n) is int and n < 2):
        y = _ending_in(y, hi, n)
    y = y if axis == 0 else moveaxis(y, 0, axis)
    if dtype is not None:
        whole = dtypes.canonical(dtype).kind in "iu"
        y = (TABLE["floor"](y) if whole else y).astype(dtype)
    if retstep and type(n) is not int:
        leave_if(ops.compare.le(n, np.int64(bool(endpoint))), "Python's nan as a step")
    return (y, step) if retstep else y


def _refuse_negative(n: Any) -> None:
    message = "Number of samples, {}, must be non-negative."
    if type(n) is int:
        raise ValueError(message.format(n))
    failure = ops.index_check.Raising(ValueError, message, dtypes.int64)
    ops.index_check.fail_where(ops.compare.lt(n, np.int64(0)), failure, n)


def _spaced(n: Any, lo: Any, delta: Any, endpoint: bool, dtype: np.dtype) -> tuple[Any, Any]:
    """`n` steps from `lo` on, and the step: NaN where there is none."""
    column = (-1,) + (1,) * delta.ndim
    if type(n) is int:
        div = n - 1 if endpoint else n
        t = wrap(np.arange(n, dtype=dtype)).reshape(column)
        if div <= 0:
            return t * delta + lo, np.nan
        step = delta / div
        return _steps(t, step, delta, div) + lo, step
    div = extents.sub(n, 1) if endpoint else n
    t = wrap(ops.shape.expand_dims(iota(extents.to_dim(n, None), dtype), tuple(range(1, len(column)))))
    parts = wrap(cast(extents.operand(extents.maximum(div, 1)), dtype))
    step = delta / parts
    return _steps(t, step, delta, parts) + lo, step


def _steps(t: Any, step: Any, delta: Any, parts: Any) -> Any:
    """Multiples of the step; as NumPy computes them of several steps of which one is zero."""
    if not np.ndim(step):
        return t * step
    return where((step == 0).any(), t / parts * delta, t * step)


def _ending_in(y: Any, last: Any, n: Any) -> Any:
    """`y` with the last of its rows replaced, if there are at least two."""
    if type(n) is int:
        y[-1] = last
        return y
    rows = iota(y.aval.shape[0], dtypes.int64)
    here = ops.compare.eq(rows, extents.operand(extents.maximum(extents.sub(n, 1), 1)))
    return where(wrap(ops.shape.expand_dims(here, tuple(range(1, y.ndim)))), last, y)


@implements(np.logspace, "logspace")
def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Numbers evenly spaced on a logarithmic scale."""
    powers = linspace(start, stop, num, endpoint, axis=axis)
    if shape_of(raw(base)):  # one base an element of the result's other axes
        base = wrap(ops.shape.expand_dims(raw(base), (axis % powers.ndim,)))
    out = TABLE["power"](base, powers)
    return out.astype(dtype) if dtype is not None else out
