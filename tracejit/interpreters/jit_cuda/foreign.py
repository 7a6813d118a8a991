"""Arrays on CUDA devices, ours and others': PyTorch's tensors, Numba's device arrays, JAX's arrays.

What has `__cuda_array_interface__`, or speaks DLPack and says that it is on a CUDA device, is such an array. PyTorch's
and JAX's types have both for arrays of the host, too, so that each array is asked.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tracejit.errors import DeviceArrayError
from tracejit.ir.elsewhere import interface, number_by_dlpack
from tracejit.lowering.cuda.emulated import Array
from tracejit.tracing import Box


def is_there(x: Any) -> bool:
    """Whether an object is an array in the memory of a CUDA device."""
    if is_ours(x):
        return True
    if isinstance(x, (np.ndarray, np.generic, Box)):
        return False
    return interface(x) is not None or number_by_dlpack(x) is not None


def is_ours(x: Any) -> bool:
    """Whether an object is an array as devices here make them: CuPy's, or an emulated one."""
    if isinstance(x, Array):
        return True
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(x, cupy.ndarray)


def number_of(x: Any, at: Any) -> int:
    """The number of the device that an array is on. `at(address)` is the number of the device that has an address."""
    if is_ours(x):
        return int(x.device.id)
    if (number := number_by_dlpack(x)) is not None:
        return number
    has = interface(x)
    return at(has["data"][0]) if has is not None and has["data"][0] else 0


def is_fixed(x: Any) -> bool:
    """Whether an array says that it must not be written."""
    if is_ours(x):
        return False
    has = interface(x)
    return has is not None and bool(has["data"][1])


def seen(x: Any, on: Any) -> Any:
    """Somebody else's array on a device as one of the device's, without a copy. Raises DeviceArrayError."""
    has = None if is_ours(x) else interface(x)
    if has is not None:
        problem = ""
        if has.get("mask") is not None:
            problem = "it has a mask"
        elif not np.dtype(has["typestr"]).isnative:
            problem = "its bytes are in another order than the device's"
        if problem:
            raise DeviceArrayError(type=type(x).__name__, device=str(on), problem=problem)
    return on.seen(x)
