"""Choosing, sorting and searching elements, and writing them by function call (put, copyto, place …)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError, TracerArrayError
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes.conversions import class_name, class_of
from tracejit.numpy.boxes.pythons import require
from tracejit.numpy.captured.array import writes
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, implements
from tracejit.numpy.elementwise import truth
from tracejit.numpy.functions.arrays.shaping import box_of, ravel, reshape
from tracejit.numpy.functions.statistics.reductions import axis_of, single_axis
from tracejit.numpy.operands import (
    broadcast_operands,
    cast,
    convert,
    dtype_of,
    kind_of,
    nested,
    promote,
    python_bool,
    raw,
    result_type,
    shape_of,
)
from tracejit.numpy.options import copy_of, mode_of
from tracejit.numpy.ufuncs import TABLE
from tracejit.tracing import Box, new_array, wrap


@implements(np.where, "where", arrays=True)
def where(
    condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None
) -> Any:
    """`x` where the condition holds, else `y`; derivatives see only the chosen one.

    With the condition alone it is `nonzero`, which takes `size` and `fill_value`.
    """
    if x is None and y is None:
        return NUMPY_TO_TRACEJIT[np.nonzero](condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ArgumentError(name="where", problem="either both or neither of x and y should be given")
    d = result_type(x, y)
    # NumPy wraps Python integers that the dtype does not hold, here alone.
    x, y = (np.asarray(v).astype(d)[()] if type(v) is int and d.kind in "iu" else v for v in (x, y))
    parts = broadcast_operands("where", [truth(raw(condition)), convert(x, d), convert(y, d)])
    return wrap(ops.compare.select(*parts))


@implements(np.select, "select", arrays=True)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first choice whose condition holds."""
    if len(condlist) != len(choicelist):
        raise ArgumentError(name="select", problem="list of cases must be same length as list of conditions")
    for n, c in enumerate(condlist):
        if dtype_of(raw(c)).kind != "b":
            raise TypeError(f"invalid entry {n} in condlist: should be boolean ndarray")
    d = result_type(*choicelist, default)
    out: Any = wrap(_wrapped(default, d))
    for c, x in reversed(list(zip(condlist, choicelist, strict=True))):
        out = where(c, wrap(_wrapped(x, d)), out)
    return out


def _wrapped(x: Any, dtype: np.dtype) -> Any:
    """A raw value as `dtype`, into which NumPy wraps even Python's integers here."""
    return cast(raw(x), dtype)


_ENTRY = ops.index_check.Raising(ValueError, "invalid entry in choice array")


@implements(np.choose, "choose", arrays=False)
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """`choices[a[i]][i]`."""
    mode = mode_of(mode)
    options = list(choices)
    index, n = box_of(a), len(options)
    if not np.can_cast(index.dtype, np.intp, "safe"):
        raise TypeError(f"Cannot cast {index.dtype} to an index by the rule 'safe'")
    if mode == "raise":
        ops.index_check.fail_where(raw((index < 0) | (index >= n)), _ENTRY)
    index = index % n if mode == "wrap" else clip(index, 0, n - 1)
    return select([index == k for k in range(n - 1)], options[:-1], options[-1])


_NO_LIMIT: Any = object()


