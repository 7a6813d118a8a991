"""Sorting, searching, counting, order statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, UnsupportedFunctionError
from tracejit.numpy.boxes import extents
from tracejit.numpy.dispatch import (
    NUMPY_TO_TRACEJIT,
    cast,
    convert,
    dtype_of,
    filled,
    implements,
    kind_of,
    promote,
    raw,
    result_type,
    shape_of,
)
from tracejit.numpy.functions.reductions import axes_of, axis_of, keep, mean
from tracejit.numpy.functions.selection import clip, take, where
from tracejit.numpy.functions.shaping import box_of, expand_dims, moveaxis, ravel, reshape
from tracejit.numpy.ufuncs import TABLE
from tracejit.tracing import wrap

# ---------------------------------------------------------------- sorting and searching


def _stable(kind: Any, stable: Any) -> bool:
    """Whether NumPy's options ask for a stable sort; the default is its faster one."""
    return bool(stable) or kind in ("stable", "mergesort")


@implements(np.sort, "sort")
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """A sorted copy; NaN last."""
    x = raw(ravel(a) if axis is None else a)
    n = axis_of("sort", -1 if axis is None else axis, len(shape_of(x)))
    return wrap(ops.sort.sort(x, axis=n, num_keys=1, stable=_stable(kind, stable))[0])


