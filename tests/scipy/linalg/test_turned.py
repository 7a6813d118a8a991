"""Derivatives of the real Schur form and of the Hessenberg form, against differences of SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import tracejit as tj
from tracejit.test_util import check_grads

RNG = np.random.default_rng(5)
GENERAL = RNG.normal(size=(4, 4))
MATRICES = {
    "a pair of complex eigenvalues": GENERAL,
    "real eigenvalues": GENERAL + GENERAL.T,
    "one block": np.array([[1.0, 2.0], [-3.0, 0.5]]),
    "one element": np.array([[2.0]]),
}
FORMS: dict[str, Callable[[Any], Any]] = {
    "schur": sl.schur,
    "hessenberg": lambda a: sl.hessenberg(a, calc_q=True),
}


def weighted(form: str) -> Callable[[Any], Any]:
    """A number of both factors, to which each element matters."""
    return lambda a: sum(
        np.sum(x * np.cos(np.arange(x.size) + k).reshape(x.shape)) for k, x in enumerate(FORMS[form](a))
    )


@pytest.mark.sample(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", MATRICES)
def test_gradients(name: str, form: str) -> None:
    a, f, h = MATRICES[name], weighted(form), 1e-5
    way = np.sin(np.arange(a.size)).reshape(a.shape) + 0.1
    slope = (8 * (f(a + h * way) - f(a - h * way)) - f(a + 2 * h * way) + f(a - 2 * h * way)) / (12 * h)
    with tj.config.override(fallback=False):
        np.testing.assert_allclose(np.sum(tj.jit(tj.grad(f))(a) * way), slope, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(tj.jvp(f, (a,), (way,))[1], slope, rtol=1e-7, atol=1e-8)


def test_second_order_and_lanes() -> None:
    a = MATRICES["a pair of complex eigenvalues"][:3, :3]
    check_grads(weighted("schur"), (a,), order=2)
    slope = tj.grad(weighted("schur"))
    many = np.stack([a, a.T, a @ a])
    np.testing.assert_allclose(tj.jit(tj.vmap(slope))(many), [slope(x) for x in many], rtol=1e-9, atol=1e-12)


def test_zeros_stay_and_the_product_is_the_matrix() -> None:
    a, way = MATRICES["real eigenvalues"], GENERAL
    (t, z), (dt, dz) = tj.jvp(sl.schur, (a,), (way,))
    np.testing.assert_allclose(dz @ t @ z.T + z @ dt @ z.T + z @ t @ dz.T, way, atol=1e-10)
    np.testing.assert_allclose(z.T @ dz, -(z.T @ dz).T, atol=1e-10)
    np.testing.assert_allclose(np.tril(dt, -1), 0, atol=1e-10)


def test_complex_forms_have_none() -> None:
    for f in (lambda a: abs(sl.schur(a, "complex")[1]).sum(), lambda a: abs(sl.hessenberg(a + 0j)).sum()):
        with pytest.raises(tj.errors.NotDifferentiableError):
            tj.grad(f)(GENERAL)
