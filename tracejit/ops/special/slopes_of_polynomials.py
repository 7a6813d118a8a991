"""Derivatives of the functions that are called by name: orthogonal polynomials, probabilities, wave functions.

The formulas of polynomials are DLMF 18.9. A probability's derivative is the density, that of an inverse its reciprocal.
"""

from __future__ import annotations

import math
from typing import Any

from tracejit.ops.elementwise import arithmetic, complexes
from tracejit.ops.elementwise import transcendental as tr
from tracejit.ops.special.algebra import Term, of, where
from tracejit.ops.special.gamma import betaln as _betaln
from tracejit.ops.special.gamma import binom as _binom
from tracejit.ops.special.gamma import lgamma as _lgamma
from tracejit.ops.special.incomplete import random_beta_grad as _beta_grad
from tracejit.ops.special.integrals import xlog1py as _xlog1py
from tracejit.ops.special.integrals import xlogy as _xlogy
from tracejit.ops.special.named import term as f
from tracejit.ops.special.normal import erf as _erf
from tracejit.ops.special.normal import ndtri as _ndtri
from tracejit.ops.special.slopes import exp, log, sign, slopes, sqrt

lgamma, betaln, binom, xlogy, xlog1py = map(of, (_lgamma, _betaln, _binom, _xlogy, _xlog1py))
ndtri, erf, log1p, floor, cosh = map(of, (_ndtri, _erf, tr.log1p, arithmetic.floor, tr.cosh))
beta_slope = of(_beta_grad)
LOG_2PI = math.log(2 * math.pi)

# ---------------------------------------------------------------- orthogonal polynomials


def _lower(n: Term, fn: Any) -> Term:
    """fn(n - 1), 0 for n = 0, where the polynomial is constant."""
    return where(n, "eq", 0, n * 0, fn(n - 1))


def _second_kind(n: Term, x: Term) -> Term:
    """The derivative of Chebyshev's U(n)."""
    return _lower(n, lambda k: f("eval_gegenbauer", k, 2.0, x)) * 2


def _legendre(n: Term, x: Term) -> Term:
    return _lower(n, lambda k: f("eval_jacobi", k, 1.0, 1.0, x)) * (n + 1) / 2


def _shifted_jacobi(y: Term, n: Term, p: Term, q: Term, x: Term) -> Term:
    lower = _lower(n, lambda k: f("eval_jacobi", k, p - q + 1, q, x * 2 - 1))
    return lower * (n + p) / binom(n * 2 + p - 1, n * 1)


slopes("eval_chebyt", None, lambda y, n, x: _lower(n, lambda k: f("eval_chebyu", k, x)) * n)
slopes("eval_chebyu", None, lambda y, n, x: _second_kind(n, x))
slopes("eval_chebyc", None, lambda y, n, x: _lower(n, lambda k: f("eval_chebyu", k, x / 2)) * n)
slopes("eval_chebys", None, lambda y, n, x: _second_kind(n, x / 2) / 2)
slopes("eval_sh_chebyt", None, lambda y, n, x: _lower(n, lambda k: f("eval_chebyu", k, x * 2 - 1)) * n * 2)
slopes("eval_sh_chebyu", None, lambda y, n, x: _second_kind(n, x * 2 - 1) * 2)
slopes("eval_legendre", None, lambda y, n, x: _legendre(n, x))
slopes("eval_sh_legendre", None, lambda y, n, x: _legendre(n, x * 2 - 1) * 2)
slopes("eval_hermite", None, lambda y, n, x: _lower(n, lambda k: f("eval_hermite", k, x)) * n * 2)
slopes("eval_hermitenorm", None, lambda y, n, x: _lower(n, lambda k: f("eval_hermitenorm", k, x)) * n)
slopes("eval_laguerre", None, lambda y, n, x: -_lower(n, lambda k: f("eval_genlaguerre", k, 1.0, x)))
slopes(
    "eval_genlaguerre",
    None,
    None,
    lambda y, n, a, x: -_lower(n, lambda k: f("eval_genlaguerre", k, a + 1, x)),
)
slopes(
    "eval_gegenbauer",
    None,
    None,
    lambda y, n, a, x: _lower(n, lambda k: f("eval_gegenbauer", k, a + 1, x)) * a * 2,
)
slopes(
    "eval_jacobi",
    None,
    None,
    None,
    lambda y, n, a, b, x: _lower(n, lambda k: f("eval_jacobi", k, a + 1, b + 1, x)) * (n + a + b + 1) / 2,
)
slopes("eval_sh_jacobi", None, None, None, _shifted_jacobi)
slopes("lpmv", None, None, lambda y, m, v, x: (v * x * y - (v + m) * f("lpmv", m, v - 1, x)) / (x * x - 1))

# ---------------------------------------------------------------- probabilities


