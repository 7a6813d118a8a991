"""Masked arrays in the memory of arrays of outside, in derivatives that are not compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import TracerArrayError, UnfollowedError


def _an_item(b: Any) -> None:
    np.ma.array(b, copy=False)[0] = 5


def _what_is_filled(b: Any) -> None:
    np.ma.array(b, mask=False).filled(0)[1] = 5


def _by_its_other_name(b: Any) -> None:
    np.ma.array(b, copy=False)
    b[0] = 5


@pytest.mark.parametrize("write", [_an_item, _what_is_filled, _by_its_other_name])
def test_writes_that_nobody_would_see_are_refused(write: Callable[[Any], None]) -> None:
    b = np.zeros(3)
    write(b)
    assert b.any()
    b[:] = 0

    def f(x: Any) -> Any:
        write(b)
        return x * b.sum()

    with pytest.raises((TracerArrayError, UnfollowedError)):
        tj.grad(f)(1.0)
    assert not b.any()


def test_what_is_only_read_may_lie_there() -> None:
    b = np.arange(4.0)

    def f(x: Any) -> Any:
        m = np.ma.masked_greater(b, 2)
        return (np.ma.array(b, mask=[0, 1, 0, 0]) * x).sum() + m.sum() * x

    assert tj.value_and_grad(f)(2.0) == (16.0, 8.0)
