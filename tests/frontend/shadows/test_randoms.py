"""Random generators that live on outside of jitted functions."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import RandomStateError
from tracejit.frontend.shadows import randoms

RNG = np.random.default_rng(0)
BITS = np.random.PCG64(0)


def test_drawing_from_what_is_not_followed_is_refused_and_undone() -> None:
    state = randoms.state_of(BITS)
    with pytest.raises(RandomStateError, match="`BITS` of a random generator"):
        tj.jit(lambda x: x + BITS.random_raw() % 2, fallback=False)(np.zeros(3))
    assert randoms.state_of(BITS) == state


def test_generators_that_nothing_is_drawn_from_are_no_matter() -> None:
    assert tj.jit(lambda x: x + (RNG is not None))(1.0) == 2.0


@pytest.mark.parametrize(
    "g",
    [
        np.random.default_rng(1),
        np.random.RandomState(1),
        np.random.Generator(np.random.MT19937(1)),
        np.random.Philox(1),
        random.Random(1),
    ],
    ids=lambda g: type(g).__name__,
)
def test_states_are_put_back(g) -> None:
    draw = getattr(g, "random", None) or getattr(g, "rand", None) or g.random_raw
    state = randoms.state_of(g)
    first = [draw() for _ in range(3)]
    assert randoms.state_of(g) != state
    randoms.restore(g, state)
    assert [draw() for _ in range(3)] == first
