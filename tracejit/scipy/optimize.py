"""`scipy.optimize` for traced values: SciPy's solvers on compiled functions, with derivatives of their solutions."""

from __future__ import annotations

import functools as _functools
from collections.abc import Callable as _Callable
from typing import Any

import numpy as _np

from tracejit import numpy as _tnp
from tracejit.errors import SolverOptionError as _SolverOptionError
from tracejit.ir.avals import Aval as _Aval
from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.scipy import solving as _solving
from tracejit.scipy.lazily import Part as _Part
from tracejit.scipy.optimizing import curves as _curves
from tracejit.scipy.optimizing import differences as _differences
from tracejit.scipy.optimizing import everywhere as _everywhere
from tracejit.scipy.optimizing import linear as _linear
from tracejit.scipy.optimizing import minima as _minima
from tracejit.scipy.optimizing import monotone as _monotone
from tracejit.scipy.optimizing import numbers as _numbers
from tracejit.scipy.optimizing import older as _older
from tracejit.scipy.optimizing import one_variable as _one_variable
from tracejit.scipy.optimizing import rosenbrock as _rosenbrock
from tracejit.scipy.optimizing import squares as _squares
from tracejit.scipy.optimizing import supplied as _supplied
from tracejit.scipy.optimizing.results import message as _message
from tracejit.scipy.optimizing.results import partial as _partial
from tracejit.scipy.optimizing.results import place_of as _place_of
from tracejit.scipy.optimizing.results import python as _python

_part = _Part("scipy.optimize", lambda: _scipy_module("optimize"))
#: Methods of `root` that take a Jacobian matrix.
_WITH_JACOBIAN = ("hybr", "lm")


def _refuse(function: str, problem: str, remedy: str) -> None:
    raise _SolverOptionError(function=function, problem=problem, remedy=remedy)


def _refuse_given(function: str, **options: Any) -> None:
    """Options that have no traced form."""
    for name, value in options.items():
        if value is not None and not (isinstance(value, (tuple, list, dict)) and not value):
            _refuse(function, f"the option `{name}`", "leave it away")


@_functools.partial(_part.solver, supply=_supplied.root)
def root(
    fun: _Callable[..., Any],
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    jac: Any = None,
    tol: Any = None,
    callback: Any = None,
    options: Any = None,
) -> Any:
    """A root of the vector function `fun(x, *args)`, by SciPy's method; methods that take a Jacobian get that of the
    compiled function. The result has `x`, `fun`, `nfev`, `status` and `success`. Derivatives of `x` are those of the
    root. Raises SolverOptionError for a `callback`."""
    _refuse_given("root", callback=callback)
    if jac is True:
        _refuse("root", "jac=True", "let `fun` give its values only")
    x, found = _root("root", fun, x0, args, method, {"tol": tol, "options": options})
    nfev, status, success, place = found
    fields = {"nfev": _python(nfev), "status": _python(status), "success": _python(success != 0)}
    fields["message"] = _message(place)
    return _partial("root", x=x, fun=_solving.values(_solving.with_args(fun, args)(x)), **fields)


@_functools.partial(_part.solver, supply=_supplied.fsolve)
def fsolve(
    func: _Callable[..., Any],
    x0: Any,
    args: Any = (),
    fprime: Any = None,
    full_output: Any = 0,
    col_deriv: Any = 0,
    xtol: float = 1.49012e-08,
    maxfev: int = 0,
    band: Any = None,
    epsfcn: Any = None,
    factor: Any = 100,
    diag: Any = None,
) -> Any:
    """A root of the vector function `func(x, *args)`, by MINPACK's `hybrj` with the Jacobian of the compiled function.
    Where it does not converge SciPy warns. Raises SolverOptionError for `full_output`, `band`, `epsfcn` and `diag`."""
    given = {"full_output": full_output or None, "band": band, "epsfcn": epsfcn, "diag": diag}
    _refuse_given("fsolve", **given)
    settings = {"xtol": xtol, "maxfev": maxfev, "factor": factor}
    return _root("fsolve", func, x0, args, "hybr", settings)[0]


def _root(name: str, fun: Any, x0: Any, args: Any, method: str, settings: Any) -> tuple[Any, Any]:
    start = _solving.vector(x0)
    inner = _solving.with_args(fun, args)

    def value(x: Any) -> Any:
        return _solving.values(inner(x))

    functions = [value, *([_solving.jacobian(value)] if method in _WITH_JACOBIAN else [])]

    def solve(x: Any) -> tuple[Any, Any]:
        compiled = [_solving.Compiled(f, x) for f in functions]
        point = _Aval(x.shape, _np.dtype(float))

        def host(fs: Any, x: Any) -> Any:
            derivative = fs[1] if len(fs) > 1 else None
            if name == "fsolve":
                return _part.load().fsolve(fs[0], x, fprime=derivative, **settings), 0, 1, 1, 0
            found = _part.load().root(fs[0], x, method=method, jac=derivative, **settings)
            return (
                found.x,
                found.get("nfev", 0),
                found.get("status", 0),
                found.success,
                _place_of(str(found.message)),
            )

        x, *rest = _solving.host_call(host, compiled, [point, *[_solving.COUNT] * 4], x)
        return x, rest

    return _solving.root_of(value, start, solve, _solving.dense_solve)


