"""Gamma and modified Bessel functions: minimax polynomials on a few pieces, without branches.

They compute in float64; float32 is converted on the way in and out, so that its results are rounded once
but for rare ties. The pieces are evaluated on arguments limited to their domains and selected.

lgamma: polynomials around 1 and 2, where it is zero, and Stirling's series with a fitted rest from 3 on.
digamma: a polynomial over the distance from its root for [1, 3], the asymptotic series from 3 on; both
follow the reflection formulas for negative arguments: near their zeros there, only the absolute error is
small. Bessel functions: the power series refitted up to 7.75, the asymptotic form beyond. Coefficients:
tools/special_coefficients.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.lowering.llvm.vecmath.core import (
    INF,
    NAN,
    copysign,
    fabs,
    fast_two_sum,
    fma,
    horner,
    two_prod,
    two_sum,
)
from tracejit.lowering.llvm.vecmath.functions import exponential, logarithm, normal, power
from tracejit.lowering.llvm.vecmath.pieces import (
    const,
    exp_parts,
    table,
    table_pair,
    times_table,
    wide,
    within,
)
from tracejit.lowering.llvm.vecmath.special_tables import TABLES

_HALF_LOG_2PI = (0.9189385332046728, -3.8782941580672414e-17)
_DIGAMMA_ROOT = (1.4616321449683622, 9.549995429965697e-17)

# ---------------------------------------------------------------- gamma functions


def _nearest(k: Any, x: Any) -> tuple[Any, Any]:
    """(x - rint(x), whether x is whole); 0 and True for numbers too big to have a fraction."""
    r = x - k.float_op("rint", x)
    whole = k.eq(r, 0.0)
    return k.select(whole, const(k, 0.0), r), whole


def _lgamma_positive(k: Any, x: Any) -> Any:
    """log(gamma(x)) for x > 0; NaN and infinities give something."""
    small = k.lt(x, 0.5)
    u = k.select(small, x, x - 1.0)
    u = within(k, u, -0.5, 0.5)
    near_one = times_table(k, u, u, "LGAMMA1")
    tiny = k.select(k.gt(x, 0.0), x, const(k, 1.0))
    near_zero = near_one - logarithm.log_of_any(k, tiny)
    v = within(k, x - 2.0, -0.5, 1.0)
    near_two = times_table(k, v, v, "LGAMMA2")
    low = k.select(small, near_zero, k.select(k.lt(x, 1.5), near_one, near_two))
    return k.select(k.lt(x, 3.0), low, _stirling(k, x))


def _stirling(k: Any, x: Any) -> Any:
    """(x - 1/2)(log x - 1) + log(2 pi)/2 - 1/2 + rest(1/x**2)/x for x >= 3, with log x as a pair."""
    x = k.select(k.ge(x, 3.0), k.select(k.lt(x, 1e306), x, const(k, 1e306)), const(k, 3.0))
    hi, lo = power.log_pair(k, x)
    hi, e = fast_two_sum(k, hi, const(k, -1.0))
    lo = lo + e
    h, h_lo = two_sum(k, x, const(k, -0.5))
    p, p_lo = two_prod(k, hi, h)
    p_lo = fma(k, lo, h, fma(k, hi, h_lo, p_lo))
    s, e = two_sum(k, p, const(k, _HALF_LOG_2PI[0] - 0.5))
    inverse = 1.0 / x
    return s + (fma(k, inverse, table(k, inverse * inverse, "LGAMMA_TAIL"), p_lo) + (e + _HALF_LOG_2PI[1]))


@wide
def lgamma(k: Any, x: Any) -> Any:
    """log(|gamma(x)|); inf at 0 and the negative integers. Below 0 by log(pi / |x sin(pi x)|) - lgamma(-x)."""
    a = fabs(k, x)
    y = _lgamma_positive(k, a)
    y = k.select(k.gt(a, 2.5e305), a * (logarithm.log_of_any(k, a) - 1.0), y)  # overflows where it should
    r, whole = _nearest(k, a)
    sine = fabs(k, r) * table(k, r * r, "SINPI") * a
    usual = k.and_(k.lt(x, 0.0), k.not_(whole))
    reflected = logarithm.log_of_any(k, np.pi / k.select(usual, sine, const(k, 1.0))) - y
    # For tiny x the sine's product with x leaves the range: there log|gamma(x)| is -log|x|.
    reflected = k.select(k.lt(a, 1e-20), k.neg(logarithm.log_of_any(k, a)), reflected)
    z = k.select(usual, reflected, k.select(k.gt(x, 0.0), y, const(k, INF)))
    z = k.select(k.eq(x, INF), x, k.select(k.isnan(x), x, z))
    return k.select(k.eq(x, -INF), x, z)


def _digamma_above_one(k: Any, x: Any, d: Any, v: Any) -> Any:
    """digamma(x) for x >= 1; d: its distance from the root, v: x - 2, both exact where x is rounded."""
    near = times_table(k, d, within(k, v, -1.0, 1.0), "DIGAMMA")
    far = k.select(k.ge(x, 3.0), k.select(k.lt(x, 1e300), x, const(k, 1e300)), const(k, 3.0))
    inverse = 1.0 / far
    z = inverse * inverse
    tail = fma(k, inverse, 0.5, z * table(k, z, "DIGAMMA_TAIL"))
    far = logarithm.log_of_any(k, k.select(k.ge(x, 3.0), x, const(k, 3.0))) - tail
    return k.select(k.lt(x, 3.0), near, far)


@wide
def digamma(k: Any, x: Any) -> Any:
    """The derivative of lgamma. Below 1 by digamma(1 + x) - 1/x, below 0 by reflection to 1 - x; infinite at
    0 (its sign the opposite of x's), NaN at the negative integers."""
    a = fabs(k, x)
    shift = k.lt(x, 1.0)  # from x to 1 + x, or from negative x to 1 - x
    top = k.select(shift, 1.0 + a, x)
    distance = k.select(
        shift, (a - (_DIGAMMA_ROOT[0] - 1.0)) - _DIGAMMA_ROOT[1], (x - _DIGAMMA_ROOT[0]) - _DIGAMMA_ROOT[1]
    )
    y = _digamma_above_one(k, top, distance, k.select(shift, a - 1.0, x - 2.0))
    one = const(k, 1.0)
    r, whole = _nearest(k, x)
    negative = k.lt(x, 0.0)
    size = fabs(k, r)
    sine = size * table(k, r * r, "SINPI")
    c = 0.5 - size
    cosine = c * table(k, c * c, "SINPI")
    cotangent = copysign(k, np.pi * cosine / k.select(whole, one, sine), r)
    d = k.select(k.and_(shift, k.ne(x, 0.0)), x, one)
    q = 1.0 / d
    q_lo = fma(k, k.neg(q), d, one) * q
    s, e = two_sum(k, y, k.neg(q))
    lifted = s + (e - k.select(k.lt(fabs(k, q), 1e300), q_lo, const(k, 0.0)))
    z = k.select(negative, y - cotangent, k.select(shift, lifted, y))
    # near 0 both formulas are -1/x - 0.577 …
    z = k.select(k.lt(a, 1e-17), k.neg(1.0 / x), z)
    z = k.select(k.and_(negative, whole), const(k, NAN), z)
    z = k.select(k.eq(x, 0.0), copysign(k, const(k, INF), k.neg(x)), z)
    return k.select(k.or_(k.eq(x, INF), k.isnan(x)), x, z)


# ---------------------------------------------------------------- modified Bessel functions


def _bessel_scaled(k: Any, a: Any, order: int) -> tuple[Any, Any, Any]:
    """(near, far, is_near): I(a) for a < 7.75, and sqrt(a) exp(-a) I(a) beyond."""
    b = within(k, a, 0.0, 7.75)
    near = horner(k, b * b * 0.25, TABLES[f"I{order}_NEAR"])  # all terms are positive
    if order:
        near = near * (b * 0.5)
    c = k.select(k.ge(a, 7.75), a, const(k, 7.75))
    far, lo = table_pair(k, 15.48 / c - 1.0, f"I{order}_FAR")
    return near, far + lo, k.lt(a, 7.75)


def _odd(k: Any, z: Any, x: Any, order: int) -> Any:
    """z with the sign of x for the odd function; 0 for -0, as SciPy."""
    return k.select(k.eq(x, 0.0), fabs(k, z), copysign(k, z, x)) if order else z


def _bessel_e(k: Any, x: Any, order: int) -> Any:
    """exp(-|x|) I(x)."""
    a = fabs(k, x)
    near, far, is_near = _bessel_scaled(k, a, order)
    c = k.select(k.ge(a, 7.75), a, const(k, 7.75))
    e = exponential.exp(k, k.neg(within(k, a, 0.0, 7.75)))
    z = _odd(k, k.select(is_near, near * e, far / k.float_op("sqrt", c)), x, order)
    return k.select(k.isnan(x), x, z)


def _bessel(k: Any, x: Any, order: int) -> Any:
    """I(x), with exp(|x|) in two factors so that it overflows no sooner than it should; NaN at infinity, as SciPy."""
    a = fabs(k, x)
    near, far, is_near = _bessel_scaled(k, a, order)
    c = within(k, a, 7.75, 720.0)
    m, s = exp_parts(k, c, const(k, 0.0))
    z = _odd(k, k.select(is_near, near, m * (far / k.float_op("sqrt", c)) * s), x, order)
    return k.select(k.lt(a, INF), z, const(k, NAN))


@wide
def i0e(k: Any, x: Any) -> Any:
    return _bessel_e(k, x, 0)


@wide
def i1e(k: Any, x: Any) -> Any:
    return _bessel_e(k, x, 1)


@wide
def i0(k: Any, x: Any) -> Any:
    return _bessel(k, x, 0)


@wide
def i1(k: Any, x: Any) -> Any:
    return _bessel(k, x, 1)


FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    fn.__name__: (fn, 1)
    for fn in (
        *(lgamma, digamma, i0e, i1e, i0, i1),
        *(
            normal.erfc,
            normal.erfcx,
            normal.erfinv,
            normal.erfcinv,
            normal.ndtr,
            normal.ndtri,
            normal.log_ndtr,
        ),
    )
}
