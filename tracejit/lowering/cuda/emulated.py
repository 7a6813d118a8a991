"""The emulated device: memory of the host that stands for a card's, and kernels compiled for the host.

It is there so that everything but speed can be tried and tested without a GPU (`TRACEJIT_CUDA=emulate`). Its memory is
apart: nothing of a program reads a device's array without a copy. `Array` stands for CuPy's, with the few methods that
most programs need, and the same refusals.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import DeviceMemoryError, HostReadError
from tracejit.ir.elsewhere import TYPES
from tracejit.lowering.cuda.libs import operations
from tracejit.lowering.cuda.sharing.occupancy import room_of
from tracejit.lowering.runtime import compile as machine

_ALIGN = 256
_KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
#: Bytes that the emulated device has.
CAPACITY = 1 << 32


class Memory:
    """A block of the device's memory. It lives as long as this object."""

    def __init__(self, device: Emulated, size: int) -> None:
        self.size, self.device = size, device
        block = np.empty(size + _ALIGN, np.uint8)
        self._keep: Any = block
        start = -block.ctypes.data % _ALIGN
        self.bytes = block[start : start + size]
        self.ptr: int = self.bytes.ctypes.data
        device.used += size

    def __del__(self) -> None:
        if hasattr(self, "ptr"):
            self.device.used -= self.size


class Array(np.lib.mixins.NDArrayOperatorsMixin):
    """An array on the emulated device, as CuPy's are on a card. What would be an implicit copy to the host raises
    HostReadError, as it raises TypeError in CuPy; `get()` copies, and numbers come out by `float(x)` or `x.item()`."""

    __array_priority__ = 100

    def __init__(self, memory: Memory, view: np.ndarray) -> None:
        self._memory, self._view = memory, view

    shape = property(lambda self: self._view.shape)
    dtype = property(lambda self: self._view.dtype)
    ndim = property(lambda self: self._view.ndim)
    size = property(lambda self: self._view.size)
    nbytes = property(lambda self: self._view.nbytes)
    itemsize = property(lambda self: self._view.itemsize)
    strides = property(lambda self: self._view.strides)
    flags = property(lambda self: self._view.flags)
    T = property(lambda self: Array(self._memory, self._view.T))
    real = property(lambda self: _wrapped(self, self._view.real))
    imag = property(lambda self: _wrapped(self, self._view.imag))

    @property
    def device(self) -> Emulated:
        """The device that has the array."""
        return self._memory.device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        strides = None if self._view.flags.c_contiguous else self._view.strides
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self._view.ctypes.data, False),
            "version": 3, "strides": strides,
        }  # fmt: skip

    def get(self) -> np.ndarray:
        """A copy on the host."""
        return self._view.copy()

    def item(self, *index: Any) -> Any:
        """One element as Python's number."""
        return self._view.item(*index)

    def copy(self) -> Array:
        """A copy on the device, in C order."""
        return self.device.array(self._view)

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copy()

    def set(self, host: np.ndarray) -> None:
        """Copy an array of the host into this one."""
        self._view[...] = host

    def reshape(self, *shape: Any) -> Array:
        """The array in another shape."""
        return Array(self._memory, self._view.reshape(*shape))

    def transpose(self, *axes: Any) -> Array:
        """The array with its axes in another order, without a copy."""
        return Array(self._memory, self._view.transpose(*axes))

    def __getitem__(self, index: Any) -> Array:
        found = self._view[_inside(index)]
        return _wrapped(self, found)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._view[_inside(index)] = _inside(value)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise HostReadError

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, np.ndarray) and x.ndim for x in inputs):
            return NotImplemented
        out = kwargs.pop("out", None)
        got = getattr(ufunc, method)(*map(_inside, inputs), **kwargs)
        if out is not None:
            out[0]._view[...] = got
            return out[0]
        return _wrapped(self, got)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(issubclass(t, np.ndarray) for t in types):
            return NotImplemented
        return _wrapped(self, function(*_inside(args), **_inside(kwargs)))

    __len__ = property(lambda self: self._view.__len__)  # type: ignore[assignment]
    __float__ = property(lambda self: self._view.__float__)
    __int__ = property(lambda self: self._view.__int__)
    __index__ = property(lambda self: self._view.__index__)
    __complex__ = property(lambda self: self._view.__complex__)
    __bool__ = property(lambda self: self._view.__bool__)

    def __iter__(self) -> Any:
        return (self[n] for n in range(len(self._view)))

    def __repr__(self) -> str:
        return repr(self._view)

    def __str__(self) -> str:
        return str(self._view)

    def __format__(self, spec: str) -> str:
        return format(self._view[()] if not self.ndim else self._view, spec)


