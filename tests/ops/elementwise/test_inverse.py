"""Inverse hyperbolic functions, hypot, logaddexp, sinc, rsqrt, heaviside: accuracy, edges, derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import tracejit as tj
from tests.lowering.native import ulp_errors
from tests.ops.derivatives import check_derivatives
from tests.ops.samples import BF16
from tracejit import lax
from tracejit.ops.elementwise import inverse as inv
from tracejit.test_util import check_grads

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
RNG = np.random.default_rng(0)


def compiled(f: Callable[..., Any]) -> Callable[..., Any]:
    return tj.jit(lambda *xs: f(*xs))


def errors(f: Callable[..., Any], exact: Callable[..., Any], *xs: np.ndarray) -> np.ndarray:
    """Errors of the compiled function in units in the last place."""
    got = compiled(f)(*xs)
    with mp.workprec(400):
        return ulp_errors(
            got, [exact(*map(mp.mpf, row)) for row in zip(*(x.tolist() for x in xs), strict=True)]
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_hypot_accuracy(dtype: Any) -> None:
    span = 500 if dtype == np.float64 else 50
    x, y = (RNG.normal(size=600) * 2.0 ** RNG.integers(-span, span, 600) for _ in range(2))
    y[:300] = x[:300] * RNG.uniform(0.01, 3, 300)
    x, y = x.astype(dtype), y.astype(dtype)
    assert errors(np.hypot, mp.hypot, x, y).max() <= 1.0


def test_hypot_neither_overflows_nor_vanishes() -> None:
    x = np.array([1e308, 3e-320, 0.0, np.inf, np.nan, -np.inf, np.nan, 0.0])
    y = np.array([1e308, 4e-320, -0.0, np.nan, -np.inf, 1.0, 1.0, 5e-324])
    np.testing.assert_array_equal(compiled(np.hypot)(x, y), np.hypot(x, y))


@pytest.mark.parametrize(("name", "base"), [("logaddexp", mp.e), ("logaddexp2", 2)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logaddexp_accuracy(name: str, base: Any, dtype: Any) -> None:
    """2 units of the larger of the operands and the result."""
    x, y = (RNG.uniform(-30, 30, 600).astype(dtype) for _ in range(2))
    y[:300] = x[:300] + RNG.uniform(-1, 1, 300).astype(dtype)
    got = compiled(getattr(np, name))(x, y)
    with mp.workprec(200):
        powers = [mp.mpf(base) ** a + mp.mpf(base) ** b for a, b in zip(x, y, strict=True)]
        exact = np.array([float(mp.log(p, base)) for p in powers])
    unit = np.maximum.reduce([np.abs(x), np.abs(y), np.abs(exact)]) * np.finfo(dtype).eps
    assert (np.abs(got - exact) / unit).max() <= 2.0


@pytest.mark.parametrize("f", [np.logaddexp, np.logaddexp2])
def test_logaddexp_of_infinities(f: Any) -> None:
    e = np.array([np.inf, -np.inf, np.nan, 0.0, 1e308, -1e308])
    x, y = (a.ravel() for a in np.meshgrid(e, e))
    np.testing.assert_allclose(compiled(f)(x, y), f(x, y), rtol=1e-15)
    gx, gy = tj.grad(lambda x, y: f(x, y).sum(), (0, 1))(
        np.array([-np.inf, 1.0, 700.0]), np.array([0.0, 1.0, -700.0])
    )
    assert gx.tolist() == [0.0, 0.5, 1.0] and gy.tolist() == [1.0, 0.5, 0.0]


def test_logaddexp_of_both_minus_infinity_has_finite_derivatives() -> None:
    assert np.isfinite(tj.grad(lambda x: np.logaddexp(x, -np.inf))(-np.inf))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, BF16])
def test_rsqrt_and_sinc(dtype: Any) -> None:
    x = np.array([0.25, 2.0, 3.0, 1e-4, 100.0, 0.0, np.inf]).astype(dtype)
    eps = 8 * float(np.finfo(np.float32).eps) if np.dtype(dtype).itemsize > 2 else 1e-2
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(
            compiled(lambda v: lax.rsqrt(v))(x).astype(float), 1 / np.sqrt(x.astype(float)), rtol=eps
        )
    y = np.array([0.0, -0.0, 0.5, 1.5, -0.25, 1e-3]).astype(dtype)
    got = compiled(np.sinc)(y)
    assert got.dtype == y.dtype
    np.testing.assert_allclose(got.astype(float), np.sinc(y.astype(float)), rtol=eps, atol=eps)


@pytest.mark.parametrize("x", [0.0, 1e-9, 1e-3, 0.3, 0.49, 0.51, 2.2, -1.7])
def test_sinc_is_smooth_at_zero(x: float) -> None:
    f: Any = np.sinc
    for order in (1, 2, 3):
        f = tj.grad(f if order > 1 else lambda v: np.sinc(v))
        with mp.workprec(300):
            exact = (
                float(mp.diff(mp.sincpi, mp.mpf(x), order)) if x else [0.0, -(np.pi**2) / 3, 0.0][order - 1]
            )
        np.testing.assert_allclose(f(x), exact, rtol=1e-12, atol=1e-12)


# ---------------------------------------------------------------- derivatives

POINTS = RNG.uniform(0.2, 0.8, (2, 3)) * np.array([1.0, -1.0, 1.0])
DOMAIN = {
    "arcsinh": POINTS * 5,
    "arccosh": np.abs(POINTS) + 1.1,
    "arctanh": POINTS,
    "rsqrt": np.abs(POINTS),
    "sinc": POINTS * 3,
}


@pytest.mark.parametrize("name", DOMAIN)
def test_derivatives(name: str) -> None:
    f = getattr(inv, name)
    check_derivatives(f, [DOMAIN[name]], np.random.default_rng(0), 2e-6)
    if name != "sinc":
        check_derivatives(f, [DOMAIN[name] + 0.3j], np.random.default_rng(1), 2e-6)
    g = tj.jit(tj.vmap(tj.grad(lambda x: getattr(np, name, lax.rsqrt)(x))))
    flat = DOMAIN[name].ravel()
    np.testing.assert_allclose(g(flat), [tj.grad(getattr(np, name, lax.rsqrt))(v) for v in flat], rtol=1e-12)


@pytest.mark.parametrize("name", ["hypot", "logaddexp", "logaddexp2", "heaviside"])
def test_derivatives_of_two_operands(name: str) -> None:
    f = getattr(np, name)
    check_grads(lambda x, y: f(x, y), (POINTS, POINTS[::-1] + 0.05), order=2)
    check_grads(lambda x, y: f(x, y), (POINTS, 0.7), order=2)


def test_derivatives_at_the_edge() -> None:
    assert tj.grad(np.hypot, (0, 1))(0.0, 0.0) == (0.0, 0.0)
    assert tj.grad(np.hypot, (0, 1))(3e200, 4e200) == pytest.approx((0.6, 0.8))
    assert tj.grad(lambda x: np.arcsinh(x))(1e200) == pytest.approx(1e-200)
    assert tj.grad(lambda x: np.arccosh(x))(1.0) == np.inf
    assert tj.grad(lambda h: np.heaviside(0.0, h))(0.5) == 1.0
    safe = tj.grad(lambda x: np.where(x > 1, np.arccosh(x), 0.0).sum())
    assert safe(np.array([1.0, 0.5, 2.0])).tolist() == [0.0, 0.0, pytest.approx(1 / np.sqrt(3))]
