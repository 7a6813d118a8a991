"""The ufuncs of scipy.special as formulas of primitives, on raw operands of one float dtype.

Operands are of one shape or 0-d. Formulas with several cases compute each on arguments that are safe for it,
so that derivatives have no NaN from the cases not taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ops import special as sp
from tracejit.ops.building.values import dtype_of, lift
from tracejit.ops.elementwise import transcendental as tr
from tracejit.ops.elementwise.arithmetic import (
    abs,
    add,
    copysign,
    div,
    floor,
    mul,
    neg,
    reciprocal,
    rint,
    scale,
    square,
    sub,
    trunc,
)
from tracejit.ops.elementwise.compare import and_, eq, ge, gt, isnan, le, lt, ne, or_, select
from tracejit.ops.elementwise.inverse import logaddexp
from tracejit.ops.elementwise.powers import pow
from tracejit.ops.special.building import SMALL, quotient, series


def _is_complex(x: Any) -> bool:
    return dtype_of(x).kind == "c"


def _or_one(condition: Any, x: Any) -> Any:
    """x where the condition holds, 1 elsewhere."""
    return select(condition, x, 1.0)


# ---------------------------------------------------------------- gamma functions


def gammasgn(x: Any) -> Any:
    """The sign of gamma(x): that of x at 0, NaN at the negative integers."""
    whole = floor(x)
    half = mul(whole, 0.5)
    sign = select(ne(floor(half), half), lift(-1.0, x), 1.0)
    below = select(eq(whole, x), np.nan, sign)
    at_zero = copysign(lift(1.0, x), x)
    out = select(gt(x, 0), 1.0, select(eq(x, 0), at_zero, below))
    return select(isnan(x), x, out)


def rgamma(x: Any) -> Any:
    """1 / gamma(x), which is 0 at the poles of gamma. From 0 down it is gamma(1 - x) sin(pi x) / pi (DLMF 5.5.3),
    whose derivatives are right at the poles too."""
    if _is_complex(x):
        return sp.rgamma_complex(x)
    left = le(x, 0)
    q = select(and_(left, gt(x, -(2.0**53))), x, 0.0)  # the numbers below are all whole
    whole = rint(q)
    half = mul(whole, 0.5)
    wave = tr.sin(mul(sub(q, whole), np.pi))
    wave = select(ne(floor(half), half), neg(wave), wave)
    reflected = scale(sp.gamma(sub(1.0, q)), mul(wave, 1 / np.pi))
    return select(left, add(reflected, 0.0), reciprocal(sp.gamma(select(left, 1.0, x))))


def loggamma(x: Any) -> Any:
    """The principal branch of log(gamma(x)): no real number below 0."""
    return sp.loggamma_complex(x) if _is_complex(x) else select(lt(x, 0), np.nan, sp.lgamma(x))


# ---------------------------------------------------------------- logarithms of probabilities


def log_expit(x: Any) -> Any:
    return neg(logaddexp(neg(x), lift(0.0, x)))


def logit(p: Any) -> Any:
    """log(p / (1 - p)); by log1p where the quotient is near 1."""
    near = and_(gt(p, 0.3), lt(p, 0.65))
    q = select(near, p, 0.5)
    close = tr.log1p(div(sub(mul(q, 2.0), 1.0), sub(1.0, q)))
    q = select(near, 0.5, p)
    return select(near, close, sub(tr.log(q), tr.log1p(neg(q))))


def entr(x: Any) -> Any:
    """-x log(x); 0 at 0, -inf below."""
    below = lt(x, 0)
    q = select(below, 1.0, x)
    return select(below, -np.inf, neg(sp.xlogy(q, q)))


def _x_log_ratio(x: Any, y: Any) -> Any:
    """x log(x / y): by the quotient near 1, otherwise by a difference of logarithms, which can't overflow."""
    r = div(x, y)
    near = and_(gt(r, 0.5), lt(r, 2.0))
    close = tr.log1p(select(near, div(sub(x, y), y), 0.0))
    return mul(x, select(near, close, sub(tr.log(x), tr.log(y))))


