"""Order statistics: medians and quantiles, with and without NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentError, ArgumentTypeError
from tracejit.numpy.boxes.masking.calls import worst
from tracejit.numpy.boxes.masking.selected import selection
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements
from tracejit.numpy.empties import NO_MEAN, NO_NUMBER, or_warned, warn_where
from tracejit.numpy.functions.arrays.shaping import box_of, moveaxis, ravel, reshape
from tracejit.numpy.functions.order.selection import take, take_along_axis, where
from tracejit.numpy.functions.order.sorting import argsort, sort
from tracejit.numpy.functions.statistics.nanreductions import nanmean
from tracejit.numpy.functions.statistics.reductions import axes_of, keep, mean
from tracejit.numpy.operands import raw
from tracejit.numpy.ufuncs import TABLE
from tracejit.tracing import Box, box, wrap

_floor: Callable[..., Any] = TABLE["floor"]


def _gathered(name: str, a: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The reduced axes flattened into a last one, and which they were."""
    x = box_of(a)
    axes = axes_of(name, axis, x.ndim)
    kept = tuple(n for n in range(x.ndim) if n not in axes)
    x = NP[np.transpose](x, (*kept, *axes))
    if len(axes) == 1:
        return x, axes
    return reshape(x, (*x.shape[: len(kept)], int(np.prod([1, *x.shape[len(kept) :]])))), axes


def _sorted(x: Any) -> tuple[Any, Any, Any]:
    """(sorted rows, the number of elements in each that count, whether one of them is NaN).

    What a mask selected is sorted in place: what it did not select comes last."""
    kept = selection(x)
    if kept is not None and kept.ndim == 1 and x.dtype.kind != "c":
        full = kept.filled(worst(x.dtype, False))
        s = sort(wrap(kept.mask.flat(full)), -1)
        return s, wrap(kept.mask.count, weak=True), NP[np.any](TABLE["isnan"](x))
    s = sort(x, -1)
    n = s.shape[-1]
    nan = TABLE["isnan"](s[..., -1]) if type(n) is int else NP[np.any](TABLE["isnan"](s), axis=-1)
    return s, n, nan


def _nan_if(out: Any, nan: Any, s: Any) -> Any:
    """`out`; NaN where `nan`. Of complex numbers it is the last of the row, one part of which may be a number."""
    if not dtypes.is_inexact(s.dtype):
        return out
    last = s[..., -1] if s.dtype.kind == "c" and type(s.aval.shape[-1]) is int else np.nan
    return where(nan, last, out)


def _restore(out: Any, axes: tuple[int, ...], keepdims: Any) -> Any:
    return wrap(keep(raw(out), axes, keepdims, False))


