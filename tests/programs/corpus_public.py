"""Programs as public packages have them: sizes as arrays, grids of lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program


@program
def sizes_as_arrays() -> Any:
    def f(x):
        size = np.array(x.shape)
        size += size % 2 == 0
        big = np.zeros(size)
        big[: x.shape[0], : x.shape[1]] = x
        at = np.unravel_index(np.argmax(big), size)
        moved = np.roll(big, np.array([1, 2]), axis=(0, 1))
        twice = np.roll(big, 1, axis=(0, 1)) + np.roll(big, (1, 1), axis=1)
        return big.reshape(size[::-1]), np.tile(x, size - 2), at, moved, twice

    return f, [(np.arange(8.0).reshape(2, 4) * n,) for n in (1, 2, 3)], None


@program
def grids_of_lists() -> Any:
    def f(x):
        grid = np.mgrid[[slice(-o, d - o) for d, o in zip(x.shape, (1, 2), strict=True)]]
        return grid * x, np.ogrid[[slice(0, 2), slice(0, 3)]]

    return f, [(np.ones((2, 3)) * n,) for n in (1, 2, 3)], None
