"""`solve_ivp` and `odeint` for traced values, by the loops of `runge_kutta`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError, SolverOptionError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops._lazy import scipy_module
from tracejit.ops.elementwise import compare
from tracejit.scipy.integrating.runge_kutta import Point, Problem
from tracejit.tracing import box, call_user, to_raw

#: Rows that there is room for where all steps are asked for.
MOST_ROWS = 2_048
_METHODS = ("RK23", "RK45", "DOP853")


def solve_ivp(
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    **options: Any,
) -> Any:
    """The solution of dy/dt = fun(t, y) from y(t0) = y0, as `scipy.integrate.solve_ivp` finds it.

    Parameters
    ----------
    fun
        `fun(t, y, *args)` gives n slopes, as an array or a sequence.
    t_span
        The interval (t0, tf), in either direction.
    y0
        Shape (n,), real or complex.
    method
        "RK45", "RK23" or "DOP853", or SciPy's class of that name.
    t_eval
        Times within the interval, in order, shape (m,). Without, the result has all steps.
    options
        `rtol`, `atol`, `first_step` and `max_step`.

    Returns
    -------
    OdeResult
        SciPy's class: `t` (m,), `y` (n, m), `nfev`, `status`, `success`, `message` …

    Raises
    ------
    SolverOptionError
        Implicit methods, `events`, `dense_output` and `vectorized` have no traced form (jit leaves them to SciPy).
    SolverFailedError
        A step became too small.
    """
    name = getattr(method, "__name__", method)
    _refuse_options(name, dense_output, events, vectorized, options)
    t0, end = (tnp.asarray(t).astype(float) for t in t_span)
    y0 = tnp.stack([tnp.asarray(x) for x in y0]) if isinstance(y0, (list, tuple)) else tnp.asarray(y0)
    if y0.ndim != 1:
        raise SolverOptionError(
            function="solve_ivp", problem=f"y0 of shape {y0.shape}", remedy="give a vector"
        )
    y0 = y0.astype(complex if y0.dtype.kind == "c" else float)
    direction = tnp.where(lax.stop_gradient(end >= t0), 1.0, -1.0)
    problem = Problem(fun, tuple(args or ()), name, y0.dtype, end, direction)
    problem.tolerances(options.get("rtol", 1e-3), options.get("atol", 1e-6), options.get("max_step", np.inf))
    # The first point is one step ahead, as SciPy's is: all times lie between two points.
    p = problem.start(t0, y0, options.get("first_step"))
    if t_eval is None:
        ts, ys, p = _all_steps(problem, p)
        dense = 0
    else:
        ts = tnp.asarray(t_eval)
        ts, ys, p, dense = _at_times(problem, p, ts.astype(float), t0)
    _check(problem, p)
    stages = len(problem.method.B)
    calls = 1 + (options.get("first_step") is None) + stages * p.tried + dense
    return _result(ts, ys, calls)


def _refuse_options(method: Any, dense: Any, events: Any, vectorized: Any, options: dict[str, Any]) -> None:
    problem, remedy = None, "leave it away"
    if method not in _METHODS:
        problem, remedy = f"method={method!r}", 'use "RK45", "RK23" or "DOP853"'
    elif dense:
        problem, remedy = "dense_output", "give t_eval"
    elif events is not None:
        problem, remedy = "events", "solve up to a time, and look for the event there"
    elif vectorized:
        problem = "vectorized"
    elif unknown := options.keys() - {"rtol", "atol", "first_step", "max_step"}:
        problem = f"the option {min(unknown)!r}"
    if problem is not None:
        raise SolverOptionError(function="solve_ivp", problem=problem, remedy=remedy)


def _at_times(problem: Problem, p: Point, ts: Any, t0: Any) -> tuple[Any, Any, Point, Any]:
    """The solution at given times; how many evaluations interpolation took."""
    if ts.ndim != 1:
        raise SolverOptionError(
            function="solve_ivp", problem=f"t_eval of shape {ts.shape}", remedy="give a vector"
        )
    inside = problem.direction * (problem.end - ts) >= 0
    inside = inside & (problem.direction * (ts - t0) >= 0)
    order = problem.direction * (ts[1:] - ts[:-1]) > 0
    _fail(
        ~(tnp.all(inside) & tnp.all(order)),
        "Values in `t_eval` are not within `t_span`, or not properly sorted.",
    )
    p = lax.while_loop(lambda p: (p.t == p.before) & ~problem.stuck(p), problem.trial, p)

    def one(state: tuple[Point, Any, Any], t: Any) -> Any:
        p, seen, steps = state
        p = problem.advance(p, t)
        new = lax.stop_gradient(p.t) != seen
        return (p, lax.stop_gradient(p.t), steps + new.astype(np.int64)), problem.between(p, t)

    start = (p, lax.stop_gradient(t0), np.int64(0))
    (p, _, steps), rows = lax.scan(one, start, ts)
    p = problem.advance(p, problem.end)
    extra = 0 if problem.has_pair else len(problem.method.A_EXTRA)
    return ts, tnp.swapaxes(rows, 0, 1), p, extra * steps


def _all_steps(problem: Problem, p: Point) -> tuple[Any, Any, Point]:
    """All points up to the end: arrays whose length only the program knows."""
    n = p.y.size
    room = max(min(MOST_ROWS, 2**22 // max(n, 1)), 64)
    ts = tnp.zeros(room)
    ys = tnp.zeros((room, n), p.y.dtype)
    ts, ys = lax.dynamic_update_index_in_dim(ts, p.t, 0, 0), lax.dynamic_update_index_in_dim(ys, p.y, 0, 0)

    def going(state: Any) -> Any:
        p, _, _, row = state
        return (problem.direction * (problem.end - p.t) > 0) & ~problem.stuck(p) & (row < room)

    def step(state: Any) -> Any:
        p, ts, ys, row = state
        p = problem.trial(p)
        at = tnp.minimum(row, room - 1)
        ts = lax.dynamic_update_index_in_dim(ts, p.t, at, 0)
        ys = lax.dynamic_update_index_in_dim(ys, p.y, at, 0)
        return p, ts, ys, row + tnp.where(p.rejected, 0, 1)

    p, ts, ys, row = lax.while_loop(going, step, (p, ts, ys, np.int64(1)))
    _fail(problem.direction * (problem.end - p.t) > 0, "The solution has more steps than there is room for.")
    return ts[:row], tnp.swapaxes(ys[:row], 0, 1), p


def _check(problem: Problem, p: Point) -> None:
    _fail(problem.stuck(p), "Required step size is less than spacing between numbers.")


def _fail(bad: Any, message: str) -> None:
    fail_if(compare.ne(to_raw(bad), np.False_), SolverFailedError, message)


def _result(ts: Any, ys: Any, calls: Any) -> Any:
    made = scipy_module("integrate")._ivp.ivp.OdeResult
    _register(made)
    return made(
        t=ts,
        y=ys,
        sol=None,
        t_events=None,
        y_events=None,
        nfev=box(to_raw(calls), True),
        njev=0,
        nlu=0,
        status=0,
        message="The solver successfully reached the end of the integration interval.",
        success=True,
    )


def _register(cls: type) -> None:
    """SciPy's results are trees of their numbers and arrays."""

    def to_iter(r: Any) -> tuple[list[Any], Any]:
        text = {k: v for k, v in r.items() if isinstance(v, (str, bool, type(None)))}
        held = [k for k in r if k not in text]
        return [r[k] for k in held], (tuple(r), tuple(held), tuple(text.items()))

    def from_iter(aux: Any, children: Any) -> Any:
        values = {**dict(zip(aux[1], children, strict=True)), **dict(aux[2])}
        return cls(**{k: values[k] for k in aux[0]})

    tree.register(cls, to_iter, from_iter)


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    rtol: Any = None,
    atol: Any = None,
    **options: Any,
) -> Any:
    """The solution at the times `t`, shape (m, n), of dy/dt = func(y, t), by DOP853.

    `scipy.integrate.odeint` uses LSODA, whose steps are others: with the tolerances that both have by default the
    results agree within some 1e-7. `tfirst` is taken; other options have no traced form (jit leaves them to SciPy).
    """
    first = options.pop("tfirst", False)
    full = {k: v for k, v in options.items() if v is not None and v is not False and v != 0 and v != ()}
    if full:
        remedy = "use solve_ivp"
        raise SolverOptionError(function="odeint", problem=f"the option {min(full)!r}", remedy=remedy)
    times = tnp.asarray(t).astype(float)
    fun = func if first else lambda t, y, *args: call_user(func, y, t, *args)
    tight: dict[str, Any] = {
        "rtol": 1e-10 if rtol is None else rtol / 10,
        "atol": 1e-10 if atol is None else atol / 10,
    }
    out = solve_ivp(fun, (times[0], times[-1]), y0, "DOP853", times, args=args, **tight)
    return tnp.swapaxes(out["y"], 0, 1)
