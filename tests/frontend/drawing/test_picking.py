"""Choices and shuffles of traced arrays and lists."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tracejit as tj
from tests.control.generators.tables import pcg, same, state
from tracejit.errors import RandomStateError


def test_choices_and_permutations_of_arrays() -> None:
    def f(rng, x, m):
        weights = x / x.sum()
        shuffled, rows = x.copy(), m.copy()
        rng.shuffle(shuffled)
        rng.shuffle(rows, axis=1)
        return (
            rng.choice(x),
            rng.choice(x, 3, replace=False),
            rng.choice(x, (2, 2), p=weights),
            rng.choice(m, 2, axis=1),
            rng.choice(m),
            rng.permutation(x),
            rng.permutation(m, axis=1),
            rng.permuted(m, axis=0),
            (shuffled, rows),
        )

    x, m = np.arange(1.0, 6.0), np.arange(12).reshape(3, 4)
    ours, theirs, g = pcg(3), pcg(3), tj.jit(f, fallback=False)
    for _ in range(3):
        for n, (got, want) in enumerate(zip(g(ours, x, m), f(theirs, x, m), strict=True)):
            assert same(got, want), n
    assert state(ours) == state(theirs)


@pytest.mark.parametrize("axis", (0, 1, 2, -2))
@pytest.mark.parametrize("order", "CF")
def test_permutations_along_an_axis_lie_in_memory_as_numpys(axis: int, order: str) -> None:
    def f(rng, x):
        return rng.permutation(x, axis=axis)

    x = np.array(np.arange(24.0).reshape(2, 3, 4), order=order)
    got, want = tj.jit(f, fallback=False)(pcg(3), x), f(pcg(3), x)
    assert got.tolist() == want.tolist() and got.strides == want.strides


@pytest.mark.parametrize("make", [pcg, np.random.RandomState])
def test_shuffles_are_permutations_of_any_length(make) -> None:
    """The program shuffles by positions: as NumPy, which shuffles arrays of one axis in their memory."""
    for n in (1, 2, 3, 33, 1000):
        ours, theirs, x = make(n), make(n), np.arange(n) * 1.5

        def f(rng, x):
            y = x.copy()
            rng.shuffle(y)
            return y, rng.permutation(x), rng.permutation(x.reshape(-1, 1))

        assert same(tj.jit(f, fallback=False)(ours, x), f(theirs, x)) and state(ours) == state(theirs)


def test_an_argument_is_shuffled_in_place() -> None:
    ours, theirs, a, b = pcg(1), pcg(1), np.arange(9.0), np.arange(9.0)
    view = a[::2]
    tj.jit(lambda rng, x: rng.shuffle(x[::2]), fallback=False)(ours, a)
    theirs.shuffle(b[::2])
    assert a.tolist() == b.tolist() and view.tolist() == b[::2].tolist()


def test_lists_of_numbers() -> None:
    def f(rng, x):
        mixed = [x, 2 * x, 3 * x]
        order = [0, 1, 2, 3]
        rng.shuffle(mixed)
        rng.shuffle(order)
        return mixed, order, rng.choice([x, x + 1]), rng.sample([1, 2, 3], 2), rng.choices(range(5, 9), k=3)

    ours, theirs, g = random.Random(1), random.Random(1), tj.jit(f, fallback=False)
    for x in (1.5, 2.5):
        assert same(g(ours, x), f(theirs, x))
    assert state(ours) == state(theirs)


def test_lists_of_other_things_are_refused() -> None:
    for xs in ([1, 2.0], ["a", "b"], [None, 1]):
        with pytest.raises(RandomStateError):
            tj.jit(lambda rng, x, xs=xs: rng.choice(xs) and x, fallback=False)(random.Random(0), 1.0)


def test_derivatives_go_through_the_elements_taken() -> None:
    def f(x, rng):
        y = rng.permutation(x)
        return (y * np.arange(5)).sum() + rng.choice(x) * 10

    order, place = (lambda r: (r.permutation(5), r.choice(5)))(pcg(4))
    want = np.argsort(order) + 10.0 * (np.arange(5) == place)
    assert np.allclose(tj.jit(tj.grad(f), fallback=False)(np.arange(5.0), pcg(4)), want)
