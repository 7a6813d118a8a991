"""How numbers are typed in functions that Numba compiled.

Numba's numbers are Python's: an element of an array, and a result, is a `float`, an `int`, a `bool` or a `complex`,
also where the Python function would have one of NumPy's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import UnfollowedError
from tracejit.ir.avals import aval_of
from tracejit.numpy.functions.arrays.mapping import PYTHONS
from tracejit.numpy.operands import cast, kind_of
from tracejit.tracing import STATE, Box, Storage, box


@contextlib.contextmanager
def as_numba() -> Iterator[None]:
    """Numbers are typed as Numba types them, in this thread."""
    outside = STATE.numbers
    STATE.numbers = NUMBERS
    try:
        yield
    finally:
        STATE.numbers = outside


class _Numbers:
    """How numbers are typed in functions that Numba compiled: those of 64 bits, also elements of arrays, compute as
    Python's do (a division by zero raises; where an integer leaves 64 bits, the call is left to Numba).

    Raises UnfollowedError where Numba promotes otherwise than NumPy does."""

    def box(self, raw: Any) -> Box:
        """A raw NumPy number as one of Numba's, which computes as Python's do; those without a sign are only kept and
        compared."""
        d = aval_of(raw).dtype
        if d.kind == "i" and d != dtypes.int64:
            return box(cast(raw, dtypes.int64), weak=True)
        if d.kind == "u":
            return Box(Storage(raw, STATE.trace), (), aval_of(raw), scalar=True)
        if d not in PYTHONS.values():
            raise _promoted(f"a number of {8 * d.itemsize} bits")
        return box(raw, weak=True)

    def check(self, ufunc: Any, args: tuple[Any, ...]) -> None:
        """Refuse sums and the like of integers below 64 bits, which NumPy keeps, and of those without a sign."""
        kinds = [np.dtype(kind_of(x)) for x in args]
        *_, result = ufunc.loop(*map(kind_of, args))
        number = not any(map(np.ndim, args))
        if any(k.kind == "u" or (k.kind == "i" and k != dtypes.int64) for k in kinds) and (
            result != dtypes.float64 or number
        ):
            if result.kind != "b" or len({k.kind for k in kinds}) > 1:
                raise _promoted(f"integers of {min(8 * k.itemsize for k in kinds)} bits")


NUMBERS = _Numbers()


def _promoted(what: str) -> UnfollowedError:
    reason = f"it computes with {what}, which Numba promotes otherwise than NumPy"
    return UnfollowedError(what="a function that Numba compiled", reason=reason)
