"""Nonlinear least squares between bounds as a native loop: the steps of SciPy's `trf_bounds`.

Branch, Coleman and Li, A subspace, interior, and conjugate gradient method for large-scale bound-constrained
minimization problems (1999). Unknowns are measured by their distance from the bound that the slope leads to; a step
that leaves the bounds is cut there, or reflected, or one down the slope is taken, whichever is predicted to be best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.scipy.optimizing.loops.trust_region import (
    Fit,
    Inner,
    Proposal,
    Robust,
    decomposed,
    shortened,
    size_of,
    within,
)

_INF = np.inf


class Box(NamedTuple):
    """The bounds."""

    low: Any
    high: Any

    def holds(self, x: Any) -> Any:
        return tnp.all((x >= self.low) & (x <= self.high))

    def active(self, x: Any, close: Any) -> tuple[Any, Any]:
        """Which unknowns are on the lower and on the upper bound, to `close`."""
        below, above = x - self.low, self.high - x
        near = [close * tnp.maximum(1.0, tnp.abs(e)) for e in (self.low, self.high)]
        on_low = tnp.isfinite(self.low) & (below <= tnp.minimum(above, near[0]))
        return on_low, tnp.isfinite(self.high) & (above <= tnp.minimum(below, near[1]))

    def start(self, x: Any) -> Any:
        """The point, a little inside of the bounds that it is on."""
        close = 1e-10
        on_low, on_high = self.active(x, close)
        low, high = (tnp.where(tnp.isfinite(e), e, 0.0) for e in self)
        x = tnp.where(on_low, low + close * tnp.maximum(1.0, tnp.abs(low)), x)
        x = tnp.where(on_high, high - close * tnp.maximum(1.0, tnp.abs(high)), x)
        return self._between(x)

    def inside(self, x: Any) -> Any:
        """The point, next to the bounds that it is on or beyond."""
        x = tnp.where(x <= self.low, tnp.nextafter(self.low, self.high), x)
        return self._between(tnp.where(x >= self.high, tnp.nextafter(self.high, self.low), x))

    def _between(self, x: Any) -> Any:
        low, high = (tnp.where(tnp.isfinite(e), e, 0.0) for e in self)
        return tnp.where((x < self.low) | (x > self.high), 0.5 * (low + high), x)

    def distances(self, x: Any, slope: Any) -> tuple[Any, Any]:
        """Coleman and Li's vector, and its derivative: how far the bound is that -slope leads to; 1 where none is."""
        up, down = (slope < 0) & tnp.isfinite(self.high), (slope > 0) & tnp.isfinite(self.low)
        far = tnp.where(up, self.high - x, tnp.where(down, x - self.low, 1.0))
        return far, tnp.where(up, -1.0, tnp.where(down, 1.0, 0.0))

    def reach(self, x: Any, step: Any) -> tuple[Any, Any]:
        """How many of the steps lead to the first bound, and which unknowns reach it then."""
        moves = step != 0
        safe = tnp.where(moves, step, 1.0)
        counts = tnp.where(moves, tnp.maximum((self.low - x) / safe, (self.high - x) / safe), _INF)
        least = tnp.min(counts)
        return least, moves & (counts == least)


class _Model(NamedTuple):
    """A quadratic model of the cost: slope g, Jacobian and what is added to the diagonal."""

    matrix: Any
    g: Any
    diagonal: Any

    def value(self, s: Any) -> Any:
        moved = self.matrix @ s
        return 0.5 * (moved @ moved + s @ (self.diagonal * s)) + self.g @ s

    def least(self, s: Any, start: Any, low: Any, high: Any) -> tuple[Any, Any]:
        """The number t between low and high for which the value at start + t s is least, and that value."""
        along, from_start = self.matrix @ s, self.matrix @ start
        a = 0.5 * (along @ along + s @ (self.diagonal * s))
        b = self.g @ s + along @ from_start + start @ (self.diagonal * s)
        c = self.value(start)
        best = tnp.where(a != 0, -0.5 * b / tnp.where(a != 0, a, 1.0), low)
        ts = tnp.stack([low, high, tnp.where((low < best) & (best < high), best, low)])
        values = ts * (a * ts + b) + c
        n = tnp.argmin(values)
        return ts[n], values[n]


def _leaves(x: Any, s: Any, radius: Any) -> Any:
    """How many of the steps s lead from x to the edge of the region of trust."""
    a, b, c = s @ s, x @ s, x @ x - radius**2
    q = -(b + tnp.where(b < 0, -1.0, 1.0) * tnp.sqrt(tnp.maximum(b * b - a * c, 0.0)))
    return tnp.maximum(q / a, c / tnp.where(q == 0, 1.0, q))


