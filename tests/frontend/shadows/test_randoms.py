"""Random generators that live on outside of jitted functions."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import RandomStateError
from tracejit.frontend.shadows import randoms

RNG = np.random.default_rng(0)
METHOD = RNG.normal
HELD = {"r": np.random.Generator(np.random.MT19937(3))}


class Noise:
    def __init__(self) -> None:
        self.rng = np.random.RandomState(0)

    def __call__(self, x):
        return x + self.rng.rand(3)


def in_a_loop(x):
    for _ in range(40):
        x = x + RNG.normal(size=3)
    return x


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: x + RNG.normal(), "`RNG`"),
        (lambda x: x + METHOD(), "`METHOD"),
        (lambda x: x + HELD["r"].random(), "`HELD['r']`"),
        (lambda x, r=RNG: x + r.random(), "`r of"),
        (Noise(), "rng`"),
        (in_a_loop, "`RNG`"),
        (lambda x: x + random.random(), "`random`"),
    ],
)
def test_drawing_from_a_generator_of_outside_is_refused_and_undone(f, name: str) -> None:
    states = [randoms.state_of(g) for g in (RNG, HELD["r"])]
    with pytest.raises(RandomStateError) as e:
        tj.jit(f)(np.zeros(3))
    assert name in str(e.value)
    assert states == [randoms.state_of(g) for g in (RNG, HELD["r"])]


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
