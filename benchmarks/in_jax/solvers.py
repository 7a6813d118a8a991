"""The solvers' workloads by JAX's packages: Diffrax for differential equations, Optimistix for all else.

Functions `(jnp, lax, *args)` as in `best`. Tolerances are SciPy's, where the algorithms have the same ones.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.peers import NotHere

TIMES = np.linspace(0, 10, 50)
POINTS = np.linspace(0, 3, 40)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise NotHere(f"{name} is not installed") from e


def _ended(
    jnp: Any, slopes: Any, y0: Any, solver: Any, rtol: float, atol: float, save: Any, **more: Any
) -> Any:
    dx = _package("diffrax")
    control = dx.PIDController(rtol=rtol, atol=atol)
    term = dx.ODETerm(lambda t, y, _: jnp.stack(slopes(t, y)))
    options = {"saveat": save, "stepsize_controller": control, "max_steps": 1 << 17, **more}
    return dx.diffeqsolve(term, solver, 0.0, 10.0, None, jnp.asarray(y0), **options).ys


def oscillators(jnp: Any, lax: Any, k: Any) -> Any:
    dx = _package("diffrax")

    def slopes(t: Any, y: Any) -> Any:
        return [y[2], y[3], -k * y[0] + 0.3 * (y[1] - y[0]) ** 3, -2 * y[1] - 0.3 * (y[1] - y[0]) ** 3]

    save = dx.SaveAt(ts=jnp.asarray(TIMES))
    return _ended(jnp, slopes, [1.0, 0.0, 0.0, 0.5], dx.Dopri5(), 1e-6, 1e-9, save).T


def stiff(jnp: Any, lax: Any, m: Any) -> Any:
    dx = _package("diffrax")
    save = dx.SaveAt(ts=jnp.asarray(TIMES))
    return _ended(
        jnp,
        lambda t, y: [y[1], m * (1 - y[0] ** 2) * y[1] - y[0]],
        [2.0, 0.0],
        dx.Kvaerno5(),
        1e-6,
        1e-6,
        save,
    ).T


def long_oscillation(jnp: Any, lax: Any, k: Any) -> Any:
    dx = _package("diffrax")
    save = dx.SaveAt(t1=True)
    ends = _ended(
        jnp, lambda t, y: [y[1], -(k**2) * y[0]], [1.0, 0.0], dx.Dopri5(), 1e-10, 1e-10, save,
        adjoint=dx.RecursiveCheckpointAdjoint(),
    )  # fmt: skip
    return ends[-1, 0]


def roots(jnp: Any, lax: Any, c: Any) -> Any:
    return _package("jax").vmap(lambda a: root(jnp, lax, a))(c)


def root(jnp: Any, lax: Any, c: Any) -> Any:
    ox = _package("optimistix")
    search = ox.Bisection(rtol=2e-12, atol=2e-12, expand_if_necessary=False)
    options = {"lower": 0.5, "upper": 5.0}
    return ox.root_find(lambda x, _: x**3 - c * x - 1, search, 2.75, options=options, max_steps=100).value


def fit(jnp: Any, lax: Any, noise: Any) -> Any:
    ox = _package("optimistix")
    seen = 2 * np.exp(-0.7 * POINTS) + 0.5 + noise

    def gaps(p: Any, _: Any) -> Any:
        return p[0] * jnp.exp(-p[1] * POINTS) + p[2] - seen

    search = ox.LevenbergMarquardt(rtol=1e-8, atol=1e-8)
    return ox.least_squares(gaps, search, jnp.array([1.0, 1.0, 0.0])).value


def minimum(jnp: Any, lax: Any, x: Any) -> Any:
    ox = _package("optimistix")

    def rosenbrock(x: Any, _: Any) -> Any:
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    search = ox.BFGS(rtol=1e-5, atol=1e-5)
    return ox.minimise(rosenbrock, search, x, max_steps=2000, throw=False).value
