"""Reductions and cumulative functions: NumPy's dtypes, axes, `where=`, `initial=`, `ddof=`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError, AxisError, ShapeError, UnsupportedFunctionError
from tracejit.ir.avals import Shape
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.masking.calls import require_some, worst
from tracejit.numpy.dispatch import implements
from tracejit.numpy.elementwise import TABLE, truth
from tracejit.numpy.empties import NO_FREEDOM, NO_MEAN, or_warned
from tracejit.numpy.operands import as_asked, cast, convert, dtype_of, elements, filled, raw, shape_of
from tracejit.numpy.options import freedom, initial_of, keeps, let_numpy_warn
from tracejit.tracing import Box, wrap

Axes = tuple[int, ...]


def reduced_axes(name: str, axis: Any, ndim: int) -> Axes:
    """`axes_of` for functions that NumPy has in C, which take integers and tuples of them."""
    if isinstance(axis, tuple):
        return axes_of(name, tuple(single_axis(name, a, ndim) for a in axis), ndim)
    return tuple(range(ndim)) if axis is None else (single_axis(name, axis, ndim),)


def single_axis(name: str, axis: Any, ndim: int) -> int:
    """`axis_of` for functions that NumPy has in C, where True is no integer."""
    if isinstance(axis, (bool, list, tuple, str, float)) or (type(axis) is Box and axis.dtype.kind == "b"):
        problem = f"axis is an integer (or a tuple of integers where it may be several), not {axis!r}"
        raise ArgumentTypeError(name=name, problem=problem)
    return axis_of(name, axis, ndim)


def axes_of(name: str, axis: Any, ndim: int) -> Axes:
    """`axis=` as a tuple of non-negative axes; None means all."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    out = tuple(axis_of(name, a, ndim) for a in given)
    if len(set(out)) != len(out):
        raise ArgumentError(name=name, problem="duplicate value in 'axis'")
    return out


def axis_of(name: str, axis: Any, ndim: int) -> int:
    """One axis, non-negative. Raises AxisError. Some of NumPy's functions take an axis of what has none."""
    a = operator.index(axis)
    if not ndim and a in (0, -1):
        raise UnsupportedFunctionError(name=f"numpy.{name} along an axis of an array without dimensions")
    if not -ndim <= a < ndim:
        raise AxisError(op=name, axis=a, ndim=ndim)
    return a % ndim


def keep(result: Any, axes: Axes, keepdims: Any, strict: bool = True) -> Any:
    """The reduced axes back with size 1, if `keepdims`."""
    return ops.shape.expand_dims(result, tuple(sorted(axes))) if keeps(keepdims, strict) and axes else result


def mask_with(x: Any, where: Any, value: Any) -> Any:
    """`x` with `value` where the mask does not hold."""
    if where is True or where is np._NoValue:
        return x
    mask = raw(where)
    mask = ops.shape.broadcast_to(cast(mask, dtypes.bool_), shape_of(x))
    return ops.compare.select(mask, x, dtype_of(x).type(value))


def count_of(shape: Shape, axes: Axes, where: Any) -> Any:
    """The number of elements reduced: an int, a traced integer, or an array (with `where=`)."""
    if where is not True:
        ones = ops.shape.broadcast_to(cast(raw(where), dtypes.int64), shape)
        return ops.reduce.reduce_sum(ones, axes=axes)
    total: Any = 1
    for a in axes:
        d = extents.of_dim(shape[a])
        total = total * d if type(d) is int and type(total) is int else _times(total, d)
    return total


def _times(a: Any, b: Any) -> Any:
    a = np.int64(a) if type(a) is int else a
    return ops.arithmetic.mul(a, np.int64(b) if type(b) is int else b)


def _sum_dtype(d: np.dtype) -> np.dtype:
    """NumPy's accumulator: small integers and booleans grow to (unsigned) int64."""
    if d.kind == "u":
        return np.dtype(np.uint64)
    return dtypes.int64 if d.kind in "bi" else d


