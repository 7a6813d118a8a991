"""Stencils and their gradients."""

from __future__ import annotations

from typing import Any

from benchmarks.by_torch import by_torch
from benchmarks.registry import workload

PLANE = {"small": {"n": 64}, "middle": {"n": 512}, "large": {"n": 2000}}
BOX = {"small": {"n": 16}, "middle": {"n": 64}, "large": {"n": 160}}


@workload(
    "2-D heat step",
    "stencils",
    make=lambda rng, dtype, n: (rng.standard_normal((n, n)).astype(dtype),),
    sizes=PLANE,
)
def heat(lib: Any, u: Any) -> Any:
    return u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


@workload(
    "2-D heat energy",
    "stencils",
    make=lambda rng, dtype, n: (rng.standard_normal((n, n)).astype(dtype),),
    sizes=PLANE,
    modes=("grad",),
    by_hand={"torch": by_torch(lambda torch, u: heat(None, u).square().sum())},
)
def heat_energy(lib: Any, u: Any) -> Any:
    return (heat(lib, u) ** 2).sum()


@workload(
    "3-D Laplacian",
    "stencils",
    make=lambda rng, dtype, n: (rng.standard_normal((n, n, n)).astype(dtype),),
    sizes=BOX,
)
def laplacian(lib: Any, u: Any) -> Any:
    c = u[1:-1, 1:-1, 1:-1]
    rows = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1]
    columns = u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1]
    return rows + columns + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2] - 6 * c


@workload(
    "3-D Dirichlet energy",
    "stencils",
    make=lambda rng, dtype, n: (rng.standard_normal((n, n, n)).astype(dtype),),
    sizes=BOX,
    modes=("grad",),
    by_hand={"torch": by_torch(lambda torch, u: laplacian(None, u).square().sum())},
)
def dirichlet(lib: Any, u: Any) -> Any:
    return (laplacian(lib, u) ** 2).sum()
