"""Reductions that ignore NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.numpy.dispatch import implements
from tracejit.numpy.empties import NO_NUMBER, or_warned, told_before
from tracejit.numpy.functions.statistics.reductions import (
    any_,
    argmax,
    argmin,
    keep,
    max_,
    mean,
    min_,
    prod,
    reduced_axes,
    running,
    std,
    sum_,
    var,
)
from tracejit.numpy.operands import cast, dtype_of, raw, shape_of
from tracejit.numpy.options import freedom, let_numpy_warn
from tracejit.tracing import wrap


def without_nan(a: Any, value: Any) -> tuple[Any, Any]:
    """The array with `value` for NaN, and the mask of what is not NaN (True if nothing can be)."""
    x = raw(a)
    if not dtypes.is_inexact(dtype_of(x)):
        return wrap(x), True
    bad = ops.compare.isnan(x)
    return wrap(ops.compare.select(bad, dtype_of(x).type(value), x)), wrap(ops.compare.not_(bad))


def _both(ok: Any, where: Any) -> Any:
    """The mask of elements that count: not NaN, and chosen by `where=`."""
    if where is True or where is np._NoValue:
        return ok
    if ok is True:
        return where
    mask = cast(raw(where), dtypes.bool_)
    mask = ops.shape.broadcast_to(mask, shape_of(raw(ok)))
    return wrap(ops.compare.and_(raw(ok), mask))


@implements(np.nansum, "nansum")
def nansum(a: Any, axis: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """The sum, NaN counting as 0. Takes `keepdims`, `initial` and `where` as well."""
    return sum_(without_nan(a, 0)[0], axis, dtype, **kwargs)


@implements(np.nanprod, "nanprod")
def nanprod(a: Any, axis: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
    """The product, NaN counting as 1. Takes `keepdims`, `initial` and `where` as well."""
    return prod(without_nan(a, 1)[0], axis, dtype, **kwargs)


@implements(np.nanmean, "nanmean")
def nanmean(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False, where: Any = True) -> Any:
    """The mean of what is not NaN."""
    x, ok = without_nan(a, 0)
    axes = reduced_axes("nanmean", axis, len(shape_of(raw(x))))
    with told_before(let_numpy_warn(np.nanmean, raw(x), axes, where, 0)):
        return mean(x, axis, dtype, keepdims=keepdims, where=_both(ok, where))


def _spread(name: str, of: Callable[..., Any], warns: Any) -> Callable[..., Any]:
    def function(
        a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, *, keepdims: Any = False, where: Any = True,
        mean: Any = None, correction: Any = None,
    ) -> Any:  # fmt: skip
        x, ok = without_nan(a, 0)
        ok = _both(ok, where)
        ddof = freedom(ddof, correction)
        axes = reduced_axes(name, axis, len(shape_of(raw(x))))
        with told_before(let_numpy_warn(warns, raw(x), axes, where, ddof, ddof=ddof)):
            out = raw(of(x, axis, dtype, ddof=ddof, keepdims=keepdims, where=ok, mean=mean))
        if ok is True:
            return wrap(out)
        ones = ops.shape.broadcast_to(cast(raw(ok), dtypes.int64), shape_of(raw(x)))
        count = keep(ops.reduce.reduce_sum(ones, axes=axes), axes, keepdims)
        few = ops.compare.le(count, np.int64(ddof))  # NumPy has NaN where ddof leaves no freedom
        return wrap(ops.compare.select(few, dtype_of(out).type(np.nan), out))

    function.__name__ = name
    function.__doc__ = f"The {'variance' if name == 'nanvar' else 'standard deviation'} of what is not NaN."
    return function


nanvar = implements(np.nanvar, "nanvar")(_spread("nanvar", var, np.nanvar))
nanstd = implements(np.nanstd, "nanstd")(_spread("nanstd", std, np.nanstd))


def _nan_extremum(name: str, best: Any, least: bool) -> Callable[..., Any]:
    def reduction(a: Any, axis: Any = None, *, keepdims: Any = False, **kwargs: Any) -> Any:
        x, ok = without_nan(a, np.inf if least else -np.inf)
        out = best(x, axis, keepdims=keepdims, **kwargs)
        if ok is True or "initial" in kwargs:
            return out
        some = or_warned(raw(any_(ok, axis, keepdims=keepdims)), 0, NO_NUMBER)
        return wrap(ops.compare.select(some, raw(out), dtype_of(raw(out)).type(np.nan)))

    reduction.__name__ = name
    return reduction


nanmax = implements(np.nanmax, "nanmax")(_nan_extremum("nanmax", max_, False))
nanmin = implements(np.nanmin, "nanmin")(_nan_extremum("nanmin", min_, True))


_ALL_NAN = ops.index_check.Raising(ValueError, "All-NaN slice encountered")


def _nan_index(name: str, best: Any, least: bool) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
        x, ok = without_nan(a, np.inf if least else -np.inf)
        out = best(x, axis, keepdims=keepdims)
        if ok is not True:
            ops.index_check.fail_where(ops.compare.not_(raw(any_(ok, axis))), _ALL_NAN)
        return out

    function.__name__ = name
    function.__doc__ = f"The place of the first {'least' if least else 'greatest'} element that is not NaN."
    return function


nanargmax = implements(np.nanargmax, "nanargmax")(_nan_index("nanargmax", argmax, False))
nanargmin = implements(np.nanargmin, "nanargmin")(_nan_index("nanargmin", argmin, True))


def _nan_running(name: str, op: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, dtype: Any = None) -> Any:
        return wrap(running(name, op, raw(without_nan(a, neutral)[0]), axis, dtype))

    function.__name__ = name
    function.__doc__ = f"The running {name[6:]}, NaN counting as {neutral}."
    return function


implements(np.nancumsum, "nancumsum")(_nan_running("nancumsum", ops.cumulative.cumsum, 0))
implements(np.nancumprod, "nancumprod")(_nan_running("nancumprod", ops.cumulative.cumprod, 1))
