"""`reduce`, `accumulate`, `reduceat`, `outer` and `at` of ufuncs on traced arrays.

Sums, products, extrema and logic have reductions of their own. Another associative ufunc is reduced by
halving the axis; the others, and all that is defined by order, are loops of the program (`lax.scan`), so that
long axes do not make long programs, and so that derivatives, vmap and jit follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import control, dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError
from tracejit.ir.values import Value
from tracejit.numpy.captured.array import CapturedArray
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.fitting import judge_loss
from tracejit.numpy.operands import (
    as_asked,
    cast,
    convert,
    dtype_of,
    elements,
    kind_of,
    raw,
    select_where,
    shape_of,
    store,
)
from tracejit.numpy.options import initial_of, keeps
from tracejit.tracing import Box, wrap

_NO_VALUE = np._NoValue
_UNROLLED = 4  # steps that are written out rather than looped

#: Ufuncs whose reduction is a function of the namespace.
_REDUCTIONS: dict[str, Any] = {"add": np.sum, "multiply": np.prod, "maximum": np.max, "minimum": np.min}
_CUMULATIVE: dict[str, Any] = {
    "add": ops.cumulative.cumsum,
    "multiply": ops.cumulative.cumprod,
    "maximum": ops.cumulative.cummax,
    "minimum": ops.cumulative.cummin,
}
#: Grouping their operands otherwise changes at most the rounding.
_ASSOCIATIVE = {
    "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm",
    "fmax", "fmin", "hypot", "logaddexp", "logaddexp2",
}  # fmt: skip
#: Those that NumPy takes over several axes at once.
_REORDERABLE = (_ASSOCIATIVE | _REDUCTIONS.keys()) - {"lcm"}
#: Methods of `x.at[i]` that accumulate as `ufunc.at` does.
_AT = {"add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "max", "minimum": "min"}
#: The mode of indices that have been looked at.
_SAFE = "promise_in_bounds"


def _given(x: Any) -> bool:
    return x is not None and x is not _NO_VALUE


def _accumulator(ufunc: Any, method: str, d: np.dtype, dtype: Any) -> np.dtype:
    """The dtype in which NumPy computes; what it cannot do raises NumPy's own error."""
    wanted = None if dtype is None else dtypes.canonical(dtype)
    more = ([0],) if method == "reduceat" else ()
    return np.asarray(getattr(ufunc.np, method)(np.ones(1, d), *more, dtype=wanted)).dtype


def _to_operands(ufunc: Any, x: Any, accumulator: np.dtype) -> Any:
    """The elements in the dtype that the loop takes beside the accumulator."""
    wide = ufunc.np.resolve_dtypes((accumulator, dtype_of(x), None))[1]
    return cast(x, wide if accumulator.kind == "b" or wide.kind != accumulator.kind else accumulator)


# ---------------------------------------------------------------- reduce


