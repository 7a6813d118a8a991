"""Numbers that are Python's or NumPy's by their values, against Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import NumberError


def chosen(x: Any) -> Any:
    return max(0, x[0])


def summed(x: Any) -> Any:
    out = np.zeros(len(x))
    for i in range(len(x)):
        s = 0
        for j in range(i):
            s += x[j]
        out[i] = max(x[i] - s, 0.0)
    return out


def test_the_class_is_pythons_where_the_value_is():
    jitted = tj.jit(chosen, fallback=True)
    for x in (np.array([2.0]), np.array([-2.0])):
        assert type(jitted(x)) is type(chosen(x)) and jitted(x) == chosen(x)
    with pytest.raises(NumberError):
        tj.jit(chosen)(np.array([-2.0]))


def test_nothing_is_checked_where_it_is_all_the_same():
    jitted = tj.jit(summed)
    for x in (np.arange(4.0), -np.arange(3.0)):
        assert jitted(x).tolist() == summed(x).tolist()
    assert "fail" not in jitted.lower(np.arange(4.0)).compile().as_text("loops")


def test_lanes_do_not_ask():
    x = np.array([[2.0], [-2.0]])
    assert tj.jit(tj.vmap(chosen))(x).tolist() == [2, 0]
    assert tj.vmap(tj.jit(chosen))(x).tolist() == [2, 0]
