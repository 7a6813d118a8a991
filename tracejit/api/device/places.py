"""Where a call runs: on the device that its function names, that its arrays are on, or that is the default."""

from __future__ import annotations

import contextlib
import contextvars
import copy
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.api.common import name_of
from tracejit.api.device import changes
from tracejit.api.regions.regional import Regional
from tracejit.errors import DeviceMixError
from tracejit.ir.elsewhere import HOST
from tracejit.lazily import LazyModule

_held: Any = LazyModule("tracejit.api.device.held")
_devices: Any = LazyModule("tracejit.interpreters.jit_cuda.device")
#: The device of `default_device`; None: the CPU.
DEFAULT: contextvars.ContextVar[Any] = contextvars.ContextVar("default_device", default=None)
#: Modules that make arrays on devices, and types of arguments that hold none.
_MAKERS = ("tracejit.lowering.cuda.emulated", "cupy", "torch", "numba.cuda", "jax")
_NO_ARRAYS = frozenset((bool, int, float, complex, str, bytes, type(None), np.ndarray, np.float64))


def named(device: Any) -> Any:
    """The device that an option names; HOST for the CPU, None for an option that is not given.

    Raises DeviceNameError, NoDeviceError."""
    return None if device is None else _devices.device(device) or HOST


def place(jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The device of a call; None for the CPU. Raises DeviceMixError: a function of the CPU is given an array that is on
    a device."""
    options = jitted.options
    if options.device is not None:
        return options.device
    if any(name in sys.modules for name in _MAKERS):
        for x in (*args, *kwargs.values()):
            if type(x) not in _NO_ARRAYS and (found := _held.device_among(x)) is not None:
                if options.on_host:
                    raise DeviceMixError(
                        function=name_of(jitted.fun),
                        device=HOST,
                        argument="an array among its arguments",
                        other=str(found),
                    )
                return found
    return None if options.on_host else DEFAULT.get()


def moved(
    make: Callable[..., Any], jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The jitted function where a call runs, and the arguments as it takes them."""
    where = place(jitted, args, kwargs)
    if where is None:
        return jitted, args, kwargs
    if jitted.options.device is None:
        if where not in jitted.elsewhere:
            options = copy.copy(jitted.options)
            options.backend, options.device = "device", where
            jitted.elsewhere[where] = make(jitted.fun, options)
        jitted = jitted.elsewhere[where]
    return (jitted, *_held.each(_held.held, args, kwargs))


def handed_back(given: Any, moved: Any) -> contextlib.AbstractContextManager[Any]:
    """While a function runs with the arguments `moved`, which is to change what is `given` as it changes these."""
    same = all(a is b for a, b in zip(given, moved, strict=True))
    return contextlib.nullcontext() if same else changes.handed_back(given, moved)


def python(fun: Callable[..., Any], options: Any, part: Callable[..., Any]) -> Any:
    """What runs a function where tracing refuses; `part` makes functions of its parts."""
    if options.device is not None:
        return _held.PythonOnHost(fun, options.fallback, options.device)
    return Regional(fun, options.fallback, part)
