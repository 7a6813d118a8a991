"""Call overhead: so little arithmetic that a call's time is what it takes to get there and back."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.registry import workload

SIZES = {"middle": {"n": 8}}
WEIGHTS = np.linspace(1.0, 2.0, 8)


def arrays(count: int) -> Any:
    def make(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
        return tuple(rng.standard_normal((count, n)).astype(dtype))

    return make


def plain(f: Any, numba: bool = True) -> Any:
    """`f` itself under a library's decorator: the wrapper that other workloads need would be a good part of it."""
    made = {"numba": lambda mode, *args: importlib.import_module("numba").njit(f)} if numba else {}
    return {**made, "tracejit": lambda mode, *args: importlib.import_module("tracejit").jit(f)}


def call(name: str, make: Any, **options: Any) -> Any:
    return workload(name, "calls", make=make, sizes=SIZES, dtypes=("f8",), **options)


@call("call with 1 array", arrays(1), by_hand=plain(lambda x: x * 2 + 1))
def one(lib: Any, x: Any) -> Any:
    return x * 2 + 1


@call("call with 2 arrays", arrays(2), by_hand=plain(lambda x, y: x * 2 + y))
def two(lib: Any, x: Any, y: Any) -> Any:
    return x * 2 + y


@call(
    "call with 8 arrays",
    arrays(8),
    by_hand=plain(lambda a, b, c, d, e, f, g, h: a + b + c + d + e + f + g + h),
)
def eight(lib: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    return a + b + c + d + e + f + g + h


def tree(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    a, b, c, d = rng.standard_normal((4, n)).astype(dtype)
    return ({"first": {"w": a, "b": b}, "rest": [(c, d), d]},)


def walk(p: Any) -> Any:
    (c, d), e = p["rest"]
    return {"w": p["first"]["w"] * c, "b": [p["first"]["b"] + d, e]}


@call("call with a tree", tree, by_hand=plain(walk, numba=False))
def nested(lib: Any, p: Any) -> Any:
    return walk(p)


@call("call with numbers", lambda rng, dtype, n: (1.5, -0.25, 3.0), by_hand=plain(lambda a, b, c: a * b + c))
def numbers(lib: Any, a: Any, b: Any, c: Any) -> Any:
    return a * b + c


@call("captured array", arrays(1), by_hand=plain(lambda x: x * WEIGHTS))
def captured(lib: Any, x: Any) -> Any:
    return x * WEIGHTS


@call("several results", arrays(2), by_hand=plain(lambda x, y: (x + y, x * y, (x * y).sum())))
def several(lib: Any, x: Any, y: Any) -> Any:
    return x + y, x * y, (x * y).sum()
