"""Circular functions.

x = n*pi/2 + r by fused steps. For |n| < 2**(mantissa - 1), x - n*fl(pi/2) is exact in one fma, because it is a multiple
of the last bit of fl(pi/2) and smaller than 2; two further parts of pi/2 bring r to twice the precision. Arguments
too large for this are rare ones (`lowering.vecmath.rare`): in float64 they go through Payne and Hanek's reduction
(`lowering.vecmath.huge`), in float32 first through float64, where two parts of pi are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.lowering.vecmath.core import (
    FORMATS,
    bits,
    fabs,
    floats,
    fma,
    fmt,
    horner,
    polynomial,
    split,
    two_prod,
    two_sum,
)  # fmt: skip
from tracejit.lowering.vecmath.rare import rare
from tracejit.lowering.vecmath.tables import POLYNOMIALS

_F64 = np.dtype(np.float64)
_MAGIC = FORMATS[8].magic
_HUGE = {8: 2.0**36, 4: 2.0**11}  # in float32 the quotient times the second part of pi/2 is exact
_VERY_HUGE = 2.0**30


def _reduce(k: Any, a: Any) -> tuple[Any, Any, Any]:
    """(q, r, c): a = q*pi/2 + r + c for 0 <= a <= _HUGE; the low bits of the integer q count quarters."""
    form = fmt(a)
    p1, p2, p3 = split("PI_2", form.size, 3)
    if form.size == 4:
        p2, p3 = _trimmed(p2, p3)
    t = fma(k, a, split("TWO_OVER_PI", form.size, 1)[0], form.magic)
    n = t - form.magic
    exact = fma(k, n, -p1, a)
    if form.size == 4:
        r = fma(k, n, -p2, exact)
        return bits(k, t), r, fma(k, n, -p3, fma(k, n, -p2, exact - r))
    h, low = two_prod(k, n, k.const(p2, _F64))
    r, e = two_sum(k, exact, k.neg(h))
    return bits(k, t), r, fma(k, n, -p3, e - low)


def _trimmed(hi: float, lo: float) -> tuple[float, float]:
    """A float32 constant in two parts again, the first of 13 bits."""
    bits = np.float32(hi).view(np.uint32) & np.uint32(0xFFFFF800)
    top = float(bits.view(np.float32))
    return top, float(np.float32(hi - top + lo))


def _reduce_any(k: Any, x: Any) -> tuple[Any, Any, Any]:
    """`_reduce` of doubles of any size and sign."""
    huge = k.gt(fabs(k, x), _HUGE[8])
    q, r, c = _reduce(k, x)
    c = rare(k, huge, "huge_tail", c, x)
    return k.select(huge, bits(k, c), q), rare(k, huge, "huge_rest", r, x), c


def _sin_poly(k: Any, r: Any, c: Any, z: Any) -> Any:
    """sin(r + c) for |r| <= pi/4, z = r*r."""
    last = fma(k, z * -0.5, c, c) if r.dtype == _F64 else c
    return r + fma(k, r * z, polynomial(k, z, "SIN"), last)


def _cos_poly(k: Any, r: Any, c: Any, z: Any) -> Any:
    """cos(r + c): 1 - z/2 is split so that what it loses is added with the tail."""
    top = fma(k, z, -0.5, 1.0)
    lost = fma(k, z, -0.5, 1.0 - top)
    return top + fma(k, z * z, polynomial(k, z, "COS"), fma(k, k.neg(r), c, lost))


def _bit(k: Any, q: Any, mask: int) -> Any:
    return k.ne(k.and_(q, mask), 0)


def _quarters(k: Any, q: Any, r: Any, c: Any) -> Any:
    """sin(r + c + q*pi/2)."""
    z = r * r
    y = k.select(_bit(k, q, 1), _cos_poly(k, r, c, z), _sin_poly(k, r, c, z))
    return floats(k, k.xor(bits(k, y), _sign(k, k.int_op("shl", q, fmt(r).size * 8 - 2))))


def _sign(k: Any, i: Any) -> Any:
    """The sign bit of an integer."""
    return k.and_(i, -1 << (i.dtype.itemsize * 8 - 1))


def sin(k: Any, x: Any) -> Any:
    if x.dtype == _F64:
        return k.select(k.eq(x, 0.0), x, _quarters(k, *_reduce_any(k, x)))
    a = fabs(k, x)
    y = _quarters(k, *_reduce(k, a))
    y = floats(k, k.xor(bits(k, y), _sign(k, bits(k, x))))
    return rare(k, k.not_(k.le(a, _HUGE[4])), "sin.any", y, x)


def cos(k: Any, x: Any) -> Any:
    a = fabs(k, x)
    q, r, c = _reduce_any(k, x) if x.dtype == _F64 else _reduce(k, a)
    y = _quarters(k, q + 1, r, c)
    return y if x.dtype == _F64 else rare(k, k.not_(k.le(a, _HUGE[4])), "cos.any", y, x)


def tan(k: Any, x: Any) -> Any:
    """r + r**3*p(r**2), and in odd quarters -1 over it as a pair."""
    a = fabs(k, x)
    q, r, c = _reduce_any(k, x) if x.dtype == _F64 else _reduce(k, a)
    z = r * r
    tail = fma(k, r * z, polynomial(k, z, "TAN"), fma(k, z, c, c))
    even = r + tail
    low = (r - even) + tail
    over = -1.0 / even
    odd = fma(k, over, fma(k, over, low, fma(k, over, even, 1.0)), over)
    y = k.select(_bit(k, q, 1), odd, even)
    if x.dtype == _F64:
        return k.select(k.eq(x, 0.0), x, y)
    y = floats(k, k.xor(bits(k, y), _sign(k, bits(k, x))))
    return rare(k, k.not_(k.le(a, _HUGE[4])), "tan.any", y, x)


# ---------------------------------------------------------------- large arguments in float32


def _large(ahead: int) -> Callable[..., Any]:
    """The sine of x + ahead*pi/2 in float64: x = (n - ahead/2)*pi + r, n even: sin(r), odd: -sin(r)."""

    def run(k: Any, x: Any) -> Any:
        w = k.cast(x, _F64)
        t = fma(k, w, 1 / np.pi, ahead * -0.5) + (_MAGIC + ahead)
        n = (t - _MAGIC) - 0.5 * ahead
        hi, lo = split("PI", 8, 2)
        r = fma(k, n, -lo, fma(k, n, -hi, w))
        r = floats(k, k.xor(bits(k, r), k.int_op("shl", bits(k, t), 63)))
        v = rare(k, k.gt(fabs(k, x), _VERY_HUGE), "huge_cos" if ahead else "huge_sin", r, w)
        z = v * v
        return k.cast(v * fma(k, z, horner(k, z, POLYNOMIALS["HALF_TURN"][4]), 1.0), np.float32)

    return run


RARE = {
    "sin.any": (_large(0), 1),
    "cos.any": (_large(1), 1),
    "tan.any": (lambda k, x: k.cast(tan(k, k.cast(x, _F64)), np.float32), 1),
}
