"""Roots of systems and least squares by MINPACK's methods, as native loops: `root`, `fsolve` and `leastsq`.

Broyden's and Krylov's methods of `root` are those of `inexact`; "df-sane" is SciPy's on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import SolverFailedError
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.numbers import fail_if
from tracejit.ops._lazy import scipy_module
from tracejit.ops.elementwise import compare
from tracejit.scipy import solving
from tracejit.scipy.optimizing import inexact
from tracejit.scipy.optimizing.one_variable import refuse
from tracejit.scipy.optimizing.results import message, message_among, partial, place_of, python
from tracejit.scipy.written.minima import minpack
from tracejit.tracing import call_user, to_raw

_NEAR = 1.49012e-08
#: Method of `root` -> its options with SciPy's defaults; those of differences have no effect where there is a Jacobian.
_OPTIONS: dict[str, dict[str, Any]] = {
    "hybr": {
        "xtol": _NEAR,
        "maxfev": 0,
        "factor": 100,
        "diag": None,
        "col_deriv": 0,
        "band": None,
        "eps": None,
    },
    "lm": {
        "xtol": _NEAR,
        "ftol": _NEAR,
        "gtol": 0.0,
        "maxiter": 0,
        "factor": 100,
        "diag": None,
        "col_deriv": 0,
        "eps": 0.0,
    },
}


def _refuse_given(function: str, **options: Any) -> None:
    """Options that have no traced form."""
    for name, value in options.items():
        if value is not None and not (isinstance(value, (tuple, list, dict)) and not value):
            refuse(function, f"the option `{name}`")


class System:
    """Functions of several numbers, with the Jacobian that was given, or their own, and where the search begins."""

    def __init__(self, fun: Any, x0: Any, args: Any, jac: Any, transposed: Any = False) -> None:
        self.start = solving.vector(x0)
        inner = solving.with_args(fun, args)
        self.value = lambda x: solving.values(inner(x))
        self.jacobian = solving.jacobian(self.value)
        if callable(jac):
            own = solving.with_args(jac, args)

            def given(x: Any) -> Any:
                found = own(x)
                rows = isinstance(found, (list, tuple))
                made = (tnp.stack([tnp.asarray(r) for r in found]) if rows else tnp.asarray(found)).astype(
                    float
                )
                return made.T if transposed else made

            self.jacobian = given


def _fits(name: str, o: dict[str, Any]) -> bool:
    """Whether these are settings that MINPACK takes."""
    known = all(isinstance(o[k], (int, float)) for k in o if k in ("xtol", "ftol", "gtol", "factor"))
    most = o["maxiter"] if name == "lm" else o["maxfev"]
    signs = known and min(o["xtol"], o.get("ftol", 0), o.get("gtol", 0)) >= 0 and o["factor"] > 0
    return signs and isinstance(most, int) and most >= 0


def _scale(o: dict[str, Any], start: Any) -> tuple[Any, bool]:
    if o["diag"] is None:
        return tnp.ones(start.shape), False
    scale = tnp.broadcast_to(solving.vector(o["diag"]), start.shape) + 0.0
    bad = compare.not_(to_raw(tnp.all(scale > 0)))
    fail_if(bad, SolverFailedError, "Improper input parameters were entered.")
    return scale, True


def hybrid(system: System, o: dict[str, Any]) -> tuple[Any, tuple[Any, Any, Any]]:
    """The root by Powell's hybrid method, and (calls of the function, of the Jacobian, MINPACK's code)."""
    scale, scaled = _scale(o, system.start)

    def solve(x: Any) -> tuple[Any, Any]:
        most = o["maxfev"] or 100 * (x.size + 1)
        given = o["xtol"], most, float(o["factor"]), scaled
        x, _, *told = call_user(minpack.hybrid, system.value, system.jacobian, x, scale, given)
        return x, tuple(told)

    return solving.root_of(system.value, system.start, solve, solving.dense_solve)


def marquardt(system: System, o: dict[str, Any]) -> tuple[Any, tuple[Any, Any, Any]]:
    """The least squares by Levenberg and Marquardt's method, and the same."""
    scale, scaled = _scale(o, system.start)

    def solve(x: Any) -> tuple[Any, Any]:
        most = o["maxiter"] or 100 * (x.size + 1)
        given = o["ftol"], o["xtol"], o["gtol"], most, float(o["factor"]), scaled
        x, _, *told = call_user(minpack.marquardt, system.value, system.jacobian, x, scale, given)
        return x, tuple(told)

    slope = solving.gradient(lambda x: 0.5 * tnp.sum(system.value(x) ** 2))
    return solving.root_of(slope, system.start, solve, solving.dense_solve)


