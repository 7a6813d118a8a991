"""Reductions, scans along an axis, sorting, indexing."""

from __future__ import annotations

from typing import Any

from benchmarks.by_torch import by_torch
from benchmarks.registry import workload

MATRIX = {"small": {"m": 16, "n": 64}, "middle": {"m": 512, "n": 256}, "large": {"m": 4096, "n": 512}}
VECTOR = {"small": {"n": 1000}, "middle": {"n": 100_000}, "large": {"n": 2_000_000}}


def matrix(rng: Any, dtype: Any, m: int, n: int) -> tuple[Any, ...]:
    return (rng.standard_normal((m, n)).astype(dtype),)


def vector(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    return (rng.standard_normal(n).astype(dtype),)


@workload(
    "softmax", "reductions", make=matrix, sizes=MATRIX,
    by_hand={"torch": by_torch(lambda torch, x: torch.softmax(x, dim=1))},
)  # fmt: skip
def softmax(lib: Any, x: Any) -> Any:
    e = lib.np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@workload(
    "layernorm", "reductions", make=matrix, sizes=MATRIX,
    by_hand={"torch": by_torch(lambda torch, x: torch.nn.functional.layer_norm(x, x.shape[1:]))},
)  # fmt: skip
def layernorm(lib: Any, x: Any) -> Any:
    d = x - x.mean(axis=1, keepdims=True)
    return d / lib.np.sqrt((d * d).mean(axis=1, keepdims=True) + 1e-5)


@workload(
    "logsumexp", "reductions", make=vector, sizes=VECTOR, modes=("forward", "grad"),
    by_hand={"torch": by_torch(lambda torch, x: torch.logsumexp(x, 0))},
)  # fmt: skip
def logsumexp(lib: Any, x: Any) -> Any:
    m = x.max()
    return lib.np.log(lib.np.exp(x - m).sum()) + m


@workload("variance", "reductions", make=vector, sizes=VECTOR)
def variance(lib: Any, x: Any) -> Any:
    return lib.np.var(x)


for _axis in (0, 1, None):

    @workload(f"sum over axis {_axis}", "reductions", make=matrix, sizes=MATRIX)
    def total(lib: Any, x: Any, axis: Any = _axis) -> Any:
        return lib.np.sum(x, axis=axis)


@workload("max over axis 1", "reductions", make=matrix, sizes=MATRIX)
def largest(lib: Any, x: Any) -> Any:
    return lib.np.max(x, axis=1)


@workload("cumsum", "reductions", make=vector, sizes=VECTOR)
def cumsum(lib: Any, x: Any) -> Any:
    return lib.np.cumsum(x)


@workload("sort", "sorting and indexing", make=vector, sizes=VECTOR)
def sort(lib: Any, x: Any) -> Any:
    return lib.np.sort(x)


@workload("argsort", "sorting and indexing", make=vector, sizes=VECTOR)
def argsort(lib: Any, x: Any) -> Any:
    return lib.np.argsort(x)


def lookup(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    return rng.standard_normal(n).astype(dtype), rng.integers(0, n, 2 * n)


@workload("gather", "sorting and indexing", make=lookup, sizes=VECTOR, modes=("forward",))
def gather(lib: Any, x: Any, i: Any) -> Any:
    return x[i]


@workload(
    "gather and square, its scatter-add", "sorting and indexing", make=lookup, sizes=VECTOR, modes=("grad",),
    by_hand={"torch": by_torch(lambda torch, x, i: x[i].square().sum())},
)  # fmt: skip
def gather_squares(lib: Any, x: Any, i: Any) -> Any:
    return (x[i] ** 2).sum()
