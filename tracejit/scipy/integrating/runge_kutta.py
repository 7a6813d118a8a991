"""Explicit Runge-Kutta methods as native loops: the steps of `solve_ivp`, and what lies between them.

The algorithm is SciPy's (Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.4-6): the same
tableaus, which SciPy's classes have as attributes, the same first step, step control and interpolation. So the steps
are the same, up to rounding. Derivatives go through the steps that were taken: the lengths of the steps themselves are
constants, but for the last one, which ends where the interval does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.integrating.pieces import Dop853, Pair, relative
from tracejit.scipy.integrating.problem import Problem


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


class Explicit(Problem):
    """RK23, RK45 and DOP853."""

    def __init__(self, method: str, *args: Any) -> None:
        super().__init__(*args)
        self.method = getattr(scipy_module("integrate"), method)
        self.order = self.method.error_estimator_order
        #: Whether there is one error estimate and one polynomial; DOP853 has forms of its own.
        self.has_pair = method != "DOP853"

    # ---- steps

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
        size = tnp.maximum(tnp.minimum(p.size, self.max_step), self.least(p.t))
        size = lax.stop_gradient(tnp.where(p.rejected, p.size, size))
        reached = p.t + size * self.direction
        over = self.direction * (reached - self.end) > 0
        reached = tnp.where(over, self.end, reached)
        h = reached - p.t
        y, slopes = self.stages(p.t, p.y, p.f, h)
        quiet = lax.stop_gradient((slopes, h, self.scale(p.y, y)))
        error = self.error(*quiet)
        good = error < 1
        exponent = -1 / (self.order + 1)
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

    def counts(self, p: Point) -> tuple[Any, Any, Any]:
        return len(self.method.B) * p.tried + 1, 0, 0

    # ---- between steps

    def between(self, p: Point, t: Any) -> Any:
        """The solution at `t`; of a pair, by weights of the slopes, which costs less than the polynomial."""
        if not self.has_pair:
            return self.piece(p).at(t)
        h, x = relative(p.before, p.t, t)
        powers = [x ** (n + 1) for n in range(self.method.P.shape[1])]
        weights = [sum(c * q for c, q in zip(row, powers, strict=True) if c) for row in self.method.P]
        terms = [w * k for w, k in zip(weights, p.stages, strict=True) if not isinstance(w, int)]
        return p.y_before + h * sum(terms[1:], terms[0])

    def piece(self, p: Point) -> Pair | Dop853:
        if self.has_pair:
            rows = tnp.stack([_combined(column, p.stages) for column in self.method.P.T])
            return Pair(p.before, p.t, p.y_before, rows)
        return Dop853(p.before, p.t, p.y_before, self._of_dop853(p, p.t - p.before))

    def dense_calls(self) -> int:
        return 0 if self.has_pair else len(self.method.A_EXTRA)

    def _of_dop853(self, p: Point, h: Any) -> Any:
        """The rows of the interpolation of order 7 (Hairer et al., II.6), for three more evaluations."""
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
        return tnp.stack(parts)


def _combined(weights: Any, slopes: list[Any]) -> Any:
    """The sum of slopes, by weights of which those that are 0 cost nothing."""
    terms = [float(w) * k for w, k in zip(weights, slopes, strict=False) if w]
    return sum(terms[1:], terms[0]) if terms else tnp.zeros_like(slopes[0])
