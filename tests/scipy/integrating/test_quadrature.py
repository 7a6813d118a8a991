"""Integrals of functions, against SciPy's own and against derivatives that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.integrate as si

import tracejit as tj
from tracejit.errors import SolverFailedError, SolverOptionError


def same(f, *args, rtol=1e-10, atol=1e-12):
    got, want = tj.jit(f)(*args), f(*args)
    for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
        assert type(g) is type(w)
        np.testing.assert_allclose(g, w, rtol=rtol, atol=atol)


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "f",
    [
        lambda k: si.quad(lambda x: np.exp(-k * x) * np.sin(x), 0, 2),
        pytest.param(lambda k: si.quad(lambda x: math.exp(-k * x), 0.0, k)[0], marks=pytest.mark.exhaustive),
        lambda k: si.quad(lambda x, s: np.exp(-s * x), 0, np.inf, args=(k,))[0],
        lambda k: si.quad(lambda x: np.exp(-k * x * x), -np.inf, np.inf)[0],
        lambda k: si.quad(lambda x: np.exp(k * x), -np.inf, 1)[0],
        pytest.param(lambda k: si.quad(lambda x: np.exp(k * x), 1, -np.inf)[0], marks=pytest.mark.exhaustive),
        lambda k: si.quad(lambda x: 1 / (1e-3 + (x - 0.3 * k) ** 2), 0, 1)[0],
        lambda k: si.quad(lambda x: abs(x - k / 2), 0, 1, points=[k / 2]),
        pytest.param(
            lambda k: si.quad(lambda x: x**2 if x < k else 1.0, 0, 1)[0], marks=pytest.mark.exhaustive
        ),
        lambda k: si.dblquad(lambda y, x: x * y * k, 0, 1, lambda x: 0, lambda x: 1 - x)[0],
        pytest.param(
            lambda k: si.dblquad(lambda y, x: np.exp(-k * (x + y)), 0, 1, 0, 2), marks=pytest.mark.exhaustive
        ),
        pytest.param(
            lambda k: si.tplquad(lambda z, y, x: x + k * y * z, 0, 1, 0, 1, 0, lambda x, y: x)[0],
            marks=pytest.mark.exhaustive,
        ),
        pytest.param(
            lambda k: si.nquad(lambda x, y: np.cos(k * x * y), [[0, 1], [0, 2]])[0],
            marks=pytest.mark.exhaustive,
        ),
        lambda k: si.quad_vec(lambda x: np.array([1.0, 2.0, 3.0]) * np.exp(-k * x), 0, 1)[0],
        lambda k: si.quad_vec(lambda x: x * k, 0, 1)[0],
        lambda k: si.fixed_quad(lambda x: np.cos(k * x), 0, 1.5, n=6)[0],
    ],
)
def test_values(f) -> None:
    same(f, 0.7, rtol=1e-8)


def test_errors_of_smooth_functions_are_quadpacks() -> None:
    same(lambda k: si.quad(lambda x: np.exp(-k * x) * np.sin(x), 0, 2)[1], 0.7, rtol=1e-6)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "f",
    [
        lambda k: si.quad(lambda x: np.exp(-k * x) * np.sin(x), 0, 2)[0],
        pytest.param(lambda k: si.quad(lambda x: np.exp(-(x**2)), k, 2 * k)[0], marks=pytest.mark.exhaustive),
        lambda k: si.quad(lambda x: np.exp(-k * x), k, np.inf)[0],
        lambda k: si.quad(lambda x: 1 / (0.01 + (x - 0.3 * k) ** 2), 0, 1)[0],
        lambda k: si.dblquad(lambda y, x: x * y * k, 0, k, lambda x: 0, lambda x: 1 - x * k)[0],
        pytest.param(
            lambda k: si.quad_vec(lambda x: np.sin(np.arange(3.0) * k * x), 0, k)[0].sum(),
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_derivatives(f) -> None:
    want = (f(0.7 + 1e-5) - f(0.7 - 1e-5)) / 2e-5
    np.testing.assert_allclose(tj.jit(tj.grad(f))(0.7), want, rtol=1e-5)
    np.testing.assert_allclose(tj.jit(tj.jacfwd(f))(0.7), want, rtol=1e-5)


def test_leibniz() -> None:
    def f(k, b):
        return si.quad(lambda x: np.cos(k * x), 0.0, b)[0]

    k, b = 1.3, 0.9
    by_k, by_b = tj.jit(tj.grad(f, argnums=(0, 1)))(k, b)
    np.testing.assert_allclose(by_k, b * np.cos(k * b) / k - np.sin(k * b) / k**2, rtol=1e-9)
    np.testing.assert_allclose(by_b, np.cos(k * b), rtol=1e-9)
    mixed = tj.jit(tj.grad(lambda k: tj.grad(f, argnums=1)(k, b)))(k)
    np.testing.assert_allclose(mixed, -b * np.sin(k * b), rtol=1e-8)


def test_vmap() -> None:
    f = lambda k: si.quad(lambda x: 1 / (1e-2 + (x - k) ** 2), 0, 1)[0]
    ks = np.array([0.1, 0.5, 0.95])
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(ks), [f(k) for k in ks], rtol=1e-8)
    np.testing.assert_allclose(tj.jit(tj.vmap(tj.grad(f)))(ks), [tj.grad(f)(k) for k in ks], rtol=1e-8)


SINGULAR = {
    "root": (lambda p: si.quad(lambda x: p / np.sqrt(x), 0, 1)[0], 1.5, 2.0),
    "power": (lambda p: si.quad(lambda x: x**-p, 0, 1)[0], 0.9, 100.0),
    "logarithm": (lambda p: si.quad(lambda x: p * np.log(x) / np.sqrt(x), 0, 1)[0], 1.5, -4.0),
    "inside": (
        lambda p: si.quad(lambda x: p / np.sqrt(np.abs(x - 0.3)), 0, 1)[0],
        1.5,
        2 * (0.3**0.5 + 0.7**0.5),
    ),
    "both ends": (lambda p: si.quad(lambda x: p / np.sqrt(x * (1 - x)), 0, 1)[0], 1.5, np.pi),
    "infinite": (
        lambda p: si.quad(lambda x: np.exp(-p * x) / np.sqrt(x), 0, np.inf)[0],
        1.0,
        -(np.pi**0.5) / 2,
    ),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", SINGULAR)
def test_singularities_are_extrapolated(name: str) -> None:
    f, p, slope = SINGULAR[name]
    np.testing.assert_allclose(tj.jit(f)(p), f(p), rtol=1e-9)
    np.testing.assert_allclose(tj.jit(tj.grad(f))(p), slope, rtol=1e-7)


def test_sums_are_extrapolated_along_the_way() -> None:
    """As in QUADPACK, with room for few intervals; the error is an upper bound that is small."""
    for f, exact in (
        (lambda x: 1 / np.sqrt(x), 2.0),
        (lambda x: np.log(x), -1.0),
        (lambda x: np.log(x) ** 2, 2.0),
        (lambda x: np.abs(x - 0.3) ** -0.5, 2 * (0.3**0.5 + 0.7**0.5)),
    ):
        value, error = tj.jit(lambda k, f=f: si.quad(lambda x: k * f(x), 0, 1, limit=30), fallback=False)(1.0)
        assert abs(value - exact) <= max(error, 1e-13) <= 1.5e-8 * abs(exact)


def test_what_does_not_converge_is_pythons() -> None:
    for f in (
        lambda k: si.quad(lambda x: k / x, 0.0, 1.0)[0],
        lambda k: si.quad(lambda x: k * np.sin(1 / x), 0.0, 1.0)[0],
    ):
        with pytest.raises(SolverFailedError, match="intervals"):
            tj.grad(f)(2.0)
    diverges = lambda k: si.quad(lambda x: k / x, 0, 1)[0]
    with tj.config.override(fallback=True), pytest.warns(si.IntegrationWarning):
        assert tj.jit(diverges)(2.0) == diverges(2.0)


def test_options_without_a_traced_form() -> None:
    for options in ({"points": [0.5], "full_output": 1}, {"weight": "cos", "wvar": 2.0, "full_output": 1}):
        with pytest.raises(SolverOptionError):
            tj.grad(lambda k: si.quad(lambda x: k * x, 0, 1, **options)[0])(1.0)
