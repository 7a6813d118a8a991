"""cuBLAS itself, by the addresses of its functions.

CuPy has loaded the library before, and has bindings of it. But these refuse to be recorded in a graph, which cuBLAS
allows, and leave memory that it works in to the library, which is another part of it for each stream: bits of results
could differ then (NVIDIA's documentation of cuBLAS, "Results reproducibility"). Here it is the memory of a run.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from typing import Any

from tracejit.lazily import LazyModule

_cublas: Any = LazyModule("cupy_backends.cuda.libs.cublas")
_device: Any = LazyModule("cupy.cuda.device")

#: Bytes that cuBLAS asks for to be at its best: of cards of compute capability 9 and later, and of earlier ones.
_NEW, _OLD = 32 << 20, 4 << 20
_INT, _LONG, _POINTER = ctypes.c_int, ctypes.c_int64, ctypes.c_void_p
_GEMV = (_INT, _LONG, _LONG, _POINTER, _POINTER, _LONG, _POINTER, _LONG, _POINTER, _POINTER, _LONG)
_DOT = (_LONG, _POINTER, _LONG, _POINTER, _LONG, _POINTER)
#: What the functions take besides the handle, and what they are called in the library.
_FUNCTIONS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "setStream": ("cublasSetStream_v2", (_POINTER,)),
    "setWorkspace": ("cublasSetWorkspace_v2", (_POINTER, ctypes.c_size_t)),
    "setPointerMode": ("cublasSetPointerMode_v2", (_INT,)),
    "setMathMode": ("cublasSetMathMode", (_INT,)),
    "destroy": ("cublasDestroy_v2", ()),
    "gemmEx": (
        "cublasGemmEx_64",
        (_INT, _INT, _LONG, _LONG, _LONG, _POINTER, _POINTER, _INT, _LONG, _POINTER, _INT, _LONG)
        + (_POINTER, _POINTER, _INT, _LONG, _INT, _INT),
    ),
    "gemmStridedBatchedEx": (
        "cublasGemmStridedBatchedEx_64",
        (
            _INT,
            _INT,
            _LONG,
            _LONG,
            _LONG,
            _POINTER,
            _POINTER,
            _INT,
            _LONG,
            _LONG,
            _POINTER,
            _INT,
            _LONG,
            _LONG,
        )
        + (_POINTER, _POINTER, _INT, _LONG, _LONG, _LONG, _INT, _INT),
    ),
    **{f"{c}gemv": (f"cublas{c.upper()}gemv_v2_64", _GEMV) for c in "sdcz"},
    **{name: (f"cublas{name.capitalize()}_v2_64", _DOT) for name in ("sdot", "ddot", "cdotu", "zdotu")},
}


class CuBlas:
    """The functions of cuBLAS for one card, which is the current one when they are called. `bytes`: of the memory that
    it works in. A function raises RuntimeError where cuBLAS says that something failed."""

    def __init__(self, number: int, cc: tuple[int, int]) -> None:
        self.number, self.bytes = number, _NEW if cc >= (9, 0) else _OLD

    def __getattr__(self, name: str) -> Any:
        value = functools.partial(_call, name, _function(name))
        setattr(self, name, value)
        return value

    def handle(self, stream: int, room: int) -> Any:
        """The state of the library for this thread. What is computed next is on this stream, in this memory."""
        handle = _handles.of.get(self.number)
        if handle is None:
            handle = _handles.of[self.number] = _Handle()
        if handle.state != (stream, room):
            self.setStream(handle.address, stream)  # takes the library's own memory again
            self.setWorkspace(handle.address, room, self.bytes)
            handle.state = stream, room
        return handle.address


class _Handle:
    """A state of cuBLAS's, which is given up with this object."""

    def __init__(self) -> None:
        made = _POINTER()
        _call("create", _library().cublasCreate_v2, ctypes.byref(made))
        self.address = made.value
        self.state: Any = None

    def __del__(self) -> None:
        if hasattr(self, "address") and not sys.is_finalizing():  # else the driver may be gone
            _function("destroy")(self.address)


class _Handles(threading.local):
    """The states of a thread, by the numbers of the cards."""

    def __init__(self) -> None:
        self.of: dict[int, _Handle] = {}


_handles = _Handles()


def _call(name: str, function: Any, *args: Any) -> None:
    status = function(*args)
    if status:
        raise RuntimeError(f"cuBLAS ({name}) gave the status {status}")


@functools.cache
def _library() -> Any:
    """The library that CuPy has loaded."""
    version = _cublas.getVersion(_device.get_cublas_handle()) // 10_000
    windows = sys.platform == "win32"
    name = f"cublas64_{version}.dll" if windows else f"libcublas.so.{version}"
    return (ctypes.WinDLL if windows else ctypes.CDLL)(name)  # type: ignore[attr-defined]


@functools.cache
def _function(name: str) -> Any:
    named, takes = _FUNCTIONS[name]
    function = getattr(_library(), named)
    function.argtypes, function.restype = (_POINTER, *takes), _INT
    return function
