"""Routines of libraries that native code calls by address: NumPy's sorting functions and distributions, BLAS and
LAPACK.

Names are `numpy:sort:float64:0`, `numpy:argsort:int32:2` (0 NumPy's quicksort, 2 a stable sort), `blas:dgemm`,
`lapack:dgetrf`, `random:random_standard_normal` (see `draws`).

NumPy keeps its sorting functions in a table for each dtype, which its C interface shows: `PyArray_ArrFuncs`, part of
the ABI of NumPy 2. They know nothing of Python for the dtypes named here, so they run without the GIL. Before one is
used it sorts some numbers.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from tracejit.lowering.runtime import blas, draws

_GET_FUNCTIONS = 365  # PyDataType_GetArrFuncs in the table of NumPy's C interface
#: Where `PyArray_ArrFuncs` has `sort` and `argsort`, counted in pointers: after 21 conversions and 12 others.
_PLACES = {"sort": 33, "argsort": 36}
_DTYPES = frozenset(
    f"{kind}{bits}" for kind, sizes in (("int", (8, 16, 32, 64)), ("uint", (8, 16, 32, 64)), ("float", (16, 32, 64)))
    for bits in sizes
) | {"bool", "complex64", "complex128"}  # fmt: skip


def is_there(name: str) -> bool:
    """Whether there is a routine of this name."""
    library, _, rest = name.partition(":")
    if library == "random":
        return draws.is_there(rest)
    return library in ("blas", "lapack") or (library == "numpy" and _sorting(rest) != 0)


def address(name: str) -> int:
    """The address of a routine."""
    library, _, rest = name.partition(":")
    if library == "random":
        return draws.address(rest)
    if library == "numpy":
        return _sorting(rest)
    return blas.lapack(rest) if library == "lapack" else blas.address(rest)


@functools.cache
def _sorting(name: str) -> int:
    """The address of a sorting function of NumPy's, 0 if there is none that sorts."""
    what, dtype, which = name.split(":")
    if dtype not in _DTYPES or not np.__version__.startswith("2."):
        return 0
    found = _functions(np.dtype(dtype))[_PLACES[what] + int(which)] or 0
    return found if found and _sorts(found, what, np.dtype(dtype)) else 0


def _functions(dtype: np.dtype) -> Any:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    table = (ctypes.c_void_p * (_GET_FUNCTIONS + 1)).from_address(pointer(capsule, None))
    get = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[_GET_FUNCTIONS])
    return (ctypes.c_void_p * (max(_PLACES.values()) + 3)).from_address(get(dtype))


def _sorts(function: int, what: str, dtype: np.dtype) -> bool:
    """Whether it does what it should."""
    numbers = (np.arange(50) * 37 % 50 % 23).astype(dtype)
    size, none = ctypes.c_ssize_t(numbers.size), ctypes.c_void_p(None)
    if what == "sort":
        got = numbers.copy()
        code = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(function)(
            got.ctypes.data, size.value, none
        )
        return code == 0 and bool(np.all(got == np.sort(numbers)))
    order = np.arange(numbers.size)
    call = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4)(function)
    code = call(numbers.ctypes.data, order.ctypes.data, size.value, none)
    return code == 0 and bool(np.all(numbers[order] == np.sort(numbers)))
