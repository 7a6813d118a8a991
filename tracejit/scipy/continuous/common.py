"""What the formulas of distributions share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import numpy as tnp

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


def where_positive(z: Any, value: Any, at_zero: float = -INF) -> Any:
    """value(z) where z > 0, else `at_zero`."""
    inside = z > 0
    return tnp.where(inside, value(tnp.where(inside, z, 1.0)), at_zero)


def any_shape(*shapes: Any) -> Any:
    """Shapes that may have any value."""
    return np.True_


def magnitude(z: Any) -> Any:
    """|z|, with the slope of the left side at 0."""
    return tnp.where(z > 0, z, -z)
