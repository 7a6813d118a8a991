"""The one table of bounds: what docs/accuracy.md states and what the tests enforce.

A row is a domain of float64 arguments with its bound in units of the last place (of the exact value). `SINGLE` has
the bounds of float32, for every argument of a function of one.
"""

from __future__ import annotations

from dataclasses import dataclass

Range = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """`ranges` are sampled: evenly, or evenly in the logarithm where they span more than three decades."""

    name: str
    domain: str
    bound: float
    ranges: tuple[Range, ...]
    others: tuple[Range, ...] = ()  # of the second argument
    against: str = ""  # what the error is relative to, where it is not the value


_ANGLES = ((-4, 4), (-1e-3, 1e-3), (-1e4, 1e4), (-6e10, 6e10), (1e11, 1e300), (1e300, 1.7e308))
_POSITIVE = ((1e-310, 1e-300), (1e-300, 1e300), (0.5, 2), (0.7, 1.5), (0.999, 1.001))
_UNIT = ((-1, 1), (-0.5, 0.5), (0.99, 1), (-1e-5, 1e-5))
_LINE = ((-1, 1), (-10, 10), (-1e-3, 1e-3), (-1e-300, 1e-300), (1e2, 1e300))

ROWS = (
    Row("exp", "all", 0.9, ((-745, 709.7), (-1, 1), (-1e-5, 1e-5))),
    Row("exp2", "all", 0.9, ((-1074, 1023.9), (-1, 1), (-1e-5, 1e-5))),
    Row("expm1", "all", 0.9, ((-40, 709.7), (-1, 1), (-1e-5, 1e-5), (-1e-300, 1e-300), (30, 60))),
    Row("log", "all", 0.95, _POSITIVE),
    Row("log2", "all", 1.15, _POSITIVE),
    Row("log10", "all", 1.1, _POSITIVE),
    Row("log1p", "all", 0.9, ((-1, 1), (-0.3, 0.5), (-1e-5, 1e-5), (1, 1e6), (1e-300, 1e300))),
    Row("sin", "all", 0.85, _ANGLES),
    Row("cos", "all", 0.85, _ANGLES),
    Row("tan", "all", 1.5, _ANGLES),
    Row("arcsin", "[-1, 1]", 0.75, _UNIT),
    Row("arccos", "[-1, 1]", 0.75, (*_UNIT, (-1, -0.99))),
    Row("arctan", "all", 0.85, (*_LINE, (0.4, 0.6), (1.5, 2.5))),
    Row("sinh", "all", 1.0, (*_LINE[:4], (-709, 710.4))),
    Row("cosh", "all", 1.5, (*_LINE[:4], (-709, 710.4))),
    Row("tanh", "all", 1.0, ((-22, 22), (-1, 1), (-1e-3, 1e-3), (-1e-300, 1e-300))),
    Row("arcsinh", "all", 1.15, _LINE),
    Row("arccosh", "[1, inf)", 1.0, ((1, 10), (1, 1.5), (1, 1.001), (1, 1e6), (1e3, 1e300))),
    Row("arctanh", "(-1, 1)", 1.05, (*_UNIT, (-1e-7, 1e-7))),
    Row("cbrt", "all", 0.55, (*_LINE, (1, 8), (1e-320, 1e-270))),
    Row("erf", "all", 1.5, ((-6, 6), (-1, 1), (-1e-5, 1e-5), (0.9, 1.1))),
    Row("erfc", "(-inf, 27.2]", 2.0, ((-6, 6), (-0.5, 0.5), (-1e-5, 1e-5), (0.5, 2), (2, 10), (10, 26))),
    Row("logistic", "all", 2.5, ((-700, 40), (-1, 1), (-10, 10))),
    Row("lgamma", "[0, inf)", 3.0,
        ((1e-300, 1e-10), (0, 0.5), (0.5, 1.5), (0.99, 1.01), (1.5, 3), (3, 20), (20, 1e305))),
    Row("lgamma", "(-40, 0)", 4.0, ((-1, 0), (-3, -1), (-40, -3)), against="max(1, abs(value))"),
    Row("digamma", "(0, inf)", 2.0, ((1e-300, 1e-10), (0, 1), (1, 1.4), (1.45, 1.47), (1.5, 3), (3, 20), (20, 1e305))),
    Row("digamma", "(-40, 0)", 12.0, ((-1, 0), (-3, -1), (-40, -3)), against="max(1, abs(value))"),
    Row("pow", "x > 0, all results", 1.1, ((0.5, 2), (1e-300, 1e300)), ((-700, 700), (-1, 1))),
    Row("arctan2", "all", 1.0, (*_LINE[:3], (1e-150, 1e150)), (*_LINE[:3], (1e-150, 1e150))),
    Row("hypot", "all", 1.0, (*_LINE[:3], (1e-150, 1e150)), (*_LINE[:3], (1e-150, 1e150))),
    Row("logaddexp", "x, y >= 0", 1.6, ((0, 1), (0, 50), (0, 700)), ((0, 1), (0, 50), (0, 700))),
)  # fmt: skip

#: Every float32; of two arguments: as many as were sampled.
SINGLE = {
    "exp": 0.95, "exp2": 0.95, "expm1": 0.9, "log": 0.95, "log2": 1.1, "log10": 1.1, "log1p": 0.95, "sin": 1.0,
    "cos": 1.0, "tan": 1.5, "arcsin": 0.8, "arccos": 0.8, "arctan": 1.4, "sinh": 1.0, "cosh": 1.5, "tanh": 1.0,
    "arcsinh": 1.15, "arccosh": 1.0, "arctanh": 1.05, "cbrt": 0.8, "erf": 1.5, "erfc": 0.51, "logistic": 2.5,
    "pow": 0.6, "arctan2": 1.6, "hypot": 0.51, "logaddexp": 1.6,
}  # fmt: skip
