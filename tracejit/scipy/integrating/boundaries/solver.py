"""`solve_bvp`: boundary value problems by collocation, with SciPy's control of residuals (Kierzenka and Shampine 2001).

The mesh has room for `max_nodes` nodes; those past the last one in use are copies of it, whose intervals have no length
and whose equations say that nothing changes there. The solution on the last mesh is differentiated as a root of its
collocation equations.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.custom.implicit import custom_root
from tracejit.control.custom.linear_solve import custom_linear_solve
from tracejit.interpreters.autodiff.linearize import linearize_flat
from tracejit.interpreters.autodiff.transpose import pull_back
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops.building import helpers
from tracejit.scipy.hosting.likeness import increasing, refuse
from tracejit.scipy.integrating.boundaries import chains
from tracejit.scipy.integrating.boundaries.collocation import Problem, Values, floats
from tracejit.scipy.integrating.boundaries.meshes import Curve, cubics, finer, residuals
from tracejit.scipy.integrating.results import boundary_result
from tracejit.tracing import to_raw, wrap

_SINGULAR = "what SciPy makes of a boundary value problem whose equations are singular, or no numbers"


class Guess(NamedTuple):
    """A guess of Newton's method: the states (n, m), the parameters, what they give, and the last correction."""

    y: Any
    p: Any
    values: Values
    step: Any
    cost: Any
    factors: Any
    again: Any  # whether the matrices are to be found again
    jacobians: Any
    tries: Any
    singular: Any
    done: Any


def _solved(factors: Any, v: Values, count: Any) -> tuple[Any, Any, Any]:
    """The correction of the states and of the parameters, and the square of its length."""
    y, p = chains.solve(factors, v.inner.T, v.ends, count)
    used = np.arange(y.shape[0])[:, None] <= count
    return y.T, p, tnp.sum(tnp.where(used, y, 0.0) ** 2) + tnp.sum(p**2)


def _newton(problem: Problem, x: Any, y: Any, p: Any, count: Any, tol: Any, bc_tol: Any) -> Guess:
    """A few damped steps on one mesh: of at most eight corrections, with at most four matrices."""
    h = x[1:] - x[:-1]
    used = np.arange(h.size) < count
    enough = 2 / 3 * h * 5e-2 * tol

    def correct(g: Guess) -> Guess:
        factors = lax.cond(
            g.again,
            lambda: chains.factor(problem.chain(x, g.y, g.p, g.values.middle), count),
            lambda: g.factors,
        )
        singular = ~(factors.rank > 1e-15)
        fresh = _solved(factors, g.values, count)
        step = tuple(tnp.where(g.again, a, b) for a, b in zip(fresh[:2], g.step, strict=True))
        cost = tnp.where(g.again, fresh[2], g.cost)
        alpha, at, after = _damped(problem, x, g, factors, step, cost, count)
        y, p, values = at
        jacobians = g.jacobians + tnp.where(g.again, 1, 0)
        small = tnp.all(~used | (tnp.abs(values.inner) < enough * (1 + tnp.abs(values.f_middle))))
        done = (jacobians == 4) | (small & tnp.all(tnp.abs(values.ends) < bc_tol))
        return Guess(
            y, p, values, after[:2], after[2], factors, alpha != 1, jacobians, g.tries + 1, singular, done
        )

    values = problem.values(x, y, p)
    factors = chains.none(x.size - 1, y.shape[0], problem.k)
    step, cost = (tnp.zeros_like(y), tnp.zeros_like(p)), tnp.zeros(())
    yes, no, zero = np.bool_(True), np.bool_(False), np.int64(0)
    start = Guess(y, p, values, step, cost, factors, yes, zero, zero, no, no)
    return lax.while_loop(lambda g: ~(g.done | g.singular) & (g.tries < 8), correct, start)


