"""States of generators as values of programs."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import RandomStateError


def test_a_state_is_set_again_natively() -> None:
    rng, plain = np.random.default_rng(1), np.random.default_rng(1)

    @tj.jit
    def f(x):
        state = rng.bit_generator.state
        a = rng.normal(size=3)
        rng.bit_generator.state = state
        return x * a, rng.normal(size=3)

    for _ in range(3):
        a, b = f(1.0)
        assert np.array_equal(a, b) and np.array_equal(b, plain.normal(size=3))
    assert f.trace_count == 1 and rng.bit_generator.state == plain.bit_generator.state


def test_a_call_that_python_does_over_draws_from_where_it_began() -> None:
    rng, plain = np.random.default_rng(1), np.random.default_rng(1)

    @tj.jit(fallback=True)
    def f(x, n):
        state = rng.bit_generator.state
        rng.random(5)
        rng.bit_generator.state = state
        return rng.random() * x, 2**n  # an integer beyond 64 bits

    for n in (3, 100, 4):
        assert f(1.0, n) == (plain.random(), 2**n)
        assert rng.bit_generator.state == plain.bit_generator.state


LOOKS = [lambda s: s[0], lambda s: s == s, repr, hash, lambda s: s.x, bool, lambda s: isinstance(s, tuple)]


@pytest.mark.parametrize("look", LOOKS)
def test_nobody_looks_into_a_state(look) -> None:
    numbers = np.random.RandomState(1)

    @tj.jit
    def f(x):
        look(numbers.get_state())
        return x

    with pytest.raises(RandomStateError, match="state"):
        f(1.0)


def test_a_state_of_other_classes_is_refused() -> None:
    one, two = np.random.default_rng(1), np.random.Generator(np.random.MT19937(1))

    @tj.jit
    def f(x):
        one.bit_generator.state = two.bit_generator.state
        return x

    with pytest.raises(RandomStateError, match="has asked for"):
        f(1.0)


def test_a_state_of_the_largest_words_has_room() -> None:
    numbers = random.Random(1)

    @tj.jit(fallback=False)
    def f(x):
        state = numbers.getstate()
        first = numbers.random()
        numbers.setstate(state)
        return x * first, numbers.random() == first

    f(1.0)
    numbers.setstate((3, (2**32 - 1,) * 624 + (1,), None))
    same = random.Random()
    same.setstate(numbers.getstate())
    assert f(1.0) == (same.random(), True)
    assert numbers.getstate() == same.getstate()
