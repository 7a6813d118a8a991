"""The libraries that are compared, each as a function that makes a call of no arguments for a workload, or None."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from benchmarks.gpu.workloads import Workload

Call = Callable[[], Any]


class Torch:
    """The functions of `workloads` by PyTorch."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.exp, self.tanh, self.log, self.sqrt, self.sin = (
            getattr(torch, n) for n in ("exp", "tanh", "log", "sqrt", "sin")
        )

    def _along(self, name: str, x: Any, axis: Any, keepdims: bool) -> Any:
        function = getattr(self.torch, name)
        return function(x) if axis is None else function(x, dim=axis, keepdim=keepdims)

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """As numpy.sum."""
        return self._along("sum", x, axis, keepdims)

    def mean(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """As numpy.mean."""
        return self._along("mean", x, axis, keepdims)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        """As numpy.max."""
        return self._along("amax", x, axis, keepdims)


def tracejit(w: Workload, arrays: tuple[np.ndarray, ...]) -> Call:
    """This library, on the first device."""

    def f(*xs: Any) -> Any:
        return w.body(np, *xs)

    made = tj.jit(tj.value_and_grad(f) if w.gradient else f, device="cuda")
    there = [tj.device_put(x, "cuda") for x in arrays]
    return lambda: made(*there)


def cupy(w: Workload, arrays: tuple[np.ndarray, ...]) -> Call | None:
    """CuPy, which has no gradients."""
    xp = importlib.import_module("cupy")
    there = [xp.asarray(x) for x in arrays]
    return None if w.gradient else lambda: w.body(xp, *there)


def jax(w: Workload, arrays: tuple[np.ndarray, ...]) -> Call:
    """JAX, in double precision."""
    library = importlib.import_module("jax")
    library.config.update("jax_enable_x64", True)

    def f(*xs: Any) -> Any:
        return w.body(library.numpy, *xs)

    made = library.jit(library.value_and_grad(f) if w.gradient else f)
    there = [library.device_put(x) for x in arrays]
    return lambda: library.block_until_ready(made(*there))


def torch(w: Workload, arrays: tuple[np.ndarray, ...]) -> Call:
    """PyTorch, compiled by torch.compile."""
    library = importlib.import_module("torch")
    xp = Torch(library)
    there = [library.from_numpy(x).cuda() for x in arrays]
    if w.gradient:
        there[0].requires_grad_()

    made = library.compile(lambda *xs: w.body(xp, *xs))

    def call() -> Any:
        out = made(*there)
        if w.gradient:
            there[0].grad = None
            out.backward()
        return out

    return call


PEERS: dict[str, Callable[[Workload, tuple[np.ndarray, ...]], Call | None]] = {
    "tracejit": tracejit, "cupy": cupy, "jax": jax, "torch": torch,
}  # fmt: skip


def installed(names: str = "") -> dict[str, Callable[[Workload, tuple[np.ndarray, ...]], Call | None]]:
    """The libraries that can be measured on a card; of the others, those that `names` has, by commas, if it has any."""
    chosen = {"tracejit", *(names.split(",") if names else PEERS)}
    return {n: p for n, p in PEERS.items() if n in chosen and importlib.util.find_spec(n) is not None}


def by_events(call: Call, repeats: int) -> float:
    """Seconds of a call on a card, the least of `repeats`, between two CUDA events of the stream that it is on. JAX
    has streams of its own and waits itself: its calls lie between the events all the same."""
    runtime = importlib.import_module("cupy").cuda
    call()
    runtime.Device().synchronize()
    times = []
    for _ in range(repeats):
        first, last = runtime.Event(), runtime.Event()
        first.record()
        call()
        last.record()
        last.synchronize()
        times.append(runtime.get_elapsed_time(first, last) / 1e3)
    return min(times)


def by_process(call: Call, repeats: int) -> float:
    """Seconds of the processors that a call takes on the emulated device, the least of `repeats`."""
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)
