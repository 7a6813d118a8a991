"""The vector functions on AVX2, AVX-512 and NEON: packed code in the main loops, and no scalar function called."""

from __future__ import annotations

import functools
import re
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from benchmarks.accuracy.bounds import ROWS
from tests.lowering.native import call, pointwise
from tracejit.lowering.llvm import cpu
from tracejit.lowering.llvm.vecmath import FUNCTIONS, definitions, library
from tracejit.lowering.runtime import compile

#: name -> (triple, processor, bits, a packed multiply-add on whole vectors, what takes vectors apart)
_X86 = r"\bv(pextr|pinsr|extractp|insertps|cvtsi2s|cvttsd|divs|sqrts|fmadd\d+s|muls|adds)[a-z]*\s"
TARGETS = {
    "AVX-512": ("x86_64-unknown-linux-gnu", "x86-64-v4", 512, r"vfn?m(add|sub)\d+p[sd]\s.*zmm", _X86),
    "AVX2": ("x86_64-unknown-linux-gnu", "x86-64-v3", 256, r"vfn?m(add|sub)\d+p[sd]\s.*ymm", _X86),
    "NEON": (
        "aarch64-unknown-linux-gnu",
        "neoverse-n1",
        128,
        r"fml[as]\s+v\d+\.[24][ds]",
        r"\b(fmadd|scvtf\s+[ds]\d)",
    ),
}

#: Those of the table of bounds; the other special functions are made of the same parts.
NAMES = sorted({r.name for r in ROWS} & set(FUNCTIONS))


@functools.cache
def machine(triple: str, processor: str) -> Any:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError:
        return None
    return target.create_target_machine(cpu=processor, features="", opt=3, reloc="pic", codemodel="default")


def blocks(assembly: str) -> list[list[str]]:
    """Basic blocks: instructions between labels."""
    parts = re.split(r"^[.\w$\"]+:.*$", assembly, flags=re.MULTILINE)
    lines = [[line for line in p.splitlines() if re.match(r"\t\w", line)] for p in parts]
    return [[line.strip() for line in block] for block in lines]


def count(pattern: str, lines: list[str]) -> int:
    return sum(re.match(pattern, line) is not None for line in lines)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sample(40)
def test_main_loops_are_packed(monkeypatch: Any, target: str, name: str) -> None:
    triple, processor, bits, packed, apart = TARGETS[target]
    other = machine(triple, processor)
    if other is None:
        pytest.skip(f"this LLVM has no {triple}")
    monkeypatch.setattr(cpu, "vector_bits", lambda: bits)
    monkeypatch.setattr(compile, "_machine", lambda **_: other)
    for dtype in (np.float64, np.float32):
        text = cpu.emit(pointwise(lambda k, *xs: k.math(name, *xs), [dtype] * FUNCTIONS[name][1], dtype))
        assembly = other.emit_assembly(compile._optimized(text))
        for needed in library.needed(text):  # a long function is there, out of line
            assembly += other.emit_assembly(compile._optimized(definitions(needed)))
        called = set(re.findall(r"^\s+(?:callq?|bl)\s+\"?([\w.@]+)", assembly, re.MULTILINE))
        assert all(c.startswith("tj.") for c in called), called
        main = max(blocks(assembly), key=lambda b: count(packed, b))
        assert count(packed, main) >= 3, dtype
        assert [line for line in main if re.match(apart, line)] == []


def arguments(name: str, dtype: Any, n: int) -> list[np.ndarray]:
    """Ordinary numbers with rare ones among them."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=n) * 10.0 ** rng.integers(-6, 6, n)
    x[rng.integers(0, n, n // 4)] = rng.choice(
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e30, -1.0, 1.0], n // 4
    )
    return [rng.permutation(x).astype(dtype) for _ in range(FUNCTIONS[name][1])]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(9)
def test_the_same_bits_at_every_position(name: str, dtype: Any) -> None:
    """In whole vectors, their halves and ends, and alone."""
    xs = arguments(name, dtype, 61)

    code = compile.compile_llvm(cpu.emit(pointwise(lambda k, *a: k.math(name, *a), [dtype] * len(xs), dtype)))

    def values(start: int, stop: int) -> np.ndarray:
        out = np.empty(stop - start, dtype)
        call(code, [*(x[start:stop] for x in xs), out], (out.size,))
        return out

    whole = values(0, 61)
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    plain = ~np.isnan(whole)
    for start, stop in [(i, i + 1) for i in range(61)] + [(3, 20), (1, 14), (5, 12), (0, 3)]:
        part, keep = values(start, stop), plain[start:stop]
        np.testing.assert_array_equal(np.isnan(part), ~keep)
        np.testing.assert_array_equal(part[keep].view(unsigned), whole[start:stop][keep].view(unsigned))
