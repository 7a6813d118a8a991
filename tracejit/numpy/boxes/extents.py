"""Integers that may be traced: starts and extents of slices.

A number here is a Python int or a raw 0-d int64 value of the trace. The same
sum of the same operands gives the same raw value again, so that `A[i, j + 1:]`
and `B[j + 1:]` have equal extents.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ConcreteValueError, IndexOutOfRangeError, TracejitError
from tracejit.interpreters.autodiff.tangents import TangentTrace
from tracejit.interpreters.stage import ROOM, StageTrace, bounds_of
from tracejit.ir.avals import Dim, DimSize, Shape
from tracejit.ir.values import Value
from tracejit.numpy.assumed import assumed
from tracejit.numpy.boxes import linear
from tracejit.tracing import Box, current_trace, wrap

Number = Any  # int, or a raw 0-d int64 value

_I64 = np.dtype(np.int64)
_I64_MAX = np.iinfo(np.int64).max
_U64 = np.dtype(np.uint64)


def known(raw: Any) -> Any:
    """The ndarray or NumPy scalar that a raw value stands for, or None while it is being recorded."""
    if not isinstance(raw, Value):
        return raw
    try:
        return raw.concrete()
    except (ConcreteValueError, AttributeError):
        return None


#: Items of a length that is taken for known.
MOST_ITEMS = 256


def settled(n: Number, refusal: Callable[[], Exception]) -> int:
    """How many items the program takes a length to be, which Python runs over. Raises what `refusal` makes where it
    can't be taken for known."""
    if type(n) is int:
        return n
    value = assumed(n, refusal)
    if value is None or not 0 <= int(value) <= MOST_ITEMS:
        error = refusal()
        if isinstance(error, TracejitError) and not error.traced:
            error.traced = (n,)
        raise error
    return int(value)


def number(x: Any) -> Number:
    """A Python int where the integer `x` (box, raw value, anything with `__index__`) is known, else raw int64."""
    raw = x.read() if type(x) is Box else x
    if type(x) is Box and x.aval.dtype.kind == "b" and not x.weak:  # of NumPy's numbers these are no integers
        raise TypeError("a NumPy truth value cannot be interpreted as an integer")
    if not isinstance(raw, Value):
        return operator.index(raw)
    value = known(raw)
    if value is not None:
        return operator.index(value[()])
    if raw.aval.dtype.kind not in "iub" or raw.aval.shape:
        raise TypeError(f"a traced {raw.aval} cannot be interpreted as an integer")
    raw = here(raw)
    if raw.aval.dtype == _I64:
        return linear.canonical(raw)
    if raw.aval.dtype == _U64:  # too large for every axis stays so
        raw = memo("min", ops.arithmetic.minimum, raw, _U64.type(_I64_MAX))
    return memo("convert", ops.create.convert_element_type, raw, dtype=_I64)


def sequence(x: Any) -> tuple[Any, ...]:
    """What a user gives where NumPy takes an integer or a sequence of them, an array for instance."""
    if isinstance(x, (tuple, list, range)) or getattr(x, "ndim", 0) == 1:
        return tuple(x)
    return (x,)


def here(raw: Any) -> Any:
    """A value of an outer trace as the constant it is in the program being recorded, so that extents compare."""
    trace = current_trace()
    while trace is not None and (not isinstance(trace, StageTrace) or isinstance(trace, TangentTrace)):
        trace = trace.parent  # one of tangents records nothing else
    return raw if trace is None or raw.trace is None or raw.trace.level >= trace.level else trace.lift(raw)


def shape_here(shape: Shape) -> Shape:
    """A shape of a box with the values of outer traces as the constants that they are in this one."""
    if all(type(d) is int for d in shape):
        return shape
    return tuple(d if type(d) is int else Dim(here(d.var), d.bound) for d in shape)  # type: ignore[union-attr]


def are_one(a: Shape, b: Shape) -> bool:
    """Whether two shapes, of values of different traces, have the same sizes: numbers, or values of a trace around both
    of them."""
    pairs = zip(a, b, strict=False)
    return len(a) == len(b) and all(
        d == e
        or (type(d) is not int and type(e) is not int and linear.outermost(d.var) is linear.outermost(e.var))
        for d, e in pairs
    )