def rel_entr(x: Any, y: Any) -> Any:
    """x log(x / y) for positive x and y, 0 for x = 0 <= y, infinite elsewhere."""
    inside = and_(gt(x, 0), gt(y, 0))
    product = _x_log_ratio(_or_one(inside, x), _or_one(inside, y))
    out = select(inside, product, select(and_(eq(x, 0), ge(y, 0)), lift(0.0, x), np.inf))
    return select(or_(isnan(x), isnan(y)), np.nan, out)


def kl_div(x: Any, y: Any) -> Any:
    """x log(x / y) - x + y for positive x and y, y for x = 0 <= y, infinite elsewhere."""
    inside = and_(gt(x, 0), gt(y, 0))
    a, b = _or_one(inside, x), _or_one(inside, y)
    out = add(sub(_x_log_ratio(a, b), a), b)
    out = select(inside, out, select(and_(eq(x, 0), ge(y, 0)), y, np.inf))
    return select(or_(isnan(x), isnan(y)), np.nan, out)


# ---------------------------------------------------------------- transformations, losses


#: Quotients by x are sums of these many terms where |x| is at most SMALL: there they would cancel in derivatives.
_EXPREL = tuple(1 / math.factorial(n + 1) for n in range(9))
_LOG1P_BY_X = tuple((-1) ** n / (n + 1) for n in range(12))


def _boxcox_of_log(log: Any, power: Any) -> Any:
    """expm1(power * log) / power, which is log for power 0."""
    v = mul(power, log)
    small = lt(abs(v), SMALL)
    near = or_(small, eq(power, 0))
    series_of = mul(log, series(select(small, v, 0.0), _EXPREL))
    return select(near, series_of, div(tr.expm1(select(near, 1.0, v)), select(near, 1.0, power)))


def boxcox(x: Any, power: Any) -> Any:
    return _boxcox_of_log(tr.log(x), power)


def boxcox1p(x: Any, power: Any) -> Any:
    return _boxcox_of_log(tr.log1p(x), power)


def _inverse_boxcox_log(y: Any, power: Any) -> Any:
    """log1p(power * y) / power, which is y for power 0."""
    v = mul(power, y)
    small = lt(abs(v), SMALL)
    near = or_(small, eq(power, 0))
    series_of = mul(y, series(select(small, v, 0.0), _LOG1P_BY_X))
    return select(near, series_of, div(tr.log1p(select(near, 1.0, v)), select(near, 1.0, power)))


def inv_boxcox(y: Any, power: Any) -> Any:
    return tr.exp(_inverse_boxcox_log(y, power))


def inv_boxcox1p(y: Any, power: Any) -> Any:
    return tr.expm1(_inverse_boxcox_log(y, power))


def huber(delta: Any, r: Any) -> Any:
    size = abs(r)
    out = select(le(size, delta), mul(square(r), 0.5), mul(delta, sub(size, mul(delta, 0.5))))
    return select(lt(delta, 0), np.inf, out)


def pseudo_huber(delta: Any, r: Any) -> Any:
    """delta**2 (sqrt(1 + (r/delta)**2) - 1), without the difference."""
    flat = eq(delta, 0)
    v = square(div(r, select(flat, 1.0, delta)))
    root = div(v, add(tr.sqrt(add(v, 1.0)), 1.0))
    out = mul(square(delta), select(eq(v, np.inf), v, root))
    return select(lt(delta, 0), np.inf, select(or_(flat, eq(r, 0)), 0.0, out))


def exprel(x: Any) -> Any:
    """expm1(x) / x, 1 at 0."""
    out = quotient(tr.expm1(x), x, series(select(lt(abs(x), SMALL), x, 0.0), _EXPREL))
    return select(eq(x, np.inf), x, out)


def cosm1(x: Any) -> Any:
    return mul(square(tr.sin(mul(x, 0.5))), -2.0)


