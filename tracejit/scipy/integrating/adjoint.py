"""`adjoint="continuous"` of `solve_ivp`: derivatives by the adjoint equation, in the memory of the results alone.

With the cotangents c_i of the states y_i at the times t_i, a' = -(df/dy)^T a is solved from the last time to the first
one, together with y' = f and the integral of a^T df/dp over the parameters; at each t_i, c_i is added to a, and the
state is set to the one that was found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, lax
from tracejit import numpy as tnp
from tracejit.control.custom.convert import convert_all
from tracejit.control.custom.vjp import custom_vjp
from tracejit.interpreters.autodiff.linearize import linearize_flat
from tracejit.interpreters.autodiff.transpose import pull_back
from tracejit.ir.avals import aval_of
from tracejit.ops.building import helpers
from tracejit.scipy.integrating.problem import Problem
from tracejit.tracing import to_raw, wrap

Slope = Callable[..., Any]
#: (slopes, end, direction) -> the problem, with its method and tolerances.
Maker = Callable[[Slope, Any, Any], Problem]


def at_times(
    slope: Slope,
    makers: tuple[Maker, Maker],
    solve: Callable[[Problem, Any, Any, Any], Any],
    start: tuple[Any, Any],
    times: Any,
    end: Any,
) -> Any:
    """What `solve(problem, t0, y0, times)` gives, (rows, others): the states at the times, and numbers without
    derivatives. `slope(t, y)` is the user's function; `makers` make the problem there, and back."""
    t0, y0 = start
    converted, values = convert_all(slope, t0, y0)

    def problem_of(values: Any, t0: Any, end: Any) -> Problem:
        return makers[0](lambda t, y: converted(t, y, *values), end, tnp.where(end >= t0, 1.0, -1.0))

    @custom_vjp
    def found(values: list[Any], t0: Any, y0: Any, times: Any, end: Any) -> Any:
        return solve(problem_of(values, t0, end), t0, y0, times)

    def forward(values: list[Any], t0: Any, y0: Any, times: Any, end: Any) -> Any:
        rows, others = found(values, t0, y0, times, end)
        return (rows, others), (values, t0, times, rows, y0)

    def backward(residuals: Any, cotangents: Any) -> Any:
        values, t0, times, rows, y0 = residuals
        back = _Backward(converted, values, makers[1])
        a, sums, of_times = back.through(t0, times, rows, cotangents[0])
        of_start = -tnp.sum(a * converted(t0, y0, *values))
        return back.told(sums), of_start, a, of_times, None

    found.defvjp(forward, backward)
    return found(values, t0, y0, times, end)


class _Backward:
    """The adjoint equation of y' = slope(t, y, *values)."""

    def __init__(self, slope: Slope, values: Sequence[Any], make: Maker) -> None:
        self.slope = slope
        self.values = values
        self.make = make
        self.smooth = [dtypes.is_inexact(aval_of(to_raw(v)).dtype) for v in values]
        self.floats = [v for v, s in zip(values, self.smooth, strict=True) if s]
        self.sizes = [tnp.asarray(v).size for v in self.floats]

    def pulled(self, t: Any, y: Any, a: Any) -> tuple[Any, Any, Any]:
        """The slopes, and a^T df/dy and a^T df/dp, the latter as a vector."""

        def flat(*raw: Any) -> list[Any]:
            given = iter(raw[1:])
            values = [wrap(next(given)) if s else v for v, s in zip(self.values, self.smooth, strict=True)]
            return [to_raw(self.slope(t, wrap(raw[0]), *values))]

        raws = [to_raw(y), *map(to_raw, self.floats)]
        outs, tape = linearize_flat(flat, raws, [True] * len(raws))
        by_y, *by_values = [wrap(helpers.instantiate(s)) for s in pull_back(tape, [to_raw(a)])]
        parts = [tnp.asarray(s).reshape(-1).astype(float) for s in by_values]
        return wrap(outs[0]), by_y, tnp.concatenate(parts) if parts else tnp.zeros(0)

    def through(self, t0: Any, times: Any, rows: Any, cotangents: Any) -> tuple[Any, Any, Any]:
        """a at the first time, the integrals over the parameters, and the cotangents of the times."""
        n = rows.shape[1]

        def slope(t: Any, z: Any) -> Any:
            f, by_y, by_values = self.pulled(t, z[:n], z[n : 2 * n])
            return tnp.concatenate([f, -by_y, -by_values])

        def one(carry: Any, item: Any) -> Any:
            a, sums = carry
            t, y, c, to = item
            of_time = tnp.sum(c * self.slope(t, y, *self.values))
            a = a + c
            problem = self.make(slope, to, tnp.where(to >= t, 1.0, -1.0))
            p = problem.advance(problem.start(t, tnp.concatenate([y, a, sums]), None), to)
            # A step that is too short is told by numbers that are none.
            z = tnp.where(problem.stuck(p), np.nan, p.y)
            return (z[n : 2 * n], z[2 * n :]), of_time

        before = tnp.concatenate([tnp.asarray(t0)[None], times[:-1]])
        items = tuple(x[::-1] for x in (times, rows, cotangents, before))
        zeros = (tnp.zeros(n), tnp.zeros(sum(self.sizes)))
        (a, sums), of_times = lax.scan(one, zeros, items)
        return a, sums, of_times[::-1]

    def told(self, sums: Any) -> list[Any]:
        """The cotangents of the values."""
        out, at, sizes = [], 0, iter(self.sizes)
        for v, s in zip(self.values, self.smooth, strict=True):
            size = next(sizes) if s else 0
            made = tnp.asarray(v)
            out.append(sums[at : at + size].reshape(made.shape).astype(made.dtype) if s else None)
            at += size
        return out
