"""Activation functions, element by element. All take floats of any shape and keep shape and dtype.

They are custom functions where the formula's own derivative would be wasteful or wrong at a corner: ReLU
remembers the sign of its input only, and its slope at 0 is 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.control.custom.public import custom_jvp
from tracejit.lax import logistic
from tracejit.scipy import special


def activation(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of floats that keeps their dtype: integers become float64, and bfloat16, which NumPy would
    promote where it meets a Python number, is computed in float32."""

    @functools.wraps(fn)
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        x = tnp.asarray(x)
        if x.dtype.kind in "biu":
            x = x.astype(float)
        if x.dtype != dtypes.bfloat16:
            return fn(x, *args, **kwargs)
        return fn(x.astype(np.float32), *args, **kwargs).astype(dtypes.bfloat16)

    return call


@custom_jvp
def relu(x: Any) -> Any:
    """max(x, 0); the slope at 0 is 0."""
    return tnp.maximum(x, 0)


@relu.defjvp
def _relu_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return relu(x), tnp.where(x > 0, t, t.dtype.type(0))


@custom_jvp
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6); the slope at both corners is 0."""
    return tnp.minimum(tnp.maximum(x, 0), 6)


@relu6.defjvp
def _relu6_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return relu6(x), tnp.where((x > 0) & (x < 6), t, t.dtype.type(0))


@activation
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return logistic(x)


@activation
def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    return tnp.logaddexp(x, 0.0)


@activation
def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x**2 + b)) / 2: an algebraic softplus (Barron, 2021)."""
    return (x + tnp.sqrt(tnp.square(x) + b)) / 2


@activation
def sparse_plus(x: Any) -> Any:
    """0 for x <= -1, (x + 1)**2 / 4 between, x for x >= 1."""
    return tnp.where(x <= -1, 0.0, tnp.where(x >= 1, x, (x + 1) ** 2 / 4))


@activation
def sparse_sigmoid(x: Any) -> Any:
    """The derivative of `sparse_plus`: clip((x + 1) / 2, 0, 1)."""
    return tnp.clip((x + 1) / 2, 0, 1)


@activation
def soft_sign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return x / (tnp.abs(x) + 1)


@activation
def silu(x: Any) -> Any:
    """x sigmoid(x), also called swish (Elfwing and others, 2017)."""
    return x * sigmoid(x)


swish = silu


@activation
def mish(x: Any) -> Any:
    """x tanh(softplus(x)) (Misra, 2019)."""
    return x * tnp.tanh(softplus(x))


@activation
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x)), without underflow."""
    return -softplus(-x)


@activation
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """x where x >= 0, else negative_slope * x."""
    return tnp.where(x >= 0, x, negative_slope * x)


@activation
def hard_tanh(x: Any) -> Any:
    """x limited to [-1, 1]; the slope is 0 outside."""
    return tnp.where(x > 1, 1.0, tnp.where(x < -1, -1.0, x))


@activation
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(x + 3) / 6


@activation
def hard_silu(x: Any) -> Any:
    """x hard_sigmoid(x)."""
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@activation
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x where x > 0, else alpha (exp(x) - 1)."""
    return tnp.where(x > 0, x, alpha * tnp.expm1(tnp.where(x > 0, 0.0, x)))


@activation
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1): continuously differentiable (Barron, 2017)."""
    return tnp.where(x > 0, x, alpha * tnp.expm1(tnp.where(x > 0, 0.0, x) / alpha))


@activation
def selu(x: Any) -> Any:
    """The self-normalising ELU (Klambauer, Unterthiner, Mayr and Hochreiter, 2017)."""
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * elu(x, alpha)


@activation
def gelu(x: Any, approximate: bool = True) -> Any:
    """x Phi(x) for the normal distribution function Phi (Hendrycks and Gimpel, 2016);
    `approximate` takes the tanh formula of that paper."""
    if approximate:  # (1 + tanh(u)) / 2 is sigmoid(2 u), which does not cancel and keeps one residual
        return x * sigmoid(math.sqrt(8 / math.pi) * (x + 0.044715 * x**3))
    return x * special.erfc(-x / math.sqrt(2)) / 2


@activation
def glu(x: Any, axis: int = -1) -> Any:
    """The first half of `x` along `axis` times the sigmoid of the second (Dauphin and others, 2017).

    Raises ValueError if the axis has an odd size.
    """
    first, second = tnp.split(x, 2, axis=axis)
    return first * sigmoid(second)


@activation
def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return tnp.tanh(x)


@activation
def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x > 0, without cancellation: by expm1 up to log(2), by log1p beyond (Mächler, 2012)."""
    small = x < math.log(2)
    near = tnp.log(-tnp.expm1(-tnp.where(small, x, 1.0)))
    return tnp.where(small, near, tnp.log1p(-tnp.exp(-tnp.where(small, 1.0, x))))


def identity(x: Any) -> Any:
    """x."""
    return x
