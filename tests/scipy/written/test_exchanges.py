"""Sorting and lattice paths, run by Python, against SciPy's functions and counts of all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import _stats_py as theirs  # type: ignore[attr-defined]

from tracejit.scipy.written import exchanges, paths


@pytest.mark.parametrize("seed", range(8))
def test_inversions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 9, int(rng.integers(1, 40)))
    assert exchanges.inversions(y) == sum(a > b for n, a in enumerate(y) for b in y[n:])


@pytest.mark.parametrize(("m", "n"), [(5, 5), (7, 4), (12, 8), (9, 1)])
def test_paths(m: int, n: int) -> None:
    g = int(np.gcd(m, n))
    for h in range(1, m * n // g + 1):
        if m == n and h <= n:
            assert np.isclose(
                paths.beyond_square(n, h), theirs._compute_prob_outside_square(n, h), rtol=1e-13
            )
            assert np.isclose(paths.beyond_one_of_square(n, h), _one(n, h), rtol=1e-13)
        want = theirs._compute_outer_prob_inside_method(m, n, g, h)
        assert np.isclose(paths.beyond_either(m, n, g, h), want, rtol=1e-12)
        if m != n:
            want = theirs._count_paths_outside_method(m, n, g, h)
            assert np.isclose(paths.below_one(m, n, g, h), want, rtol=1e-12)


def _one(n: int, h: int) -> float:
    j = np.arange(h)
    return float(np.prod((n - j) / (n + j + 1.0)))
