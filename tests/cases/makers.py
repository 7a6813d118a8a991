"""What the cases of the rule-completeness test are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit.ir.primitive import REGISTRY
from tracejit.tracing import bind

Maker = Callable[[np.random.Generator], Any]


@dataclass(frozen=True)
class Case:
    """`fn(*raw) -> raw or list of raw`, and what makes its operands."""

    fn: Callable[..., Any]
    makers: tuple[Maker, ...]
    tolerance: float = 1e-5  # against finite differences
    precision: float = 1e-10  # jit against eager derivatives
    smooth: bool = True  # finite differences apply
    orders: int = 2  # of derivatives that there are

    def args(self, seed: int = 0) -> tuple[Any, ...]:
        rng = np.random.default_rng(seed)
        return tuple(np.asarray(m(rng))[()] for m in self.makers)


def normal(*shape: int, dtype: Any = np.float64) -> Maker:
    return lambda rng: np.asarray(rng.standard_normal(shape)).astype(dtype)


def positive(*shape: int) -> Maker:
    return lambda rng: rng.uniform(0.5, 2.0, shape)


def inside(*shape: int) -> Maker:
    """Values in (-0.9, 0.9), away from 0."""
    return lambda rng: rng.uniform(0.1, 0.9, shape) * rng.choice([-1.0, 1.0], shape)


def integers(*shape: int, low: int = -5, high: int = 6) -> Maker:
    return lambda rng: rng.integers(low, high, shape)


def distinct(*shape: int) -> Maker:
    """Distinct values, at least 0.3 apart, in random order (no ties in sorts and maxima)."""
    size = int(np.prod(shape))
    return lambda rng: (rng.permutation(size) * 0.37 - size * 0.17 + 0.05).reshape(shape)


def booleans(*shape: int) -> Maker:
    return lambda rng: rng.integers(0, 2, shape).astype(bool)


def fixed(x: Any) -> Maker:
    return lambda rng: np.asarray(x)


def case(fn: Callable[..., Any], *makers: Maker, **options: Any) -> Case:
    return Case(fn, makers, **options)


def by_name(name: str, **params: Any) -> Callable[..., Any]:
    """The application of the registered op `name`."""
    return lambda *xs: bind(REGISTRY[name], *xs, **params)


def many(names: str, *rows: tuple[Maker, ...]) -> dict[str, list[Case]]:
    return {name: [Case(by_name(name), row) for row in rows] for name in names.split()}
