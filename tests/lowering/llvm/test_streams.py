"""Results larger than the cache, whose stores go past it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.lowering.llvm import streams
from tracejit.lowering.runtime import results

MARK = "!nontemporal"


@pytest.fixture
def small_cache(monkeypatch: pytest.MonkeyPatch) -> int:
    """Loops are large from this many bytes: large enough for results that have our handler."""
    least = max(results.LEAST, 1 << 20)
    monkeypatch.setattr(streams, "least", lambda: least)
    return least


def code(f: Any, *args: Any) -> str:
    return f.lower(*args).compile().as_text()


@pytest.mark.sample(5)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "?"])
@pytest.mark.parametrize("more", [0, 1, 77])
def test_results_are_those_of_numpy(small_cache: int, dtype: str, more: int, threads: int) -> None:
    x = (
        np.random.default_rng(0)
        .integers(0, 2, 3 * small_cache // np.dtype(dtype).itemsize + more)
        .astype(dtype)
    )
    y = x[::-1].copy()
    f = tj.jit(lambda x, y: (x | y) if x.dtype.kind in "iub" else x * y + 1)
    with tj.config.override(num_threads=threads):
        got = f(x, y)
    np.testing.assert_array_equal(got, (x | y) if x.dtype.kind in "iub" else x * y + 1)


def test_large_results_are_streamed_and_small_ones_are_not() -> None:
    f = tj.jit(lambda x: np.sqrt(x) + 1)
    assert MARK in code(f, np.ones(streams.least() // 8))
    assert MARK not in code(f, np.ones(streams.least() // 32))


def test_what_is_read_again_is_not(small_cache: int) -> None:
    x = np.ones(small_cache)

    def in_place(x: Any) -> None:
        x += 1

    assert MARK not in code(tj.jit(in_place), x)
    assert MARK not in code(tj.jit(lambda x: x.sum()), x)
    assert MARK not in code(tj.jit(lambda x: np.cumsum(x)), x)
    tj.jit(in_place)(x)
    assert np.all(x == 2)


@pytest.mark.parametrize("outer", [1, 5])
def test_several_results(small_cache: int, outer: int) -> None:
    x = np.linspace(0, 1, small_cache + 3)
    f = tj.jit(lambda x: tuple(x * k + k for k in range(1, outer + 1)))
    assert MARK in code(f, x)
    for k, y in enumerate(f(x), 1):
        np.testing.assert_array_equal(y, x * k + k)


def test_results_that_do_not_start_at_a_line(small_cache: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that the user has set may give any address; NumPy's own large arrays start 16 bytes after a page."""
    monkeypatch.setattr(results, "LEAST", 1 << 60)
    x = np.linspace(0, 1, small_cache + 5)
    f = tj.jit(lambda x: (np.sqrt(x), x + 1))
    assert MARK in code(f, x)
    for _ in range(3):
        root, more = f(x)
        assert root.ctypes.data % streams.LINE or more.ctypes.data % streams.LINE
        np.testing.assert_array_equal(root, np.sqrt(x))
        np.testing.assert_array_equal(more, x + 1)


def test_parts_of_a_result(small_cache: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that fills a part only must leave the others as they are, wherever the result starts."""
    monkeypatch.setattr(results, "LEAST", 1 << 60)
    x = np.linspace(0, 1, small_cache)

    def f(x: Any) -> Any:
        out = np.zeros(2 * x.size)
        out[x.size :] = x * 2
        out[: x.size] = x + out.max(where=out > 1e300, initial=1.0)
        out[0] += out[x.size :].max()
        return out, np.concatenate([x * 2, x - 1])

    for g, w in zip(tj.jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(g, w)


FUNCTION = """define internal i32 @chunk0(ptr %frame) {{
  %a = load ptr, ptr %frame, align 8, !align !3
{second}  %p = getelementptr inbounds float, ptr %a, i64 %i
  %q = getelementptr inbounds nuw i8, ptr %p, i64 64
  %r = getelementptr inbounds float, ptr %c, i64 %i
  store <{n} x float> %v, ptr %q, align {align}, !alias.scope !1
  store <{n} x float> %v, ptr %r, align {align}
  store float %w, ptr %p, align 4
  ret i32 0
}}
!3 = !{{i64 64}}
"""


@pytest.mark.parametrize(
    ("n", "align", "two", "is_marked"),
    [
        (16, 64, False, True),
        (16, 64, True, True),
        (16, 4, False, False),
        (8, 32, False, True),
        (8, 32, True, False),
        (8, 64, False, True),
        (2, 64, False, False),
    ],
)
def test_whole_lines_are_marked_or_parts_of_the_only_result(
    n: int, align: int, two: bool, is_marked: bool
) -> None:
    second = "  %b = load ptr, ptr %frame, align 8, !align !3\n" if two else ""
    text = FUNCTION.format(n=n, align=align, second=second)
    got = streams.mark(text)
    assert got.count(MARK) == is_marked
    if is_marked:
        assert f"ptr %q, align {align}, {MARK} !4, !alias.scope !1" in got and "!4 = !{i32 1}" in got
    else:
        assert got == text
