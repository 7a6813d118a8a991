"""`solve_ivp` for traced values, by native loops: the methods (`runge_kutta`), `recording` around them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.call.checkpoint import checkpoint as recomputed
from tracejit.errors import SolverFailedError, SolverOptionError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops.elementwise import compare
from tracejit.scipy.integrating import adjoint as adjoints
from tracejit.scipy.integrating import lsoda
from tracejit.scipy.integrating.bdf import Bdf
from tracejit.scipy.integrating.dense import Solution
from tracejit.scipy.integrating.implicit import Implicit
from tracejit.scipy.integrating.problem import Problem
from tracejit.scipy.integrating.radau import Radau
from tracejit.scipy.integrating.recording import Event, Record, check_room, record
from tracejit.scipy.integrating.results import Later, result
from tracejit.scipy.integrating.runge_kutta import Explicit
from tracejit.scipy.solving import ask, scalar
from tracejit.tracing import to_raw

_EXPLICIT = ("RK23", "RK45", "DOP853")
_METHODS: dict[Any, Callable[..., Problem]] = {
    **{name: functools.partial(Explicit, name) for name in _EXPLICIT},
    "Radau": Radau,
    "BDF": Bdf,
}
_F64 = np.dtype(float)
_NAMES = (*_METHODS, "LSODA")
#: The word of `solve_ivp` and the number that SciPy has not.
OWN = frozenset(("adjoint", "checkpoint"))
_OPTIONS = frozenset(("rtol", "atol", "first_step", "max_step"))
_OF_IMPLICIT = _OPTIONS | {"jac", "jac_sparsity"}


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
        "RK45", "RK23", "DOP853", "Radau", "BDF" or "LSODA", or SciPy's class of that name. Radau and BDF get the
        Jacobian of the function where `jac` gives none. LSODA is SciPy's own solver, on the compiled function, with
        the derivatives of Radau's steps.
    t_eval
        Times within the interval, in order, shape (m,). Without, the result has all steps: `jit` makes
        room for more than 2048 by itself, other transformations outside of it have room for so many.
    dense_output
        Whether the result has `sol`, a function of the time.
    events
        Functions `event(t, y, *args)`, one or several, with the attributes `terminal` and `direction` or without. The
        times of their zeros have derivatives.
    vectorized
        Whether `fun` takes states of the shape (n, k).
    options
        `rtol`, `atol`, `first_step`, `max_step`; of implicit methods `jac` (`jac_sparsity` changes nothing). With
        `t_eval`, two more that SciPy has not: `adjoint="continuous"` takes reverse derivatives by the adjoint
        equation, in the memory of the results; `checkpoint=n` (a number of parts) those of the steps, of which only
        n for each of the times are kept, and others computed again.

    Returns
    -------
    OdeResult
        SciPy's class: `t` (m,), `y` (n, m), `sol`, `t_events`, `y_events`, `nfev`, `status`, `success`, `message` …

    Raises
    ------
    SolverOptionError
        A method or an option that has no traced form (jit leaves them to SciPy).
    SolverFailedError
        A step became too small.
    """
    name = getattr(method, "__name__", method)
    if name not in _NAMES:
        _refuse(f"method={name!r}", f"use one of {', '.join(_NAMES)}")
    adjoint, parts = options.pop("adjoint", None), options.pop("checkpoint", None)
    if unknown := options.keys() - (_OPTIONS if name not in ("Radau", "BDF") else _OF_IMPLICIT):
        _refuse(f"the option {min(unknown)!r}", "leave it away")
    t0, end = (tnp.asarray(t).astype(float) for t in t_span)
    y0 = tnp.stack([tnp.asarray(x) for x in y0]) if isinstance(y0, (list, tuple)) else tnp.asarray(y0)
    if y0.ndim != 1:
        _refuse(f"y0 of shape {y0.shape}", "give a vector")
    if name in ("Radau", "LSODA") and y0.dtype.kind == "c":
        problem = "`y0` is complex, but the chosen solver does not support integration in a complex domain."
        raise ValueError(problem)
    y0 = y0.astype(complex if y0.dtype.kind == "c" else float)
    direction = tnp.where(lax.stop_gradient(end >= t0), 1.0, -1.0)
    more = tuple(args or ())
    made = functools.partial(_made, name, options)
    problem = made(fun, end, direction, args=more, vectorized=bool(vectorized), dtype=y0.dtype)
    _check_given(y0, tnp.abs(end - t0), options)
    times = None if t_eval is None else _times(problem, t0, t_eval)
    plain = not (dense_output or events is not None)
    if name == "LSODA":
        if not plain or adjoint is not None or parts is not None:
            _refuse("events, dense output, adjoints and checkpoints of LSODA", "use Radau")
        return _by_lsoda(problem.slope, (t0, end), y0, times, options)
    first = options.get("first_step")
    first_calls = tnp.where(t0 == end, 0, 1) if first is None else 0
    if adjoint not in (None, "steps"):
        _check_continuous(adjoint, parts, plain and times is not None, y0)
        if options.get("jac") is not None:
            _refuse("`jac` with `adjoint='continuous'`", "leave it away: that of the function is taken")
        back = functools.partial(
            _made, name, options | {"atol": tnp.min(tnp.asarray(options.get("atol", 1e-6)))}
        )
        ys, calls, jacobians, factors = _continuous(problem, (made, back), first, (t0, end), y0, times)
        return result(times, ys, (calls + first_calls, jacobians, factors))
    if parts is not None and (not plain or times is None):
        _refuse("`checkpoint` without `t_eval`", "give times, and leave events and dense output away")
    p = problem.start(t0, y0, first)
    own = _events(events, more)
    if times is None or not plain:
        return _of_record(problem, p, times, (own, events is not None, dense_output), first_calls)
    rows, p, dense = _at_times(problem, p, times, t0, parts)
    _check(problem, p)
    calls, jacobians, factors = problem.counts(p)
    return result(times, _of_rows(problem, rows), (calls + first_calls + dense, jacobians, factors))


