"""Backward differentiation formulas of orders 1 to 5 as a native loop: the steps of SciPy's `BDF`.

Shampine and Reichelt, The MATLAB ODE suite (1997): steps of one length as long as possible, and a table of backward
differences, which is rescaled when the length changes. Each trial is one of SciPy's attempts at a step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.scipy.integrating import pieces
from tracejit.scipy.integrating.implicit import Implicit, Newton, factored, solution, solved

_MOST = 5
_ITERATIONS = 4
_KAPPA = np.array([0, -0.1850, -1 / 9, -0.0823, -0.0415, 0])
_GAMMA = np.hstack((0, np.cumsum(1 / np.arange(1, _MOST + 1))))
_ALPHA = (1 - _KAPPA) * _GAMMA
_ERROR = _KAPPA * _GAMMA + 1 / np.arange(1, _MOST + 2)
_ROWS = np.arange(_MOST + 3)[:, None]


class Matrices(NamedTuple):
    """The Jacobian and the factorization; whether it is of this step, and whether that is there."""

    jac: Any
    factors: Any
    current: Any
    there: Any


class Point(NamedTuple):
    t: Any
    y: Any
    before: Any
    table: Any  # backward differences, of which `order + 1` rows are in use
    order: Any
    equal: Any  # steps of this length since it changed
    size: Any
    fresh: Any  # whether the next trial is the first one of a step
    rejected: Any
    matrices: Matrices
    tried: Any
    counts: Any  # slopes, Jacobians, factorizations


class Trial(NamedTuple):
    """What one attempt found."""

    t: Any
    predicted: Any
    size: Any
    scale: Any
    error: Any
    safety: Any
    found: Newton


def _row(x: Any, n: Any) -> Any:
    return lax.dynamic_index_in_dim(x, n, 0, False)


def _scaling(factor: Any) -> Any:
    """The matrix for differences at distances that are `factor` times as long."""
    i, j = np.arange(1, _MOST + 1)[:, None], np.arange(1, _MOST + 1)
    rows = tnp.concatenate([tnp.zeros((_MOST, 1)), (i - 1 - factor * j) / i], axis=1)
    return tnp.cumprod(tnp.concatenate([tnp.ones((1, _MOST + 1)), rows]), axis=0)


def _rescaled(table: Any, order: Any, factor: Any) -> Any:
    """The table for steps that are `factor` times as long."""
    matrix = _scaling(factor) @ _scaling(1.0)
    used = tnp.where(order >= _ROWS[: _MOST + 1], table[: _MOST + 1], 0.0)
    new = tnp.where(order >= _ROWS[: _MOST + 1], matrix.T @ used, table[: _MOST + 1])
    return tnp.concatenate([new, table[_MOST + 1 :]])


class Bdf(Implicit):
    """The problem by these formulas."""

    order = 1
    later = True

    def start(self, t: Any, y: Any, first_step: Any) -> Point:
        f = self.slope(t, y)
        size = self.first_step(t, y, f) if first_step is None else tnp.asarray(first_step, dtype=float)
        size, no = lax.stop_gradient(size), np.bool_(False)
        jac = self.jacobian(t, y)
        matrices = Matrices(jac, factored(tnp.eye(y.size, dtype=self.dtype)), np.bool_(self.constant), no)
        rest = tnp.zeros((_MOST + 1, y.size), self.dtype)
        table = tnp.concatenate([tnp.stack([y, f * size * self.direction]), rest])
        counts = tnp.asarray(np.array([1, 0 if self.constant else 1, 0]))
        none = np.int64(0)
        return Point(t, y, t, table, np.int64(1), none, size, np.bool_(True), no, matrices, none, counts)

    def stuck(self, p: Point) -> Any:
        return super().stuck(p._replace(rejected=~p.fresh))

    def moved(self, p: Point) -> Any:
        return p.fresh

    def piece(self, p: Point) -> pieces.Bdf:
        return pieces.Bdf(p.before, p.t, p.size * self.direction, p.order, p.table[: _MOST + 1])

    def counts(self, p: Point) -> tuple[Any, Any, Any]:
        return p.counts[0], p.counts[1], p.counts[2]

    def trial(self, p: Point) -> Point:
        p, reached = self._begun(p)
        had = p.matrices.there
        by_order = _row(_ALPHA, p.order)
        c = (reached - p.t) / by_order
        p = p._replace(matrices=self._factored(p.matrices, lax.stop_gradient(c)))
        rows = (_ROWS >= 1) & (p.order >= _ROWS)
        predicted = tnp.sum(tnp.where(p.order >= _ROWS, p.table, 0.0), axis=0)
        known = tnp.concatenate([_GAMMA, np.zeros(2)])[:, None]
        psi = tnp.sum(tnp.where(rows, p.table * known, 0.0), axis=0) / by_order
        trial = self._attempt(p, *lax.stop_gradient((reached, predicted, psi, c)))
        taken = trial.found.converged & (trial.error <= 1)

        def conditions(d: Any) -> Any:
            return d - (c * self.slope(reached, predicted + d) - psi)

        d = solution(conditions, lax.stop_gradient(tnp.where(taken, trial.found.x, 0.0)))
        new, kept = self._taken(p, trial, reached, predicted, d), self._refused(p, trial)
        p = tree.map(lambda a, b: tnp.where(taken, a, b), new, kept)
        added = tnp.stack([trial.found.n, tnp.asarray(0), tnp.where(had, 0, 1)])
        return p._replace(counts=p.counts + added, tried=p.tried + 1)

    def _begun(self, p: Point) -> tuple[Point, Any]:
        """The point with the length of this trial, and the time that it leads to."""
        least = self.least(p.t)
        size = tnp.where(p.size > self.max_step, self.max_step, tnp.where(p.size < least, least, p.size))
        size = lax.stop_gradient(tnp.where(p.fresh, size, p.size))
        reached = p.t + size * self.direction
        over = self.direction * (reached - self.end) > 0
        reached = tnp.where(over, self.end, reached)
        changed = over | (size != p.size)
        factor = tnp.where(over, tnp.abs(reached - p.t), size) / p.size
        table = lax.cond(changed, lambda a: _rescaled(a[0], p.order, a[1]), lambda a: a[0], (p.table, factor))
        m = p.matrices
        current = tnp.where(p.fresh, np.bool_(self.constant), m.current)
        return p._replace(
            size=size,
            table=table,
            equal=tnp.where(changed, 0, p.equal),
            matrices=m._replace(current=current, there=m.there & ~over),
        ), reached

    def _factored(self, m: Matrices, c: Any) -> Matrices:
        one = np.eye(m.jac.shape[0])
        factors = lax.cond(m.there, lambda _: m.factors, lambda jac: factored(one - c * jac), m.jac)
        return m._replace(factors=factors, there=np.bool_(True) | m.there)

    def _attempt(self, p: Point, t: Any, predicted: Any, psi: Any, c: Any) -> Trial:
        """Newton's method, and the estimate of the error. Nothing of it has a derivative."""

        def correction(d: Any) -> tuple[Any, Any]:
            f = lax.stop_gradient(self.slope(t, predicted + d))
            return solved(p.matrices.factors, c * f - psi - d), tnp.all(tnp.isfinite(f))

        start = tnp.zeros_like(predicted)
        found = self.newton(correction, start, self.scale(predicted), _ITERATIONS)
        scale = self.scale(predicted + found.x)
        error = self.norm(_row(_ERROR, p.order) * found.x / scale)
        safety = 0.9 * (2 * _ITERATIONS + 1) / (2 * _ITERATIONS + found.n)
        size = tnp.abs(t - lax.stop_gradient(p.t))
        return Trial(t, predicted, size, scale, error, safety, found)

    def _refused(self, p: Point, trial: Trial) -> Point:
        """The same point: with a matrix of this step, or else with a shorter step."""
        m, converged = p.matrices, trial.found.converged
        renews = ~converged & ~m.current
        at = trial.t, trial.predicted
        jac = lax.cond(renews, lambda a: self.jacobian(*a), lambda _: m.jac, at)
        exponent = -1 / (p.order + 1)
        error = tnp.where(converged, tnp.maximum(trial.error, 1.0), 1.0)
        factor = tnp.where(converged, tnp.maximum(0.2, trial.safety * error**exponent), 0.5)
        factor = tnp.where(renews, 1.0, factor)
        table = lax.cond(renews, lambda a: a, lambda a: _rescaled(a, p.order, factor), p.table)
        return p._replace(
            size=trial.size * factor,
            table=table,
            equal=tnp.where(renews, p.equal, 0),
            fresh=np.bool_(False) & p.fresh,
            rejected=np.bool_(True) | p.rejected,
            matrices=m._replace(jac=jac, current=m.current | renews, there=m.there & converged),
            counts=p.counts + tnp.stack([tnp.asarray(0), tnp.where(renews, 1, 0), tnp.asarray(0)]),
        )

    def _taken(self, p: Point, trial: Trial, reached: Any, predicted: Any, d: Any) -> Point:
        """The next point, of another order and length of steps where that pays."""
        above = _row(p.table, p.order + 1)
        table = tnp.where(p.order + 2 == _ROWS, d - above, tnp.where(p.order + 1 == _ROWS, d, p.table))
        inside = tnp.where(p.order + 1 >= _ROWS, table, 0.0)
        sums = tnp.cumsum(inside[::-1], axis=0)[::-1]
        table = tnp.where(p.order >= _ROWS, sums, table)
        equal = p.equal + 1
        order, by = self._chosen(p.order, lax.stop_gradient(table), trial)
        changes = equal >= p.order + 1
        factor = tnp.where(changes, tnp.minimum(10.0, trial.safety * by), 1.0)
        order = tnp.where(changes, order, p.order)
        table = lax.cond(changes, lambda a: _rescaled(a, order, factor), lambda a: a, table)
        m = p.matrices
        return p._replace(
            t=reached,
            y=predicted + d,
            before=p.t,
            table=table,
            order=order,
            equal=tnp.where(changes, 0, equal),
            size=trial.size * factor,
            fresh=np.bool_(True) | p.fresh,
            rejected=np.bool_(False) & p.rejected,
            matrices=m._replace(there=m.there & ~changes),
        )

    def _chosen(self, order: Any, table: Any, trial: Trial) -> tuple[Any, Any]:
        """The order, one more or less than it is, that allows for the longest steps, and how much longer they are."""

        def error(n: Any) -> Any:
            return self.norm(_row(_ERROR, tnp.clip(n, 0, _MOST)) * _row(table, n + 1) / trial.scale)

        lower = tnp.where(order > 1, error(order - 1), np.inf)
        upper = tnp.where(order < _MOST, error(order + 1), np.inf)
        errors = tnp.stack([lower, trial.error, upper])
        zero = errors == 0
        longer = tnp.where(zero, np.inf, tnp.where(zero, 1.0, errors) ** (-1 / (order + tnp.arange(3))))
        return order + tnp.argmax(longer) - 1, tnp.max(longer)
