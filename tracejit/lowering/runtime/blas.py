"""The BLAS and LAPACK that compiled code calls by pointer, with no more threads than `config.num_threads`.

Products and triangular systems are by the BLAS of NumPy where it is the OpenBLAS of NumPy's wheels, whose functions
have names of their own, `scipy_dgemm_64_`: so they have the bits and the speed of NumPy's. LAPACK, and BLAS with other
builds of NumPy, are SciPy's. They are found through the module that is linked with the library, without importing
SciPy, which would take four times as long; other builds of SciPy give the pointer that the module shows to Cython.

NumPy's library reads integers of 64 bits, SciPy's of 32. Compiled code gives pointers to 64 bits to both: the
processors that Numba compiles for are little-endian, so whoever reads 32 of them reads the lower half.

BLAS has threads of its own. Loops that our threads share call none, so the two never work at the same time. The
limit is that of the library in this process; it is only touched when the setting is below its own.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from tracejit.config import config
from tracejit.lowering._lazy import cython_blas, cython_lapack

_PyCapsule_GetName = ctypes.pythonapi.PyCapsule_GetName
_PyCapsule_GetName.restype, _PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
_PyCapsule_GetPointer = ctypes.pythonapi.PyCapsule_GetPointer
_PyCapsule_GetPointer.restype = ctypes.c_void_p
_PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

#: How the libraries name the functions that tell and set their number of threads.
_NAMES = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
)


def address(name: str) -> int:
    """The address of a function of BLAS. The first call of a library sets the limit."""
    library = _numpys()
    return lapack(name) if library is None else _pointer(library, f"scipy_{name}_64_")


def lapack(name: str) -> int:
    """The address of a function of SciPy's LAPACK, or BLAS."""
    library = _scipys()
    if hasattr(library, f"scipy_{name}_"):
        return _pointer(library, f"scipy_{name}_")
    _limit(library)
    tables = (m.__pyx_capi__ for m in (cython_blas, cython_lapack))
    return capsule_pointer(next(t for t in tables if name in t), name)


def _pointer(library: Any, name: str) -> int:
    _limit(library)
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


def kernels() -> str:
    """The processor whose kernels the library has chosen, such as 'SkylakeX'; '' if it does not tell."""
    library = _numpys() or _scipys()
    names = ("scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename")
    for name in (*names, "openblas_get_corename64_"):
        tell = getattr(library, name, None)
        if tell is not None:
            tell.restype, tell.argtypes = ctypes.c_char_p, []
            return tell().decode()
    return ""


def is_numpys() -> bool:
    """Whether products are by NumPy's library."""
    return _numpys() is not None


@functools.cache
def _numpys() -> ctypes.CDLL | None:
    """NumPy's module as a library: names are looked up in those that it is linked with, too. None: another build."""
    try:
        library = ctypes.CDLL(np._core._multiarray_umath.__file__)  # type: ignore[attr-defined]
    except OSError:
        return None
    return library if hasattr(library, "scipy_dgemm_64_") else None


@functools.cache
def _scipys() -> ctypes.CDLL:
    """The same of SciPy's module `cython_blas`."""
    found = cython_blas.find()
    try:
        return ctypes.CDLL(found.origin if found is not None else None)
    except OSError:  # Windows finds the others when SciPy has told it where
        return ctypes.CDLL(cython_blas.__file__)


def capsule_pointer(table: dict[str, Any], name: str) -> int:
    """The C function behind a capsule of a Cython module's `__pyx_capi__`."""
    capsule = table[name]
    return _PyCapsule_GetPointer(capsule, capsule_name(capsule)) or 0


def capsule_name(capsule: Any) -> bytes:
    """What a capsule says of its contents: the type of a C function."""
    return _PyCapsule_GetName(capsule) or b""


@functools.cache
def _limit(library: Any) -> None:
    """Keep a library's threads within the setting from now on."""
    for get, set_ in _NAMES:
        if hasattr(library, get) and hasattr(library, set_):
            own = int(getattr(library, get)())
            config.watch("num_threads", _Limit(own, getattr(library, set_)))
            return


class _Limit:
    """Sets the smaller one of the library's own number of threads and ours."""

    def __init__(self, own: int, set_: Any) -> None:
        self.own = own
        self.now = own
        self.set = set_

    def __call__(self, wanted: int) -> None:
        number = min(self.own, wanted)
        if number != self.now:
            self.set(number)
            self.now = number
