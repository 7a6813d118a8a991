"""Numbers in order: geometric series, and windows for signals."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import ArgumentTypeError
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import creates, implements
from tracejit.numpy.functions.arrays.ranges import logspace
from tracejit.numpy.functions.arrays.shaping import box_of, moveaxis
from tracejit.numpy.functions.order.selection import where
from tracejit.numpy.operands import raw, result_type
from tracejit.numpy.ufuncs import TABLE
from tracejit.tracing import wrap

_ZERO = ops.index_check.Raising(ValueError, "Geometric sequence cannot include zero")


@implements(np.geomspace, "geomspace")
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Numbers of constant ratio from start to stop, which must not be 0."""
    n = operator.index(num)
    wanted = dtypes.float64 if dtype is None else dtypes.canonical(dtype)
    d = result_type(start, stop, float(n), np.empty(0, wanted))
    lo, hi = (box_of(v).astype(d) for v in (start, stop))
    for end in (lo, hi):
        ops.index_check.fail_where(raw(end == 0), _ZERO)
    lo, hi = NP[np.broadcast_arrays](lo, hi)
    turn = TABLE["sign"](lo)
    first, last = lo / turn, hi / turn
    out = logspace(TABLE["log10"](first), TABLE["log10"](last), n, endpoint)
    place = np.arange(n).reshape((-1,) + (1,) * first.ndim)
    out = where(place == 0, first, out)
    out = where(place == n - 1, last, out) if endpoint and n > 1 else out
    out = out.astype(d) * turn
    out = out if axis == 0 else moveaxis(out, 0, axis)
    return out if dtype is None else out.astype(dtype)


def _window(name: str) -> Any:
    """Windows depend on their static length alone: NumPy's own values, as a constant."""

    def window(M: Any) -> Any:
        return NP[np.array](getattr(np, name)(operator.index(M)))

    window.__name__ = name
    window.__doc__ = f"The {name.capitalize()} window of M points; M must be known."
    return creates(getattr(np, name), name)(window)


bartlett, blackman, hamming, hanning = map(_window, ("bartlett", "blackman", "hamming", "hanning"))


@implements(np.i0, "i0", arrays=True)
def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind and order 0."""
    v = box_of(x)
    if v.dtype.kind == "c":
        raise ArgumentTypeError(name="i0", problem="i0 not supported for complex values")
    v = v if dtypes.is_inexact(v.dtype) else v.astype(float)
    return wrap(ops.special.bessel_i0(raw(v)))


@implements(np.kaiser, "kaiser")
def kaiser(M: Any, beta: Any) -> Any:
    """The Kaiser window of M points, differentiable in its shape `beta`; M must be known."""
    n = operator.index(M)
    beta = box_of(beta)
    beta = beta if dtypes.is_inexact(beta.dtype) else beta.astype(float)
    if n == 1:
        return NP[np.ones](1)
    alpha = (n - 1) / 2.0
    rest = np.sqrt(np.maximum(1 - ((np.arange(n) - alpha) / alpha) ** 2, 0.0))
    return i0(beta * rest) / i0(beta)
