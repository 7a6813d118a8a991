"""Derivatives of the functions that are called by name: elliptic, Bessel's and Airy's, integrals of these.

The formulas are those of the Digital Library of Mathematical Functions (DLMF), whose sections are given.
"""

from __future__ import annotations

import math
from typing import Any

from tracejit.ops.elementwise import transcendental as tr
from tracejit.ops.elementwise.arithmetic import abs as _abs
from tracejit.ops.elementwise.arithmetic import sign as _sign
from tracejit.ops.special.algebra import Term, of, where
from tracejit.ops.special.bessel import bessel_i0, bessel_j0, bessel_k0, bessel_y0
from tracejit.ops.special.gamma import lgamma as _lgamma
from tracejit.ops.special.named import SLOPES
from tracejit.ops.special.named import term as f

exp, log, sqrt, sin, cos = map(of, (tr.exp, tr.log, tr.sqrt, tr.sin, tr.cos))
sinh, cosh = map(of, (tr.sinh, tr.cosh))
size, sign, lgamma = map(of, (_abs, _sign, _lgamma))
i0, j0, k0, y0 = map(of, (bessel_i0, bessel_j0, bessel_k0, bessel_y0))
DEGREE = math.pi / 180


def slopes(name: str, *by: Any, part: int = 0) -> None:
    """Enter the derivatives of a function by its operands."""
    SLOPES[name, part] = by


# ---------------------------------------------------------------- angles in degrees, simple ones

slopes("sindg", lambda y, x: f("cosdg", x) * DEGREE)
slopes("cosdg", lambda y, x: f("sindg", x) * -DEGREE)
slopes("tandg", lambda y, x: (y * y + 1) * DEGREE)
slopes("cotdg", lambda y, x: (y * y + 1) * -DEGREE)
slopes("radian", *(lambda y, d, m, s, k=k: y * 0 + DEGREE / k for k in (1, 60, 3600)))
slopes("round", lambda y, x: x * 0)
slopes("erfi", lambda y, x: exp(x * x) * (2 / math.sqrt(math.pi)))
slopes("powm1", lambda y, a, b: b * a ** (b - 1), lambda y, a, b: (y + 1) * log(a))
slopes("wrightomega", lambda y, x: y / (y + 1))
slopes("wofz", lambda y, x: 2j / math.sqrt(math.pi) - x * y * 2)
slopes("_lambertw", lambda y, z, k, tolerance: 1 / (z + exp(y)))

# ---------------------------------------------------------------- distributions, by their argument

slopes("_smirnovc", None, lambda y, n, x: f("_smirnovp", n, x) * -1)
slopes("_landau_cdf", lambda y, x, m, s: f("_landau_pdf", x, m, s))
slopes("_landau_sf", lambda y, x, m, s: f("_landau_pdf", x, m, s) * -1)
slopes("_ncx2_sf", lambda y, x, df, nc: f("_ncx2_pdf", x, df, nc) * -1)

# ---------------------------------------------------------------- Student's t and F, not central


def _moment(p: int, x: Term, df: Term, nc: Term) -> Term:
    """The mean of s**p times the normal density at x s - nc, where df s² is a chi square of df degrees: for p = 1 the
    density, for others that of df + p - 1 degrees at another place."""
    more = df + (p - 1)
    ratio = sqrt(more / df)
    whole = lgamma(more / 2) - lgamma(df / 2) - log(df / 2) * ((p - 1) / 2)
    return ratio * exp(whole) * f("_nct_pdf", x * ratio, more, nc)


def _mean(x: Term, df: Term, nc: Term) -> Term:
    """That for p = 0; of one degree and less by parts."""
    few = where(df, "le", 1, df * 0 + 1, df * 0)
    direct = _moment(0, x, df + few, nc)
    parts = ((df + x * x) * _moment(2, x, df, nc) - x * nc * f("_nct_pdf", x, df, nc)) / df
    return where(df, "le", 1, parts, direct)