def _of_roots(o: dict[str, Any], n: int) -> tuple[str, ...]:
    """SciPy's texts for the codes of the hybrid method."""
    slow = "The iteration is not making good progress, as measured by the \n improvement from the last "
    return (
        "Improper input parameters were entered.",
        "The solution converged.",
        f"The number of calls to function has reached maxfev = {o['maxfev'] or 100 * (n + 1)}.",
        f"xtol={o['xtol']:f} is too small, no further improvement in the approximate\n solution is possible.",
        f"{slow}five Jacobian evaluations.",
        f"{slow}ten iterations.",
    )


def _of_squares(o: dict[str, Any], n: int) -> tuple[str, ...]:
    """SciPy's texts for the codes of the least squares."""
    both = "Both actual and predicted relative reductions in the sum of squares\n  are at most"
    between = "The relative error between two consecutive iterates is at"
    most = o["maxiter"] or 100 * (n + 1)
    return (
        "Improper input parameters.",
        f"{both} {o['ftol']:f}",
        f"{between} most {o['xtol']:f}",
        f"{both} {o['ftol']:f} and the{between[3:]} \n  most {o['xtol']:f}",
        "The cosine of the angle between func(x) and any column of the\n  Jacobian is at most "
        f"{o['gtol']:f} in absolute value",
        f"Number of calls to function has reached maxfev = {most}.",
        f"ftol={o['ftol']:f} is too small, no further reduction in the sum of squares\n  is possible.",
        f"xtol={o['xtol']:f} is too small, no further improvement in the approximate\n  solution is possible.",
        f"gtol={o['gtol']:f} is too small, func(x) is orthogonal to the columns of\n  the Jacobian to machine "
        "precision.",
    )


