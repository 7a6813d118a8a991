"""Values on which SciPy's functions are asked for the shapes and dtypes of their results.

They are made for most functions to take: numbers between 0 and 1 that increase, square matrices that are positive
definite, and others, should these not do. Nothing depends on them but which calls are compiled.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: How many families of values there are, besides one that is asked where none of these does: large numbers.
FAMILIES = 4
_GOLDEN = (math.sqrt(5) - 1) / 2


def sample(shape: tuple[int, ...], dtype: np.dtype, family: int, place: int) -> np.ndarray:
    """An array of family number `family`, for the operand number `place`."""
    n = math.prod(shape)
    if dtype.kind == "b":
        return (np.arange(n) % 2 == family % 2).reshape(shape)
    if dtype.kind in "iu":
        return _integers(n, family).astype(dtype).reshape(shape)
    values = _floats(n, family, place).reshape(shape)
    if family < 2 and len(shape) >= 2 and shape[-1] == shape[-2]:
        values = 0.1 * (values + np.swapaxes(values, -1, -2)) + 2 * np.eye(shape[-1])
    return (values * (1 + 0.1j) if dtype.kind == "c" else values).astype(dtype)


def _integers(n: int, family: int) -> np.ndarray:
    k = np.arange(n)
    return (k if n > 1 else k + 2, k % 3 + 1, np.ones(n, np.int64), k % 2, k + 60)[family]


def _floats(n: int, family: int, place: int) -> np.ndarray:
    k = np.arange(n)
    spread = np.modf((k + 1 + place) * _GOLDEN)[0]
    increasing = (k + 1 + 0.1 * place) / (n + 1 + 0.1 * place)
    return (increasing, 0.05 + 0.9 * spread, 1.0 + k, spread - 0.5, 60.0 + k)[family]


def laid(x: Any, order: tuple[int, ...] | None) -> Any:
    """A copy of the array `x` in the memory order of its axes that is given; None for C order."""
    if order is None:
        return np.array(x, order="C")
    return np.ascontiguousarray(np.transpose(x, order)).transpose(np.argsort(order))