slopes(
    "_nct_pdf",
    lambda y, x, df, nc: nc * _moment(2, x, df, nc) - x * _moment(3, x, df, nc),
    None,
    lambda y, x, df, nc: x * _moment(2, x, df, nc) - nc * y,
)
slopes(
    "_nct_sf", lambda y, x, df, nc: f("_nct_pdf", x, df, nc) * -1, None, lambda y, x, df, nc: _mean(x, df, nc)
)
slopes("nctdtr", None, lambda y, v, c, t: _mean(t, v, c) * -1, lambda y, v, c, t: f("_nct_pdf", t, v, c))
slopes(
    "nctdtrit",
    None,
    lambda t, v, c, p: _mean(t, v, c) / f("_nct_pdf", t, v, c),
    lambda t, v, c, p: 1 / f("_nct_pdf", t, v, c),
)


def _next(x: Term, n: Term, m: Term, nc: Term) -> Term:
    """The density with two degrees more, of the same ratio of sums of squares."""
    part = n / (n + 2)
    return part * f("_ncf_pdf", x * part, n + 2, m, nc)


def _density_by_place(y: Term, x: Term, n: Term, m: Term, nc: Term) -> Term:
    """Of a sum over Poisson's probabilities, whose mean is nc/2: the terms are powers of x and of m + n x."""
    over = n / (m + n * x)
    return ((n / 2 - 1) / x - (n + m) / 2 * over) * y + nc / 2 * _next(x, n, m, nc) * (1 / x - over)


def _less(y: Term, n: Term, m: Term, nc: Term, x: Term) -> Term:
    """How the probability changes with nc."""
    return (f("ncfdtr", n + 2, m, nc, x * n / (n + 2)) - y) / 2


slopes(
    "_ncf_pdf",
    _density_by_place,
    None,
    None,
    lambda y, x, n, m, nc: (_next(x, n, m, nc) - y) / 2,
)
slopes(
    "_ncf_sf",
    lambda y, x, n, m, nc: f("_ncf_pdf", x, n, m, nc) * -1,
    None,
    None,
    lambda y, x, n, m, nc: _less(1 - y, n, m, nc, x) * -1,
)
slopes("ncfdtr", None, None, _less, lambda y, n, m, c, x: f("_ncf_pdf", x, n, m, c))
slopes(
    "ncfdtri",
    None,
    None,
    lambda x, n, m, c, p: _less(p * 1, n, m, c, x) / f("_ncf_pdf", x, n, m, c) * -1,
    lambda x, n, m, c, p: 1 / f("_ncf_pdf", x, n, m, c),
)

# ---------------------------------------------------------------- elliptic integrals (DLMF 19.4, 19.18, 19.25)


def _d_of(m: Term) -> Term:
    """Legendre's D(m) = (K - E)/m, without the difference."""
    return f("elliprd", 0.0, 1 - m, 1.0) / 3


def _k_slope(k: Term, m: Term) -> Term:
    return (k - _d_of(m)) / ((1 - m) * 2)


slopes("ellipe", lambda e, m: _d_of(m) * -0.5)
slopes("ellipk", _k_slope)
slopes("ellipkm1", lambda k, p: -(k - f("elliprd", 0.0, p, 1.0) / 3) / (p * 2))


def _d_incomplete(phi: Term, m: Term) -> Term:
    """D(phi, m) = (F - E)/m; by Carlson's integral, without the difference, for angles up to a right one."""
    s = sin(phi)
    within = f("elliprd", cos(phi) ** 2, 1 - m * s * s, 1.0) * s**3 / 3
    safe = where(m, "eq", 0, 1, m)
    beyond = (f("ellipkinc", phi, safe) - f("ellipeinc", phi, safe)) / safe
    return where(size(phi), "le", math.pi / 2, within, beyond)


def _delta(phi: Term, m: Term) -> Term:
    return sqrt(1 - m * sin(phi) ** 2)


def _f_by_m(y: Term, phi: Term, m: Term) -> Term:
    return (y - _d_incomplete(phi, m) - sin(phi) * cos(phi) / _delta(phi, m)) / ((1 - m) * 2)