def _chosen(box: Box, model: _Model, x: Any, p: Any, d: Any, radius: Any, theta: Any) -> tuple[Any, Any, Any]:
    """The best of three steps: cut at the bound, reflected there, down the slope. In measured unknowns, in plain ones,
    and by how much it lessens the model."""
    stride, hits = box.reach(x, d * p)
    mirrored = tnp.where(hits, -p, p)
    at_bound = p * stride
    to_edge = _leaves(at_bound, mirrored, radius)
    to_bound, _ = box.reach(x + d * at_bound, d * mirrored)
    length = tnp.minimum(to_bound, to_edge)
    goes = length > 0
    low = tnp.where(goes, (1 - theta) * stride / tnp.where(goes, length, 1.0), 0.0)
    high = tnp.where(goes, tnp.where(length == to_bound, theta * to_bound, to_edge), -1.0)
    t, reflected = model.least(mirrored, at_bound, low, tnp.maximum(low, high))
    reflected = tnp.where(low <= high, reflected, _INF)
    cut = theta * at_bound
    down = -model.g
    to_edge, (to_bound, _) = radius / size_of(down), box.reach(x, d * down)
    t_down, downhill = model.least(
        down, tnp.zeros_like(down), tnp.zeros(()), tnp.where(to_bound < to_edge, theta * to_bound, to_edge)
    )
    of_cut = model.value(cut)
    first = (of_cut < reflected) & (of_cut < downhill)
    second = ~first & (reflected < of_cut) & (reflected < downhill)
    step = tnp.where(first, cut, tnp.where(second, at_bound + t * mirrored, t_down * down))
    value = tnp.where(first, of_cut, tnp.where(second, reflected, downhill))
    return step, d * step, -value


def fit(
    value: Callable[[Any], Any],
    jacobian: Callable[[Any], Any],
    x: Any,
    box: Box,
    robust: Robust,
    settings: dict[str, Any],
) -> Fit:
    """The least cost between the bounds that is found from `x`; `settings` are those of `trust_region.fit`. The field
    `radius` of the result is that of the last step."""
    most = settings["max_nfev"] or 100 * x.size
    by_matrix = isinstance(settings["x_scale"], str)

    def scales(matrix: Any, old: Any) -> Any:
        if not by_matrix:
            return old
        sizes = tnp.sqrt(tnp.sum(matrix**2, axis=0))
        return 1 / (tnp.where(sizes == 0, 1.0, sizes) if old is None else tnp.maximum(sizes, 1 / old))

    def status_at(x: Any, slope: Any, calls: Any, before: Any) -> Any:
        far, _ = box.distances(x, slope)
        small = tnp.max(tnp.abs(slope * far)) < settings["gtol"]
        status = tnp.where(small, 1, before)
        return tnp.where((status < 0) & (calls >= most), 0, status)

    def step(s: Fit) -> Fit:
        found = _lessened(value, robust, box, s, (most, settings["ftol"], settings["xtol"]))
        less = found.less > 0
        x = tnp.where(less, found.x, s.x)

        def renewed(x: Any) -> Any:
            matrix, f = robust.scaled(jacobian(x), found.f)
            return matrix, f, f @ matrix

        matrix, f, slope = lax.cond(less, renewed, lambda _: (s.matrix, s.f, s.slope), x)
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
            status_at(x, slope, found.calls, found.status),
        )

    x = box.start(x)
    f = value(x)
    cost = robust.cost(f)
    matrix, f = robust.scaled(jacobian(x), f)
    slope = f @ matrix
    scale = scales(matrix, None) if by_matrix else tnp.broadcast_to(settings["x_scale"], x.shape) + 0.0 * x
    far, way = box.distances(x, slope)
    far = tnp.where(way != 0, far / scale, far)
    radius = size_of(x / scale / tnp.sqrt(far))
    radius = tnp.where(radius == 0, 1.0, radius)
    zero, one = tnp.zeros(()), np.int64(1)
    first = status_at(x, slope, one, np.int64(-1))
    start = Fit(x, f, matrix, cost, slope, scale, radius, zero, one, one, first)
    return lax.while_loop(lambda s: s.status < 0, step, start)


def _lessened(value: Any, robust: Robust, box: Box, s: Fit, limits: Any) -> Inner:
    """Shorter and shorter steps until one lessens the cost, or is too small."""
    far, way = box.distances(s.x, s.slope)
    theta = tnp.maximum(0.995, 1 - tnp.max(tnp.abs(s.slope * far)))
    far = tnp.where(way != 0, far / s.scale, far)
    d = tnp.sqrt(far) * s.scale
    model = _Model(s.matrix * d, d * s.slope, s.slope * way * s.scale)
    whole = tnp.concatenate([model.matrix, tnp.diag(tnp.sqrt(model.diagonal))])
    sigma, v = decomposed(whole)
    along = v @ (s.f @ model.matrix)

    def proposed(t: Inner) -> Proposal:
        p, damping = within(sigma, v, along, t.radius, t.damping, s.f.shape[0])
        cut = _chosen(box, model, s.x, p, d, t.radius, theta)
        stays = box.holds(s.x + d * p)
        own = p, d * p, -model.value(p)
        h, change, predicted = (tnp.where(stays, a, b) for a, b in zip(own, cut, strict=True))
        return Proposal(box.inside(s.x + change), h, change, predicted, damping)

    return shortened(value, robust, s, limits, proposed)
