"""What a device's libraries do, one record an operation: by NumPy on the emulated device, by CuPy and cuBLAS on a card.

A program names an operation with its operands and results as strided parts of memory (`lowered.Library`). Before the
first run the device makes a function of their addresses of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import refusals
from tracejit.lowering._lazy import cupy
from tracejit.lowering.cuda.libs import cublas, emulated_blas, functions
from tracejit.lowering.cuda.libs.by_address import CuBlas
from tracejit.records import record


@record(frozen=True)
class Operation:
    """An operation of a library. `takes(avals, params)`: whether it is there for operands of these types. `run(on, ins,
    outs, **params)` does it on arrays, by the functions of `on` (see `functions`). Or `direct(library, blas)` makes the
    function of a state and addresses, by the functions of `blas`: cuBLAS's, or the emulated ones."""

    takes: Callable[[Sequence[Any], dict[str, Any]], bool]
    run: Callable[..., None] | None = None
    direct: Callable[[Any, Any], Callable[..., None]] | None = None


OPERATIONS: dict[str, Operation] = {
    "product": Operation(cublas.takes, direct=cublas.product),
    "sort": Operation(functions.sorts, functions.sort),
    "argsort": Operation(functions.sorts, functions.argsort),
    "fft": Operation(functions.transforms, functions.fft),
    "ifft": Operation(functions.transforms, functions.ifft),
    "rfft": Operation(functions.transforms, functions.rfft),
    "cholesky": Operation(functions.factorizes, functions.cholesky),
    "potrf": Operation(functions.factorizes, functions.potrf),
    "lu": Operation(functions.factorizes, functions.lu),
    "triangular solve": Operation(functions.substitutes, functions.substitute),
    "eigh": Operation(functions.decomposes, functions.eigh),
    "eigvalsh": Operation(functions.decomposes, functions.eigvalsh),
    "svd": Operation(functions.decomposes, functions.svd),
    "svdvals": Operation(functions.decomposes, functions.svdvals),
    "qr": Operation(functions.decomposes, functions.qr),
}


@record(frozen=True)
class Function:
    """A call of a library that was made ready: `run(stream, room, *addresses)`, where `room` is the address of `bytes`
    of memory that it works in. `records`: whether a graph can have it."""

    run: Callable[..., None]
    bytes: int = 0
    records: bool = False


def on_emulated(library: Any) -> Function:
    """The function for the emulated device."""
    return _function(library, emulated_blas, functions.OnHost(), seen)


def on_card(library: Any, number: int, cc: tuple[int, int]) -> Function:
    """The function for a card, which is the current one when it is called."""

    def array(v: Any, address: int) -> Any:
        size = v.dtype.itemsize
        memory = cupy.cuda.UnownedMemory(address + v.offset * size, spanned(v), None, number)
        strides = tuple(s * size for s in v.strides)
        return cupy.ndarray(v.shape, v.dtype, cupy.cuda.MemoryPointer(memory, 0), strides)

    return _function(library, CuBlas(number, cc), functions.OnCard(), array)


def _function(library: Any, blas: Any, on: Any, array: Callable[[Any, int], Any]) -> Function:
    operation, count = OPERATIONS[library.name], len(library.ins)
    if operation.direct is not None:
        direct = operation.direct(library, blas)
        return Function(
            lambda stream, room, *addresses: direct(blas.handle(stream, room), *addresses),
            blas.bytes,
            True,
        )
    views, does = [*library.ins, *library.outs], operation.run
    assert does is not None

    def run(stream: int, room: int, *addresses: int) -> None:
        arrays = [array(v, a) for v, a in zip(views, addresses, strict=True)]
        ins, outs = arrays[:count], arrays[count:]
        try:
            does(on, ins, outs, **library.params)
        except (functions.HostDecidesError, np.linalg.LinAlgError):
            _by_host(library, on, ins, outs)

    return Function(run)


def _by_host(library: Any, on: Any, ins: list[Any], outs: list[Any]) -> None:
    """What the host's function gives. Raises what it raises."""
    try:
        made = library.op.eval(*map(on.host, ins), **library.params)
    except Exception as e:
        refusals.failed(e)
        raise
    for out, x in zip(outs, made if library.op.multi else (made,), strict=True):
        on.put(out, x)


def spanned(v: Any) -> int:
    """The bytes from the first element of a view to its last one."""
    if 0 in v.shape:
        return 0
    return (sum((n - 1) * s for n, s in zip(v.shape, v.strides, strict=True)) + 1) * v.dtype.itemsize


def seen(v: Any, address: int) -> np.ndarray:
    """A view of memory of the host."""
    size = v.dtype.itemsize
    raw = (ctypes.c_char * max(v.offset * size + spanned(v), 1)).from_address(address)
    strides = tuple(s * size for s in v.strides)
    return np.ndarray(v.shape, v.dtype, raw, v.offset * size, strides)  # type: ignore[arg-type]


def describe(library: Any) -> str:
    """A call in words."""
    several = any(v.shape[:1] != (1,) for v in library.ins)
    shapes = " and ".join("×".join(map(str, v.shape[not several :])) for v in library.ins)
    return f"{library.name} of {shapes}, {library.ins[0].dtype}"