def _beta(a: Term, b: Term, x: Term) -> Term:
    """The density of the beta distribution."""
    return exp(xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a * 1, b * 1))


def _gamma(a: Term, x: Term) -> Term:
    return exp(xlogy(a - 1, x) - x - lgamma(a * 1))


def _normal(x: Term) -> Term:
    return exp(x * x * -0.5 - 0.5 * LOG_2PI)


def _f_density(n: Term, m: Term, x: Term) -> Term:
    share = n * x / (m + n * x)
    return _beta(n / 2, m / 2, share) * n * m / ((m + n * x) * (m + n * x))


def _t_density(v: Term, t: Term) -> Term:
    power = log1p(t * t / v) * ((v + 1) * -0.5)
    return exp(power - betaln(v / 2, v * 0 + 0.5)) / sqrt(v * 1)


def _chi2_density(v: Term, x: Term) -> Term:
    return _gamma(v / 2, x / 2) / 2


slopes("chdtri", None, lambda x, v, p: -1 / _chi2_density(v, x))


def _beta_slope(a: Term, b: Term, x: Term) -> Term:
    """Of the upper probability, by a."""
    return _beta(a, b, x) * beta_slope(a * 1, b * 1, x * 1, 1 - x)


def _other_beta_slope(a: Term, b: Term, x: Term) -> Term:
    """The same by b."""
    return -_beta(a, b, x) * beta_slope(b * 1, a * 1, 1 - x, x * 1)


def _t_slope(v: Term, t: Term) -> Term:
    """Of the probability of Student's t, by the degrees of freedom: half of I(v/2, 1/2, v / (v + t**2)) for t < 0."""
    total = v + t * t
    a, b, x, y = v / 2, v * 0 + 0.5, v / total, t * t / total
    density = exp((a - 1) * log(x) - log(y) / 2 - betaln(a, b))
    slope = density * (y / total - beta_slope(a, b, x, y) / 2) / 2 * -sign(t)
    return where(t, "eq", 0, t * 0, slope)


slopes(
    "betaincc",
    lambda y, a, b, x: _beta_slope(a, b, x),
    lambda y, a, b, x: _other_beta_slope(a, b, x),
    lambda y, a, b, x: -_beta(a, b, x),
)
slopes(
    "betainccinv",
    lambda x, a, b, p: beta_slope(a * 1, b * 1, x, 1 - x),
    lambda x, a, b, p: -beta_slope(b * 1, a * 1, 1 - x, x),
    lambda x, a, b, p: -1 / _beta(a, b, x),
)
slopes("fdtr", None, None, lambda p, n, m, x: _f_density(n, m, x))
slopes("fdtrc", None, None, lambda p, n, m, x: -_f_density(n, m, x))
slopes("fdtri", None, None, lambda x, n, m, p: 1 / _f_density(n, m, x))
slopes("gdtria", lambda a, p, b, x: 1 / (x * _gamma(b, a * x)), None, lambda a, p, b, x: -(a / x))
slopes("gdtrix", lambda x, a, b, p: -(x / a), None, lambda x, a, b, p: 1 / (a * _gamma(b, a * x)))
slopes("stdtr", lambda p, v, t: _t_slope(v, t), lambda p, v, t: _t_density(v, t))
slopes("stdtrit", lambda t, v, p: -(_t_slope(v, t) / _t_density(v, t)), lambda t, v, p: 1 / _t_density(v, t))
slopes("ndtri_exp", lambda x, y: exp(y) / _normal(x))
slopes("nbdtr", None, None, lambda y, k, n, p: _beta(n, k + 1, p))
slopes("nbdtrc", None, None, lambda y, k, n, p: -_beta(n, k + 1, p))
slopes("nbdtri", None, None, lambda p, k, n, y: 1 / _beta(n, k + 1, p))
slopes("pdtri", None, lambda m, k, y: -1 / _gamma(k + 1, m))


def _noncentral(x: Term, v: Term, c: Term) -> Term:
    """The density of the noncentral chi-squared distribution, without overflow."""
    root = sqrt(x) - sqrt(c)
    power = exp(log(x / c) * (v / 4 - 0.5) - root * root / 2)
    return power * f("ive", v / 2 - 1, sqrt(x * c)) / 2


slopes(
    "chndtr",
    lambda y, x, v, c: _noncentral(x, v, c),
    None,
    lambda y, x, v, c: (f("chndtr", x, v + 2, c) - y) / 2,
)
slopes("chndtrix", lambda x, p, v, c: 1 / _noncentral(x, v, c))
slopes(
    "owens_t",
    lambda y, h, a: erf(a * h / math.sqrt(2)) * _normal(h) * -0.5,
    lambda y, h, a: exp(h * h * (a * a + 1) * -0.5) / ((a * a + 1) * (2 * math.pi)),
)
slopes(
    "nrdtrimn",
    lambda m, p, s, x: -(s / _normal(ndtri(p * 1))),
    lambda m, p, s, x: -ndtri(p * 1),
    lambda m, p, s, x: x * 0 + 1,
)
slopes(
    "nrdtrisd",
    lambda s, m, p, x: -1 / ndtri(p * 1),
    lambda s, m, p, x: -(s / (ndtri(p * 1) * _normal(ndtri(p * 1)))),
    lambda s, m, p, x: 1 / ndtri(p * 1),
)
slopes("tklmbda", lambda p, x, c: 1 / (p ** (c - 1) + (1 - p) ** (c - 1)))

