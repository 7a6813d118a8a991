"""Programs that read where data says are known, since LLVM's SLP vectoriser is not asked for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.lowering.indirect import MARK

X, PLACES = np.arange(12.0).reshape(3, 4), np.array([2, 0, 1])


def search(x: Any, i: Any) -> Any:
    """An index that goes through a loop's carry."""
    return tj.lax.fori_loop(0, 3, lambda n, k: i[k], 0) + x[0, 0]


def carried(x: Any, i: Any) -> Any:
    return x[tj.lax.fori_loop(0, 3, lambda n, k: i[k], 0)]


@pytest.mark.parametrize("f", [
    lambda x, i: x[i], lambda x, i: x.at[i].add(1.0), carried, search, lambda x, i: np.take(x.T, i[0], axis=1),
    lambda x, i: np.bincount(i, minlength=4) + x[0],
])  # fmt: skip
def test_places_from_data(f: Any) -> None:
    assert MARK in tj.jit(f).lower(X, PLACES).as_text("source")


@pytest.mark.parametrize("f", [
    lambda x, i: x[::-1] + i[:, None], lambda x, i: np.cumsum(x @ x.T, axis=0), lambda x, i: np.roll(x, 1) * i.sum(),
    lambda x, i: tj.lax.fori_loop(0, 3, lambda n, y: y.at[n].add(x[n, 0]), x[:, 0]),
])  # fmt: skip
def test_places_from_loops(f: Any) -> None:
    assert MARK not in tj.jit(f).lower(X, PLACES).as_text("source")
