"""Running reductions: where they begin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.running import check, native, trace
from tracejit import ops


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_cumulative_starts_with_the_element_itself(axis, reverse):
    (zeros,) = native(
        trace(lambda x: ops.cumulative.cumsum(x, axis=axis, reverse=reverse), np.zeros((2, 2))),
        np.full((2, 2), -0.0),
    )
    assert np.signbit(zeros).all()
    z = np.full((2, 2), complex(np.inf, 0.0))
    with np.errstate(all="ignore"):
        check(lambda x: ops.cumulative.cumprod(x, axis=axis, reverse=reverse), z)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("f", [lambda x: np.tanh(np.exp(x)), lambda x: 2 * x + 1])
def test_costly_elements_are_computed_in_vectors(f: Any, axis: int) -> None:
    """A running sum along the last axis takes one element after the other: it should do nothing else."""
    x = np.random.default_rng(0).standard_normal((70, 90))
    g = lambda x: np.cumsum(f(x), axis=axis)
    np.testing.assert_allclose(tj.jit(g)(x), g(x), rtol=1e-12, atol=1e-12)
    text = tj.jit(g).lower(x).as_text("loops")
    costly = "tanh(" in text
    assert ("arena(" in text) == (costly and axis == 1)
    if costly:
        before = text[: text.index("tanh(")].splitlines()
        assert "# vector" in next(line for line in reversed(before) if "for " in line)
