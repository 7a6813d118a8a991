"""Optimisation: Rosenbrock's function and its products with Hessians, Jacobians of many variables."""

from __future__ import annotations

from typing import Any

from benchmarks.by_torch import by_torch
from benchmarks.registry import workload


def start(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    return (rng.standard_normal(n).astype(dtype),)


def start_and_direction(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    """The direction comes first, as the harness wants it."""
    return rng.standard_normal(n).astype(dtype), rng.standard_normal(n).astype(dtype)


SIZES = {"small": {"n": 10}, "middle": {"n": 10_000}, "large": {"n": 1_000_000}}


def torch_rosenbrock(torch: Any, x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


IN_TORCH = {"torch": by_torch(torch_rosenbrock)}


@workload("Rosenbrock", "optimisation", make=start, sizes=SIZES, modes=("grad",), by_hand=IN_TORCH)
def rosenbrock(lib: Any, x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@workload(
    "Rosenbrock", "optimisation", make=start_and_direction, sizes=SIZES, modes=("hvp",), by_hand=IN_TORCH
)
def rosenbrock_hvp(lib: Any, x: Any) -> Any:
    return rosenbrock(lib, x)


@workload(
    "100 variables",
    "optimisation",
    make=start,
    sizes={"middle": {"n": 100}, "large": {"n": 300}},
    modes=("jacobian", "hessian"),
)  # fmt: skip
def coupled(lib: Any, x: Any) -> Any:
    y = lib.np.sin(x) * lib.np.exp(-(x**2)) + x * x[::-1]
    return y if lib.mode == "jacobian" else (y * y).sum()
