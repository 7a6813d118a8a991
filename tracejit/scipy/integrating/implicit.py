"""What the implicit methods of `solve_ivp` have in common: Jacobians, factorizations, and when Newton's method ends.

The iterations are not differentiated. Of a step that is taken, the solution is a `custom_root` of its equations, whose
derivatives need one factorization more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.custom.implicit import custom_root
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.ops.building import helpers
from tracejit.scipy.integrating.problem import Problem
from tracejit.scipy.linalg import lu_factor, lu_solve
from tracejit.scipy.solving import ask, dense_solve
from tracejit.tracing import to_raw, wrap

_EPS = float(np.finfo(float).eps)


class Newton(NamedTuple):
    """Where Newton's method is: the unknowns, the size of the last correction and its ratio to the one before."""

    x: Any
    size: Any
    rate: Any
    n: Any
    converged: Any
    ended: Any


class Implicit(Problem):
    """A method that solves equations in each step. `jac` is None, a matrix, or a function of (t, y)."""

    def jacobian_of(self, jac: Any) -> None:
        self.jac = jac
        #: Whether there is one matrix for all times.
        self.constant = jac is not None and not callable(jac)

    def tolerances(self, rtol: Any, atol: Any, max_step: Any) -> None:
        super().tolerances(rtol, atol, max_step)
        self.newton_tol = np.maximum(10 * _EPS / rtol, np.minimum(0.03, np.asarray(rtol) ** 0.5))

    def jacobian(self, t: Any, y: Any) -> Any:
        """The matrix of derivatives of the slopes by the states: the user's, or that of the function."""
        t, y = lax.stop_gradient((t, y))
        if self.jac is not None:
            given = ask(self.jac, t, y, *self.args) if callable(self.jac) else self.jac
            given = given.toarray() if hasattr(given, "toarray") else given
            if isinstance(given, (list, tuple)):
                given = tnp.stack([tnp.stack([tnp.asarray(x) for x in row]) for row in given])
            made = tnp.asarray(given).astype(self.dtype)
            if made.shape != (y.size, y.size):
                expected = (y.size, y.size)
                raise ValueError(
                    f"`jac` is expected to have shape {expected}, but actually has {made.shape}."
                )
            return lax.stop_gradient(made)

        def column(c: Any, d: Any) -> Any:
            _, slopes = jvp_flat(lambda raw: [to_raw(self.slope(t, wrap(raw)))], [to_raw(y)], [to_raw(d)])
            return c, wrap(helpers.instantiate(slopes[0]))

        columns = lax.scan(column, None, np.eye(y.size, dtype=self.dtype))[1]
        return lax.stop_gradient(tnp.swapaxes(columns, 0, 1))

    def newton(self, correction: Callable[[Any], tuple[Any, Any]], x: Any, scale: Any, most: int) -> Newton:
        """At most `most` steps of Newton's method from `x`, by SciPy's rules for its end. `correction(x)` gives the
        step, and whether it is finite."""
        tol = self.newton_tol

        def step(s: Newton) -> Newton:
            dx, finite = correction(s.x)
            size = self.norm(dx / scale)
            first = s.n == 0
            rate = tnp.where(first, 0.0, size / tnp.where(s.size == 0, 1.0, s.size))
            left = tnp.where(rate < 1, 1 - rate, 1.0)
            hopeless = ~first & ((rate >= 1) | (rate ** (most - s.n) / left * size > tol))
            failed = ~finite | hopeless
            done = ~failed & ((size == 0) | (~first & (rate / left * size < tol)))
            x = tnp.where(failed, s.x, s.x + dx)
            kept = tnp.where(finite, rate, s.rate)
            return Newton(x, size, kept, s.n + 1, done, failed | done)

        no = np.bool_(False)
        start = Newton(x, tnp.zeros(()), tnp.zeros(()), np.int64(0), no, no)
        return lax.while_loop(lambda s: ~s.ended & (s.n < most), step, start)


def solution(conditions: Callable[[Any], Any], found: Any) -> Any:
    """`found`, a vector at which `conditions` are zero, with the derivatives of the root."""
    return custom_root(conditions, found, lambda _, x: x, dense_solve)


def factored(matrix: Any) -> tuple[Any, Any]:
    return lu_factor(matrix, check_finite=False)


def solved(factors: tuple[Any, Any], b: Any) -> Any:
    return lu_solve(factors, b, check_finite=False)
