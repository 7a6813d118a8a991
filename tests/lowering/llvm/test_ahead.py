"""Prefetches in loops over arrays that no cache holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.lowering.llvm import ahead, streams

CALL = "call void @llvm.prefetch"


@pytest.fixture
def small_cache(monkeypatch: pytest.MonkeyPatch) -> int:
    """Loops are large from this many bytes."""
    least = 1 << 16
    monkeypatch.setattr(streams, "least", lambda: least)
    monkeypatch.setattr(ahead, "least", lambda: least)
    return least


def code(f: Any, *args: Any) -> str:
    return tj.jit(f).lower(*args).compile().as_text()


def test_loops_that_compute_much_for_a_line(small_cache: int) -> None:
    x = np.linspace(-3, 3, small_cache)
    assert CALL in code(np.exp, x)
    assert CALL in code(lambda x: np.exp(x).sum(), x)
    assert CALL in code(np.exp, x.astype(np.float32))


def test_others_are_left_alone(small_cache: int) -> None:
    x = np.linspace(-3, 3, small_cache)
    assert CALL not in code(lambda x: 2 * x + 1, x)
    assert CALL not in code(np.exp, x[: small_cache // 32])


@pytest.mark.parametrize("more", [0, 1, 77])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_are_the_same(small_cache: int, dtype: Any, more: int) -> None:
    """Past the ends of arrays too, where nothing is mapped."""
    x = np.linspace(-3, 3, small_cache + more).astype(dtype)
    f = tj.jit(lambda x: np.exp(x) * np.sin(x))
    np.testing.assert_array_equal(f(x), np.concatenate([f(x[:999]), f(x[999:])]))


BODY = """define void @f(ptr %x, ptr %y) {{
vector.ph:
  br label %vector.body

vector.body:                                      ; preds = %vector.body, %vector.ph
  %i = phi i64 [ 0, %vector.ph ], [ %next, %vector.body ]
  %p = getelementptr inbounds double, ptr %x, i64 %i
  %q = getelementptr inbounds nuw i8, ptr %p, i64 {offset}
  %a = load <8 x double>, ptr %p, align 8
  %b = load <8 x double>, ptr %q, align 8
{work}
  %next = add i64 %i, 16
  %end = icmp eq i64 %next, 1024
  br i1 %end, label %done, label %vector.body

done:
  ret void
}}
"""


@pytest.mark.parametrize(("offset", "work", "count"), [(64, 60, 2), (32, 60, 1), (64, 30, 0), (32, 30, 1)])
def test_one_for_every_line_with_enough_to_do(offset: int, work: int, count: int) -> None:
    lines = "\n".join(f"  %w{n} = fmul <8 x double> %a, %b" for n in range(work))
    text = BODY.format(offset=offset, work=lines)
    got = ahead.mark(text)
    assert got.count(CALL) == count
    assert got.count("declare void @llvm.prefetch") == (count > 0)
    if count:
        assert f"getelementptr i8, ptr %p, i64 {ahead.DISTANCE}" in got
    else:
        assert got == text
