"""Derivatives for SciPy's own solvers, outside of transformations, where a method wants them and none was given.

`tracejit.scipy.optimize.minimize(f, x0, method="BFGS")` is SciPy's on the function itself; its gradient is that of the
compiled function, instead of differences. What can't be traced gets none, as in SciPy.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.scipy import solving
from tracejit.scipy.optimizing.minima import WITH_GRADIENT, WITH_HESSIAN
from tracejit.tracing import call_user

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def _compiled(
    make: Callable[[Callable[[Any], Any]], Callable[[Any], Any]], fun: Any, x0: Any, args: Any
) -> Any:
    """`make` of the function x -> fun(x, *args), compiled, as SciPy calls it; None where that can't be."""
    more = args if isinstance(args, tuple) else (args,)
    try:
        x = np.array(x0, float).reshape(-1)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = solving.Compiled(make(lambda x: call_user(fun, x, *more)), x)
            known = made.bound([np.asarray(v) for v in made.staged.consts])
            if not np.all(np.isfinite(known(x))):  # differences may be finite there
                return None
    except Exception:
        return None
    return lambda x, *_: known(x)


def _gradient(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return solving.gradient(lambda x: solving.scalar(f(x)))


def _hessian(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return solving.jacobian(_gradient(f))


def _jacobian(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return solving.jacobian(lambda x: solving.values(f(x)))


def minimize(fun: Any, x0: Any, args: Any = (), method: Any = None, *rest: Any, **options: Any) -> Arguments:
    """The arguments of SciPy's `minimize`, with the derivatives that its method takes."""
    given = dict(zip(("jac", "hess", "hessp", "bounds", "constraints"), rest, strict=False)) | options
    chosen = str(method).lower() if method is not None else _default(given)
    wants = chosen in WITH_GRADIENT or chosen in WITH_HESSIAN
    if len(rest) <= 5 and wants and given.get("jac") is None:
        slope = _compiled(_gradient, fun, x0, args)
        if slope is not None:
            given["jac"] = slope
            if chosen in WITH_HESSIAN and given.get("hess") is None and given.get("hessp") is None:
                given["hess"] = _compiled(_hessian, fun, x0, args)
        return (fun, x0, args, method), given
    return (fun, x0, args, method, *rest), options


def _default(given: dict[str, Any]) -> str:
    if given.get("constraints"):
        return "slsqp"
    return "bfgs" if given.get("bounds") is None else "l-bfgs-b"


def _with_jacobian(
    name: str, *before: str, when: Callable[[dict[str, Any]], bool]
) -> Callable[..., Arguments]:
    """The arguments of a solver whose option `name` is a Jacobian; `before` are the parameters up to it."""

    def supply(fun: Any, x0: Any, *rest: Any, **options: Any) -> Arguments:
        given = dict(zip(before, rest, strict=False)) | options
        if len(rest) <= len(before) and given.get(name) is None and when(given):
            more = given.get("args", ())
            keywords = given.get("kwargs") or {}
            inner = (lambda x, *a: call_user(fun, x, *a, **keywords)) if keywords else fun
            made = _compiled(_jacobian, inner, x0, more)
            if made is not None:
                given[name] = (lambda x, *_, **__: made(x)) if keywords else made
            return (fun, x0), given
        return (fun, x0, *rest), options

    return supply


root = _with_jacobian("jac", "args", "method", when=lambda g: g.get("method", "hybr") in ("hybr", "lm"))
fsolve = _with_jacobian("fprime", "args", when=lambda g: g.get("band") is None)
leastsq = _with_jacobian("Dfun", "args", when=lambda g: not g.get("col_deriv"))
least_squares = _with_jacobian(
    "jac", when=lambda g: g.get("jac_sparsity") is None and g.get("diff_step") is None
)
