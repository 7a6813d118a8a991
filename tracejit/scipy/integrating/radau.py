"""Radau IIA of order 5 as a native loop: the steps of SciPy's `Radau`, with its control of steps and matrices.

Hairer and Wanner, Solving Ordinary Differential Equations II, IV.8. Each trial is one of SciPy's attempts at a step: a
Newton's method with a matrix that may be an old one, and then a new matrix, a shorter step, or the next point.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.scipy.integrating import pieces
from tracejit.scipy.integrating.implicit import Implicit, Newton, factored, solution, solved

_S6 = 6**0.5
_C = np.array([(4 - _S6) / 10, (4 + _S6) / 10, 1])
#: The method's matrix: the stages are y + h * A @ slopes.
_A = np.array(
    [
        [(88 - 7 * _S6) / 360, (296 - 169 * _S6) / 1800, (-2 + 3 * _S6) / 225],
        [(296 + 169 * _S6) / 1800, (88 + 7 * _S6) / 360, (-2 - 3 * _S6) / 225],
        [(16 - _S6) / 36, (16 + _S6) / 36, 1 / 9],
    ]
)
_E = np.array([-13 - 7 * _S6, -13 + 7 * _S6, -1]) / 3
#: The eigenvalues of the inverse of the matrix, and the real transformation to them.
_REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
_COMPLEX = 3 + 0.5 * (3 ** (1 / 3) - 3 ** (2 / 3)) - 0.5j * (3 ** (5 / 6) + 3 ** (7 / 6))
_T = np.array(
    [
        [0.09443876248897524, -0.14125529502095421, 0.03002919410514742],
        [0.25021312296533332, 0.20412935229379994, -0.38294211275726192],
        [1, 1, 0],
    ]
)
_TI = np.array(
    [
        [4.17871859155190428, 0.32768282076106237, 0.52337644549944951],
        [-4.17871859155190428, -0.32768282076106237, 0.47662355450055044],
        [0.50287263494578682, -2.57192694985560522, 0.59603920482822492],
    ]
)
#: What the polynomial through the stages has for its powers.
_P = np.array(
    [
        [13 / 3 + 7 * _S6 / 3, -23 / 3 - 22 * _S6 / 3, 10 / 3 + 5 * _S6],
        [13 / 3 - 7 * _S6 / 3, -23 / 3 + 22 * _S6 / 3, 10 / 3 - 5 * _S6],
        [1 / 3, -8 / 3, 10 / 3],
    ]
)
_ITERATIONS = 6


class Matrices(NamedTuple):
    """The Jacobian and the two factorizations; whether it is that of this point, and whether these are there."""

    jac: Any
    real: Any
    complex: Any
    current: Any
    there: Any


class Point(NamedTuple):
    t: Any
    y: Any
    f: Any
    before: Any
    y_before: Any
    rows: Any  # of the polynomial of the last step
    size: Any
    begun: Any  # the size with which this step began
    last: Any  # the size and the error of the last step, nan for none
    last_error: Any
    fresh: Any  # whether the next trial is the first one of a step
    rejected: Any
    matrices: Matrices
    tried: Any
    counts: Any  # slopes, Jacobians, factorizations


class Trial(NamedTuple):
    """What one attempt found."""

    t: Any
    y: Any
    rows: Any
    size: Any
    error: Any
    safety: Any
    found: Newton
    calls: Any


class Radau(Implicit):
    """The problem by Radau's method."""

    order = 3

    def start(self, t: Any, y: Any, first_step: Any) -> Point:
        f = lax.stop_gradient(self.slope(t, y))
        size = self.first_step(t, y, f) if first_step is None else tnp.asarray(first_step, dtype=float)
        jac = self.jacobian(t, y)
        none = factored(tnp.eye(y.size)), factored(tnp.eye(2 * y.size))
        no, nan, size = np.bool_(False), tnp.asarray(np.nan), lax.stop_gradient(size)
        matrices = Matrices(jac, *none, np.bool_(True), no)
        counts = tnp.asarray(np.array([1, 0 if self.constant else 1, 0]))
        rows = tnp.zeros((3, y.size))
        return Point(
            t, y, f, t, y, rows, size, size, nan, nan, np.bool_(True), no, matrices, np.int64(0), counts
        )

    def stuck(self, p: Point) -> Any:
        return super().stuck(p._replace(rejected=~p.fresh))

    def moved(self, p: Point) -> Any:
        return p.fresh

    def piece(self, p: Point) -> pieces.Radau:
        return pieces.Radau(p.before, p.t, p.y_before, p.rows)

    def counts(self, p: Point) -> tuple[Any, Any, Any]:
        return p.counts[0], p.counts[1], p.counts[2]

    def trial(self, p: Point) -> Point:
        p = self._begun(p)
        reached = p.t + p.size * self.direction
        reached = tnp.where(self.direction * (reached - self.end) > 0, self.end, reached)
        h = lax.stop_gradient(reached - p.t)
        had = p.matrices.there
        p = p._replace(matrices=self._factored(p.matrices, h))
        trial = self._attempt(p, reached)
        taken = trial.found.converged & (trial.error <= 1)
        stages = self._stages(p, trial, reached, taken)
        found = trial.found
        slow = (found.n > 2) & (found.rate > 1e-3) & np.bool_(not self.constant)
        renews = tnp.where(taken, slow, ~found.converged & ~p.matrices.current)
        t, y = (tnp.where(taken, a, b) for a, b in zip((trial.t, trial.y), (p.t, p.y), strict=True))
        jac = lax.cond(
            renews, lambda a: self.jacobian(*a), lambda _: p.matrices.jac, lax.stop_gradient((t, y))
        )
        p = p._replace(matrices=p.matrices._replace(jac=jac))
        new, kept = self._taken(p, trial, reached, stages, taken), self._refused(p, trial)
        p = tree.map(lambda a, b: tnp.where(taken, a, b), new, kept)
        calls = trial.calls + tnp.where(taken, 1, 0)
        added = tnp.stack([calls, tnp.where(renews, 1, 0), tnp.where(had, 0, 2)])
        return p._replace(counts=p.counts + added, tried=p.tried + 1)

    def _begun(self, p: Point) -> Point:
        """At the beginning of a step its length is between the least one and `max_step`."""
        least = self.least(p.t)
        long, short = p.size > self.max_step, p.size < least
        size = tnp.where(long, self.max_step, tnp.where(short, least, p.size))
        forgets = p.fresh & (long | short)
        return p._replace(
            begun=tnp.where(p.fresh, p.size, p.begun),
            size=lax.stop_gradient(tnp.where(p.fresh, size, p.size)),
            last=tnp.where(forgets, np.nan, p.last),
            last_error=tnp.where(forgets, np.nan, p.last_error),
            rejected=p.rejected & ~p.fresh,
        )

    def _factored(self, m: Matrices, h: Any) -> Matrices:
        def factors(jac: Any) -> Any:
            one = np.eye(jac.shape[0])
            own, other = _COMPLEX.real / h * one - jac, _COMPLEX.imag / h * one
            # The complex matrix as one of real and imaginary parts: such systems are solved natively.
            rows = tnp.concatenate([own, -other], axis=1), tnp.concatenate([other, own], axis=1)
            return factored(_REAL / h * one - jac), factored(tnp.concatenate(rows))

        real, both = lax.cond(m.there, lambda _: (m.real, m.complex), factors, m.jac)
        return m._replace(real=real, complex=both, there=np.bool_(True) | m.there)

    def _attempt(self, p: Point, reached: Any) -> Trial:
        """Newton's method, and the estimate of the error. Nothing of it has a derivative."""
        t, y, before, t_new = lax.stop_gradient((p.t, p.y, self.piece(p), reached))
        h, m = t_new - t, p.matrices
        old = tnp.stack([before.at(t + h * c) - y for c in _C])
        guess = tnp.where(before.t == before.before, 0.0, old)
        scale = self.atol + tnp.abs(y) * self.rtol

        def correction(w: Any) -> tuple[Any, Any]:
            z = _T @ w
            slopes = self._slopes(t, y, h, z)
            real = solved(m.real, _TI[0] @ slopes - _REAL / h * w[0])
            alpha, beta = _COMPLEX.real / h, _COMPLEX.imag / h
            right = _TI[1] @ slopes - alpha * w[1] + beta * w[2], _TI[2] @ slopes - alpha * w[2] - beta * w[1]
            both = solved(m.complex, tnp.concatenate(right)).reshape(2, -1)
            return tnp.stack([real, both[0], both[1]]), tnp.all(tnp.isfinite(slopes))

        found = self.newton(correction, _TI @ guess, scale, _ITERATIONS)
        z = _T @ found.x
        y_new = y + z[2]
        weighted = _E @ z / h
        scale = self.scale(y, y_new)
        error = solved(m.real, p.f + weighted)
        size = self.norm(error / scale)
        again = p.rejected & found.converged & (size > 1)

        def better(error: Any) -> Any:
            slope = lax.stop_gradient(self.slope(t, y + error))
            return self.norm(solved(m.real, slope + weighted) / scale)

        size = lax.cond(again, better, lambda _: size, error)
        safety = 0.9 * (2 * _ITERATIONS + 1) / (2 * _ITERATIONS + found.n)
        calls = 3 * found.n + tnp.where(again, 1, 0)
        return Trial(t_new, y_new, z, tnp.abs(h), size, safety, found, calls)

    def _slopes(self, t: Any, y: Any, h: Any, z: Any) -> Any:
        return lax.stop_gradient(tnp.stack([self.slope(t + c * h, y + z[n]) for n, c in enumerate(_C)]))

    def _stages(self, p: Point, trial: Trial, reached: Any, taken: Any) -> Any:
        """What the stages add to y, with the derivatives of the solution of their equations."""
        n = p.y.size
        t, y = p.t, p.y
        h = reached - t

        def conditions(flat: Any) -> Any:
            z = flat.reshape(3, n)
            slopes = tnp.stack([self.slope(t + c * h, y + z[n]) for n, c in enumerate(_C)])
            return (z - h * (_A @ slopes)).reshape(-1)

        found = lax.stop_gradient(tnp.where(taken, trial.rows, 0.0)).reshape(-1)
        return solution(conditions, found).reshape(3, n)

    def _predicted(self, p: Point, trial: Trial) -> Any:
        """By what the step changes (Hairer and Wanner, IV.8), by this error and the one before."""
        error = tnp.where(trial.error == 0, 1.0, trial.error)
        known = ~tnp.isnan(p.last) & ~tnp.isnan(p.last_error) & (trial.error != 0)
        ratio = trial.size / p.last * (p.last_error / error) ** 0.25
        by = tnp.minimum(1.0, tnp.where(known, ratio, 1.0)) * error**-0.25
        return tnp.where(trial.error == 0, np.inf, by)

    def _refused(self, p: Point, trial: Trial) -> Point:
        """The same point: with a matrix of its own, or else with a shorter step."""
        m, converged = p.matrices, trial.found.converged
        renews = ~converged & ~m.current
        shorter = tnp.maximum(0.2, trial.safety * self._predicted(p, trial))
        by = tnp.where(renews, 1.0, tnp.where(converged, shorter, 0.5))
        return p._replace(
            size=lax.stop_gradient(trial.size * by),
            fresh=np.bool_(False) & p.fresh,
            rejected=p.rejected | converged,
            matrices=m._replace(current=m.current | renews, there=m.there & np.bool_(False)),
        )

    def _taken(self, p: Point, trial: Trial, reached: Any, stages: Any, taken: Any) -> Point:
        """The next point."""
        m, found = p.matrices, trial.found
        renews = (found.n > 2) & (found.rate > 1e-3) & np.bool_(not self.constant)
        by = tnp.minimum(10.0, trial.safety * self._predicted(p, trial))
        same = ~renews & (by < 1.2)
        quiet = lax.stop_gradient((trial.t, trial.y))
        f = lax.cond(taken, lambda a: lax.stop_gradient(self.slope(*a)), lambda _: p.f, quiet)
        current = renews | np.bool_(self.constant)
        return Point(
            reached,
            p.y + stages[2],
            f,
            p.t,
            p.y,
            _P.T @ stages,
            lax.stop_gradient(trial.size * tnp.where(same, 1.0, by)),
            p.begun,
            p.begun,
            trial.error,
            p.fresh | np.bool_(True),
            p.rejected,
            m._replace(current=current, there=same),
            p.tried,
            p.counts,
        )
