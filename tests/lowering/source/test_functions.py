"""The vector functions of printed files have the bits of the LLVM target, edge values and huge arguments included."""

from __future__ import annotations

import numpy as np
import pytest

from tests.lowering.printing import by_llvm, by_numba, same_bits
from tracejit.ir.avals import Aval
from tracejit.lowering.llvm import vecmath
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.lowered import Lowered

EDGES = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -1e-310,
    1.0,
    -1.0,
    1e300,
    -1e18,
    1e22,
    3e5,
    -2.5,
    1e-20,
    0.97,
]
FEW = [("sin", 8), ("erf", 4)]
REST = [(n, s) for n in sorted(vecmath.FUNCTIONS) for s in (8, 4) if (n, s) not in FEW]


def numbers(size: int, arity: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    xs = np.concatenate([EDGES, rng.normal(size=30) * 10.0 ** rng.integers(-8, 40, 30)])
    with np.errstate(over="ignore"):
        return [np.roll(xs, 7 * n).astype(f"f{size}") for n in range(arity)]


def calling(names: list[tuple[str, int]]) -> None:
    """A loop that calls each of the functions, by both targets."""
    xs = {size: numbers(size, 3) for size in (4, 8)}
    ins, k = [*xs[4], *xs[8]], Builder("calling")
    count = ins[0].size
    buffers = [k.buffer(f"x{n}", x.dtype, count, "arg", n) for n, x in enumerate(ins)]
    outs = [
        k.buffer(f"y{n}", np.dtype(f"f{size}"), count, "arg", len(ins) + n)
        for n, (_, size) in enumerate(names)
    ]
    with k.loop(0, count, vector=True) as i:
        for out, (name, size) in zip(outs, names, strict=True):
            given = buffers[: len(xs[4])] if size == 4 else buffers[len(xs[4]) :]
            k.store(out, i, k.math(name, *(k.load(b, i) for b in given[: vecmath.FUNCTIONS[name][1]])))
    avals = [Aval((count,), b.dtype) for b in buffers]
    results = [Aval((count,), b.dtype) for b in outs]
    lowered = Lowered(k.program, avals, [(1,)] * len(avals), results, [(count,)] * len(outs), {})
    same_bits(by_numba(lowered)(*ins), by_llvm(lowered)(*ins))


def test_some() -> None:
    calling(FEW)


@pytest.mark.exhaustive
@pytest.mark.parametrize("start", range(0, len(REST), 8))
def test_all(start: int) -> None:
    calling(REST[start : start + 8])
