"""Sums, means and moments by label, against SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import tracejit as tj

_r = np.random.default_rng(0)
IMAGE = _r.normal(size=(9, 8)) + 1
L = _r.integers(0, 4, (9, 8))
NAMES = ("sum", "sum_labels", "mean", "variance", "standard_deviation", "center_of_mass")
WAYS: list[Callable[[Any, Any], Any]] = [
    lambda f, x: f(x),
    lambda f, x: f(x, L),
    lambda f, x: f(x, L, [1, 2]),
    lambda f, x: f(x, L, 2),
    lambda f, x: f(x, L, np.array([3, 1, 3, 0, 9])),
    lambda f, x: f(x, x > 0.5),
    lambda f, x: f((x * 9).astype(int), L, [1, 2]),
    lambda f, x: f((x * 9).astype(np.int32)),
    lambda f, x: f(x > 1, L),
    lambda f, x: f(x.astype(np.float32), L, [1, 2]),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", NAMES)
def test_values(name: str) -> None:
    f = getattr(ndimage, name)
    for n, way in enumerate(WAYS):
        with np.errstate(all="ignore"):
            got, want = tj.jit(lambda x, way=way: way(f, x))(IMAGE), way(f, IMAGE)
        assert type(got) is type(want), n
        for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
            assert np.asarray(g).dtype == np.asarray(w).dtype and np.shape(g) == np.shape(w)
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12, err_msg=str(n))


def test_derivatives() -> None:
    for name in NAMES:
        f = getattr(ndimage, name)
        along = lambda t, f=f: sum(
            tj.numpy.sum(v) for v in tj.tree.leaves(f(IMAGE + t * IMAGE**2, L, [1, 2]))
        )
        near = (along(1e-6) - along(-1e-6)) / 2e-6
        np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=1e-5)
