"""Python's own generators by machine code."""

from __future__ import annotations

import ctypes
import random

from tracejit.interpreters.generators import state_address
from tracejit.lowering.runtime import mersenne


def test_the_numbers_and_the_state_are_those_of_python() -> None:
    ours, theirs = random.Random(4), random.Random(4)
    at = state_address(ours)
    assert at
    draw = ctypes.PYFUNCTYPE(ctypes.c_double, ctypes.c_int64)(mersenne.address("python_random"))
    below = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
        mersenne.address("python_below")
    )
    assert [draw(at) for _ in range(1000)] == [theirs.random() for _ in range(1000)]
    for n in (1, 2, 3, 7, 8, 1000, 2**31, 2**32 - 1):
        assert [below(at, n) for _ in range(20)] == [theirs.randrange(n) for _ in range(20)], n
    assert ours.getstate() == theirs.getstate()


def test_what_is_not_there_has_no_address() -> None:
    assert mersenne.address("python_of_no_kind") == 0
