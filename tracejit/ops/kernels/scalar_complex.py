"""Scalar kernel code for functions of complex numbers.

Branches, signed zeros and infinities are C99's (Annex G), which NumPy follows. complex64 is computed in
float64. Sources: W. Kahan, "Branch cuts for complex elementary functions" (1987) for the inverse functions
and tanh. sin, tan, arcsin and arctan of x + iy are the hyperbolic functions of y + ix, parts swapped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ops.kernels.scalar import F64, complex_div, fabs, hypot, kind

_LARGE = 2.0**1020  # beyond it |re| + |z| would overflow
_SMALL = 2.0**-968
_LN2 = (0.6931471805599453, 2.3190468138462996e-17)  # log(2) as the sum of two doubles
_C128 = np.dtype(np.complex128)

Kernel = Callable[..., Any]


def function(real: Kernel, of_parts: Kernel) -> Kernel:
    """A kernel of floats and complex numbers: `real(k, x)`, or `of_parts(k, re, im) -> (re, im)` in float64."""

    def kernel(k: Any, x: Any) -> Any:
        if kind(x) != "c":
            return real(k, x)
        z = k.cast(x, _C128)
        return k.cast(k.pair(*of_parts(k, z.re, z.im)), x.dtype)

    return kernel


def swapped(of_parts: Kernel) -> Kernel:
    """-i f(iz) for an odd f."""

    def parts(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
        re, im = of_parts(k, y, x)
        return im, re

    return parts


def _const(k: Any, value: float) -> Any:
    return k.const(value, F64)


def _sign(k: Any, size: Any, x: Any) -> Any:
    return k.float_op("copysign", k.lift(size, F64), x)


def _infinite(k: Any, x: Any) -> Any:
    return k.eq(fabs(k, x), np.inf)


def _finite(k: Any, x: Any) -> Any:
    return k.lt(fabs(k, x), np.inf)


# ---------------------------------------------------------------- logarithm and root


def log(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """log|z| + i arg z; near |z| = 1 by log1p of |z|**2 - 1, summed exactly."""
    a, b = fabs(k, x), fabs(k, y)
    big, small = k.select(k.ge(a, b), a, b), k.select(k.ge(a, b), b, a)
    near = k.and_(k.gt(big, 0.5), k.lt(big, 2.0))
    near = k.and_(near, k.and_(k.gt(big * big + small * small, 0.5), k.lt(big * big + small * small, 2.0)))
    p, q = k.select(near, big, _const(k, 1.0)), k.select(near, small, _const(k, 0.0))
    excess = 0.5 * k.math("log1p", _square_excess(k, p, q))
    down, up = k.gt(big, _LARGE), k.lt(big, _SMALL)
    scale = k.select(down, _const(k, 2.0**-64), k.select(up, _const(k, 2.0**128), _const(k, 1.0)))
    ln2 = math.log(2.0)
    back = k.select(down, _const(k, 64 * ln2), k.select(up, _const(k, -128 * ln2), _const(k, 0.0)))
    far = k.math("log", hypot(k, x * scale, y * scale)) + back
    return k.select(near, excess, far), k.math("arctan2", y, x)


def _two_sum(k: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum and what it lost (Knuth)."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def _square_excess(k: Any, a: Any, b: Any) -> Any:
    """a**2 + b**2 - 1, with the errors of the products and sums put back."""
    p, q = a * a, b * b
    lost = k.float_op("fma", a, a, k.neg(p)) + k.float_op("fma", b, b, k.neg(q))
    d, d_lost = _two_sum(k, p, _const(k, -1.0))
    s, s_lost = _two_sum(k, d, q)
    return s + (lost + (d_lost + s_lost))


def sqrt(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """t + i y/(2t) with t = sqrt((|x| + |z|)/2), parts exchanged for x < 0."""
    a, b = fabs(k, x), fabs(k, y)
    m = k.select(k.gt(a, b), a, b)
    down, up = k.gt(m, _LARGE), k.lt(m, _SMALL)
    one = _const(k, 1.0)
    scale = k.select(down, _const(k, 2.0**-4), k.select(up, _const(k, 2.0**108), one))
    back = k.select(down, _const(k, 2.0**2), k.select(up, _const(k, 2.0**-54), one))
    a, b = a * scale, b * scale
    t = k.float_op("sqrt", (a + hypot(k, a, b)) * 0.5)
    u = k.select(k.eq(t, 0.0), t, b / (t + t))
    t, u = t * back, u * back
    negative = k.lt(x, 0.0)
    re, im = k.select(negative, u, t), k.select(negative, t, u)
    # infinities: an infinite y gives (inf, y), an infinite x (inf, 0) or (0, inf); a NaN beside it stays
    at_x = k.select(negative, k.select(k.isnan(y), y, _const(k, 0.0)), a)
    re = k.select(_infinite(k, x), at_x, re)
    im = k.select(_infinite(k, x), k.select(negative, _const(k, np.inf), y * 0.0), im)
    re = k.select(_infinite(k, y), b, re)
    im = k.select(_infinite(k, y), b, im)
    return re, _sign(k, im, y)


# ---------------------------------------------------------------- hyperbolic functions


def _hyperbolic(k: Any, x: Any) -> tuple[Any, Any, Any]:
    """(s, c, f): sinh(x) = s * f and cosh(x) = c * f, where f takes what would overflow."""
    a = fabs(k, x)
    far = k.gt(a, 700.0)
    near = k.select(far, _const(k, 1.0), a)
    factor = k.math("exp", k.select(far, a * 0.5, _const(k, 0.0)))
    s = k.select(far, factor * 0.5, k.math("sinh", near))
    c = k.select(far, factor * 0.5, k.math("cosh", near))
    return _sign(k, s, x), c, factor


def sinh(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    s, c, f = _hyperbolic(k, x)
    cos, sin = k.math("cos", y), k.math("sin", y)
    re, im = s * cos * f, c * sin * f
    im = k.select(k.eq(y, 0.0), y, im)
    odd = k.not_(_finite(k, y))
    re = k.select(k.and_(odd, k.eq(x, 0.0)), x, re)
    return k.select(k.and_(odd, _infinite(k, x)), fabs(k, x), re), im


def cosh(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    s, c, f = _hyperbolic(k, x)
    cos, sin = k.math("cos", y), k.math("sin", y)
    re, im = c * cos * f, s * sin * f
    real = k.or_(k.eq(y, 0.0), k.and_(k.eq(x, 0.0), k.not_(_finite(k, y))))
    im = k.select(real, _sign(k, _const(k, 0.0), x) * _sign(k, _const(k, 1.0), y), im)
    odd = k.and_(k.not_(_finite(k, y)), _infinite(k, x))
    return k.select(odd, fabs(k, x), re), im


def tanh(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """(b r s + i t)/(1 + b s**2), t = tan y, b = 1 + t**2, s = sinh x, r = cosh x; 1 where that rounds to it."""
    far = k.gt(fabs(k, x), 22.0)
    near = k.select(far, _const(k, 0.0), x)
    t, s = k.math("tan", y), k.math("sinh", near)
    b = k.float_op("fma", t, t, _const(k, 1.0))
    d = 1.0 / k.float_op("fma", b, s * s, _const(k, 1.0))
    re, im = b * k.float_op("sqrt", k.float_op("fma", s, s, _const(k, 1.0))) * s * d, t * d
    e = k.math("exp", -2.0 * fabs(k, x))
    double = k.math("sin", y) * k.math("cos", y)
    nothing = _sign(k, _const(k, 0.0), k.select(_finite(k, y), double, y))
    tail = k.select(_infinite(k, x), nothing, 4.0 * double * e)
    defined = k.or_(_finite(k, y), _infinite(k, x))
    re = k.select(far, k.select(defined, _sign(k, _const(k, 1.0), x), _const(k, np.nan)), re)
    im = k.select(far, tail, im)
    real = k.eq(y, 0.0)
    re = k.select(k.and_(k.eq(x, 0.0), k.not_(_finite(k, y))), x, re)
    re = k.select(k.isnan(x), x, re)
    return k.select(real, k.math("tanh", x), re), k.select(real, y, im)


def exp2(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """2**x (cos(y ln 2) + i sin(y ln 2)), the angle in twice the precision."""
    high, low = _const(k, _LN2[0]), _const(k, _LN2[1])
    angle = y * high
    rest = k.float_op("fma", y, low, k.float_op("fma", y, high, k.neg(angle)))
    cos, sin = k.math("cos", angle), k.math("sin", angle)
    return _polar(k, "exp2", 1000.0, x, y, cos - rest * sin, sin + rest * cos)


def exp(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    return _polar(k, "exp", 700.0, x, y, k.math("cos", y), k.math("sin", y))


def _polar(k: Any, name: str, limit: float, x: Any, y: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    """b**x * (cos + i sin); beyond `limit`, where b**x overflows, by b**(x/2) twice."""
    far = k.gt(x, limit)
    size = k.math(name, k.select(far, x * 0.5, x))
    again = k.select(far, size, _const(k, 1.0))
    re, im = size * cos * again, size * sin * again
    size = size * again
    odd = k.and_(k.not_(_finite(k, y)), _infinite(k, x))
    re = k.select(odd, size, re)
    im = k.select(k.and_(odd, k.lt(x, 0.0)), _sign(k, _const(k, 0.0), y), im)
    real = k.eq(y, 0.0)
    return k.select(real, size, re), k.select(real, y, im)


def expm1(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """expm1(x) cos y - 2 sin(y/2)**2 + i e**x sin y."""
    half = k.math("sin", y * 0.5)
    re = k.math("expm1", x) * k.math("cos", y) - 2.0 * half * half
    return re, k.math("exp", x) * k.math("sin", y)


def log1p(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """log(1 + z), the real part near z = 0 by log1p(x (2 + x) + y**2) / 2."""
    near = k.and_(k.lt(fabs(k, x), 0.25), k.lt(fabs(k, y), 0.25))
    a, b = k.select(near, x, _const(k, 0.0)), k.select(near, y, _const(k, 0.0))
    excess = k.float_op("fma", b, b, a * (2.0 + a))
    far, angle = log(k, x + 1.0, y)
    return k.select(near, 0.5 * k.math("log1p", excess), far), angle


# ---------------------------------------------------------------- inverse functions


def _roots(k: Any, x: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """The parts of sqrt(1 - z) and of sqrt(1 + z)."""
    return (*sqrt(k, 1.0 - x, k.neg(y)), *sqrt(k, 1.0 + x, y))


def arcsin(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    ar, ai, br, bi = _roots(k, x, y)
    re = k.math("arctan2", x, ar * br - ai * bi)
    im = k.math("arcsinh", ar * bi - ai * br)
    infinite = k.or_(_infinite(k, x), _infinite(k, y))
    re = k.select(infinite, k.math("arctan2", x, fabs(k, y)), re)
    re = k.select(k.eq(x, 0.0), x, re)
    im = k.select(infinite, _sign(k, _const(k, np.inf), y), im)
    return re, _sign(k, im, y)


def arccos(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    ar, ai, br, bi = _roots(k, x, y)
    re = 2.0 * k.math("arctan2", ar, br)
    im = k.math("arcsinh", br * ai - bi * ar)
    infinite = k.or_(_infinite(k, x), _infinite(k, y))
    re = k.select(infinite, k.math("arctan2", fabs(k, y), x), re)
    im = k.select(infinite, _const(k, np.inf), im)
    re = k.select(k.and_(k.eq(x, 0.0), k.isnan(y)), _const(k, math.pi / 2), re)
    return re, _sign(k, im, k.neg(y))


def arccosh(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    re, im = arccos(k, x, y)
    return fabs(k, im), _sign(k, re, y)


def arctanh(k: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """log1p(4|x|/((1 - |x|)**2 + y**2))/4 + i atan2(2y, (1 - x)(1 + x) - y**2)/2; far away 1/z and pi/2."""
    a, b = fabs(k, x), fabs(k, y)
    far = k.or_(k.gt(a, 2.0**500), k.gt(b, 2.0**500))
    p, q = k.select(far, _const(k, 0.0), a), k.select(far, _const(k, 0.0), b)
    d = 1.0 - p
    re = 0.25 * k.math("log1p", 4.0 * p / k.float_op("fma", q, q, d * d))
    im = 0.5 * k.math("arctan2", 2.0 * q, k.float_op("fma", k.neg(q), q, d * (1.0 + p)))
    pole = k.and_(k.eq(d, 0.0), k.lt(q, 2.0**-500))
    re = k.select(pole, 0.5 * (math.log(2.0) - k.math("log", k.select(pole, q, _const(k, 1.0)))), re)
    h = hypot(k, x, y)
    re = k.select(far, k.select(_infinite(k, h), _const(k, 0.0), a / h / h), re)
    unknown = k.or_(k.isnan(y), k.and_(k.isnan(x), _finite(k, y)))
    im = k.select(far, k.select(unknown, _const(k, np.nan), _const(k, math.pi / 2)), im)
    re = k.select(k.and_(k.eq(x, 0.0), k.isnan(y)), a, re)
    return _sign(k, re, x), _sign(k, im, y)


# ---------------------------------------------------------------- powers, signs


def power(k: Any, z: Any, w: Any) -> Any:
    """z**w as NumPy: by squaring for integers w below 100 in size, else exp(w log z); 0**w is 0 for re w > 0,
    else NaN."""
    dtype = z.dtype
    z, w = k.cast(z, _C128), k.cast(w, _C128)
    whole = k.and_(k.eq(w.im, 0.0), k.eq(k.float_op("trunc", w.re), w.re))
    whole = k.and_(whole, k.lt(fabs(k, w.re), 100.0))
    zero = k.eq(z, k.const(0.0, _C128))
    logarithm = k.pair(*log(k, k.select(zero, _const(k, 1.0), z.re), z.im))
    general = k.pair(*exp(k, *_product(k, w, logarithm)))
    out = k.select(whole, _integer_power(k, z, k.select(whole, w.re, _const(k, 0.0))), general)
    nan = k.pair(_const(k, np.nan), _const(k, np.nan))
    out = k.select(zero, k.select(k.gt(w.re, 0.0), k.const(0.0, _C128), nan), out)
    return k.cast(k.select(k.eq(w, k.const(0.0, _C128)), k.const(1.0, _C128), out), dtype)


def _integer_power(k: Any, z: Any, n: Any) -> Any:
    """z**n for a whole float |n| < 128, in NumPy's order: 1, 2 and 3 apart, other powers from 1 + 0i."""
    bits = k.cast(fabs(k, n), np.int64)
    one = k.const(1.0, _C128)
    out, p = one, z
    for i in range(7):
        out = k.select(k.ne(k.and_(bits, 1 << i), 0), k.mul(out, p), out)
        p = k.mul(p, p) if i < 6 else p
    out = k.select(k.lt(n, 0.0), complex_div(k, one, out), out)
    square = k.mul(z, z)
    for power_, value in ((1.0, z), (2.0, square), (3.0, k.mul(square, z))):
        out = k.select(k.eq(n, power_), value, out)
    return out


