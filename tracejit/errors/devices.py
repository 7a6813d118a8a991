"""What is said about devices: those that are not there, arrays that are elsewhere, and kernels that fail."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class NoDeviceError(TracejitError, RuntimeError):
    """Programs for `device="cuda"` need an NVIDIA GPU, its driver, and CuPy, which is the extra `tracejit[cuda]`; or
    the emulated device, which needs nothing and is there for tests."""

    code = "TJ320"
    cause = "there is no device {device!r}: {problem}."
    remedies = (
        "on a machine with an NVIDIA GPU and its driver, `pip install 'tracejit[cuda]'`",
        "to try a program without a GPU, set the environment variable TRACEJIT_CUDA=emulate before Python starts",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.device_put(np.ones(3), "cuda:99")
    """


class DeviceNameError(TracejitError, ValueError):
    """A device is called "cpu", "cuda" or "cuda:1"."""

    code = "TJ321"
    cause = "{device!r} is no name of a device: there are 'cpu', 'cuda' and 'cuda:N'."
    remedies = ('write `device="cuda"`, or leave it out for the CPU',)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(np.sin, device="gpu")
    """


class DeviceMemoryError(TracejitError, MemoryError):
    """A device has no room for an array or for what a program computes with. Nothing was changed."""

    code = "TJ322"
    cause = "{device} has no room for {wanted} bytes: {free} are free."
    remedies = (
        "drop arrays that are not used any more, or work on parts of the data",
        "with CuPy, `cupy.get_default_memory_pool().free_all_blocks()` gives back what its pool keeps",
    )
    example = """
        from tracejit.lowering.cuda.emulated import emulated
        emulated.memory(1 << 60)
    """


class HostReadError(TracejitError, TypeError):
    """An array on a device is not copied to the host unless that is asked for, as in CuPy."""

    code = "TJ323"
    cause = "an array on a device was used as a NumPy array, which would copy it."
    remedies = (
        "copy it by `tj.device_get(x)`; numbers come out by `float(x)` or `x.item()`",
        'call a function of `tj.jit(f, device="cuda")` with it',
    )
    example = """
        import numpy as np
        from tracejit.lowering.cuda.emulated import emulated
        np.asarray(emulated.array(np.ones(3)))
    """


class DeviceArrayError(TracejitError, TypeError):
    """An array of another library on a device is read by what it says of itself. Kernels know no masks, and numbers in
    the order of bytes of the device only."""

    code = "TJ327"
    cause = "an array of class {type} on {device} can't be taken: {problem}."
    remedies = ("make a plain array of it first, by the library that it is of",)
    example = """
        import tracejit as tj
        raise tj.errors.DeviceArrayError(type="Array", device="cuda:0", problem="it has a mask")
    """


class DeviceMixError(TracejitError, ValueError):
    """What a program takes is on one device, or on the host, from where it is copied."""

    code = "TJ324"
    cause = "{function} runs on {device}, and {argument} is on {other}."
    remedies = ("copy it first: `tj.device_put(tj.device_get(x), device)`",)
    example = """
        import tracejit as tj
        raise tj.errors.DeviceMixError(function="f", device="cuda:0", argument="argument x", other="cuda:1")
    """


class LaunchError(TracejitError, RuntimeError):
    """The driver refused to load or launch a kernel, or a kernel ended with an error. After an error in a kernel CUDA
    lets a process do nothing more on that card."""

    code = "TJ325"
    cause = "{device} could not run a program: {problem}."
    remedies = (
        "if the driver is older than the card or CuPy, update it; `nvidia-smi` shows its version",
        "run it with TRACEJIT_CUDA=emulate, and tell us if it fails there, too",
    )
    example = """
        import tracejit as tj
        raise tj.errors.LaunchError(device="cuda:0", problem="CUDA_ERROR_UNSUPPORTED_PTX_VERSION")
    """


class DeviceAccessError(TracejitError, RuntimeError):
    """The sanitiser of the emulated device (`TRACEJIT_CUDA=sanitize`) found an access outside of a buffer, a value of
    memory that nothing has set, or two accesses of one address by two threads, one of them a write, without a barrier
    between them. That is a mistake of tracejit's, not of the program."""

    code = "TJ326"
    cause = "kernels on {device} must not do this: {findings}."
    remedies = ("tell us, with the function and the shapes of its arguments",)
    example = """
        import tracejit as tj
        raise tj.errors.DeviceAccessError(device="cuda:0", findings="k0, x: thread 3 of block 0 writes outside of it")
    """
