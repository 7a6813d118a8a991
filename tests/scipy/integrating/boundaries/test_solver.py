"""Boundary value problems: SciPy's solutions, meshes and reports; derivatives by differences and of known solutions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_bvp

import tracejit as tj

X, ZERO = np.linspace(0, 1, 5), np.zeros((2, 5))
WAVE = np.array([[0.0, 1.0, 0.0, -1.0, 0.0], np.zeros(5)])
SINGULAR = np.array([[0.0, 0.0], [0.0, -2.0]])
AT = np.linspace(-0.01, 1.0, 7)


def bratu(p: Any, **options: Any) -> Any:
    return solve_bvp(
        lambda x, y: np.vstack([y[1], -p * np.exp(y[0])]),
        lambda a, b: np.array([a[0], b[0] - 0.1 * p]),
        X,
        ZERO,
        **options,
    )


def wave(c: Any, **options: Any) -> Any:
    """A parameter is found with the solution: the frequency."""
    return solve_bvp(
        lambda x, y, p: np.vstack([y[1], -c * p[0] ** 2 * y[0]]),
        lambda a, b, p: np.array([a[0], b[0], a[1] - p[0]]),
        X,
        WAVE,
        p=[6.0],
        **options,
    )


def emden(q: Any, **options: Any) -> Any:
    """With a singular term: y'' + 2 y' / x + q y**5 = 0."""
    return solve_bvp(
        lambda x, y: [y[1], -q * y[0] ** 5],
        lambda a, b: [a[1], b[0] - 0.75**0.5],
        X,
        ZERO + np.array([[1.0], [0.0]]),
        S=SINGULAR,
        **options,
    )


def with_matrices(q: Any, **options: Any) -> Any:
    def by_state(x: Any, y: Any) -> Any:
        none, one = np.zeros_like(x), np.ones_like(x)
        return np.array([[none, one], [-5 * q * y[0] ** 4, none]])

    ends = np.array([[0, 1.0], [0, 0]]), np.array([[0, 0], [1.0, 0]])
    return emden(q, fun_jac=by_state, bc_jac=lambda a, b: ends, **options)


def layer(e: Any, **options: Any) -> Any:
    mesh, ends = np.linspace(-0.1, 0.1, 11), np.array([-0.1, 0.1]) / np.sqrt(e + 0.01)
    return solve_bvp(
        lambda x, y: np.vstack([y[1], -3 * e * y[0] / (e + x**2) ** 2]),
        lambda a, b: np.array([a[0] - ends[0], b[0] - ends[1]]),
        mesh,
        np.zeros((2, 11)),
        **options,
    )


