"""NumPy's distributions by their addresses."""

from __future__ import annotations

import ctypes

import numpy as np

from tracejit.interpreters.generators import handle_of
from tracejit.lowering.runtime import draws, routines


def test_a_distribution_is_that_of_numpy() -> None:
    rng, other = np.random.default_rng(4), np.random.default_rng(4)
    address = draws.address("random_standard_normal")
    draw = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(address)
    assert [draw(int(handle_of(rng)[1])) for _ in range(50)] == [other.standard_normal() for _ in range(50)]


def test_what_is_not_there_has_no_address() -> None:
    assert draws.address("random_of_no_kind") == 0
    assert not routines.is_there("random:random_of_no_kind") and routines.is_there("random:random_gamma")
    assert routines.address("random:random_gamma") == draws.address("random_gamma") != 0
