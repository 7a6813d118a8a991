"""Initialisers: shapes, dtypes, moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import random
from tracejit.errors import ShapeError
from tracejit.nn import initializers as init

KEY = random.key(0)


@pytest.mark.parametrize(
    ("make", "std"),
    [
        (init.glorot_uniform(), np.sqrt(2 / 300)),
        (init.glorot_normal(), np.sqrt(2 / 300)),
        (init.lecun_normal(), np.sqrt(1 / 100)),
        (init.lecun_uniform(), np.sqrt(1 / 100)),
        (init.he_normal(), np.sqrt(2 / 100)),
        (init.he_uniform(), np.sqrt(2 / 100)),
        (init.normal(0.3), 0.3),
        (init.uniform(0.3), 0.3 / np.sqrt(12)),
        (init.truncated_normal(0.3), 0.3 * 0.87962566103423978),
        (init.variance_scaling(1.0, "fan_out", "normal"), np.sqrt(1 / 200)),
    ],
)
def test_the_spread_is_right(make: Any, std: float) -> None:
    w = make(KEY, (100, 200))
    assert w.shape == (100, 200) and w.dtype == np.float64
    assert abs(w.std() / std - 1) < 0.02
    assert make(KEY, (4, 5), np.float32).dtype == np.float32
    np.testing.assert_allclose(tj.jit(lambda k: make(k, (4, 5)))(KEY), make(KEY, (4, 5)), rtol=1e-12)


def test_the_receptive_field_counts() -> None:
    w = init.he_normal(in_axis=-2, out_axis=-1)(KEY, (3, 3, 16, 64))
    assert abs(w.std() / np.sqrt(2 / (9 * 16)) - 1) < 0.03


@pytest.mark.parametrize(("mode", "n"), [("fan_in", 9 * 16), ("fan_out", 9 * 64), ("fan_avg", 9 * 40)])
def test_what_is_counted(mode: str, n: int) -> None:
    """The last two axes are inputs and outputs, unless others are named."""
    make = init.variance_scaling(3.0, mode, "normal")
    assert abs(make(KEY, (3, 3, 16, 64)).std() / np.sqrt(3 / n) - 1) < 0.03
    make = init.variance_scaling(3.0, mode, "uniform", in_axis=0, out_axis=3, batch_axis=1)
    assert abs(make(KEY, (16, 5, 9, 64)).std() / np.sqrt(3 / n) - 1) < 0.03


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6), (2, 3, 4)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    w = init.orthogonal()(KEY, shape).reshape(-1, shape[-1])
    gram = w.T @ w if w.shape[0] >= w.shape[1] else w @ w.T
    assert np.allclose(gram, np.eye(len(gram)), atol=1e-12)


def test_constants() -> None:
    assert np.all(init.zeros(KEY, (2, 3)) == 0) and np.all(init.ones(KEY, (2,), np.float32) == 1)
    assert np.all(init.constant(3)(KEY, (2, 2)) == 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: init.he_normal()(KEY, (3,)),
        lambda: init.orthogonal()(KEY, (3,)),
        lambda: init.variance_scaling(1, "fan", "normal"),
        lambda: init.variance_scaling(1, "fan_in", "cauchy"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any) -> None:
    with pytest.raises(ShapeError):
        call()
