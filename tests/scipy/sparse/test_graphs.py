"""Functions of graphs in compiled programs, against SciPy's own and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

import tracejit as tj

RNG = np.random.default_rng(2)
N = 7
DENSE = np.where(RNG.random((N, N)) < 0.45, RNG.uniform(0.5, 3, (N, N)), 0.0)
np.fill_diagonal(DENSE, 0.0)
DENSE[:, 3] = 0.0  # which nothing leads to
SPARSE = sparse.csr_array(DENSE)
METHODS = ["dijkstra", "floyd_warshall", "bellman_ford", "johnson", "shortest_path"]


def graph(weights: Any) -> Any:
    """The sparse graph with these weights, or the dense one."""
    if weights.ndim == 2:
        return weights
    return sparse.csr_array((weights, SPARSE.indices, SPARSE.indptr), shape=(N, N))


def flat(out: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in (out if isinstance(out, tuple) else (out,))]


def same(f: Any, weights: np.ndarray) -> None:
    found = tj.jit(f, fallback=False)(weights)
    for got, want in zip(flat(found), flat(f(weights)), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.sample(4)
@pytest.mark.parametrize("weights", [SPARSE.data, DENSE], ids=["sparse", "dense"])
@pytest.mark.parametrize("name", METHODS)
def test_distances(name: str, weights: np.ndarray) -> None:
    find = getattr(csgraph, name)
    for directed in (True, False):
        same(lambda w: find(graph(w), directed=directed), weights)
        same(lambda w: find(graph(w), directed=directed, return_predecessors=True), weights)

        def f(w):
            d = find(graph(w), directed=directed)
            return np.sum(np.sin(np.where(np.isfinite(d), d, 0.0)))

        slope = tj.jit(tj.grad(f), fallback=False)(weights)
        step = 1e-6 * RNG.normal(size=weights.shape) * (weights != 0)
        assert np.isclose(np.sum(slope * step), (f(weights + step) - f(weights - step)) / 2, rtol=1e-5)


def test_options_of_distances() -> None:
    w = SPARSE.data
    same(lambda w: csgraph.dijkstra(graph(w), indices=[0, 4], limit=2.0), w)
    same(lambda w: csgraph.dijkstra(graph(w), indices=[1, 5], min_only=True), w)
    same(lambda w: csgraph.dijkstra(graph(w), indices=[1, 5], min_only=True, return_predecessors=True), w)
    same(lambda w: csgraph.shortest_path(graph(w), method="BF", unweighted=True), w)
    slope = tj.jit(tj.grad(lambda w: csgraph.dijkstra(graph(w), indices=0, unweighted=True)[1]))(w)
    assert not slope.any()
    near = lambda w: np.sum(np.minimum(csgraph.dijkstra(graph(w), indices=[1, 5], min_only=True)[0], 9.0))
    step = 1e-6 * RNG.normal(size=w.shape)
    slope = tj.jit(tj.grad(near))(w)
    assert np.isclose(slope @ step, (near(w + step) - near(w - step)) / 2, rtol=1e-5)
    several = tj.jit(tj.vmap(lambda w: csgraph.johnson(graph(w))))(np.stack([w, 2 * w]))
    np.testing.assert_array_equal(several, [csgraph.johnson(graph(v)) for v in (w, 2 * w)])


def test_a_circle_of_negative_length() -> None:
    w = SPARSE.data.copy()
    w[:] = -1.0
    with pytest.raises(csgraph.NegativeCycleError):
        tj.jit(lambda w: csgraph.bellman_ford(graph(w)))(w)


@pytest.mark.parametrize(
    "f",
    [
        csgraph.connected_components,
        lambda g: csgraph.connected_components(g, connection="strong"),
        lambda g: csgraph.breadth_first_order(g, 0),
        lambda g: csgraph.depth_first_order(g, 0, return_predecessors=False),
        csgraph.reverse_cuthill_mckee,
        csgraph.maximum_bipartite_matching,
        csgraph.structural_rank,
        lambda g: csgraph.yen(g, 0, 5, 2),
    ],
)
def test_others(f: Any) -> None:
    same(lambda w: f(graph(w)), SPARSE.data)


@pytest.mark.sample(4)
@pytest.mark.parametrize("weights", [SPARSE.data, DENSE], ids=["sparse", "dense"])
@pytest.mark.parametrize("options", [{}, {"normed": True}, {"symmetrized": True}, {"use_out_degree": True}])
def test_laplacian(options: dict[str, Any], weights: np.ndarray) -> None:
    def f(w):
        out: Any = csgraph.laplacian(graph(w), **options)
        return out.toarray() if sparse.issparse(out) else out

    compiled = tj.jit(f, fallback=False)
    np.testing.assert_allclose(compiled(weights), f(weights), rtol=1e-14)
    slope = tj.grad(lambda w: np.sum(np.sin(f(w))))(weights)
    step = 1e-6 * RNG.normal(size=weights.shape) * (weights != 0)
    change = np.sum(np.sin(f(weights + step)) - np.sin(f(weights - step))) / 2
    assert np.isclose(np.sum(slope * step), change, rtol=1e-5)
