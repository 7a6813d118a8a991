"""NumPy's distributions as C functions, by their addresses: `random:random_standard_normal_fill`.

NumPy exports them from its own module, as its manual shows under "Extending" (`numpy/random/distributions.h`). They
take a `bitgen_t`, the interface of a bit generator, which knows nothing of Python: no GIL is needed, but the bit
generator's lock is.
"""

from __future__ import annotations

import ctypes
import functools
import sys

#: Functions that draw from Python's generators, which are ours (see `mersenne`). They need the GIL.
PYTHONS = frozenset(("python_random", "python_below"))


def is_there(name: str) -> bool:
    """Whether there is a function of this name."""
    return name in PYTHONS or address(name) != 0


@functools.cache
def address(name: str) -> int:
    """The address of a distribution, 0 if this NumPy does not export it."""
    try:
        return ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0
    except (AttributeError, OSError):
        return 0


@functools.cache
def _library() -> ctypes.CDLL:
    """The module with NumPy's distributions. Who has a generator has imported it."""
    return ctypes.CDLL(sys.modules["numpy.random._generator"].__file__)
