"""Without compiling: one operation, and the gradient of a function of one number."""

from __future__ import annotations

import importlib
from typing import Any

from benchmarks.registry import workload


def thirty(np_: Any, x: Any) -> Any:
    """Thirty operations on one number."""
    y = x
    for _ in range(5):
        y = np_.sin(y) * 1.1 + x
        y = np_.exp(-(y * y))
    return y


def gradient_by(library: str, namespace: str) -> Any:
    """The library's `grad` of `thirty`, called op by op."""

    def prepare(mode: str, x: Any) -> Any:
        np_ = importlib.import_module(namespace)
        if library == "jax":
            importlib.import_module("jax").config.update("jax_enable_x64", True)
        return importlib.import_module(library).grad(lambda x: thirty(np_, x))

    return prepare


def torch_gradient(mode: str, x: Any) -> Any:
    torch = importlib.import_module("torch")
    leaf = torch.tensor(x, dtype=torch.float64, requires_grad=True)

    def run(x: Any) -> Any:
        leaf.grad = None
        thirty(torch, leaf).backward()
        return leaf.grad

    return run


@workload(
    "eager gradient of 30 operations",
    "eager",
    make=lambda rng, dtype: (0.7,),
    sizes={"middle": {}},
    dtypes=("f8",),
    modes=("grad",),
    by_hand={
        "tracejit": gradient_by("tracejit", "numpy"),
        "jax": gradient_by("jax", "jax.numpy"),
        "autograd": gradient_by("autograd", "autograd.numpy"),
        "torch": torch_gradient,
    },
    avoid={"torch": "this row is eager"},
)
def eager_gradient(lib: Any, x: Any) -> Any:
    return thirty(lib.np, x)


def sine_by(namespace: str) -> Any:
    def prepare(mode: str, x: Any) -> Any:
        np_ = importlib.import_module(namespace)
        if namespace == "jax.numpy":
            importlib.import_module("jax").config.update("jax_enable_x64", True)
            x = np_.asarray(x)
            return lambda _: np_.sin(x)
        return np_.sin

    return prepare


@workload(
    "eager sin of 10 elements",
    "eager",
    make=lambda rng, dtype: (rng.standard_normal(10),),
    sizes={"middle": {}},
    dtypes=("f8",),
    by_hand={
        "tracejit": sine_by("tracejit.numpy"),
        "jax": sine_by("jax.numpy"),
        "torch": sine_by("torch"),
    },
    avoid={"torch": "this row is eager"},
)
def eager_sine(lib: Any, x: Any) -> Any:
    return lib.np.sin(x)
