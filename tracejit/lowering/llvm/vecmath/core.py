"""Building blocks of the vector functions: formats, exact sums and products, polynomials.

Everything is branch-free code on the loop IR builder `k`, written once for float32 and float64. Fused
multiply-adds are explicit (`fma`), so a function has the same bits in vector bodies, tails and on every
host. Integers have the width of the floats, and conversions between the two go through the bits of a
float near 1.5 * 2**mantissa ("magic"), because 64-bit conversions need AVX-512.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tracejit.lowering.llvm.vecmath.tables import CONSTANTS, POLYNOMIALS
from tracejit.lowering.loops.nodes import Const
from tracejit.records import record


@record(frozen=True)
class Format:
    """The layout of a binary float format."""

    dtype: np.dtype
    int_dtype: np.dtype
    mantissa: int  # stored bits
    bias: int

    @property
    def magic(self) -> float:
        """Adding this rounds to an integer, which then stands in the low bits."""
        return 1.5 * 2.0**self.mantissa

    @property
    def magic_bits(self) -> int:
        return ((self.bias + self.mantissa) << self.mantissa) | (1 << (self.mantissa - 1))

    @property
    def min_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def size(self) -> int:
        return self.dtype.itemsize


FORMATS = {
    4: Format(np.dtype(np.float32), np.dtype(np.int32), 23, 127),
    8: Format(np.dtype(np.float64), np.dtype(np.int64), 52, 1023),
}
INF, NAN = float("inf"), float("nan")


def fmt(x: Any) -> Format:
    return FORMATS[x.dtype.itemsize]


def as_float(value: Fraction, size: int) -> float:
    """`value` rounded to the format of `size` bytes."""
    return float(np.float32(float(value))) if size == 4 else float(value)


def split(name: str, size: int, parts: int, trim: int = 0) -> list[float]:
    """A constant as a sum of `parts` floats; the first has `trim` trailing zero bits, so that its
    product with a small integer is exact."""
    rest, out = Fraction(CONSTANTS[name]), []
    for i in range(parts):
        part = as_float(rest, size)
        if trim and i == 0:
            m, e = np.frexp(part)
            digits = FORMATS[size].mantissa + 1 - trim
            part = float(np.ldexp(np.floor(np.ldexp(m, digits)), e - digits))
        out.append(part)
        rest -= Fraction(part)
    return out


def constant(k: Any, x: Any, name: str) -> Const:
    """A named constant in x's format."""
    return k.const(split(name, x.dtype.itemsize, 1)[0], x.dtype)


def fma(k: Any, a: Any, b: Any, c: Any) -> Any:
    """a*b + c with one rounding."""
    return k.float_op("fma", a, b, c)


def two_sum(k: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """(s, e) with s = fl(a + b) and s + e = a + b exactly (Knuth)."""
    s = a + b
    bb = s - a
    return s, (a - (s - bb)) + (b - bb)


def fast_two_sum(k: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """As `two_sum`, for |a| >= |b| or a == 0 (Dekker)."""
    s = a + b
    return s, b - (s - a)


def two_prod(k: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """(p, e) with p = fl(a * b) and p + e = a * b exactly."""
    p = k.mul(a, b)
    return p, fma(k, a, b, k.neg(p))


def horner(k: Any, x: Any, coefficients: Sequence[Any]) -> Any:
    """The polynomial with these coefficients, numbers or values, lowest power first."""
    y = k.lift(coefficients[-1], x.dtype)
    for c in coefficients[-2::-1]:
        y = fma(k, y, x, c)
    return y


def polynomial(k: Any, x: Any, name: str, sign: float = 1.0) -> Any:
    """A table of `tables.POLYNOMIALS` at x, times `sign`."""
    return even_odd(k, x, [c * sign for c in POLYNOMIALS[name][x.dtype.itemsize]])


def even_odd(k: Any, x: Any, c: Sequence[Any]) -> Any:
    """The polynomial with these coefficients: even and odd powers apart, to shorten the chain."""
    square = x * x
    return fma(k, horner(k, square, c[1::2]), x, horner(k, square, c[0::2]))


def first_last(k: Any, x: Any, c: Sequence[Any]) -> Any:
    """The polynomial with these coefficients, the first one added last: rounded once at the size of the whole."""
    return fma(k, x, even_odd(k, x, c[1:]), c[0])


def by_pairs(k: Any, x: Any, coefficients: Sequence[Any]) -> Any:
    """The polynomial by Horner's rule on pairs of coefficients: as many steps as `even_odd`, in a shorter chain."""
    return horner(k, x * x, pairs(k, x, coefficients))


def pairs(k: Any, x: Any, coefficients: Sequence[Any]) -> list[Any]:
    """a + b*x for every two coefficients, and the last one if it is alone."""
    c = [k.lift(v, x.dtype) for v in coefficients]
    return [fma(k, b, x, a) for a, b in zip(c[::2], c[1::2], strict=False)] + c[len(c) & ~1 :]


def estrin(k: Any, x: Any, coefficients: Sequence[Any]) -> Any:
    """The polynomial by pairs, pairs of pairs …: more multiplications than `horner`, and the shortest chain."""
    c = [k.lift(v, x.dtype) for v in coefficients]
    while len(c) > 1:
        c = pairs(k, x, c)
        x = x * x
    return c[0]


def bits(k: Any, x: Any) -> Any:
    return k.bitcast(x, fmt(x).int_dtype)


def floats(k: Any, i: Any) -> Any:
    return k.bitcast(i, FORMATS[i.dtype.itemsize].dtype)


def fabs(k: Any, x: Any) -> Any:
    return k.float_op("fabs", x)


def copysign(k: Any, x: Any, sign: Any) -> Any:
    return k.float_op("copysign", x, sign)


def near_reciprocal(k: Any, x: Any) -> Any:
    """1/x within an eighth, for the correction of something that needs no more; a large number at 0."""
    form = fmt(x)
    return floats(k, ((2 * form.bias) << form.mantissa) - bits(k, x) - (1 << form.mantissa - 3))


def clamp(k: Any, x: Any, lo: float, hi: float) -> Any:
    """x within [lo, hi]; NaN stays. (Two instructions, as the second select is of the first.)"""
    x = k.select(k.lt(x, lo), k.const(lo, x.dtype), x)
    return k.select(k.gt(x, hi), k.const(hi, x.dtype), x)


def at_most(k: Any, x: Any, hi: float) -> Any:
    """min(x, hi); NaN stays."""
    return k.select(k.gt(x, hi), k.const(hi, x.dtype), x)
