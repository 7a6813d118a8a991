"""`scipy.optimize` for traced values: SciPy's solvers on compiled functions, with derivatives of their solutions."""

from __future__ import annotations

from collections.abc import Callable as _Callable
from typing import Any

import numpy as _np

from tracejit import numpy as _tnp
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
from tracejit.scipy.optimizing import systems as _systems
from tracejit.scipy.optimizing.objects import CLASSES as _CLASSES
from tracejit.scipy.optimizing.objects import Bounds, LinearConstraint, NonlinearConstraint
from tracejit.scipy.optimizing.results import python as _python

_part = _Part("scipy.optimize", lambda: _scipy_module("optimize"))


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

root = _part.solver(_systems.root, supply=_supplied.root)
fsolve = _part.solver(_systems.fsolve, supply=_supplied.fsolve)
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
leastsq = _part.solver(_systems.leastsq, supply=_supplied.leastsq)
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
_part.names.update({c.__name__: c for c in _CLASSES})

__all__ = [
    "Bounds",
    "LinearConstraint",
    "NonlinearConstraint",
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
