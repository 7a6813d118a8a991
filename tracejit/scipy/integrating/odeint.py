"""`odeint` for traced values, by a method of `solve_ivp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit import numpy as tnp
from tracejit.errors import SolverOptionError
from tracejit.scipy.integrating.ode import solve_ivp
from tracejit.tracing import call_user


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
    results agree within some 1e-7. `tfirst` is taken, and a Jacobian (`Dfun`) is not needed; other options have no
    traced form (jit leaves them to SciPy).
    """
    first = options.pop("tfirst", False)
    for name in ("Dfun", "col_deriv", "ml", "mu"):  # the Jacobian, which an explicit method does not need
        options.pop(name, None)
    full = {k: v for k, v in options.items() if v is not None and v is not False and v != 0 and v != ()}
    if full:
        remedy = "use solve_ivp"
        raise SolverOptionError(function="odeint", problem=f"the option {min(full)!r}", remedy=remedy)
    times = tnp.asarray(t).astype(float)
    fun = func if first else lambda t, y, *args: call_user(func, y, t, *args)
    tight: dict[str, Any] = {
        "rtol": 1e-10 if rtol is None else tnp.maximum(rtol / 10, 1e-13),
        "atol": 1e-10 if atol is None else atol / 10,
    }
    out = solve_ivp(fun, (times[0], times[-1]), y0, "DOP853", times, args=args, **tight)
    return tnp.swapaxes(out["y"], 0, 1)
