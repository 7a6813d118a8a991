"""Circular functions.

x = n*pi/2 + r by fused steps. For |n| < 2**(mantissa - 1), x - n*p1 is exact in one fma, because it is a multiple of
the last bit of p1, which is pi/2 rounded down to one bit less than the format has, and smaller than 2; two further
parts of pi/2 bring r to twice the precision. Sine and cosine are one polynomial with the coefficients of the quarter:
a select costs less than a multiplication. Arguments too large for this are rare ones (`vecmath.rare`): in
float64 they go through Payne and Hanek's reduction (`huge`), in float32 through float64, where two
parts of pi are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.lowering.llvm.vecmath.core import (  # fmt: skip
    FORMATS,
    bits,
    even_odd,
    fabs,
    floats,
    fma,
    fmt,
    horner,
    polynomial,
    split,
    two_prod,
    two_sum,
)
from tracejit.lowering.llvm.vecmath.rare import rare
from tracejit.lowering.llvm.vecmath.tables import POLYNOMIALS

_F64 = np.dtype(np.float64)
_MAGIC = FORMATS[8].magic
_HUGE = {8: 2.0**36, 4: 2.0**11}  # in float32 the quotient times the second part of pi/2 is exact
_VERY_HUGE = 2.0**30


def _reduce(k: Any, x: Any) -> tuple[Any, Any, Any]:
    """(q, r, c): x = q*pi/2 + r - c for |x| <= _HUGE; the low bits of the integer q count quarters. c is never -0."""
    form = fmt(x)
    p1, p2, p3 = split("PI_2", form.size, 3, trim=1)  # from below: a product with n = 0 keeps the sign of -0
    if form.size == 4:
        p2, p3 = _trimmed(p2, p3)
    t = fma(k, x, split("TWO_OVER_PI", form.size, 1)[0], form.magic)
    n = t - form.magic
    exact = fma(k, n, -p1, x)
    if form.size == 4:
        r = fma(k, n, -p2, exact)
        return bits(k, t), r, fma(k, n, p3, fma(k, n, p2, r - exact))
    h, low = two_prod(k, n, k.const(p2, _F64))
    r, e = two_sum(k, exact, k.neg(h))
    return bits(k, t), r, fma(k, n, p3, low - e)


def _trimmed(hi: float, lo: float) -> tuple[float, float]:
    """A float32 constant in two parts again, the first of 13 bits."""
    bits = np.float32(hi).view(np.uint32) & np.uint32(0xFFFFF800)
    top = float(bits.view(np.float32))
    return top, float(np.float32(hi - top + lo))


def _bit(k: Any, q: Any, mask: int) -> Any:
    return k.ne(k.and_(q, mask), 0)


def _quarters(k: Any, q: Any, r: Any, c: Any) -> Any:
    """sin(r - c + q*pi/2) for |r| <= pi/4: r - tail in even quarters, (1 - r*r/2) - tail in odd ones.

    One polynomial with the quarter's coefficients. The tail of a zero is never -0, so that the sine keeps its sign.
    """
    size = r.dtype.itemsize
    odd = _bit(k, q, 1)
    z = r * r
    top = fma(k, z, -0.5, 1.0)
    lost = fma(k, z, 0.5, top - 1.0)
    low = fma(k, k.select(odd, k.neg(r), top), c, k.select(odd, lost, k.const(0.0, r.dtype)))
    both = zip(POLYNOMIALS["COS"][size], POLYNOMIALS["SIN"][size], strict=True)
    p = even_odd(k, z, [k.select(odd, k.const(-a, r.dtype), k.const(-b, r.dtype)) for a, b in both])
    y = k.select(odd, top, r) - fma(k, k.select(odd, z * z, r * z), p, low)
    return floats(k, k.xor(bits(k, y), _sign(k, k.int_op("shl", q, size * 8 - 2))))


def _sign(k: Any, i: Any) -> Any:
    """The sign bit of an integer."""
    return k.and_(i, -1 << (i.dtype.itemsize * 8 - 1))


def _sine(k: Any, q: Any, r: Any, c: Any) -> Any:
    return _quarters(k, q, r, c)


def _cosine(k: Any, q: Any, r: Any, c: Any) -> Any:
    return _quarters(k, q + 1, r, c)


def _tangent(k: Any, q: Any, r: Any, c: Any) -> Any:
    """tan(r - c) by a polynomial, and in odd quarters -1 over it as a pair."""
    z = r * r
    tail = fma(k, r * z, polynomial(k, z, "TAN", -1.0), fma(k, z, c, c))
    even = r - tail
    low = (r - even) - tail
    over = -1.0 / even
    odd = fma(k, over, fma(k, over, low, fma(k, over, even, 1.0)), over)
    return k.select(_bit(k, q, 1), odd, even)


def _circular(name: str, of: Callable[..., Any]) -> Callable[..., Any]:
    """The function with `of(k, q, r, c)` for its values; arguments beyond the reduction's range are rare."""

    def run(k: Any, x: Any) -> Any:
        beyond = k.gt(fabs(k, x), _HUGE[fmt(x).size])
        return rare(k, beyond, f"{name}.any", of(k, *_reduce(k, x)), x)

    return run


sin, cos, tan = _circular("sin", _sine), _circular("cos", _cosine), _circular("tan", _tangent)

# ---------------------------------------------------------------- large arguments


def _reduce_any(k: Any, x: Any) -> tuple[Any, Any, Any]:
    """`_reduce` of doubles of any size."""
    huge = k.gt(fabs(k, x), _HUGE[8])
    q, r, c = _reduce(k, x)
    tail = rare(k, huge, "huge_tail", k.neg(c), x)
    return k.select(huge, bits(k, tail), q), rare(k, huge, "huge_rest", r, x), k.neg(tail)


def _large(k: Any, x: Any, ahead: int) -> Any:
    """The sine of x + ahead*pi/2 of a float32 in float64: x = (n - ahead/2)*pi + r, n even: sin(r), odd: -sin(r)."""
    w = k.cast(x, _F64)
    t = fma(k, w, 1 / np.pi, ahead * -0.5) + (_MAGIC + ahead)
    n = (t - _MAGIC) - 0.5 * ahead
    hi, lo = split("PI", 8, 2)
    r = fma(k, n, -lo, fma(k, n, -hi, w))
    r = floats(k, k.xor(bits(k, r), k.int_op("shl", bits(k, t), 63)))
    v = rare(k, k.gt(fabs(k, x), _VERY_HUGE), "huge_cos" if ahead else "huge_sin", r, w)
    z = v * v
    return k.cast(v * fma(k, z, horner(k, z, POLYNOMIALS["HALF_TURN"][4]), 1.0), np.float32)


def _sin_any(k: Any, x: Any) -> Any:
    return _sine(k, *_reduce_any(k, x)) if x.dtype == _F64 else _large(k, x, 0)


def _cos_any(k: Any, x: Any) -> Any:
    return _cosine(k, *_reduce_any(k, x)) if x.dtype == _F64 else _large(k, x, 1)


def _tan_any(k: Any, x: Any) -> Any:
    return k.cast(_tangent(k, *_reduce_any(k, k.cast(x, _F64))), x.dtype)


RARE = {"sin.any": (_sin_any, 1), "cos.any": (_cos_any, 1), "tan.any": (_tan_any, 1)}
