"""Powers and chains of matrices."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import MatrixShapeError
from tracejit.test_util import check_grads

A = np.random.default_rng(0).normal(size=(3, 3))


@pytest.mark.sample(2)
@pytest.mark.parametrize("n", [-1, 0, 1, 2, 5])
def test_matrix_power(n: int) -> None:
    for a in (A, np.stack([A, A + 1])):
        got = tj.jit(lambda a: np.linalg.matrix_power(a, n))(a)
        np.testing.assert_allclose(got, np.linalg.matrix_power(a, n))
    check_grads(lambda a: np.linalg.matrix_power(a, n), (A,), order=2)


def test_matrix_power_refuses() -> None:
    with pytest.raises(MatrixShapeError):
        tj.jit(lambda a: np.linalg.matrix_power(a, 2))(A[:2])


def test_multi_dot() -> None:
    def f(a: np.ndarray) -> np.ndarray:
        return np.linalg.multi_dot([a[0], a, a.T, a[1]])

    np.testing.assert_allclose(tj.jit(f)(A), f(A))


def test_products_of_bfloat16_are_float32_as_numpys() -> None:
    b = np.array([[1, 2], [3, 4.5]], ml_dtypes.bfloat16)
    f = lambda b: (b @ b, b @ b[0], b[0] @ b[0], np.vecdot(b, b), np.dot(b, b))
    for got, expected in zip(tj.jit(f)(b), f(b), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(got, float), np.asarray(expected, float))


@pytest.mark.parametrize("shape", [(3,), (2, 4, 3)])
def test_cross_products_of_vectors_and_stacks(shape: tuple[int, ...]) -> None:
    x, y = np.random.default_rng(1).normal(size=(2, *shape))
    np.testing.assert_allclose(tj.jit(np.cross)(x, y), np.cross(x, y), rtol=1e-14)
    first, second = np.moveaxis(x, -1, 0), np.moveaxis(y, -1, 0)
    got = tj.jit(lambda x, y: np.cross(x, y, axisa=0, axisb=0, axisc=0))(first, second)
    np.testing.assert_allclose(got, np.cross(first, second, axisa=0, axisb=0, axisc=0), rtol=1e-14)


def test_einsum_of_lists_has_letters_for_large_numbers() -> None:
    """Labels from 26 on are capital letters."""
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    f = tj.jit(lambda x, y: np.einsum(x, [0, 26], y, [26, 25], [25, 0]))
    np.testing.assert_array_equal(f(x, y), np.einsum(x, [0, 26], y, [26, 25], [25, 0]))
