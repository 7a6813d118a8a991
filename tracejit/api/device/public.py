"""What users call: arrays that are put on devices and copied back, the devices that there are, and the default one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from tracejit.api.device import held
from tracejit.api.device.places import DEFAULT
from tracejit.config import config
from tracejit.interpreters.jit_cuda import device as jit_device
from tracejit.interpreters.jit_cuda import foreign


def device_put(x: Any, device: Any = None) -> Any:
    """The arrays in the tree `x` as copies on a device; those that are there stay.

    `device` is "cuda", "cuda:1", or one of `devices()`; "cpu" copies to the host. None: the default device, which is
    the first card if there is no other (`default_device`).

    Raises DeviceNameError, NoDeviceError, DeviceMemoryError."""
    wanted = device if device is not None else DEFAULT.get() or "cuda"
    where = jit_device.device(wanted)
    if where is None:
        return held.on_host(x)

    def put(a: Any) -> Any:
        other = jit_device.device_of(a)
        if other is where:
            return a
        return where.array(foreign.seen(a, other).get() if other is not None else jit_device.operand(a))

    return held.mapped(put, x)


def device_get(x: Any) -> Any:
    """The arrays of devices in the tree `x` as NumPy arrays: copies, made when what computes them is done."""
    return held.on_host(x)


def devices() -> list[Any]:
    """The CUDA devices that there are: none without a card, a driver or CuPy; two where they are emulated."""
    return jit_device.all_devices()


@contextlib.contextmanager
def default_device(device: Any) -> Iterator[None]:
    """In a `with` block, functions of `jit` that name no device run on this one, and `device_put` copies there.

    Raises DeviceNameError, NoDeviceError."""
    where = jit_device.device(device)
    token = DEFAULT.set(where)
    try:
        with config.going_around():
            yield
    finally:
        DEFAULT.reset(token)
