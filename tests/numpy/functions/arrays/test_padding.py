"""np.pad: all modes over all widths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ArgumentError
from tracejit.test_util import check_grads

X = np.random.default_rng(0).normal(size=(3, 4))
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("edge", {}), ("wrap", {}), ("reflect", {}), ("symmetric", {}), ("reflect", {"reflect_type": "odd"}),
    ("symmetric", {"reflect_type": "odd"}), ("maximum", {}), ("minimum", {"stat_length": 2}), ("mean", {}),
    ("median", {"stat_length": ((1, 2), (3, 9))}), ("linear_ramp", {}),
    ("linear_ramp", {"end_values": ((1.0, 2.0), (-1.0, 0.5))}), ("constant", {"constant_values": ((1, 2), (3, 4))}),
]  # fmt: skip


@pytest.mark.parametrize("mode, options", OPTIONS)
@pytest.mark.parametrize("width", [0, 1, (2, 1), ((0, 2), (3, 0)), ((7, 5), (4, 9))])
@pytest.mark.sample(20)
def test_as_numpy(mode: str, options: dict[str, Any], width: Any) -> None:
    f = lambda x: np.pad(x, width, mode, **options)
    for x in (X, (X * 10).astype(int)):
        want = f(x)
        got = tj.jit(f)(x)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(tj.vmap(f)(np.stack([X, X[::-1]]))[1], f(X[::-1]), rtol=1e-13, atol=1e-13)
    if width == 1 or width == (2, 1):
        check_grads(f, (X,), order=2)


def test_one_element_and_values_that_vary() -> None:
    for mode in ("reflect", "symmetric", "edge", "wrap", "mean"):
        f = lambda x, mode=mode: np.pad(x, 2, mode)
        np.testing.assert_array_equal(tj.jit(f)(X[:1, :1]), f(X[:1, :1]))
    check_grads(lambda x, v: np.pad(x, 1, constant_values=v), (X, np.float64(2.0)), order=2)
    check_grads(
        lambda x, v: np.pad(x, 1, constant_values=v), (X, np.array([[1.0, 2.0], [3.0, 4.0]])), order=2
    )
    check_grads(lambda x, v: np.pad(x, 2, "linear_ramp", end_values=v), (X, np.float64(2.0)), order=2)


def test_refusals() -> None:
    for f in (
        lambda x: np.pad(x, 1, "sideways"), lambda x: np.pad(x, -1), lambda x: np.pad(x, 1.5),
        lambda x: np.pad(x, 1, "edge", constant_values=2), lambda x: np.pad(x[:0], 1, "edge"),
        lambda x: np.pad(x, 1, "maximum", stat_length=0), lambda x: np.pad(x, 1, "reflect", reflect_type="no"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError):
            tj.jit(f)(X)