def root(
    fun: Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """A root of the vector function `fun(x, *args)`, by SciPy's method; "hybr" and "lm" are native loops, with the
    Jacobian `jac`, or that of the compiled function. The result has `x`, `fun`, `nfev`, `status`, `success` and
    `message`, and `njev` by these two methods. Derivatives of `x` are those of the root. Raises SolverOptionError for a
    `callback`."""
    name = str(method).lower()
    given = dict(options or {})
    if name not in _OPTIONS:
        return _without_jacobian(fun, x0, args, name, jac, tol, callback, given)
    _refuse_given("root", callback=callback)
    if jac is True:
        refuse("root", "jac=True", "let `fun` give its values only")
    system = System(fun, x0, args, jac, given.get("col_deriv"))
    n = system.start.size
    own = _OPTIONS[name]
    o = own | ({} if tol is None else {"xtol": tol}) | {k: v for k, v in given.items() if k in own}
    size = system.value(system.start).size
    if not set(given) <= set(own) or not _fits(name, o) or (size != n if name == "hybr" else size < n):
        return _by_scipy(system, method, {"tol": tol, "options": options})
    if name == "hybr":
        x, (nfev, njev, code) = hybrid(system, o)
        success, texts = code == 1, _of_roots(o, n)
    else:
        x, (nfev, njev, code) = marquardt(system, o)
        success, texts = code < 5, _of_squares(o, n)
    # SciPy calls the function twice more, to see its shape.
    fields = {
        "nfev": python(nfev + 2),
        "njev": python(njev),
        "status": python(code),
        "success": python(success),
    }
    return partial("root", x=x, fun=system.value(x), **fields, message=message_among(texts, code))


def _without_jacobian(
    fun: Callable[..., Any], x0: Any, args: Any, name: str, jac: Any, tol: Any, callback: Any, options: Any
) -> Any:
    """A root by a method that takes no Jacobian, and whose unknowns have the shape of the first guess."""
    if jac is not None:
        refuse("root", f"`jac` with the method {name}, which does not use it", "leave it away")
    inner = solving.with_args(fun, args)
    if name in inexact.JACOBIANS:
        found = inexact.root(inner, x0, name, tol, callback, options)
        if found is not None:
            return found
    _refuse_given("root", callback=callback)
    shape = solving.guess(x0).shape
    system = System(lambda x: inner(x.reshape(shape)), x0, (), None)
    return _by_scipy(system, name, {"tol": tol, "options": options}, shape=shape)


def fsolve(
    func: Callable[..., Any],
    x0: Any,
    args: Any = (),
    fprime: Any = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: float = _NEAR,
    maxfev: int = 0,
    band: Any = None,
    epsfcn: Any = None,
    factor: Any = 100,
    diag: Any = None,
) -> Any:
    """A root of the vector function `func(x, *args)`, by MINPACK's `hybrj` with the Jacobian `fprime`, or that of the
    compiled function. Where it does not converge there is SciPy's warning. With `full_output` it gives what SciPy's
    does, of the second part `nfev` and `fvec`. Raises SolverOptionError for `band` and `epsfcn`."""
    _refuse_given("fsolve", band=band, epsfcn=epsfcn)
    system = System(func, x0, args, fprime, col_deriv)
    n = system.start.size
    o = {"xtol": xtol, "maxfev": maxfev, "factor": factor, "diag": diag}
    if not _fits("hybr", o) or system.value(system.start).size != n:
        _refuse_given("fsolve", full_output=full_output or None)
        return _by_scipy(system, "hybr", {"options": o}, "fsolve")
    x, (nfev, _, code) = hybrid(system, o)
    texts = _of_roots(o, n)
    if full_output:
        return x, _told("fsolve", system, x, nfev + 2), python(code), message_among(texts, code)
    _warned(code, texts[2:], 2)
    return x


def _told(function: str, system: System, x: Any, nfev: Any) -> Any:
    """What `full_output` adds about a search; what MINPACK leaves of its matrices is not known to the program."""
    return partial(function, nfev=python(nfev), fvec=system.value(x))


def _warned(code: Any, texts: Sequence[str], first: int) -> None:
    """SciPy's warnings of a search that did not converge; `texts` are those of the codes from `first` on."""
    call_user(minpack.warned, code, tuple(texts), first)


def leastsq(
    func: Callable[..., Any], x0: Any, args: Any = (), Dfun: Any = None, full_output: Any = False,
    col_deriv: Any = False, ftol: float = 1.49012e-8, xtol: float = 1.49012e-8, gtol: float = 0.0,
    maxfev: int = 0, epsfcn: Any = None, factor: Any = 100, diag: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """The minimum of the sum of the squares of `func(x, *args)`, by MINPACK's `lmder` with the Jacobian `Dfun`, or that
    of the compiled function, and how the search ended. Derivatives of `x` are those of the minimum. With
    `full_output` it gives what SciPy's does, of the third part `nfev` and `fvec`."""
    system = System(func, x0, args, Dfun, col_deriv)
    o = {"ftol": ftol, "xtol": xtol, "gtol": gtol, "maxiter": maxfev, "factor": factor, "diag": diag}
    n, m = system.start.size, system.value(system.start).size
    if n > m:
        raise TypeError(
            f"Improper input: func input vector length N={n} must not exceed func output vector length M={m}"
        )
    if not _fits("lm", o):
        raise TypeError("Improper input parameters.")
    if full_output:
        x, *told = squares(system, o)
        j = system.jacobian(x)
        fine = (tnp.linalg.matrix_rank(j) == n) & (told[-1] >= 1) & (told[-1] <= 4)
        # SciPy gives None in place of a matrix then.
        fail_if(compare.not_(to_raw(fine)), SolverFailedError, "The covariance could not be estimated.")
        return x, tnp.linalg.inv(j.T @ j), *told
    x, (_, _, code) = marquardt(system, o)
    _warned(code, _of_squares(o, n)[5:], 5)
    return x, python(code)


def squares(system: System, o: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """The least squares by `marquardt`, and what `full_output` adds: about the search, a message, MINPACK's code."""
    x, (nfev, _, code) = marquardt(system, o)
    texts = _of_squares(o, system.start.size)
    return x, _told("leastsq", system, x, nfev), message_among(texts, code), python(code)


def _by_scipy(
    system: System, method: Any, settings: dict[str, Any], name: str = "root", shape: Any = (-1,)
) -> Any:
    """By SciPy's solver on the host."""
    functions = [system.value, *([system.jacobian] if str(method).lower() in _OPTIONS else [])]

    def solve(x: Any) -> tuple[Any, Any]:
        compiled = [solving.Compiled(f, x) for f in functions]

        def host(fs: Any, x: Any) -> Any:
            derivative = fs[1] if len(fs) > 1 else None
            if name == "fsolve":
                return (
                    scipy_module("optimize").fsolve(fs[0], x, fprime=derivative, **settings["options"]),
                    0,
                    1,
                    1,
                    0,
                )
            r = scipy_module("optimize").root(fs[0], x, method=method, jac=derivative, **settings)
            return r.x, r.get("nfev", 0), r.get("status", 0), r.success, place_of(str(r.message))

        point = Aval(x.shape, np.dtype(float))
        x, *rest = solving.host_call(host, compiled, [point, *[solving.COUNT] * 4], x)
        return x, rest

    x, (nfev, status, success, place) = solving.root_of(
        system.value, system.start, solve, solving.dense_solve
    )
    if name == "fsolve":
        return x
    fields = {"nfev": python(nfev), "status": python(status), "success": python(success != 0)}
    return partial("root", x=x.reshape(shape), fun=system.value(x), **fields, message=message(place))
