"""How numbers are typed in functions that Numba compiled.

Numba's numbers are Python's: an element of an array, and a result, is a `float`, an `int`, a `bool` or a `complex`,
also where the Python function would have one of NumPy's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
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
        """Refuse what NumPy gives another type: sums and the like of integers below 64 bits, and of those without a
        sign; small floating-point numbers beside Python's; and truth values that are numbers."""
        given = list(map(kind_of, args))
        *_, result = ufunc.loop(*given)
        kinds = [np.dtype(k) for k in given]
        self._floats(given)
        if np.dtype(bool) in kinds and result.kind != "b":
            others = {k for k in kinds if k.kind != "b"}
            if ufunc.__name__ == "power" or not others & _WIDE:
                raise _promoted("truth values as numbers")
        small = [k for k in kinds if k.kind == "u" or (k.kind == "i" and k != dtypes.int64)]
        number = not any(map(np.ndim, args))
        if small and (result != dtypes.float64 or number or min(k.itemsize for k in small) < 4):
            if result.kind != "b" or len({k.kind for k in kinds}) > 1:
                raise _promoted(f"integers of {min(8 * k.itemsize for k in small)} bits")

    def check_function(self, name: str, args: Sequence[Any]) -> None:
        """The same for functions that are no ufuncs: those that choose among arrays and numbers, and others where a
        number is no size or axis."""
        options = args[1:] if name == "where" else args  # behind the condition
        given = [kind_of(x) for x in options if type(x) is Box or type(x) in _PYTHONS]
        if name in _CHOOSE:
            arrays = [k for k in given if k not in _PYTHONS]
            if len(arrays) < len(given) and any(k not in _WIDE for k in arrays):
                raise _promoted("small numbers beside Python's")
            if (
                name == "clip"
                and given
                and np.dtype(given[0]) not in _FLOATS
                and len(set(map(np.dtype, given))) > 1
            ):
                raise _promoted("limits of another type than the array")
        elif float in given or complex in given:
            self._floats([k for k in given if k is not int])

    def _floats(self, given: Sequence[Any]) -> None:
        small = [k for k in given if k not in _PYTHONS and k.kind in "fc" and k not in _WIDE]
        if small and any(k != small[0] and (k in _PYTHONS or k not in _FLOATS) for k in given):
            raise _promoted(f"numbers of {8 * small[0].itemsize} bits beside others")


#: Dtypes that NumPy and Numba promote alike.
_WIDE = frozenset(map(np.dtype, (np.int64, np.float64, np.complex128)))
_FLOATS = frozenset(map(np.dtype, (np.float64, np.complex128)))
_PYTHONS = (int, float, complex, bool)
#: Functions whose results are of the types of what they choose from.
_CHOOSE = frozenset({"where", "clip"})
NUMBERS = _Numbers()


def _promoted(what: str) -> UnfollowedError:
    reason = f"it computes with {what}, which Numba promotes otherwise than NumPy"
    return UnfollowedError(what="a function that Numba compiled", reason=reason)
