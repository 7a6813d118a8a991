"""Nonlinear least squares without bounds as a native loop: the steps of SciPy's `trf_no_bounds`.

Moré, The Levenberg-Marquardt algorithm (1977). The singular values that each step needs come from Jacobi's one-sided
rotations for few unknowns, which are native (Golub and Van Loan, Matrix Computations, 8.6.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp

_EPS = float(np.finfo(float).eps)
#: Up to so many unknowns by rotations; more by LAPACK.
_FEW = 16
_SWEEPS = 40


class Loss(NamedTuple):
    """A loss of the squares z, and its first two derivatives."""

    value: Callable[[Any], Any]
    first: Callable[[Any], Any]
    second: Callable[[Any], Any]


def _outside(z: Any) -> Any:
    return tnp.maximum(z, 1.0)


#: By SciPy's names (its documentation of `least_squares`); "linear" is None.
LOSSES: dict[Any, Loss | None] = {
    "linear": None,
    "soft_l1": Loss(
        lambda z: 2 * ((1 + z) ** 0.5 - 1), lambda z: (1 + z) ** -0.5, lambda z: -0.5 * (1 + z) ** -1.5
    ),
    "huber": Loss(
        lambda z: tnp.where(z <= 1, z, 2 * _outside(z) ** 0.5 - 1),
        lambda z: tnp.where(z <= 1, 1.0, _outside(z) ** -0.5),
        lambda z: tnp.where(z <= 1, 0.0, -0.5 * _outside(z) ** -1.5),
    ),
    "cauchy": Loss(lambda z: tnp.log1p(z), lambda z: 1 / (1 + z), lambda z: -1 / (1 + z) ** 2),
    "arctan": Loss(lambda z: tnp.arctan(z), lambda z: 1 / (1 + z**2), lambda z: -2 * z / (1 + z**2) ** 2),
}


class Robust(NamedTuple):
    """A loss of residuals of the size `scale`."""

    loss: Loss | None
    scale: Any

    def cost(self, f: Any) -> Any:
        if self.loss is None:
            return 0.5 * (f @ f)
        return 0.5 * self.scale**2 * tnp.sum(self.loss.value((f / self.scale) ** 2))

    def scaled(self, matrix: Any, f: Any) -> tuple[Any, Any]:
        """The Jacobian and the residuals of the linear problem of the same slope and nearly the same curvature."""
        if self.loss is None:
            return matrix, f
        z = (f / self.scale) ** 2
        first, second = self.loss.first(z), self.loss.second(z) / self.scale**2
        by = tnp.sqrt(tnp.maximum(first + 2 * second * f**2, _EPS))
        return matrix * by[:, None], f * (first / by)


class Fit(NamedTuple):
    """The state of the search; residuals and Jacobian are scaled for the loss."""

    x: Any
    f: Any
    matrix: Any
    cost: Any
    slope: Any
    scale: Any  # of the unknowns
    radius: Any
    damping: Any
    calls: Any
    matrices: Any
    status: Any  # -1 while it goes on


class Inner(NamedTuple):
    """The state of the search for a step that lessens the cost."""

    x: Any
    f: Any
    cost: Any
    less: Any  # by how much
    radius: Any
    damping: Any
    calls: Any
    status: Any


def decomposed(matrix: Any) -> tuple[Any, Any]:
    """The singular values of a matrix, in no order, and its right singular vectors as rows."""
    n = matrix.shape[1]
    if n > _FEW:
        _, s, v = tnp.linalg.svd(matrix, full_matrices=False)
        return s, v
    rows, v = _rotated(tnp.swapaxes(matrix, 0, 1), n)
    return tnp.sqrt(tnp.sum(rows * rows, axis=1)), v


def _rotated(rows: Any, n: int) -> tuple[Any, Any]:
    """The rows, rotated in pairs until they are orthogonal, and the rotations."""
    if n < 2:
        return rows, tnp.eye(n)
    first, second = np.triu_indices(n, 1)

    def rotate(k: Any, state: Any) -> Any:
        rows, v, largest = state
        i, j = _at(first, k), _at(second, k)
        x, y = _at(rows, i), _at(rows, j)
        a, b, c = x @ x, y @ y, x @ y
        size = tnp.sqrt(a * b)
        off = tnp.abs(c) > _EPS * size
        zeta = (b - a) / (2 * tnp.where(off, c, 1.0))
        t = tnp.where(zeta >= 0, 1.0, -1.0) / (tnp.abs(zeta) + tnp.sqrt(1 + zeta * zeta))
        t = tnp.where(off, t, 0.0)
        cos = 1 / tnp.sqrt(1 + t * t)
        sin = cos * t

        def turned(m: Any) -> Any:
            p, q = _at(m, i), _at(m, j)
            return _put(_put(m, cos * p - sin * q, i), sin * p + cos * q, j)

        return turned(rows), turned(v), tnp.maximum(largest, tnp.where(off, tnp.abs(c) / size, 0.0))

    def sweep(state: Any) -> Any:
        rows, v, _, count = state
        return *lax.fori_loop(0, len(first), rotate, (rows, v, tnp.zeros(()))), count + 1

    start = rows, tnp.eye(n), tnp.ones(()), np.int64(0)
    rows, v, _, _ = lax.while_loop(lambda s: (s[2] > 4 * _EPS) & (s[3] < _SWEEPS), sweep, start)
    return rows, v


def _at(x: Any, n: Any) -> Any:
    return lax.dynamic_index_in_dim(x, n, 0, False)


def _put(x: Any, value: Any, n: Any) -> Any:
    return lax.dynamic_update_index_in_dim(x, value, n, 0)


def size_of(v: Any) -> Any:
    return tnp.sqrt(v @ v)


def within(s: Any, v: Any, g: Any, radius: Any, damping: Any, m: int) -> tuple[Any, Any]:
    """The step of at most the length `radius` that lessens the linear problem most, and its damping.

    `g` are the products of the singular values with the residuals in their directions."""
    n = s.shape[0]
    counts = s > _EPS * m * tnp.max(s)
    full = tnp.all(counts) if m >= n else np.bool_(False)
    g = tnp.where(counts, g, 0.0)  # where there is no slope but rounding
    safe = tnp.where(full, s, 1.0)
    newton = g / (safe * safe)
    inside = full & (size_of(newton) <= radius)

    def phi(a: Any) -> tuple[Any, Any]:
        bottom = s * s + a
        length = size_of(g / bottom)
        return length - radius, -tnp.sum(g * g / bottom**3) / length

    value, slope = phi(tnp.where(full, 0.0, 1.0))
    upper = size_of(g) / radius
    lower = tnp.where(full, -value / slope, 0.0)

    def guess(lower: Any, upper: Any) -> Any:
        return tnp.maximum(0.001 * upper, tnp.sqrt(lower * upper))

    damping = tnp.where(~full & (damping == 0), guess(lower, upper), damping)

    def step(state: Any) -> Any:
        a, lower, upper, count, _ = state
        a = tnp.where((a < lower) | (a > upper), guess(lower, upper), a)
        value, slope = phi(a)
        upper = tnp.where(value < 0, a, upper)
        ratio = value / slope
        lower = tnp.maximum(lower, a - ratio)
        return a - (value + radius) * ratio / radius, lower, upper, count + 1, tnp.abs(value) < 0.01 * radius

    start = damping, lower, upper, np.int64(0), inside
    a, _, _, _, _ = lax.while_loop(lambda s: (s[3] < 10) & ~s[4], step, start)
    damped = g / (s * s + a)
    damped = damped * (radius / size_of(damped))
    return -(v.T @ tnp.where(inside, newton, damped)), tnp.where(inside, 0.0, a)


def fit(
    value: Callable[[Any], Any],
    jacobian: Callable[[Any], Any],
    x: Any,
    robust: Robust,
    settings: dict[str, Any],
) -> Fit:
    """The least cost that is found from `x`. `settings`: ftol, xtol, gtol, max_nfev, x_scale (numbers, or "jac")."""
    most = settings["max_nfev"] or 100 * x.size
    by_matrix = isinstance(settings["x_scale"], str)

    def scales(matrix: Any, old: Any) -> Any:
        if not by_matrix:
            return old
        sizes = tnp.sqrt(tnp.sum(matrix**2, axis=0))
        return 1 / (tnp.where(sizes == 0, 1.0, sizes) if old is None else tnp.maximum(sizes, 1 / old))

    def step(s: Fit) -> Fit:
        scaled = s.matrix * s.scale
        g = s.scale * s.slope
        sigma, v = decomposed(scaled)
        found = _lessened(value, robust, s, (scaled, g, sigma, v), (most, settings["ftol"], settings["xtol"]))
        less = found.less > 0
        x = tnp.where(less, found.x, s.x)

        def renewed(x: Any) -> Any:
            matrix, f = robust.scaled(jacobian(x), found.f)
            return matrix, f, f @ matrix

        matrix, f, slope = lax.cond(less, renewed, lambda _: (s.matrix, s.f, s.slope), x)
        small = tnp.max(tnp.abs(slope)) < settings["gtol"]
        status = tnp.where(small, 1, found.status)
        status = tnp.where((status < 0) & (found.calls >= most), 0, status)
        return Fit(
            x,
            f,
            matrix,
            tnp.where(less, found.cost, s.cost),
            slope,
            tnp.where(less, scales(matrix, s.scale), s.scale),
            found.radius,
            found.damping,
            found.calls,
            s.matrices + tnp.where(less, 1, 0),
            status,
        )

    f = value(x)
    cost = robust.cost(f)
    matrix, f = robust.scaled(jacobian(x), f)
    slope = f @ matrix
    scale = scales(matrix, None) if by_matrix else tnp.broadcast_to(settings["x_scale"], x.shape) + 0.0 * x
    radius = size_of(x / scale)
    radius = tnp.where(radius == 0, 1.0, radius)
    first = tnp.where(tnp.max(tnp.abs(slope)) < settings["gtol"], 1, np.int64(0 if most == 1 else -1))
    zero, one = tnp.zeros(()), np.int64(1)
    start = Fit(x, f, matrix, cost, slope, scale, radius, zero, one, one, first)
    return lax.while_loop(lambda s: s.status < 0, step, start)


def _lessened(value: Any, robust: Robust, s: Fit, linear: Any, limits: Any) -> Inner:
    """Shorter and shorter steps until one lessens the cost, or is too small."""
    matrix, g, sigma, v = linear
    # U' f, each times its singular value.
    along = v @ (s.f @ matrix)

    def proposed(t: Inner) -> Proposal:
        h, damping = within(sigma, v, along, t.radius, t.damping, s.f.shape[0])
        moved = matrix @ h
        change = s.scale * h
        return Proposal(s.x + change, h, change, -(0.5 * (moved @ moved) + h @ g), damping)

    return shortened(value, robust, s, limits, proposed)


class Proposal(NamedTuple):
    """A step within the radius: where it leads, itself in scaled unknowns, the change of `x`, by what the cost is
    predicted to be less, and the damping that it takes."""

    x: Any
    h: Any
    change: Any
    predicted: Any
    damping: Any


def shortened(
    value: Any, robust: Robust, s: Fit, limits: Any, proposed: Callable[[Inner], Proposal]
) -> Inner:
    """Proposals for a smaller and smaller radius, until one lessens the cost, or is too small."""
    most, ftol, xtol = limits
    length = size_of(s.x)

    def step(t: Inner) -> Inner:
        p = proposed(t)
        f = value(p.x)
        size, calls = size_of(p.h), t.calls + 1
        fine = tnp.all(tnp.isfinite(f))
        cost = robust.cost(f)
        less = tnp.where(fine, s.cost - cost, -1.0)
        radius, ratio = adapted(t.radius, less, p.predicted, size)
        small = size_of(p.change) < xtol * (xtol + length)
        flat = (less < ftol * s.cost) & (ratio > 0.25)
        status = tnp.where(flat & small, 4, tnp.where(flat, 2, tnp.where(small, 3, -1)))
        status = tnp.where(fine, status, -1)
        ended = status > 0
        return Inner(
            p.x,
            f,
            cost,
            less,
            tnp.where(fine, tnp.where(ended, t.radius, radius), 0.25 * size),
            tnp.where(fine & ~ended, p.damping * t.radius / radius, p.damping),
            calls,
            status,
        )

    start = Inner(s.x, s.f, s.cost, -tnp.ones(()), s.radius, s.damping, s.calls, np.int64(-1))
    return lax.while_loop(lambda t: (t.less <= 0) & (t.calls < most) & (t.status < 0), step, start)


def adapted(radius: Any, less: Any, predicted: Any, size: Any) -> tuple[Any, Any]:
    """The radius by how good the prediction was, and their ratio."""
    both = (predicted == 0) & (less == 0)
    ratio = tnp.where(
        predicted > 0, less / tnp.where(predicted > 0, predicted, 1.0), tnp.where(both, 1.0, 0.0)
    )
    longer = (ratio > 0.75) & (size > 0.95 * radius)
    return tnp.where(ratio < 0.25, 0.25 * size, tnp.where(longer, 2.0 * radius, radius)), ratio
