"""Inverse hyperbolic functions, and functions that are more than a formula of others.

hypot, logaddexp and sinc are primitives because their formulas overflow, cancel or divide by zero where
they themselves are smooth; their derivatives are written so that they do neither.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.ops.building.helpers import dtype_of, kind, lift, pointwise
from tracejit.ops.elementwise.arithmetic import abs, add, div, mul, scale, square, sub, unscale
from tracejit.ops.elementwise.compare import and_, eq, isinf, lt, select
from tracejit.ops.elementwise.transcendental import cos, logistic, sqrt
from tracejit.ops.kernels import scalar, scalar_complex
from tracejit.ops.kernels.scalar import fabs, in_float32

_LN2 = math.log(2.0)

# ---------------------------------------------------------------- inverse hyperbolic functions


def _asinh_tangent(t: Any, ans: Any, x: Any) -> Any:
    """t / sqrt(x^2 + 1); for reals the root does not overflow."""
    complex_ = kind(dtype_of(x)) == "c"
    return unscale(t, sqrt(add(square(x), 1)) if complex_ else hypot(x, 1.0))


def _acosh_tangent(t: Any, ans: Any, x: Any) -> Any:
    """t / (sqrt(x - 1) sqrt(x + 1)), on the branch that arccosh has."""
    return unscale(t, mul(sqrt(sub(x, 1)), sqrt(add(x, 1))))


arcsinh = pointwise(
    "arcsinh",
    "inverse hyperbolic sine",
    np.arcsinh,
    kinds="fc",
    kernel=scalar_complex.by_name("arcsinh"),
    derivatives=(_asinh_tangent,),
    cost=30,
)

arccosh = pointwise(
    "arccosh",
    "inverse hyperbolic cosine",
    np.arccosh,
    kinds="fc",
    kernel=scalar_complex.by_name("arccosh"),
    derivatives=(_acosh_tangent,),
    cost=30,
)

arctanh = pointwise(
    "arctanh",
    "inverse hyperbolic tangent",
    np.arctanh,
    kinds="fc",
    kernel=scalar_complex.by_name("arctanh"),
    derivatives=(lambda t, ans, x: unscale(t, mul(sub(1, x), add(x, 1))),),
    cost=30,
)

# ---------------------------------------------------------------- roots

rsqrt = pointwise(
    "rsqrt",
    "1 / sqrt(x)",
    lambda x: np.reciprocal(np.sqrt(x)),
    kinds="fc",
    kernel=in_float32(lambda k, x: scalar.reciprocal(k, scalar.sqrt(k, x))),
    derivatives=(lambda t, ans, x: scale(mul(unscale(ans, x), -0.5), t),),
    cost=8,
)

hypot = pointwise(
    "hypot",
    "sqrt(x^2 + y^2) without overflow",
    np.hypot,
    kinds="f",
    kernel=scalar.hypot,
    derivatives=(
        lambda t, ans, x, y: scale(unscale(x, ans), t),
        lambda t, ans, x, y: scale(unscale(y, ans), t),
    ),
    cost=12,
)

# ---------------------------------------------------------------- log(exp(x) + exp(y))


def _logaddexp_kernel(base: str) -> Any:
    """max + log(1 + b**-|x - y|); where x == y (infinities too) x + log(2)."""

    def kernel(k: Any, x: Any, y: Any) -> Any:
        d = x - y
        e = k.math(base, k.neg(fabs(k, d)))
        more = k.math("log1p", e)
        twice = k.const(_LN2, x.dtype)
        if base == "exp2":
            more, twice = more * (1 / _LN2), k.const(1.0, x.dtype)
        out = k.select(k.gt(d, 0.0), x, y) + more
        out = k.select(k.isnan(d), d, out)
        return k.select(k.eq(x, y), x + twice, out)

    return in_float32(kernel)


def _share(x: Any, y: Any, factor: float) -> Any:
    """b**x / (b**x + b**y), 1/2 of equal infinities."""
    # Only infinities are replaced: of equal finite numbers the difference counts in higher derivatives.
    same = and_(eq(x, y), isinf(x))
    d = sub(select(same, lift(0, x), x), select(same, lift(0, y), y))
    return logistic(d if factor == 1 else mul(d, factor))


def _logaddexp(name: str, doc: str, fn: Any, base: str, factor: float) -> Any:
    return pointwise(
        name,
        doc,
        fn,
        kinds="f",
        kernel=_logaddexp_kernel(base),
        derivatives=(
            lambda t, ans, x, y: mul(_share(x, y, factor), t),
            lambda t, ans, x, y: mul(_share(y, x, factor), t),
        ),
        cost=45,
    )


logaddexp = _logaddexp("logaddexp", "log(exp(x) + exp(y))", np.logaddexp, "exp", 1.0)
logaddexp2 = _logaddexp("logaddexp2", "log2(2**x + 2**y)", np.logaddexp2, "exp2", _LN2)

# ---------------------------------------------------------------- sinc, the unit step

# Below it the derivative of sinc is summed; above it nothing cancels.
_NEAR = 0.5
# sinc'(x) / x = sum of these times x**(2n).
_SERIES = [
    (-1) ** (n + 1) * math.pi ** (2 * n + 2) * (2 * n + 2) / math.factorial(2 * n + 3) for n in range(14)
]


def _sinc_eval(x: Any) -> Any:
    """NumPy's formula, which would make float64 of bfloat16."""
    y = np.where(x == 0, x.dtype.type(1), x * x.dtype.type(math.pi))
    return np.where(x == 0, x.dtype.type(1), np.sin(y) / y)[()]


def _sinc_kernel(k: Any, x: Any) -> Any:
    zero = k.eq(x, 0.0)
    y = k.select(zero, k.const(1.0, x.dtype), x * math.pi)
    return k.select(zero, k.const(1.0, x.dtype), k.math("sin", y) / y)


def _sinc_tangent(t: Any, ans: Any, x: Any) -> Any:
    """(cos(pi x) - sinc(x)) / x, by its series near 0."""
    near = lt(abs(x), _NEAR)
    s = select(near, x, lift(0, x))
    z, total = square(s), lift(_SERIES[-1], x)
    for c in _SERIES[-2::-1]:
        total = add(mul(total, z), c)
    far = select(near, lift(1, x), x)
    away = div(sub(cos(mul(far, math.pi)), sinc(far)), far)
    return mul(select(near, mul(total, s), away), t)


sinc = pointwise(
    "sinc",
    "sin(pi x) / (pi x), 1 at 0",
    _sinc_eval,
    kinds="f",
    kernel=_sinc_kernel,
    derivatives=(_sinc_tangent,),
    cost=30,
)


def _heaviside_kernel(k: Any, x: Any, h: Any) -> Any:
    zero, one = k.const(0.0, x.dtype), k.const(1.0, x.dtype)
    step = k.select(k.gt(x, 0.0), one, k.select(k.eq(x, 0.0), h, zero))
    return k.select(k.isnan(x), x, step)


heaviside = pointwise(
    "heaviside",
    "0 for x < 0, 1 for x > 0, the second operand at 0",
    np.heaviside,
    kinds="f",
    kernel=_heaviside_kernel,
    derivatives=(None, lambda t, ans, x, h: select(eq(x, 0), t, lift(0, t))),
)
