"""`odeint` for traced values, by a method of `solve_ivp`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit import numpy as tnp
from tracejit.errors import SolverOptionError
from tracejit.scipy.integrating.ode import solve_ivp
from tracejit.scipy.solving import ask


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: Any = 0,
    full_output: Any = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: Any = 0.0,
    hmax: Any = 0.0,
    hmin: Any = 0.0,
    ixpr: Any = 0,
    mxstep: Any = 0,
    mxhnil: Any = 0,
    mxordn: Any = 12,
    mxords: Any = 5,
    printmessg: Any = 0,
    tfirst: Any = False,
) -> Any:
    """The solution at the times `t`, shape (m, n), of dy/dt = func(y, t), by DOP853.

    `scipy.integrate.odeint` uses LSODA, whose steps are others: with the tolerances that both have by default the
    results agree within some 1e-7. `tfirst` is taken. A Jacobian (`Dfun`, `col_deriv`, `ml`, `mu`) and LSODA's highest
    orders (`mxordn`, `mxords`) are not needed by this method; other options have no traced form (jit leaves them to
    SciPy).
    """
    refused = {
        "full_output": full_output, "h0": h0, "hmax": hmax, "hmin": hmin, "ixpr": ixpr, "mxhnil": mxhnil,
        "mxstep": mxstep, "printmessg": printmessg, "tcrit": tcrit,
    }  # fmt: skip
    for name, value in refused.items():
        if value is not None and not (isinstance(value, (bool, int, float)) and value == 0):
            raise SolverOptionError(function="odeint", problem=f"the option {name!r}", remedy="use solve_ivp")
    times = tnp.asarray(t).astype(float)
    fun = func if tfirst else lambda t, y, *args: ask(func, y, t, *args)
    tight: dict[str, Any] = {
        "rtol": 1e-10 if rtol is None else tnp.maximum(rtol / 10, 1e-13),
        "atol": 1e-10 if atol is None else atol / 10,
    }
    y0 = y0 if tnp.ndim(y0) else tnp.asarray(y0).reshape(1)  # the function gets an array of one
    out = solve_ivp(fun, (times[0], times[-1]), y0, "DOP853", times, args=args, **tight)
    return tnp.swapaxes(out["y"], 0, 1)
