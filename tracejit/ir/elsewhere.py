"""Arrays that are not the host's: CuPy's, and those of the emulated device.

They are raw values like NumPy's arrays, of which the type is known: what evaluates operations lets the device do it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Their types, as far as any was met.
TYPES: set[type] = set()


def is_elsewhere(x: Any) -> bool:
    """Whether `x` is an array on a device."""
    t = type(x)
    if any(t is known for known in TYPES):  # a user's class may not be hashable
        return True
    if t.__name__ == "ndarray" and str(t.__module__).partition(".")[0] == "cupy":
        TYPES.add(t)
        return True
    return False


def to_host(x: Any) -> np.ndarray:
    """An array as one of NumPy's, for who has to know its elements: a copy if it is on a device."""
    return x.get() if is_elsewhere(x) else np.asarray(x)