def _made(
    name: str,
    options: dict[str, Any],
    fun: Callable[..., Any],
    end: Any,
    direction: Any,
    args: tuple[Any, ...] = (),
    vectorized: bool = False,
    dtype: Any = _F64,
) -> Problem:
    """The problem by the method `name` (of LSODA, by the one that gives its derivatives)."""
    problem = _METHODS["Radau" if name == "LSODA" else name](fun, args, dtype, end, direction, vectorized)
    if isinstance(problem, Implicit):
        problem.jacobian_of(options.get("jac"))
    problem.tolerances(options.get("rtol", 1e-3), options.get("atol", 1e-6), options.get("max_step", np.inf))
    return problem


def _by_lsoda(slope: Any, span: tuple[Any, Any], y0: Any, times: Any, options: dict[str, Any]) -> Any:
    """The result of SciPy's LSODA."""
    tight = {
        "rtol": tnp.asarray(options.get("rtol", 1e-3)) / 10,
        "atol": tnp.asarray(options.get("atol", 1e-6)) / 10,
    }

    def rows_at(slope: Any, t0: Any, y0: Any, times: Any) -> Any:
        end = lax.stop_gradient(times[-1])
        problem = _made("LSODA", tight, slope, end, tnp.where(end >= t0, 1.0, -1.0))
        return _at_times(problem, problem.start(t0, y0, None), times, t0)[0]

    given = {k: v for k, v in options.items() if v is not None}
    ts, rows, (count, nfev, njev, nlu, status) = lsoda.found(slope, rows_at, span, y0, times, given)
    _fail(status < 0, "Required step size is less than spacing between numbers.")
    if times is None:
        check_room(count > ts.shape[0], ts.shape[0])
        ts, rows = ts[:count], rows[:count]
    ys = tnp.swapaxes(rows, 0, 1)
    if times is not None:
        ts, ys = times, tnp.ascontiguousarray(ys)
    return result(ts, ys, (nfev, njev, nlu))


def _check_continuous(adjoint: Any, parts: Any, plain: bool, y0: Any) -> None:
    if adjoint != "continuous":
        raise ValueError(f"`adjoint` must be 'steps' or 'continuous', not {adjoint!r}.")
    if parts is not None or not plain:
        _refuse(
            "this with `adjoint='continuous'`", "give `t_eval`, and no events, dense output or checkpoint"
        )
    if y0.dtype.kind == "c":
        _refuse("`adjoint='continuous'` of complex states", "leave it away")


