"""Limits and constraints of the minima of SciPy's solvers, and the conditions that a minimum under them fulfils.

The conditions are those of Karush, Kuhn and Tucker with the constraints that are active at the solution: its
derivatives are those of a minimum under the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import SolverOptionError
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.tracing import to_raw, wrap

#: A constraint holds with equality if it does so within this much of its size.
CLOSE = 1e-5


def limits(bounds: Any, x: Any) -> tuple[Any, Any]:
    """Lower and upper bounds of the vector `x`, as vectors."""
    if bounds is None:
        return np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
    if hasattr(bounds, "lb"):
        pair = bounds.lb, bounds.ub
    else:
        pairs = [tuple(b) for b in bounds]
        pair = (
            [-np.inf if a is None else a for a, _ in pairs],
            [np.inf if b is None else b for _, b in pairs],
        )
    low, high = (solving.vector(b) if isinstance(b, (list, tuple)) else tnp.asarray(b) for b in pair)
    return tuple(tnp.broadcast_to(b.astype(float), x.shape) for b in (low, high))  # type: ignore[return-value]


class Constraint(NamedTuple):
    """`low <= value(x) <= high`, in which of SciPy's forms it was given ("eq", "ineq", "linear" or "between"), the
    matrix of a linear one, and whether all steps fulfil it."""

    value: Callable[[Any], Any]
    low: Any
    high: Any
    form: str
    matrix: Any = 0.0
    keep: Any = False

    def numbers(self) -> list[Any]:
        """What the host needs to know of it besides its functions."""
        return [tnp.asarray(x) for x in (self.low, self.high, self.matrix, self.keep)]

    def scipys(self, value: Any, slopes: Any, low: Any, high: Any, matrix: Any, keep: Any) -> Any:
        """SciPy's object of known values."""
        if self.form == "linear":
            return scipy_module("optimize").LinearConstraint(matrix, low, high, keep)
        if self.form == "between":
            return scipy_module("optimize").NonlinearConstraint(
                value, low, high, jac=slopes, keep_feasible=keep
            )
        return {"type": self.form, "fun": value, "jac": slopes}


def given(constraints: Any, x: Any) -> list[Constraint]:
    """The constraints on the vector `x`, one for each that was given."""
    several = isinstance(constraints, (list, tuple))
    return [_one(c, x) for c in (constraints if several else [constraints])]


def _one(c: Any, x: Any) -> Constraint:
    if isinstance(c, dict):
        kind = str(c["type"]).lower()
        if kind not in ("eq", "ineq"):
            raise ValueError(f"Unknown constraint type '{c['type']}'.")
        inner = solving.with_args(c["fun"], tuple(c.get("args", ())))
        high = 0.0 if kind == "eq" else np.inf
        return Constraint(lambda x: solving.values(_row(inner(x))), 0.0, high, kind)
    if hasattr(c, "A"):
        matrix = c.A.toarray() if hasattr(c.A, "toarray") else c.A
        matrix = tnp.asarray(matrix).astype(float)
        matrix = matrix if matrix.ndim == 2 else matrix[None, :]
        low, high = _limit(c.lb), _limit(c.ub)
        return Constraint(lambda x: matrix @ x, low, high, "linear", matrix, c.keep_feasible)
    if hasattr(c, "fun"):
        low, high = _limit(c.lb), _limit(c.ub)

        def value(x: Any) -> Any:
            return solving.values(_row(solving.ask(c.fun, x)))

        return Constraint(value, low, high, "between", keep=c.keep_feasible)
    problem = f"a constraint of class {type(c).__name__}"
    raise SolverOptionError(function="minimize", problem=problem, remedy="give a dict or one of SciPy's")


def _row(out: Any) -> Any:
    return out if isinstance(out, (list, tuple)) or tnp.ndim(out) else tnp.asarray(out)[None]


def _limit(x: Any) -> Any:
    return solving.vector(x) if isinstance(x, (list, tuple)) else tnp.asarray(x).astype(float)


class Together(NamedTuple):
    """All constraints as one vector of values, with limits of the same length."""

    value: Callable[[Any], Any]
    low: Any
    high: Any
    close: float = CLOSE

    def active(self, x: Any) -> Any:
        """Which constraints hold with equality at `x`."""
        v = self.value(x)
        return tnp.minimum(tnp.abs(v - self.low), tnp.abs(v - self.high)) <= self.close * (1 + tnp.abs(v))

    def gaps(self, x: Any) -> Any:
        """What is zero where the constraints hold with equality."""
        v = self.value(x)
        return v - tnp.where(tnp.abs(v - self.low) <= tnp.abs(v - self.high), self.low, self.high)


def together(constraints: Sequence[Constraint], x: Any, close: float = CLOSE) -> Together:
    """The constraints as one; `x` has the shape of their argument. They hold with equality within `close`."""
    sizes = [c.value(x).shape for c in constraints]
    ends = [
        tnp.concatenate([tnp.broadcast_to(end, n) for end, n in zip(side, sizes, strict=True)])
        for side in ([c.low for c in constraints], [c.high for c in constraints])
    ]
    low, high = (wrap(to_raw(e)) for e in ends)
    return Together(lambda x: tnp.concatenate([c.value(x) for c in constraints]), low, high, close)


def multipliers(slope: np.ndarray, rows: np.ndarray, active: np.ndarray, free: np.ndarray) -> np.ndarray:
    """The multipliers of the active constraints, on the host: the gradient `slope` is the sum of their `rows`, in the
    directions that are `free` of bounds."""
    out = np.zeros(len(rows))
    chosen = rows[np.ix_(active, free)]
    out[active] = np.linalg.lstsq(chosen.T, slope[free], rcond=None)[0]
    return out