def _product(k: Any, z: Any, w: Any) -> tuple[Any, Any]:
    """z * w with the infinities that C99 (Annex G.5.1) finds where the formula gives NaN + i NaN."""
    plain = k.mul(z, w)
    at_z = k.or_(_infinite(k, z.re), _infinite(k, z.im))
    at_w = k.or_(_infinite(k, w.re), _infinite(k, w.im))
    a, b = (_boxed(k, x, at_z, at_w) for x in (z.re, z.im))
    c, d = (_boxed(k, x, at_w, at_z) for x in (w.re, w.im))
    lost = k.and_(k.and_(k.isnan(plain.re), k.isnan(plain.im)), k.or_(at_z, at_w))
    inf = _const(k, np.inf)
    return k.select(lost, inf * (a * c - b * d), plain.re), k.select(lost, inf * (a * d + b * c), plain.im)


def _boxed(k: Any, x: Any, infinite: Any, other: Any) -> Any:
    """A part of a factor: of an infinite one ±1 or ±0, and beside an infinite one 0 for NaN, with its sign."""
    one, zero = _const(k, 1.0), _const(k, 0.0)
    x = k.select(infinite, _sign(k, k.select(_infinite(k, x), one, zero), x), x)
    return k.select(k.and_(other, k.isnan(x)), _sign(k, zero, x), x)


