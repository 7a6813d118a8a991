"""Compute the polynomial coefficients of `tracejit/lowering/llvm/vecmath/special_tables.py`.

Run `python tools/special_coefficients.py > tracejit/lowering/llvm/vecmath/special_tables.py` (needs mpmath; about
a minute). The same exchange as `tools/vecmath_coefficients.py`, in float64 only: the special functions of
float32 are computed in float64.
"""

from __future__ import annotations

import sys

import mpmath as mp
from vecmath_coefficients import Fn, Table, _rounded, _series, remez

mp.mp.dps = 60
TARGET = mp.mpf(2) ** -57
EULER: mp.mpf = -mp.digamma(mp.mpf(1))
ROOT = mp.findroot(mp.digamma, 1.4616321449683623)


def relative(f: Fn) -> Fn:
    """The weight that makes errors relative to `f` itself."""
    return lambda x: 1 / abs(f(x))


def lgamma_rest(z: mp.mpf) -> mp.mpf:
    """x (log gamma(x) - Stirling's formula) in z = 1/x**2: 1/12 at 0."""
    if z < mp.mpf(10) ** -20:
        return mp.mpf(1) / 12 - z / 360
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def lgamma_weight(z: mp.mpf) -> mp.mpf:
    x = 1 / mp.sqrt(z + mp.mpf(10) ** -6)
    return 1 / (x * mp.loggamma(x))


def digamma_rest(z: mp.mpf) -> mp.mpf:
    """x**2 (log(x) - 1/(2x) - digamma(x)) in z = 1/x**2: 1/12 at 0."""
    if z < mp.mpf(10) ** -18:
        return mp.mpf(1) / 12 - z / 120
    x = 1 / mp.sqrt(z)
    return x * x * (mp.log(x) - 1 / (2 * x) - mp.digamma(x))


def erfcx(x: mp.mpf) -> mp.mpf:
    """exp(x**2) erfc(x)."""
    if x > 1000:
        z = 1 / (2 * x * x)
        return (1 - z * (1 - 3 * z * (1 - 5 * z * (1 - 7 * z * (1 - 9 * z))))) / (x * mp.sqrt(mp.pi))
    return mp.exp(x * x) * mp.erfc(x)


def erfcx_table(t: mp.mpf) -> mp.mpf:
    """(1 + 2x) erfcx(x) for t = (x - 4) / (x + 4), x from 0 to infinity (Shepherd and Laframboise, 1981)."""
    if 1 - t < mp.mpf(10) ** -25:
        return 2 / mp.sqrt(mp.pi)
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * erfcx(mp.mpf(x))


def erfcinv_over_s(s: mp.mpf) -> mp.mpf:
    """y / s with erfc(y) = exp(-s**2), by Newton's method on the logarithm."""
    y = s * mp.mpf("0.9") if s > 1 else s / 2
    for _ in range(60):
        e = mp.erfc(y)
        step = (mp.log(e) + s * s) * e * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y = y + step
        if abs(step) < mp.mpf(10) ** -40:
            break
    return y / s


def mobius(name: str, center: str, lo: str, hi: str, first: int) -> Table:
    """`erfcinv_over_s` for s from `lo` to `hi` in t = (s - c) / (s + c)."""
    c = mp.mpf(center)
    a, b = (mp.mpf((mp.mpf(s) - c) / (mp.mpf(s) + c)) for s in (lo, hi))
    return _table(name, lambda t: erfcinv_over_s(mp.mpf(c * (1 + t) / (1 - t))), a, b, first)


def bessel_tail(order: int) -> Fn:
    """sqrt(x) exp(-x) I(x) in v = 15.48/x - 1, for x from 7.74."""

    def f(v: mp.mpf) -> mp.mpf:
        t = (v + 1) / mp.mpf("15.48")
        if t < mp.mpf(10) ** -10:
            a = mp.mpf(4 * order * order)
            first = -(a - 1) / 8 * t
            return (1 + first * (1 - (a - 9) / 16 * t * (1 - (a - 25) / 24 * t))) / mp.sqrt(2 * mp.pi)
        x = 1 / t
        return mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)

    return f


