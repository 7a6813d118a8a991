"""The gamma function and its relatives: logarithm, digamma, polygamma, zeta, beta, binomials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.ops._lazy import scipy_special
from tracejit.ops.elementwise.arithmetic import add, mul, neg, sub
from tracejit.ops.special.building import (
    F64,
    by_vecmath,
    call_scipy,
    extended,
    no_derivative,
    of_complex,
    special,
    times,
)
from tracejit.ops.special.trigamma import trigamma

#: B(2j) / (2j)! for j = 1 … 12, of the Euler-Maclaurin formula.
_BERNOULLI = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
    77683 / 14101100039391805440000,
    -236364091 / 1693824136731743669452800000,
)
_TERMS = 9
#: As many steps lead from a negative argument of zeta to a positive one; below that the kernel gives NaN.
_STEPS = 1 << 20
#: Orders of polygamma below this have code of their own.
_ORDERS = 8


def _gammaln(x: Any) -> Any:
    """SciPy's, finite near 0 too, where SciPy overflows."""
    tiny = (np.abs(x) < 1e-300) & (x != 0)
    return np.where(tiny, -np.log(np.where(tiny, np.abs(x), 1.0)), scipy_special().gammaln(x))


lgamma = special(
    "lgamma",
    "log(|gamma(x)|)",
    _gammaln,
    times(lambda ans, x: digamma(x)),
    kernel=by_vecmath("lgamma"),
)

digamma = extended(
    special(
        "digamma",
        "the derivative of lgamma",
        "psi",
        times(lambda ans, x: polygamma(1, x)),
        kernel=by_vecmath("digamma"),
    ),
    of_complex("digamma", "the derivative of loggamma", "psi", times(lambda ans, x: trigamma(x))),
)


# ---------------------------------------------------------------- zeta and polygamma


def zeta_kernel(k: Any, x: Any, q: Any) -> Any:
    """Hurwitz' zeta, sum of (q + n)**-x, by Euler and Maclaurin: nine terms, the integral, twelve corrections.

    Negative q first take the terms up to a positive one. As SciPy's (and Cephes'): inf at x = 1 and at q = 0,
    -1, …; NaN for x < 1, and for a negative q with a fraction unless x is whole.
    """
    dtype = x.dtype
    x, q = k.cast(x, F64), k.cast(q, F64)
    steps = k.select(k.lt(q, 0.0), k.float_op("ceil", k.neg(q)), k.const(0.0, F64))
    steps = k.select(k.lt(steps, float(_STEPS)), steps, k.const(0.0, F64))
    total = k.slot(k.const(0.0, F64), "zeta")
    with k.loop(0, k.cast(steps, np.int64)) as n:
        k.set(total, k.get(total) + k.math("pow", q + k.cast(n, F64), k.neg(x)))
    p = q + steps
    s = k.get(total) + _hurwitz(k, x, p)
    whole_q, whole_x = k.eq(k.float_op("floor", q), q), k.eq(k.float_op("floor", x), x)
    inf, nan = k.const(np.inf, F64), k.const(np.nan, F64)
    pole = k.select(whole_q, inf, k.select(k.and_(whole_x, k.gt(p, 0.0)), s, nan))
    s = k.select(k.gt(q, 0.0), k.select(k.eq(q, inf), k.const(0.0, F64), s), pole)
    s = k.select(k.gt(x, 1.0), s, k.select(k.eq(x, 1.0), inf, nan))
    return k.cast(k.select(k.or_(k.isnan(x), k.isnan(q)), x + q, s), dtype)


def _hurwitz(k: Any, x: Any, q: Any) -> Any:
    """The sum for q > 0 and x > 1."""
    first = k.math("pow", q, k.neg(x))
    total = first
    for n in range(1, _TERMS):
        total = total + k.math("pow", q + float(n), k.neg(x))
    w = q + float(_TERMS)
    b = k.math("pow", w, k.neg(x))
    rest = b * w / (x - 1.0) + 0.5 * b
    b = b * (x / w)
    for j, c in enumerate(_BERNOULLI):
        if j:
            b = b * ((x + float(2 * j - 1)) / w) * ((x + float(2 * j)) / w)
        rest = rest + b * c
    # Where the rest is nothing its factors may have left the range.
    vanishes = k.or_(k.le(k.math("pow", 1.0 + float(_TERMS) / q, k.neg(x)), 1e-19), k.gt(x, 1e15))
    far = k.gt(q, 1e16)  # there the integral is all there is
    s = k.select(vanishes, total, total + rest)
    return k.select(far, first * (q / (x - 1.0) + 0.5), s)


zeta = special(
    "zeta",
    "Hurwitz' zeta function: the sum of (q + n)**-x",
    "zeta",
    no_derivative("zeta", "its exponent"),
    times(lambda ans, x, q: neg(mul(x, zeta(add(x, 1), q)))),
    kernel=zeta_kernel,
    cost=600,
)


riemann_zeta = special(
    "riemann_zeta",
    "Riemann's zeta function of any real number",
    "zeta",
    no_derivative("riemann_zeta", "its operand"),
    kernel=lambda k, x: k.cast(call_scipy("zetac")(k, k.cast(x, F64)) + 1.0, x.dtype),
    cost=300,
)


