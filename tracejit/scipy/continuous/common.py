"""What the formulas of distributions share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.numpy.operands import broadcast_operands, convert
from tracejit.ops.special import by_name
from tracejit.scipy import special as sp
from tracejit.scipy.inverting.areas import area
from tracejit.tracing import wrap

INF = np.inf
REAL = (-INF, INF)
POSITIVE = (0.0, INF)
UNIT = (0.0, 1.0)
LOG_PI = math.log(math.pi)
LOG_2 = math.log(2.0)
LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def normal(z: Any) -> Any:
    """The log-density of the standard normal distribution."""
    return -0.5 * z * z - LOG_SQRT_2PI


def circular(z: Any, k: Any) -> Any:
    """The log-density of von Mises' distribution."""
    return k * sp.cosm1(z) - math.log(2 * math.pi) - tnp.log(sp.i0e(k))


def circular_probability(z: Any, k: Any) -> Any:
    """That of von Mises' distribution up to z, from the middle of the first turn."""
    return 0.5 + area(lambda x, k: tnp.exp(circular(x, k)), 0.0, z, (k,))


def scipys(name: str) -> Any:
    """A ufunc of SciPy's own use, in double precision."""

    def call(*args: Any) -> Any:
        raws = broadcast_operands(name, [convert(a, np.dtype(np.float64)) for a in args])
        return wrap(by_name(name, *raws))

    return call


def where_positive(z: Any, value: Any, at_zero: Any = -INF) -> Any:
    """value(z) where z > 0, else `at_zero`."""
    inside = z > 0
    return tnp.where(inside, value(tnp.where(inside, z, 1.0)), at_zero)


def any_shape(*shapes: Any) -> Any:
    """Shapes that may have any value."""
    return np.True_


def magnitude(z: Any) -> Any:
    """|z|, with the slope of the left side at 0."""
    return tnp.where(z > 0, z, -z)
