"""Splines in the B-spline basis, by de Boor's algorithm (de Boor, A Practical Guide to Splines)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.scipy.hosting.likeness import Like, as_array, floats, increasing, maker, placed, refuse, require


class BSpline(metaclass=Like):
    """`sum(c[j] * B(j, k, t))`: knots t (n + k + 1 or more), coefficients c (n, ...), degree k."""

    t: Any
    c: Any
    k: int
    extrapolate: Any
    axis: int

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self.k, self.t, c = operator.index(k), tnp.asarray(t).astype(float), floats(c)
        self.extrapolate = extrapolate if extrapolate == "periodic" else bool(extrapolate)
        self.axis = operator.index(axis) % c.ndim
        self.c = tnp.moveaxis(c, self.axis, 0)
        n = self.t.shape[0] - self.k - 1
        if self.k < 0:
            raise ValueError("Spline order cannot be negative.")
        if self.t.ndim != 1:
            raise ValueError("Knot vector must be one-dimensional.")
        if n < self.k + 1:
            raise ValueError(f"Need at least {2 * k + 2} knots for degree {k}")
        if self.c.shape[0] < n:
            raise ValueError("Knots, coefficients and degree are inconsistent.")
        sound = (
            tnp.all(self.t[1:] >= self.t[:-1]) & (self.t[self.k] < self.t[n]) & tnp.all(tnp.isfinite(self.t))
        )
        require(sound, "Knots must be in a non-decreasing order.")

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients and degree."""
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
        """The values, or the `nu`-th derivatives, at `x`."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        at, n = tnp.asarray(x).astype(float), self.t.size - self.k - 1
        p, low, high = at.reshape(-1), self.t[self.k], self.t[n]
        if extrapolate == "periodic":
            p = low + tnp.mod(p - low, high - low)
        t, c, k = self.t, self.c[:n], self.k
        for _ in range(operator.index(nu)):
            t, c, k = slope_of(t, c, k)
        out = tnp.zeros((p.size, *c.shape[1:]), c.dtype) if k < 0 else value_at(t, c, k, p)
        if extrapolate is False:
            inside = (p >= low) & (p <= high)
            out = tnp.where(inside.reshape(-1, *[1] * (out.ndim - 1)), out, np.nan)
        return placed(out.reshape(*at.shape, *out.shape[1:]), at.ndim, self.axis)

    def derivative(self, nu: int = 1) -> Any:
        """The spline of the `nu`-th derivative."""
        if nu < 0:
            return self.antiderivative(-nu)
        n = self.t.size - self.k - 1
        t, c, k = self.t, self.c[:n], self.k
        for _ in range(nu):
            t, c, k = slope_of(t, c, k)
        pad = tnp.zeros((t.size - c.shape[0], *c.shape[1:]), c.dtype)
        c = tnp.concatenate([c, pad])
        return BSpline.made(t=t, c=c, k=k, extrapolate=self.extrapolate, axis=self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """The spline of the `nu`-th integral, 0 at the first knot; it is not continued periodically."""
        n = self.t.size - self.k - 1
        t, c, k = self.t, self.c[:n], self.k
        for _ in range(nu):
            width = ((t[k + 1 :] - t[: -k - 1]) / (k + 1)).reshape(-1, *[1] * (c.ndim - 1))
            sums = tnp.cumsum(c * width, axis=0)
            c = tnp.concatenate([tnp.zeros_like(sums[:1]), sums])
            t, k = tnp.concatenate([t[:1], t, t[-1:]]), k + 1
        c = tnp.concatenate([c, tnp.broadcast_to(c[-1:], (t.size - c.shape[0], *c.shape[1:]))])
        kept = False if self.extrapolate == "periodic" else self.extrapolate
        return BSpline.made(t=t, c=c, k=k, extrapolate=kept, axis=self.axis)

    @maker
    def basis_element(cls, t: Any, extrapolate: Any = True) -> Any:
        """The one spline of the basis that has these knots."""
        t = tnp.asarray(t).astype(float)
        k = t.shape[0] - 2
        t = tnp.concatenate([(t[0] - 1) * tnp.ones(k), t, (t[-1] + 1) * tnp.ones(k)])
        c = np.zeros(t.shape[0])
        c[k] = 1.0
        return BSpline.made(t=as_array(t), c=as_array(c), k=k, extrapolate=extrapolate, axis=0)

    @maker
    def construct_fast(cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Any:
        """A spline of these parts, of which nothing is checked."""
        return BSpline.made(t=t, c=c, k=k, extrapolate=extrapolate, axis=axis)

    def insert_knot(self, x: Any, m: int = 1) -> Any:
        """The same spline with the knot `x` as well, `m` times."""
        x = tnp.asarray(x).astype(float)
        t, c, k, n = self.t, self.c, self.k, self.t.size - self.k - 1
        require((x >= t[k]) & (x <= t[n]), "Cannot insert a knot outside of the base interval.")
        if self.extrapolate == "periodic":
            refuse("BSpline.insert_knot", "a periodic spline")
        for _ in range(m):
            t, c, n = (*inserted(t, c[:n], k, x), n + 1)
        return BSpline.made(t=t, c=c, k=k, extrapolate=self.extrapolate, axis=self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`, within the knots."""
        n, k, t = self.t.size - self.k - 1, self.k, self.t
        if extrapolate not in (None, True) or self.extrapolate is not True:
            refuse("BSpline.integrate", "this `extrapolate`", "integrate within the knots")
        width = ((t[k + 1 : n + k + 1] - t[:n]) / (k + 1)).reshape(-1, *[1] * (self.c.ndim - 1))
        sums = tnp.cumsum(self.c[:n] * width, axis=0)
        c = tnp.concatenate([tnp.zeros_like(sums[:1]), sums])
        knots = tnp.concatenate([t[:1], t[: n + k + 1], t[n + k : n + k + 1]])
        ends = tnp.stack([tnp.asarray(b).astype(float), tnp.asarray(a).astype(float)])
        require(tnp.all((ends >= t[k]) & (ends <= t[n])), "The limits are outside of the knots.")
        values = value_at(knots, c, k + 1, ends)
        return as_array(values[0] - values[1])


