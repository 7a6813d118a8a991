"""A CUDA card, by way of CuPy: memory from its pool, arrays that are CuPy's, kernels from PTX.

The methods are those of `emulated.Emulated`, which the tests run; here they run with a stand-in for CuPy.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import DeviceMemoryError, LaunchError, NoDeviceError
from tracejit.lazily import LazyModule
from tracejit.lowering._lazy import cupy
from tracejit.lowering.cuda import ptx
from tracejit.lowering.cuda.libs import operations
from tracejit.lowering.cuda.sharing.occupancy import room_of

_driver: Any = LazyModule("cupy_backends.cuda.api.driver")
_runtime: Any = LazyModule("cupy_backends.cuda.api.runtime")
_TO_DEVICE, _TO_HOST = 1, 2  # cudaMemcpyKind
_PROCESSORS, _USED = 16, 4  # cudaDevAttrMultiProcessorCount, CU_FUNC_ATTRIBUTE_NUM_REGS
#: The oldest compute capability: shuffles with masks, and threads of a warp that make progress independently.
OLDEST = (7, 5)


def _module(code: bytes) -> Any:
    """PTX as CuPy's module, by the driver's assembler."""
    module = cupy.cuda.function.Module()
    module.load(code)
    return module


class Card:
    """One card. Everything is launched on CuPy's current stream."""

    name, kind = "card", "cuda"

    def __init__(self, number: int) -> None:
        self.number, self.launches, self._thread = number, 0, threading.local()
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
        self.room = room_of(self.cc, _runtime.deviceGetAttribute(_PROCESSORS, number))

    def __repr__(self) -> str:
        return f"cuda:{self.number}"

    # -- memory

    def memory(self, size: int) -> Any:
        """A block of memory from CuPy's pool, which is not set to anything. Raises DeviceMemoryError."""
        return self._allocated(size, lambda: cupy.cuda.alloc(max(size, 1)))

    def _allocated(self, size: int, allocate: Callable[[], Any]) -> Any:
        try:
            if _runtime.getDevice() == self.number:
                return allocate()
            with self.device:
                return allocate()
        except cupy.cuda.memory.OutOfMemoryError as e:
            free = self.device.mem_info[0]
            raise DeviceMemoryError(wanted=size, device=str(self), free=free) from e

    def write(self, address: int, host: np.ndarray) -> None:
        """Copy a contiguous array of the host to an address, in the order of the stream, and wait for that: afterwards
        the array may be gone."""

        def copy(stream: int, data: int) -> None:
            _runtime.memcpyAsync(address, data, host.nbytes, _TO_DEVICE, stream)
            _runtime.streamSynchronize(stream)

        self.within(copy, host.ctypes.data)

    def read(self, address: int, host: np.ndarray) -> np.ndarray:
        """Copy to a contiguous array of the host, when all that was launched is done."""
        return self.within(lambda stream, target: self.fetch(address, target, stream), host)

    def clear(self, address: int, size: int, stream: int) -> None:
        """Set bytes to 0, in the order of the stream."""
        _runtime.memsetAsync(address, 0, size, stream)

    def pinned(self, words: int) -> np.ndarray:
        """Memory of the host into which the card copies directly."""
        return np.frombuffer(cupy.cuda.alloc_pinned_memory(8 * words), np.int64, words)

    def fetch(self, address: int, pinned: np.ndarray, stream: int) -> np.ndarray:
        """Copy to such memory, and wait for that."""
        _runtime.memcpyAsync(pinned.ctypes.data, address, pinned.nbytes, _TO_HOST, stream)
        _runtime.streamSynchronize(stream)
        return pinned

    # -- arrays

    def empty(self, shape: Sequence[int], dtype: np.dtype) -> Any:
        """A new array in C order."""
        size = math.prod(shape) * dtype.itemsize
        if not size:
            return cupy.ndarray(tuple(shape), dtype, self.memory(size))
        return self._allocated(size, lambda: cupy.ndarray(tuple(shape), dtype))

    def array(self, host: np.ndarray) -> Any:
        """A copy of an array of the host, or of one of the device. Its bytes are in the device's order."""
        if self.is_array(host):
            out = self.empty(host.shape, host.dtype)
            out[...] = host
            return out
        if not host.dtype.isnative:
            host = host.astype(host.dtype.newbyteorder("="))
        if not host.nbytes:
            return self.empty(host.shape, host.dtype)
        return self._allocated(host.nbytes, lambda: cupy.array(host, order="C"))

    @staticmethod
    def is_array(x: Any) -> bool:
        """Whether an object is an array of CuPy's."""
        return isinstance(x, cupy.ndarray)

    def has(self, x: Any) -> bool:
        """Whether an array of CuPy's is on this card."""
        return x.data.device_id == self.number

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
        with self.device:
            module = self._checked(lambda: ptx.loaded(text, self.cc, _module))
            return {n: module.get_function(n) for n in names}

    def registers(self, kernels: dict[str, Any]) -> dict[str, int]:
        """The registers of a thread of each kernel."""
        with self.device:
            return {
                n: self._checked(lambda k=k: _driver.funcGetAttribute(_USED, k.ptr))
                for n, k in kernels.items()
            }

    def launcher(
        self, kernel: Any, blocks: int, threads: int, cells: Sequence[int], values: Any, words: int
    ) -> Callable[[int], None]:
        """The function of a stream that launches a kernel with what these cells of a table of words have then. It has
        to be called `within`."""
        start = ctypes.addressof(values)
        places: Any = (ctypes.c_void_p * len(cells))(*[start + 8 * n for n in cells])
        given, function, launch = ctypes.addressof(places), kernel.ptr, _driver.launchKernel

        def run(stream: int) -> None:
            self.launches += 1
            launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, given, 0)

        run.kept = kernel, values, places  # type: ignore[attr-defined]  # whose addresses are used
        return run

    def within(self, act: Callable[[int, Any], Any], given: Any) -> Any:
        """`act(stream, given)` while this card is the current one of the thread. Raises LaunchError."""
        if _runtime.getDevice() != self.number:
            with self.device:
                return self.within(act, given)
        if not getattr(self._thread, "has_context", False):
            _runtime.memGetInfo()  # the driver's functions find this card then, as they do after CuPy's own launches
            self._thread.has_context = True
        try:
            return act(cupy.cuda.get_current_stream().ptr, given)
        except (_driver.CUDADriverError, _runtime.CUDARuntimeError) as e:
            raise LaunchError(device=str(self), problem=str(e)) from e

    def recorded(self, act: Callable[[int], None]) -> Callable[[int], None] | None:
        """The function of a stream that launches what `act` launches, as one graph; None where CUDA does not record it.
        Both have to be called `within`."""
        before = self.launches
        try:
            stream = cupy.cuda.Stream(non_blocking=True)
            with stream:
                stream.begin_capture()
                try:
                    act(stream.ptr)
                finally:
                    graph = stream.end_capture()
        except (_driver.CUDADriverError, _runtime.CUDARuntimeError):
            return None
        count, self.launches = self.launches - before, before

        def run(stream: int) -> None:
            self.launches += count
            graph.launch()  # on the current stream, which this is

        return run

    def function_of(self, library: Any) -> Any:
        """A call of a library made ready."""
        return operations.on_card(library, self.number, self.cc)

    def call(self, function: Any, stream: int, room: int, addresses: Sequence[int]) -> None:
        """Let a library do something, in the order of the stream. It has to be called `within`."""
        try:
            function.run(stream, room, *addresses)
        except cupy.cuda.memory.OutOfMemoryError as e:
            raise DeviceMemoryError(wanted="some", device=str(self), free=self.device.mem_info[0]) from e
        except RuntimeError as e:  # of cuBLAS, cuSOLVER and so on
            raise LaunchError(device=str(self), problem=str(e)) from e

    def synchronize(self) -> None:
        """Wait for all that was launched."""
        self._checked(self.device.synchronize)

    def _checked(self, act: Any) -> Any:
        """What `act` gives. Raises LaunchError for errors of CUDA's."""
        try:
            return act()
        except (_driver.CUDADriverError, _runtime.CUDARuntimeError) as e:
            raise LaunchError(device=str(self), problem=str(e)) from e
