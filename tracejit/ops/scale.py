"""Products in which a zero tangent stays zero: derivative coefficients may be infinite or NaN.

`where(x > 0, sqrt(x), 0)` sends a zero cotangent to sqrt's derivative at 0,
which is infinite, and 0 * inf is NaN. In a linear map zero goes to zero, so
these two products say so. They are what derivative rules multiply with; for
finite coefficients they are * and /.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ops import identities as ids
from tracejit.ops import scalar
from tracejit.ops.helpers import each_linear, linear_in, pointwise


def _keep_zeros(t: Any, out: Any) -> Any:
    return np.where(t == 0, t, out)[()] if (out != out).any() else out


def _scale_eval(c: Any, t: Any) -> Any:
    with np.errstate(all="ignore"):
        return _keep_zeros(t, np.multiply(c, t))


def _unscale_eval(t: Any, d: Any) -> Any:
    with np.errstate(all="ignore"):
        return _keep_zeros(t, np.divide(t, d))


scale = pointwise(
    "scale",
    "c * t, and t where t is zero, whatever c is",
    _scale_eval,
    kinds="fc",
    kernel=lambda k, c, t: k.select(k.eq(t, 0), t, k.mul(c, t)),
    derivatives=(lambda dc, ans, c, t: scale(dc, t), lambda dt, ans, c, t: scale(c, dt)),
    transpose=each_linear(lambda ct, c, t: scale(ct, t), lambda ct, c, t: scale(c, ct)),
    simplify=(ids.neutral(0, 1, "f"),),
    cost=2,
)

unscale = pointwise(
    "unscale",
    "t / d, and t where t is zero, whatever d is",
    _unscale_eval,
    kinds="fc",
    kernel=lambda k, t, d: k.select(k.eq(t, 0), t, scalar.div(k, t, d)),
    derivatives=(
        lambda dt, ans, t, d: unscale(dt, d),
        lambda dd, ans, t, d: ops.arithmetic.neg(scale(unscale(ans, d), dd)),
    ),
    transpose=linear_in(0, lambda ct, t, d: unscale(ct, d)),
    simplify=(ids.neutral(1, 1, "f"),),
    cost=5,
)
