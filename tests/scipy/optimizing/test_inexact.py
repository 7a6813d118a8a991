"""Broyden's, mixing and Krylov's methods as native loops: SciPy's steps, reports and failures, and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj

GUESS = np.array([0.3, -0.4, 0.9])
MIX = np.random.default_rng(1).normal(size=(3, 3)) * 0.1


def gap(x: Any, c: Any) -> Any:
    """Zero at one point, and not linear."""
    return x + MIX @ x + 0.3 * np.sin(2 * x) - c


BACK = {"alpha": -0.3}
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("broyden1", {}),
    ("krylov", {"line_search": "wolfe", "fatol": 1e-9}),
    ("anderson", {"nit": 4}),
    ("broyden2", {"jac_options": {"max_rank": 2}, "maxiter": 3}),
    ("broyden2", {"line_search": None, "jac_options": {"max_rank": 3, "reduction_method": "simple"}}),
    ("excitingmixing", {"jac_options": {"alpha": 0.02}, "maxiter": 5}),
    ("diagbroyden", {"tol_norm": np.linalg.norm, "fatol": 1e-8}),
    ("linearmixing", {"jac_options": BACK, "xtol": 1e-3}),
    ("broyden2", {"jac_options": {"max_rank": 4, "reduction_method": ("svd", 2)}, "maxiter": 9}),
    ("anderson", {"jac_options": {"M": 2, "w0": 0.1, "alpha": 0.5}, "line_search": "wolfe", "maxiter": 3}),
    ("krylov", {"jac_options": {"outer_k": 0, "inner_inner_m": 2, "rdiff": 1e-6}, "maxiter": 4}),
    ("broyden2", {"line_search": "wolfe", "fatol": 1e-10, "ftol": 1e-9, "xatol": 1e-4}),
]


@pytest.mark.sample(6)
@pytest.mark.parametrize("n", range(len(SETTINGS)))
def test_searches_are_those_of_scipy(n: int) -> None:
    method, options = SETTINGS[n]
    # Unknowns of few values, so that Krylov's directions are no noise of the differences.
    f = lambda c: so.root(gap, GUESS, (c,), method, options=options)
    compiled = tj.jit(f, fallback=False)
    got, want = compiled(0.7), f(0.7)
    assert list(got) == list(want)
    for name in want:
        if name in ("x", "fun"):
            np.testing.assert_allclose(got[name], want[name], rtol=1e-6, atol=1e-9)
        else:
            assert got[name] == want[name] and type(got[name]) is type(want[name]), name
    assert "library_call" not in compiled.lower(0.7).as_text("jaxpr")


@pytest.mark.exhaustive
def test_complex_unknowns_of_a_function_that_is_not_analytic() -> None:
    guess = np.array([[1 + 1j, 0.5 - 0.2j]])
    far = lambda x, c: x + 0.3j * x**2 * np.conj(x) - c[0] - 1j * c[1]
    f = lambda c: so.root(far, guess, (c,), "broyden2", tol=1e-12)
    c = np.array([0.7, 0.2])
    got, want = tj.jit(f, fallback=False)(c), f(c)
    assert got.x.shape == want.x.shape == (1, 2) and (got.nit, got.nfev) == (want.nit, want.nfev)
    np.testing.assert_allclose(got.x, want.x, rtol=1e-10)
    near = [(f(c + e).x - f(c - e).x).ravel() / 2e-5 for e in 1e-5 * np.eye(2)]
    parts = lambda c: (lambda x: np.concatenate([x.real, x.imag]))(f(c).x.ravel())
    slope = tj.jit(tj.jacobian(parts))(c)
    np.testing.assert_allclose(slope[:2] + 1j * slope[2:], np.transpose(near), rtol=1e-7)


def test_derivatives_in_lanes() -> None:
    """Of a method that is soon compiled."""
    find = lambda c, **o: so.linearmixing(lambda x: c - gap(x, 0.0), GUESS, f_tol=1e-12, **o)
    f = lambda c: np.sum(find(c, alpha=0.6, line_search=None) ** 2)
    near = (f(0.70001) - f(0.69999)) / 2e-5
    np.testing.assert_allclose(tj.jit(tj.grad(f))(0.7), near, rtol=1e-7)
    cs = np.array([0.5, 0.7, 0.9])
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(cs), [f(c) for c in cs], rtol=1e-9)


@pytest.mark.exhaustive
def test_higher_derivatives() -> None:
    f = lambda c: np.sum(so.newton_krylov(lambda x: gap(x, c), GUESS, f_tol=1e-12) ** 2)
    slope = tj.grad(f)
    bend = (slope(0.7001) - slope(0.6999)) / 2e-4
    np.testing.assert_allclose(tj.jit(tj.grad(slope))(0.7), bend, rtol=1e-6)
    cs = np.array([0.5, 0.7, 0.9])
    np.testing.assert_allclose(tj.jit(tj.vmap(slope))(cs), [slope(c) for c in cs], rtol=1e-7)


@pytest.mark.exhaustive
def test_numbers_and_single_precision() -> None:
    f = lambda c: so.broyden2(lambda x: x + 0.3 * np.sin(2 * x) - c, 1.0)
    got, want = tj.jit(f, fallback=False)(0.7), f(0.7)
    assert (type(got), got.shape, got.dtype) == (type(want), want.shape, want.dtype)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    # SciPy tries float64 steps with the second function, and Python does the call.
    three = np.float32(0.3)
    for bend in (lambda x: three * x**3, lambda x: three * np.sin(2 * x)):
        f = lambda c, b=bend: so.broyden1(lambda x: x + b(x) - c, np.ones(3, np.float32), f_tol=1e-5)
        with tj.config.override(fallback=True):
            got, want = tj.jit(f)(np.float32(0.7)), f(np.float32(0.7))
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-4)


def test_failures_are_those_of_scipy() -> None:
    few = lambda c: so.linearmixing(lambda x: gap(x, c), GUESS, maxiter=2, alpha=-0.1, line_search=None)
    with pytest.raises(tj.errors.SolverFailedError, match="maximum number of iterations"):
        tj.vmap(few)(np.array([0.7]))
    with tj.config.override(fallback=True):
        with pytest.raises(so.NoConvergence) as told:
            tj.jit(few)(0.7)
        assert told.value.args[0].shape == (3,)
        nothing = lambda c: so.root(lambda x: np.sqrt(x - 5) - c, GUESS, method="linearmixing").x
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="must not contain infs or NaNs"):
            tj.jit(nothing)(0.7)
        with pytest.raises(ValueError, match="Invalid line search"):
            tj.jit(lambda c: so.root(gap, GUESS, (c,), "broyden1", options={"line_search": "no"}).x)(0.7)


@pytest.mark.exhaustive
def test_callbacks_see_the_steps() -> None:
    seen: list[Any] = []
    f = lambda c: so.broyden1(
        lambda x: gap(x, c), GUESS, callback=lambda x, y: seen.append((x[0], np.sum(y)))
    )
    f(0.7)
    want = np.array(seen)
    seen.clear()
    tj.jit(f, fallback=False)(0.7)
    np.testing.assert_allclose(np.array(seen), want, atol=1e-12)

    def writing(x: Any, y: Any) -> None:
        x[0] = 0.0

    with pytest.raises(tj.errors.SolverOptionError, match="writes into"):
        tj.jit(lambda c: so.broyden1(lambda x: gap(x, c), GUESS, callback=writing), fallback=False)(0.7)


def test_what_scipy_does() -> None:
    """On the host: other methods of Krylov's, which have the shape of the guess, too."""
    f = lambda c, m, o: so.root(lambda x, c: -x - 0.1 * x**3 + c, np.ones((2, 1)), (c,), m, options=o).x
    for given in (("df-sane", {}), ("krylov", {"jac_options": {"method": "gmres"}})):
        got = tj.jit(lambda c, g=given: f(c, *g), fallback=False)(0.7)
        np.testing.assert_allclose(got, f(0.7, *given), rtol=1e-8)
