"""SciPy's sparse arrays as trees: arguments of all transformations, and of `tree.map`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import tracejit as tj
from tracejit import optim
from tracejit.errors import PytreeMismatchError, UnfollowedError

_RNG = np.random.default_rng(5)
A = sp.csr_array(sp.random_array((6, 6), density=0.3, rng=_RNG) + sp.eye_array(6))
X = _RNG.standard_normal(6)
KINDS = [f"{kind}_{form}" for kind in ("csr", "csc", "coo", "bsr", "dia") for form in ("array", "matrix")]


def _energy(a: Any, x: Any) -> Any:
    return np.sum((a @ x) ** 2)


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", KINDS)
def test_gradient(kind: str) -> None:
    a = getattr(sp, kind)(A)
    places = getattr(sp, kind)(a, copy=True)
    places.data[:] = 1
    eager = tj.grad(_energy)(a, X)
    compiled = tj.jit(tj.grad(_energy), fallback=False)(a, X)
    want = 2 * np.outer(A @ X, X) * places.toarray()
    for found in (eager, compiled):
        assert type(found) is type(a) and found.data.shape == a.data.shape
        np.testing.assert_allclose(found.toarray() * places.toarray(), want, rtol=1e-12)


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", KINDS)
def test_other_transformations(kind: str) -> None:
    a = getattr(sp, kind)(A)
    value, slope = tj.jvp(_energy, (a, X), (a, X))  # of degree four
    np.testing.assert_allclose(slope, 4 * value, rtol=1e-12)
    rows = np.stack([X, 2 * X])
    np.testing.assert_allclose(
        tj.vmap(lambda m, x: m @ x, in_axes=(None, 0))(a, rows), rows @ A.T, rtol=1e-12
    )
    doubled = tj.jit(lambda m: tj.tree.map(lambda d: 2 * d, m), fallback=False)(a)
    assert type(doubled) is type(a)
    np.testing.assert_array_equal(doubled.toarray(), 2 * A.toarray())
    (hessian,) = tj.tree.leaves(
        tj.hessian(lambda d: _energy(tj.tree.unflatten(tj.tree.structure(a), [d]), X))(a.data)
    )
    assert hessian.shape == 2 * a.data.shape


def test_structure_is_not_shared() -> None:
    unsorted = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    same = tj.tree.map(lambda d: d, unsorted)
    same.sort_indices()
    assert unsorted.indices.tolist() == [1, 0]


def test_writes_into_a_structure_are_refused() -> None:
    unsorted = sp.csr_array((np.array([1.0, 2.0]), np.array([1, 0]), np.array([0, 2])), shape=(1, 2))

    def sorting(a: Any) -> Any:
        a.sort_indices()
        return (a @ np.array([1.0, 3.0])).sum()

    for gradient in (tj.grad(sorting), tj.jit(tj.grad(sorting), fallback=False)):
        with pytest.raises(UnfollowedError, match="a write into"):
            gradient(unsorted)
    assert unsorted.indices.tolist() == [1, 0] and unsorted.data.tolist() == [1.0, 2.0]


def test_structures_are_compared() -> None:
    assert tj.tree.structure(A) == tj.tree.structure(2 * A) != tj.tree.structure(A.T.tocsr())
    with pytest.raises(PytreeMismatchError):
        tj.tree.map(lambda x, y: x + y, A, A.T.tocsr())


def test_elements_are_trained() -> None:
    truth = sp.csr_array(A)
    rows = _RNG.standard_normal((30, 6))
    optimizer = optim.adam(0.1)
    start = tj.tree.map(np.zeros_like, truth)
    state = optimizer.init(start)

    @tj.jit(fallback=False)
    def step(a: Any, state: Any) -> Any:
        slope = tj.grad(lambda a: np.mean((rows @ a.T - rows @ truth.T) ** 2))(a)
        updates, state = optimizer.update(slope, state, a)
        return optim.apply_updates(a, updates), state

    for _ in range(200):
        start, state = step(start, state)
    np.testing.assert_allclose(start.toarray(), truth.toarray(), atol=1e-2)