def memo(name: str, fn: Callable[..., Any], *args: Any, **params: Any) -> Any:
    """`fn(*args, **params)`, or its earlier result for the same operands in this trace."""
    args = tuple(a[()] if type(a) is np.ndarray and not a.ndim else a for a in args)
    sources = [linear.outermost(a) for a in args]
    key = (name, *(id(a) if isinstance(a, Value) else a for a in sources), *params.values())
    found = linear.remembered("_extents", key)
    if found is None:
        trace = current_trace()
        found = linear.table_of(trace, "_extents")[key] = fn(*args, **params)
        linear.table_of(trace, "_operands")[key] = sources  # kept, so that ids stay theirs
    return found


def operand(a: Number) -> Any:
    """A number as a raw value."""
    return np.int64(a) if type(a) is int else a


def add(a: Number, b: Number) -> Number:
    """a + b."""
    if type(a) is int and type(b) is int:
        return a + b
    if type(a) is int:
        a, b = b, a
    if type(b) is int and b == 0:
        return a
    known = linear.known_sum(a, b, 1)
    return (
        linear.canonical(memo("add", ops.arithmetic.add, operand(a), operand(b))) if known is None else known
    )


def sub(a: Number, b: Number) -> Number:
    """a - b."""
    if type(a) is int and type(b) is int:
        return a - b
    if a is b:
        return 0
    if type(b) is int:
        return add(a, -b)
    known = linear.known_sum(a, b, -1)
    return (
        linear.canonical(memo("sub", ops.arithmetic.sub, operand(a), operand(b))) if known is None else known
    )


def mul(a: Number, k: int) -> Number:
    """a * k for a static k."""
    if type(a) is int or k == 1:
        return a if k == 1 else a * k
    return memo("mul", ops.arithmetic.mul, a, np.int64(k))


def floordiv(a: Number, k: int) -> Number:
    """a // k for a static positive k."""
    if type(a) is int or k == 1:
        return a if k == 1 else a // k
    return memo("floor_divide", ops.arithmetic.floor_divide, a, np.int64(k))


def maximum(a: Number, b: Number) -> Number:
    if type(a) is int and type(b) is int:
        return max(a, b)
    if at_least(a, b):
        return a
    return b if at_least(b, a) else memo("maximum", ops.arithmetic.maximum, operand(a), operand(b))


def minimum(a: Number, b: Number) -> Number:
    if type(a) is int and type(b) is int:
        return min(a, b)
    if at_least(b, a):
        return a
    return b if at_least(a, b) else memo("minimum", ops.arithmetic.minimum, operand(a), operand(b))


def at_least(a: Number, b: Number) -> bool:
    """Whether a >= b is known."""
    low, high = least(a), greatest(b)
    return a is b or (low is not None and high is not None and low >= high)


def least(a: Number) -> int | None:
    """The smallest value `a` can have, if known."""
    b = bounds_of(a)
    return None if b is None else b[0]


def greatest(a: Number) -> int | None:
    """The largest value `a` can have, if known."""
    b = bounds_of(a)
    return None if b is None else b[1]


def room(a: Number) -> int | None:
    """The largest value `a` can have, if that is known, and small enough to keep memory for so many."""
    most = greatest(a)
    return None if most is None or most > ROOM else most


def of_dim(d: DimSize) -> Number:
    """A dimension as a number."""
    return d if type(d) is int else d.var  # type: ignore[union-attr]


def to_dim(size: Number, bound: int | None) -> DimSize:
    """A number as a dimension of at most `bound`."""
    if type(size) is int:
        return size
    high = room(size)
    return Dim(size, high if bound is None else bound if high is None else min(high, bound))


def capacity(d: DimSize) -> int | None:
    """The largest value of a dimension, if known."""
    return d if type(d) is int else d.bound  # type: ignore[union-attr]


def user_size(d: DimSize) -> Any:
    """A dimension as user code sees it in `x.shape`: an int, or a box of a traced integer."""
    return d if type(d) is int else wrap(d.var, weak=True)  # type: ignore[union-attr]


def decided_outside(values: Iterable[Number]) -> bool:
    """Whether Python's integers among the arguments of the function that is traced decide these numbers: then it is
    traced again for what they are, if it is refused now."""
    trace = current_trace()
    while trace is not None:
        if isinstance(trace, StageTrace) and trace.decides is not None:
            return trace.decides([linear.outermost(v) for v in values if isinstance(v, Value)])
        trace = trace.parent
    return False