def sign(k: Any, z: Any) -> Any:
    """z / |z|; 0 at 0; ±1 or ±i where one part is infinite, NaN where both are, or where |z| is."""
    zero = k.const(0.0, z.re.dtype)
    size = hypot(k, z.re, z.im)
    re, im = z.re / size, z.im / size
    one = k.const(1.0, z.re.dtype)
    at_re, at_im = _infinite(k, z.re), _infinite(k, z.im)
    re = k.select(at_re, k.float_op("copysign", one, z.re), k.select(at_im, zero, re))
    im = k.select(at_im, k.float_op("copysign", one, z.im), k.select(at_re, zero, im))
    bad = k.or_(k.isnan(size), k.and_(at_re, at_im))
    nan, none = k.const(np.nan, z.re.dtype), k.eq(size, 0.0)
    re, im = k.select(none, zero, re), k.select(none, zero, im)
    return k.pair(k.select(bad, nan, re), k.select(bad, nan, im))


# ---------------------------------------------------------------- by name

_OF_PARTS: dict[str, Kernel] = {
    "log": log, "exp": exp, "exp2": exp2, "expm1": expm1, "log1p": log1p,
    "sinh": sinh, "cosh": cosh, "tanh": tanh, "sin": swapped(sinh), "tan": swapped(tanh),
    "cos": lambda k, x, y: cosh(k, k.neg(y), x),
    "arcsin": arcsin, "arccos": arccos, "arccosh": arccosh, "arctanh": arctanh,
    "arcsinh": swapped(arcsin), "arctan": swapped(arctanh),
}  # fmt: skip


def by_name(name: str) -> Kernel:
    """vecmath's function `name` of floats, and its complex counterpart where there is one."""

    def real(k: Any, x: Any) -> Any:
        return k.math(name, x)

    return function(real, _OF_PARTS[name]) if name in _OF_PARTS else real
