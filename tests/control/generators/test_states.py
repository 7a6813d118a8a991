"""States of generators as bytes of one size."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tracejit.control.generators.states import restore, save

KINDS = {
    **{
        b.__name__: lambda seed, b=b: np.random.Generator(b(seed))
        for b in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64)
    },
    "RandomState": np.random.RandomState,
    "Random": random.Random,
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_after_a_state_is_drawn_again(kind: str) -> None:
    x: Any = KINDS[kind](3)
    x.random()
    if kind == "RandomState":
        x.normal()  # of which it keeps a second one
    state = save(x)
    first = [x.random() for _ in range(700)]
    assert save(x).shape == state.shape == save(KINDS[kind](2**60 if kind != "RandomState" else 5)).shape
    restore(x, state)
    assert [x.random() for _ in range(700)] == first
    other: Any = KINDS[kind](9)
    restore(other, state)
    assert [other.random() for _ in range(700)] == first
