"""Solvers of SciPy's: the plain function handed to SciPy, and the same call inside a compiled function. JAX solves the
same problems by packages of its own (`in_jax.solvers`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.integrate
import scipy.optimize

from benchmarks.in_jax import prepared, solvers
from benchmarks.in_jax.solvers import POINTS, TIMES
from benchmarks.registry import workload

ONE = {"middle": {}}
#: These call SciPy, which only it and tracejit run.
AVOID = {
    "numba": "does not take SciPy's solvers",
    "torch": "has no such solvers",
    "torch eager": "has no such solvers",
    "autograd": "only differentiates here",
    "drjit": "has no such solvers",
}
brentq: Any = scipy.optimize.brentq  # its types say that it may give a pair


def solver(
    name: str,
    make: Any,
    rtol: float = 1e-6,
    jax: Any = None,
    near: float = 1e-6,
    modes: Any = ("forward",),
    lanes: bool = False,
) -> Any:
    return workload(
        name,
        "solvers",
        make=make,
        modes=modes,
        sizes=ONE,
        dtypes=("f8",),
        by_hand={} if jax is None else {"jax": prepared(jax, (0,))},
        avoid=AVOID
        | ({"jax": "has no such solver"} if jax is None else {})
        | ({"numpy": "has no lanes"} if lanes else {}),
        rtol={"f8": rtol},
        near={"jax": max(rtol, near)},
    )


def number(low: float, high: float) -> Any:
    return lambda rng, dtype: (rng.uniform(low, high),)


@solver("solve_ivp RK45, 4 states", number(0.5, 1.5), jax=solvers.oscillators, near=1e-4)
def _ivp(lib: Any, k: Any) -> Any:
    def slopes(t: Any, y: Any) -> Any:
        return [y[2], y[3], -k * y[0] + 0.3 * (y[1] - y[0]) ** 3, -2 * y[1] - 0.3 * (y[1] - y[0]) ** 3]

    options = {"t_eval": TIMES, "rtol": 1e-6, "atol": 1e-9}
    return scipy.integrate.solve_ivp(slopes, (0, 10), [1.0, 0.0, 0.0, 0.5], **options).y


@solver("solve_ivp Radau, 2 states", number(20.0, 40.0), rtol=1e-3, jax=solvers.stiff, near=1e-2)
def _stiff(lib: Any, m: Any) -> Any:
    def slopes(t: Any, y: Any) -> Any:
        return [y[1], m * (1 - y[0] ** 2) * y[1] - y[0]]

    return scipy.integrate.solve_ivp(slopes, (0, 10), [2.0, 0.0], method="Radau", t_eval=TIMES, rtol=1e-6).y


@solver(
    "solve_ivp RK45, 10,000 steps",
    number(36.0, 37.0),
    jax=solvers.long_oscillation,
    near=1e-5,
    modes=("forward", "grad"),
)
def _long(lib: Any, k: Any) -> Any:
    def slopes(t: Any, y: Any) -> Any:
        return [y[1], -(k**2) * y[0]]

    return scipy.integrate.solve_ivp(slopes, (0, 10), [1.0, 0.0], rtol=1e-10, atol=1e-10).y[0, -1]


@solver("brentq, one root", number(0.5, 3.0), jax=solvers.root)
def _root(lib: Any, c: Any) -> Any:
    return brentq(lambda x: x**3 - c * x - 1, 0.5, 5.0)


@solver("brentq, 1000 roots", lambda rng, dtype: (rng.uniform(0.5, 3.0, 1000),), jax=solvers.roots)
def _roots(lib: Any, c: Any) -> Any:
    out = np.zeros(1000)
    for i in range(1000):
        out[i] = brentq(lambda x, a=c[i]: x**3 - a * x - 1, 0.5, 5.0)
    return out


@solver(
    "bisect, 1000 lanes", lambda rng, dtype: (rng.uniform(0.5, 3.0, 1000),), jax=solvers.roots, lanes=True
)
def _lanes(lib: Any, c: Any) -> Any:
    return lib.vmap(lambda a: scipy.optimize.bisect(lambda x: x**3 - a * x - 1, 0.5, 5.0))(c)


@solver("quad, one integral", number(0.5, 3.0))
def _integral(lib: Any, c: Any) -> Any:
    return scipy.integrate.quad(lambda x: np.exp(-c * x * x) * np.cos(x), 0.0, 5.0)[0]


@solver("quad, 100 integrals", lambda rng, dtype: (rng.uniform(0.5, 3.0, 100),))
def _integrals(lib: Any, c: Any) -> Any:
    out = np.zeros(100)
    for i in range(100):
        out[i] = scipy.integrate.quad(lambda x, a=c[i]: np.exp(-a * x * x) * np.cos(x), 0.0, 5.0)[0]
    return out


@solver(
    "least_squares, 3 unknowns",
    lambda rng, dtype: (0.02 * rng.standard_normal(40),),
    rtol=1e-4,
    jax=solvers.fit,
)
def _fit(lib: Any, noise: Any) -> Any:
    seen = 2 * np.exp(-0.7 * POINTS) + 0.5 + noise

    def gaps(p: Any) -> Any:
        return p[0] * np.exp(-p[1] * POINTS) + p[2] - seen

    return scipy.optimize.least_squares(gaps, [1.0, 1.0, 0.0]).x


@solver(
    "minimize BFGS, 20 unknowns", lambda rng, dtype: (rng.uniform(-1, 1, 20),), rtol=1e-3, jax=solvers.minimum
)
def _minimum(lib: Any, x: Any) -> Any:
    def rosenbrock(x: Any) -> Any:
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    return scipy.optimize.minimize(rosenbrock, x, method="BFGS").x
