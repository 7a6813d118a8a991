"""Legendre functions and spherical harmonics: SciPy's values and derivatives, and our derivatives by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import tracejit as tj
from tracejit.errors import TracejitError
from tracejit.test_util import check_grads

N, M = np.array([0, 1, 2, 3, 5]), np.array([0, 1, -1, 2, -4])
Z, T = np.array([0.1, -0.4, 0.5, 0.9, -0.8]), np.array([0.1, 1.0, 2.0, 3.0, -0.5])
P = T[::-1].copy()
CALLS: dict[str, Any] = {
    "legendre_p": (lambda d, n, z: sp.legendre_p(n, z, diff_n=d), N, Z),
    "sph_legendre_p": (lambda d, n, m, t: sp.sph_legendre_p(n, m, t, diff_n=d), N, M, T),
    "assoc_legendre_p": (lambda d, n, m, z: sp.assoc_legendre_p(n, m, z, diff_n=d), N, M, Z),
    "assoc normed": (lambda d, n, m, z: sp.assoc_legendre_p(n, m, z, norm=True, diff_n=d), N, M, Z),
    "assoc complex": (
        lambda d, n, m, z: sp.assoc_legendre_p(n, m, z, branch_cut=3, diff_n=d),
        N,
        M,
        Z + 0.3j,
    ),
    "sph_harm_y": (lambda d, n, m, t, p: sp.sph_harm_y(n, m, t, p, diff_n=d), N, M, T[:, None], P),
    "sph_harm_y of numbers": (lambda d, t, p: sp.sph_harm_y(3, -2, t, p, diff_n=d), 0.3, 0.4),
    "legendre_p_all": (lambda d, z: sp.legendre_p_all(3, z, diff_n=d), Z),
    "sph_legendre_p_all": (lambda d, t: sp.sph_legendre_p_all(3, -2, t, diff_n=d), T),
    "assoc_legendre_p_all": (lambda d, z: sp.assoc_legendre_p_all(3, 2, z, diff_n=d), Z),
    "sph_harm_y_all": (lambda d, t, p: sp.sph_harm_y_all(3, 2, t, p, diff_n=d), T.astype("f4"), 0.3),
}


@pytest.mark.parametrize("name", CALLS)
def test_values(name: str) -> None:
    f, *args = CALLS[name]
    for order in (0, 2):
        got, want = tj.jit(lambda *a, k=order: f(k, *a))(*args), f(order, *args)
        assert type(got) is type(want)
        for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
            assert g.dtype == w.dtype and type(g) is type(w)
            np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-12)


def test_derivatives() -> None:
    check_grads(lambda z: sp.legendre_p(N, z), (Z,), order=2)
    check_grads(lambda t: sp.sph_legendre_p(N, M, t), (T,), order=2)
    check_grads(lambda z: sp.assoc_legendre_p(N, M, z), (Z,), order=2)
    check_grads(lambda t, p: sp.sph_harm_y(N, M, t, p).imag, (T, P), order=2)
    np.testing.assert_allclose(
        tj.vmap(lambda n, m, t: sp.sph_harm_y(n, m, t, 0.3))(N, M, T), sp.sph_harm_y(N, M, T, 0.3)
    )


def test_what_is_no_degree() -> None:
    for f in (lambda z: sp.legendre_p(z, 0.3), lambda z: sp.sph_harm_y(1, 1, z * 1j, 0.1)):
        with pytest.raises(TypeError, match="not supported for the input types"):
            tj.jit(f)(Z)
    for n in (-1, 1.5):
        with pytest.raises(ValueError, match="n must be a non-negative integer"):
            tj.jit(lambda z, n=n: sp.legendre_p_all(n, z))(Z)
    with pytest.raises(TracejitError, match="diff_n"):
        tj.jit(lambda z: sp.legendre_p(1, z, diff_n=3))(Z)
