"""NumPy's memory handler for large results: arrays as any, whose memory comes from `lowering.runtime.pool` and returns
there when they die, so that the next call's result does not wait for pages that the system clears first.

`handler()` is the capsule that NumPy's C interface takes (NEP 49). An array keeps the handler that made it, and asks
it for more memory or to free; the functions are therefore never unloaded.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.lowering.runtime import pool
from tracejit.lowering.runtime.compile import compile_llvm

#: Bytes from which a result is made so. Smaller ones NumPy and the C library keep themselves. The latter gives memory
#: at the end of its heap back to the system if it is more than 128 KB, and gets it again as pages that have to be
#: cleared: a call with three results of 320 KB took 126 microseconds, and takes 24.
LEAST = pool.LEAST
#: PyDataMem_GetHandler, PyDataMem_SetHandler, the address of the variable with the usual handler: in NumPy's table.
HANDLERS = (305, 304, 306)

_TEXT = """
@imports = global [1 x ptr] zeroinitializer

declare i64 @llvm.umax.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define ptr @resize(ptr %context, ptr %block, i64 %bytes) nounwind {
  %pool = load ptr, ptr @imports
  %some = call i64 @llvm.umax.i64(i64 %bytes, i64 1)
  %out = call ptr %pool(ptr %block, i64 %some)
  ret ptr %out
}

define ptr @allocate(ptr %context, i64 %bytes) nounwind {
  %out = call ptr @resize(ptr %context, ptr null, i64 %bytes)
  ret ptr %out
}

define ptr @zeros(ptr %context, i64 %count, i64 %size) nounwind {
  %bytes = mul i64 %count, %size
  %out = call ptr @resize(ptr %context, ptr null, i64 %bytes)
  %none = icmp eq ptr %out, null
  br i1 %none, label %done, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 %bytes, i1 false)
  br label %done
done:
  ret ptr %out
}

define void @release(ptr %context, ptr %block, i64 %bytes) nounwind {
  %pool = load ptr, ptr @imports
  %ignored = call ptr %pool(ptr %block, i64 0)
  ret void
}
"""


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler, version 1."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )


@functools.cache
def code() -> Any:
    """The module of the handler's functions."""
    return compile_llvm(_TEXT, (pool.close(),))


@functools.cache
def handler() -> Any:
    """The capsule, made once. It lives as long as the process, as does the code that it names: arrays may be the
    last that Python takes apart."""
    functions = (code().symbols[name] for name in ("allocate", "zeros", "resize", "release"))
    struct = _Handler(b"tracejit", 1, None, *functions)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = b"mem_handler"
    capsule = new(ctypes.addressof(struct), name, None)
    for kept in (pool.code(), code(), struct, name, capsule):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    return capsule


def of_numpy(*places: int) -> list[int]:
    """What NumPy's table of C functions has in these places, which are part of its ABI."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = (ctypes.c_void_p * (max(places) + 1)).from_address(
        get(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    )
    return [table[n] or 0 for n in places]


@functools.cache
def _handlers() -> tuple[Any, Any, Any]:
    """PyDataMem_GetHandler, PyDataMem_SetHandler, the usual handler."""
    current, change, usual = of_numpy(*HANDLERS)
    get, put = (
        ctypes.PYFUNCTYPE(ctypes.py_object)(current),
        ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object),
    )
    return get, put(change), ctypes.py_object.from_address(usual).value


def empty(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """As `np.empty`. A large array gets its memory from our handler, unless the user has set one."""
    if dtype.itemsize * math.prod(shape) < LEAST:
        return np.empty(shape, dtype)
    get, put, usual = _handlers()
    if get() is not usual:
        return np.empty(shape, dtype)
    put(handler())
    try:
        return np.empty(shape, dtype)
    finally:
        put(usual)


def lending(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, whose own large arrays lie in such memory too, unless the user has set a handler."""
    get, put, usual = _handlers()

    def call(*args: Any) -> Any:
        if get() is not usual:
            return function(*args)
        put(handler())
        try:
            return function(*args)
        finally:
            put(usual)

    return call