def _inside(x: Any) -> Any:
    """Trees of arrays as what NumPy can compute with."""
    if isinstance(x, Array):
        return x._view
    if isinstance(x, (tuple, list)):
        return type(x)(map(_inside, x))
    return {k: _inside(v) for k, v in x.items()} if isinstance(x, dict) else x


def _wrapped(like: Array, got: Any) -> Any:
    if isinstance(got, (tuple, list)):
        return type(got)(_wrapped(like, x) for x in got)
    if not isinstance(got, (np.ndarray, np.generic)):
        return got
    if isinstance(got, np.ndarray) and np.may_share_memory(got, like._memory.bytes):
        return Array(like._memory, got)
    return like.device.array(np.asarray(got))


def _method(name: str) -> Any:
    method = getattr(np.ndarray, name)
    return lambda self, *args, **kwargs: _wrapped(self, method(self._view, *args, **_inside(kwargs)))


for _name in (
    *("all", "any", "argmax", "argmin", "astype", "cumsum", "dot", "flatten", "max", "mean", "min", "prod"),
    *("ravel", "squeeze", "std", "sum", "take", "var"),
):
    setattr(Array, _name, _method(_name))
TYPES.add(Array)


class _Here:
    """Somebody else's array as NumPy takes it by DLPack: memory of the emulated device is the host's."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class Emulated:
    """The device. There is one; `emulated` has it."""

    name, kind = "emulated", "cuda"

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.used = 0  # bytes
        self.room = room_of((9, 0))  # that of a card, so that plans are those for it
        self.launches = 0
        self._now = threading.local()  # `record`: what is recorded, not done

    def __repr__(self) -> str:
        return f"cuda:{self.number}"

    # -- memory

    def memory(self, size: int) -> Memory:
        """A block of memory, which is not set to anything. Raises DeviceMemoryError."""
        self.check_room(size)
        return Memory(self, max(size, 1))

    def check_room(self, size: int) -> None:
        """Raise DeviceMemoryError if there is no room for so many bytes."""
        if self.used + size > CAPACITY:
            raise DeviceMemoryError(wanted=size, device=str(self), free=CAPACITY - self.used)

    def write(self, address: int, host: np.ndarray) -> None:
        """Copy a contiguous array of the host to an address."""
        ctypes.memmove(address, host.ctypes.data, host.nbytes)

    def read(self, address: int, host: np.ndarray) -> np.ndarray:
        """Copy to a contiguous array of the host, when all that was launched is done."""
        ctypes.memmove(host.ctypes.data, address, host.nbytes)
        return host

    def clear(self, address: int, size: int, stream: int) -> None:
        """Set bytes to 0, in the order of the stream."""
        self.write(address, np.zeros(size, np.uint8))

    def pinned(self, words: int) -> np.ndarray:
        """Memory of the host into which the device copies directly."""
        return np.zeros(words, np.int64)

    def fetch(self, address: int, pinned: np.ndarray, stream: int) -> np.ndarray:
        """Copy to such memory, and wait for that."""
        return self.read(address, pinned)

    # -- arrays

    def empty(self, shape: Sequence[int], dtype: np.dtype) -> Array:
        """A new array in C order."""
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        memory = self.memory(size)
        return Array(memory, np.ndarray(tuple(shape), dtype, memory.bytes.data))

    def array(self, host: np.ndarray) -> Array:
        """A copy of an array of the host, or of one of the device. Its bytes are in the device's order."""
        out = self.empty(host.shape, host.dtype.newbyteorder("="))
        out._view[...] = _inside(host)
        return out

    @staticmethod
    def is_array(x: Any) -> bool:
        """Whether an object is an array of this device."""
        return isinstance(x, Array)

    def has(self, x: Array) -> bool:
        """Whether one of its arrays is on this device."""
        return x._memory.device is self

    @staticmethod
    def address(x: Array) -> int:
        """Where an array starts."""
        return x._view.ctypes.data

    def seen(self, x: Any) -> Array:
        """Somebody else's array of this device as one of ours, without a copy."""
        if isinstance(x, Array):
            return x
        if hasattr(x, "__cuda_array_interface__"):
            has = x.__cuda_array_interface__
        else:
            has = np.from_dlpack(_Here(x)).__array_interface__
        if 0 in has["shape"]:
            return self.empty(has["shape"], np.dtype(has["typestr"]))
        shape, strides, dtype = has["shape"], has.get("strides"), np.dtype(has["typestr"])
        steps = strides or [int(np.prod(shape[n + 1 :])) * dtype.itemsize for n in range(len(shape))]
        ends = [(n - 1) * s for n, s in zip(shape, steps, strict=True)]
        before = -sum(min(e, 0) for e in ends)  # bytes below the first element, where a stride is negative
        size = before + sum(max(e, 0) for e in ends) + dtype.itemsize
        raw: Any = (ctypes.c_char * size).from_address(has["data"][0] - before)
        memory = Memory.__new__(Memory)
        memory.device, memory.size, memory._keep = self, 0, x
        memory.bytes = np.frombuffer(raw, np.uint8)
        return Array(memory, np.ndarray(tuple(shape), dtype, raw, before, strides))

    # -- kernels

    def load(self, text: str, names: Sequence[str], sites: Sequence[str] = ()) -> dict[str, Any]:
        """The kernels of a module. `sites`: what its accesses are called, where they are looked at (`looking`)."""
        code = machine.compile_llvm(machine.as_set(text))
        return {n: (code, _KERNEL(code.symbols[n])) for n in names}

    @staticmethod
    def registers(kernels: dict[str, Any]) -> dict[str, int]:
        """The registers of a thread of each kernel, as far as they are known."""
        return {}

    def launch(self, kernel: Any, blocks: int, threads: int, args: Sequence[int], words: int) -> None:
        """Run a kernel. `words`: of a block's memory, and of what its threads accumulate."""
        packed = (ctypes.c_int64 * len(args))(*args)
        block = np.empty(words, np.int64)
        self.launches += 1
        self.run(kernel, packed, blocks, threads, block)

    def launcher(
        self, kernel: Any, blocks: int, threads: int, cells: Sequence[int], values: Any, words: int
    ) -> Callable[[int], None]:
        """The function of a stream that runs a kernel with what these cells of a table of words have then."""

        def run(stream: int) -> None:
            given = [values[n] for n in cells]
            self._act(lambda: self.launch(kernel, blocks, threads, given, words))

        return run

    def _act(self, act: Callable[[], None]) -> None:
        """Do something, or record it."""
        record = getattr(self._now, "record", None)
        if record is None:
            act()
        else:
            record.append(act)

    def recorded(self, act: Callable[[int], None]) -> Callable[[int], None] | None:
        """The function of a stream that launches what `act` launches, with the arguments that it has now."""
        acts = self._now.record = []
        try:
            act(0)
        finally:
            self._now.record = None

        def run(stream: int) -> None:
            for each in acts:
                each()

        return run

    def within(self, act: Callable[[int, Any], Any], given: Any) -> Any:
        """`act(stream, given)` while this is the current device, where there is such a thing."""
        return act(0, given)

    def run(self, kernel: Any, packed: Any, blocks: int, threads: int, block: np.ndarray) -> None:
        """Call a kernel's function."""
        kernel[1](ctypes.addressof(packed), blocks, threads, block.ctypes.data)

    def function_of(self, library: Any) -> Any:
        """A call of a library made ready."""
        return operations.on_emulated(library)

    def call(self, function: Any, stream: int, room: int, addresses: Sequence[int]) -> None:
        """Let a library do something."""
        self._act(lambda: function.run(stream, room, *addresses))

    def synchronize(self) -> None:
        """Wait for all that was launched: here nothing is left to do."""


#: The emulated devices: two, so that programs with several can be tried.
DEVICES = (Emulated(0), Emulated(1))
emulated = DEVICES[0]
