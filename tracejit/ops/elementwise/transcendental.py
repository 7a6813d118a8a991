"""Exponentials, logarithms, trigonometry, roots, erf and logistic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.ops._lazy import scipy_special
from tracejit.ops.building.helpers import pointwise
from tracejit.ops.elementwise.arithmetic import add, mul, neg, scale, square, sub, unscale
from tracejit.ops.kernels import scalar, scalar_complex

_LN2 = math.log(2.0)
_LN10 = math.log(10.0)


def _function(
    name: str, doc: str, fn: Any, tangent: Any, kinds: str = "fc", kernel: Any = None, cost: int = 20
) -> Any:
    """A function of one operand with derivative `tangent(t, ans, x)`; its kernel is vecmath's by default."""
    code = kernel or scalar_complex.by_name(name)
    return pointwise(name, doc, fn, kinds=kinds, kernel=code, derivatives=(tangent,), cost=cost)


# ---------------------------------------------------------------- exponentials and logarithms

exp = _function("exp", "e**x", np.exp, lambda t, ans, x: scale(ans, t))
exp2 = _function("exp2", "2**x", np.exp2, lambda t, ans, x: scale(mul(ans, _LN2), t))
expm1 = _function("expm1", "e**x - 1, accurate near 0", np.expm1, lambda t, ans, x: scale(add(ans, 1), t))
log = _function("log", "natural logarithm", np.log, lambda t, ans, x: unscale(t, x))
log2 = _function("log2", "logarithm to base 2", np.log2, lambda t, ans, x: unscale(t, mul(x, _LN2)))
log10 = _function("log10", "logarithm to base 10", np.log10, lambda t, ans, x: unscale(t, mul(x, _LN10)))
log1p = _function("log1p", "log(1 + x), accurate near 0", np.log1p, lambda t, ans, x: unscale(t, add(x, 1)))

# ---------------------------------------------------------------- trigonometric functions

sin = _function("sin", "sine", np.sin, lambda t, ans, x: mul(cos(x), t))
cos = _function("cos", "cosine", np.cos, lambda t, ans, x: mul(neg(sin(x)), t))
tan = _function("tan", "tangent", np.tan, lambda t, ans, x: mul(add(square(ans), 1), t))


def _one_minus_square(x: Any) -> Any:
    """(1 - x)(1 + x), accurate near 1."""
    return mul(sub(1, x), add(x, 1))


arcsin = _function(
    "arcsin", "inverse sine", np.arcsin, lambda t, ans, x: unscale(t, sqrt(_one_minus_square(x)))
)
arccos = _function(
    "arccos", "inverse cosine", np.arccos, lambda t, ans, x: neg(unscale(t, sqrt(_one_minus_square(x))))
)
arctan = _function("arctan", "inverse tangent", np.arctan, lambda t, ans, x: unscale(t, add(square(x), 1)))


def _over_square(a: Any, y: Any, x: Any) -> Any:
    """a / (x^2 + y^2), 0 at the origin."""
    return unscale(a, add(square(x), square(y)))


arctan2 = pointwise(
    "arctan2",
    "the angle of the point (x, y)",
    np.arctan2,
    kinds="f",
    kernel=lambda k, y, x: k.math("arctan2", y, x),
    derivatives=(
        lambda t, ans, y, x: mul(_over_square(x, y, x), t),
        lambda t, ans, y, x: mul(neg(_over_square(y, y, x)), t),
    ),
    cost=40,
)

# ---------------------------------------------------------------- hyperbolic functions

sinh = _function("sinh", "hyperbolic sine", np.sinh, lambda t, ans, x: scale(cosh(x), t))
cosh = _function("cosh", "hyperbolic cosine", np.cosh, lambda t, ans, x: scale(sinh(x), t))
tanh = _function("tanh", "hyperbolic tangent", np.tanh, lambda t, ans, x: mul(_one_minus_square(ans), t))

# ---------------------------------------------------------------- roots

sqrt = _function(
    "sqrt",
    "square root",
    np.sqrt,
    lambda t, ans, x: unscale(t, mul(ans, 2)),
    kernel=scalar_complex.function(scalar.sqrt, scalar_complex.sqrt),
    cost=4,
)
cbrt = _function("cbrt", "cube root", np.cbrt, lambda t, ans, x: unscale(t, mul(square(ans), 3)), kinds="f")

# ---------------------------------------------------------------- erf, logistic


def _erf_eval(x: Any) -> Any:
    erf = scipy_special().erf
    return erf(x) if x.itemsize > 2 else erf(x.astype(np.float32)).astype(x.dtype)


def _erf_tangent(t: Any, ans: Any, x: Any) -> Any:
    """2 / sqrt(pi) exp(-x^2) t."""
    return mul(mul(exp(neg(square(x))), 2.0 / math.sqrt(math.pi)), t)


def _logistic_eval(x: Any) -> Any:
    """1 / (1 + exp(-x)), in e = exp(-|x|) for real x, which does not overflow."""
    if x.dtype.kind == "c":
        return 1 / (1 + np.exp(-x))
    if x.itemsize == 2:
        return _logistic_eval(x.astype(np.float32)).astype(x.dtype)
    e = np.exp(-np.abs(x))
    one = x.dtype.type(1)
    return np.where(x < 0, e, one)[()] / (one + e)


erf = _function("erf", "error function", _erf_eval, _erf_tangent, kinds="f")
logistic = _function(
    "logistic",
    "1 / (1 + exp(-x))",
    _logistic_eval,
    lambda t, ans, x: mul(mul(ans, sub(1, ans)), t),
    cost=25,
)