def inserted(t: Any, c: Any, k: int, x: Any) -> tuple[Any, Any]:
    """Knots and coefficients with one more knot, by Boehm's algorithm."""
    n = c.shape[0]
    i = _interval(t, k, n, x)
    number = np.arange(n + 1)
    low = t[: n + 1]
    high = tnp.concatenate([t[k : n + k], t[n + k : n + k + 1]])
    width = high - low
    share = (x - low) / tnp.where(width == 0, 1.0, width)
    share = tnp.where(number <= i - k, 1.0, tnp.where(number > i, 0.0, share))
    share = share.reshape(-1, *[1] * (c.ndim - 1))
    before, own = tnp.concatenate([c[:1], c]), tnp.concatenate([c, c[-1:]])
    places = np.arange(t.size + 1)
    earlier, later = tnp.concatenate([t, t[-1:]]), tnp.concatenate([t[:1], t])
    knots = tnp.where(places <= i, earlier, tnp.where(places == i + 1, x, later))
    return knots, share * own + (1 - share) * before


def slope_of(t: Any, c: Any, k: int) -> tuple[Any, Any, int]:
    """Knots, coefficients and degree of the derivative."""
    if k == 0:
        return t, tnp.zeros_like(c), -1
    if k < 0:
        return t, c, k
    n = c.shape[0]
    width = t[k + 1 : n + k] - t[1:n]
    safe = tnp.where(width > 0, width, 1.0).reshape(-1, *[1] * (c.ndim - 1))
    empty = (width > 0).reshape(-1, *[1] * (c.ndim - 1))
    return t[1:-1], tnp.where(empty, k * tnp.diff(c, axis=0) / safe, 0.0), k - 1


def _interval(t: Any, k: int, n: int, x: Any) -> Any:
    """For each x the number i with t[i] <= x < t[i + 1], between t[k] and t[n]; the interval next to the x outside. At
    either end a knot may be there more often than it counts."""
    t = lax.stop_gradient(t)
    if k == 0:  # the last step counts at the last knot, however narrow it is
        return tnp.clip(tnp.searchsorted(t, lax.stop_gradient(x), "right") - 1, 0, n - 1)
    first, last = tnp.searchsorted(t, t[k], "right") - 1, tnp.searchsorted(t, t[n]) - 1
    return tnp.clip(tnp.searchsorted(t, lax.stop_gradient(x), "right") - 1, first, last)


