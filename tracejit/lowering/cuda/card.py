"""A CUDA card, by way of CuPy: memory from its pool, arrays that are CuPy's, kernels from PTX.

The methods are those of `emulated.Emulated`, which the tests run. This file has not been run on a card.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import DeviceMemoryError, LaunchError, NoDeviceError
from tracejit.lowering._lazy import cupy
from tracejit.lowering.cuda import ptx
from tracejit.lowering.cuda.libs import operations

#: The oldest compute capability: shuffles with masks, and threads of a warp that make progress independently.
OLDEST = (7, 5)


class Card:
    """One card. Everything is launched on CuPy's current stream."""

    name, kind = "card", "cuda"

    def __init__(self, number: int) -> None:
        self.number, self.launches = number, 0
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except ImportError as e:
            raise NoDeviceError(device=f"cuda:{number}", problem=f"CuPy can't be imported ({e})") from e
        except Exception as e:  # CuPy's own errors: no driver, or one that is too old
            raise NoDeviceError(device=f"cuda:{number}", problem=f"the driver says: {e}") from e
        if number >= count:
            raise NoDeviceError(device=f"cuda:{number}", problem=f"there are {count} cards")
        self.device = cupy.cuda.Device(number)
        self.cc = divmod(int(self.device.compute_capability), 10)
        if self.cc < OLDEST:
            problem = f"its compute capability is {self.cc}, and {OLDEST} is the oldest that is served"
            raise NoDeviceError(device=f"cuda:{number}", problem=problem)

    def __repr__(self) -> str:
        return f"cuda:{self.number}"

    # -- memory

    def memory(self, size: int) -> Any:
        """A block of memory from CuPy's pool, which is not set to anything. Raises DeviceMemoryError."""
        try:
            with self.device:
                return cupy.cuda.alloc(max(size, 1))
        except cupy.cuda.memory.OutOfMemoryError as e:
            free = self.device.mem_info[0]
            raise DeviceMemoryError(wanted=size, device=str(self), free=free) from e

    def write(self, address: int, host: np.ndarray) -> None:
        """Copy a contiguous array of the host to an address, in the order of the stream."""
        stream = cupy.cuda.get_current_stream()
        kind = cupy.cuda.runtime.memcpyHostToDevice
        cupy.cuda.runtime.memcpyAsync(address, host.ctypes.data, host.nbytes, kind, stream.ptr)
        stream.synchronize()  # `host` may be gone afterwards

    def read(self, address: int, host: np.ndarray) -> np.ndarray:
        """Copy to a contiguous array of the host, when all that was launched is done."""
        stream = cupy.cuda.get_current_stream()
        kind = cupy.cuda.runtime.memcpyDeviceToHost
        self._checked(
            lambda: (
                cupy.cuda.runtime.memcpyAsync(host.ctypes.data, address, host.nbytes, kind, stream.ptr),
                stream.synchronize(),
            )
        )
        return host

    # -- arrays

    def empty(self, shape: Sequence[int], dtype: np.dtype) -> Any:
        """A new array in C order."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        return cupy.ndarray(tuple(shape), dtype, self.memory(size))

    def array(self, host: np.ndarray) -> Any:
        """A copy of an array of the host, or of one of the device."""
        out = self.empty(host.shape, host.dtype)
        out[...] = host if self.is_array(host) else cupy.asarray(host)
        return out

    @staticmethod
    def is_array(x: Any) -> bool:
        """Whether an object is an array of CuPy's."""
        return isinstance(x, cupy.ndarray)

    @staticmethod
    def address(x: Any) -> int:
        """Where an array starts."""
        return x.data.ptr

    def seen(self, x: Any) -> Any:
        """Somebody else's array as one of CuPy's, without a copy, when what its stream has to do is done."""
        if self.is_array(x):
            return x
        with self.device:
            return cupy.asarray(x) if hasattr(x, "__cuda_array_interface__") else cupy.from_dlpack(x)

    @staticmethod
    def number_at(address: int) -> int:
        """The number of the card that has an address."""
        return int(cupy.cuda.runtime.pointerGetAttributes(address).device)

    # -- kernels

    def load(self, text: str, names: Sequence[str], sites: Sequence[str] = ()) -> dict[str, Any]:
        """The kernels of a module. `sites`: what its accesses are called, where they are looked at (`looking`)."""
        module = cupy.cuda.function.Module()
        with self.device:
            self._checked(lambda: module.load(ptx.assemble(text, self.cc).encode()))
        return {n: module.get_function(n) for n in names}

    def launch(self, kernel: Any, blocks: int, threads: int, args: Sequence[int], words: int) -> None:
        """Launch a kernel; its memory for words is part of it."""
        packed = tuple(np.int64(x) for x in args)
        self.launches += 1
        with self.device:
            self._checked(lambda: kernel((blocks,), (threads,), packed))

    def library(self, library: Any) -> Any:
        """The function of addresses of a call of a library."""
        return operations.on_card(library, self.number)

    def call(self, function: Any, addresses: Sequence[int]) -> None:
        """Let a library do something, in the order of the stream."""
        with self.device:
            self._checked(lambda: function(*addresses))

    def synchronize(self) -> None:
        """Wait for all that was launched."""
        self._checked(self.device.synchronize)

    def _checked(self, act: Any) -> Any:
        """What `act` gives. Raises LaunchError for errors of CUDA's."""
        try:
            return act()
        except (cupy.cuda.driver.CUDADriverError, cupy.cuda.runtime.CUDARuntimeError) as e:
            raise LaunchError(device=str(self), problem=str(e)) from e
