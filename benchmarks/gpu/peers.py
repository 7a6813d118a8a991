"""The libraries that are compared, each as a function that makes a call of no arguments for a workload, or None, and
what waits for its results. On a card the arguments are CuPy's arrays, which every library takes without a copy.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit as tj
from benchmarks.gpu.workloads import Workload

Call = Callable[[], Any]
RATE = 0.1  # of a step of gradient descent
_SAMPLE = 5000  # elements of each end of a result that are compared


def stepping(function: Any, w: Workload) -> Any:
    """A step of gradient descent: the loss and the new parameters. `function(argnums)` gives a function that gives the
    loss and the gradients."""

    def step(*xs: Any) -> Any:
        value, slopes = function(tuple(range(w.steps)))(*xs)
        return value, [x - RATE * g for x, g in zip(xs, slopes, strict=False)]

    return step


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


def tracejit(w: Workload, arrays: Sequence[Any]) -> Call:
    """This library, on the first device."""

    def f(*xs: Any) -> Any:
        return w.body(np, *xs)

    if w.steps:
        f = stepping(lambda n, loss=f: tj.value_and_grad(loss, argnums=n), w)
    made = tj.jit(tj.value_and_grad(f) if w.gradient else f, device="cuda")
    there = [tj.device_put(x, "cuda") for x in arrays]
    return lambda: made(*there)


def cupy(w: Workload, arrays: Sequence[Any]) -> Call | None:
    """CuPy, which has no gradients."""
    xp = importlib.import_module("cupy")
    return None if w.gradient or w.steps or w.in_jax else lambda: w.body(xp, *arrays)


def jax(w: Workload, arrays: Sequence[Any]) -> Call:
    """JAX, in double precision, and with products as exact as their types, as the other libraries have them."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # it would take most of the card's memory
    library = importlib.import_module("jax")
    library.config.update("jax_enable_x64", True)
    library.config.update("jax_default_matmul_precision", "highest")

    def f(*xs: Any) -> Any:
        return w.in_jax(*xs) if w.in_jax else w.body(library.numpy, *xs)

    if w.steps:
        f = stepping(lambda n, loss=f: library.value_and_grad(loss, argnums=n), w)
    made = library.jit(library.value_and_grad(f) if w.gradient else f)
    there = [library.numpy.from_dlpack(x) for x in arrays]
    return lambda: made(*there)


def torch(w: Workload, arrays: Sequence[Any]) -> Call | None:
    """PyTorch, compiled by torch.compile."""
    if w.in_jax:
        return None
    library = importlib.import_module("torch")
    xp = Torch(library)
    there = [library.from_dlpack(x) for x in arrays]
    count = w.steps or int(w.gradient)
    for x in there[:count]:
        x.requires_grad_()
    made = library.compile(lambda *xs: w.body(xp, *xs))

    def call() -> Any:
        out = made(*there)
        if not count:
            return out
        slopes = library.autograd.grad(out, there[:count])
        if not w.steps:
            return out, slopes[0]
        with library.no_grad():
            return out, [x - RATE * g for x, g in zip(there, slopes, strict=False)]

    return call


PEERS: dict[str, Callable[[Workload, Sequence[Any]], Call | None]] = {
    "tracejit": tracejit, "cupy": cupy, "jax": jax, "torch": torch,
}  # fmt: skip
#: Those whose work is on CuPy's stream, which events see.
ON_STREAM = frozenset(("tracejit", "cupy"))


def waiting(name: str) -> Callable[[Any], Any]:
    """What waits for the results of a library."""
    if name == "jax":
        return importlib.import_module("jax").block_until_ready
    if name == "torch":
        synchronize = importlib.import_module("torch").cuda.synchronize
        return lambda _: synchronize()
    device = importlib.import_module("cupy").cuda.Device()
    return lambda _: device.synchronize()


def sample(out: Any) -> list[np.ndarray]:
    """The first and the last elements of results on a card, copied to the host."""
    if isinstance(out, (tuple, list)):
        return [part for x in out for part in sample(x)]
    cupy = importlib.import_module("cupy")
    flat = cupy.asarray(out.detach() if hasattr(out, "detach") else out).ravel()
    return [flat[:_SAMPLE].get(), flat[-_SAMPLE:].get()]


def differ(some: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> str:
    """What is different in two samples, beyond the order of additions; '' if nothing is."""
    try:
        for a, b in zip(some, others, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype, "other shapes or types"
            near = 1e-3 if a.dtype.itemsize == 4 else 1e-9
            np.testing.assert_allclose(a, b, rtol=near, atol=near * (np.abs(b).max(initial=0) + 1e-30))
    except (AssertionError, ValueError) as e:
        return " ".join(str(e).split())[:200]
    return ""


def installed(names: str) -> dict[str, Callable[[Workload, Sequence[Any]], Call | None]]:
    """The libraries that can be measured on a card: this one, and of the others those that `names` has, by commas."""
    chosen = {"tracejit", *names.split(",")}
    return {n: p for n, p in PEERS.items() if n in chosen and importlib.util.find_spec(n) is not None}


def warm(call: Call, wait: Callable[[Any], Any], seconds: float = 0.2) -> None:
    """Call for so long, so that the card's clock is at its height: it is not after a library has compiled."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        wait(call())


def by_clock(call: Call, wait: Callable[[Any], Any], repeats: int) -> float:
    """Seconds from a call to its results, the median of `repeats`: what somebody who waits sees."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        wait(call())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def in_a_row(call: Call, wait: Callable[[Any], Any], count: int) -> float:
    """Seconds of each of many calls that do not wait for one another, until all are done; the least of three times."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        out = None
        for _ in range(count):
            out = call()
        wait(out)
        times.append((time.perf_counter() - start) / count)
    return min(times)


def by_events(call: Call, repeats: int) -> float:
    """Seconds of a call on a card, the least of `repeats`, between two CUDA events of CuPy's stream."""
    runtime = importlib.import_module("cupy").cuda
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