@implements(np.median, "median")
def median(a: Any, axis: Any = None, *, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """The middle value, or the mean of the middle two; NaN if there is one."""
    x, axes = _gathered("median", a, axis)
    if x.aval.shape[-1] == 0:
        return mean(a, axis, keepdims=keepdims)
    s, n, nan = _sorted(x)
    if type(n) is int:
        mid = mean(s[..., (n - 1) // 2 : n // 2 + 1], -1)
    else:
        or_warned(raw(n), 0, NO_MEAN)
        mid = where(n == 0, np.nan, _middle(s, NP[np.broadcast_to](n, s.aval.shape[:-1])))
    return _restore(_nan_if(mid, nan, s), axes, keepdims)


def _middle(s: Any, count: Any) -> Any:
    """The median of the first `count` elements of each sorted row; anything if there are none."""
    low, high = (_along(s, TABLE["maximum"](i, 0)) for i in ((count - 1) // 2, count // 2))
    both = mean(NP[np.stack]([low, high]), 0)
    if s.dtype.kind == "c":  # NumPy's mean of one infinite number is NaN, none has NaN in the real part
        low, both = mean(low[..., None], -1), where(count == 0, np.nan, both)
    return where(count % 2 == 1, low, both)


@implements(np.nanmedian, "nanmedian")
def nanmedian(a: Any, axis: Any = None, *, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """The median of what is not NaN; NaN where nothing is."""
    x, axes = _gathered("nanmedian", a, axis)
    if not dtypes.is_inexact(x.dtype):
        return median(a, axis, keepdims=keepdims)
    if x.aval.shape[-1] == 0:
        return nanmean(a, axis, keepdims=keepdims)
    s, n = _counted(x)
    return _restore(_middle(s, n), axes, keepdims)


def _counted(x: Any) -> tuple[Any, Any]:
    """Sorted rows, and how many of each are not NaN: of each row of none NumPy warns, or once that rows are empty.
    Rows of traced length have one more NaN, so that there is something to take."""
    size = x.shape[-1]
    if type(size) is not int:
        warn_where(raw(size == 0), NO_MEAN)
        x = NP[np.concatenate]([x, NP[np.full]((*x.shape[:-1], 1), np.nan, x.dtype)], -1)
    s = sort(x, -1)
    n = NP[np.sum](TABLE["logical_not"](TABLE["isnan"](s)), axis=-1)
    warn_where(raw((n == 0) & (size > 0)), NO_NUMBER, each=True)
    return s, n


def _along(s: Any, index: Any) -> Any:
    """One element of each row; anything where there is none."""
    at = raw(index[..., None])
    return wrap(ops.gather.take_along_axis(raw(s), at, -1, mode="fill"))[..., 0]


# ---------------------------------------------------------------- quantiles

# Where between the order statistics a quantile lies: n q + alpha + q (1 - alpha - beta) - 1
# (Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996, types 4 to 9).
_PLACES = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3.0, 1 / 3.0), "normal_unbiased": (3 / 8.0, 3 / 8.0),
}  # fmt: skip
_STEPS = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")
METHODS = (*_PLACES, "linear", "averaged_inverted_cdf", "midpoint", *_STEPS)


def _position(method: str, n: Any, q: Any) -> tuple[Any, Any]:
    """(index of the order statistic below, weight of the one above, or None if it is exact)."""
    if method in ("lower", "higher", "nearest"):
        return {"lower": _floor, "higher": TABLE["ceil"], "nearest": TABLE["rint"]}[method]((n - 1) * q), None
    if method == "inverted_cdf":
        return _at_least_0(TABLE["ceil"](n * q - 1)), None
    if method == "closest_observation":
        at = n * q - 1.5
        low = _floor(at)
        stay = (at == low) & (low % 2 == 1)
        return _at_least_0(where(stay, low, low + 1)), None
    if method == "midpoint":
        at = 0.5 * (_floor((n - 1) * q) + TABLE["ceil"]((n - 1) * q))
        low = _floor(at)
        return low, where(at == low, 0.0, 0.5)
    if method == "averaged_inverted_cdf":
        at = n * q - 1
        low = _floor(at)
        return low, where(at == low, 0.5, 1.0)
    if method == "linear":
        at = (n - 1) * q
    else:
        alpha, beta = _PLACES[method]
        at = n * q + (alpha + q * (1 - alpha - beta)) - 1
    low = _floor(at)
    return low, at - low


def _at_least_0(x: Any) -> Any:
    return TABLE["maximum"](x, 0)


def _quantile(s: Any, n: Any, q: Any, method: str, weak: bool) -> Any:
    """Of rows sorted along the last axis with `n` elements that count (an integer, or one number a row).

    The axes of `q` lead the result's.
    """
    rows = s.ndim - 1
    each = type(n) is Box and not n.weak
    wide = q[(..., *(None,) * rows)] if each else q
    count: Any = n.astype(q.dtype) if each else n
    low, weight = _position(method, count, wide)
    if method == "linear" and q.dtype.kind in "iu":
        weight = None  # an integer q names an element
    last = count - 1
    first = _picked(s, TABLE["maximum"](TABLE["minimum"](low, last), 0), q.ndim, each)
    if weight is None:
        return first
    above = where((low < 0) | (low >= last), TABLE["maximum"](TABLE["minimum"](low, last), 0), low + 1)
    second = _picked(s, above, q.ndim, each)
    t: Any = weight if each or not rows else weight[(..., *(None,) * rows)]
    t = box(raw(t), weak=True) if weak else t
    d = second - first
    return where(t >= 0.5, second - d * (1 - t), first + d * t)  # type: ignore[operator]


def _picked(s: Any, index: Any, ndim: int, each: bool) -> Any:
    """Elements of the rows, the axes of the quantiles leading; `each`: a row has its own places."""
    index = index.astype(int)
    lead = s.ndim - 1
    if not each:
        return moveaxis(take(s, index, -1), tuple(range(lead, lead + ndim)), tuple(range(ndim)))
    many = index.shape[:ndim]
    flat = reshape(index, (-1, *index.shape[ndim:]))
    out = take_along_axis(s, moveaxis(flat, 0, -1), -1)
    return reshape(moveaxis(out, -1, 0), (*many, *out.shape[:-1]))


_QUANTILE = ops.index_check.Raising(ValueError, "Quantiles must be in the range [0, 1]")
_PERCENTILE = ops.index_check.Raising(ValueError, "Percentiles must be in the range [0, 100]")


def _prepare(name: str, a: Any, q: Any, axis: Any, method: str, scale: float) -> tuple[Any, Any, Any, bool]:
    x, axes = _gathered(name, a, axis)
    if x.dtype.kind == "c":
        raise ArgumentTypeError(name=name, problem="a must be an array of real numbers")
    if method not in METHODS:
        raise ArgumentError(name=name, problem=f"{method!r} is not a valid method; use one of {METHODS}")
    weak = type(q) in (int, float) or (type(q) is Box and q.weak)
    q = box(raw(q))
    q: Any = q if scale == 1 else q / scale  # type: ignore[operator]
    q = q.astype(float) if q.dtype.kind == "b" else q
    c = ops.compare
    inside = c.and_(c.ge(raw(q), 0), c.le(raw(q), 1))
    ops.index_check.fail_where(c.not_(inside), _QUANTILE if scale == 1 else _PERCENTILE)
    return x, axes, q, weak


def _of(
    name: str, a: Any, q: Any, axis: Any, method: str, keepdims: Any, weights: Any, scale: float, nan: bool
) -> Any:
    x, axes, q, weak = _prepare(name, a, q, axis, method, scale)
    after = tuple(n + q.ndim for n in axes)
    nan = nan and dtypes.is_inexact(x.dtype)
    if weights is not None:
        if method != "inverted_cdf":
            raise ArgumentError(
                name=name, problem=f"only method 'inverted_cdf' supports weights, not {method!r}"
            )
        out = _restore(_weighted(name, x, q, _row_weights(name, a, axes, weights), nan), after, keepdims)
        out.scalar = False  # NumPy takes it from an array
        return out
    if not nan:
        s, n, is_nan = _sorted(x)
        if type(n) is not int:  # which raises IndexError, as NumPy does
            ops.index_check.check_index(np.int64(-1), size=raw(n), axis=0)
        return _restore(_nan_if(_quantile(s, n, q, method, weak), is_nan, s), after, keepdims)
    if q.ndim and type(x.shape[-1]) is not int:
        leave_if(raw(x.shape[-1] == 0), "one number, as NumPy has for all quantiles of nothing")
    s, n = _counted(x)
    return _restore(_quantile(s, n, q, method, weak), after, keepdims)


def _row_weights(name: str, a: Any, axes: tuple[int, ...], weights: Any) -> Any:
    """Weights of `a`'s shape (or one weight an element of the only axis) as rows."""
    w = box_of(weights)
    shape = box_of(a).shape
    if w.shape != shape:
        if len(axes) != 1 or w.ndim != 1 or w.shape[0] != shape[axes[0]]:
            raise ArgumentTypeError(
                name=name, problem="shape of weights must be that of a, or of the one axis"
            )
        return w
    return _gathered(name, w, axes)[0]


def _weighted(name: str, x: Any, q: Any, w: Any, nan: bool) -> Any:
    """The least element up to which the weights are at least the fraction q of all."""
    w = w.astype(float)
    rows = x.shape[:-1]
    w = box_of(ops.shape.broadcast_to(raw(w), (*map(int, rows), int(x.shape[-1]))))
    if nan:
        w = where(TABLE["isnan"](x), 0.0, w)
    order = argsort(x, -1, stable=True)
    s, w = take_along_axis(x, order, -1), take_along_axis(w, order, -1)
    total = NP[np.cumsum](w, axis=-1)
    cdf = total / total[..., -1:]
    cdf = cdf.astype(q.dtype) if q.dtype.kind == "f" else cdf
    cdf = where(cdf == 0, -1, cdf)
    wide = NP[np.broadcast_to](ravel(q), (*rows, q.size)).astype(cdf.dtype)
    n = len(rows)
    at = wrap(ops.search.searchsorted(raw(cdf), raw(wide), side="left", batch_dims=n))
    out = moveaxis(take_along_axis(s, TABLE["minimum"](at, x.shape[-1] - 1), -1), -1, 0)
    out = reshape(out, (*q.shape, *rows))
    if nan:
        return where(_counted(x)[1] == 0, np.nan, out)
    return _nan_if(out, TABLE["isnan"](s[..., -1]), s)


def _public(name: str, scale: float, nan: bool) -> Callable[..., Any]:
    def function(
        a: Any, q: Any, axis: Any = None, *, overwrite_input: bool = False, method: str = "linear",
        keepdims: Any = False, weights: Any = None,
    ) -> Any:  # fmt: skip
        return _of(name, a, q, axis, method, keepdims, weights, scale, nan)

    function.__name__ = name
    function.__doc__ = (
        f"The {'quantiles' if scale == 1 else 'percentiles'} {'of what is not NaN ' if nan else ''}"
        "by any of NumPy's methods; `q` may be traced and has a derivative where the method interpolates. "
        "Fractions that are not known while tracing are not checked to be in range."
    )
    return function


quantile = implements(np.quantile, "quantile")(_public("quantile", 1.0, False))
percentile = implements(np.percentile, "percentile")(_public("percentile", 100.0, False))
nanquantile = implements(np.nanquantile, "nanquantile")(_public("nanquantile", 1.0, True))
nanpercentile = implements(np.nanpercentile, "nanpercentile")(_public("nanpercentile", 100.0, True))
