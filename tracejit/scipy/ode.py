"""`solve_ivp` and `odeint` for traced values: explicit Runge-Kutta methods as native loops.

The algorithm is SciPy's (Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, II.4-5): the same
tableaus, which SciPy's classes have as attributes, the same first step, step control and interpolation. So the steps
are the same, up to rounding. Derivatives go through the steps that were taken: the lengths of the steps themselves are
constants, but for the last one, which ends where the interval does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError, SolverOptionError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops._lazy import scipy_module
from tracejit.ops.elementwise import compare
from tracejit.tracing import box, call_user, to_raw

#: Steps that are tried before a solution is given up.
MOST_STEPS = 10_000_000
#: Rows that there is room for where all steps are asked for.
MOST_ROWS = 2_048
_METHODS = {"RK23": "RK23", "RK45": "RK45", "DOP853": "DOP853"}


class Point(NamedTuple):
    """A point of the solution, with what is needed to interpolate back to the one before it."""

    t: Any
    y: Any
    f: Any
    before: Any  # the time of the point before
    y_before: Any
    stages: list[Any]  # the slopes in the step that led here
    size: Any  # the length of the next step, absolute
    rejected: Any  # whether the last trial was
    tried: Any


class Problem:
    """An initial value problem, and the method that solves it."""

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        method: str,
        dtype: Any,
        end: Any,
        direction: Any,
    ) -> None:
        self.fun = fun
        self.args = args
        self.method = getattr(scipy_module("integrate"), method)
        self.has_pair = (
            method != "DOP853"
        )  # one error estimate and one polynomial; DOP853 has forms of its own
        self.dtype = dtype
        self.end = end
        self.direction = direction

    def tolerances(self, rtol: Any, atol: Any, max_step: Any) -> None:
        self.rtol = np.maximum(rtol, 100 * np.finfo(float).eps)
        self.atol = atol
        self.max_step = max_step

    def slope(self, t: Any, y: Any) -> Any:
        out = call_user(self.fun, t, y, *self.args)
        made = (
            tnp.stack([tnp.asarray(x) for x in out]) if isinstance(out, (list, tuple)) else tnp.asarray(out)
        )
        made = made.astype(self.dtype)
        return made if made.shape == y.shape else tnp.broadcast_to(made.reshape(-1), y.shape)

    def norm(self, x: Any) -> Any:
        """The root of the mean of |x|**2."""
        return tnp.sqrt(tnp.sum(tnp.abs(x) ** 2)) / x.size**0.5

    def scale(self, *ys: Any) -> Any:
        largest = tnp.abs(ys[0])
        for y in ys[1:]:
            largest = tnp.maximum(largest, tnp.abs(y))
        return self.atol + largest * self.rtol

    # ---- steps

    def first_step(self, t: Any, y: Any, f: Any) -> Any:
        """The length of the first step (Hairer et al., II.4), for one more evaluation."""
        interval = tnp.abs(self.end - t)
        scale = self.scale(y)
        d0, d1 = self.norm(y / scale), self.norm(f / scale)
        small = (d0 < 1e-5) | (d1 < 1e-5)
        h0 = tnp.minimum(tnp.where(small, 1e-6, 0.01 * d0 / tnp.where(small, 1, d1)), interval)
        ahead = self.slope(t + h0 * self.direction, y + h0 * self.direction * f)
        d2 = self.norm((ahead - f) / scale) / h0
        steepest = tnp.maximum(d1, d2)
        flat = steepest <= 1e-15
        order = self.method.error_estimator_order
        usual = (0.01 / tnp.where(flat, 1, steepest)) ** (1 / (order + 1))
        h1 = tnp.where(flat, tnp.maximum(1e-6, h0 * 1e-3), usual)
        return tnp.minimum(tnp.minimum(100 * h0, h1), tnp.minimum(interval, self.max_step))

    def stages(self, t: Any, y: Any, f: Any, h: Any) -> tuple[Any, list[Any]]:
        """The next value, and the slopes at all stages of the step; the last one is that at the next value."""
        slopes = [f]
        for row, c in zip(self.method.A[1:], self.method.C[1:], strict=True):
            slopes.append(self.slope(t + c * h, y + h * _combined(row, slopes)))
        y = y + h * _combined(self.method.B, slopes)
        return y, [*slopes, self.slope(t + h, y)]

    def error(self, slopes: list[Any], h: Any, scale: Any) -> Any:
        """How large the estimated error is, where 1 is just small enough."""
        if self.has_pair:
            return self.norm(h * _combined(self.method.E, slopes) / scale)
        fifth, third = (_combined(e, slopes) / scale for e in (self.method.E5, self.method.E3))
        a, b = tnp.sum(tnp.abs(fifth) ** 2), tnp.sum(tnp.abs(third) ** 2)
        both = a + 0.01 * b
        zero = both == 0
        return tnp.where(zero, 0, tnp.abs(h) * a / tnp.sqrt(tnp.where(zero, 1, both) * fifth.size))

    def trial(self, p: Point) -> Point:
        """The next point, or the same one with a shorter step, where the error was too large."""
        least = 10 * tnp.abs(tnp.nextafter(lax.stop_gradient(p.t), self.direction * np.inf) - p.t)
        size = tnp.maximum(tnp.minimum(p.size, self.max_step), least)
        size = lax.stop_gradient(tnp.where(p.rejected, p.size, size))
        reached = p.t + size * self.direction
        over = self.direction * (reached - self.end) > 0
        reached = tnp.where(over, self.end, reached)
        h = reached - p.t
        y, slopes = self.stages(p.t, p.y, p.f, h)
        quiet = lax.stop_gradient((slopes, h, self.scale(p.y, y)))
        error = self.error(*quiet)
        good = error < 1
        exponent = -1 / (self.method.error_estimator_order + 1)
        factor = 0.9 * tnp.where(error == 0, 1, error) ** exponent
        longer = tnp.where(error == 0, 10.0, tnp.minimum(10.0, factor))
        longer = tnp.where(p.rejected, tnp.minimum(1, longer), longer)
        shorter = tnp.maximum(0.2, tnp.where(tnp.isnan(factor), 0.2, factor))
        new = Point(
            reached,
            y,
            slopes[-1],
            p.t,
            p.y,
            slopes,
            tnp.abs(quiet[1]) * tnp.where(good, longer, shorter),
            ~good,
            0,
        )
        kept = p._replace(size=new.size, rejected=new.rejected)
        chosen = tree.map(lambda a, b: tnp.where(good, a, b), new._replace(tried=0), kept._replace(tried=0))
        return chosen._replace(tried=p.tried + 1)

    def start(self, t: Any, y: Any, first_step: Any) -> Point:
        f = self.slope(t, y)
        size = self.first_step(t, y, f) if first_step is None else tnp.asarray(first_step, dtype=float)
        stages = [f] * (len(self.method.B) + 1)
        return Point(t, y, f, t, y, stages, lax.stop_gradient(size), np.bool_(False), np.int64(0))

    def stuck(self, p: Point) -> Any:
        """Whether steps have become shorter than the distance of numbers."""
        least = 10 * tnp.abs(tnp.nextafter(p.t, self.direction * np.inf) - p.t)
        return (p.rejected & (p.size < least)) | (p.tried >= MOST_STEPS)

    def advance(self, p: Point, to: Any) -> Point:
        """The first point that is at the time `to`, or beyond."""
        return lax.while_loop(lambda p: (self.direction * (to - p.t) > 0) & ~self.stuck(p), self.trial, p)

    # ---- between steps

    def between(self, p: Point, t: Any) -> Any:
        """The solution at `t`, between the last two points, by the polynomial of the method."""
        h = p.t - p.before
        none = h == 0
        h = tnp.where(none, 1, h)
        x = tnp.where(none, 0, (t - p.before) / h)
        if self.has_pair:
            powers = [x ** (n + 1) for n in range(self.method.P.shape[1])]
            weights = [sum(c * q for c, q in zip(row, powers, strict=True) if c) for row in self.method.P]
            terms = [w * k for w, k in zip(weights, p.stages, strict=True) if not isinstance(w, int)]
            return p.y_before + h * sum(terms[1:], terms[0])
        return p.y_before + self._by_dop853(p, h, x)

    def _by_dop853(self, p: Point, h: Any, x: Any) -> Any:
        """The interpolation of order 7 (Hairer et al., II.6), for three more evaluations."""
        slopes = list(p.stages)
        for row, c in zip(self.method.A_EXTRA, self.method.C_EXTRA, strict=True):
            slopes.append(self.slope(p.before + c * h, p.y_before + h * _combined(row, slopes)))
        moved = p.y - p.y_before
        parts = [
            moved,
            h * slopes[0] - moved,
            2 * moved - h * (p.stages[-1] + slopes[0]),
            *(h * _combined(row, slopes) for row in self.method.D),
        ]
        out = tnp.zeros_like(moved)
        for n, part in enumerate(reversed(parts)):
            out = (out + part) * (x if n % 2 == 0 else 1 - x)
        return out


def _combined(weights: Any, slopes: list[Any]) -> Any:
    """The sum of slopes, by weights of which those that are 0 cost nothing."""
    terms = [float(w) * k for w, k in zip(weights, slopes, strict=False) if w]
    return sum(terms[1:], terms[0]) if terms else tnp.zeros_like(slopes[0])


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
    problem = Problem(fun, tuple(args or ()), _METHODS[name], y0.dtype, end, direction)
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