@implements(np.clip, "clip")
def clip(
    a: Any,
    a_min: Any = _NO_LIMIT,
    a_max: Any = _NO_LIMIT,
    *,
    min: Any = _NO_LIMIT,
    max: Any = _NO_LIMIT,
    **kwargs: Any,
) -> Any:
    """Values limited to [a_min, a_max]."""
    if (a_min is _NO_LIMIT) != (a_max is _NO_LIMIT):
        missing = "a_min" if a_min is _NO_LIMIT else "a_max"
        raise TypeError(f"clip() missing 1 required positional argument: {missing!r}")
    if a_min is not _NO_LIMIT and not (min is _NO_LIMIT and max is _NO_LIMIT):
        raise ValueError(
            "Passing `min` or `max` keyword argument when `a_min` and `a_max` are provided is forbidden."
        )
    lo, hi = (min, max) if a_min is _NO_LIMIT else (a_min, a_max)
    lo, hi = (None if v is _NO_LIMIT else v for v in (lo, hi))
    d = dtype_of(raw(a))
    if d.kind in "iu":  # Python integers that nothing is beyond are no limits
        info = np.iinfo(d)
        lo = None if type(lo) is int and lo < info.min else lo
        hi = None if type(hi) is int and hi > info.max else hi
    out = a if d.kind != "b" or lo is not None or hi is not None else TABLE["positive"](a)
    for name, limit in (("maximum", lo), ("minimum", hi)):
        if (
            limit is not None
        ):  # of two zeros these take the second: the value beside one limit for all, as NumPy does
            out = TABLE[name](*((limit, out) if shape_of(raw(limit)) == () else (out, limit)))
    return wrap(raw(out)) if out is a else out


@implements(np.round, "round", arrays=False)
def round_(a: Any, decimals: Any = 0) -> Any:
    """To the given number of decimals, halves to even."""
    x = box_of(a)
    n = operator.index(decimals)
    if x.dtype.kind in "bui":
        if n and x.dtype.kind == "b":
            raise TypeError("Cannot cast ufunc 'multiply' output from float to bool")
        if n >= 0:
            return x.astype(np.float16) if x.dtype.kind == "b" else x.copy()
        return (TABLE["rint"](x / 10**-n) * 10**-n).astype(x.dtype)
    if n == 0:
        return TABLE["rint"](x)
    return TABLE["rint"](x * 10.0**n) / 10.0**n if n > 0 else TABLE["rint"](x / 10.0**-n) * 10.0**-n


implements(np.around, "around", arrays=False)(round_.__wrapped__)  # type: ignore[attr-defined]


@implements(np.fix, "fix")
def fix(x: Any) -> Any:
    """Rounded towards zero."""
    return TABLE["trunc"](x)


@implements(np.nan_to_num, "nan_to_num", arrays=False)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """NaN and infinities replaced by numbers."""
    b = box_of(x)
    if not copy_of(copy):
        if not isinstance(x, np.ndarray) and class_of(b) is not np.ndarray:
            np.array(0.0, copy=False)  # raises: there is no array to write into
        if dtypes.is_inexact(b.dtype):
            b[...] = nan_to_num(b, True, nan, posinf, neginf)
        return b if b.aval.shape else b[()]
    if not dtypes.is_inexact(b.dtype):
        return b.copy()
    if b.dtype.kind == "c":
        parts = [nan_to_num(p, copy, nan, posinf, neginf) for p in (b.real, b.imag)]
        return wrap(ops.arithmetic.complex(*map(raw, parts)))
    info = np.finfo(b.dtype)
    out = where(TABLE["isnan"](b), nan, b)
    out = where(isposinf(b), info.max if posinf is None else posinf, out)
    return where(isneginf(b), info.min if neginf is None else neginf, out).astype(b.dtype)


@implements(np.isposinf, "isposinf")
def isposinf(x: Any) -> Any:
    """Positive infinity."""
    return _infinite("isposinf", x, "greater")


@implements(np.isneginf, "isneginf")
def isneginf(x: Any) -> Any:
    """Negative infinity."""
    return _infinite("isneginf", x, "less")


def _infinite(name: str, x: Any, side: str) -> Any:
    if box_of(x).dtype.kind == "c":
        raise ArgumentTypeError(name=name, problem="is not defined for complex numbers")
    return TABLE["logical_and"](TABLE["isinf"](x), TABLE[side](x, 0))


