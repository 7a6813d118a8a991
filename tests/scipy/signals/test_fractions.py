"""Partial fractions: SciPy's values and their derivatives by differences; poles that coincide are left to Python."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.signal as ss

import tracejit as tj
from tests.scipy.beside import check_slope, check_values

B, A, LONG = np.array([1.0, 2.0]), np.array([2.0, 3.0, 2.5, 0.7]), np.array([2.0, 3.0, 0.1, 1.0, 2.0])
R, P, K = np.array([1.0, 2.0]), np.array([-1.0, -2.0]), np.array([1.0, 3.0])
PAIR = np.array([-0.3 + 1j, -0.3 - 1j])

CASES: dict[str, tuple[Any, ...]] = {
    "residue": (ss.residue, B, A),
    "residue, polynomial": (ss.residue, LONG, A),
    "residue, complex": (lambda b, a: ss.residue(b * 1j, a), B, A),
    "residue, no powers": (ss.residue, LONG, np.array([2.0, 0.3, 1.0])),
    "residuez": (ss.residuez, B, A),
    "residuez, polynomial": (ss.residuez, LONG, A),
    "invres": (lambda r, p: ss.invres(r, p, []), R, P),
    "invres, polynomial": (ss.invres, R, P, K),
    "invres, complex": (lambda r, p: ss.invres(r, p * PAIR, K), R, 1.3),
    "invresz": (lambda r, p: ss.invresz(r, p, []), R, P),
    "invresz, polynomial": (ss.invresz, R, P, K),
    "unique_roots": (ss.unique_roots, P),
    "unique_roots, mean": (lambda p: ss.unique_roots(p, 0.1, "avg"), P),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, *args = CASES[name]
    check_values(f, args, rtol=1e-9, atol=1e-11)
    check_slope(f, args, (0.3, 0.1), 1e-6, rtol=1e-5, atol=1e-6)


def test_many_at_once() -> None:
    many = np.stack([A, A * [1, 1.1, 1.2, 1.3]])
    for got, want in zip(tj.jit(tj.vmap(lambda a: ss.residue(B, a)))(many)[:2], range(2), strict=True):
        np.testing.assert_allclose(got, [ss.residue(B, a)[want] for a in many], rtol=1e-9)


def test_what_python_does() -> None:
    """Real poles have another dtype in NumPy; poles that coincide another number of results, or powers."""
    for f, x in (
        (ss.unique_roots, np.array([1.0, 2.0, 2.0, 3.0])),
        (lambda a: ss.residue(B, a), np.array([1.0, 3.0, 2.0])),
        (lambda a: ss.residue(B, a), np.array([1.0, 2.0, 1.0])),
        (lambda a: ss.residue(B, a), np.array([0.0, 2.0, 1.0, 3.0])),
        (lambda p: ss.invres(R, p, K), np.array([1.0, 1.0])),
        (lambda k: ss.invresz(R, P, k), np.array([1.0, 0.0])),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tj.errors.FallbackWarning)
            got = tj.jit(lambda x, f=f: f(x), fallback=True)(x)
        for g, w in zip(got, f(x), strict=True):
            assert np.asarray(g).dtype == np.asarray(w).dtype
            np.testing.assert_array_equal(g, w)


def test_failures() -> None:
    for f in (lambda p: ss.unique_roots(p, rtype="median"), lambda p: ss.invres(R, p, K, rtype="median")):
        with pytest.raises(ValueError, match="must be one of"):
            tj.jit(f)(P)