@implements(np.argsort, "argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """The indices that sort; equal elements stay in order if `stable`."""
    x = raw(ravel(a) if axis is None else a)
    n = axis_of("argsort", -1 if axis is None else axis, len(shape_of(x)))
    return wrap(ops.sort.argsort(x, axis=n, stable=_stable(kind, stable)))


@implements(np.partition, "partition")
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """Sorted entirely, which is a valid partition."""
    return sort(a, axis)


@implements(np.argpartition, "argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> Any:
    """The indices of a full sort, which is a valid partition."""
    return argsort(a, axis)


@implements(np.lexsort, "lexsort")
def lexsort(keys: Any, axis: Any = -1) -> Any:
    """The indices that sort by several keys, the last one first."""
    xs = [raw(k) for k in keys]
    n = axis_of("lexsort", axis, len(shape_of(xs[0])))
    places = NUMPY_TO_TRACEJIT[np.indices](tuple(map(extents.user_size, shape_of(xs[0]))))[n]
    return wrap(ops.sort.sort(*reversed(xs), raw(places), axis=n, num_keys=len(xs), stable=True)[-1])


@implements(np.searchsorted, "searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Where to insert values into a sorted vector: a binary search of static length."""
    x = box_of(a) if sorter is None else box_of(a)[sorter]
    n = x.shape[0]
    d = result_type(x, v)
    xs, vs = wrap(convert(x, d)), wrap(convert(v, d))
    lo = wrap(filled(0, dtypes.int64, vs.aval.shape))
    hi = wrap(filled(n, dtypes.int64, vs.aval.shape))
    for _ in range(int(n).bit_length()):
        active = lo < hi
        mid = (lo + hi) // 2
        at = take(xs, clip(mid, 0, n - 1))
        right = _before(at, vs, side == "right") & active
        lo, hi = where(right, mid + 1, lo), where(active & ~right, mid, hi)
    return lo


def _before(x: Any, v: Any, equal: bool) -> Any:
    """x < v (or <=) in NumPy's sort order, NaN last."""
    out = x <= v if equal else x < v
    if dtypes.is_inexact(x.dtype):
        nan = TABLE["isnan"](v)
        out = out | (nan if equal else nan & ~TABLE["isnan"](x))
    return out


@implements(np.isin, "isin")
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    """Which elements occur among `test_elements`."""
    x, tests = wrap(raw(element)), NUMPY_TO_TRACEJIT[np.ravel](wrap(raw(test_elements)))
    found = NUMPY_TO_TRACEJIT[np.any](TABLE["equal"](x[..., None], tests), axis=-1)
    return TABLE["logical_not"](found) if invert else found


@implements(np.digitize, "digitize")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The index of the bin of each value; the bins increase."""
    return searchsorted(bins, x, side="left" if right else "right")


@implements(np.bincount, "bincount")
def bincount(x: Any, weights: Any = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """How often each integer below `length` (or `minlength`) occurs. Traced values need one of them."""
    known = extents.known(raw(x))
    size = (
        length
        if length is not None
        else max(int(known.max(initial=-1)) + 1, minlength)
        if known is not None
        else minlength
    )
    if not size and known is None:
        raise UnsupportedFunctionError(name="numpy.bincount without minlength (its result has no known size)")
    w = wrap(filled(1, dtypes.int64, shape_of(raw(x)))) if weights is None else box_of(weights).astype(float)
    return NUMPY_TO_TRACEJIT[np.zeros](size, w.dtype).at[box_of(x)].add(w)


@implements(np.interp, "interp")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Piecewise linear interpolation in increasing `xp`."""
    if period is not None:
        raise ArgumentError(name="interp", problem="period is not implemented for traced arrays")
    x, xp, fp = (
        wrap(cast(raw(v), dtypes.float64) if dtype_of(raw(v)).kind != "c" else raw(v)) for v in (x, xp, fp)
    )
    i = clip(searchsorted(xp, x, side="right"), 1, xp.shape[0] - 1)
    x0, x1, f0, f1 = take(xp, i - 1), take(xp, i), take(fp, i - 1), take(fp, i)
    slope = (f1 - f0) / where(x1 == x0, 1.0, x1 - x0)
    out = where(x1 == x0, f1, f0 + (x - x0) * slope)
    out = where(x < xp[0], fp[0] if left is None else left, out)
    return where(x > xp[-1], fp[-1] if right is None else right, out)


# ---------------------------------------------------------------- order statistics


@implements(np.median, "median")
def median(a: Any, axis: Any = None, *, keepdims: Any = False, **_: Any) -> Any:
    """The middle value, or the mean of the middle two; NaN if there is one."""
    x, axes = _gathered(a, axis)
    n = x.shape[-1]
    s = sort(x, -1)
    mid = mean(s[..., (n - 1) // 2 : n // 2 + 1], -1)
    return _restore(_nan_if(mid, s), axes, keepdims)


def _gathered(a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The reduced axes flattened into a last one."""
    x = box_of(a)
    axes = axes_of("median", axis, x.ndim)
    kept = tuple(n for n in range(x.ndim) if n not in axes)
    x = NUMPY_TO_TRACEJIT[np.transpose](x, (*kept, *axes))
    return reshape(x, (*x.shape[: len(kept)], -1)), axes


def _nan_if(out: Any, s: Any) -> Any:
    return where(TABLE["isnan"](s[..., -1]), np.nan, out) if dtypes.is_inexact(s.dtype) else out


def _restore(out: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    return wrap(keep(raw(out), axes, keepdims))


@implements(np.quantile, "quantile")
def quantile(
    a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: Any = False, **_: Any
) -> Any:
    """Quantiles by linear interpolation (also methods lower, higher, nearest, midpoint)."""
    x, axes = _gathered(a, axis)
    n = x.shape[-1]
    x = x if dtypes.is_inexact(x.dtype) else x.astype(float)
    s = sort(x, -1)
    q = box_of(q).astype(promote(kind_of(x)))
    at = q * (n - 1)
    lo, hi = TABLE["floor"](at), TABLE["ceil"](at)
    low, high = (
        moveaxis(
            take(s, v.astype(int), -1), tuple(range(x.ndim - 1, x.ndim - 1 + q.ndim)), tuple(range(q.ndim))
        )
        for v in (lo, hi)
    )
    t = expand_dims(at - lo, tuple(range(q.ndim, q.ndim + x.ndim - 1))) if x.ndim > 1 else at - lo
    d = high - low
    line = where(t >= 0.5, high - d * (1 - t), low + d * t)  # exact at both ends, as NumPy's
    out = {"linear": line, "lower": low, "higher": high, "midpoint": (low + high) / 2}.get(method)
    if method == "nearest":
        i = TABLE["rint"](at).astype(int)
        out = moveaxis(take(s, i, -1), tuple(range(x.ndim - 1, x.ndim - 1 + q.ndim)), tuple(range(q.ndim)))
    if out is None:
        raise ArgumentError(
            name="quantile", problem=f"method {method!r} is not implemented for traced arrays"
        )
    out = _nan_if(out, s)
    return _restore(out, tuple(n + q.ndim for n in axes), keepdims)


@implements(np.percentile, "percentile")
def percentile(a: Any, q: Any, axis: Any = None, **kwargs: Any) -> Any:
    """Quantiles in percent."""
    return quantile(a, box_of(q) / 100, axis, **kwargs)