@implements(np.isclose, "isclose")
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """|a - b| <= atol + rtol |b|, elementwise."""
    x, y = box_of(a), box_of(b)
    y = y if dtypes.is_inexact(y.dtype) else y.astype(float)
    near = (TABLE["absolute"](x - y) <= atol + rtol * TABLE["absolute"](y)) & TABLE["isfinite"](y)
    near = near | (x == y)
    return near | (TABLE["isnan"](x) & TABLE["isnan"](y)) if equal_nan else near


@implements(np.allclose, "allclose")
def allclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    """Whether all elements are close; a traced boolean."""
    return python_bool(isclose(a, b, rtol, atol, equal_nan).all())


@implements(np.array_equal, "array_equal")
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether shapes and all elements are equal."""
    x, y = box_of(a1), box_of(a2)
    if x.aval.shape != y.aval.shape:
        return False
    same = x == y
    return python_bool((same | (TABLE["isnan"](x) & TABLE["isnan"](y)) if equal_nan else same).all())


# ---------------------------------------------------------------- taking


@implements(np.take, "take")
def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise", **_: Any) -> Any:
    """Elements at integer indices along an axis; modes raise, wrap, clip."""
    mode = mode_of(mode)
    x = ravel(box_of(a)) if axis is None else box_of(a)
    n = single_axis("take", 0 if axis is None else axis, x.ndim)
    index: Any = indices if isinstance(indices, (Box, np.ndarray)) else raw(indices)
    if dtype_of(raw(index)).kind in "ub":  # truth values are 0 and 1, and no mask
        index = wrap(cast(raw(index), dtypes.int64))  # values too large wrap, those of scalars too
    if mode in ("wrap", "clip"):
        shape = (*x.shape[:n], *shape_of(raw(index)), *x.shape[n + 1 :])
        if x.shape[n] == 0 and 0 in shape:  # nothing from nothing is no mistake
            return NUMPY_TO_TRACEJIT[np.zeros](shape, x.dtype)
        i = wrap(raw(index))
        index = i % x.shape[n] if mode == "wrap" else clip(i, 0, x.shape[n] - 1)
    taken = x[(slice(None),) * n + (index if isinstance(index, Box) else wrap(index),)]
    return wrap(raw(taken))  # never a view


@implements(np.take_along_axis, "take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """`arr[..., indices[..., i, ...], ...]` along an axis."""
    x, index, n = _along(arr, indices, axis)
    return x[_grid(x, index, n)]


def _target(a: Any, value: Any) -> Box:
    if type(a) is not Box:  # a real ndarray cannot hold it
        raise TracerArrayError(aval=str(aval_of(raw(value))))
    return a


@implements(np.put_along_axis, "put_along_axis")
@writes
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """The write that corresponds to `take_along_axis`."""
    arr = _target(arr, values)
    x, index, n = _along(arr, indices, axis)
    x[_grid(x, index, n)] = values
    if axis is None and x.storage is not arr.storage:  # a copy: the array is not in C order
        arr[...] = reshape(x, arr.shape)


def _along(arr: Any, indices: Any, axis: Any) -> tuple[Any, Any, int]:
    ndim = len(shape_of(raw(arr)))
    n = 0 if axis is None else axis_of("take_along_axis", axis, ndim)
    require(indices, "ndim" if axis is None else "dtype")
    index = box_of(indices)
    if axis is None:
        arr, ndim = ravel(arr), 1
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
    if index.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if index.ndim != ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    return box_of(arr), index, n


def _grid(x: Any, index: Any, n: int) -> tuple[Any, ...]:
    """`index` on axis n, ranges of the array's extents on the others: the two broadcast."""
    r = index.ndim

    def ranges(k: int) -> Any:
        return np.arange(x.shape[k]).reshape((-1,) + (1,) * (r - k - 1))

    return tuple(index if k == n else ranges(k) for k in range(r))


# ---------------------------------------------------------------- writing by call


