"""The BLAS and LAPACK that compiled code calls: SciPy's, by pointer, with no more threads than `config.num_threads`.

SciPy's wheels bring an OpenBLAS whose functions have names of their own, `scipy_dgemm_`. They are found through the
module that is linked with it, without importing SciPy, which would take four times as long. Other builds give the
pointer that the module shows to Cython.

BLAS has threads of its own. Loops that our threads share call none, so the two never work at the same time. The
limit is that of SciPy's library in this process; it is only touched when the setting is below its own.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from tracejit.config import config
from tracejit.lowering._lazy import cython_blas, cython_lapack

_PyCapsule_GetName = ctypes.pythonapi.PyCapsule_GetName
_PyCapsule_GetName.restype, _PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
_PyCapsule_GetPointer = ctypes.pythonapi.PyCapsule_GetPointer
_PyCapsule_GetPointer.restype = ctypes.c_void_p
_PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

#: How the libraries name the functions that tell and set their number of threads.
_NAMES = (
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
)


def address(name: str) -> int:
    """The address of a function of BLAS or LAPACK. The first call sets the limit."""
    _limit()
    function = getattr(_library(), f"scipy_{name}_", None)
    if function is not None:
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    tables = (m.__pyx_capi__ for m in (cython_blas, cython_lapack))
    return capsule_pointer(next(t for t in tables if name in t), name)


def kernels() -> str:
    """The processor whose kernels the library has chosen, such as 'SkylakeX'; '' if it does not tell."""
    for name in ("scipy_openblas_get_corename", "openblas_get_corename", "openblas_get_corename64_"):
        tell = getattr(_library(), name, None)
        if tell is not None:
            tell.restype, tell.argtypes = ctypes.c_char_p, []
            return tell().decode()
    return ""


@functools.cache
def _library() -> ctypes.CDLL:
    """The module `cython_blas` as a library: names are looked up in those that it is linked with, too."""
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
def _limit() -> None:
    """Keep the library's threads within the setting from now on."""
    library = _library()
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
