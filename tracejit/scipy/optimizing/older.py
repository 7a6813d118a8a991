"""SciPy's functions for one method each, `fmin_bfgs` and its kin: as the method is, or SciPy's own on the compiled
function.

Gradients, Hessians and Jacobians that a method takes are those of the compiled function. Derivatives are those of the
solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.ir.avals import Aval
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.hosting.calls import parameters
from tracejit.scipy.optimizing import inexact, minima, numbers
from tracejit.scipy.optimizing.constraints import limits
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.scipy.optimizing.results import python

_F64 = np.dtype(float)


def refuse_given(name: str, options: dict[str, Any], *names: str) -> None:
    """Refuse options that have no traced form; what is given as SciPy's default is taken out."""
    for option in names:
        value = options.pop(option, None)
        if value is not None and value is not False and not (isinstance(value, int) and value == 0):
            refuse(name, f"the option `{option}`")


def named(theirs: Callable[..., Any], args: tuple[Any, ...]) -> dict[str, Any]:
    """Arguments by position that follow the first two, by their names in SciPy's signature."""
    names = parameters(theirs)[2:]
    if len(args) > len(names):
        raise TypeError(f"{theirs.__name__}() takes at most {len(names)} more arguments")
    return dict(zip(names, args, strict=False))


# ---------------------------------------------------------------- minima by one method

#: Name -> (method, SciPy's names of options of the method by its own, those of what it gives with `full_output`).
_MINIMA: dict[str, tuple[str, dict[str, str], str]] = {
    "fmin": (
        "Nelder-Mead",
        {"xtol": "xatol", "ftol": "fatol", "maxfun": "maxfev"},
        "x fun nit nfev status",
    ),
    "fmin_powell": ("Powell", {"maxfun": "maxfev"}, "x fun direc nit nfev status"),
    "fmin_cg": ("CG", {"epsilon": ""}, "x fun nfev njev status"),
    "fmin_bfgs": ("BFGS", {"epsilon": ""}, "x fun jac hess_inv nfev njev status"),
    "fmin_ncg": ("Newton-CG", {"avextol": "xtol", "epsilon": "eps"}, "x fun nfev njev nhev status"),
    "fmin_l_bfgs_b": (
        "L-BFGS-B",
        {"m": "maxcor", "factr": "ftol", "pgtol": "gtol", "epsilon": ""},
        "grad:jac task:message funcalls:nfev nit:nit warnflag:status",
    ),
}


def _minimum(name: str) -> Callable[..., Any]:
    method, names, gives = _MINIMA[name]
    dict_of_more = ":" in gives

    def find(func: Callable[..., Any], x0: Any, *more: Any, **options: Any) -> Any:
        options = named(getattr(scipy_module("optimize"), name), more) | options
        refuse_given(name, options, "retall")
        args, full = options.pop("args", ()), options.pop("full_output", 0)
        bounds = options.pop("bounds", None)
        jac, hess, hessp = (options.pop(k, None) for k in ("fprime", "fhess", "fhess_p"))
        if options.pop("approx_grad", 0):
            jac = None
        elif dict_of_more and jac is None:
            jac = True  # the function gives its gradient, too
        if "factr" in options:
            options["factr"] = options["factr"] * float(np.finfo(float).eps)
        known = {names.get(k, k): v for k, v in options.items() if names.get(k, k)}
        if not dict_of_more:
            known.setdefault("disp", 1)
        start = solving.guess(x0).reshape(-1)
        told = known.pop("callback", None)
        r = minima.minimize(func, start, args, method, jac, hess, hessp, bounds, (), None, told, known)
        if dict_of_more:
            pairs = [pair.split(":") for pair in gives.split()]
            return r.x, r.fun, {ours: r[theirs] for ours, theirs in pairs}
        return tuple(r[k] for k in gives.split()) if full else r.x

    find.__name__ = find.__qualname__ = name
    find.__doc__ = (
        f"The minimum of `func(x, *args)` as SciPy's `{name}` finds it, and what it tells: see `minimize` with "
        f"the method {method}. Raises SolverOptionError for `retall`."
    )
    return find