SMALL = mp.mpf("7.75") ** 2 / 4 * mp.mpf("1.0001")


def _table(name: str, f: Fn, a: mp.mpf, b: mp.mpf, first: int, weight: Fn | None = None) -> Table:
    return Table(name, f, weight or relative(f), a, b, 1, first)


_SINPI = _series(lambda z: mp.sin(mp.pi * mp.sqrt(z)) / mp.sqrt(z), mp.pi)
_LOGGAMMA1 = _series(lambda u: mp.loggamma(1 + u) / u, -EULER)
_LOGGAMMA2 = _series(lambda v: mp.loggamma(2 + v) / v, 1 - EULER)
_DIGAMMA = _series(lambda v: mp.digamma(2 + v) / (2 + v - ROOT), (1 - EULER) / (2 - ROOT))
_ERFINV = _series(lambda z: mp.erfinv(mp.sqrt(z)) / mp.sqrt(z), mp.sqrt(mp.pi) / 2)
_I1 = _series(lambda w: mp.besseli(1, 2 * mp.sqrt(w)) / mp.sqrt(w), mp.mpf(1))

TABLES = [
    _table("SINPI", _SINPI, mp.mpf(0), mp.mpf("0.2501"), 8),
    _table("LGAMMA1", _LOGGAMMA1, mp.mpf("-0.5"), mp.mpf("0.5"), 28),
    _table("LGAMMA2", _LOGGAMMA2, mp.mpf("-0.5"), mp.mpf(1), 21),
    _table("LGAMMA_TAIL", lgamma_rest, mp.mpf(0), mp.mpf(1) / 9, 9, lgamma_weight),
    _table("DIGAMMA", _DIGAMMA, mp.mpf(-1), mp.mpf(1), 29),
    _table("DIGAMMA_TAIL", digamma_rest, mp.mpf(0), mp.mpf(1) / 9, 11, lambda z: z + mp.mpf(10) ** -12),
    _table("ERFCX", erfcx_table, mp.mpf(-1), mp.mpf(1), 25),
    _table("ERFINV", _ERFINV, mp.mpf(0), mp.mpf("0.2501"), 13),
    mobius("ERFCINV_NEAR", "2.25", "0.83", "6.1", 24),
    mobius("ERFCINV_FAR", "13", "6.0", "27.5", 21),
    _table("I0_NEAR", lambda w: mp.besseli(0, 2 * mp.sqrt(w)), mp.mpf(0), SMALL, 14),
    _table("I1_NEAR", _I1, mp.mpf(0), SMALL, 14),
    _table("I0_FAR", bessel_tail(0), mp.mpf(-1), mp.mpf(1), 24),
    _table("I1_FAR", bessel_tail(1), mp.mpf(-1), mp.mpf(1), 24),
]  # fmt: skip

HEADER = '''"""Minimax coefficients, lowest power first. Written by tools/special_coefficients.py."""

from __future__ import annotations

TABLES: dict[str, tuple[float, ...]] = {'''


def fit(table: Table) -> list[mp.mpf]:
    """The first degree that reaches the target."""
    for degree in range(table.first, 40):
        c, error = remez(table.f, table.weight, table.a, table.b, degree)
        print(f"# {table.name}: degree {degree}, error 2**{mp.nstr(mp.log(error, 2), 4)}", file=sys.stderr)
        if error < TARGET:
            return c
    raise ValueError(table.name)


def main() -> None:
    print(HEADER)
    for table in TABLES:
        numbers = _rounded(fit(table), "f64").split(",\n")
        lines = ",\n".join("        " + n.strip() for n in numbers)
        print(f'    "{table.name}": (\n{lines},\n    ),')
    print("}")


if __name__ == "__main__":
    main()