def exp10(x: Any) -> Any:
    """10**x by `pow`, whose error is within one unit."""
    return pow(lift(10.0, x), x)


# ---------------------------------------------------------------- distributions


def chdtr(v: Any, x: Any) -> Any:
    return sp.igamma(mul(v, 0.5), mul(x, 0.5))


def chdtrc(v: Any, x: Any) -> Any:
    return sp.igammac(mul(v, 0.5), mul(x, 0.5))


def gdtr(a: Any, b: Any, x: Any) -> Any:
    return select(lt(x, 0), np.nan, sp.igamma(b, mul(a, x)))


def gdtrc(a: Any, b: Any, x: Any) -> Any:
    return select(lt(x, 0), np.nan, sp.igammac(b, mul(a, x)))


def _poisson(k: Any, m: Any, of_gamma: Any, at_zero: float) -> Any:
    """A function of gamma's of the whole part of k, plus 1, and m; NaN for negative ones. For no m it is known, even
    for a k that is NaN."""
    outside = or_(lt(k, 0), lt(m, 0))
    out = of_gamma(select(outside, 1.0, add(floor(k), 1.0)), select(outside, 1.0, m))
    return select(outside, np.nan, select(and_(isnan(k), eq(m, 0)), at_zero, out))


def pdtr(k: Any, m: Any) -> Any:
    return _poisson(k, m, sp.igammac, 1.0)


def pdtrc(k: Any, m: Any) -> Any:
    return _poisson(k, m, sp.igamma, 0.0)


def _binomial(k: Any, n: Any, p: Any) -> tuple[Any, Any, Any, Any, Any]:
    """(k and n as whole numbers, whether n is finite and p a probability, a, b): p's beta distribution of the shapes
    a and b gives the probability of more than k successes in n trials; both are 1 where there is none.

    SciPy's C functions are not called by address: with a float n they warn that it may not be whole, whatever it is.
    As for them, an n beyond 32 bits is none.
    """
    k, n = floor(k), trunc(n)
    known = and_(lt(abs(n), 2.0**31), and_(ge(p, 0), le(p, 1)))
    inside = and_(known, and_(ge(k, 0), lt(k, n)))
    return k, n, known, select(inside, add(k, 1.0), 1.0), select(inside, sub(n, k), 1.0)


def _certain(k: Any, n: Any, known: Any, inside: Any, below: float, at: float) -> Any:
    """`inside` where 0 <= k < n, `below` where k < 0, `at` where k = n, and NaN elsewhere."""
    out = select(lt(k, n), inside, select(eq(k, n), lift(at, inside), np.nan))
    return select(known, select(lt(k, 0), below, out), np.nan)


def _in_unit(p: Any) -> Any:
    return select(and_(ge(p, 0), le(p, 1)), p, 0.5)


def bdtr(k: Any, n: Any, p: Any) -> Any:
    """The probability of at most k successes in n trials."""
    k, n, known, a, b = _binomial(k, n, p)
    return _certain(k, n, known, sp.by_name("betaincc", a, b, _in_unit(p)), np.nan, 1.0)


def bdtrc(k: Any, n: Any, p: Any) -> Any:
    """The probability of more than k successes in n trials, which is 1 for k < 0 whatever n is."""
    k, n, known, a, b = _binomial(k, n, p)
    return _certain(k, n, known, sp.regularized_incomplete_beta(a, b, _in_unit(p)), 1.0, 0.0)


def bdtri(k: Any, n: Any, y: Any) -> Any:
    """The probability of a success with which that of at most k in n trials is y."""
    k, n, known, a, b = _binomial(k, n, y)
    p = sp.by_name("betainccinv", a, b, _in_unit(y))
    # SciPy's inverse is NaN for some tiny y, where the first term of the series in 1 - p is all that counts.
    tiny = and_(gt(y, 0), lt(y, 1e-100))
    log_q = div(add(tr.log(mul(select(tiny, y, 0.5), b)), sp.betaln(a, b)), b)
    p = select(and_(tiny, isnan(p)), sub(1.0, tr.exp(log_q)), p)
    return _certain(k, n, known, p, np.nan, np.nan)