fmin, fmin_powell, fmin_cg, fmin_bfgs, fmin_ncg, fmin_l_bfgs_b = map(_minimum, _MINIMA)


def fmin_tnc(func: Callable[..., Any], x0: Any, *more: Any, **options: Any) -> Any:
    """The minimum of `func(x, *args)` by SciPy's `fmin_tnc`, whose results it gives. The gradient is that of the
    compiled function. The derivatives of `x` are those of a point at which the gradient is zero, or which lies on a
    bound. Raises SolverOptionError for a `callback`."""
    theirs = scipy_module("optimize").fmin_tnc
    options = named(theirs, more) | options
    refuse_given("fmin_tnc", options, "callback")
    args, bounds = options.pop("args", ()), options.pop("bounds", None)
    # The function gives its gradient, too, where none is given; we have our own.
    pair = options.pop("fprime", None) is None and not options.pop("approx_grad", 0)
    options.pop("approx_grad", None)
    inner, start = solving.with_args(func, args), solving.vector(x0)
    low, high = limits(bounds, start)

    def value(x: Any) -> Any:
        out = inner(x)
        return solving.scalar(out[0] if pair else out)

    slope = solving.gradient(value)

    def host(fs: Any, x: Any, low: Any, high: Any) -> Any:
        given = options if bounds is None else {"bounds": list(zip(low, high, strict=True)), **options}
        return theirs(lambda x: float(fs[0](x)), x, fprime=fs[1], **given)

    def solve(x: Any) -> tuple[Any, Any]:
        compiled = [solving.Compiled(f, x) for f in (value, slope)]
        types = [Aval(x.shape, _F64), solving.COUNT, solving.COUNT]
        x, *rest = solving.host_call(host, compiled, types, x, low, high)
        return x, rest

    def conditions(x: Any) -> Any:
        return slope(x) if bounds is None else solving.within(low, high, x, slope(x))

    x, counts = solving.root_of(conditions, start, solve, solving.dense_solve)
    return (x, *map(python, counts))


def fmin_slsqp(
    func: Callable[..., Any], x0: Any, eqcons: Any = (), f_eqcons: Any = None, ieqcons: Any = (),
    f_ieqcons: Any = None, bounds: Any = (), fprime: Any = None, fprime_eqcons: Any = None,
    fprime_ieqcons: Any = None, args: Any = (), iter: int = 100, acc: float = 1e-6, iprint: int = 1,
    disp: Any = None, full_output: Any = 0, epsilon: Any = None, callback: Any = None,
) -> Any:  # fmt: skip
    """The minimum of `func(x, *args)` under constraints, by SciPy's SLSQP: see `minimize`. Raises SolverOptionError for
    a `callback`."""
    shown = iprint if disp is None else disp
    rules = [{"type": "eq", "fun": c, "args": args} for c in eqcons]
    rules += [{"type": "ineq", "fun": c, "args": args} for c in ieqcons]
    rules += [{"type": "eq", "fun": f_eqcons, "args": args}] if f_eqcons else []
    rules += [{"type": "ineq", "fun": f_ieqcons, "args": args}] if f_ieqcons else []
    options = {"maxiter": iter, "ftol": acc, "iprint": shown, "disp": shown != 0}
    limited = None if bounds is None or not len(bounds) else bounds
    r = minima.minimize(func, x0, args, "SLSQP", None, None, None, limited, rules, None, callback, options)
    return (r.x, r.fun, r.nit, r.status, r.message) if full_output else r.x


def fmin_cobyla(
    func: Callable[..., Any], x0: Any, cons: Any, args: Any = (), consargs: Any = None, rhobeg: float = 1.0,
    rhoend: float = 1e-4, maxfun: int = 1000, disp: Any = None, catol: float = 2e-4, *, callback: Any = None,
) -> Any:  # fmt: skip
    """The minimum of `func(x, *args)` where the functions `cons` are not negative, by SciPy's COBYLA: see `minimize`.
    Raises SolverOptionError for a `callback`."""
    more = args if consargs is None else consargs
    given = [cons] if callable(cons) else list(cons)
    rules = [{"type": "ineq", "fun": c, "args": more} for c in given]
    options = {"rhobeg": rhobeg, "tol": rhoend, "maxiter": maxfun, "catol": catol, "disp": disp}
    return minima.minimize(func, x0, args, "COBYLA", None, None, None, None, rules, None, callback, options).x


