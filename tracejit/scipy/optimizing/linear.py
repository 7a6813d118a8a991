"""`linprog` and `milp`, by HiGHS on the host, and `nnls`, a native loop, with derivatives by what is active.

A solution of a linear program is determined by the constraints and bounds that hold with equality there. Its
derivatives are those of the point at which the same ones hold; in directions that they leave open, and for integers,
they are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops._lazy import scipy_module
from tracejit.ops.elementwise import compare
from tracejit.scipy import solving
from tracejit.scipy.optimizing.constraints import limits
from tracejit.scipy.optimizing.objects import as_scipys
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.scipy.optimizing.results import message, partial, place_of, python
from tracejit.scipy.written.minima import nonnegative
from tracejit.tracing import Box, call_user, to_raw, wrap

_F64 = np.dtype(float)
#: How near to its limit what holds with equality is, of its size.
_CLOSE = 1e-7


class _Program(NamedTuple):
    """Minimize cost @ x, where lower <= matrix @ x <= upper and low <= x <= high; some of x are integers."""

    cost: Any
    matrix: Any
    lower: Any
    upper: Any
    low: Any
    high: Any
    whole: np.ndarray

    def solved(self, name: str, host: Callable[..., Any], *operands: Any) -> tuple[Any, list[Any]]:
        """The solution, and [iterations, status, success, the place of the message]. `host(*operands)` gives SciPy's
        result."""
        n = self.cost.size

        def run(_: Any, *known: Any) -> Any:
            r = host(*known)
            found = r.x is not None
            x = r.x if found else np.zeros(n)
            return x, r.get("nit", 0), r.status, r.success, place_of(str(r.message)), found

        def solve(_: Any) -> tuple[Any, Any]:
            types = [Aval((n,), _F64), *[solving.COUNT] * 5]
            x, *rest = solving.host_call(run, [], types, *operands)
            return x, rest

        x, (*counts, found) = solving.root_of(
            lambda x: self._conditions(x), tnp.zeros(n), solve, _least_solve
        )
        text = f"{name} found no solution."
        fail_if(compare.eq(to_raw(found), np.int64(0)), SolverFailedError, text)
        return x, counts

    def _conditions(self, x: Any) -> Any:
        rows = self.matrix @ x
        gaps = tnp.zeros_like(rows)
        for edge in (self.lower, self.upper):
            gaps = tnp.where(_near(rows, edge), rows - edge, gaps)
        out = gaps @ self.matrix
        for edge in (self.low, self.high):
            out = out + tnp.where(_near(x, edge), x - edge, 0.0)
        return out + tnp.where(self.whole, x - lax.stop_gradient(x), 0.0)


def _near(x: Any, edge: Any) -> Any:
    x, edge = lax.stop_gradient((x, edge))
    return tnp.isfinite(edge) & (tnp.abs(x - edge) <= _CLOSE * (1 + tnp.abs(edge)))


def _least_solve(g: Any, y: Any) -> Any:
    """The shortest x with g(x) = y, for a linear function of vectors that may not determine it."""
    _, columns = lax.scan(lambda c, d: (c, g(d)), None, np.eye(y.size))
    return tnp.linalg.pinv(tnp.swapaxes(columns, 0, 1), rcond=1e-10) @ y


def _must(good: Any, text: str) -> None:
    fail_if(compare.eq(to_raw(good), np.False_), SolverFailedError, text)


def _vector(x: Any) -> Any:
    return wrap(to_raw(solving.vector(x)))


def _matrix(a: Any, n: int) -> Any:
    """A matrix of n columns; no rows for None."""
    if a is None:
        return np.zeros((0, n))
    a = a.toarray() if hasattr(a, "toarray") else a
    if isinstance(a, (list, tuple)):
        a = tnp.stack([_vector(row) for row in a])
    made = tnp.asarray(a).astype(float)
    return wrap(to_raw(made if made.ndim == 2 else made.reshape(1, -1)))


def linprog(
    c: Any,
    A_ub: Any = None,
    b_ub: Any = None,
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    method: str = "highs",
    callback: Any = None,
    options: Any = None,
    x0: Any = None,
    integrality: Any = None,
) -> Any:
    """The x of least `c @ x` where `A_ub @ x <= b_ub`, `A_eq @ x == b_eq`, and `bounds` hold, by HiGHS on the host.

    The result has `x`, `fun`, `slack`, `con`, `nit`, `status`, `success` and `message`. Derivatives of `x` are those of
    the point at which the same constraints hold with equality. Raises SolverOptionError for other methods, `callback`
    and `x0`, and SolverFailedError where there is no solution."""
    for name, option in {"callback": callback, "x0": x0}.items():
        if option is not None:
            refuse("linprog", f"the option `{name}`")
    if not str(method).lower().startswith("highs"):
        refuse("linprog", f"method={method!r}", 'use "highs"')
    cost = _vector(c)
    n = cost.size
    above, same = _matrix(A_ub, n), _matrix(A_eq, n)
    most = _vector(b_ub) if b_ub is not None else np.zeros(0)
    equal = _vector(b_eq) if b_eq is not None else np.zeros(0)
    low, high = _sides(bounds, cost)
    whole = np.zeros(n) if integrality is None else np.broadcast_to(np.asarray(integrality), (n,))
    least = tnp.concatenate([np.full(most.shape, -np.inf), equal])
    upper = tnp.concatenate([most, equal])
    program = _Program(cost, tnp.concatenate([above, same]), least, upper, low, high, whole > 0)

    def host(c: Any, a: Any, b: Any, e: Any, f: Any, low: Any, high: Any) -> Any:
        given = {"A_ub": a, "b_ub": b} if len(b) else {}
        given |= {"A_eq": e, "b_eq": f} if len(f) else {}
        given |= {"integrality": whole} if whole.any() else {}
        pairs = np.stack([low, high], axis=1)
        return scipy_module("optimize").linprog(c, bounds=pairs, method=method, options=options, **given)

    x, counts = program.solved("linprog", host, cost, above, most, same, equal, low, high)
    fields = {"x": x, "fun": python(cost @ x), "slack": most - above @ x, "con": equal - same @ x}
    return partial("linprog", **fields, **_told(counts), nit=python(counts[0]))


def _told(counts: Sequence[Any]) -> dict[str, Any]:
    _, status, success, place = counts
    return {"status": python(status), "success": python(success != 0), "message": message(place)}


def _sides(bounds: Any, x: Any) -> tuple[Any, Any]:
    """The bounds of `linprog`: a pair for all, or a pair for each."""
    if bounds is None:
        bounds = (0, None)
    pairs = isinstance(bounds, (list, tuple)) and all(isinstance(b, (list, tuple)) for b in bounds)
    if pairs and len(bounds) == 1:
        bounds = [*bounds] * x.size
    elif isinstance(bounds, (list, tuple)) and len(bounds) == 2 and not pairs:
        bounds = [tuple(bounds)] * x.size
    elif not pairs:
        refuse("linprog", "these bounds", "give a pair, or a list of pairs")
    low, high = limits(bounds, x)
    return wrap(to_raw(low)), wrap(to_raw(high))


def milp(
    c: Any, *, integrality: Any = None, bounds: Any = None, constraints: Any = None, options: Any = None
) -> Any:
    """The x of least `c @ x` within `bounds` and linear `constraints`, of which those with `integrality` are integers,
    by HiGHS on the host.

    The result has `x`, `fun`, `status`, `success` and `message`; for derivatives see `linprog`."""
    rules: Any = constraints if isinstance(constraints, list) else [constraints]
    rules = [] if constraints is None or constraints == () else rules
    parts = [(r.A, r.lb, r.ub) if hasattr(r, "A") else tuple(r) for r in rules]
    ends = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    if not any(type(x) is Box for x in tree.leaves((c, parts, ends))):
        if isinstance(constraints, (list, tuple)):
            constraints = type(constraints)(as_scipys(r) for r in constraints)
        known = {
            "integrality": integrality,
            "bounds": as_scipys(bounds),
            "constraints": as_scipys(constraints),
        }
        return scipy_module("optimize").milp(c, **known, options=options)
    cost = _vector(c)
    n = cost.size
    matrices = [_matrix(a, n) for a, _, _ in parts]
    sides = [
        tnp.concatenate(
            [
                np.zeros(0),
                *(tnp.broadcast_to(_end(p[k]), m.shape[:1]) for p, m in zip(parts, matrices, strict=True)),
            ]
        )
        for k in (1, 2)
    ]
    lower, upper = (wrap(to_raw(s)) for s in sides)
    matrix = wrap(to_raw(tnp.concatenate([np.zeros((0, n)), *matrices])))
    low, high = (np.zeros(n), np.full(n, np.inf)) if bounds is None else limits(bounds, cost)
    low, high = wrap(to_raw(low)), wrap(to_raw(high))
    whole = np.zeros(n) if integrality is None else np.broadcast_to(np.asarray(integrality), (n,))
    program = _Program(cost, matrix, lower, upper, low, high, whole > 0)

    def host(c: Any, a: Any, lower: Any, upper: Any, low: Any, high: Any) -> Any:
        theirs = scipy_module("optimize")
        rows = theirs.LinearConstraint(a, lower, upper) if len(a) else None
        ends = theirs.Bounds(low, high)
        return theirs.milp(c, integrality=whole, bounds=ends, constraints=rows, options=options)

    x, counts = program.solved("milp", host, cost, matrix, lower, upper, low, high)
    return partial("milp", x=x, fun=python(cost @ x), **_told(counts))


def _end(x: Any) -> Any:
    return _vector(x) if isinstance(x, (list, tuple)) else tnp.asarray(x).astype(float)


def nnls(A: Any, b: Any, *, maxiter: Any = None) -> tuple[Any, Any]:
    """The x >= 0 of least |A x - b|, and this length, by Lawson and Hanson's algorithm. Derivatives are those of least
    squares in the unknowns that are not zero. Raises SolverFailedError where it takes more than `maxiter` steps."""
    if tnp.ndim(A) != 2:
        raise ValueError(f"Expected a 2D array, but the shape of A is {tnp.shape(A)}")
    matrix, right = _matrix(A, 0), _vector(b)
    m, n = matrix.shape
    if m != right.size:
        problem = f"The first dimension of A is {m}, while the shape of b is {right.shape}"
        raise ValueError(f"Incompatible dimensions. {problem}")
    finite = tnp.all(tnp.isfinite(matrix)) & tnp.all(tnp.isfinite(right))
    _must(finite, "array must not contain infs or NaNs")

    def solve(_: Any) -> tuple[Any, Any]:
        return call_user(nonnegative.nnls, matrix, right, maxiter or 3 * n)

    def conditions(x: Any) -> Any:
        return tnp.where(lax.stop_gradient(x) > 0, (matrix @ x - right) @ matrix, x)

    x, enough = solving.root_of(conditions, tnp.zeros(n), solve, _least_solve)
    _must(enough, "Maximum number of iterations reached.")
    gap = matrix @ x - right
    return x, python(tnp.sqrt(gap @ gap))