def polygamma_kernel(k: Any, n: Any, x: Any) -> Any:
    """(-1)**(n + 1) n! zeta(n + 1, x); digamma for n = 0, NaN for n with a fraction. The usual orders, known when
    the program is compiled, have code without loops and powers."""
    order = getattr(n, "value", None)
    if order is not None and order in range(_ORDERS):
        return k.cast(_polygamma_of_order(k, int(order), k.cast(x, F64)), x.dtype)
    dtype = x.dtype
    n, x = k.cast(n, F64), k.cast(x, F64)
    half = n * 0.5
    size = call_scipy("gamma")(k, n + 1.0) * zeta_kernel(k, n + 1.0, x)
    even = k.eq(k.float_op("floor", half), half)
    out = k.select(even, k.neg(size), size)
    out = k.select(k.eq(k.float_op("floor", n), n), out, k.const(np.nan, F64))
    return k.cast(k.select(k.eq(n, 0.0), k.math("digamma", x), out), dtype)


def _polygamma_of_order(k: Any, n: int, x: Any) -> Any:
    """Euler and Maclaurin's formula in reciprocals for x > 0; by reflection to 1 - x below."""
    if not n:
        return k.math("digamma", x)
    negative = k.lt(x, 0.0)
    y = k.select(negative, 1.0 - x, x)
    total = k.const(0.0, F64)
    for i in reversed(range(_TERMS)):
        total = total + _whole_power(1.0 / (y + float(i)), n + 1)
    r = 1.0 / (y + float(_TERMS))
    top = _whole_power(r, n)
    tail = k.const(0.0, F64)
    for j in reversed(range(len(_BERNOULLI))):
        rising = math.prod(range(n + 1, n + 2 * j + 2))
        tail = k.float_op("fma", tail, r * r, _BERNOULLI[j] * rising)
    zeta = total + top * (1.0 / n + r * (0.5 + r * tail))
    sign = 1.0 if n % 2 else -1.0
    value = zeta * (sign * math.factorial(n))
    fraction = x - k.float_op("rint", x)
    whole = k.eq(k.float_op("rint", x), x)  # -inf too
    cot = 1.0 / k.math("tan", np.pi * k.select(whole, k.const(0.25, F64), fraction))
    slope = k.const(0.0, F64)
    for c in reversed(_cotangent_derivative(n)):
        slope = slope * cot + float(c)
    reflected = k.neg(value * sign) - slope * np.pi ** (n + 1)
    reflected = k.select(whole, k.const(sign * np.inf, F64), reflected)
    return k.select(negative, reflected, value)


def _whole_power(x: Any, n: int) -> Any:
    out = None
    while True:
        if n & 1:
            out = x if out is None else out * x
        n >>= 1
        if not n:
            return out
        x = x * x


def _cotangent_derivative(n: int) -> list[int]:
    """The polynomial P with d**n cot / dx**n = P(cot), lowest power first: P(n + 1) = -(1 + c**2) P(n)'."""
    p = [0, 1]
    for _ in range(n):
        slope = [i * c for i, c in enumerate(p)][1:]
        p = [-a - b for a, b in zip([*slope, 0, 0], [0, 0, *slope], strict=True)]
    return p


polygamma = special(
    "polygamma",
    "the n-th derivative of digamma",
    "polygamma",
    no_derivative("polygamma", "its order"),
    times(lambda ans, n, x: polygamma(add(n, 1), x)),
    kernel=polygamma_kernel,
    cost=700,
)

# ---------------------------------------------------------------- gamma, beta, binomial coefficients

gamma = special(
    "gamma", "the gamma function", "gamma", times(lambda ans, x: mul(ans, digamma(x))), analytic=True
)
loggamma_complex = of_complex(
    "loggamma", "the principal branch of log(gamma(x))", "loggamma", times(lambda ans, x: digamma(x))
)
rgamma_complex = of_complex(
    "rgamma", "1 / gamma(x)", "rgamma", times(lambda ans, x: neg(mul(ans, digamma(x))))
)


def _log_beta_slope(a: Any, b: Any) -> Any:
    return sub(digamma(a), digamma(add(a, b)))


beta = special(
    "beta",
    "gamma(a) gamma(b) / gamma(a + b)",
    "beta",
    times(lambda ans, a, b: mul(ans, _log_beta_slope(a, b))),
    times(lambda ans, a, b: mul(ans, _log_beta_slope(b, a))),
)

betaln = special(
    "betaln",
    "log(|beta(a, b)|), accurate for large arguments",
    "betaln",
    times(lambda ans, a, b: _log_beta_slope(a, b)),
    times(lambda ans, a, b: _log_beta_slope(b, a)),
)

poch = special(
    "poch",
    "gamma(z + m) / gamma(z)",
    "poch",
    times(lambda ans, z, m: mul(ans, sub(digamma(add(z, m)), digamma(z)))),
    times(lambda ans, z, m: mul(ans, digamma(add(z, m)))),
)

binom = special(
    "binom",
    "the binomial coefficient of real numbers",
    "binom",
    times(lambda ans, n, k: mul(ans, sub(digamma(add(n, 1)), digamma(add(sub(n, k), 1))))),
    times(lambda ans, n, k: mul(ans, sub(digamma(add(sub(n, k), 1)), digamma(add(k, 1))))),
)
