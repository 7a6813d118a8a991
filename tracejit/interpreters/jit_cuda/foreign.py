"""Arrays on CUDA devices, ours and others': PyTorch's tensors, Numba's device arrays, JAX's arrays.

What has `__cuda_array_interface__`, or speaks DLPack and says that it is on a CUDA device, is such an array. PyTorch's
and JAX's types have both for arrays of the host, too, so that each array is asked.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tracejit.lowering.cuda.emulated import Array
from tracejit.tracing import Box

#: Kinds of devices in DLPack: CUDA's memory, and memory that CUDA moves between host and device.
_ON_CUDA = (2, 13)
_INTERFACE, _DLPACK = "__cuda_array_interface__", "__dlpack_device__"


def is_there(x: Any) -> bool:
    """Whether an object is an array in the memory of a CUDA device."""
    if is_ours(x):
        return True
    if not hasattr(type(x), _INTERFACE) and not hasattr(type(x), _DLPACK):
        return False
    return interface(x) is not None or _dlpack_device(x)[0] in _ON_CUDA


def is_ours(x: Any) -> bool:
    """Whether an object is an array as devices here make them: CuPy's, or an emulated one."""
    if isinstance(x, Array):
        return True
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(x, cupy.ndarray)


def interface(x: Any) -> dict[str, Any] | None:
    """What `__cuda_array_interface__` gives; None where there is none, as for PyTorch's tensors of the host."""
    if not hasattr(type(x), _INTERFACE):
        return None
    try:
        return x.__cuda_array_interface__
    except AttributeError:
        return None


def _dlpack_device(x: Any) -> tuple[int, int]:
    """The kind and number of an array's device by DLPack; of what does not speak DLPack, those of the host."""
    if isinstance(x, (np.ndarray, np.generic, Box)) or not hasattr(type(x), _DLPACK):
        return 1, 0
    kind, number = x.__dlpack_device__()
    return int(kind), int(number)


def number_of(x: Any, at: Any) -> int:
    """The number of the device that an array is on. `at(address)` is the number of the device that has an address."""
    if is_ours(x):
        return int(x.device.id)
    kind, number = _dlpack_device(x)
    if kind in _ON_CUDA:
        return number
    has = interface(x)
    return at(has["data"][0]) if has is not None and has["data"][0] else 0


def is_fixed(x: Any) -> bool:
    """Whether an array says that it must not be written."""
    if is_ours(x):
        return False
    has = interface(x)
    return has is not None and bool(has["data"][1])
