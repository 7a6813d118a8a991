"""Exponential, sine, cosine and Fresnel integrals, Spence's and hypergeometric functions, products with logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.kernel import Opaque
from tracejit.ops._lazy import scipy_special
from tracejit.ops.elementwise.arithmetic import abs, add, div, mul, neg, square, sub
from tracejit.ops.elementwise.compare import lt, select
from tracejit.ops.elementwise.scale import unscale
from tracejit.ops.elementwise.transcendental import cos, exp, log, log1p, sin
from tracejit.ops.special.building import (
    F64,
    SMALL,
    no_derivative,
    quotient,
    series,
    special,
    times,
)

expi = special(
    "expi", "the exponential integral Ei", "expi", times(lambda ans, x: div(exp(x), x)), analytic=True
)

exp1 = special(
    "exp1",
    "the exponential integral E1",
    "exp1",
    times(lambda ans, x: neg(div(exp(neg(x)), x))),
    analytic=True,
)


# ---------------------------------------------------------------- pairs of integrals

_SINC_SERIES = (1.0, -1 / 6, 1 / 120, -1 / 5040)
_HALF_PI = np.pi / 2


def _half(name: str, which: int, doc: str, slope: Any) -> Any:
    """One of the two functions that SciPy's ufunc `name` gives, which is no C function that kernels can call."""
    op_name = f"{name}_{'sc'[which]}" if name == "fresnel" else ("si", "ci")[which]

    def evaluate(x: Any) -> Any:
        return getattr(scipy_special(), name)(x)[which]

    return special(op_name, doc, evaluate, times(slope), kernel=Opaque(), cost=2000, analytic=True)


sine_integral = _half(
    "sici",
    0,
    "the sine integral",
    lambda ans, x: quotient(sin(x), x, series(square(x), _SINC_SERIES)),
)
cosine_integral = _half("sici", 1, "the cosine integral", lambda ans, x: div(cos(x), x))
fresnel_s = _half("fresnel", 0, "Fresnel's integral S", lambda ans, x: sin(mul(square(x), _HALF_PI)))
fresnel_c = _half("fresnel", 1, "Fresnel's integral C", lambda ans, x: cos(mul(square(x), _HALF_PI)))

dawson = special(
    "dawson",
    "Dawson's integral",
    "dawsn",
    times(lambda ans, x: sub(1.0, mul(mul(x, ans), 2.0))),
    analytic=True,
)

# ---------------------------------------------------------------- hypergeometric functions

hyp1f1 = special(
    "hyp1f1",
    "Kummer's function 1F1(a; b; x)",
    "hyp1f1",
    no_derivative("hyp1f1", "a"),
    no_derivative("hyp1f1", "b"),
    times(lambda ans, a, b, x: mul(div(a, b), hyp1f1(add(a, 1), add(b, 1), x))),
    cost=500,
)

hyp2f1 = special(
    "hyp2f1",
    "Gauss' function 2F1(a, b; c; x)",
    "hyp2f1",
    no_derivative("hyp2f1", "a"),
    no_derivative("hyp2f1", "b"),
    no_derivative("hyp2f1", "c"),
    times(lambda ans, a, b, c, x: mul(div(mul(a, b), c), hyp2f1(add(a, 1), add(b, 1), add(c, 1), x))),
    cost=500,
)

# ---------------------------------------------------------------- Spence's function, products with logarithms

# log(z) / (1 - z) in powers of z - 1.
_SPENCE_SERIES = tuple((-1.0) ** (n + 1) / (n + 1) for n in range(9))


def _spence_slope(ans: Any, z: Any) -> Any:
    w = sub(z, 1)
    small = lt(abs(w), SMALL)
    far = div(log(select(small, 2.0, z)), neg(select(small, 1.0, w)))
    return select(small, series(w, _SPENCE_SERIES), far)


spence = special(
    "spence", "Spence's function: the dilogarithm of 1 - z", "spence", times(_spence_slope), analytic=True
)


def _product(name: str) -> Any:
    """x * log(y), 0 where x is 0 and y is a number."""

    def kernel(k: Any, x: Any, y: Any) -> Any:
        dtype = x.dtype
        x, y = k.cast(x, F64), k.cast(y, F64)
        nothing = k.and_(k.eq(x, 0.0), k.eq(y, y))
        return k.cast(k.select(nothing, k.const(0, F64), x * k.math(name, y)), dtype)

    return kernel


xlogy = special(
    "xlogy",
    "x log(y), 0 where x is 0",
    "xlogy",
    times(lambda ans, x, y: log(y)),
    times(lambda ans, x, y: unscale(x, y)),
    kernel=_product("log"),
    analytic=True,
)

xlog1py = special(
    "xlog1py",
    "x log(1 + y), 0 where x is 0",
    "xlog1py",
    times(lambda ans, x, y: log1p(y)),
    times(lambda ans, x, y: unscale(x, add(y, 1))),
    kernel=_product("log1p"),
    analytic=True,
)
