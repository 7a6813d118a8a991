"""Explicit Runge-Kutta methods as native loops: the steps of `solve_ivp`, and what lies between them.

The algorithm is SciPy's (Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.4-6): the same
tableaus, which SciPy's classes have as attributes, the same first step, step control and interpolation. So the steps
are the same, up to rounding. Derivatives go through the steps that were taken: the lengths of the steps themselves are
constants, but for the last one, which ends where the interval does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_module
from tracejit.tracing import call_user

#: Steps that are tried before a solution is given up.
MOST_STEPS = 10_000_000


class Point(NamedTuple):
    """A point of the solution, with what is needed to interpolate back to the one before it."""

    t: Any
    y: Any
    f: Any
    before: Any  # the time of the point before
    y_before: Any
    stages: list[Any]  # the slopes in the step that led here
    size: Any  # the length of the next step, absolute
    rejected: Any  # whether the last trial was
    tried: Any


class Problem:
    """An initial value problem, and the method that solves it."""

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        method: str,
        dtype: Any,
        end: Any,
        direction: Any,
    ) -> None:
        self.fun = fun
        self.args = args
        self.method = getattr(scipy_module("integrate"), method)
        self.has_pair = (
            method != "DOP853"
        )  # one error estimate and one polynomial; DOP853 has forms of its own
        self.dtype = dtype
        self.end = end
        self.direction = direction

    def tolerances(self, rtol: Any, atol: Any, max_step: Any) -> None:
        self.rtol = np.maximum(rtol, 100 * np.finfo(float).eps)
        self.atol = atol
        self.max_step = max_step

    def slope(self, t: Any, y: Any) -> Any:
        out = call_user(self.fun, t, y, *self.args)
        made = (
            tnp.stack([tnp.asarray(x) for x in out]) if isinstance(out, (list, tuple)) else tnp.asarray(out)
        )
        made = made.astype(self.dtype)
        return made if made.shape == y.shape else tnp.broadcast_to(made.reshape(-1), y.shape)

    def norm(self, x: Any) -> Any:
        """The root of the mean of |x|**2."""
        return tnp.sqrt(tnp.sum(tnp.abs(x) ** 2)) / x.size**0.5

    def scale(self, *ys: Any) -> Any:
        largest = tnp.abs(ys[0])
        for y in ys[1:]:
            largest = tnp.maximum(largest, tnp.abs(y))
        return self.atol + largest * self.rtol

    # ---- steps

    def first_step(self, t: Any, y: Any, f: Any) -> Any:
        """The length of the first step (Hairer et al., II.4), for one more evaluation."""
        interval = tnp.abs(self.end - t)
        scale = self.scale(y)
        d0, d1 = self.norm(y / scale), self.norm(f / scale)
        small = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = tnp.minimum(tnp.where(small, 1e-6, 0.01 * d0 / tnp.where(small, 1, d1)), interval)
        ahead = self.slope(t + h0 * self.direction, y + h0 * self.direction * f)
        d2 = self.norm((ahead - f) / scale) / h0
        steepest = tnp.maximum(d1, d2)
        flat = steepest <= 1e-15
        order = self.method.error_estimator_order
        usual = (0.01 / tnp.where(flat, 1, steepest)) ** (1 / (order + 1))
        h1 = tnp.where(flat, tnp.maximum(1e-6, h0 * 1e-3), usual)
        return tnp.minimum(tnp.minimum(100 * h0, h1), tnp.minimum(interval, self.max_step))

    def stages(self, t: Any, y: Any, f: Any, h: Any) -> tuple[Any, list[Any]]:
        """The next value, and the slopes at all stages of the step; the last one is that at the next value."""
        slopes = [f]
        for row, c in zip(self.method.A[1:], self.method.C[1:], strict=True):
            slopes.append(self.slope(t + c * h, y + h * _combined(row, slopes)))
        y = y + h * _combined(self.method.B, slopes)
        return y, [*slopes, self.slope(t + h, y)]

    def error(self, slopes: list[Any], h: Any, scale: Any) -> Any:
        """How large the estimated error is, where 1 is just small enough."""
        if self.has_pair:
            return self.norm(h * _combined(self.method.E, slopes) / scale)
        fifth, third = (_combined(e, slopes) / scale for e in (self.method.E5, self.method.E3))
        a, b = tnp.sum(tnp.abs(fifth) ** 2), tnp.sum(tnp.abs(third) ** 2)
        both = a + 0.01 * b
        zero = both == 0
        return tnp.where(zero, 0, tnp.abs(h) * a / tnp.sqrt(tnp.where(zero, 1, both) * fifth.size))

    def trial(self, p: Point) -> Point:
        """The next point, or the same one with a shorter step, where the error was too large."""
        least = 10 * tnp.abs(tnp.nextafter(lax.stop_gradient(p.t), self.direction * np.inf) - p.t)
        size = tnp.maximum(tnp.minimum(p.size, self.max_step), least)
        size = lax.stop_gradient(tnp.where(p.rejected, p.size, size))
        reached = p.t + size * self.direction
        over = self.direction * (reached - self.end) > 0
        reached = tnp.where(over, self.end, reached)
        h = reached - p.t
        y, slopes = self.stages(p.t, p.y, p.f, h)
        quiet = lax.stop_gradient((slopes, h, self.scale(p.y, y)))
        error = self.error(*quiet)
        good = error < 1
        exponent = -1 / (self.method.error_estimator_order + 1)
        factor = 0.9 * tnp.where(error == 0, 1, error) ** exponent
        longer = tnp.where(error == 0, 10.0, tnp.minimum(10.0, factor))
        longer = tnp.where(p.rejected, tnp.minimum(1, longer), longer)
        shorter = tnp.maximum(0.2, tnp.where(tnp.isnan(factor), 0.2, factor))
        new = Point(
            reached,
            y,
            slopes[-1],
            p.t,
            p.y,
            slopes,
            tnp.abs(quiet[1]) * tnp.where(good, longer, shorter),
            ~good,
            0,
        )
        kept = p._replace(size=new.size, rejected=new.rejected)
        chosen = tree.map(lambda a, b: tnp.where(good, a, b), new._replace(tried=0), kept._replace(tried=0))
        return chosen._replace(tried=p.tried + 1)

    def start(self, t: Any, y: Any, first_step: Any) -> Point:
        f = self.slope(t, y)
        size = self.first_step(t, y, f) if first_step is None else tnp.asarray(first_step, dtype=float)
        stages = [f] * (len(self.method.B) + 1)
        return Point(t, y, f, t, y, stages, lax.stop_gradient(size), np.bool_(False), np.int64(0))

    def stuck(self, p: Point) -> Any:
        """Whether steps have become shorter than the distance of numbers."""
        least = 10 * tnp.abs(tnp.nextafter(p.t, self.direction * np.inf) - p.t)
        return (p.rejected & (p.size < least)) | (p.tried >= MOST_STEPS)

    def advance(self, p: Point, to: Any) -> Point:
        """The first point that is at the time `to`, or beyond."""
        return lax.while_loop(lambda p: (self.direction * (to - p.t) > 0) & ~self.stuck(p), self.trial, p)

    # ---- between steps

    def between(self, p: Point, t: Any) -> Any:
        """The solution at `t`, between the last two points, by the polynomial of the method."""
        h = p.t - p.before
        none = h == 0
        h = tnp.where(none, 1, h)
        x = tnp.where(none, 0, (t - p.before) / h)
        if self.has_pair:
            powers = [x ** (n + 1) for n in range(self.method.P.shape[1])]
            weights = [sum(c * q for c, q in zip(row, powers, strict=True) if c) for row in self.method.P]
            terms = [w * k for w, k in zip(weights, p.stages, strict=True) if not isinstance(w, int)]
            return p.y_before + h * sum(terms[1:], terms[0])
        return p.y_before + self._by_dop853(p, h, x)

    def _by_dop853(self, p: Point, h: Any, x: Any) -> Any:
        """The interpolation of order 7 (Hairer et al., II.6), for three more evaluations."""
        slopes = list(p.stages)
        for row, c in zip(self.method.A_EXTRA, self.method.C_EXTRA, strict=True):
            slopes.append(self.slope(p.before + c * h, p.y_before + h * _combined(row, slopes)))
        moved = p.y - p.y_before
        parts = [
            moved,
            h * slopes[0] - moved,
            2 * moved - h * (p.stages[-1] + slopes[0]),
            *(h * _combined(row, slopes) for row in self.method.D),
        ]
        out = tnp.zeros_like(moved)
        for n, part in enumerate(reversed(parts)):
            out = (out + part) * (x if n % 2 == 0 else 1 - x)
        return out


def _combined(weights: Any, slopes: list[Any]) -> Any:
    """The sum of slopes, by weights of which those that are 0 cost nothing."""
    terms = [float(w) * k for w, k in zip(weights, slopes, strict=False) if w]
    return sum(terms[1:], terms[0]) if terms else tnp.zeros_like(slopes[0])