def _total(name: str, op: Callable[..., Any], neutral: int, merge: str) -> Callable[..., Any]:
    def reduction(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        *,
        keepdims: Any = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        x = raw(a)
        x = as_asked(x, dtype, _sum_dtype(dtype_of(x)))
        axes = reduced_axes(name, axis, len(shape_of(x)))
        x = mask_with(x, where, neutral)
        out = keep(op(x, axes=axes) if axes else x, axes, keepdims)
        if initial is not None and initial is not np._NoValue:
            out = TABLE[merge](out, initial_of(initial, dtype_of(out)))
        return wrap(out)

    reduction.__name__ = name
    return reduction


sum_ = implements(np.sum, "sum")(_total("sum", ops.reduce.reduce_sum, 0, "add"))
prod = implements(np.prod, "prod")(_total("prod", ops.reduce.reduce_prod, 1, "multiply"))


def _extremum(name: str, op: Callable[..., Any], least: bool, merge: str) -> Callable[..., Any]:
    def reduction(
        a: Any, axis: Any = None, *, keepdims: Any = False, initial: Any = None, where: Any = True
    ) -> Any:
        x = raw(a)
        shape, axes = shape_of(x), reduced_axes(name, axis, len(shape_of(x)))
        has_initial = initial is not None and initial is not np._NoValue
        if where is not True and not has_initial:
            problem = (
                f"reduction operation '{name}imum' does not have an identity, so `where=` needs `initial=`"
            )
            raise ArgumentError(name=name, problem=problem)
        if 0 in (shape[n] for n in axes) and not has_initial:
            raise ArgumentError(
                name=name, problem="zero-size array to a reduction operation which has no identity"
            )
        if not has_initial:
            _require_elements(name, shape, axes)
        x = mask_with(x, where, worst(dtype_of(x), not least))
        out = (
            op(x, axes=axes)
            if axes and 0 not in (shape[n] for n in axes)
            else _empty_extremum(x, axes, not least)
        )
        out = keep(out, axes, keepdims)
        if has_initial:
            out = TABLE[merge](out, initial_of(initial, dtype_of(out)))
        return wrap(out)

    reduction.__name__ = name
    return reduction


def _require_elements(name: str, shape: Shape, axes: Axes, **problem: str) -> None:
    """Raises ArgumentError when the program runs, where an axis of traced size has no elements."""
    for a in axes:
        if type(shape[a]) is not int:
            require_some(name, extents.of_dim(shape[a]), **problem)


def _empty_extremum(x: Any, axes: Axes, greatest: bool) -> Any:
    if not axes:
        return x
    kept = tuple(d for n, d in enumerate(shape_of(x)) if n not in axes)
    return filled(worst(dtype_of(x), greatest), dtype_of(x), kept)


max_ = implements(np.max, "max")(_extremum("max", ops.reduce.reduce_max, False, "maximum"))
min_ = implements(np.min, "min")(_extremum("min", ops.reduce.reduce_min, True, "minimum"))
implements(np.amax, "amax")(max_.__wrapped__)  # type: ignore[attr-defined]
implements(np.amin, "amin")(min_.__wrapped__)  # type: ignore[attr-defined]


def _logical(name: str, op: Callable[..., Any], neutral: bool) -> Callable[..., Any]:
    def reduction(a: Any, axis: Any = None, *, keepdims: Any = False, where: Any = True) -> Any:
        x = truth(raw(a))
        axes = reduced_axes(name, axis, len(shape_of(x)))
        x = mask_with(x, where, neutral)
        return wrap(keep(op(x, axes=axes) if axes else x, axes, keepdims))

    reduction.__name__ = name
    return reduction


any_ = implements(np.any, "any")(_logical("any", ops.reduce.reduce_or, False))
all_ = implements(np.all, "all")(_logical("all", ops.reduce.reduce_and, True))


def _index_of(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def reduction(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
        x = raw(a)
        ndim = len(shape_of(x))
        reduced = tuple(range(ndim)) if axis is None else (single_axis(name, axis, ndim),)
        _require_elements(name, shape_of(x), reduced, problem=f"attempt to get {name} of an empty sequence")
        if axis is None:
            flat = ops.shape.reshape(x, shape=(elements(name, shape_of(x)),)) if ndim != 1 else x
            return wrap(keep(op(flat, axes=(0,)), reduced, keepdims, False))
        return wrap(keep(op(x, axes=reduced), reduced, keepdims, False))

    reduction.__name__ = name
    return reduction


argmax = implements(np.argmax, "argmax")(_index_of("argmax", ops.reduce.argmax))
argmin = implements(np.argmin, "argmin")(_index_of("argmin", ops.reduce.argmin))


# ---------------------------------------------------------------- means


def inexact_dtype(d: np.dtype) -> np.dtype:
    return d if dtypes.is_inexact(d) else dtypes.float64


def mean_of(x: Any, axes: Axes, where: Any) -> Any:
    """The raw mean of an inexact raw value, the axes kept."""
    total = keep(ops.reduce.reduce_sum(mask_with(x, where, 0), axes=axes) if axes else x, axes, True)
    n = or_warned(count_of(shape_of(x), axes, where), 0, NO_MEAN)
    return divided(total, keep(n, axes, True) if len(shape_of(n)) else n)


def divided(x: Any, n: Any) -> Any:
    """x / n for a count (int, or a raw integer value that may have axes of size 1)."""
    n = convert(n, dtype_of(x)) if type(n) is int else cast(n, dtype_of(x))
    if shape_of(n) and shape_of(n) != shape_of(x):
        n = ops.shape.broadcast_to(n, shape_of(x))
    return ops.arithmetic.div(x, n)


def _drop(x: Any, axes: Axes, keepdims: Any) -> Any:
    return x if keeps(keepdims) or not axes else ops.shape.squeeze(x, dimensions=axes)


@implements(np.mean, "mean")
def mean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, where: Any = True) -> Any:
    """The arithmetic mean; float16 is summed in float32, integers in float64."""
    x = raw(a)
    d = dtypes.canonical(dtype) if dtype is not None else inexact_dtype(dtype_of(x))
    half = d.itemsize == 2 and dtypes.is_float(d) and dtype is None
    x = as_asked(x, dtype, np.dtype(np.float32) if half else d)
    axes = reduced_axes("mean", axis, len(shape_of(x)))
    let_numpy_warn(np.mean, x, axes, where, 0)
    return wrap(cast(_drop(mean_of(x, axes, where), axes, keepdims), d))


def _variance(fn: Any, a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any, where: Any, mean: Any) -> Any:
    x = raw(a)
    known, d = mean is not None and mean is not np._NoValue, dtypes.canonical(dtype or float)
    of_real_parts = dtype is not None and dtype_of(x).kind == "c" != d.kind  # their mean is the center
    if of_real_parts and (known or d.kind != "f" or d.itemsize * 2 != dtype_of(x).itemsize):
        raise UnsupportedFunctionError(name="numpy.var of complex numbers in such a dtype")
    x = x if of_real_parts else as_asked(x, dtype, inexact_dtype(dtype_of(x)))
    axes = reduced_axes("var", axis, len(shape := shape_of(x)))
    let_numpy_warn(fn, x, axes, where, ddof, ddof=ddof)
    parts = as_asked(x, dtype, d) if of_real_parts else x
    center = cast(raw(mean) if known else mean_of(parts, axes, where), dtype_of(x))
    d = ops.arithmetic.sub(x, ops.shape.broadcast_to(center, shape))
    total = ops.reduce.reduce_sum(mask_with(squared(d), where, 0), axes=axes) if axes else squared(d)
    n = or_warned(count_of(shape, axes, where), ddof, NO_FREEDOM)
    n = max(n - ddof, 0) if type(n) is int else ops.arithmetic.maximum(
        ops.arithmetic.sub(cast(n, dtype_of(total)), dtype_of(total).type(ddof)), dtype_of(total).type(0)
    )  # fmt: skip
    n = dtype_of(total).type(n) if isinstance(n, (int, float)) else n
    return keep(ops.arithmetic.div(total, n), axes, keepdims)


def squared(d: Any) -> Any:
    """The squares of raw numbers or their absolute values, whose derivative at 0 is 0, whatever follows."""
    if dtype_of(d).kind != "c":
        return ops.arithmetic.square(d)
    square = ops.arithmetic.square
    return ops.arithmetic.add(square(ops.arithmetic.real(d)), square(ops.arithmetic.imag(d)))


@implements(np.var, "var")
def var(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: Any = False, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """The variance, divided by N - ddof."""
    return wrap(_variance(np.var, a, axis, dtype, freedom(ddof, correction), keepdims, where, mean))


@implements(np.std, "std")
def std(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: Any = False, where: Any = True,
    mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """The standard deviation: the square root of `var`."""
    out = _variance(np.std, a, axis, dtype, freedom(ddof, correction), keepdims, where, mean)
    return wrap(ops.transcendental.sqrt(out))


@implements(np.average, "average")
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False
) -> Any:
    """The weighted mean."""
    if axis is not None:
        axis = axes_of("average", axis, len(shape_of(a if type(a) is Box else raw(a))))
        axis = axis[0] if len(axis) == 1 else axis
    if weights is None:
        out = mean(a, axis, keepdims=keepdims)
        shape = shape_of(a if type(a) is Box else raw(a))
        n = count_of(shape, axes_of("average", axis, len(shape)), True)
        scale = convert(n, dtypes.float64) if type(n) is int else cast(n, dtypes.float64)
    else:
        x: Any = a if type(a) is Box else wrap(raw(a))
        w: Any = weights if type(weights) is Box else wrap(raw(weights))
        if shape_of(w) != shape_of(x):
            w = _along_axes(w, shape_of(x), axis)
        scale = sum_(w, axis, keepdims=keepdims)
        ops.index_check.fail_where(raw(scale == 0), _NO_WEIGHT)
        out = sum_(x * w, axis, keepdims=keepdims) / scale
    return (out, wrap(ops.shape.broadcast_to(raw(scale), shape_of(out)))) if returned else out


_NO_WEIGHT = ops.index_check.Raising(ZeroDivisionError, "Weights sum to zero, can't be normalized")


def _along_axes(w: Any, shape: Any, axis: Any) -> Any:
    """Weights of the elements along some axes, for all of an array of that shape."""
    if axis is None:
        problem = "axis must be given when shapes of a and weights differ"
        raise ArgumentTypeError(name="average", problem=problem)
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [axis_of("average", n, len(shape)) for n in given]
    if shape_of(w) != tuple(shape[n] for n in axes):
        problem = "shape of weights must be consistent with shape of a along specified axis"
        raise ShapeError(op="average", problem=problem)
    w = ops.shape.transpose(raw(w), permutation=tuple(int(n) for n in np.argsort(axes)))
    w = ops.shape.expand_dims(w, tuple(n for n in range(len(shape)) if n not in axes))
    return wrap(ops.shape.broadcast_to(w, shape))


@implements(np.ptp, "ptp")
def ptp(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Maximum minus minimum."""
    return max_(a, axis, keepdims=keepdims) - min_(a, axis, keepdims=keepdims)


@implements(np.count_nonzero, "count_nonzero")
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """How many elements are not zero."""
    return sum_(wrap(truth(raw(a))), axis, keepdims=keepdims)


# ---------------------------------------------------------------- cumulative


def _cumulative(name: str, op: Callable[..., Any]) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, dtype: Any = None) -> Any:
        return wrap(running(name, op, raw(a), axis, dtype))

    function.__name__ = name
    return function


def running(name: str, op: Callable[..., Any], x: Any, axis: Any, dtype: Any) -> Any:
    """The raw running total along an axis, None for all elements in C order."""
    x = as_asked(x, dtype, _sum_dtype(dtype_of(x)))
    if axis is None:
        x = ops.shape.reshape(x, shape=(elements(name, shape_of(x)),)) if len(shape_of(x)) != 1 else x
        axis = 0
    return op(x, axis=single_axis(name, axis, len(shape_of(x))), reverse=False)


cumsum = implements(np.cumsum, "cumsum")(_cumulative("cumsum", ops.cumulative.cumsum))
cumprod = implements(np.cumprod, "cumprod")(_cumulative("cumprod", ops.cumulative.cumprod))


def _cumulative_array_api(name: str, op: Callable[..., Any], first: int) -> Callable[..., Any]:
    def function(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        r = raw(x)
        r = r if shape_of(r) else ops.shape.reshape(r, shape=(1,))
        if axis is None and len(shape_of(r)) != 1:
            raise ArgumentError(name=name, problem="for arrays of more than one dimension `axis` is needed")
        n = single_axis(name, 0 if axis is None else axis, len(shape_of(r)))
        out = running(name, op, r, n, dtype)
        if not include_initial:
            return wrap(out)
        head = filled(first, dtype_of(out), (*shape_of(out)[:n], 1, *shape_of(out)[n + 1 :]))
        return wrap(ops.concat.concatenate(head, out, dimension=n))

    function.__name__ = name
    return function


cumulative_sum = implements(np.cumulative_sum, "cumulative_sum")(
    _cumulative_array_api("cumulative_sum", ops.cumulative.cumsum, 0)
)
cumulative_prod = implements(np.cumulative_prod, "cumulative_prod")(
    _cumulative_array_api("cumulative_prod", ops.cumulative.cumprod, 1)
)
