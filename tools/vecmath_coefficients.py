"""Compute the polynomial coefficients of `tracejit/lowering/llvm/vecmath/tables.py`.

Run `python tools/vecmath_coefficients.py > tracejit/lowering/llvm/vecmath/tables.py` (needs mpmath; a few
seconds). Every table is a weighted minimax polynomial found by Remez' exchange in 60-digit arithmetic,
at the lowest degree whose error, relative to the function being approximated, is under the target of
its precision; the coefficients are then rounded to the precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np

mp.mp.dps = 60
Fn = Callable[[mp.mpf], mp.mpf]
TARGET = {"f64": mp.mpf(2) ** -57, "f32": mp.mpf(2) ** -27}


def _grid(a: mp.mpf, b: mp.mpf, n: int) -> list[mp.mpf]:
    """`n` Chebyshev points of [a, b], ascending, ends included."""
    return [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * i / (n - 1)) for i in range(n)]


def _solve(f: Fn, w: Fn, xs: list[mp.mpf], degree: int) -> list[mp.mpf]:
    """The polynomial whose weighted error is +e, -e, +e … at the degree + 2 points `xs`."""
    rows = [[x**j for j in range(degree + 1)] + [(-1) ** i / w(x)] for i, x in enumerate(xs)]
    return list(mp.lu_solve(mp.matrix(rows), mp.matrix([f(x) for x in xs])))[:-1]


def _extrema(errors: list[mp.mpf], grid: list[mp.mpf]) -> list[int]:
    """The index of the largest error of every run of equal sign."""
    best: list[int] = []
    for i, e in enumerate(errors):
        if best and (e > 0) == (errors[best[-1]] > 0):
            if abs(e) > abs(errors[best[-1]]):
                best[-1] = i
        else:
            best.append(i)
    return best


def remez(f: Fn, w: Fn, a: mp.mpf, b: mp.mpf, degree: int) -> tuple[list[mp.mpf], mp.mpf]:
    """Minimax polynomial of w*(p - f) on [a, b], and its largest weighted error."""
    grid = _grid(a, b, 24 * (degree + 2))
    values, weights = [f(x) for x in grid], [w(x) for x in grid]
    xs = _grid(a, b, degree + 2)
    for _ in range(12):
        c = _solve(f, w, xs, degree)
        errors = [(mp.polyval(c[::-1], x) - v) * u for x, v, u in zip(grid, values, weights, strict=True)]
        peaks = _extrema(errors, grid)
        while len(peaks) > degree + 2:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        if len(peaks) < degree + 2:
            break
        xs = [grid[i] for i in peaks]
        sizes = [abs(errors[i]) for i in peaks]
        if max(sizes) < min(sizes) * mp.mpf("1.02"):
            break
    return c, max(abs(e) for e in errors)


@dataclass
class Table:
    """Approximate `f` on [a, b]; an error d of the polynomial is an error d*weight of the result."""

    name: str
    f: Fn
    weight: Fn
    a: mp.mpf
    b: mp.mpf
    slack: mp.mpf | int = 1  # the result tolerates this factor over the target
    first: int = 3
    only: str = ""  # the one precision that needs it
    rounded: str = ""  # the precision of the coefficients, where it is another

    def fit(self, precision: str) -> list[mp.mpf]:
        for degree in range(self.first, 30):
            c, error = remez(self.f, self.weight, self.a, self.b, degree)
            if error < TARGET[precision] * self.slack:
                return c
        raise ValueError(self.name)


def _series(f: Fn, zero: mp.mpf) -> Fn:
    """`f` with its removable singularity at 0 filled by the value `zero`."""
    return lambda x: zero if abs(x) < mp.mpf(10) ** -16 else f(x)


def _root(z: mp.mpf) -> mp.mpf:
    return mp.mpf(mp.sqrt(z).real)


def _odd(fn: Fn, cubic: mp.mpf) -> Fn:
    """(fn(t) - t)/t^3 as a function of z = t^2."""
    return _series(lambda z: (fn(_root(z)) - _root(z)) / (z * _root(z)), cubic)


def _log_tail(z: mp.mpf) -> mp.mpf:
    s = mp.sqrt(z)
    return (2 * mp.atanh(s) / s - 2) / z


LN2 = mp.log(2)
HALF = LN2 / 2 * mp.mpf("1.0005")
S_MAX = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.001")
QUARTER = (mp.pi / 4) ** 2 * mp.mpf("1.001")
ERF0 = 2 / mp.sqrt(mp.pi)
ERF_REST = _series(lambda z: (mp.erf(mp.sqrt(z)) / mp.sqrt(z) - ERF0) / z, -ERF0 / 3)
ERF_NEAR = mp.mpf("1.125")
EXP_REST = _series(lambda r: (mp.expm1(r) - r) / r**2, mp.mpf(1) / 2)

TABLES = [
    Table("EXP", EXP_REST, lambda r: r**2 + 1e-30, -HALF, HALF, slack=2),
    Table("EXP_TILTED", EXP_REST, lambda r: r**2 * mp.exp(-r) + 1e-30, mp.log(mp.mpf("0.74999")),
          mp.log(mp.mpf("1.50001")), slack=2),
    Table("EXPM1", EXP_REST, lambda r: abs(r) + 1e-30, -HALF, HALF),
    Table("EXP2", _series(lambda r: (mp.expm1(r * LN2) - r * LN2) / r**2, LN2**2 / 2),
          lambda r: r**2 + 1e-30, mp.mpf("-0.5"), mp.mpf("0.5")),
    Table("LOG", _series(_log_tail, mp.mpf(2) / 3), lambda z: z + 1e-30, mp.mpf(0), S_MAX, first=2),
    Table("POW_LOG", _series(lambda z: (_log_tail(z) - mp.mpf(2) / 3) / z, mp.mpf(2) / 5),
          lambda z: z * z * 256 + 1e-30, mp.mpf(0), S_MAX),
    Table("SIN", _odd(mp.sin, -mp.mpf(1) / 6), lambda z: z + 1e-30, mp.mpf(0), QUARTER, slack=2, first=2),
    Table("COS", _series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, mp.mpf(1) / 24),
          lambda z: z * z + 1e-30, mp.mpf(0), QUARTER, first=2),
    Table("ATAN", _odd(mp.atan, -mp.mpf(1) / 3), lambda z: z + 1e-30, mp.mpf(0),
          mp.mpf("0.2505"), only="f64"),
    Table("ATAN", _odd(mp.atan, -mp.mpf(1) / 3), lambda z: z + 1e-30, mp.mpf(0), mp.mpf(1), only="f32"),
    Table("ASIN", _odd(mp.asin, mp.mpf(1) / 6), lambda z: z + 1e-30, mp.mpf(0), mp.mpf("0.2501")),
    Table("ERF", ERF_REST, lambda z: z + 1e-30, mp.mpf(0), ERF_NEAR**2, first=7),
]  # fmt: skip
TABLES += [
    Table("SINH", _odd(mp.sinh, mp.mpf(1) / 6), lambda z: z + 1e-30, mp.mpf(0), HALF**2, first=2),
    Table("COSH", _series(lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, mp.mpf(1) / 2), lambda z: z + 1e-30,
          mp.mpf(0), HALF**2, first=2),
    Table("TAN", _odd(mp.tan, mp.mpf(1) / 3), lambda z: z + 1e-30, mp.mpf(0), QUARTER, slack=2),
    Table("LOG2_WIDE", lambda z: (_log_tail(z) * z + 2) / LN2 if z else 2 / LN2, lambda z: mp.mpf(1),
          mp.mpf(0), S_MAX, slack=mp.mpf(2) ** -8, only="f32", rounded="f64"),
    Table("EXP2_WIDE", lambda r: mp.exp(r * LN2), lambda r: mp.mpf(1), mp.mpf("-0.5"), mp.mpf("0.5"), only="f32",
          rounded="f64"),
    Table("HALF_TURN", _odd(mp.sin, -mp.mpf(1) / 6), lambda z: z + 1e-30, mp.mpf(0), 4 * QUARTER, only="f32",
          rounded="f64"),
    Table("TANH", _odd(mp.tanh, -mp.mpf(1) / 3), lambda z: z + 1e-30, mp.mpf(0), mp.mpf("0.945"), slack=2, only="f32"),
]  # fmt: skip


def _erfc_root(precision: str, end: str, first: int) -> Table:
    """The fourth root of erfc(x) in u = x - 1.125, up to the point where erf rounds to 1."""
    return Table("ERFC_ROOT", lambda u: mp.root(mp.erfc(u + ERF_NEAR), 4), lambda u: 4 * mp.erfc(u + ERF_NEAR) ** 0.75,
                 mp.mpf(0), mp.mpf(end) - ERF_NEAR, slack=2, first=first, only=precision)  # fmt: skip


TABLES += [_erfc_root("f64", "5.9375", 19), _erfc_root("f32", "3.9375", 8)]


def _rounded(c: list[mp.mpf], precision: str) -> str:
    cast = np.float64 if precision == "f64" else np.float32
    return ",\n            ".join(repr(float(cast(mp.nstr(x, 40)))) for x in c)


HEADER = '''"""Minimax coefficients, lowest power first. Written by tools/vecmath_coefficients.py."""

from __future__ import annotations
'''


CONSTANTS = {
    "LN2": LN2, "LOG2E": 1 / LN2, "LOG10_2": mp.log10(2), "LOG10E": 1 / mp.log(10), "PI": mp.pi,
    "PI_2": mp.pi / 2, "PI_4": mp.pi / 4, "TWO_OVER_PI": 2 / mp.pi, "TWO_OVER_SQRT_PI": ERF0,
    "TAN_PI_8": mp.tan(mp.pi / 8), "TAN_3PI_8": mp.tan(3 * mp.pi / 8),
}  # fmt: skip


def _two_over_pi_words() -> list[int]:
    """64 zero bits, then the first 1280 fraction bits of 2/pi, as 64-bit words."""
    with mp.workdps(450):
        bits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 1280))
    return [0] + [(bits >> (1280 - 64 * (i + 1))) & (2**64 - 1) for i in range(20)]


def main() -> None:
    print(HEADER)
    print("CONSTANTS: dict[str, str] = {")
    for name, constant in CONSTANTS.items():
        print(f'    "{name}": "{mp.nstr(constant, 55)}",')
    print("}")
    print("# 2/pi as a stream of bits, most significant first, after 64 zeros")
    print("TWO_OVER_PI_WORDS: tuple[int, ...] = (")
    for word in _two_over_pi_words():
        print(f"    0x{word:016X},")
    print(")")
    print("POLYNOMIALS: dict[str, dict[int, tuple[float, ...]]] = {")
    for name in dict.fromkeys(t.name for t in TABLES):
        print(f'    "{name}": {{')
        for precision, size in (("f64", 8), ("f32", 4)):
            for table in [t for t in TABLES if t.name == name and t.only in ("", precision)]:
                c = _rounded(table.fit(precision), table.rounded or precision)
                print(f"        {size}: (\n            {c},\n        ),")
        print("    },")
    print("}")


if __name__ == "__main__":
    main()