def _damped(
    problem: Problem, x: Any, g: Guess, factors: Any, step: Any, cost: Any, count: Any
) -> tuple[Any, Any, Any]:
    """How much of a correction is taken, the guess that it leads to, and the correction there."""

    def attempt(state: Any) -> Any:
        alpha, trial, *_ = state
        alpha = tnp.where(trial > 0, 0.5 * alpha, alpha)
        y, p = problem.begin(g.y - alpha * step[0]), g.p - alpha * step[1]
        values = problem.values(x, y, p)
        after = _solved(factors, values, count)
        return alpha, trial + 1, (y, p, values), after, after[2] < (1 - 2 * alpha * 0.2) * cost

    start = (
        tnp.asarray(1.0),
        np.int64(0),
        (g.y, g.p, g.values),
        (g.step[0], g.step[1], g.cost),
        np.bool_(False),
    )
    alpha, _, at, after, _ = lax.while_loop(lambda s: ~s[4] & (s[1] < 5), attempt, start)
    return alpha, at, after


# ---------------------------------------------------------------- meshes


class Found(NamedTuple):
    """A solution on a mesh: `where` says between which of the first nodes each node lies."""

    x: Any
    where: Any
    y: Any
    p: Any
    count: Any  # intervals in use
    next: Any  # the mesh of the next round: x, where, y, count
    rms: Any
    rounds: Any
    status: Any  # -1 while there is none


def _rounds(problem: Problem, x: Any, y: Any, p: Any, count: int, most: int, tol: Any, bc_tol: Any) -> Found:
    def one(s: Found) -> Found:
        x, where, y, count = s.next
        g = _newton(problem, x, y, s.p, count, tol, bc_tol)
        leave_if(to_raw(g.singular), _SINGULAR)
        rms = residuals(problem.slopes, cubics(x, g.y, g.values.f), x, g.p, g.values)
        used = np.arange(rms.size) < count
        leave_if(to_raw(~tnp.all(~used | tnp.isfinite(rms))), _SINGULAR)
        new = tnp.where(used & (rms > tol), tnp.where(rms < 100 * tol, 1, 2), 0)
        added = tnp.sum(new)
        full, right = count + 1 + added > most, tnp.max(tnp.abs(g.values.ends)) <= bc_tol
        last = tnp.where(right, 0, tnp.where(s.rounds + 1 >= 10, 3, -1))
        status = tnp.where(full, 1, tnp.where(added > 0, -1, last))
        ahead = finer(x, where, cubics(x, g.y, g.values.f), new, count)
        ahead = tuple(tnp.where(added > 0, a, b) for a, b in zip(ahead, (x, where, g.y, count), strict=True))
        return Found(x, where, g.y, g.p, count, ahead, rms, s.rounds + 1, status)

    where = tnp.asarray(np.minimum(np.arange(float(x.size)), float(count)))
    n = tnp.asarray(np.int64(count))
    start = Found(
        x, where, y, p, n, (x, where, y, n), tnp.zeros(x.size - 1), np.int64(0), tnp.asarray(np.int64(-1))
    )
    return lax.while_loop(lambda s: s.status < 0, one, start)


def solve_bvp(
    fun: Any,
    bc: Any,
    x: Any,
    y: Any,
    p: Any = None,
    S: Any = None,
    fun_jac: Any = None,
    bc_jac: Any = None,
    tol: Any = 1e-3,
    max_nodes: int = 1000,
    verbose: int = 0,
    bc_tol: Any = None,
) -> Any:
    """The solution of a boundary value problem, as SciPy's result."""
    if verbose or type(tol) not in (int, float) or tol < 100 * np.finfo(float).eps:
        refuse("solve_bvp", "this `verbose` or `tol`", "leave `verbose` away, and give a constant `tol`")
    x = increasing(x, "`x` must be strictly increasing.")
    y = floats(y)
    if y.ndim != 2 or y.shape[1] != x.size:
        raise ValueError(f"`y` is expected to have {x.size} columns, but actually has shape {y.shape}.")
    p = tnp.zeros(0) if p is None else floats(p)
    if p.ndim != 1:
        raise ValueError("`p` must be 1 dimensional.")
    n, count = y.shape[0], x.size - 1
    s = None if S is None else floats(S)
    if s is not None and s.shape != (n, n):
        raise ValueError(f"`S` is expected to have shape {(n, n)}, but actually has {s.shape}")
    room, most = max(operator.index(max_nodes), x.size), operator.index(max_nodes)
    problem = Problem(fun, bc, p.size, fun_jac, bc_jac, x[0], s)
    begun = tnp.concatenate([x, tnp.broadcast_to(x[-1:], (room - x.size,))])
    guess = tnp.concatenate([y, tnp.broadcast_to(y[:, -1:], (n, room - x.size))], axis=1)
    still = lax.stop_gradient
    found = _rounds(
        problem,
        still(begun),
        problem.begin(still(guess)),
        still(p),
        count,
        most,
        tol,
        tol if bc_tol is None else bc_tol,
    )
    found = still(found)
    at = found.where.astype(np.int64)
    part = found.where - at
    mesh = begun[at] * (1 - part) + begun[tnp.minimum(at + 1, count)] * part
    mesh = found.x + (mesh - still(mesh))
    return _result(problem, mesh, found, p.size)


