"""Stencils that Numba compiled are followed, and give what Numba's code gives."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest

import tracejit as tj

A = np.arange(1.0, 13).reshape(3, 4) ** 2


@numba.stencil
def around(a: Any) -> Any:
    return 0.25 * (a[0, 1] + a[1, 0] + a[0, -1] + a[-1, 0])


@numba.stencil(cval=3.0)
def both(a: Any, b: Any, w: Any) -> Any:
    return a[-1] * w + b[1]


@numba.stencil(neighborhood=((-2, 0),))
def running(a: Any) -> Any:
    c = 0.0
    for i in range(-2, 1):
        c += a[i]
    return c / 3


@numba.stencil(standard_indexing=("w",))
def weighted(a: Any, w: Any) -> Any:
    return (a[-1] * w[0] + a[0] * w[1]) / a[1]


CASES: list[tuple[Any, tuple[Any, ...]]] = [
    (lambda x: around(x), (A,)),
    (lambda x: around(x), (A[:2],)),
    (lambda x, y, w: both(x, y, w), (A[0], A[1], 2.0)),
    (lambda x: running(x), (A[0],)),
    (lambda x, w: weighted(x, w), (A.ravel(), A[0])),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("n", range(len(CASES)))
def test_stencils_are_loops(n: int) -> None:
    f, args = CASES[n]
    got, want = tj.jit(f, fallback=False)(*args), f(*args)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-14)


def test_into_an_array() -> None:
    def f(x: Any) -> Any:
        out = np.ones_like(x)
        around(x, out=out)
        return out

    np.testing.assert_allclose(tj.jit(f, fallback=False)(A), f(A))


def test_derivatives_of_stencils() -> None:
    tj.test_util.check_grads(lambda x: (around(x) ** 2).sum(), (A / 10,), order=1)
    lanes = tj.vmap(lambda x: around(x))(np.stack([A, 2 * A]))
    np.testing.assert_allclose(lanes[1], 2 * around(A))


def test_what_is_not_followed() -> None:
    with pytest.raises(tj.errors.UnfollowedError, match="float64"):
        tj.jit(lambda x: around(x), fallback=False)(A.astype(np.float32))
    with pytest.raises(ZeroDivisionError):
        tj.jit(lambda x, w: weighted(x, w), fallback=True)(0 * A.ravel(), A[0])
