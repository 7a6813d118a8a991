"""Arrays that are not the host's: CuPy's, and those of the emulated device.

They are raw values like NumPy's arrays, of which the type is known: what evaluates operations lets the device do it.
Arrays of other libraries there are made such values (`taken`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.lazily import LazyModule

_devices: Any = LazyModule("tracejit.interpreters.jit_cuda.device")
#: The name of the CPU among devices.
HOST = "cpu"
#: Their types, as far as any was met.
TYPES: set[type] = set()
#: Kinds of devices in DLPack: CUDA's memory, and memory that CUDA moves between host and device.
_ON_CUDA = (2, 13)
_INTERFACE, _DLPACK = "__cuda_array_interface__", "__dlpack_device__"


def is_elsewhere(x: Any) -> bool:
    """Whether `x` is an array on a device."""
    t = type(x)
    if any(t is known for known in TYPES):  # a user's class may not be hashable
        return True
    if t.__name__ == "ndarray" and str(t.__module__).partition(".")[0] == "cupy":
        TYPES.add(t)
        return True
    return False


def interface(x: Any) -> dict[str, Any] | None:
    """What `__cuda_array_interface__` gives; None where there is none, as for PyTorch's tensors of the host."""
    if not hasattr(type(x), _INTERFACE):
        return None
    try:
        return x.__cuda_array_interface__
    except AttributeError:
        return None


def number_by_dlpack(x: Any) -> int | None:
    """The number of the device that an array of another library is on, by DLPack; None if that says of none."""
    if not hasattr(type(x), _DLPACK):
        return None
    kind, number = x.__dlpack_device__()
    return int(number) if int(kind) in _ON_CUDA else None


def taken(x: Any) -> Any:
    """An array on a device as one of the device's, without a copy if it is somebody else's; None for other objects."""
    if is_elsewhere(x):
        return x
    if interface(x) is None and number_by_dlpack(x) is None:
        return None
    return _devices.taken(x)


def to_host(x: Any) -> np.ndarray:
    """An array as one of NumPy's, for who has to know its elements: a copy if it is on a device."""
    return x.get() if is_elsewhere(x) else np.asarray(x)