def _continuous(problem: Problem, makers: Any, first: Any, span: Any, y0: Any, times: Any) -> Any:
    """The states at the times, with the derivatives of the adjoint equation, and counts."""

    def solve(problem: Problem, t0: Any, y0: Any, times: Any) -> Any:
        p = problem.start(t0, y0, first)
        rows, p, dense = _at_times(problem, p, times, t0)
        calls, jacobians, factors = problem.counts(p)
        counts = [tnp.asarray(n).astype(float) for n in (calls + dense, jacobians, factors)]
        return rows, (*counts, tnp.where(problem.stuck(p), 1.0, 0.0))

    t0, end = span
    rows, (*counts, stuck) = adjoints.at_times(problem.slope, makers, solve, (t0, y0), times, end)
    _fail(lax.stop_gradient(stuck) > 0, "Required step size is less than spacing between numbers.")
    return _of_rows(problem, rows), *[lax.stop_gradient(n).astype(np.int64) for n in counts]


def _refuse(problem: str, remedy: str) -> None:
    raise SolverOptionError(function="solve_ivp", problem=problem, remedy=remedy)


def _check_given(y0: Any, length: Any, options: dict[str, Any]) -> None:
    """What SciPy refuses, or warns of."""
    rtol, atol = tnp.asarray(options.get("rtol", 1e-3)), tnp.asarray(options.get("atol", 1e-6))
    if atol.ndim > 0 and atol.shape != y0.shape:
        raise ValueError("`atol` has wrong shape.")
    _fail(~tnp.all(tnp.isfinite(y0)), "All components of the initial state `y0` must be finite.")
    _fail(tnp.any(rtol < 100 * np.finfo(float).eps), "At least one element of `rtol` is too small.")
    _fail(tnp.any(atol < 0), "`atol` must be positive.")
    _fail(tnp.asarray(options.get("max_step", np.inf)) <= 0, "`max_step` must be positive.")
    first = options.get("first_step")
    if first is not None:
        _fail((tnp.asarray(first) <= 0) | (first > length), "`first_step` is not within the interval.")


def _events(events: Any, args: tuple[Any, ...]) -> list[Event]:
    """The events as `recording` takes them, with the attributes that they have now."""
    given = () if events is None else (events,) if callable(events) else tuple(events)
    return [_event(e, args) for e in given]


def _event(event: Any, args: tuple[Any, ...]) -> Event:
    terminal, direction = getattr(event, "terminal", None), getattr(event, "direction", 0)
    if terminal is None or terminal == 0:
        most = None
    elif int(terminal) == terminal and terminal > 0:
        most = int(terminal)
    else:
        raise ValueError("The `terminal` attribute of each event must be a boolean or positive integer.")
    return Event(lambda t, y: scalar(ask(event, t, y, *args)), direction, most)


def _times(problem: Problem, t0: Any, t_eval: Any) -> Any:
    ts = tnp.asarray(t_eval)
    if ts.ndim != 1:
        _refuse(f"t_eval of shape {ts.shape}", "give a vector")
    ts = ts.astype(float)
    inside = problem.direction * (problem.end - ts) >= 0
    inside = inside & (problem.direction * (ts - t0) >= 0)
    order = problem.direction * (ts[1:] - ts[:-1]) > 0
    _fail(problem.end == t0, "SciPy has no values at times of an interval of no length.")
    _fail(
        ~(tnp.all(inside) & tnp.all(order)),
        "Values in `t_eval` are not within `t_span`, or not properly sorted.",
    )
    return ts


