"""The error function's relatives and the normal distribution function, with inverses and logarithms."""

from __future__ import annotations

import math
from typing import Any

from tracejit.ops.elementwise import transcendental
from tracejit.ops.elementwise.arithmetic import div, mul, neg, square, sub
from tracejit.ops.elementwise.transcendental import exp
from tracejit.ops.special.building import by_vecmath, extended, of_complex, special, times

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
_HALF_SQRT_PI = math.sqrt(math.pi) / 2
_SQRT_HALF = math.sqrt(0.5)
_SQRT_2PI = math.sqrt(2 * math.pi)


def _gauss(x: Any) -> Any:
    return exp(neg(square(x)))


def density(x: Any) -> Any:
    """exp(-x**2 / 2) / sqrt(2 pi)."""
    return mul(exp(mul(square(x), -0.5)), 1 / _SQRT_2PI)


erf = extended(
    transcendental.erf,
    of_complex("erf", "the error function", "erf", times(lambda ans, x: mul(_gauss(x), _TWO_OVER_SQRT_PI))),
)

erfc = special(
    "erfc",
    "1 - erf(x)",
    "erfc",
    times(lambda ans, x: mul(_gauss(x), -_TWO_OVER_SQRT_PI)),
    kernel=by_vecmath("erfc"),
    analytic=True,
)

erfcx = special(
    "erfcx",
    "exp(x**2) erfc(x)",
    "erfcx",
    times(lambda ans, x: sub(mul(mul(x, ans), 2.0), _TWO_OVER_SQRT_PI)),
    kernel=by_vecmath("erfcx"),
    analytic=True,
)

erf_inv = special(
    "erf_inv",
    "the inverse of erf",
    "erfinv",
    times(lambda ans, x: mul(exp(square(ans)), _HALF_SQRT_PI)),
    kernel=by_vecmath("erfinv"),
)

erfc_inv = special(
    "erfc_inv",
    "the inverse of erfc",
    "erfcinv",
    times(lambda ans, x: mul(exp(square(ans)), -_HALF_SQRT_PI)),
    kernel=by_vecmath("erfcinv"),
)

ndtr = special(
    "ndtr",
    "the normal distribution function",
    "ndtr",
    times(lambda ans, x: density(x)),
    kernel=by_vecmath("ndtr"),
    analytic=True,
)

ndtri = special(
    "ndtri",
    "the inverse of the normal distribution function",
    "ndtri",
    times(lambda ans, p: mul(exp(mul(square(ans), 0.5)), _SQRT_2PI)),
    kernel=by_vecmath("ndtri"),
)

# The quotient of density and distribution function is a scaled erfc: no logarithms are subtracted.
log_ndtr = special(
    "log_ndtr",
    "log of the normal distribution function",
    "log_ndtr",
    times(lambda ans, x: div(2 / _SQRT_2PI, erfcx(mul(x, -_SQRT_HALF)))),
    kernel=by_vecmath("log_ndtr"),
    analytic=True,
)
