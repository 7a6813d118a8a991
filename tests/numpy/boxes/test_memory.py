"""How arrays lie: what overlaps, and steps that are no whole elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.numpy.boxes.memory import Uneven, layout_of, overlap


def test_fields_lie_in_turns_and_do_not_overlap() -> None:
    a = np.zeros(100, [("x", "f8"), ("v", "f8"), ("id", "i4")])
    assert np.may_share_memory(a["x"], a["v"])
    assert not overlap(a["x"], a["v"]) and not overlap(a["x"][1:], a["id"][:-1])
    assert overlap(a["x"], a["x"][50:]) and not overlap(a["x"][::2], a["x"][1::2])


@pytest.mark.parametrize("index", [np.s_[:], np.s_[::2], np.s_[1, :], np.s_[:, 2]])
def test_steps_that_are_no_whole_elements_keep_what_is_contiguous(index: Any) -> None:
    """A column of a packed structure was taken for an array in C order, so that `ravel` of it was a view."""
    table = np.zeros((4, 3), [("x", "f8"), ("id", "i4")])

    def f(x: Any) -> Any:
        x.ravel()[...] = 7
        x.reshape(-1)[0] = 5
        return x.flags.c_contiguous

    a, b = table.copy(), table.copy()
    assert type(layout_of(a["x"][index])) is Uneven
    assert tj.jit(f, fallback=False)(a["x"][index]) == f(b["x"][index])
    assert np.array_equal(a, b)


def test_strides_that_are_no_whole_elements_are_not_told() -> None:
    x = np.zeros(3, [("x", "f8"), ("id", "i4")])["x"]
    with pytest.raises(tj.errors.UnknownMemberError):
        tj.jit(lambda x: x.strides, fallback=False)(x)