def _bracketing(name: str) -> _Callable[..., Any]:
    """A root finder of numbers in an interval, by the native form of SciPy's `name`."""

    def find(
        f: _Callable[..., Any],
        a: Any,
        b: Any,
        args: Any = (),
        xtol: float = 2e-12,
        rtol: float = 4 * float(_np.finfo(float).eps),
        maxiter: int = 100,
        full_output: bool = False,
        disp: bool = True,
    ) -> Any:
        inner = _solving.with_args(f, args)
        ends = [_tnp.asarray(x).astype(float)[()] for x in (a, b)]
        x, counts = _one_variable.bracketed(name, inner, ends, (xtol, rtol, maxiter), disp)
        if not full_output:
            return _python(x)
        return _python(x), _one_variable.report(_python(x), counts, name)

    find.__name__ = find.__qualname__ = name
    find.__doc__ = (
        f"A root of `f(x, *args)` between `a` and `b`, where its signs differ, as SciPy's `{name}` finds it. Its "
        "derivatives are those of the root; the ends have none. Raises RootBracketError (a ValueError) for equal signs "
        "and SolverFailedError where it does not converge."
    )
    return _part.solver(find)


brentq = _bracketing("brentq")
brenth = _bracketing("brenth")
bisect = _bracketing("bisect")
ridder = _bracketing("ridder")

approx_fprime = _part.solver(_differences.approx_fprime)
check_grad = _part.solver(_differences.check_grad)
curve_fit = _part.solver(_curves.curve_fit)
fixed_point = _part.solver(_one_variable.fixed_point)
linprog = _part.function(_linear.linprog)
milp = _part.solver(_linear.milp)
nnls = _part.function(_linear.nnls)
least_squares = _part.solver(_squares.least_squares, supply=_supplied.least_squares)
minimize = _part.solver(_minima.minimize, supply=_supplied.minimize)
minimize_scalar = _part.solver(_numbers.minimize_scalar)
newton = _part.solver(_one_variable.newton)
root_scalar = _part.solver(_one_variable.root_scalar)
toms748 = _part.solver(_one_variable.toms748)

anderson = _part.solver(_older.anderson)
bracket = _part.solver(_older.bracket)
brent = _part.solver(_older.brent)
broyden1 = _part.solver(_older.broyden1)
broyden2 = _part.solver(_older.broyden2)
diagbroyden = _part.solver(_older.diagbroyden)
excitingmixing = _part.solver(_older.excitingmixing)
fmin = _part.solver(_older.fmin)
fmin_bfgs = _part.solver(_older.fmin_bfgs)
fmin_cg = _part.solver(_older.fmin_cg)
fmin_cobyla = _part.solver(_older.fmin_cobyla)
fmin_l_bfgs_b = _part.solver(_older.fmin_l_bfgs_b)
fmin_ncg = _part.solver(_older.fmin_ncg)
fmin_powell = _part.solver(_older.fmin_powell)
fmin_slsqp = _part.solver(_older.fmin_slsqp)
fmin_tnc = _part.solver(_older.fmin_tnc)
fminbound = _part.solver(_older.fminbound)
golden = _part.solver(_older.golden)
leastsq = _part.solver(_older.leastsq, supply=_supplied.leastsq)
linearmixing = _part.solver(_older.linearmixing)
newton_krylov = _part.solver(_older.newton_krylov)
basinhopping = _part.solver(_everywhere.basinhopping)
brute = _part.solver(_everywhere.brute)
differential_evolution = _part.solver(_everywhere.differential_evolution)
direct = _part.solver(_everywhere.direct)
dual_annealing = _part.solver(_everywhere.dual_annealing)
shgo = _part.solver(_everywhere.shgo)
lsq_linear = _part.function(_everywhere.lsq_linear)
isotonic_regression = _part.function(_monotone.isotonic_regression)
rosen = _part.function(_rosenbrock.rosen)
rosen_der = _part.function(_rosenbrock.rosen_der)
rosen_hess = _part.function(_rosenbrock.rosen_hess)
rosen_hess_prod = _part.function(_rosenbrock.rosen_hess_prod)

__all__ = [
    "anderson",
    "approx_fprime",
    "basinhopping",
    "bisect",
    "bracket",
    "brent",
    "brenth",
    "brentq",
    "broyden1",
    "broyden2",
    "brute",
    "check_grad",
    "curve_fit",
    "diagbroyden",
    "differential_evolution",
    "direct",
    "dual_annealing",
    "excitingmixing",
    "fixed_point",
    "fmin",
    "fmin_bfgs",
    "fmin_cg",
    "fmin_cobyla",
    "fmin_l_bfgs_b",
    "fmin_ncg",
    "fmin_powell",
    "fmin_slsqp",
    "fmin_tnc",
    "fminbound",
    "fsolve",
    "golden",
    "isotonic_regression",
    "least_squares",
    "leastsq",
    "linearmixing",
    "linprog",
    "lsq_linear",
    "milp",
    "minimize",
    "minimize_scalar",
    "newton",
    "newton_krylov",
    "nnls",
    "ridder",
    "root",
    "root_scalar",
    "rosen",
    "rosen_der",
    "rosen_hess",
    "rosen_hess_prod",
    "shgo",
    "toms748",
]

__getattr__, __dir__ = _part.others(__all__)
