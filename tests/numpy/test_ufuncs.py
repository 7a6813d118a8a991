"""Ufuncs of traced arrays: what is theirs beyond values (tests/numpy/test_ufuncs_grid.py has those)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
import tracejit.numpy as tnp
from tracejit.errors import UnsupportedFunctionError


def test_the_namespace_has_every_ufunc() -> None:
    for name, ufunc in vars(np).items():
        if isinstance(ufunc, np.ufunc):
            assert ufunc in tnp.NUMPY_TO_TRACEJIT, name


def test_plain_operands_are_numpys() -> None:
    assert isinstance(tnp.add(np.ones(2), 1), np.ndarray)
    assert tnp.add.reduce(np.ones(3)) == 3.0
    assert tnp.add.outer([1, 2], [3]).tolist() == [[4], [5]]
    assert tnp.subtract.accumulate([3, 1]).tolist() == [3, 2]
    assert tnp.add.reduceat([1, 2, 3], [0, 2]).tolist() == [3, 3]
    x = np.zeros(2)
    tnp.add.at(x, [0, 0], 1.0)
    assert x.tolist() == [2.0, 0.0]
    assert tnp.add.identity == 0 and "add" in repr(tnp.add)


def test_made_ufuncs_are_refused() -> None:
    with pytest.raises(UnsupportedFunctionError):
        tj.jit(lambda x: np.frompyfunc(lambda v: v, 1, 1)(x))(np.ones(3))


@pytest.mark.parametrize("name", ["power", "pow", "float_power"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex128, np.int64])
def test_a_scalar_exponent_of_one_half(name: str, dtype: Any) -> None:
    """NumPy takes a square root, but of float16 and complex numbers: the sign of zero and -inf tell."""
    f = getattr(np, name)
    x = np.array([4, 9, 0] if dtype in (np.int64, np.complex128) else [4, 0.0, -0.0, np.inf, -np.inf, -2])
    x = x.astype(dtype)
    for y in (0.5, dtype(0.5)) if dtype is not np.int64 else (0.5,):
        with np.errstate(all="ignore"):
            want, got = f(x, y), tj.jit(lambda x, y=y: f(x, y))(x)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-14)
        if dtype is not np.complex128:
            np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "int8", "int32"])
@pytest.mark.parametrize("number", [-300, 2**40])
def test_traced_numbers_of_python_are_compared_with_integers_that_do_not_hold_them(
    dtype: str, number: int
) -> None:
    x = np.array([1, 100, np.iinfo(dtype).max], dtype)

    def f(x: Any, n: Any) -> Any:
        return x == n, n == x, x < n, n < x, x >= n, x != n

    inside = tj.lax.fori_loop(number, number + 1, lambda n, _: f(x, n), (x == x,) * 6)
    for got, want in zip(inside, f(x, number), strict=True):
        np.testing.assert_array_equal(got, want)