def value_at(t: Any, c: Any, k: int, x: Any) -> Any:
    """The values at the vector `x`: shape (len(x), ...)."""
    i = _interval(t, k, c.shape[0], x)
    rows = [c[i - k + j] for j in range(k + 1)]
    tail = [1] * (c.ndim - 1)
    for r in range(1, k + 1):
        for j in range(k, r - 1, -1):
            low, high = t[i - k + j], t[i + 1 + j - r]
            w = ((x - low) / (high - low)).reshape(-1, *tail)
            rows[j] = (1 - w) * rows[j - 1] + w * rows[j]
    return rows[k]


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> Any:
    """The spline of degree `k` through (x, y), with the knots `t` or, where there are none, SciPy's ("not-a-knot").

    `bc_type` may have conditions at the ends: "natural", "clamped", "periodic", or derivatives (order, value) there."""
    k, x, y = operator.index(k), increasing(x, "Expect x to not have duplicates"), floats(y)
    axis = operator.index(axis) % y.ndim
    y = tnp.moveaxis(y, axis, 0)
    if check_finite:
        require(tnp.all(tnp.isfinite(y)), "Array must not contain infs or nans.")
    shape = y.shape[1:]
    if x.size != y.shape[0]:
        raise ValueError(f"Shapes of x {x.shape} and y {y.shape} are incompatible")
    if k < 0:
        raise ValueError("Expect non-negative k.")
    if isinstance(bc_type, str) and bc_type == "periodic" and k > 0:
        if t is not None:
            refuse("make_interp_spline", "knots and a period", "leave the knots away")
        if k > 1:
            return _periodic(x, y, k, axis)
        _require_closed(y)  # but of lines SciPy makes no periodic spline
        bc_type = None
    ends = [
        _slopes_at(e) for e in ([bc_type] * 2 if bc_type is None or isinstance(bc_type, str) else bc_type)
    ]
    conditions = [*ends[0], *ends[1]]
    if conditions and k < 2:
        raise ValueError("Too much info for k<2: t and bc_type can only be None.")
    if t is None and k == 0:
        knots = tnp.concatenate([x, x[-1:]])
        return BSpline.made(t=knots, c=y, k=0, extrapolate=True, axis=axis)
    if t is not None:
        knots = tnp.asarray(t).astype(float)
    elif conditions:
        knots = tnp.concatenate([x[0] * tnp.ones(k), x, x[-1] * tnp.ones(k)])
    else:
        knots = knots_of(x, k)
    n = x.size
    if knots.size != n + k + 1 + len(conditions):
        raise ValueError(
            f"The number of derivatives at boundaries does not match: expected {knots.size - n - k - 1}"
        )
    y = y.reshape(n, -1)
    rows, right = [basis(knots, k, x)], [y]
    for at, (order, value) in [*((x[:1], e) for e in ends[0]), *((x[-1:], e) for e in ends[1])]:
        rows.append(_slope_of_basis(knots, k, at, order))
        right.append(tnp.broadcast_to(floats(value).reshape(1, -1), (1, y.shape[1])))
    c = tnp.linalg.solve(tnp.concatenate(rows), tnp.concatenate(right)).reshape(-1, *shape)
    return BSpline.made(t=knots, c=c, k=k, extrapolate=True, axis=axis)


def _slopes_at(condition: Any) -> list[tuple[int, Any]]:
    """The derivatives at an end: orders and values."""
    if condition is None or (isinstance(condition, str) and condition == "not-a-knot"):
        return []
    if isinstance(condition, str):
        if condition not in ("natural", "clamped"):
            raise ValueError(f"Unknown boundary condition: {condition}")
        return [(2 if condition == "natural" else 1, 0.0)]
    return [(operator.index(order), value) for order, value in condition]


def _slope_of_basis(t: Any, k: int, x: Any, order: int) -> Any:
    c = tnp.eye(t.size - k - 1)
    for _ in range(order):
        t, c, k = slope_of(t, c, k)
    return value_at(t, c, k, x)


def _require_closed(y: Any) -> None:
    same = tnp.abs(y[0] - y[-1]) <= 1e-15 * tnp.abs(y[-1]) + 1e-15
    require(tnp.all(same), "First and last points does not match while periodic case expected")


def _periodic(x: Any, y: Any, k: int, axis: int) -> Any:
    """The spline through (x, y) whose values and derivatives are the same at both ends."""
    n = x.size
    _require_closed(y)
    inner = x
    if k % 2 == 0:
        inner = tnp.concatenate([x[:1], (x[:-2] + x[1:-1]) / 2, x[-1:]])
    width = tnp.diff(inner)
    before = [
        inner[0] - tnp.sum(tnp.stack([width[-1 - j % (n - 1)] for j in range(i + 1)])) for i in range(k)
    ]
    after = [inner[-1] + tnp.sum(tnp.stack([width[j % (n - 1)] for j in range(i + 1)])) for i in range(k)]
    t = tnp.concatenate([tnp.stack(before[::-1]), inner, tnp.stack(after)])
    # The first n - 1 coefficients come again.
    again = np.eye(n - 1)[np.arange(n - 1 + k) % (n - 1)]
    matrix = basis(t, k, x[:-1]) @ again
    c = tnp.linalg.solve(matrix, y[:-1].reshape(n - 1, -1))
    return BSpline.made(t=t, c=(again @ c).reshape(-1, *y.shape[1:]), k=k, extrapolate="periodic", axis=axis)


def basis(t: Any, k: int, x: Any) -> Any:
    """The values of the splines of the basis at the points `x`, shape (len(x), n)."""
    return value_at(t, tnp.eye(t.size - k - 1), k, x)


def knots_of(x: Any, k: int) -> Any:
    """The points, or the middles between them where k is even, without those next to the ends."""
    if x.size < k + 1:
        raise ValueError(f"Need at least {k + 1} points for degree {k}")
    inner = x if k % 2 else (x[1:] + x[:-1]) / 2
    cut = (k + 1) // 2 if k % 2 else k // 2
    inner = inner[cut : inner.size - cut]
    ends = tnp.ones(k + 1)
    return tnp.concatenate([x[0] * ends, inner, x[-1] * ends])