def position(x: Any, size: DimSize, axis: int) -> Number:
    """The integer index `x` into an axis of `size` made non-negative.

    Raises IndexOutOfRangeError at once when it is known, when the program runs otherwise.
    """
    i, n = number(x), of_dim(size)
    if type(i) is int and type(n) is int:
        if not -n <= i < n:
            raise IndexOutOfRangeError(index=i, axis=axis, size=n)
        return i + n if i < 0 else i
    if type(n) is int and at_least(i, 0) and at_least(n - 1, i):
        return i
    return memo("check_index", ops.index_check.check_index, operand(i), size=n, axis=axis)


def _dynamic(i: Number, n: Number) -> Number:
    """An index into an axis of traced size: wrapped if negative, not checked against the size."""
    if type(i) is int:
        return i if i >= 0 else add(n, i)
    if at_least(i, 0):
        return i
    wrapped = add(i, n)
    return memo("select", ops.compare.select, memo("lt", ops.compare.lt, i, np.int64(0)), wrapped, i)


def slice_bounds(s: slice, size: DimSize, axis: int) -> tuple[Number, Number, Number]:
    """(start, extent, step) of a slice over an axis of `size`, clamped as Python does."""
    step: Number = 1 if s.step is None else number(s.step)
    if type(step) is not int:
        if decided_outside((step,)):
            unknown = ConcreteValueError(aval=str(step.aval))
            unknown.traced = (step,)
            raise unknown
        return _traced_step(s, of_dim(size), step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    n = of_dim(size)
    start = None if s.start is None else number(s.start)
    stop = None if s.stop is None else number(s.stop)
    if all(v is None or type(v) is int for v in (start, stop)):
        if type(n) is int:
            r = range(*slice(start, stop, step).indices(n))
            return r.start, len(r), step
        if step == 1 and (start is None or start >= 0) and (stop is None or stop < 0):
            cut = (start or 0) - (stop or 0)  # so that x[1:] and x[:-1] are equally long
            return minimum(start or 0, n), maximum(sub(n, cut), 0), step
    low, high = (0, n) if step > 0 else (-1, add(n, -1))
    first = (low if step > 0 else high) if start is None else _clamp(start, n, low, high)
    last = (high if step > 0 else low) if stop is None else _clamp(stop, n, low, high)
    if step < 0:
        return first, maximum(floordiv(add(sub(first, last), -step - 1), -step), 0), step
    span = floordiv(add(sub(last, first), step - 1), step)
    ordered = first is low or (type(first) is int and first == 0) or last is high
    return first, span if ordered else maximum(span, 0), step


_NO_STEP = ops.index_check.Raising(ValueError, "slice step cannot be zero")


def _traced_step(s: slice, n: Number, step: Any) -> tuple[Number, Number, Number]:
    """`slice_bounds` of a step whose sign is not known, by the formulas of CPython's PySlice_AdjustIndices."""
    zero, one = np.int64(0), np.int64(1)
    size = operand(n)
    if not (at_least(step, 1) or at_least(-1, step)):
        memo("no step", lambda x: ops.index_check.fail_where(ops.compare.eq(x, zero), _NO_STEP) or x, step)
    back = memo("lt", ops.compare.lt, step, zero)
    low = memo("select", ops.compare.select, back, np.int64(-1), zero)
    high = memo("select", ops.compare.select, back, operand(sub(n, 1)), size)
    start = memo("select", ops.compare.select, back, high, low)
    stop = memo("select", ops.compare.select, back, low, high)
    start = start if s.start is None else operand(_clamp(number(s.start), n, low, high))
    stop = stop if s.stop is None else operand(_clamp(number(s.stop), n, low, high))
    span = memo("select", ops.compare.select, back, operand(sub(start, stop)), operand(sub(stop, start)))
    by = memo("maximum", ops.arithmetic.maximum, memo("abs", ops.arithmetic.abs, step), one)
    steps = memo("floor_divide", ops.arithmetic.floor_divide, operand(sub(span, 1)), by)
    return start, maximum(add(steps, 1), 0), step


def _clamp(v: Number, n: Number, low: Number, high: Number) -> Number:
    return maximum(minimum(_dynamic(v, n), high), low)
