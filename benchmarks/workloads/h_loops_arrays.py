"""Loops over arrays that are updated in place: sweeps and factorisations; forward and reverse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.registry import workload
from benchmarks.workloads.h_loops import AVOID, native


def floyd_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(d):
        d = d.copy()
        n = len(d)
        for k in range(n):
            for i in range(n):
                via = d[i, k]
                for j in range(n):
                    new = via + d[k, j]
                    if new < d[i, j]:
                        d[i, j] = new
        return d.sum()

    return run


@workload(
    "Floyd-Warshall",
    "loops",
    make=lambda rng, dtype, n: (rng.uniform(0.1, 1, (n, n)).astype(dtype),),
    sizes={"small": {"n": 20}, "middle": {"n": 100}, "large": {"n": 300}},
    avoid=AVOID,
    modes=("forward", "grad"),
    by_hand=native(floyd_by_hand),
    dtypes=("f8",),
)
def floyd_warshall(lib: Any, d: Any) -> Any:
    def step(k: Any, d: Any) -> Any:
        return lib.np.minimum(d, d[:, k][:, None] + d[k][None, :])

    return lib.lax.fori_loop(0, d.shape[0], step, d).sum()


def seidel_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(u):
        u = u.copy()
        n = len(u)
        for _ in range(4):
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        return (u * u).sum()

    return run


@workload(
    "Gauss-Seidel, 4 sweeps",
    "loops",
    make=lambda rng, dtype, n: (rng.standard_normal((n, n)).astype(dtype),),
    sizes={"small": {"n": 16}, "middle": {"n": 100}, "large": {"n": 200}},
    avoid=AVOID,
    modes=("forward", "grad"),
    by_hand=native(seidel_by_hand),
    dtypes=("f8",),
)
def gauss_seidel(lib: Any, u: Any) -> Any:
    n = u.shape[0]

    def cell(i: Any, j: Any, u: Any) -> Any:
        new = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        return u.at[i, j].set(new)

    def row(i: Any, u: Any) -> Any:
        return lib.lax.fori_loop(1, n - 1, lambda j, u: cell(i, j, u), u)

    u = lib.lax.fori_loop(0, 4, lambda _, u: lib.lax.fori_loop(1, n - 1, row, u), u)
    return (u * u).sum()


def jacobi_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(u):
        u, new, n = u.copy(), u.copy(), len(u)
        for _ in range(20):
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    new[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
            u, new = new, u
        return (u * u).sum()

    return run


@workload(
    "Jacobi, 20 sweeps",
    "loops",
    make=lambda rng, dtype, n: (rng.standard_normal((n, n)).astype(dtype),),
    sizes={"small": {"n": 16}, "middle": {"n": 100}, "large": {"n": 500}},
    avoid=AVOID,
    modes=("forward", "grad"),
    by_hand=native(jacobi_by_hand),
    dtypes=("f8",),
)
def jacobi(lib: Any, u: Any) -> Any:
    def sweep(_: Any, u: Any) -> Any:
        return u.at[1:-1, 1:-1].set(0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]))

    u = lib.lax.fori_loop(0, 20, sweep, u)
    return (u * u).sum()


def positive_definite(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    a = rng.standard_normal((n, n))
    return ((a @ a.T / n + np.eye(n)).astype(dtype),)


def cholesky_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(a):
        n = len(a)
        low = np.zeros_like(a)
        for j in range(n):
            s = a[j, j]
            for k in range(j):
                s -= low[j, k] * low[j, k]
            low[j, j] = math.sqrt(s)
            for i in range(j + 1, n):
                s = a[i, j]
                for k in range(j):
                    s -= low[i, k] * low[j, k]
                low[i, j] = s / low[j, j]
        return low.sum()

    return run


@workload(
    "Cholesky by fori_loop",
    "loops",
    make=positive_definite,
    sizes={"small": {"n": 10}, "middle": {"n": 60}, "large": {"n": 200}},
    avoid=AVOID,
    modes=("forward", "grad"),
    by_hand=native(cholesky_by_hand),
    dtypes=("f8",),
)
def cholesky(lib: Any, a: Any) -> Any:
    """Column by column. Where extents may depend on the loop, they do; elsewhere masks stand in."""
    xp, n = lib.np, a.shape[0]

    def column(j: Any, low: Any) -> Any:
        if lib.name == "tracejit":
            c = a[j:, j] - low[j:, :j] @ low[j, :j]
            return low.at[j:, j].set(c / xp.sqrt(c[0]))
        before = xp.where(xp.arange(n) < j, low[j], 0.0)
        c = a[:, j] - low @ before
        return low.at[:, j].set(xp.where(xp.arange(n) >= j, c / xp.sqrt(c[j]), 0.0))

    return lib.lax.fori_loop(0, n, column, xp.zeros_like(a)).sum()


FACTORED: dict[str, Any] = {
    "make": positive_definite,
    "sizes": {"small": {"n": 10}, "middle": {"n": 60}, "large": {"n": 200}},
    "avoid": AVOID,
    "modes": ("forward", "grad"),
    "dtypes": ("f8",),
}


def lu_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(a):
        a = a.copy()
        n = len(a)
        for k in range(n - 1):
            for i in range(k + 1, n):
                a[i, k] /= a[k, k]
                for j in range(k + 1, n):
                    a[i, j] -= a[i, k] * a[k, j]
        return a.sum()

    return run


@workload("LU by fori_loop", "loops", by_hand=native(lu_by_hand), **FACTORED)
def lu(lib: Any, a: Any) -> Any:
    """Without pivots, L below the diagonal."""
    xp, n = lib.np, a.shape[0]

    def step(k: Any, a: Any) -> Any:
        if lib.name == "tracejit":
            a = a.at[k + 1 :, k].set(a[k + 1 :, k] / a[k, k])
            return a.at[k + 1 :, k + 1 :].add(-a[k + 1 :, k][:, None] * a[k, k + 1 :])
        below = xp.arange(n) > k
        factors = xp.where(below, a[:, k] / a[k, k], 0.0)
        a = a - factors[:, None] * xp.where(below, a[k], 0.0)
        return a.at[:, k].set(xp.where(below, factors, a[:, k]))

    return lib.lax.fori_loop(0, n - 1, step, a).sum()


def gram_schmidt_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(a):
        n = len(a)
        q = np.zeros_like(a)
        for j in range(n):
            v = a[j].copy()
            for k in range(j):
                s = 0.0
                for i in range(n):
                    s += q[k, i] * a[j, i]
                for i in range(n):
                    v[i] -= s * q[k, i]
            q[j] = v / math.sqrt((v * v).sum())
        return (q * q * q).sum()

    return run


@workload("Gram-Schmidt by fori_loop", "loops", by_hand=native(gram_schmidt_by_hand), **FACTORED)
def gram_schmidt(lib: Any, a: Any) -> Any:
    """The classical kind, on rows. Rows that are still zero do no harm, so that nothing need be masked."""
    xp = lib.np

    def row(j: Any, q: Any) -> Any:
        known = q[:j] if lib.name == "tracejit" else q
        v = a[j] - (known @ a[j]) @ known
        return q.at[j].set(v / xp.sqrt((v * v).sum()))

    q = lib.lax.fori_loop(0, a.shape[0], row, xp.zeros_like(a))
    return (q * q * q).sum()


def triangular_by_hand(numba: Any) -> Callable[..., Any]:
    @numba.njit
    def run(a, b):
        x = np.zeros_like(b)
        for i in range(b.size):
            s = b[i]
            for k in range(i):
                s -= a[i, k] * x[k]
            x[i] = s / a[i, i]
        return (x * x).sum()

    return run


@workload(
    "triangular solve by fori_loop",
    "loops",
    by_hand=native(triangular_by_hand),
    argnums=(0, 1),
    **FACTORED | {"make": lambda rng, dtype, n: (*positive_definite(rng, dtype, n), rng.standard_normal(n))},
)
def triangular_solve(lib: Any, a: Any, b: Any) -> Any:
    xp = lib.np

    def row(i: Any, x: Any) -> Any:
        known = a[i, :i] @ x[:i] if lib.name == "tracejit" else a[i] @ x
        return x.at[i].set((b[i] - known) / a[i, i])

    x = lib.lax.fori_loop(0, b.shape[0], row, xp.zeros_like(b))
    return (x * x).sum()