slopes("ellipeinc", lambda y, phi, m: _delta(phi, m), lambda y, phi, m: _d_incomplete(phi, m) * -0.5)
slopes("ellipkinc", lambda y, phi, m: 1 / _delta(phi, m), _f_by_m)
slopes(
    "elliprf",
    lambda v, x, y, z: f("elliprd", y, z, x) / -6,
    lambda v, x, y, z: f("elliprd", z, x, y) / -6,
    lambda v, x, y, z: f("elliprd", x, y, z) / -6,
)
slopes(
    "elliprc",
    lambda v, x, y: f("elliprd", y, y, x) / -6,
    lambda v, x, y: f("elliprd", x, y, y) / -3,
)


def _rd_slope(v: Term, x: Term, y: Term, z: Term) -> Term:
    """By x, from the equation of Euler, Poisson and Darboux; unknown where x = z."""
    return (f("elliprd", y, z, x) - v) / ((x - z) * 2)


def _rd_last(v: Term, x: Term, y: Term, z: Term) -> Term:
    """By z, since the function is homogeneous."""
    terms = [
        where(a, "eq", 0, a * 0, a * _rd_slope(v, where(a, "eq", 0, z + 1, a), b, z))
        for a, b in ((x, y), (y, x))
    ]
    return (v * -1.5 - terms[0] - terms[1]) / z


slopes("elliprd", _rd_slope, lambda v, x, y, z: _rd_slope(v, y, x, z), _rd_last)


def _agm_slope(m: Term, a: Term, b: Term) -> Term:
    """By the first operand, from M = pi (a + b)/(4 K(q²)) with q = (a - b)/(a + b)."""
    q = (a - b) / (a + b)
    k = f("ellipk", q * q)
    change = _k_slope(k, q * q) * q * 4 * b / ((a + b) * (a + b))
    return m / (a + b) - m / k * change


slopes("agm", _agm_slope, lambda m, a, b: _agm_slope(m, b, a))


def _jacobi(part: int) -> Any:
    """sn' = cn dn, cn' = -sn dn, dn' = -m sn cn, am' = dn (DLMF 22.13)."""

    def slope(y: Term, u: Term, m: Term) -> Term:
        sn, cn, dn = (f("ellipj", u, m, part=p) for p in range(3))
        return (cn * dn, -(sn * dn), -(m * sn * cn), dn)[part]

    return slope


for _n in range(4):
    slopes("ellipj", _jacobi(_n), None, part=_n)

# ---------------------------------------------------------------- Airy's functions (DLMF 9.2, 9.10)

_AIRY = [lambda x, n=n: f("airy", x, part=n) for n in range(4)]
slopes("airy", lambda y, x: _AIRY[1](x), part=0)
slopes("airy", lambda y, x: x * _AIRY[0](x), part=1)
slopes("airy", lambda y, x: _AIRY[3](x), part=2)
slopes("airy", lambda y, x: x * _AIRY[2](x), part=3)
for _n, (_which, _at) in enumerate([(0, 1), (2, 1), (0, -1), (2, -1)]):
    slopes("itairy", lambda y, x, w=_which, a=_at: f("airy", x * a, part=w), part=_n)

# ---------------------------------------------------------------- Bessel functions (DLMF 10.6, 10.29, 10.61)


def _of_order(name: str, low: float, high: float, own: Any = None, down: Any = None) -> None:
    """low f(v - 1) + high f(v + 1), and what a factor of the function adds (`own`)."""

    def slope(y: Term, v: Term, x: Term) -> Term:
        out = f(name, v - 1 if down is None else down(v - 1), x) * low + f(name, v + 1, x) * high
        return out if own is None else out + own(x) * y

    slopes(name, None, slope)


def _scaled(value: Any) -> Any:
    """The factor that a scaled function of real operands adds."""

    def own(x: Term) -> Term:
        if x.is_complex():
            return x * math.nan  # the scale is no analytic function
        return value(x)

    return own


