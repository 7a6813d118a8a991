"""`curve_fit` for traced values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops.elementwise import compare
from tracejit.scipy import solving
from tracejit.scipy.linalg import solve_triangular
from tracejit.scipy.optimizing import systems
from tracejit.scipy.optimizing.loops.trust_region import LOSSES, Robust
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.scipy.optimizing.results import partial
from tracejit.scipy.optimizing.squares import Problem, solved
from tracejit.tracing import Box, to_raw, users_own

_SETTINGS = frozenset(("ftol", "xtol", "gtol", "maxfev", "factor"))
_OF_SQUARES = frozenset(("ftol", "xtol", "gtol", "maxfev", "max_nfev", "x_scale", "loss", "f_scale"))


def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: Any = None,
    bounds: Any = (-np.inf, np.inf),
    method: Any = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: Any = None,
    **kwargs: Any,
) -> tuple[Any, ...]:
    """The parameters p for which `f(xdata, *p)` fits `ydata` best, and their covariance, with the Jacobian of the
    compiled function: by MINPACK's `lmder`, or as `least_squares` does it where there are `bounds`.

    `sigma` are standard deviations, or a covariance matrix. The derivatives of p are those of a point at which the sum
    of squares has no slope, or which lies on a bound. With `full_output` it gives what SciPy's does, of the third part
    `nfev` and `fvec`. Raises SolverOptionError for `nan_policy` and `check_finite=False`."""
    bounded = hasattr(bounds, "lb") or any(type(b) is Box or np.any(np.isfinite(b)) for b in bounds)
    method = method or ("trf" if bounded else "lm")
    if method == "lm" and bounded:
        raise ValueError("Method 'lm' only works for unconstrained problems. Use 'trf' or 'dogbox' instead.")
    given = {
        "nan_policy": nan_policy,
        "check_finite": check_finite is False or None,
    }
    given |= {k: v for k, v in kwargs.items() if k not in (_SETTINGS if method == "lm" else _OF_SQUARES)}
    for name, value in given.items():
        if value is not None and value is not False:
            refuse("curve_fit", f"the option `{name}`", "use least_squares")
    y = tnp.asarray(ydata).astype(float)
    x = tnp.asarray(xdata).astype(float) if not isinstance(xdata, (int, float)) else xdata
    fine = tnp.all(tnp.isfinite(y)) & tnp.all(tnp.isfinite(tnp.asarray(x)))
    _must(fine, "array must not contain infs or NaNs")
    start = solving.vector(_feasible(bounds, _count(f)) if p0 is None else (p0 if tnp.ndim(p0) else [p0]))
    weighted = _weights(sigma, y)

    def residuals(p: Any) -> Any:
        gap = tnp.asarray(solving.ask(f, x, *[p[n] for n in range(start.size)])) - y
        return weighted(gap).reshape(-1)

    if method == "lm":
        p, j, cost, told = _by_minpack(residuals, start, y.size, kwargs)
    else:
        p, j, cost, told = _by_squares(residuals, start, bounds, {"method": method, **kwargs})
    count = j.shape[0]
    certain = (tnp.linalg.matrix_rank(j) == start.size) & (np.bool_(absolute_sigma) | (count > start.size))
    _must(certain, "Covariance of the parameters could not be estimated")
    covariance = tnp.linalg.inv(j.T @ j)
    if not absolute_sigma:
        covariance = covariance * (cost / max(count - start.size, 1))
    return (p, covariance, *told) if full_output else (p, covariance)


def _feasible(bounds: Any, n: int) -> Any:
    """Where SciPy begins: within the bounds, by each of them; at whole numbers if the lower ones of an object are."""
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    whole = hasattr(bounds, "lb") and tnp.asarray(low).dtype.kind in "iu"
    low, high = (tnp.broadcast_to(_vector(b), (n,)) for b in (low, high))
    below, above = tnp.isfinite(low), tnp.isfinite(high)
    low, high = tnp.where(below, low, 0.0), tnp.where(above, high, 0.0)
    one_sided = tnp.where(below, low + 1, tnp.where(above, high - 1, 1.0))
    start = tnp.where(below & above, 0.5 * (low + high), one_sided)
    return tnp.trunc(start) if whole else start


def _vector(x: Any) -> Any:
    return solving.vector(x) if isinstance(x, (list, tuple)) else tnp.asarray(x).astype(float)


def _weights(sigma: Any, y: Any) -> Callable[[Any], Any]:
    """What makes residuals of the differences: by standard deviations, or by a covariance matrix."""
    if sigma is None:
        return lambda gap: gap
    sigma = tnp.asarray(sigma).astype(float)
    if sigma.size == 1 or sigma.shape == (y.size,):
        return lambda gap: gap / sigma
    if sigma.shape != (y.size, y.size):
        raise ValueError("`sigma` has incorrect shape.")
    factor = lax.linalg.cholesky(sigma)
    _must(tnp.all(tnp.isfinite(factor)), "`sigma` must be positive definite.")
    return lambda gap: solve_triangular(factor, gap, lower=True)


def _by_minpack(residuals: Any, start: Any, size: int, settings: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """The parameters, the Jacobian of the residuals, the sum of their squares, and what `full_output` adds, by
    `leastsq`."""
    if size != 1 and start.size > size:
        problem = (
            f"The number of func parameters={start.size} must not exceed the number of data points={size}"
        )
        raise TypeError(problem)
    system = systems.System(lambda p: residuals(p), start, (), None)
    given = {
        "ftol": 1.49012e-8,
        "xtol": 1.49012e-8,
        "gtol": 0.0,
        "maxiter": settings.get("maxfev", 0),
        "factor": 100,
    }
    given |= {"diag": None} | {k: v for k, v in settings.items() if k != "maxfev"}
    p, *told = systems.squares(system, given)
    _must((told[-1] >= 1) & (told[-1] <= 4), "Optimal parameters not found.")
    return p, system.jacobian(p), tnp.sum(residuals(p) ** 2), told


def _by_squares(residuals: Any, start: Any, bounds: Any, given: dict[str, Any]) -> tuple[Any, ...]:
    """The same by `least_squares`."""
    loss = given.get("loss", "linear")
    settings = {"ftol": 1e-8, "xtol": 1e-8, "gtol": 1e-8, "tr_solver": None, "tr_options": {}} | given
    most = settings.pop("maxfev", None)
    settings |= {
        "loss": loss,
        "max_nfev": settings.get("max_nfev", most),
        "f_scale": given.get("f_scale", 1.0),
    }
    if loss not in LOSSES:
        refuse("curve_fit", f"loss={loss!r}", f"take one of {', '.join(LOSSES)}")
    problem = Problem(residuals, start, Robust(LOSSES[loss], settings["f_scale"]))
    found = solved(problem, bounds, settings)
    _must(found["success"], "Optimal parameters not found.")
    told = partial("curve_fit", nfev=found["nfev"], fvec=found["fun"]), found["message"], found["status"]
    return found["x"], found["jac"], 2 * found["cost"], told


def _count(f: Any) -> int:
    """How many parameters `f` has besides the data."""
    parameters = inspect.signature(users_own(f)).parameters.values()
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(places) < 2:
        raise ValueError("Unable to determine number of fit parameters.")
    return len(places) - 1


def _must(good: Any, message: str) -> None:
    fail_if(compare.eq(to_raw(tnp.asarray(good)), np.False_), SolverFailedError, message)
