"""What the special functions are made of: one precision, tables of coefficients, domains."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.lowering.llvm.vecmath.core import fma, horner, two_sum
from tracejit.lowering.llvm.vecmath.functions.exponential import exp_sum, factors
from tracejit.lowering.llvm.vecmath.special_tables import TABLES

F64 = np.dtype(np.float64)


def wide(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` for float32 too, computed in float64."""

    @functools.wraps(fn)
    def run(k: Any, x: Any) -> Any:
        return fn(k, x) if x.dtype == F64 else k.cast(fn(k, k.cast(x, F64)), x.dtype)

    return run


def table(k: Any, x: Any, name: str) -> Any:
    """A polynomial of `special_tables`: even and odd powers apart."""
    c = TABLES[name]
    square = x * x
    return fma(k, horner(k, square, c[1::2]), x, horner(k, square, c[0::2]))


def table_pair(k: Any, x: Any, name: str) -> tuple[Any, Any]:
    """The same as a pair: without the roundings of the last sums."""
    c = TABLES[name]
    square = x * x
    even, odd = square * horner(k, square, c[2::2]), x * horner(k, square, c[1::2])
    s, e = two_sum(k, const(k, c[0]), odd)
    s, e2 = two_sum(k, s, even)
    return s, e + e2


def times_table(k: Any, y: Any, x: Any, name: str) -> Any:
    """y * polynomial(x), rounded about once."""
    hi, lo = table_pair(k, x, name)
    return fma(k, y, hi, y * lo)


def const(k: Any, value: float) -> Any:
    return k.const(value, F64)


def within(k: Any, x: Any, lo: float, hi: float) -> Any:
    """x limited to a domain; NaN becomes its lower end."""
    return k.select(k.gt(x, lo), k.select(k.lt(x, hi), x, const(k, hi)), const(k, lo))


def exp_parts(k: Any, hi: Any, lo: Any) -> tuple[Any, Any]:
    """(m, s): e**(hi + lo) = m * s, neither of them subnormal. |hi| < 800."""
    return factors(k, *exp_sum(k, hi, lo))
