"""`sol` of `solve_ivp`, for traced values: the solution as a function of time."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.errors import SolverOptionError
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.integrating.pieces import known


class Solution:
    """What SciPy's `OdeSolution` is: called with times, of any shape up to one dimension, it gives the states.

    `ts` (room,) and the rows of `pieces` are in use up to `count` points. Where its values become known, as in a
    result of a compiled function, it becomes SciPy's object.
    """

    def __init__(self, ts: Any, count: Any, pieces: Any, direction: Any, later: bool) -> None:
        self._ts = ts
        self._count = count
        self._pieces = pieces
        self._direction = direction
        self._later = later

    def __call__(self, t: Any) -> Any:
        """The states at `t`, shape (n,) or (n, m)."""
        t = tnp.asarray(t).astype(float)
        if t.ndim == 0:
            return self._one(t)
        if t.ndim > 1:
            raise ValueError("`t` must be a float or a 1-D array.")
        return tnp.swapaxes(self.rows(t), 0, 1)

    def rows(self, ts: Any) -> Any:
        """The states at the times `ts`, shape (m, n)."""
        return lax.scan(lambda c, t: (c, self._one(t)), None, ts)[1]

    def _one(self, t: Any) -> Any:
        rows = np.arange(self._ts.shape[0])
        past = self._direction * (lax.stop_gradient(t) - lax.stop_gradient(self._ts))
        before = (rows < self._count) & ((past >= 0) if self._later else (past > 0))
        segment = tnp.clip(tnp.sum(before) - 1, 0, self._count - 2)
        return tree.map(lambda x: lax.dynamic_index_in_dim(x, segment, 0, False), self._pieces).at(t)

    @property
    def n_segments(self) -> Any:
        return self._count - 1

    @property
    def ts(self) -> Any:
        return self._ts[: self._count]

    @property
    def _ends(self) -> tuple[Any, Any]:
        return self._ts[0], lax.dynamic_index_in_dim(self._ts, self._count - 1, 0, False)

    @property
    def t_min(self) -> Any:
        return tnp.minimum(*self._ends)

    @property
    def t_max(self) -> Any:
        return tnp.maximum(*self._ends)

    def __getattr__(self, name: str) -> Any:
        if name in ("interpolants", "ascending", "side", "ts_sorted"):
            remedy = "use ts, t_min, t_max, and calls of it"
            raise SolverOptionError(function="solve_ivp", problem=f"`sol.{name}`", remedy=remedy)
        raise AttributeError(f"'OdeSolution' object has no attribute {name!r}")


def _parts(x: Solution) -> tuple[Any, Any]:
    return (x._ts, x._count, x._pieces, x._direction), x._later


def _rebuilt(later: bool, parts: Any) -> Any:
    ts, count, pieces, direction = parts
    leaves = tree.leaves((ts, count, direction, pieces))
    if not all(map(known, leaves)) or np.ndim(count):
        return Solution(ts, count, pieces, direction, later)
    n = int(count)
    made = [tree.map(lambda x, k=k: x[k], pieces) for k in range(n - 1)]
    made = [_constant(p) if p.before == p.t else p.scipys() for p in made]
    return scipy_module("integrate").OdeSolution(ts[:n], made, alt_segment=later)


def _constant(piece: Any) -> Any:
    common = scipy_module("integrate")._ivp.base
    return common.ConstantDenseOutput(piece.before, piece.t, piece.at(piece.t))


tree.register(Solution, _parts, _rebuilt)
