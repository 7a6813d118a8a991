"""How far sequences are from being sorted: what a sort by merging exchanges."""

from __future__ import annotations

from typing import Any

import numpy as np


def inversions(y: Any) -> Any:
    """The number of pairs of which the larger comes first."""
    n = len(y)
    a = np.array(y)
    b = np.zeros_like(a)
    found = np.int64(0)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            i = np.int64(start)
            middle = np.int64(np.minimum(start + width, n))
            j = middle
            end = np.int64(np.minimum(start + 2 * width, n))
            for k in range(start, end):
                if j < end and (i >= middle or a[j] < a[i]):
                    b[k] = a[j]
                    j += 1
                    found += middle - i
                else:
                    b[k] = a[i]
                    i += 1
        a[:] = b
        width *= 2
    return found
