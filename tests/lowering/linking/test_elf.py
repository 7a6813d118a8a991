"""Objects are linked as LLVM links them, or left to it; the processor is asked what LLVM asks it."""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys
from pathlib import Path

import pytest

import tracejit as tj
from tracejit.lowering._lazy import llvm
from tracejit.lowering.linking import elf, processor
from tracejit.lowering.runtime.compile import compile_llvm, object_of

HERE = pytest.mark.skipif(not elf.is_here(), reason="objects are linked by LLVM here")
#: Constants, variables that begin as something and as zeros, a table of functions, calls within, to another module and
#: to the process, and a jump table.
MODULE = """
@numbers = internal constant [4 x double] [double 1.0, double 2.0, double 4.0, double 8.0], align 32
@count = internal global i64 40
@room = internal global [1000 x i64] zeroinitializer, align 64
@functions = internal constant [2 x ptr] [ptr @twice, ptr @other]
@shown = global i64 7
declare i64 @other(i64)
declare ptr @memset(ptr, i32, i64)
define internal i64 @twice(i64 %x) noinline {
  %y = mul i64 %x, 2
  ret i64 %y
}
define i64 @entry(i64 %n) {
  %c = load i64, ptr @count
  %c1 = add i64 %c, 1
  store i64 %c1, ptr @count
  %p = getelementptr [4 x double], ptr @numbers, i64 0, i64 %n
  %d = load double, ptr %p
  %i = fptosi double %d to i64
  %q = getelementptr [1000 x i64], ptr @room, i64 0, i64 %n
  %m = call ptr @memset(ptr %q, i32 1, i64 8)
  %r = load i64, ptr %q
  %low = and i64 %r, 255
  %which = and i64 %n, 1
  %g = getelementptr [2 x ptr], ptr @functions, i64 0, i64 %which
  %f = load ptr, ptr %g
  %z = call i64 %f(i64 %i)
  %o = call i64 @other(i64 %c1)
  switch i64 %n, label %rest [ i64 0, label %a  i64 1, label %b  i64 2, label %c2  i64 3, label %d2 ]
a:
  br label %rest
b:
  %s = load i64, ptr @shown
  br label %rest
c2:
  %t = call i64 @twice(i64 %o)
  br label %rest
d2:
  br label %rest
rest:
  %w = phi i64 [ 0, %entry ], [ 100, %a ], [ %s, %b ], [ %t, %c2 ], [ 400, %d2 ]
  %s1 = add i64 %z, %o
  %s2 = add i64 %s1, %low
  %s3 = add i64 %s2, %w
  ret i64 %s3
}
""".replace("define i64 @entry(i64 %n) {", "define i64 @entry(i64 %n) {\nentry:")
OTHER = "define i64 @other(i64 %x) {\n  %y = add i64 %x, 1000\n  ret i64 %y\n}\ndefine i64 @entry() {\n  ret i64 0\n}\n"


def _wanted(n: int, count: int) -> int:
    number, other = 1 << n, count + 1000
    first = number + 1000 if n & 1 else 2 * number
    return first + other + 1 + [100, 7, 2 * other, 400][n]


@HERE
def test_what_an_object_may_have() -> None:
    given = {"other": compile_llvm(OTHER).symbols["other"]}
    found = elf.link(object_of(MODULE), given)
    assert found is not None
    symbols, memory = found
    assert ctypes.c_int64.from_address(symbols["shown"]).value == 7 and "twice" not in symbols
    entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(symbols["entry"])
    assert [entry(n) for n in (3, 2, 1, 0)] == [_wanted(n, 44 - n) for n in (3, 2, 1, 0)]
    del memory


@HERE
def test_what_is_left_to_llvm() -> None:
    assert elf.link(object_of(MODULE), {}) is None  # nobody has `other`
    assert elf.link(b"\xcf\xfa\xed\xfe" + bytes(100), {}) is None
    for at in (5, 18):  # the bytes in another order; another processor
        other = bytearray(object_of(OTHER))
        other[at] ^= 3
        assert elf.link(bytes(other), {}) is None
    threads = "@own = thread_local global i64 5\ndefine ptr @entry() {\n  ret ptr @own\n}\n"
    assert elf.link(object_of(threads), {}) is None


@HERE
def test_damaged_objects() -> None:
    """Nothing is run, so that whatever is linked of them does no harm; what can't be is left to LLVM."""
    image, r = object_of(OTHER), random.Random(0)
    for _ in range(300):
        changed = bytearray(image)
        changed[r.randrange(len(image))] ^= 1 << r.randrange(8)
        elf.link(bytes(changed[: r.choice([len(image), r.randrange(len(image))])]), {})


def test_without_linking_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elf, "link", lambda image, given: None)
    code = compile_llvm("define i64 @entry(i64 %x) {\n  %y = mul i64 %x, 31337\n  ret i64 %y\n}\n")
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address)(2) == 62674


@HERE
def test_the_processor() -> None:
    features = llvm.get_host_cpu_features()
    wanted = 512 if features.get("avx512f") else 256 if features.get("avx2") else 128
    words = processor.words()
    assert processor.vector_bits() == wanted and words is not None and processor.kind()
    assert processor.covers(words, words) and processor.covers(words, [0] * len(words))
    more = [w | 1 << 32 for w in words]
    assert not processor.covers(words, more)


_WARM = """
import sys
import numpy as np, tracejit as tj
slope = tj.jit(tj.grad(lambda x: np.sum(np.exp(x) * np.sort(x))))
print(slope(np.arange(4.0)).sum(), "llvmlite.binding" in sys.modules)
"""


@HERE
def test_code_from_the_disk_cache_needs_no_llvm(tmp_path: Path) -> None:
    env = {
        "PYTHONPATH": str(Path(tj.__file__).parents[1]),
        "TRACEJIT_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path),
    }
    runs = [
        subprocess.run(
            [sys.executable, "-c", _WARM], env=env, capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    (first, compiled), (second, warm) = map(str.split, runs)
    assert first == second and (compiled, warm) == ("True", "False")
