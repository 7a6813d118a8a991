"""Arrays inside of jaxprs."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.ops.creation.constant import Held, constant, constant_op
from tracejit.tracing import to_raw, wrap


@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3)[:, ::-1], np.zeros((0, 2), np.int8), np.array(3)]
)
def test_evaluated_it_is_the_array(array: np.ndarray) -> None:
    np.testing.assert_array_equal(constant(array), array)
    assert constant_op.type(value=Held(array)).shape == array.shape


def test_held_arrays_are_equal_by_identity() -> None:
    a, b = np.ones(2), np.ones(2)
    assert Held(a) == Held(a)
    assert hash(Held(a)) == hash(Held(a))
    assert Held(a) != Held(b)
    assert repr(Held(a)) == "<f64[2]>"


def test_staged_it_is_a_constant_of_the_program() -> None:
    held = np.arange(3.0)
    text = str(tj.make_jaxpr(lambda x: x * wrap(constant(to_raw(held))))(np.ones(3)))
    assert "= constant" not in text