def _at_times(problem: Problem, p: Any, ts: Any, t0: Any, parts: Any = None) -> tuple[Any, Any, Any]:
    """The states at given times, one a row; the last point; how many evaluations interpolation took. With `parts`, a
    derivative keeps so many points for each time, and computes the steps between them again."""

    def one(p: Any, t: Any) -> Any:
        p = problem.advance(p, t)
        return p, (problem.between(p, t), lax.stop_gradient(p.t), lax.stop_gradient(p.before))

    # The end is one of the times, so that there is one loop over steps in the program.
    m = ts.shape[0]
    stops = tnp.concatenate([ts, problem.end[None]])
    if parts is None:
        p, (rows, ends, starts) = lax.scan(one, p, stops)
    else:
        n = _whole(parts)
        before = tnp.concatenate([t0[None], stops[:-1]])
        inner = before[:, None] + (stops - before)[:, None] * (np.arange(1, n) / n)
        stops = tnp.concatenate([inner, stops[:, None]], axis=1).reshape(-1)
        p, found = lax.scan(recomputed(one, prevent_cse=False), p, stops)
        rows, ends, starts = (x[n - 1 :: n] for x in found)
    rows, ends = rows[:m], ends[:m]
    if not problem.dense_calls() or not m:
        return rows, p, 0
    steps = 1 + tnp.sum(ends[1:] != ends[:-1])
    if m > 1:  # a first time that is t0 lies in the first step, like those that follow in it
        steps = steps - tnp.where((ends[0] == t0) & (starts[1] == t0), 1, 0)
    return rows, p, problem.dense_calls() * steps


def _whole(parts: Any) -> int:
    n = operator.index(parts)
    if n < 1:
        raise ValueError(f"`checkpoint` must be a positive number of parts, not {n}.")
    return n


def _of_rows(problem: Problem, rows: Any) -> Any:
    """The states at given times, shape (n, m), in the order in memory that SciPy's has."""
    ys = tnp.swapaxes(rows, 0, 1)
    return ys if problem.dense_calls() else tnp.ascontiguousarray(ys)


def _of_record(
    problem: Problem, p: Any, times: Any, wanted: tuple[list[Event], bool, bool], first_calls: Any
) -> Any:
    """The result with all steps, or with events, or with `sol`."""
    events, has_events, dense_output = wanted
    dense = dense_output or times is not None
    p, r = record(problem, p, events, dense)
    _check(problem, p)
    check_room(problem.going(p) & ~r.ended, r.ts.shape[0])
    sol: Any = Solution(r.ts, r.count, r.pieces, problem.direction, problem.later) if dense else None
    if times is None:
        ts, ys = r.ts[: r.count], tnp.swapaxes(r.ys[: r.count], 0, 1)
    else:
        ts, ys = _until(
            problem, r, times, _of_rows(problem, sol.rows(times)), any(e.most is not None for e in events)
        )
    calls, jacobians, factors = problem.counts(p)
    calls = calls + first_calls
    if problem.dense_calls():
        calls = calls + problem.dense_calls() * _polynomials(problem, r, times, dense_output)
    happened = _lists(r) if has_events else (None, None)
    ended = r.ended if any(e.most is not None for e in events) else None
    return result(ts, ys, (calls, jacobians, factors), sol if dense_output else None, happened, ended)


def _until(problem: Problem, r: Record, times: Any, ys: Any, may_end: bool) -> tuple[Any, Any]:
    """Times and states up to the event that ended the solution."""
    if not may_end:
        return times, ys
    count = tnp.sum(problem.direction * (lax.stop_gradient(r.t) - times) >= 0)
    return Later(lambda: times[:count], count), Later(lambda: ys[:, :count], count)


def _polynomials(problem: Problem, r: Record, times: Any, dense_output: bool) -> Any:
    """In how many steps SciPy makes a polynomial."""
    rows = np.arange(r.ts.shape[0])
    used = (rows > 0) & (rows < r.count)
    if dense_output:
        return tnp.sum(used)
    some = tnp.zeros(rows.shape, bool)
    if r.looked.shape[0]:
        some = some | r.looked
    if times is not None:
        to = problem.direction * lax.stop_gradient(r.ts)
        within = tnp.sum((problem.direction * times)[:, None] <= to, axis=0)
        before = tnp.concatenate([tnp.zeros(1, within.dtype), within[:-1]])
        some = some | (within > tnp.where(rows == 1, 0, before))
    return tnp.sum(used & some)


def _lists(r: Record) -> tuple[list[Any], list[Any]]:
    """`t_events` and `y_events`."""
    ts = [h.ts[: h.count] for h in r.events]
    return ts, [Later(lambda h=h: h.ys[: h.count], h.count) for h in r.events]


def _check(problem: Problem, p: Any) -> None:
    _fail(problem.stuck(p), "Required step size is less than spacing between numbers.")


def _fail(bad: Any, message: str) -> None:
    fail_if(compare.ne(to_raw(bad), np.False_), SolverFailedError, message)
