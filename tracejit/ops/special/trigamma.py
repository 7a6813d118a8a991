"""The derivative of digamma at complex numbers, which SciPy does not have."""

from __future__ import annotations

import math
from typing import Any

from tracejit.ops.elementwise.arithmetic import add, div, imag, mul, neg, real, sub
from tracejit.ops.elementwise.compare import lt, select
from tracejit.ops.elementwise.transcendental import exp

#: Steps upwards, after which the series of Stirling has full precision.
_STEPS = 12
#: The Bernoulli numbers B(2), B(4), ...
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def trigamma(z: Any) -> Any:
    """The sum of (z + k)**-2 over all k, for complex `z`: by recurrence and Stirling's series in the right half of the
    plane, by reflection in the left one."""
    is_left = lt(real(z), 0.5)
    w = select(is_left, sub(1.0, z), z)
    out = div(1.0, mul(w, w))
    for _ in range(_STEPS - 1):
        w = add(w, 1.0)
        out = add(out, div(1.0, mul(w, w)))
    w = add(w, 1.0)
    square = div(1.0, mul(w, w))
    series: Any = _BERNOULLI[-1]
    for b in reversed(_BERNOULLI[:-1]):
        series = add(mul(series, square), b)
    tail = add(div(add(mul(series, square), 1.0), w), mul(square, 0.5))
    right = add(out, tail)
    # (pi / sin(pi z))**2 of an exponential that does not overflow
    turned = select(lt(imag(z), 0.0), mul(z, -2j * math.pi), mul(z, 2j * math.pi))
    q = exp(turned)
    mirrored = div(mul(q, -4 * math.pi**2), mul(sub(1.0, q), sub(1.0, q)))
    return select(is_left, add(mirrored, neg(right)), right)
