"""What this machine can do at most: operations a second on floats, and bytes a second of memory and of cache.

Measured by two loops of machine code. That for arithmetic has ten chains of vectors, which depend on nothing: a product
and a sum at once (as BLAS has them), or sums alone. That for memory is the triad of McCalpin's STREAM, `a[i] = b[i] +
s * c[i]`, with arrays that lie in memory, or in the cache; its bytes are counted as in `cost_analysis`: three arrays,
once each.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable

import numpy as np

from tracejit.config import config
from tracejit.lowering.linking.processor import vector_bits
from tracejit.lowering.runtime.compile import compile_llvm
from tracejit.records import record

_CHAINS = 10
_TURNS = 1_000_000  # some milliseconds, many times what the start of a thread takes
_REPEATS = 7
_LARGE, _SMALL = 4 << 20, 4 << 10  # elements of an array: 32 MiB and 32 KiB

_TRIAD = """define i64 @entry(ptr noalias %a, ptr noalias %b, ptr noalias %c, i64 %n, i64 %turns) nounwind {
start:
  br label %turn
turn:
  %t = phi i64 [ 0, %start ], [ %again, %turned ]
  br label %loop
loop:
  %i = phi i64 [ 0, %turn ], [ %next, %loop ]
  %pa = getelementptr double, ptr %a, i64 %i
  %pb = getelementptr double, ptr %b, i64 %i
  %pc = getelementptr double, ptr %c, i64 %i
  %x = load double, ptr %pb
  %y = load double, ptr %pc
  %z = fmul double %y, 3.0
  %w = fadd double %x, %z
  store double %w, ptr %pa
  %next = add nuw nsw i64 %i, 1
  %go = icmp slt i64 %next, %n
  br i1 %go, label %loop, label %turned
turned:
  %again = add nuw nsw i64 %t, 1
  %more = icmp slt i64 %again, %turns
  br i1 %more, label %turn, label %done
done:
  ret i64 0
}
"""


@record(frozen=True)
class Speeds:
    """By `threads` threads together: `fused` and `plain` operations a second (float64; products and sums at once, and
    sums alone), bytes a second of `memory`, and of the `cache` next to each processor."""

    threads: int
    fused: float
    plain: float
    memory: float
    cache: float


_known: dict[int, Speeds] = {}


def speeds() -> Speeds:
    """Those of as many threads as share a loop, measured once."""
    count = config.num_threads
    if count not in _known:
        lanes = vector_bits() // 64
        memory, cache = (_bytes_a_second(count, n) for n in (_LARGE, _SMALL))
        plain, fused = (_operations_a_second(count, lanes, each) for each in (1, 2))
        _known[count] = Speeds(count, max(fused, plain), plain, memory, cache)
    return _known[count]


def _arithmetic(lanes: int, each: int) -> str:
    """The loop over chains: `each` operations a lane."""
    vector = f"<{lanes} x double>"
    many = ", ".join(["double 0.5"] * lanes)
    lines = ["define i64 @entry(ptr %out, i64 %turns) nounwind {\nstart:\n  br label %loop\nloop:"]
    lines.append("  %i = phi i64 [ 0, %start ], [ %next, %loop ]")
    lines += [f"  %x{n} = phi {vector} [ zeroinitializer, %start ], [ %y{n}, %loop ]" for n in range(_CHAINS)]
    for n in range(_CHAINS):
        if each == 2:
            args = f"{vector} %x{n}, {vector} <{many}>, {vector} <{many}>"
            lines.append(f"  %y{n} = call {vector} @llvm.fma.v{lanes}f64({args})")
        else:
            lines.append(f"  %y{n} = fadd {vector} %x{n}, <{many}>")
    lines += [
        "  %next = add nuw nsw i64 %i, 1",
        "  %go = icmp slt i64 %next, %turns",
        "  br i1 %go, label %loop, label %done",
        "done:",
    ]
    total = "%y0"
    for n in range(1, _CHAINS):
        lines.append(f"  %s{n} = fadd {vector} {total}, %y{n}")
        total = f"%s{n}"
    lines += [f"  store {vector} {total}, ptr %out, align 8", "  ret i64 0", "}", ""]
    return "\n".join(lines)


def _operations_a_second(count: int, lanes: int, each: int) -> float:
    code = compile_llvm(_arithmetic(lanes, each))
    run = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(code.address)
    outs = [np.zeros(lanes) for _ in range(count)]
    seconds = _best([lambda out=out: run(out.ctypes.data, _TURNS) for out in outs])
    return count * _TURNS * _CHAINS * lanes * each / seconds


def _bytes_a_second(count: int, size: int) -> float:
    code = compile_llvm(_TRIAD)
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)(code.address)
    each = max(size // count, _SMALL) if size == _LARGE else size
    turns = 1 if size == _LARGE else 4000
    arrays = [[np.ones(each) for _ in range(3)] for _ in range(count)]

    def work(three: list[np.ndarray]) -> None:
        run(*(a.ctypes.data for a in three), each, turns)

    seconds = _best([lambda three=three: work(three) for three in arrays])
    return count * turns * each * 24 / seconds


def _best(works: list[Callable[[], object]]) -> float:
    """Seconds that these pieces of work take at once, the best of some repeats."""
    best = float("inf")
    for _ in range(_REPEATS):
        threads = [threading.Thread(target=w, daemon=True) for w in works[1:]]
        start = time.perf_counter()
        for t in threads:
            t.start()
        works[0]()
        for t in threads:
            t.join()
        best = min(best, time.perf_counter() - start)
    return best
