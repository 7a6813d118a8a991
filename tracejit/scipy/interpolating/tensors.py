"""Functions of several variables that are products of functions of one: NdPPoly, NdBSpline."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.scipy.hosting.likeness import Like, as_array, floats, increasing
from tracejit.scipy.interpolating.splines import BSpline


def _points(x: Any, d: int) -> Any:
    """The points, the coordinates of each along the last axis."""
    if isinstance(x, tuple):
        x = tnp.stack(tnp.broadcast_arrays(*map(tnp.asarray, x)), axis=-1)
    x = tnp.asarray(x).astype(float)
    x = x.reshape(-1, 1) if x.ndim == 1 and d == 1 else x
    if not x.ndim or x.shape[-1] != d:
        raise ValueError(f"Shapes: x.shape={x.shape} and ndim={d}")
    return x


def _orders(nu: Any, d: int) -> list[int]:
    if nu is None:
        return [0] * d
    orders = [operator.index(n) for n in nu]
    if len(orders) != d or any(n < 0 for n in orders):
        raise ValueError("invalid number of derivative orders nu")
    return orders


def _inside(out: Any, p: Any, ends: list[tuple[Any, Any]]) -> Any:
    """NaN where a coordinate is out of its ends."""
    good = np.True_
    for j, (low, high) in enumerate(ends):
        good = good & (p[:, j] >= low) & (p[:, j] <= high)
    return tnp.where(good.reshape(-1, *[1] * (out.ndim - 1)), out, np.nan)


class NdPPoly(metaclass=Like):
    """A piecewise polynomial of several variables: `c` has the powers of each first, and then its intervals."""

    def __init__(self, c: Any, x: Any, extrapolate: Any = None) -> None:
        self.x = tuple(increasing(v, "x-coordinates are not in increasing order") for v in x)
        self.c, d = floats(c), len(self.x)
        self.extrapolate = True if extrapolate is None else bool(extrapolate)
        if self.c.ndim < 2 * d:
            raise ValueError("c must have at least 2*len(x) dimensions")
        if any(a != b.size - 1 for a, b in zip(self.c.shape[d : 2 * d], self.x, strict=True)):
            raise ValueError("x and c do not agree on the number of intervals")

    def __call__(self, x: Any, nu: Any = None, extrapolate: Any = None) -> Any:
        """The values, or derivatives, at points."""
        extrapolate, d = self.extrapolate if extrapolate is None else bool(extrapolate), len(self.x)
        at, orders = _points(x, d), _orders(nu, d)
        p = at.reshape(-1, d)
        places = []
        for j, breaks in enumerate(self.x):
            i = tnp.searchsorted(lax.stop_gradient(breaks), lax.stop_gradient(p[:, j]), "right") - 1
            places.append(tnp.clip(i, 0, breaks.size - 2))
        out = self.c[(slice(None),) * d + tuple(places)]
        for j, order in enumerate(orders):
            s = p[:, j] - self.x[j][places[j]]
            degree, rows = out.shape[0] - 1, out
            s = s.reshape(*[1] * (d - 1 - j), -1, *[1] * (self.c.ndim - 2 * d))
            out = tnp.zeros_like(rows[0])
            for k in range(degree - order + 1):
                out = out * s + rows[k] * float(math.perm(degree - k, order))
        if not extrapolate:
            out = _inside(out, p, [(v[0], v[-1]) for v in self.x])
        return as_array(out.reshape(*at.shape[:-1], *out.shape[1:]))


class NdBSpline(metaclass=Like):
    """A tensor product of splines with knots `t[j]` and degrees `k[j]`."""

    def __init__(self, t: Any, c: Any, k: Any, *, extrapolate: Any = None) -> None:
        self.t = tuple(tnp.asarray(v).astype(float) for v in t)
        self.c, d = floats(c), len(self.t)
        self.k = (
            tuple(operator.index(n) for n in k) if isinstance(k, (tuple, list)) else (operator.index(k),) * d
        )
        self.extrapolate = True if extrapolate is None else bool(extrapolate)
        if len(self.k) != d:
            raise ValueError(f"len(t) = {d} != len(k) = {len(self.k)}.")
        if self.c.ndim < d:
            raise ValueError(f"Coefficients must be at least {d}-dimensional.")
        for j, (v, n) in enumerate(zip(self.t, self.k, strict=True)):
            if self.c.shape[j] != v.size - n - 1:
                raise ValueError(f"Knots, coefficients and degree in dimension {j} are inconsistent.")

    def __call__(self, xi: Any, *, nu: Any = None, extrapolate: Any = None) -> Any:
        """The values, or derivatives, at points."""
        extrapolate, d = self.extrapolate if extrapolate is None else bool(extrapolate), len(self.t)
        at, orders = _points(xi, d), _orders(nu, d)
        p = at.reshape(-1, d)
        out, tail = self.c[None], [1] * (self.c.ndim - 1)
        for j, (t, k) in enumerate(zip(self.t, self.k, strict=True)):
            one = BSpline.made(t=t, c=tnp.eye(t.size - k - 1), k=k, extrapolate=True, axis=0)
            weights = one(p[:, j], orders[j])
            out = tnp.sum(weights.reshape(*weights.shape, *tail) * out, axis=1)
            tail = tail[1:]
        if not extrapolate:
            out = _inside(out, p, [(t[k], t[t.size - k - 1]) for t, k in zip(self.t, self.k, strict=True)])
        return as_array(out.reshape(*at.shape[:-1], *self.c.shape[d:]))
