"""np.r_ and np.c_ of traced arrays; what joins and multiplies numbers and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ArgumentError


def test_r_and_c() -> None:
    a, m = np.arange(1.0, 4.0), np.ones((3, 2))
    for f in (
        lambda a, m: np.r_[a, 1.0, a[0], 0:3],
        lambda a, m: np.r_[m, m],
        lambda a, m: np.c_[a, m, a],
        lambda a, m: np.c_[a],
    ):
        np.testing.assert_array_equal(tj.jit(f)(a, m), f(a, m), strict=True)
    np.testing.assert_array_equal(tj.grad(lambda a: np.r_[a, a[0] ** 2].sum())(a), [3.0, 1.0, 1.0])
    with pytest.raises(ArgumentError):
        tj.jit(lambda a: np.r_["0,2", a, a])(a)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.dot(a, np.ones(2, np.float32)),
        lambda a: np.inner(np.float32(2), a),
        lambda a: np.append(np.ones(2, np.float32), a),
        lambda a: np.concatenate([a, np.ones(2, np.float32)], None),
        lambda a: np.union1d(a, np.ones(2, np.float32)),
        lambda a: np.cumulative_sum(a, include_initial=True),
    ],
)
def test_numbers_of_python_beside_arrays(f: Any) -> None:
    """In products and `append` they are arrays of float64, joined with arrays they take their dtype."""
    for a in (2.5, 3, np.float64(2.5)):
        got, want = tj.jit(f)(a), f(a)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("f", [np.diag, np.tril, np.triu, lambda a: np.hstack(np.ones(0) * a)])
def test_what_has_too_few_axes(f: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as plain:
        f(1.5)
    with pytest.raises(plain.type):
        tj.jit(lambda a: f(a))(1.5)
