"""What a device's libraries do, one record an operation: by NumPy on the emulated device, by CuPy and cuBLAS on a card.

A program names an operation with its operands and results as strided parts of memory (`lowered.Library`). Before the
first run the device makes a function of their addresses of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.lazily import LazyModule
from tracejit.lowering._lazy import cupy
from tracejit.lowering.cuda.libs import cublas, emulated_blas
from tracejit.records import record


@record(frozen=True)
class Operation:
    """An operation of a library. `takes(dtype)`: whether it is there for operands of a dtype. `run(xp, ins, outs,
    **params)` does it on arrays of `xp`, NumPy or CuPy. Or `direct(library, blas)` makes the function of addresses, by
    the functions of `blas`: cuBLAS's, or the emulated ones."""

    takes: Callable[[np.dtype], bool]
    run: Callable[..., None] | None = None
    direct: Callable[[Any, Any], Callable[..., None]] | None = None


OPERATIONS: dict[str, Operation] = {
    "product": Operation(cublas.takes, direct=cublas.product),
}


class _CuBlas:
    """cuBLAS by CuPy's bindings."""

    def __getattr__(self, name: str) -> Any:
        where = _device if name == "get_cublas_handle" else _cublas
        value = getattr(where, name)
        setattr(self, name, value)
        return value


_cublas: Any = LazyModule("cupy_backends.cuda.libs.cublas")
_device: Any = LazyModule("cupy.cuda.device")


def on_emulated(library: Any) -> Callable[..., None]:
    """The function of addresses for the emulated device."""
    operation, count = OPERATIONS[library.name], len(library.ins)
    if operation.direct is not None:
        return operation.direct(library, emulated_blas)

    def run(*addresses: int) -> None:
        assert operation.run is not None
        views = [seen(v, a) for v, a in zip([*library.ins, *library.outs], addresses, strict=True)]
        operation.run(np, views[:count], views[count:], **library.params)

    return run


def on_card(library: Any, number: int) -> Callable[..., None]:
    """The function of addresses for a card, which is the current one when it is called."""
    operation, count = OPERATIONS[library.name], len(library.ins)
    if operation.direct is not None:
        return operation.direct(library, _CuBlas())
    views = [*library.ins, *library.outs]

    def run(*addresses: int) -> None:
        assert operation.run is not None
        arrays = []
        for v, a in zip(views, addresses, strict=True):
            size = v.dtype.itemsize
            memory = cupy.cuda.UnownedMemory(a + v.offset * size, spanned(v), None, number)
            strides = tuple(s * size for s in v.strides)
            arrays.append(cupy.ndarray(v.shape, v.dtype, cupy.cuda.MemoryPointer(memory, 0), strides))
        operation.run(cupy, arrays[:count], arrays[count:], **library.params)

    return run


def spanned(v: Any) -> int:
    """The bytes from the first element of a view to its last one."""
    if 0 in v.shape:
        return 0
    return (sum((n - 1) * s for n, s in zip(v.shape, v.strides, strict=True)) + 1) * v.dtype.itemsize


def seen(v: Any, address: int) -> np.ndarray:
    """A view of memory of the host."""
    size = v.dtype.itemsize
    raw = (ctypes.c_char * max(v.offset * size + spanned(v), 1)).from_address(address)
    return np.ndarray(v.shape, v.dtype, raw, v.offset * size, tuple(s * size for s in v.strides))


def describe(library: Any) -> str:
    """A call in words."""
    several = any(v.shape[:1] != (1,) for v in library.ins)
    shapes = " and ".join("×".join(map(str, v.shape[not several :])) for v in library.ins)
    return f"{library.name} of {shapes}, {library.ins[0].dtype}"