def _result(problem: Problem, x: Any, found: Found, k: int) -> Any:
    """The solution with its derivatives."""

    def equations(at: Any) -> Any:
        v = problem.values(x, *at)
        return v.inner.T, v.ends

    y, p = custom_root(equations, (found.y, found.p), lambda _, z: z, _corrected)
    f = problem.slopes(x, y, p, True)
    curve = Curve(cubics(x, y, f), x, found.count)
    return boundary_result(curve, p if k else None, x, y, f, found)


def _corrected(g: Callable[[Any], Any], right: Any) -> Any:
    """The unknowns (n, m) and (k,) with g(unknowns) == right, of the collocation equations."""
    inner, ends = right
    (room, n), k = inner.shape, ends.size - inner.shape[1]
    factors = lax.stop_gradient(chains.factor(_probed(g, room, n, k), room))

    def direct(b: Any) -> Any:
        y, p = chains.solve(factors, *_unpack(*b), room)
        return y.T, p

    # The equations are as many as the unknowns: they are put into the form of these.
    return custom_linear_solve(
        lambda z: _pack(*g(z)),
        _pack(inner, ends),
        lambda _, b: direct(b),
        lambda _, b: _transposed(direct, b),
    )


def _probed(g: Callable[[Any], Any], room: int, n: int, k: int) -> chains.Chain:
    """The matrices of a linear map in which each interval depends on its two nodes: every other node at a time."""
    odd = np.arange(room + 1) % 2
    ways = [1 - odd, odd, np.eye(1, room + 1)[0], np.eye(1, room + 1, room)[0]]
    y = np.concatenate([np.eye(n)[:, :, None] * way for way in ways] + [np.zeros((k, n, room + 1))])
    p = np.concatenate([np.zeros((4 * n, k)), np.eye(k)])
    _, (inner, ends) = lax.scan(lambda c, z: (c, g(z)), None, (y, p))
    inner, ends = tnp.moveaxis(inner, 0, 2), ends.T
    even = (odd[:-1] == 0)[:, None, None]
    first, second = inner[:, :, :n], inner[:, :, n : 2 * n]
    return chains.Chain(
        tnp.where(even, first, second),
        tnp.where(even, second, first),
        inner[:, :, 4 * n :],
        ends[:, 2 * n : 3 * n],
        ends[:, 3 * n : 4 * n],
        ends[:, 4 * n :],
    )


def _pack(inner: Any, ends: Any) -> tuple[Any, Any]:
    """Right-hand sides in the form of the unknowns."""
    n = inner.shape[1]
    return tnp.concatenate([inner, ends[None, :n]]).T, ends[n:]


def _unpack(y: Any, p: Any) -> tuple[Any, Any]:
    return y.T[:-1], tnp.concatenate([y[:, -1], p])


def _transposed(f: Callable[[Any], Any], b: Any) -> Any:
    """The transpose of a linear function of two arrays, which gives arrays of their shapes."""

    def flat(*raw: Any) -> list[Any]:
        return [to_raw(z) for z in f(tuple(map(wrap, raw)))]

    zeros = [to_raw(tnp.zeros_like(z)) for z in b]
    _, tape = linearize_flat(flat, zeros, [True, True])
    return tuple(wrap(helpers.instantiate(c)) for c in pull_back(tape, [to_raw(z) for z in b]))
