"""Calls of SciPy's solvers, each a function of two parameters that the solution depends on smoothly.

`CASES` has them by name: the function, how nearly its derivatives are those of differences of SciPy's own results, and
whether there are any. Solvers are asked for more digits than by default, so that there is something to take differences
of; what can't be asked for has a wider tolerance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate as si
import scipy.interpolate as ip
import scipy.optimize as so
import scipy.sparse as sp
import scipy.sparse.linalg as sl


class Case(NamedTuple):
    """A function of two parameters; `near`: the relative error of its derivatives, `like` that of its value."""

    f: Callable[[Any], Any]
    near: float = 3e-4
    like: float = 1e-6
    smooth: bool = True
    theirs: Callable[[Any], Any] | None = None  # what SciPy is called by, if that takes derivatives


CASES: dict[str, Case] = {}


def add(name: str, f: Callable[[Any], Any], **more: Any) -> None:
    """Put a case into the table."""
    CASES[name] = Case(f, **more)


# ---------------------------------------------------------------- minima


def valley(x: Any, t: Any) -> Any:
    """A function with one minimum, which moves with t along a curve."""
    a, b = x[0] - t[0] ** 2, x[1] - np.sin(t[1]) * x[0]
    return a**2 + 1.5 * b**2 + 0.1 * a**4 + 0.05 * np.exp(x[1] * t[0])


def lowest(method: str, **more: Any) -> Callable[[Any], Any]:
    return lambda t: so.minimize(lambda x: valley(x, t), [0.3, 0.2], method=method, tol=1e-10, **more).x


WITH_HESSIANS = ("Newton-CG", "dogleg", "trust-ncg", "trust-exact", "trust-krylov")
SEARCHES = ("Nelder-Mead", "COBYLA", "COBYQA", "trust-constr", "TNC")  # which end less near
for _m in ("CG", "BFGS", "L-BFGS-B", "SLSQP", "Powell", *SEARCHES, *WITH_HESSIANS):
    add(
        f"minimize {_m}",
        lowest(_m),
        near=5e-2 if _m in SEARCHES else 3e-4,
        like=1e-5,
        theirs=lowest("BFGS") if _m in WITH_HESSIANS else None,
    )
for _m in ("Nelder-Mead", "Powell", "L-BFGS-B", "TNC", "COBYLA", "COBYQA", "SLSQP", "trust-constr"):
    add(
        f"minimize {_m} bounds",
        lambda t, m=_m: lowest(m, bounds=[(0, 0.5 + 0.1 * t[1]), (None, 3)])(t),
        near=5e-2 if _m in SEARCHES else 1e-3,
        like=1e-4 if _m == "trust-constr" else 1e-5,
    )
for _m in ("SLSQP", "COBYLA", "COBYQA", "trust-constr"):
    add(
        f"minimize {_m} constraint",
        lambda t, m=_m: lowest(
            m,
            constraints=so.NonlinearConstraint(lambda x: x[0] ** 2 + x[1] ** 2, -np.inf, 0.3 + 0.05 * t[1]),
        )(t),
        near=3e-2,
        like=1e-4,
    )
for _m, _options in {
    "brent": {"tol": 1e-11},
    "golden": {"tol": 1e-11},
    "bounded": {"bounds": (-1, 4), "options": {"xatol": 1e-11}},
}.items():
    add(
        f"minimize_scalar {_m}",
        lambda t, m=_m, o=_options: (
            so.minimize_scalar(lambda x: (x - t[0] ** 2) ** 2 + np.exp(0.3 * x * t[1]), method=m, **o).x
        ),
        near=1e-3,
    )

# ---------------------------------------------------------------- roots


def system(x: Any, t: Any) -> Any:
    """Two equations with one root."""
    return np.array(
        [x[0] + 0.2 * x[0] ** 3 + 0.3 * np.sin(x[1]) - t[0], x[1] + 0.4 * x[1] ** 3 + 0.5 * x[0] ** 2 - t[1]]
    )


for _m in ("hybr", "lm", "broyden1", "broyden2", "anderson", "krylov", "df-sane"):
    add(f"root {_m}", lambda t, m=_m: so.root(lambda x: system(x, t), [1.0, 0.2], method=m, tol=1e-10).x)
for _m in ("linearmixing", "excitingmixing", "diagbroyden"):
    add(
        f"root {_m}",
        lambda t, m=_m: (
            so.root(
                lambda x: -system(x, t),
                [1.0, 0.2],
                method=m,
                tol=1e-9,
                options={"jac_options": {"alpha": 0.5}},
            ).x
        ),
    )
for _m in ("broyden1", "broyden2", "anderson", "newton_krylov"):
    add(_m, lambda t, m=_m: getattr(so, m)(lambda x: system(x, t), [1.0, 0.2], f_tol=1e-10))
add("fsolve", lambda t: so.fsolve(lambda x: system(x, t), [1.0, 0.2], xtol=1e-12))


def cubic(x: Any, t: Any) -> Any:
    return x**3 + t[0] * x - 2 * t[1]


for _m in ("brentq", "brenth", "bisect", "ridder", "toms748"):
    add(_m, lambda t, m=_m: getattr(so, m)(lambda x: cubic(x, t), -1, 3, xtol=1e-13))
    add(
        f"root_scalar {_m}",
        lambda t, m=_m: so.root_scalar(lambda x: cubic(x, t), method=m, xtol=1e-13, bracket=[-1, 3]).root,
    )
_SLOPES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "newton": lambda t: {"fprime": lambda x: 3 * x**2 + t[0]},
    "halley": lambda t: {"fprime": lambda x: 3 * x**2 + t[0], "fprime2": lambda x: 6 * x},
    "secant": lambda t: {"x1": 1.2},
}
for _m, _more in _SLOPES.items():
    add(
        f"root_scalar {_m}",
        lambda t, m=_m, more=_more: (
            so.root_scalar(lambda x: cubic(x, t), method=m, xtol=1e-13, x0=1.0, **more(t)).root
        ),
    )
add("newton", lambda t: so.newton(lambda x: x**3 + t * x - 1, np.array([0.5, 0.7]), tol=1e-12))
add("fixed_point", lambda t: so.fixed_point(lambda x: np.cos(t * x), np.array([0.5, 0.7]), xtol=1e-12))

# ---------------------------------------------------------------- squares

TIMES = np.linspace(0, 3, 12)
SEEN = 2 * np.exp(-0.7 * TIMES) + 0.05 * np.sin(9 * TIMES)
TIGHT: dict[str, Any] = {"xtol": 1e-13, "ftol": 1e-13, "gtol": 1e-13}


def decay(x: Any, a: Any, b: Any) -> Any:
    return a * np.exp(-b * x)


def seen(t: Any) -> Any:
    return SEEN * t[0] + 0.1 * t[1]


def fitted(t: Any, **more: Any) -> Any:
    gap = lambda p: decay(TIMES, p[0], p[1]) - seen(t)
    return so.least_squares(gap, [1.0, 0.4], **TIGHT, **more).x


add("least_squares lm", lambda t: fitted(t, method="lm"))
add("least_squares lsmr", lambda t: fitted(t, tr_solver="lsmr"))
for _m in ("trf", "dogbox"):
    add(f"least_squares {_m}", lambda t, m=_m: fitted(t, method=m))
    add(
        f"least_squares {_m} bounds",
        lambda t, m=_m: fitted(t, method=m, bounds=([0, 0], [3, 0.4 + 0.1 * t[1]])),
        near=1e-3,
    )
    for _loss in ("soft_l1", "huber", "cauchy", "arctan"):
        add(
            f"least_squares {_m} {_loss}",
            lambda t, m=_m, loss=_loss: fitted(t, method=m, loss=loss, f_scale=0.1),
            near=3e-3,
            like=1e-5,
        )
    add(f"curve_fit {_m}", lambda t, m=_m: so.curve_fit(decay, TIMES, seen(t), method=m, **TIGHT))
add("leastsq", lambda t: so.leastsq(lambda p: decay(TIMES, *p) - seen(t), [1.0, 1.0], xtol=1e-13)[0])
add("curve_fit", lambda t: so.curve_fit(decay, TIMES, seen(t), xtol=1e-13, ftol=1e-13))
add("curve_fit bounds", lambda t: so.curve_fit(decay, TIMES, seen(t), bounds=([0, 0], [5, 5]), **TIGHT))
MATRIX = np.random.default_rng(0).normal(size=(6, 3))
RIGHT = np.random.default_rng(1).normal(size=6)
add("nnls", lambda t: so.nnls(MATRIX + t[0], RIGHT + t[1]))
for _m in ("trf", "bvls"):
    add(
        f"lsq_linear {_m}",
        lambda t, m=_m: so.lsq_linear(MATRIX + t[0], RIGHT + t[1], (0, 0.3), method=m, tol=1e-13).x,
    )

# ---------------------------------------------------------------- programs


def programmed(t: Any, integers: Any = None) -> Any:
    costs, rows, most = np.stack([-1 - t[0], -2.0]), [[1, 1], [3, 1.0]], np.stack([4 + t[1], 6.0])
    if integers is None:
        r = so.linprog(costs, A_ub=rows, b_ub=most)
        return r.x, r.fun
    rule = so.LinearConstraint(np.array(rows), -np.inf, most)
    return so.milp(costs, integrality=integers, constraints=rule).x


add("linprog", programmed)
add("milp", lambda t: programmed(t, [1, 0]))
add(
    "linear_sum_assignment",
    lambda t: so.linear_sum_assignment(np.array([[4, 1, 3], [2, 0, 5], [3, 2, 2.0]]) * t[0])[1],
    smooth=False,
)
add("approx_fprime", lambda t: so.approx_fprime(t, lambda x: np.sum(x**3), 1e-8), smooth=False)
add(
    "check_grad",
    lambda t: so.check_grad(lambda x: np.sum(x**3), lambda x: 3 * x**2, t) < 1e-6,
    smooth=False,
)
add("rosen", lambda t: (so.rosen(t), so.rosen_der(t), so.rosen_hess(t), so.rosen_hess_prod(t, t)))

# ---------------------------------------------------------------- differential equations


def swing(k: Any, method: str = "RK45", span: Any = (0, 3), **more: Any) -> Any:
    """A damped oscillation."""
    slopes = lambda t, y: np.array([y[1], -k[0] * y[0] - 0.1 * k[1] * y[1]])
    return si.solve_ivp(slopes, span, [1.0, 0.5 * k[1]], method=method, rtol=1e-7, atol=1e-9, **more)


def down(t: Any, y: Any) -> Any:
    return y[0] - 0.3


for _m in ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"):
    add(f"solve_ivp {_m}", lambda k, m=_m: swing(k, m, t_eval=[1.0, 2.0, 3.0]).y)
    if _m != "LSODA":
        add(f"solve_ivp {_m} steps", lambda k, m=_m: swing(k, m).y[:, -1])
        add(
            f"solve_ivp {_m} dense",
            lambda k, m=_m: swing(k, m, dense_output=True).sol(np.stack([1.0, 2.0 * k[0], 3.0])),
        )
        add(f"solve_ivp {_m} events", lambda k, m=_m: swing(k, m, (0, 5), events=down).t_events[0][0])
add(
    "solve_ivp vectorized",
    lambda k: si.solve_ivp(
        lambda t, y: np.array([y[1], -k[0] * y[0]]), (0, 3), [1.0, 0.5 * k[1]], "Radau", [3.0],
        vectorized=True, rtol=1e-8,
    ).y,
)  # fmt: skip


def turning(k: Any) -> Any:
    y = si.solve_ivp(lambda t, y: 1j * k[0] * y, (0, 3), [1.0 + 1j * k[1]], t_eval=[1.0, 3.0], rtol=1e-8).y
    return y.real, y.imag


add("solve_ivp complex", turning)
add(
    "odeint",
    lambda k: si.odeint(
        lambda y, t: np.array([y[1], -k[0] * y[0]]),
        np.stack([1.0, k[1]]),
        [0, 1.0, 3.0],
        rtol=1e-9,
        atol=1e-9,
    ),
)


def layer(t: Any) -> Any:
    first = np.linspace(0, 1, 11)
    r = si.solve_bvp(
        lambda x, y: np.stack([y[1], -t[0] * np.exp(y[0])]),
        lambda a, b: np.stack([a[0] - 0.1 * t[1], b[0]]),
        first, np.zeros((2, 11)), tol=1e-8,
    )  # fmt: skip
    return r.sol(np.array([0.25, 0.5]))[0]


def tone(t: Any) -> Any:
    first = np.linspace(0, 1, 7)
    return si.solve_bvp(
        lambda x, y, p: np.stack([y[1], -((p[0] * t[0]) ** 2) * y[0]]),
        lambda a, b, p: np.stack([a[0], b[0], a[1] - p[0] * t[1]]),
        first, np.stack([np.sin(3 * first), 3 * np.cos(3 * first)]), p=[3.0], tol=1e-8,
    ).p  # fmt: skip


add("solve_bvp", layer)
add("solve_bvp parameter", tone)

# ---------------------------------------------------------------- integrals


def wave(x: Any, t: Any) -> Any:
    return np.exp(-t[0] * x) * np.cos(t[1] * x)


def turned(t: Any) -> Any:
    z = si.quad(lambda x: np.exp(1j * t[0] * x * t[1]), 0, 1, complex_func=True)[0]
    return z.real, z.imag


add("quad", lambda t: si.quad(lambda x: wave(x, t), 0, 1 + t[0])[0])
add("quad infinite", lambda t: si.quad(lambda x: wave(x, t), 0, np.inf)[0])
add("quad points", lambda t: si.quad(lambda x: np.abs(x - 0.3) * wave(x, t), 0, 1, points=[0.3])[0])
add("quad weight", lambda t: si.quad(lambda x: wave(x, t), 0, 1, weight="cos", wvar=3.0)[0])
add("quad complex", turned)
add("quad_vec", lambda t: si.quad_vec(lambda x: np.stack([wave(x, t), x * t[0]]), 0, 1)[0])
add("fixed_quad", lambda t: si.fixed_quad(lambda x: wave(x, t), 0, 1 + t[1], n=5)[0])
add("dblquad", lambda t: si.dblquad(lambda y, x: wave(x * y, t), 0, 1, 0, lambda x: 1 + x * t[1])[0])
add("nquad", lambda t: si.nquad(lambda x, y: wave(x * y, t), [[0, 1], [0, 1 + t[1]]])[0])
for _m in ("romb", "simpson", "trapezoid", "cumulative_simpson", "cumulative_trapezoid"):
    add(_m, lambda t, m=_m: getattr(si, m)(wave(np.linspace(0, 1, 9), t), dx=t[1]))
for _m in ("simpson", "cumulative_simpson", "cumulative_trapezoid"):
    places = np.linspace(0, 1, 8) ** 2
    add(f"{_m} at points", lambda t, m=_m, x=places: getattr(si, m)(wave(x, t), x=x * t[0]))

# ---------------------------------------------------------------- interpolation

KNOTS = np.array([0.0, 0.7, 1.5, 2.0, 3.1, 4.0])
PLACES = np.array([0.3, 1.1, 2.7])


def heights(t: Any) -> Any:
    return np.sin(KNOTS * t[0]) + t[1] * KNOTS**2


for _m in (
    "CubicSpline", "PchipInterpolator", "Akima1DInterpolator", "BarycentricInterpolator", "KroghInterpolator",
    "InterpolatedUnivariateSpline", "make_interp_spline",
):  # fmt: skip
    add(_m, lambda t, m=_m: getattr(ip, m)(KNOTS, heights(t))(PLACES * t[0]))
for _m in ("linear", "nearest", "previous", "next", "slinear", "quadratic", "cubic"):
    add(f"interp1d {_m}", lambda t, m=_m: ip.interp1d(KNOTS, heights(t), kind=m)(PLACES * t[0]))
add("UnivariateSpline", lambda t: ip.UnivariateSpline(KNOTS, heights(t))(PLACES), near=5e-2)
add("splev", lambda t: ip.splev(PLACES * t[0], ip.splrep(KNOTS, heights(t))))
add(
    "BSpline",
    lambda t: ip.BSpline(
        np.array([0, 0, 0, 0, 1, 2, 2, 2, 2.0]), np.stack([t[0], t[1], 1, t[0] * t[1], 2.0]), 3
    )(PLACES * t[0] / 2),
)
GRID = (np.arange(5.0), np.array([0.0, 1, 3, 4, 5, 6]))
POINTS = np.random.default_rng(2).uniform(size=(15, 2))
INSIDE = np.array([[0.4, 0.5], [0.55, 0.45]])


def on_grid(t: Any) -> Any:
    return np.sin(GRID[0])[:, None] * t[0] + t[1] * np.cos(GRID[1]) * GRID[0][:, None]


def on_points(t: Any) -> Any:
    return np.sin(POINTS[:, 0] * t[0] * 3) + t[1] * POINTS[:, 1] ** 2


for _m in ("linear", "nearest", "slinear", "cubic", "pchip"):
    add(
        f"RegularGridInterpolator {_m}",
        lambda t, m=_m: ip.RegularGridInterpolator(GRID, on_grid(t), m)(INSIDE * 4 * t[0]),
        near=2e-3, like=1e-3 if _m == "cubic" else 1e-6,
    )  # fmt: skip
add("interpn", lambda t: ip.interpn(GRID, on_grid(t), INSIDE * 4 * t[0]))
for _m in ("thin_plate_spline", "gaussian"):
    add(
        f"RBFInterpolator {_m}",
        lambda t, m=_m: ip.RBFInterpolator(POINTS, on_points(t), kernel=m, epsilon=2.0)(INSIDE * t[0]),
    )
for _m in ("linear", "nearest", "cubic"):
    add(
        f"griddata {_m}",
        lambda t, m=_m: ip.griddata(POINTS, on_points(t), INSIDE * t[0] / 0.8, m),
        near=1e-3, like=1e-5,
    )  # fmt: skip

# ---------------------------------------------------------------- sparse systems

LOAD = np.arange(6.0) + 1


def chain(t: Any) -> Any:
    beside = np.full(5, -1.0) * t[1]
    return sp.diags_array(
        [beside, np.full(6, 4.0) * t[0], beside], offsets=[-1, 0, 1], shape=(6, 6), format="csc"
    )


for _m in ("cg", "bicgstab", "gmres", "bicg", "cgs", "lgmres", "qmr", "tfqmr", "gcrotmk"):
    add(_m, lambda t, m=_m: getattr(sl, m)(chain(t), LOAD * t[1], rtol=1e-12)[0])
BANDS = sp.csr_array(np.diag(np.full(6, 4.0)) - np.eye(6, k=1) - np.eye(6, k=-1))
add("minres", lambda t: sl.minres(BANDS * t[0], LOAD * t[1], rtol=1e-12)[0])
for _m in ("lsqr", "lsmr"):
    add(_m, lambda t, m=_m: getattr(sl, m)(chain(t), LOAD * t[1], atol=1e-14, btol=1e-14)[0])
add("spsolve", lambda t: sl.spsolve(chain(t), LOAD * t[1]))
add("splu", lambda t: sl.splu(chain(t)).solve(LOAD * t[1]))
add("factorized", lambda t: sl.factorized(chain(t))(LOAD * t[1]))
add("eigsh", lambda t: [np.abs(x) for x in sl.eigsh(chain(t), k=2, v0=np.ones(6))])
add("svds", lambda t: [np.abs(x) for x in sl.svds(chain(t), k=2, v0=np.ones(6))])
add("expm_multiply", lambda t: sl.expm_multiply(chain(t), LOAD * t[1] * 0.1))


def ring(t: Any) -> Any:
    product = lambda v: 4 * t[0] * v - 0.1 * t[1] * (np.roll(v, 1) + np.roll(v, -1))
    return sl.cg(sl.LinearOperator((6, 6), matvec=product, dtype=float), LOAD, rtol=1e-12)[0]


add("LinearOperator", ring)
