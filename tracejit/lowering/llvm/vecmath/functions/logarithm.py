"""Logarithms.

x = 2**e * (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)), and log(1 + f) = f + s*(R - f) with the atanh series R in
s = f/(2 + f). The sum e*log(2) + f is compensated. Zeros, negative, subnormal and infinite arguments are rare ones
(`lowering.llvm.vecmath.rare`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.lowering.llvm.vecmath.core import (  # fmt: skip
    INF,
    NAN,
    bits,
    copysign,
    floats,
    fma,
    fmt,
    horner,
    split,
)
from tracejit.lowering.llvm.vecmath.rare import rare
from tracejit.lowering.llvm.vecmath.tables import POLYNOMIALS


def bits_of(form: Any, value: float) -> int:
    """The bit pattern of a constant."""
    return int(form.dtype.type(value).view(form.int_dtype))


def _exponent(k: Any, x: Any) -> tuple[Any, Any]:
    """(e, i): e as a float and as an integer shifted to the exponent's place, so that x/2**e is in
    [sqrt(1/2), sqrt(2)). x is positive and normal."""
    form = fmt(x)
    b = bits(k, x) - bits_of(form, 0.7071067811865476)
    e = k.cast(k.int_op("ashr", b, form.mantissa), x.dtype)
    return e, k.and_(b, -1 << form.mantissa)


def decompose(k: Any, x: Any) -> tuple[Any, Any]:
    """(e, m): x = 2**e * m for normal positive x, m in [sqrt(1/2), sqrt(2)); e is a float."""
    e, i = _exponent(k, x)
    return e, floats(k, bits(k, x) - i)


def normalised(k: Any, x: Any) -> tuple[Any, Any]:
    """`decompose` for subnormal x too."""
    form = fmt(x)
    tiny = k.lt(x, form.min_normal)
    lift = float(form.mantissa + 2)
    e, m = decompose(k, k.select(tiny, x * 2.0**lift, x))
    return k.select(tiny, e - lift, e), m


def log1p_factors(k: Any, f: Any) -> tuple[Any, Any]:
    """(s, q): log(1 + f) = f + s*q for 1 + f in [sqrt(1/2), sqrt(2)); s = f/(2 + f)."""
    s = f / (2.0 + f)
    z = s * s
    return s, fma(k, z, horner(k, z, POLYNOMIALS["LOG"][f.dtype.itemsize]), k.neg(f))


def log_sum(k: Any, e: Any, f: Any, rest: Any = None) -> Any:
    """e*log(2) + log(1 + f), or where a rest of f is given that of 1 + f + rest."""
    hi, lo = _step("LN2", f.dtype.itemsize)
    s, q = log1p_factors(k, f)
    if rest is not None:
        rest = fma(k, rest, k.neg(f), rest)
    return _compensated(
        k, e, hi, f, lambda lost: fma(k, s, q, fma(k, e, lo, lost if rest is None else lost + rest))
    )


def _step(name: str, size: int) -> list[float]:
    """A constant whose product with an exponent is exact, and the rest."""
    return split(name, size, 2, trim=12 if size == 8 else 9) if name else [1.0, 0.0]


def _compensated(k: Any, e: Any, step: float, p: Any, rest: Callable[[Any], Any]) -> Any:
    """e*step + p + rest(what rounding that sum lost), where e*step is exact, and 0 or larger than p."""
    s = fma(k, e, step, p)
    return s + rest(p - fma(k, e, -step, s))


def _in_base(k: Any, e: Any, f: Any, unit: str, two: str) -> Any:
    """(e*log(2) + log(1 + f)) * unit, where `two` is log(2) in the base."""
    hi, lo = split(unit, f.dtype.itemsize, 2)
    step, less = _step(two, f.dtype.itemsize)
    s, q = log1p_factors(k, f)
    if f.dtype.itemsize == 4:
        small = fma(k, s * q, hi, f * lo)
        p = fma(k, f, hi, fma(k, e, less, small) if less else small)
        return fma(k, e, step, p)
    p = f * hi
    small = fma(k, f, lo, fma(k, f, hi, k.neg(p)))
    small = fma(k, s * q, hi, fma(k, e, less, small) if less else small)
    return _compensated(k, e, step, p, lambda lost: small + lost)


def edges(k: Any, x: Any, y: Any) -> Any:
    """y where 0 < x < inf; -inf at 0, NaN below, x itself at inf and NaN."""
    at_zero = k.select(k.eq(x, 0.0), k.const(-INF, x.dtype), x)
    outside = k.select(k.lt(x, 0.0), k.const(NAN, x.dtype), at_zero)
    return k.select(k.and_(k.gt(x, 0.0), k.lt(x, INF)), y, outside)


def outside(k: Any, x: Any, hi: float) -> Any:
    """Whether x is not within [2*min_normal, hi), or NaN: one comparison of unsigned bits."""
    form = fmt(x)
    unsigned = np.dtype(f"u{form.size}")
    lowest = bits_of(form, 2.0 * form.min_normal)
    b = k.bitcast(x, unsigned) - k.const(lowest, unsigned)
    return k.ge(b, k.const(bits_of(form, hi) - lowest, unsigned))


def _logarithm(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """A logarithm, and the same for every argument."""
    bases = {"log2": ("LOG2E", ""), "log10": ("LOG10E", "LOG10_2")}

    def value(k: Any, e: Any, f: Any) -> Any:
        return _in_base(k, e, f, *bases[name]) if name in bases else log_sum(k, e, f)

    def usual(k: Any, x: Any) -> Any:
        e, m = decompose(k, x)
        return rare(k, outside(k, x, INF), f"{name}.any", value(k, e, m - 1.0), x)

    def of_any(k: Any, x: Any) -> Any:
        e, m = normalised(k, x)
        return edges(k, x, value(k, e, m - 1.0))

    return usual, of_any


log, log_of_any = _logarithm("log")
log2, _log2_of_any = _logarithm("log2")
log10, _log10_of_any = _logarithm("log10")

_SHIFTED = {8: 2.0**1000, 4: 2.0**100}  # from here on 1 + x is x


def log1p(k: Any, x: Any) -> Any:
    u = x + 1.0
    return rare(k, outside(k, u, _SHIFTED[fmt(x).size]), "log1p.any", log1p_of_usual(k, x), x)


def log1p_of_usual(k: Any, x: Any) -> Any:
    """log1p of x above -1 and not very large."""
    return copysign(k, log1p_pair(k, x), x)  # the sign of -0


def log1p_pair(k: Any, x: Any, low: Any = None) -> Any:
    """log(2**e * (1 + f)) with e of fl(1 + x), and f = (x + 1)/2**e - 1 in one step, with what it lost; or where
    `low` is given that of x + low."""
    e, i = _exponent(k, x + 1.0)
    scale = floats(k, bits_of(fmt(x), 1.0) - i)
    less = scale - 1.0
    f = fma(k, scale, x, less)
    rest = fma(k, scale, x, less - f)
    return log_sum(k, e, f, rest if low is None else fma(k, scale, low, rest))


def _log1p_of_any(k: Any, x: Any) -> Any:
    """log1p of -1 and below, of very large numbers and NaN."""
    e, m = decompose(k, x)
    return edges(k, x + 1.0, log_sum(k, e, m - 1.0))


RARE = {
    "log.any": (log_of_any, 1),
    "log2.any": (_log2_of_any, 1),
    "log10.any": (_log10_of_any, 1),
    "log1p.any": (_log1p_of_any, 1),
}
