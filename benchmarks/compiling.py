"""Trace and compile: from a function that is new to machine code, in a process that has compiled before.

Each time the function is a new one; libraries keep what they know of their own functions. Our machine code of the
time before is forgotten, and the disk cache is off (JAX's is by default). Numba compiles its hand-written kernel
in the first call, whose run time is taken off; so it does for our other target.
"""

from __future__ import annotations

import gc
import importlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.peers import NotHere, Peer, Run, derived, split, with_lib
from benchmarks.registry import CHOSEN, WORKLOADS, Case, Workload, workload
from benchmarks.timing import Row, difference


def chain_data(rng: Any, dtype: Any, n: int) -> tuple[Any, ...]:
    return (rng.standard_normal(n).astype(dtype),)


@workload(
    "300 operations", "compiling", make=chain_data, sizes={"middle": {"n": 1000}}, modes=("forward", "grad")
)
def chain(lib: Any, x: Any) -> Any:
    for n in range(100):
        x = lib.np.sin(x) * 0.9 + 0.01 * n
    return x.sum()


@dataclass(frozen=True)
class CompileCase:
    """A row of the table whose times are those of tracing and compiling a workload."""

    case: Case
    family: str = "compiling"
    mode: str = ""

    @property
    def workload(self) -> Workload:
        return self.case.workload

    @property
    def label(self) -> str:
        return f"compile {self.case.label}"

    @property
    def name(self) -> str:
        return self.label

    @property
    def size(self) -> str:
        return self.case.size

    @property
    def dtype(self) -> str:
        return self.case.dtype

    def measure(self, peers: list[Peer], rounds: int, limit: float) -> Row:
        """Once to warm up and to compare results, then `rounds` in turns, for `limit` seconds at most."""
        row, times, reference = Row(self), dict[str, list[float]](), None
        args = self.case.args()
        for peer in peers:
            try:
                seconds, run = self.once(peer, args)
                values = peer.to_numpy(run())
            except NotHere as e:
                row.missing[peer.name] = str(e)
                continue
            reference = values if reference is None else reference
            problem = difference(values, reference, self.case, peer.name)
            if problem:
                row.missing[peer.name] = f"differs: {problem}"
                continue
            row.first_call[peer.name] = seconds
            times[peer.name] = []
        start = time.perf_counter()
        for n in range(rounds):
            for peer in peers:
                if peer.name in times:
                    gc.collect()
                    times[peer.name].append(self.once(peer, args)[0])
            if n >= 2 and time.perf_counter() - start > limit:
                break
        row.ms = {name: statistics.median(t) * 1e3 for name, t in times.items()}
        return row

    def once(self, peer: Peer, args: tuple[Any, ...]) -> tuple[float, Run]:
        """(seconds, the compiled function); raises NotHere."""
        compiler = _COMPILERS.get(peer.name)
        if compiler is None:
            raise NotHere("compiles nothing, or for half a minute")
        return compiler(peer, self.workload, args)


def _ours(peer: Peer, w: Workload, args: tuple[Any, ...]) -> tuple[float, Run]:
    tj = importlib.import_module("tracejit")
    tj.config.update("cache", "off")
    tj.clear_caches()
    static, dynamic = split(w, args)
    f = tj.jit(derived(w, with_lib(w, peer.lib, static), tj))
    start = time.perf_counter()
    compiled = f.lower(*dynamic).compile()
    return time.perf_counter() - start, lambda: compiled(*dynamic)


def _jax(peer: Peer, w: Workload, args: tuple[Any, ...]) -> tuple[float, Run]:
    lib = peer.lib  # sets the precision
    jax = importlib.import_module("jax")
    static, dynamic = split(w, args)
    placed = jax.tree.map(jax.numpy.asarray, dynamic)
    f = jax.jit(derived(w, with_lib(w, lib, static), jax))
    start = time.perf_counter()
    compiled = f.lower(*placed).compile()
    return time.perf_counter() - start, lambda: jax.block_until_ready(compiled(*placed))


def _printed(peer: Any, w: Workload, args: tuple[Any, ...]) -> tuple[float, Run]:
    """The other target: Numba compiles in the first call."""
    tj = importlib.import_module("tracejit")
    static, dynamic = split(w, args)
    f = tj.jit(derived(w, with_lib(w, peer.lib, static), tj), backend=peer.backend)
    return _first_call(lambda: f(*dynamic))


def _first_call(run: Run) -> tuple[float, Run]:
    """The seconds that the first call takes more than the second one."""
    start = time.perf_counter()
    run()
    first = time.perf_counter()
    run()
    return (first - start) - (time.perf_counter() - first), run


def _numba(peer: Peer, w: Workload, args: tuple[Any, ...]) -> tuple[float, Run]:
    if "numba" not in w.by_hand:
        raise NotHere("has to be written by hand, and is not")
    f = w.by_hand["numba"](w.mode, *args)
    return _first_call(lambda: f(*args))


_COMPILERS: dict[str, Callable[[Peer, Workload, tuple[Any, ...]], tuple[float, Run]]] = {
    "tracejit": _ours,
    "tracejit by numba": _printed,
    "jax": _jax,
    "numba": _numba,
}


def cases(sizes: set[str], dtypes: set[str]) -> list[CompileCase]:
    """The rows asked for; of the workloads' sizes the middle ones."""
    found = [c for w in WORKLOADS for c in w.cases(sizes & {"middle"}, dtypes & {"f8"})]
    return [CompileCase(c) for c in found if CHOSEN.fullmatch(c.label)]
