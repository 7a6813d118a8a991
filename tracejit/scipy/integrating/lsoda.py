"""The method "LSODA" of `solve_ivp`: SciPy's solver on the compiled function, with derivatives of Radau's steps.

ODEPACK's steps depend on all steps before, and on state of its own; a native loop would take others. So values are
those of SciPy. Derivatives are those of the solution that Radau's method finds at the same times, with tolerances that
are a tenth of the given ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.control.custom.convert import convert_all
from tracejit.control.custom.jvp import custom_jvp
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.ir.avals import Aval
from tracejit.ir.values import Zero
from tracejit.ops._lazy import scipy_module
from tracejit.ops.building import helpers
from tracejit.scipy import solving
from tracejit.scipy.integrating.recording import room_for
from tracejit.tracing import to_raw, wrap

_F64 = np.dtype(float)
#: How many counts the host gives: points, slopes, Jacobians, factorizations, status.
_COUNTS = 5


def found(
    slope: Callable[[Any, Any], Any],
    rows_at: Callable[[Callable[..., Any], Any, Any, Any], Any],
    span: tuple[Any, Any],
    y0: Any,
    times: Any,
    settings: dict[str, Any],
) -> tuple[Any, Any, Any]:
    """Times, rows of states and counts. `rows_at(slope, t0, y0, times)` solves natively."""
    t0, end = span
    n = y0.size
    converted, values = convert_all(slope, t0, y0)
    names, given = tuple(settings), [tnp.asarray(v).astype(float) for v in settings.values()]
    m = room_for(n) if times is None else times.shape[0]
    results = [Aval((m,), _F64), Aval((m, n), _F64), *[solving.COUNT] * _COUNTS]

    def host(fs: Any, y0: Any, t0: Any, end: Any, ts: Any, *options: Any) -> Any:
        r = scipy_module("integrate").solve_ivp(
            lambda t, y: fs[0](np.concatenate([[t], y])),
            (float(t0), float(end)),
            y0,
            "LSODA",
            t_eval=None if times is None else ts,
            **{k: (float(v) if not v.ndim else v) for k, v in zip(names, options, strict=True)},
        )
        count = len(r.t)
        at, rows = np.full(m, float(end)), np.zeros((m, n))
        kept = min(m, count)
        at[:kept], rows[:kept] = r.t[:kept], np.asarray(r.y).T[:kept]
        return at, rows, count, r.nfev, r.njev, r.nlu, r.status

    @custom_jvp
    def solve(values: Any, t0: Any, end: Any, y0: Any, times: Any, given: Any) -> Any:
        compiled = solving.Compiled(
            lambda ty: converted(ty[0], ty[1:], *values), tnp.concatenate([t0[None], y0])
        )
        return tuple(solving.host_call(host, [compiled], results, y0, t0, end, times, *given))

    @solve.defjvp
    def _slopes(primals: Any, tangents: Any) -> Any:
        values, t0, end, y0, wanted, given = primals
        out = solve(values, t0, end, y0, wanted, given)
        at = out[0]

        def flat(*raw: Any) -> list[Any]:
            own, (t0, y0, at) = raw[3:], map(wrap, raw[:3])
            return [to_raw(rows_at(lambda t, y: converted(t, y, *map(wrap, own)), t0, y0, at))]

        # Of SciPy's own times only the last one moves; rows beyond it are not in use.
        last = tnp.arange(m) == out[2] - 1
        moved = tangents[4] if times is not None else tnp.where(last, tangents[2], 0.0)
        points = [to_raw(v) for v in (t0, y0, at, *values)]
        slopes = [to_raw(v) for v in (tangents[1], tangents[3], moved, *tangents[0])]
        _, (slope,) = jvp_flat(flat, points, slopes)
        others = [wrap(helpers.instantiate(Zero(Aval(r.shape, r.dtype).tangent()))) for r in results[2:]]
        return out, (moved, wrap(helpers.instantiate(slope)), *others)

    wanted = tnp.zeros(0) if times is None else times
    at, rows, *counts = solve(values, tnp.asarray(t0), tnp.asarray(end), y0, wanted, given)
    return at, rows, counts