def reduce(
    ufunc: Any,
    a: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> Any:
    """`ufunc.reduce` along one axis, several (a tuple) or all (None)."""
    function = _REDUCTIONS.get(ufunc.__name__)
    if function is not None and (dtype_of(raw(a)).kind != "c" or ufunc.np.identity is not None):
        options: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
        options |= {} if where is True else {"where": where}
        options |= {"initial": initial} if _given(initial) else {}
        x = a
        if dtype is not None:
            x = wrap(as_asked(raw(a), dtype, dtypes.canonical(dtype)))
            options |= {"dtype": dtype} if ufunc.__name__ in ("add", "multiply") else {}
        result = NUMPY_TO_TRACEJIT[function](x, **options)
    else:
        result = _folded(ufunc, a, axis, dtype, keeps(keepdims), initial, where)
    return result if out is None else store(out, result, ufunc.__name__, fits=True)


def _folded(ufunc: Any, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    x = raw(a)
    accumulator = _accumulator(ufunc, "reduce", dtype_of(x), dtype)
    x = _to_operands(ufunc, x, accumulator)
    axes = _axes(ufunc, axis, len(shape_of(x)))
    rows, mask = _leading(x, axes), None
    if where is not True:
        mask = ops.shape.broadcast_to(convert(where, dtypes.bool_), shape_of(x))
        mask = _leading(mask, axes)
    start = _start(ufunc, initial, accumulator, mask is not None or shape_of(rows)[0] == 0)
    result = _fold(ufunc, wrap(rows), accumulator, start, None if mask is None else wrap(mask))
    value = cast(raw(result), accumulator)
    return wrap(ops.shape.expand_dims(value, axes) if keepdims and axes else value)


def _axes(ufunc: Any, axis: Any, ndim: int) -> tuple[int, ...]:
    axes = tuple(range(ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    out = tuple(sorted(np.lib.array_utils.normalize_axis_index(a, ndim) for a in axes)) if ndim else ()
    if len(set(out)) != len(out):
        raise ArgumentError(name=ufunc.__name__, problem="duplicate value in 'axis'")
    if len(out) > 1 and ufunc.__name__ not in _REORDERABLE:
        raise ArgumentError(
            name=f"{ufunc.__name__}.reduce",
            problem="the operation is not reorderable, so at most one axis may be given",
        )
    return out


def _leading(x: Any, axes: tuple[int, ...]) -> Any:
    """`x` with the reduced axes as one, in front; a row of one where there are none."""
    shape = shape_of(x)
    kept = tuple(n for n in range(len(shape)) if n not in axes)
    if not axes:
        return ops.shape.expand_dims(x, (0,))
    y = ops.shape.transpose(x, permutation=axes + kept)
    if len(axes) == 1:
        return y
    count = elements("reduce", tuple(shape[n] for n in axes))
    return ops.shape.reshape(y, shape=(count, *(shape[n] for n in kept)))


def _start(ufunc: Any, initial: Any, accumulator: np.dtype, needed: bool) -> Any:
    """What the fold starts from: `initial`, or the identity where it is needed; None for the first element."""
    if _given(initial):
        return initial_of(initial, accumulator)
    identity = ufunc.np.identity
    if not needed and initial is not _NO_VALUE:
        return None
    if identity is None and needed:
        raise ArgumentError(
            name=f"{ufunc.__name__}.reduce",
            problem="the operation has no identity: an empty axis, or `where=`, needs `initial=`",
        )
    return np.asarray(identity).astype(accumulator)[()] if needed else None


def _fold(ufunc: Any, rows: Any, accumulator: np.dtype, start: Any, mask: Any) -> Any:
    """The rows combined by `ufunc`, from the first to the last."""
    if mask is None and ufunc.__name__ in _ASSOCIATIVE:
        result = _halved(ufunc, rows) if shape_of(rows)[0] else None
        first = None if start is None else wrap(start)
        if result is None:
            return wrap(ops.shape.broadcast_to(start, shape_of(rows)[1:]))
        return result if first is None else ufunc(first, result)
    if start is None:
        carry, rows = _as(rows[0], accumulator), rows[1:]
        mask = None if mask is None else mask[1:]
    else:
        carry = wrap(ops.shape.broadcast_to(start, shape_of(rows)[1:]))
    return _steps(lambda c, x: _as(ufunc(c, x), accumulator), carry, rows, mask)


def _as(x: Any, dtype: np.dtype) -> Any:
    return wrap(cast(raw(x), dtype))


def _halved(ufunc: Any, rows: Any) -> Any:
    """The rows combined in pairs, in log2(n) steps."""
    n = shape_of(rows)[0]
    if type(n) is not int:
        raise ArgumentError(name=f"{ufunc.__name__}.reduce", problem="needs an axis of static size")
    if n == 1:
        identity = ufunc.np.identity  # of one element it makes what the loop gives: |x|, a boolean …
        return rows[0] if identity is None else ufunc(dtype_of(rows).type(identity), rows[0])
    while n > 1:
        half = n // 2
        merged = ufunc(rows[:half], rows[half : 2 * half])
        if n % 2:
            last = ufunc(merged[-1], rows[-1])
            merged = NUMPY_TO_TRACEJIT[np.concatenate]([merged[:-1], last[None]])
        rows, n = merged, half
    return rows[0]


def _steps(step: Callable[[Any, Any], Any], carry: Any, rows: Any, mask: Any) -> Any:
    """`carry = step(carry, row)` over the rows, where the mask holds."""

    def masked(c: Any, x: Any, m: Any) -> Any:
        new = step(c, x)
        return new if m is None else wrap(select_where(m, raw(new), raw(c)))

    n = shape_of(rows)[0]
    if type(n) is int and n <= _UNROLLED:
        for i in range(n):
            carry = masked(carry, rows[i], None if mask is None else mask[i])
        return carry
    if mask is None:
        return control.structured.loops.scan(lambda c, x: (step(c, x), None), carry, rows)[0]
    return control.structured.loops.scan(lambda c, xm: (masked(c, *xm), None), carry, (rows, mask))[0]


# ---------------------------------------------------------------- accumulate, reduceat, outer


def accumulate(ufunc: Any, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """`ufunc.accumulate` along `axis`."""
    x = raw(array)
    ndim = len(shape_of(x))
    if not ndim:
        raise ArgumentTypeError(name=f"{ufunc.__name__}.accumulate", problem="cannot accumulate on a scalar")
    accumulator = _accumulator(ufunc, "accumulate", dtype_of(x), dtype)
    at = np.lib.array_utils.normalize_axis_index(axis, ndim)
    running = _CUMULATIVE.get(ufunc.__name__)
    if running is not None and accumulator.kind != "b":
        result = wrap(running(cast(x, accumulator), axis=at, reverse=False))
    else:
        result = _running(ufunc, _to_operands(ufunc, x, accumulator), at, accumulator)
    return result if out is None else store(out, result, ufunc.__name__, fits=True)


def _running(ufunc: Any, x: Any, axis: int, accumulator: np.dtype) -> Any:
    moved = NUMPY_TO_TRACEJIT[np.moveaxis](wrap(x), axis, 0)
    if shape_of(moved)[0] == 0:
        return wrap(cast(x, accumulator))
    first = _as(moved[0], accumulator)

    def step(c: Any, row: Any) -> tuple[Any, Any]:
        new = _as(ufunc(c, row), accumulator)
        return new, new

    _, rest = control.structured.loops.scan(step, first, moved[1:])
    joined = NUMPY_TO_TRACEJIT[np.concatenate]([first[None], rest])
    return NUMPY_TO_TRACEJIT[np.moveaxis](joined, 0, axis)


def reduceat(ufunc: Any, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
    """`ufunc.reduceat`: reductions of the parts of an axis that start at `indices`."""
    x = raw(a)
    accumulator = _accumulator(ufunc, "reduceat", dtype_of(x), dtype)
    at = np.lib.array_utils.normalize_axis_index(axis, len(shape_of(x)))
    rows = NUMPY_TO_TRACEJIT[np.moveaxis](wrap(_to_operands(ufunc, x, accumulator)), at, 0)
    n = elements("reduceat", shape_of(rows)[:1])
    starts = cast(raw(indices), dtypes.int64)
    outside = ops.compare.or_(ops.compare.lt(starts, np.int64(0)), ops.compare.ge(starts, np.int64(n)))
    message = f"index {{}} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})"
    ops.index_check.fail_where(outside, ops.index_check.Raising(IndexError, message, dtypes.int64), starts)
    result = _segments(ufunc, rows, wrap(starts), n, accumulator)
    result = wrap(raw(NUMPY_TO_TRACEJIT[np.moveaxis](result, 0, at)))  # a new array in C order
    return result if out is None else store(out, result, ufunc.__name__, fits=True)


def _segments(ufunc: Any, rows: Any, starts: Any, n: int, accumulator: np.dtype) -> Any:
    """All segments at once: row i joins those that started before it and end after it."""
    ends = NUMPY_TO_TRACEJIT[np.concatenate]([starts[1:], np.array([n])])
    carry = _as(rows[starts], accumulator)
    column = (slice(None), *[None] * (len(shape_of(rows)) - 1))

    def step(c: Any, row: Any) -> tuple[Any, Any]:
        x, i = row
        inside = ((starts < i) & (i < ends))[column]
        new = _as(ufunc(c, x), accumulator)
        return wrap(select_where(inside, raw(new), raw(c))), None

    return control.structured.loops.scan(step, carry, (rows, np.arange(n)))[0]


def outer(ufunc: Any, a: Any, b: Any, **kwargs: Any) -> Any:
    """`ufunc.outer`: all pairs of elements."""
    x, y = raw(a), raw(b)
    n, m = len(shape_of(x)), len(shape_of(y))
    wide = ops.shape.expand_dims(x, dimensions=tuple(range(n, n + m))) if m else x
    return ufunc(wrap(wide), wrap(y), **kwargs)


# ---------------------------------------------------------------- at


def at(ufunc: Any, a: Any, indices: Any, b: Any) -> None:
    """`ufunc.at`: in place and unbuffered, so that an element whose index occurs twice is changed twice.

    Results are cast to the array's dtype whatever it is, as NumPy does here.

    Raises:
        TracerArrayError: `a` is a plain array, which traced values cannot be written into.
        ArgumentTypeError: a ufunc of several results, or too few or too many operands.
    """
    if ufunc.nin != (1 if b is None else 2) or ufunc.nout != 1:
        raise ArgumentTypeError(
            name=f"{ufunc.__name__}.at",
            problem="one result, and as many operands as the ufunc has, are needed",
        )
    if type(a) is CapturedArray:
        a.change(lambda box: at(ufunc, box, indices, b))
        return
    if type(a) is not Box:
        store(a, raw(indices if b is None else b), ufunc.__name__)  # refuses
    operands = (a,) if b is None else (a, b)
    judge_loss(ufunc.result_dtype(*map(kind_of, operands)), a.aval.dtype)
    method = _AT.get(ufunc.__name__)
    same = ufunc.result_dtype(*map(kind_of, operands)) == a.aval.dtype  # otherwise every step is cast back
    kinds = "iufc" if method in ("add", "subtract") else "iuf"
    if method is not None and same and a.aval.dtype.kind in kinds:
        a[...] = getattr(a.at[indices], method)(_wrapped(b, a.aval.dtype), mode="raise")
    else:
        _at_positions(ufunc, a, indices, b)


def _wrapped(b: Any, dtype: np.dtype) -> Any:
    """An operand of `at`: NumPy wraps Python integers that the dtype does not hold, as for arrays."""
    return np.asarray(b).astype(dtype)[()] if type(b) is int and dtype.kind in "iu" else b


def _at_positions(ufunc: Any, a: Any, indices: Any, b: Any) -> None:
    shape, flat = a.shape, a.reshape(-1)
    size = elements("ufunc.at", a.aval.shape)
    where = wrap(np.arange(size).reshape(shape))[indices]
    count = elements("ufunc.at", where.aval.shape)
    values = (
        None if b is None else NUMPY_TO_TRACEJIT[np.broadcast_to](wrap(raw(b)), where.shape).reshape(count)
    )
    positions, dtype = where.reshape(count), a.aval.dtype

    def new(old: Any, value: Any) -> Any:
        return _as(ufunc(old) if value is None else ufunc(old, value), dtype)

    known = raw(positions)
    if not isinstance(known, Value) and np.unique(known).size == count:
        result = flat.at[known].set(new(flat[known], values))
    else:

        def step(c: Any, row: Any) -> tuple[Any, Any]:
            i, value = row if values is not None else (row, None)
            at = c.at[i]  # which has been looked at: it is one of `where`
            return at.set(new(at.get(mode=_SAFE), value), mode=_SAFE), None

        result = control.structured.loops.scan(
            step, flat, positions if values is None else (positions, values)
        )[0]
    a[...] = result.reshape(shape)
