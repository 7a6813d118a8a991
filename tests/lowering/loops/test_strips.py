"""Loops of steps over long arrays go by strips, with the same bits, where elements do not depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.lowering.loops import strips
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.memory import plan_memory

LONG = np.random.default_rng(0).random(strips.LEAST + 700)


def by_arrays(a: Any) -> Any:
    s = a
    for i in range(40):
        s = s * 0.5 + np.sin(s) * a + i
    return s


def in_place(a: Any) -> Any:
    v = np.zeros_like(a)
    for _ in range(40):
        v += 0.25 * a
        a = a - v * 0.125
    return a, v


def lanes(a: Any) -> Any:
    return tj.vmap(
        lambda x: lax.fori_loop(0, 40, lambda i, s: (s[0] + s[1] * x, s[1] - 0.1 * s[0]), (x, 1.0))[0]
    )(a)


def rows(a: Any) -> Any:
    out = np.zeros((20, len(a)))
    for t in range(20):
        out[t] = a * t
    return out


def table_is_read_anywhere(a: Any) -> Any:
    s = a * 1.0
    for _ in range(40):
        s = s * 0.5 + a[::-1]
    return s


CUT = [by_arrays, in_place, lanes, table_is_read_anywhere]


def neighbours(a: Any) -> Any:
    s = a.copy()
    for _ in range(40):
        s[1:-1] = 0.5 * s[1:-1] + 0.25 * (s[:-2] + s[2:])
    return s


def backwards(a: Any) -> Any:
    s = a
    for _ in range(40):
        s = s[::-1] * 0.5 + a
    return s


def one_element_decides(a: Any) -> Any:
    s = a
    for _ in range(40):
        s = s * 0.5 + s[3] * 0.125
    return s


def sums(a: Any) -> Any:
    s = a
    for _ in range(40):
        s = s / s.sum() + a
    return s


def read_by_place(a: Any) -> Any:
    s = a
    places = (np.arange(len(a)) * 7) % len(a)
    for _ in range(40):
        s = s * 0.5 + s[places] * 0.25
    return s


@pytest.mark.sample(4)
@pytest.mark.parametrize("f", [*CUT, rows, neighbours, backwards, one_element_decides, sums, read_by_place])
@pytest.mark.parametrize("threads", [1, 3])
def test_strips_have_the_bits_of_whole_arrays(
    f: Callable[..., Any], threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tj.config.override(num_threads=threads):
        text = tj.jit(f).lower(LONG).as_text("loops")
        cut = tj.jit(f)(LONG)
        monkeypatch.setattr(strips, "LEAST", 1 << 40)
        whole = tj.jit(lambda a: f(a))
        assert ("* 1024" in text) == (f in CUT), text
        assert "* 1024" not in whole.lower(LONG).as_text("loops")
        for x, y in zip(tj.tree.leaves(cut), tj.tree.leaves(whole(LONG)), strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("f", CUT)
def test_against_numpy(f: Callable[..., Any]) -> None:
    if f is not lanes:
        for x, y in zip(tj.tree.leaves(tj.jit(f)(LONG.copy())), tj.tree.leaves(f(LONG.copy())), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)


def test_an_argument_in_whose_memory_the_result_lies() -> None:
    f = tj.jit(by_arrays, donate_argnums=0)
    np.testing.assert_array_equal(f(LONG.copy()), tj.jit(by_arrays)(LONG))


def test_what_a_step_needs_for_itself_lies_apart() -> None:
    """Two strips may be at different places of a step, where memory of both would be the same."""
    k, n = Builder(), 2 * strips.LEAST
    x = k.buffer("x", np.dtype(np.float64), n, "arg", 0)
    narrow, wide = (
        k.buffer(name, np.dtype(d), n, "arena") for name, d in (("narrow", np.float32), ("wide", np.float64))
    )
    with k.loop(0, 5):
        for first, last in ((x, narrow), (narrow, x), (x, wide), (wide, x)):
            with k.loop(0, n, vector=True) as i:
                k.store(last, i, k.cast(k.load(first, i), last.dtype))
    steps: Any = k.program.body.stmts[0]
    homes = {narrow: steps.body, wide: steps.body}
    plan_memory(k.program, homes)
    assert narrow.slot == wide.slot == 0
    strips.cut(k.program, homes)
    plan_memory(k.program, homes)
    outer: Any = k.program.body.stmts[0]
    assert outer.independent, "it goes by strips"
    assert {narrow.slot, wide.slot} == {0, 8 * n} or {narrow.slot, wide.slot} == {0, 4 * n}
