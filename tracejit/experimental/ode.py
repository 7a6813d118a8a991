"""`jax.experimental.ode`: a solver of ordinary differential equations whose states are trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit import tree
from tracejit.docstrings import complete as _complete
from tracejit.errors import SolverFailedError, SolverOptionError
from tracejit.flatten_util import ravel_pytree
from tracejit.scipy import integrate
from tracejit.tracing import call_user

__all__ = ["odeint"]


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """The solution of dy/dt = func(y, t, *args) at the times `t`, by the Runge-Kutta method of Dormand and Prince with
    steps as long as the tolerances allow.

    States are trees; the solution is one whose leaves have an axis of times before their own. Derivatives go through
    the steps that were taken, where JAX solves an adjoint equation.

    Raises:
        SolverOptionError: `mxstep` is given. SolverFailedError: a step became too small.
    """
    if mxstep != np.inf:
        remedy = "leave it away: the number of steps is not bounded"
        raise SolverOptionError(function="odeint", problem=f"mxstep={mxstep}", remedy=remedy)
    vector, unravel = ravel_pytree(y0)
    times = tnp.asarray(t)

    def slope(at: Any, y: Any) -> Any:
        return ravel_pytree(call_user(func, unravel(y), at, *args))[0]

    if times.shape[0] == 1:
        return tree.map(lambda x: tnp.asarray(x)[None], y0)
    span = (times[0], times[-1])
    found = integrate.solve_ivp(
        slope, span, vector, "RK45", times, rtol=rtol, atol=atol, max_step=hmax
    )  # what it finds is SciPy's where nothing is traced
    states = tnp.swapaxes(found["y"], 0, 1)
    if states.shape[0] != times.shape[0]:
        raise SolverFailedError(message=found["message"])
    return _rows(states, y0)


def _rows(states: Any, like: Any) -> Any:
    """The rows of (m, n) as a tree with the structure of `like`, whose leaves begin with an axis of length m."""
    leaves, treedef = tree.flatten(like)
    arrays = [tnp.asarray(x) for x in leaves]
    out, start = [], 0
    for x in arrays:
        part = states[:, start : start + x.size]
        dtype = x.dtype if x.dtype.kind in "fc" else states.dtype
        out.append(part.reshape(states.shape[0], *x.shape).astype(dtype))
        start += x.size
    return tree.unflatten(treedef, out)


_complete(__name__)
