"""GMRES with restarts as loops of the program, which ends where SciPy's does.

Source: Saad and Schultz, GMRES: a generalized minimal residual algorithm (1986).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.scipy.sparse.krylov import System, norm, product_with, refuse_callback
from tracejit.scipy.sparse.solving import solver


@solver
def gmres(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, restart: Any = None, maxiter: Any = None,
    M: Any = None, callback: Any = None, callback_type: Any = None,
) -> Any:  # fmt: skip
    """(x, info) of A x = b by GMRES, A (n, n) being a matrix, sparse or dense, or a linear operator; every `restart`
    directions (20) it begins again. `info` is 0, or `maxiter` where it has not converged after so many beginnings."""
    refuse_callback("gmres", callback)
    if callback_type not in (None, "x", "pr_norm", "legacy"):
        raise ValueError(f"Unknown callback_type: {callback_type!r}")
    system = System(A, b, x0, rtol, atol, maxiter, M)
    directions = min(20 if restart is None else restart, system.b.size)

    def method(a: Any, m: Any, b: Any, x: Any, tolerance: Any, most: Any) -> Any:
        return _Cycles(a, m, directions, tolerance, norm(b)).run(b, x, most)

    return system.solve(method, symmetric=False)


class _Cycles:
    """The cycles of one solve. SciPy's inner tolerance goes up and down with what the last cycle has brought."""

    def __init__(self, a: Any, m: Any, directions: int, tolerance: Any, size: Any) -> None:
        self.product, self.precondition = product_with(a), product_with(m)
        self.directions = directions
        self.tolerance, self.size = tolerance, size

    def run(self, b: Any, x: Any, most: Any) -> Any:
        """(x, the steps that SciPy's `info` says, whether it has converged)."""
        least = np.finfo(b.dtype).eps

        def step(state: Any) -> Any:
            n, x, r, inner, factor, _ = state
            change, presid, broken = self.cycle(r, inner)
            x = x + change
            r = b - self.product(x)
            size = norm(r)
            slack = tnp.maximum(least, 0.25 * factor)
            factor = tnp.where(presid <= inner, slack, tnp.minimum(1.0, 1.5 * factor)).astype(size.dtype)
            inner = presid * tnp.minimum(factor, self.tolerance / size)
            return n + 1, x, r, inner, factor, broken

        def goes_on(state: Any) -> Any:
            n, _, r, *_, broken = state
            return (n < most) & ~broken & ~(norm(r) <= self.tolerance)

        r = b - self.product(x)
        one = tnp.ones((), norm(r).dtype)
        inner = norm(self.precondition(b)) * tnp.minimum(1.0, self.tolerance / self.size)
        start = (0, x, r, inner, one, tnp.asarray(False))
        _, x, r, *_ = lax.while_loop(goes_on, step, start)
        return x, most, norm(r) <= self.tolerance

    def cycle(self, r: Any, inner: Any) -> Any:
        """(the change of x, the inner residual, whether the directions span the solution)."""
        k, n, kind = self.directions, r.size, r.dtype
        first = self.precondition(r)
        length = norm(first)
        zeros = tnp.zeros(k + 1, kind)
        start = (
            0,
            tnp.at(tnp.zeros((k + 1, n), kind))[0].set(first / length),
            tnp.zeros((k, k + 1), kind),  # a row for each direction, as SciPy has it
            tnp.zeros((k, 2), kind),
            tnp.at(zeros)[0].set(length.astype(kind)),
            length,
            tnp.asarray(False),
        )
        column, basis, rows, _, right, presid, broken = lax.while_loop(
            lambda s: (s[0] < k) & ~((s[0] > 0) & ((s[5] <= inner) | s[6])), self.direction, start
        )
        used = tnp.arange(k) < column
        diagonal = tnp.diagonal(rows[:, :k])
        dead = ~used | (diagonal == 0)
        upper = tnp.where(used[:, None], rows[:, :k], 0) + tnp.diag(dead.astype(kind))
        y = tnp.linalg.solve(upper.T, tnp.where(dead, 0, right[:k]))
        return y @ basis[:k], presid, broken

    def direction(self, state: Any) -> Any:
        """One more direction, and the rotation that takes its part below the diagonal away."""
        col, basis, rows, turns, right, _, _ = state
        kind = basis.dtype
        w = self.precondition(self.product(basis[col]))
        before = norm(w)

        def project(j: Any, part: Any) -> Any:
            w, row = part
            h = tnp.vdot(basis[j], w)
            return w - h * basis[j], tnp.at(row)[j].set(h)

        w, row = lax.fori_loop(0, col + 1, project, (w, tnp.zeros(self.directions + 1, kind)))
        left = norm(w)
        broken = left <= np.finfo(kind).eps * before
        basis = tnp.at(basis)[col + 1].set(tnp.where(broken, w, w / tnp.where(broken, 1, left)))

        def turn(j: Any, row: Any) -> Any:
            c, s = turns[j, 0], turns[j, 1]
            above, below = row[j], row[j + 1]
            row = tnp.at(row)[j].set(c * above + s * below)
            return tnp.at(row)[j + 1].set(-tnp.conj(s) * above + c * below)

        row = lax.fori_loop(0, col, turn, row)
        f, g = row[col], tnp.where(broken, 0, left)
        size = tnp.hypot(tnp.abs(f), g)
        none = tnp.abs(f) == 0
        phase = tnp.where(none, 1, f / tnp.where(none, 1, tnp.abs(f)))
        safe = tnp.where(size == 0, 1, size)
        c, s = tnp.where(size == 0, 1, tnp.abs(f) / safe), phase * (g / safe)
        row = tnp.at(row)[col].set((phase * size).astype(kind))
        rest = -tnp.conj(s) * right[col]
        right = tnp.at(right)[col].set(c * right[col])
        right = tnp.at(right)[col + 1].set(rest)
        turns = tnp.at(turns)[col].set(tnp.stack([c.astype(kind), s.astype(kind)]))
        return col + 1, basis, tnp.at(rows)[col].set(row), turns, right, tnp.abs(rest), broken
