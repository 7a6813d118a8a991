"""Linkages and trees of clusters, run by Python, against SciPy's compiled functions: ties and distances that shrink."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.cluster import hierarchy

from tracejit.scipy.written import linkages, trees

theirs = hierarchy._hierarchy  # type: ignore[attr-defined]


def distances(seed: int) -> tuple[np.ndarray, int]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12))
    values = rng.normal(size=n * (n - 1) // 2) ** 2
    return (values if seed % 2 else np.ceil(3 * values)), n


def same(name: str, made: Any, *args: Any) -> None:
    """The function of the name writes the same into what `made` makes."""
    ours, want = made(), made()
    into = [a is None for a in args].index(True)
    getattr(trees, name)(*args[:into], ours, *args[into + 1 :])
    getattr(theirs, name)(*args[:into], want, *args[into + 1 :])
    np.testing.assert_allclose(ours, want, rtol=1e-13, err_msg=name)


@pytest.mark.parametrize("seed", range(12))
def test_linkages(seed: int) -> None:
    d, n = distances(seed)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(linkages.mst_single_linkage(d, n), theirs.mst_single_linkage(d, n))
        for method in (1, 2, 5, 6):
            want = theirs.nn_chain(d, n, method)
            np.testing.assert_allclose(linkages.nn_chain(d, n, method), want, rtol=1e-13)
        for method in range(7):
            want = theirs.fast_linkage(d, n, method)
            np.testing.assert_allclose(linkages.fast_linkage(d, n, method), want, rtol=1e-13)


@pytest.mark.parametrize("seed", range(12))
def test_trees(seed: int) -> None:
    d, n = distances(seed)
    with np.errstate(all="ignore"):
        Z = theirs.fast_linkage(d, n, 2 + seed % 3)
    if not np.isfinite(Z).all():
        Z = theirs.fast_linkage(d, n, 2)
    R = np.zeros((n - 1, 4))
    theirs.inconsistent(Z, R, n, 2)
    rows, numbers = lambda: np.zeros(n - 1), lambda: np.zeros(n, "i")
    for depth in range(4):
        same("inconsistent", lambda: np.zeros((n - 1, 4)), Z, None, n, depth)
    same("calculate_cluster_sizes", rows, Z, None, n)
    same("get_max_dist_for_each_cluster", rows, Z, None, n)
    same("get_max_Rfield_for_each_cluster", rows, Z, R, None, n, 3)
    same("prelist", numbers, Z, None, n)
    same("cophenetic_distances", lambda: np.zeros(n * (n - 1) // 2), Z, None, n)
    mixed = np.random.default_rng(seed).normal(size=n - 1)
    for cutoff in np.linspace(0, Z[:, 2].max() * 1.1, 4):
        same("cluster_dist", numbers, Z, None, cutoff, n)
        same("cluster_in", numbers, Z, R, None, cutoff, n)
        same("cluster_monocrit", numbers, Z, mixed, None, cutoff, n)
    for most in range(1, n + 2):
        same("cluster_maxclust_dist", numbers, Z, None, n, most)
        same("cluster_maxclust_monocrit", numbers, Z, mixed, None, n, most)