_of_order("ive", 0.5, 0.5, _scaled(lambda x: -sign(x)))
_of_order("jve", 0.5, -0.5, _scaled(lambda x: x * 0))
_of_order("yve", 0.5, -0.5, _scaled(lambda x: x * 0))
_of_order("kve", -0.5, -0.5, lambda x: x * 0 + 1)
_of_order("kn", -0.5, -0.5, down=lambda n: where(n, "lt", 0, -n, n))
_of_order("yn", 0.5, -0.5)
_of_order("hankel1", 0.5, -0.5)
_of_order("hankel2", 0.5, -0.5)
_of_order("hankel1e", 0.5, -0.5, lambda x: x * 0 - 1j)
_of_order("hankel2e", 0.5, -0.5, lambda x: x * 0 + 1j)
slopes(
    "expn",
    None,
    lambda y, n, x: where(n, "eq", 0, -(1 + 1 / x) * y, -f("expn", where(n, "eq", 0, n, n - 1), x)),
)  # DLMF 8.19.13
slopes("hyp0f1", None, lambda y, v, z: f("hyp0f1", v + 1, z) / v)
slopes("hyperu", None, None, lambda y, a, b, x: -(a * f("hyperu", a + 1, b + 1, x)))
slopes("wright_bessel", None, None, lambda y, a, b, x: f("wright_bessel", a, a + b, x))
slopes("log_wright_bessel", None, None, lambda y, a, b, x: exp(f("log_wright_bessel", a, a + b, x) - y))


def _spherical(name: str, low: float, high: float) -> None:
    """For whole orders, n/x f(n) + high f(n + 1), or at x = 0 what this is near it."""

    def slope(y: Term, n: Term, x: Term) -> Term:
        at_zero = where(x, "eq", 0, 1, x)
        rest = n / at_zero * y + f(name, n + 1, x) * high
        return where(x, "eq", 0, where(n, "eq", 1, low, n * 0), rest)

    slopes(name, None, slope)


_spherical("_spherical_jn", 1 / 3, -1.0)
_spherical("_spherical_in", 1 / 3, 1.0)
_spherical("_spherical_yn", math.nan, -1.0)
_spherical("_spherical_kn", math.nan, -1.0)


def _struve_rest(v: Term, x: Term) -> Term:
    return exp(log(x / 2) * v - lgamma(v + 1.5)) / (2 * math.sqrt(math.pi))


slopes(
    "struve",
    None,
    lambda y, v, x: (f("struve", v - 1, x) - f("struve", v + 1, x)) / 2 + _struve_rest(v, x),
)
slopes(
    "modstruve",
    None,
    lambda y, v, x: (f("modstruve", v - 1, x) + f("modstruve", v + 1, x)) / 2 + _struve_rest(v, x),
)
slopes("itstruve0", lambda y, x: f("struve", 0.0, x))
slopes("itmodstruve0", lambda y, x: f("modstruve", 0.0, x))
slopes("it2struve0", lambda y, x: -(f("struve", 0.0, x) / x))

slopes("iti0k0", lambda y, x: i0(x), part=0)
slopes("iti0k0", lambda y, x: k0(x), part=1)
slopes("it2i0k0", lambda y, x: (i0(x) - 1) / x, part=0)
slopes("it2i0k0", lambda y, x: -(k0(x) / x), part=1)
slopes("itj0y0", lambda y, x: j0(x), part=0)
slopes("itj0y0", lambda y, x: y0(x), part=1)
slopes("it2j0y0", lambda y, x: (1 - j0(x)) / x, part=0)
slopes("it2j0y0", lambda y, x: -(y0(x) / x), part=1)

for _kind in ("be", "ke"):
    _r, _i = f"{_kind}r", f"{_kind}i"
    slopes(_r, lambda y, x, n=_r: f(f"{n}p", x))
    slopes(_i, lambda y, x, n=_i: f(f"{n}p", x))
    slopes(f"{_r}p", lambda y, x, n=_i: -f(n, x) - y / x)
    slopes(f"{_i}p", lambda y, x, n=_r: f(n, x) - y / x)


def _at_zero(fn: Any, value: float) -> Any:
    """fn(x)/x, or `value` at 0."""

    def slope(y: Term, x: Term) -> Term:
        return where(x, "eq", 0, value, fn(x) / where(x, "eq", 0, 1, x))

    return slope


slopes("shichi", _at_zero(sinh, 1.0), part=0)
slopes("shichi", lambda y, x: cosh(x) / x, part=1)
