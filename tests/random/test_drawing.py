"""Large draws are compiled, and are the same numbers."""

from __future__ import annotations

import numpy as np

from tracejit import random

N = 20000
# A correct sampler fails each of these with probability 1e-6; the seeds are fixed.
LEVEL = 1e-6


def test_large_draws_are_the_same_numbers_compiled() -> None:
    key = random.key(4)
    small = random.normal(key, (100,))
    np.testing.assert_allclose(random.normal(key, (10000,))[:100], small, rtol=1e-13)
    assert random.uniform(key, (100, 100), minval=np.zeros(100), maxval=2.0).shape == (100, 100)


def test_nothing_is_drawn_of_an_empty_shape() -> None:
    assert random.normal(random.key(10), (0, 3)).shape == (0, 3)