# ---------------------------------------------------------------- functions of one number


def brent(
    func: Callable[..., Any], args: Any = (), brack: Any = None, tol: float = 1.48e-8, full_output: Any = 0,
    maxiter: int = 500,
) -> Any:  # fmt: skip
    """The minimum of `func(x, *args)` by Brent's method: see `minimize_scalar`."""
    r = numbers.found(func, args, "brent", brack, {"xtol": tol, "maxiter": maxiter}, must=True)
    return (r.x, r.fun, r.nit, r.nfev) if full_output else r.x


def golden(
    func: Callable[..., Any], args: Any = (), brack: Any = None, tol: float = float(np.sqrt(np.finfo(float).eps)),
    full_output: Any = 0, maxiter: int = 5000,
) -> Any:  # fmt: skip
    """The minimum of `func(x, *args)` by the golden section: see `minimize_scalar`."""
    r = numbers.found(func, args, "golden", brack, {"xtol": tol, "maxiter": maxiter}, must=True)
    return (r.x, r.fun, r.nfev) if full_output else r.x


def fminbound(
    func: Callable[..., Any], x1: Any, x2: Any, args: Any = (), xtol: float = 1e-5, maxfun: int = 500,
    full_output: Any = 0, disp: Any = 1,
) -> Any:  # fmt: skip
    """The minimum of `func(x, *args)` between `x1` and `x2`: see `minimize_scalar`."""
    options = {"xatol": xtol, "maxiter": maxfun, "disp": disp}
    r = numbers.found(func, args, "bounded", (x1, x2), options)
    return (r.x, r.fun, r.status, r.nfev) if full_output else r.x


# ---------------------------------------------------------------- roots and squares

#: Name -> method of `root`.
_ROOTS = {name: name for name in inexact.JACOBIANS if name != "krylov"} | {"newton_krylov": "krylov"}


def _root(name: str) -> Callable[..., Any]:
    def find(F: Callable[..., Any], xin: Any, *more: Any, **options: Any) -> Any:
        theirs = getattr(scipy_module("optimize"), name)
        options = named(theirs, more) | options
        found = inexact.by_name(_ROOTS[name], F, xin, options)
        if found is not None:
            return found
        refuse_given(name, options, "callback")
        start = solving.guess(xin).astype(float)

        def value(x: Any) -> Any:
            return solving.values(tnp.asarray(solving.ask(F, x.reshape(start.shape))))

        def host(fs: Any, x: Any) -> Any:
            return [theirs(fs[0], x, **options)]

        def solve(x: Any) -> tuple[Any, Any]:
            types = [Aval(x.shape, _F64)]
            return solving.host_call(host, [solving.Compiled(value, x)], types, x)[0], None

        x, _ = solving.root_of(value, start.reshape(-1), solve, solving.dense_solve)
        return x.reshape(start.shape)

    find.__name__ = find.__qualname__ = name
    find.__doc__ = (
        f"A root of `F(x)`, an array like `xin`, as SciPy's `{name}` finds it: see `root` with the method "
        f"{_ROOTS[name]}. Raises SolverFailedError where the steps are not enough; compiled functions are run by "
        "Python then, and raise SciPy's NoConvergence."
    )
    return find


broyden1, broyden2, anderson, linearmixing, diagbroyden, excitingmixing, newton_krylov = map(_root, _ROOTS)


def bracket(
    func: Callable[..., Any], xa: Any = 0.0, xb: Any = 1.0, args: Any = (), grow_limit: float = 110.0,
    maxiter: int = 1000,
) -> tuple[Any, ...]:  # fmt: skip
    """Three points around a minimum of `func(x, *args)`, the values there, and the number of calls, as SciPy's
    `bracket` finds them. They have no derivatives."""
    return numbers.around(func, xa, xb, args, grow_limit, maxiter)
