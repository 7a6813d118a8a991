"""JAX's names of special functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import tracejit as tj
from tracejit import lax

X = np.array([0.3, 0.8, 0.5])
A, B = np.array([1.5, 2.0, 4.0]), np.array([0.5, 3.0, 1.0])

NAMES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "lgamma": (sp.gammaln, (A,)),
    "digamma": (sp.psi, (A,)),
    "polygamma": (sp.polygamma, (np.array([0.0, 1.0, 2.0]), A)),
    "zeta": (sp.zeta, (A, B)),
    "erfc": (sp.erfc, (X,)),
    "erf_inv": (sp.erfinv, (X,)),
    "bessel_i0e": (sp.i0e, (X,)),
    "bessel_i1e": (sp.i1e, (X,)),
    "igamma": (sp.gammainc, (A, X)),
    "igammac": (sp.gammaincc, (A, X)),
    "betainc": (sp.betainc, (A, B, X)),
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name: str) -> None:
    fn, xs = NAMES[name]
    for f in (getattr(lax, name), tj.jit(getattr(lax, name)), tj.vmap(getattr(lax, name))):
        np.testing.assert_allclose(f(*xs), fn(*xs), rtol=1e-13)


def test_gradients_of_gamma_samples() -> None:
    a, h = A, 1e-6
    slope = (sp.gammainc(a + h, X) - sp.gammainc(a - h, X)) / (2 * h)
    np.testing.assert_allclose(lax.igamma_grad_a(a, X), slope, rtol=1e-7)
    density = X ** (a - 1) * np.exp(-X) / sp.gamma(a)
    np.testing.assert_allclose(tj.jit(lax.random_gamma_grad)(a, X), -slope / density, rtol=1e-7)


def test_scalars_adopt_the_dtype_of_the_others() -> None:
    x = X.astype(np.float32)
    assert tj.jit(lambda v: lax.igamma(2.0, v))(x).dtype == np.float32
    with pytest.raises(TypeError, match="dtypes"):
        tj.jit(lax.igamma)(A, x)
