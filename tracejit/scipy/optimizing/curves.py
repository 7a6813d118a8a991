"""`curve_fit` for traced values."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops._lazy import scipy_module
from tracejit.ops.elementwise import compare
from tracejit.scipy import solving
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.tracing import call_user, to_raw, users_own

_SETTINGS = frozenset(("ftol", "xtol", "gtol", "maxfev", "factor"))


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
) -> tuple[Any, Any]:
    """The parameters p for which `f(xdata, *p)` fits `ydata` best, and their covariance, by MINPACK's `lmder` with the
    Jacobian of the compiled function.

    The derivatives of p are those of a point at which the sum of squares has no slope. Raises SolverOptionError for
    `bounds`, other methods than "lm", a matrix `sigma`, `full_output`, `nan_policy` and `check_finite=False`."""
    bounded = hasattr(bounds, "lb") or any(np.ndim(b) or not np.isinf(b) for b in bounds)
    given = {"full_output": full_output, "nan_policy": nan_policy, "bounds": bounded or None}
    given |= {"method": method not in (None, "lm") or None, "check_finite": check_finite is False or None}
    given |= {k: v for k, v in kwargs.items() if k not in _SETTINGS}
    for name, value in given.items():
        if value is not None and value is not False:
            refuse("curve_fit", f"the option `{name}`", "use least_squares")
    y = tnp.asarray(ydata).astype(float)
    x = tnp.asarray(xdata).astype(float) if not isinstance(xdata, (int, float)) else xdata
    weights = None if sigma is None else tnp.asarray(sigma).astype(float)
    if weights is not None and weights.size != 1 and weights.shape != (y.size,):
        refuse(
            "curve_fit", "a matrix `sigma`", "divide the residuals by its Cholesky factor, with least_squares"
        )
    fine = tnp.all(tnp.isfinite(y)) & tnp.all(tnp.isfinite(tnp.asarray(x)))
    _must(fine, "array must not contain infs or NaNs")
    start = solving.vector(np.ones(_count(f)) if p0 is None else (p0 if tnp.ndim(p0) else [p0]))
    if y.size != 1 and start.size > y.size:
        problem = (
            f"The number of func parameters={start.size} must not exceed the number of data points={y.size}"
        )
        raise TypeError(problem)

    def residuals(p: Any) -> Any:
        gap = tnp.asarray(call_user(f, x, *[p[n] for n in range(start.size)])) - y
        return (gap if weights is None else gap / weights).reshape(-1)

    matrix = solving.jacobian(residuals)
    slope = solving.gradient(lambda p: 0.5 * tnp.sum(residuals(p) ** 2))

    def solve(p: Any) -> tuple[Any, Any]:
        def run(fs: Any, p: Any) -> Any:
            found = scipy_module("optimize").leastsq(fs[0], p, Dfun=fs[1], full_output=1, **kwargs)
            return found[0], found[4] in (1, 2, 3, 4)

        compiled = [solving.Compiled(g, p) for g in (residuals, matrix)]
        found = solving.host_call(run, compiled, [aval_of(to_raw(p)), solving.COUNT], p)
        return found[0], found[1]

    p, converged = solving.root_of(slope, start, solve, solving.dense_solve)
    _must(converged != 0, "Optimal parameters not found.")
    j = matrix(p)
    count = residuals(p).size
    normal = j.T @ j
    certain = (tnp.linalg.matrix_rank(j) == start.size) & (np.bool_(absolute_sigma) | (count > start.size))
    _must(certain, "Covariance of the parameters could not be estimated")
    covariance = tnp.linalg.inv(normal)
    if not absolute_sigma:
        covariance = covariance * (tnp.sum(residuals(p) ** 2) / max(count - start.size, 1))
    return p, covariance


def _count(f: Any) -> int:
    """How many parameters `f` has besides the data."""
    parameters = inspect.signature(users_own(f)).parameters.values()
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(places) < 2:
        raise ValueError("Unable to determine number of fit parameters.")
    return len(places) - 1


def _must(good: Any, message: str) -> None:
    fail_if(compare.eq(to_raw(tnp.asarray(good)), np.False_), SolverFailedError, message)
