"""What loops stack for loops lies in records, and is what it was."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tracejit import lax


def blocks(f: Any, *args: Any) -> int:
    """How many blocks of records the program of `f` has."""
    text = tj.jit(f).lower(*args).as_text("loops")
    return len(re.findall(r"^ *rows\d+ = ", text, re.MULTILINE))


def chain(n: int, count: int, unroll: bool = False) -> Any:
    """A loop over `count` numbers, each step mixing neighbours."""

    def step(c: Any) -> Any:
        return tuple(0.3 * np.sin(a) * b + 0.5 * a + 0.2 for a, b in zip(c, (*c[1:], c[0]), strict=True))

    def loss(*c: Any) -> Any:
        if unroll:
            for _ in range(n):
                c = step(c)
            return sum(c)
        return sum(lax.fori_loop(0, n, lambda _, c: step(c), c))

    return tj.value_and_grad(loss, argnums=tuple(range(count)))


@pytest.mark.sample(2)
@pytest.mark.parametrize(("count", "n", "wanted"), [(1, 9, 1), (4, 100, 1), (12, 50, 1), (40, 70, 2)])
def test_numbers_of_a_step_are_one_record(count: int, n: int, wanted: int) -> None:
    """As many as have offsets that are constants."""
    args = tuple(np.random.default_rng(count).uniform(0.1, 1, count).tolist())
    assert blocks(chain(n, count), *args) >= wanted
    assert blocks(chain(n, count), *args) <= 3 * wanted
    got, want = tj.jit(chain(n, count))(*args), chain(n, count, unroll=True)(*args)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-11)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-9, atol=1e-15)


@settings(max_examples=8, deadline=None)
@given(
    n=st.sampled_from([0, 5, 7, 30]),
    shapes=st.lists(st.sampled_from([(), (2,), (3, 2), (17,)]), min_size=1, max_size=4),
    dtypes=st.lists(st.sampled_from([np.float64, np.float32]), min_size=4, max_size=4),
    reverse=st.booleans(),
    stacked=st.booleans(),
    nested=st.booleans(),
    seed=st.integers(0, 99),
)
def test_gradients_are_those_of_python_loops(n, shapes, dtypes, reverse, stacked, nested, seed) -> None:
    rng = np.random.default_rng(seed)
    start = [rng.uniform(0.2, 1, s).astype(d) for s, d in zip(shapes, dtypes, strict=False)]
    xs = rng.uniform(0.2, 1, n)

    def step(c: Any, x: Any) -> Any:
        total = sum(np.sum(a).astype(np.float64) for a in c) * 0.1
        if nested:
            total, extra = lax.scan(
                lambda t, k: (0.3 * np.sin(t) * x + 0.1 * k, t * t), total, np.arange(3.0)
            )
            total = 0.1 * (total + np.sum(extra))
        new = [(0.3 * np.sin(a) * total + 0.3 * np.cos(a) * x).astype(a.dtype) for a in c]
        return new, total * x

    def looped(c: Any, xs: Any) -> Any:
        c, ys = lax.scan(step, c, xs, reverse=reverse)
        return sum(np.sum(a) for a in c) + (np.sum(ys * ys) if stacked else 0.0)

    def unrolled(c: Any, xs: Any) -> Any:
        total = 0.0
        for k in range(n - 1, -1, -1) if reverse else range(n):
            c, y = step(c, xs[k])
            total = total + y * y
        return sum(np.sum(a) for a in c) + (total if stacked else 0.0)

    got = tj.jit(tj.grad(looped, argnums=(0, 1)))(start, xs)
    want = tj.grad(unrolled, argnums=(0, 1))(start, xs)
    for a, b in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        np.testing.assert_allclose(
            a, b, rtol=2e-4 if np.float32 in dtypes[: len(shapes)] else 1e-9, atol=1e-5
        )


def test_what_others_read_is_an_array() -> None:
    """Results of the program, and what a loop without carries or a sum reads."""

    def stacked(c: Any, d: Any) -> Any:
        return lax.scan(lambda c, _: ((c[0] * 0.5, c[1] + c[0]), c), (c, d), length=100)

    def summed(c: Any, d: Any) -> Any:
        return [np.sum(y) for y in stacked(c, d)[1]]

    def mapped(c: Any, d: Any) -> Any:
        return lax.map(lambda y: np.sin(y[0]) * y[1], stacked(c, d)[1])

    for f in (stacked, summed, mapped):
        assert blocks(f, 1.0, 2.0) == 0
        for got, want in zip(tj.tree.leaves(tj.jit(f)(1.0, 2.0)), tj.tree.leaves(f(1.0, 2.0)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-14)


def test_another_length_is_the_same_code() -> None:
    """The fields' offsets are constants, the number of records is none."""
    texts = {tj.jit(chain(n, 4)).lower(1.0, 2.0, 3.0, 4.0).as_text("llvm") for n in (2000, 3000)}
    assert len({re.sub(r"^ *;.*\n", "", t, flags=re.MULTILINE) for t in texts}) == 1
