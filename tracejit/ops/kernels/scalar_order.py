"""Scalar kernel code for NumPy's semantics: extrema, order, tests of floats, shifts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ops.kernels.scalar import bits, fabs, kind, needs


def lowest(dtype: np.dtype) -> Any:
    """The identity of maximum: -inf, the smallest integer or False."""
    return limit(dtype, "min", -np.inf)


def highest(dtype: np.dtype) -> Any:
    """The identity of minimum: inf, the largest integer or True."""
    return limit(dtype, "max", np.inf)


def limit(dtype: np.dtype, end: str, infinity: float) -> Any:
    if dtype.kind == "b":
        return end == "max"
    return getattr(np.iinfo(dtype), end) if dtype.kind in "iu" else infinity


def maximum(k: Any, x: Any, y: Any) -> Any:
    """NaN if either is; of equal ones the one that NumPy takes, so that zeros have its signs."""
    if kind(x) == "c":
        return k.select(k.or_(order("ge")(k, x, y), k.isnan(x)), x, y)
    if kind(x) != "f":
        return greatest(k, x, y)
    return _first_or_second(k, "g", x, y)


def _first_or_second(k: Any, letter: str, x: Any, y: Any) -> Any:
    """x if it is ahead or NaN, else y; of equal ones NumPy's loops take the first in float16 only.

    LLVM makes one instruction of a select by a comparison of what it chooses from.
    """
    half = x.dtype == np.float16
    if k.never_nan(y):
        behind = {"g": "l", "l": "g"}[letter] + ("t" if half else "e")
        return k.select(k.compare(behind, x, y), y, x)
    z = k.select(k.compare(letter + ("e" if half else "t"), x, y), x, y)
    return z if k.never_nan(x) else k.select(k.isnan(x), x, z)


def minimum(k: Any, x: Any, y: Any) -> Any:
    """NaN if either is; of equal ones the one that NumPy takes, so that zeros have its signs."""
    if kind(x) == "c":
        return k.select(k.or_(order("le")(k, x, y), k.isnan(x)), x, y)
    if kind(x) != "f":
        return least(k, x, y)
    return _first_or_second(k, "l", x, y)


def greatest(k: Any, x: Any, y: Any) -> Any:
    """`maximum` for reductions: any zero of several, in whatever order, which vectorises."""
    return _extremum(k, x, y, {"f": "fmaximum", "i": "smax", "u": "umax"}, k.or_)


def least(k: Any, x: Any, y: Any) -> Any:
    """`minimum` for reductions."""
    return _extremum(k, x, y, {"f": "fminimum", "i": "smin", "u": "umin"}, k.and_)


def _extremum(k: Any, x: Any, y: Any, names: dict[str, str], of_bools: Any) -> Any:
    needs(k, x, "biuf", "maximum or minimum")
    if kind(x) == "b":
        return of_bools(x, y)
    return (k.float_op if kind(x) == "f" else k.int_op)(names[kind(x)], x, y)


def ignoring_nan(which: Any) -> Any:
    """fmax, fmin: the other operand where one is NaN."""

    def kernel(k: Any, x: Any, y: Any) -> Any:
        out = which(k, x, y)
        return k.select(k.isnan(x), y, k.select(k.isnan(y), x, out)) if kind(x) == "f" else out

    return kernel


def order(predicate: str) -> Any:
    """lt, le, gt, ge; complex numbers lexicographically, as NumPy."""

    def kernel(k: Any, x: Any, y: Any) -> Any:
        if kind(x) == "b":
            x, y = k.cast(x, np.uint8), k.cast(y, np.uint8)
        if kind(x) != "c":
            return k.compare(predicate, x, y)
        ordered = k.not_(k.or_(k.isnan(x.im), k.isnan(y.im)))
        first = k.and_(k.compare(predicate[0] + "t", x.re, y.re), ordered)
        return k.or_(first, k.and_(k.eq(x.re, y.re), k.compare(predicate, x.im, y.im)))

    return kernel


def isinf(k: Any, x: Any) -> Any:
    if kind(x) == "c":
        return k.or_(isinf(k, x.re), isinf(k, x.im))
    return k.eq(fabs(k, x), np.inf)


def isfinite(k: Any, x: Any) -> Any:
    if kind(x) == "c":
        return k.and_(isfinite(k, x.re), isfinite(k, x.im))
    return k.lt(fabs(k, x), np.inf)


def signbit(k: Any, x: Any) -> Any:
    return k.lt(k.float_op("copysign", k.const(1.0, x.dtype), x), 0)


def equal(k: Any, x: Any, y: Any) -> Any:
    return k.not_(k.xor(x, y)) if kind(x) == "b" else k.eq(x, y)


def not_equal(k: Any, x: Any, y: Any) -> Any:
    return k.xor(x, y) if kind(x) == "b" else k.ne(x, y)


# ---------------------------------------------------------------- bits


def shift(op: str) -> Any:
    """Shifts; counts of the width or more (or negative) give what shifting forever would."""

    def kernel(k: Any, x: Any, n: Any) -> Any:
        width = bits(x)
        name = "lshr" if op == "ashr" and kind(x) == "u" else op
        inside = k.and_(k.ge(n, 0), k.lt(n, width)) if kind(n) == "i" else k.lt(n, width)
        last = k.const(width - 1 if name == "ashr" else 0, x.dtype)
        out = k.int_op(name, x, k.select(inside, n, last))
        return out if name == "ashr" else k.select(inside, out, k.const(0, x.dtype))

    return kernel