for _name, _density in (("kolmogorov", "_kolmogp"), ("smirnov", "_smirnovp")):
    _inverse, _first = (
        f"{_name[:6]}i" if _name == "kolmogorov" else "smirnovi",
        (None,) * (_name == "smirnov"),
    )
    slopes(_name, *_first, lambda y, *xs, d=_density: f(d, *xs))
    slopes(_inverse, *_first, lambda y, *xs, d=_density: 1 / f(d, *xs[:-1], y))

# ---------------------------------------------------------------- Voigt's profile, from Faddeeva's function


def _voigt(which: int) -> Any:
    """Of Re w(z)/(s sqrt(2 pi)) with z = (x + i g)/(s sqrt(2)) and w' = 2i/sqrt(pi) - 2 z w."""

    def slope(y: Term, x: Term, s: Term, g: Term) -> Term:
        root = s * math.sqrt(2)
        z = Term(complexes.complex((x / root).raw, (g / root).raw))
        change = z * f("wofz", z) * -2 + 2j / math.sqrt(math.pi)
        outer = 1 / (s * math.sqrt(2 * math.pi))
        if which == 1:
            return -(y / s) - Term(complexes.real((change * z).raw)) * outer / s
        part = complexes.real(change.raw) if which == 0 else arithmetic.neg(complexes.imag(change.raw))
        return Term(part) * outer / root

    return slope


slopes("voigt_profile", *map(_voigt, range(3)))

# ---------------------------------------------------------------- wave functions: a part of each is the derivative


for _name in ("pbdv", "pbvv"):
    slopes(_name, None, lambda y, v, x, n=_name: f(n, v, x, part=1))
    slopes(_name, None, lambda y, v, x, n=_name: (x * x / 4 - v - 0.5) * f(n, v, x), part=1)
slopes("pbwa", None, lambda y, a, x: f("pbwa", a, x, part=1))
slopes("pbwa", None, lambda y, a, x: (a - x * x / 4) * f("pbwa", a, x), part=1)


def _mathieu(name: str, characteristic: str) -> None:
    """y'' = (a - 2 q cosh 2x) y (DLMF 28.20.1)."""

    def second(y: Term, m: Term, q: Term, x: Term) -> Term:
        return (f(characteristic, m, q) - q * cosh(x * 2) * 2) * f(name, m, q, x)

    slopes(name, None, None, lambda y, m, q, x: f(name, m, q, x, part=1))
    slopes(name, None, None, second, part=1)


def _spheroidal(shape: str, which: str) -> None:
    """(1 - x²) y'' - 2x y' + (cv - c² x² - m²/(1 - x²)) y = 0, for the oblate functions with c² of the other sign and,
    of the radial ones, of an imaginary x (DLMF 30.2.1, where cv is lambda + c²). Of the second radial functions SciPy's
    values are too inexact to have a derivative."""
    name = f"{shape}_{which}"

    def rest(m: Term, c: Term, cv: Term, x: Term, slope: Term, y: Term) -> Term:
        square = x * x if shape == "pro" or which == "rad1" else -(x * x)
        inner = x * x + 1 if shape == "obl" and which == "rad1" else 1 - x * x
        change = (cv - c * c * square - m * m / inner) * y - x * slope * 2
        return (change if shape == "obl" and which == "rad1" else -change) / inner

    slopes(name, None, None, None, lambda y, m, n, c, x: f(name, m, n, c, x, part=1))
    slopes(
        name,
        *[None] * 3,
        lambda y, m, n, c, x: rest(m, c, f(f"{shape}_cv", m, n, c), x, y, f(name, m, n, c, x)),
        part=1,
    )
    given = f"{name}_cv"
    slopes(given, *[None] * 4, lambda y, m, n, c, cv, x: f(given, m, n, c, cv, x, part=1))
    slopes(
        given,
        *[None] * 4,
        lambda y, m, n, c, cv, x: rest(m, c, cv, x, y, f(given, m, n, c, cv, x)),
        part=1,
    )


for _which in ("1", "2"):
    _mathieu(f"mathieu_modcem{_which}", "mathieu_a")
    _mathieu(f"mathieu_modsem{_which}", "mathieu_b")
for _shape in ("pro", "obl"):
    for _which in ("ang1", "rad1"):
        _spheroidal(_shape, _which)