#: Name in scipy.special -> (function of raw operands, their number).
TABLE: dict[str, tuple[Callable[..., Any], int]] = {
    **dict.fromkeys(("digamma", "psi"), (sp.digamma, 1)),
    "gamma": (sp.gamma, 1),
    "gammaln": (sp.lgamma, 1),
    "gammasgn": (gammasgn, 1),
    "loggamma": (loggamma, 1),
    "rgamma": (rgamma, 1),
    "beta": (sp.beta, 2),
    "betaln": (sp.betaln, 2),
    "binom": (sp.binom, 2),
    "poch": (sp.poch, 2),
    "gammainc": (sp.igamma, 2),
    "gammaincc": (sp.igammac, 2),
    "gammaincinv": (sp.igammainv, 2),
    "gammainccinv": (sp.igammacinv, 2),
    "betainc": (sp.regularized_incomplete_beta, 3),
    "betaincinv": (sp.betaincinv, 3),
    "erf": (sp.erf, 1),
    "erfc": (sp.erfc, 1),
    "erfcx": (sp.erfcx, 1),
    "erfinv": (sp.erf_inv, 1),
    "erfcinv": (sp.erfc_inv, 1),
    "ndtr": (sp.ndtr, 1),
    "ndtri": (sp.ndtri, 1),
    "log_ndtr": (sp.log_ndtr, 1),
    "expit": (tr.logistic, 1),
    "log_expit": (log_expit, 1),
    "logit": (logit, 1),
    "entr": (entr, 1),
    "rel_entr": (rel_entr, 2),
    "kl_div": (kl_div, 2),
    "xlogy": (sp.xlogy, 2),
    "xlog1py": (sp.xlog1py, 2),
    "boxcox": (boxcox, 2),
    "boxcox1p": (boxcox1p, 2),
    "inv_boxcox": (inv_boxcox, 2),
    "inv_boxcox1p": (inv_boxcox1p, 2),
    "huber": (huber, 2),
    "pseudo_huber": (pseudo_huber, 2),
    "exprel": (exprel, 1),
    "cosm1": (cosm1, 1),
    "cbrt": (tr.cbrt, 1),
    "exp2": (tr.exp2, 1),
    "exp10": (exp10, 1),
    "expm1": (tr.expm1, 1),
    "log1p": (tr.log1p, 1),
    "exp1": (sp.exp1, 1),
    "expi": (sp.expi, 1),
    "spence": (sp.spence, 1),
    "dawsn": (sp.dawson, 1),
    "hyp1f1": (sp.hyp1f1, 3),
    "hyp2f1": (sp.hyp2f1, 4),
    **{f"{kind}{n}": (getattr(sp, f"bessel_{kind}{n}"), 1) for kind in "ijky" for n in "01"},
    **{f"{kind}{n}e": (getattr(sp, f"bessel_{kind}{n}e"), 1) for kind in "ik" for n in "01"},
    **{f"{kind}v": (getattr(sp, f"bessel_{kind}v"), 2) for kind in "ijky"},
    "bdtr": (bdtr, 3),
    "bdtrc": (bdtrc, 3),
    "bdtri": (bdtri, 3),
    "chdtr": (chdtr, 2),
    "chdtrc": (chdtrc, 2),
    "gdtr": (gdtr, 3),
    "gdtrc": (gdtrc, 3),
    "pdtr": (pdtr, 2),
    "pdtrc": (pdtrc, 2),
}

#: The same for ufuncs with two results.
PAIRS: dict[str, Callable[..., Any]] = {
    "fresnel": lambda x: (sp.fresnel_s(x), sp.fresnel_c(x)),
    "sici": lambda x: (sp.sine_integral(x), sp.cosine_integral(x)),
}