@implements(np.copyto, "copyto")
@writes
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """`dst[...] = src`, where the mask holds."""
    if type(dst) is Box and class_of(dst) is not np.ndarray:
        raise TypeError(f"copyto() argument 1 must be a numpy.ndarray, not {class_name(dst)}")
    dst = _target(dst, src)
    if src is dst:  # nothing happens, to a read-only view either
        return
    value = wrap(raw(src)) if type(src) is Box else src
    kind = kind_of(src)
    given = promote(kind, dst.dtype) if isinstance(kind, type) else np.dtype(kind)
    if not np.can_cast(given, dst.dtype, casting):  # type: ignore[arg-type]
        raise ArgumentTypeError(
            name="copyto", problem=f"cannot cast from {dtype_of(raw(src))} to {dst.dtype}"
        )
    dst[...] = value if where is True else NUMPY_TO_TRACEJIT[np.where](where, value, dst)


def kind_example(x: Any) -> Any:
    k = kind_of(x)
    return x if isinstance(k, type) else k


def _stored(values: Any, a: Box) -> Any:
    """A vector of values in the dtype of the array that is to have them. Raises as NumPy does for numbers of Python
    that do not fit."""
    return ravel(wrap(_stored_raw(values, a.aval.dtype)))


def _stored_raw(values: Any, dtype: np.dtype) -> Any:
    return nested(values, dtype) if isinstance(values, (list, tuple)) else convert(values, dtype)


def _example(values: Any) -> Any:
    """A value of the type of what is stored, which NumPy says whether it may be cast to."""
    if type(values) is not Box:
        return [_example(v) for v in values] if isinstance(values, (list, tuple)) else values
    number = values.aval.dtype.type(1)
    return number.item() if values.weak else np.full((1,) * len(values.aval.shape), number)


@implements(np.put, "put")
@writes
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Elements at flat positions replaced; values are repeated as needed."""
    a = _target(a, v)
    a = new_array(raw(a)) if a.scalar else a  # NumPy writes into a copy of a scalar
    mode, index = mode_of(mode), ravel(box_of(ind))
    index = clip(index, 0, a.size - 1) if mode == "clip" else index % a.size if mode == "wrap" else index
    values = _stored(v, a)
    values = NUMPY_TO_TRACEJIT[np.resize](values, index.shape) if values.shape != index.shape else values
    a.flat[index] = values


@implements(np.putmask, "putmask")
@writes
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Elements where the mask holds replaced by those at the same place of `values`."""
    a = _target(a, values)
    np.putmask(np.empty(1, a.aval.dtype), [True], _example(values))
    v = wrap(_stored_raw(values, a.aval.dtype))
    if v.ndim and v.shape != a.shape:
        v = NUMPY_TO_TRACEJIT[np.resize](v, a.shape)
    a[...] = where(mask, v, a)


@implements(np.place, "place")
@writes
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Elements where the mask holds replaced by the first N of `vals`, in order."""
    a = _target(arr, vals)
    np.place(np.empty(1, a.aval.dtype), np.ones(1, bool), _example(vals))
    v, m = _stored(vals, a), box_of(mask).astype(bool)
    order = NUMPY_TO_TRACEJIT[np.cumsum](ravel(m)) - 1
    a[...] = where(m, reshape(take(v, order % v.shape[0]), a.shape), a)


@implements(np.fill_diagonal, "fill_diagonal")
@writes
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """The main diagonal replaced."""
    a = _target(a, val)
    if a.ndim < 2:
        raise ArgumentError(name="fill_diagonal", problem="array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ArgumentError(name="fill_diagonal", problem="all dimensions of input must be of equal length")
    columns = a.shape[1]
    if a.ndim == 2:
        places = np.arange(0, a.size if wrap else min(a.size, columns * columns), columns + 1)
        index = np.unravel_index(places, a.shape)
    else:
        index = (np.arange(columns),) * a.ndim
    n = index[0].size
    a[index] = NUMPY_TO_TRACEJIT[np.resize](ravel(val), (n,)) if shape_of(raw(val)) else val