CASES: dict[str, tuple[Any, float, dict[str, Any]]] = {
    "bratu": (bratu, 1.0, {"tol": 1e-6}),
    "wave": (wave, 1.1, {}),
    "emden": (emden, 1.0, {"tol": 1e-5}),
    "with matrices": (with_matrices, 1.0, {"tol": 1e-5}),
    "layer": (layer, 1e-3, {"bc_tol": 1e-9}),
    "too many nodes": (layer, 1e-4, {"tol": 1e-8, "max_nodes": 40}),
    "too few nodes": (bratu, 1.0, {"tol": 1e-12, "max_nodes": 4}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sample(7)
def test_results(name: str) -> None:
    f, at, options = CASES[name]
    want, got = f(at, **options), tj.jit(lambda p: f(p, **options), fallback=False)(at)
    assert type(got) is type(want)
    assert list(got) == list(want)
    for key, w in want.items():
        g = got[key]
        if key == "sol":
            g, w = got.sol(AT), want.sol(AT)
            assert type(got.sol) is type(want.sol)
            assert got.sol.c.shape == want.sol.c.shape
        if isinstance(w, np.ndarray):
            np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-8)
        else:
            assert (type(g), g) == (type(w), w)


def test_derivative() -> None:
    """The solution is sin(2 pi x), whatever `c` is, for the parameter 2 pi / sqrt(c)."""

    def found(c: Any) -> Any:
        r = wave(c, tol=1e-5, max_nodes=80)
        return r.p[0], r.sol(0.3)[0], r.sol.derivative()(0.3)[0]

    slopes = tj.jit(tj.jacobian(found), fallback=False)(1.1)
    np.testing.assert_allclose(slopes[0], -np.pi / 1.1**1.5, rtol=1e-4)
    h = 1e-5
    near = [(a - b) / (2 * h) for a, b in zip(found(1.1 + h), found(1.1 - h), strict=True)]
    np.testing.assert_allclose(slopes, near, rtol=1e-4, atol=1e-4)


@pytest.mark.exhaustive
@pytest.mark.parametrize("f", [bratu, emden, with_matrices])
def test_derivatives(f: Any) -> None:
    def value(p: Any) -> Any:
        r = f(p, tol=1e-7, max_nodes=200)
        return tj.numpy.sum(r.sol(AT[1:]) ** 2) + tj.numpy.sum(r.y[:, -1])

    near = (value(1.0001) - value(0.9999)) / 2e-4
    np.testing.assert_allclose(tj.jit(tj.grad(value))(1.0), near, rtol=1e-4)
    slope = tj.jit(tj.grad(value))
    second = (slope(1.001) - slope(0.999)) / 2e-3
    np.testing.assert_allclose(tj.jit(tj.hessian(value))(1.0), second, rtol=1e-3)


@pytest.mark.exhaustive
def test_ends_and_many_at_once() -> None:
    """cos(x) between ends that are traced: of y(a) = 1 and y(b) = 0 it is sin(b - x) / sin(b - a)."""

    def at(b: Any) -> Any:
        mesh = np.linspace(0, b, 5)
        ends = solve_bvp(
            lambda x, y: [y[1], -y[0]], lambda a, b: [a[0] - 1, b[0]], mesh, ZERO, tol=1e-7, max_nodes=90
        )
        return ends.sol(0.5)[0]

    b = np.array([1.2, 1.3])
    got = tj.jit(tj.vmap(tj.value_and_grad(at)))(b)
    np.testing.assert_allclose(got[0], np.sin(b - 0.5) / np.sin(b), rtol=1e-6)
    np.testing.assert_allclose(got[1], np.sin(0.5) / np.sin(b) ** 2, rtol=1e-5)


@pytest.mark.exhaustive
def test_singular_equations_are_pythons() -> None:
    def singular(p: Any) -> Any:
        return solve_bvp(
            lambda x, y: [y[1], 0 * p * y[0]], lambda a, b: [a[0] - 1, a[0] - 2], X, ZERO, max_nodes=9
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        assert tj.jit(singular, fallback=True)(1.0).status == 2


def test_options() -> None:
    for options in ({"verbose": 1}, {"tol": 1e-20}):
        with pytest.raises(tj.errors.SolverOptionError):
            tj.jit(lambda p, options=options: bratu(p, **options), fallback=False)(1.0)


def test_failures() -> None:
    with pytest.raises(ValueError, match="`fun` return is expected"):
        tj.jit(lambda p: solve_bvp(lambda x, y: p * y[:1], lambda a, b: a, X, ZERO))(1.0)
    with pytest.raises(ValueError, match="`bc` return is expected"):
        tj.jit(lambda p: solve_bvp(lambda x, y: p * y, lambda a, b: a[:1], X, ZERO))(1.0)
    with pytest.raises(ValueError, match="expected to have 4 columns"):
        tj.jit(lambda p: solve_bvp(lambda x, y: p * y, lambda a, b: a, X[:4], ZERO))(1.0)
    with pytest.raises(ValueError, match="`S` is expected"):
        tj.jit(lambda p: solve_bvp(lambda x, y: p * y, lambda a, b: a, X, ZERO, S=[[p]]))(1.0)


def test_a_search_that_uses_all_its_matrices() -> None:
    """Newton's method stops after four matrices, also where it has not come to the solution; the mesh is refined."""

    def f(p: Any) -> Any:
        return solve_bvp(
            lambda x, y: np.vstack([y[1], p * np.sin(10 * y[0])]),
            lambda a, b: np.array([a[0] ** 2 - 1, b[0] ** 3 + 2]),
            X,
            np.ones((2, 5)),
            max_nodes=60,
        )

    got, want = tj.jit(f, fallback=False)(3.5), f(3.5)
    assert got.status == want.status == 0 and got.niter == want.niter
    np.testing.assert_allclose(got.x, want.x, rtol=1e-12)
    np.testing.assert_allclose(got.y, want.y, rtol=1e-9, atol=1e-9)
