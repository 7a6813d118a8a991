"""Arrays of the user's that operations refer to which run, or are differentiated, when the function has gone on.

t = scipy.special.roots_legendre(3)[0]      # an array of NumPy's own: nothing sees what is written into it
y = t * x
t *= 3
"""

from __future__ import annotations

import numpy as np


def kept(x: np.ndarray) -> np.ndarray:
    """The array as it is now: a copy, if it may be written into."""
    root = x
    while not root.flags.writeable and isinstance(root.base, np.ndarray):
        root = root.base
    return x.copy("K") if root.flags.writeable else x


class Lent:
    """The arrays that a program has got, each once for as long as nothing is written into it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def of(self, x: np.ndarray) -> np.ndarray:
        """The array as it is now."""
        found = self._known.get(id(x))
        if found is not None and _same(x, found[1]):
            return found[1]
        made = kept(x)
        if made is not x:
            self._known[id(x)] = x, made  # which is held, so that its id stays its own
        return made


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    return x.shape == y.shape and x.dtype == y.dtype and x.tobytes() == y.tobytes()
