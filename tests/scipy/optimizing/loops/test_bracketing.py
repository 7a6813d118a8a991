"""Root finders in intervals: SciPy's own roots and counts, and derivatives of roots that are found in loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj

FINDERS = [so.brentq, so.brenth, so.bisect, so.ridder]


@pytest.mark.parametrize("find", FINDERS)
def test_iterations_are_those_of_scipy(find: Any) -> None:
    """The same steps; the function itself may differ from Python's in the last bit."""
    rng = np.random.default_rng(0)

    def solved(c: Any, a: Any, b: Any) -> Any:
        root, r = find(lambda x: np.exp(x) - c, a, b, full_output=True)
        return root, r.root, r.iterations, r.function_calls, r.converged

    run = tj.jit(solved)
    same = 0
    for _ in range(20):
        args = rng.uniform(0.2, 3), rng.uniform(-5, -1.7), rng.uniform(1.2, 2.5)
        got, want = run(*args), solved(*args)
        np.testing.assert_allclose(got[:2], want[:2], rtol=1e-12, atol=1e-11)
        assert list(map(type, got)) == [float, float, int, int, bool]
        same += got[2:] == want[2:]
    assert same >= 14


@pytest.mark.parametrize("find", FINDERS)
def test_ends_that_are_roots(find: Any) -> None:
    run = tj.jit(lambda a, b: find(lambda x: x * x - 4, a, b, full_output=True)[1].function_calls)
    for ends in ((2.0, 5.0), (0.0, 2.0)):
        assert run(*ends) == find(lambda x: x * x - 4, *ends, full_output=True)[1].function_calls


def test_reports_of_what_did_not_converge() -> None:
    g = lambda x: x**3 - 1
    slopes = {"fprime": lambda x: 3 * x * x, "fprime2": lambda x: 6 * x}
    run = lambda c: so.brentq(lambda x: g(x) * c, 0.0, 9.0, maxiter=3, full_output=True, disp=False)[1]
    assert dict(tj.jit(run, fallback=False)(1.0)) == dict(run(1.0)) and not run(1.0).converged
    for method in ("brentq", "bisect", "toms748", "secant", "halley"):
        given = {"bracket": (0.0, 9.0), "x0": 0.5, "x1": 0.6, "method": method}
        given |= slopes if method == "halley" else {}
        for most in (2, 60):
            f = lambda c: so.root_scalar(lambda x: g(x) * c, maxiter=most, **given)
            got, want = tj.jit(f, fallback=False)(1.0), f(1.0)
            assert got.converged is want.converged is (most == 60)
            assert got.flag == want.flag and got.iterations == want.iterations
            assert np.isclose(got.root, want.root, rtol=1e-12)
    slope = tj.grad(lambda c: so.root_scalar(lambda x: x**3 - c, bracket=(0.0, 9.0)).root)(8.0)
    assert np.isclose(slope, 1 / 12)


def test_failures() -> None:
    with pytest.raises(tj.errors.RootBracketError, match="different signs"):
        tj.grad(lambda c: so.brentq(lambda x: x * x + c, 0, 5))(2.0)
    with pytest.raises(tj.errors.SolverFailedError, match="brentq did not converge"):
        tj.jit(lambda c: so.brentq(lambda x: x**3 - c, 0, 5, maxiter=2))(2.0)
    few = tj.jit(lambda c: so.brentq(lambda x: x**3 - c, 0, 5, maxiter=2, disp=False))
    assert few(2.0) == so.brentq(lambda x: x**3 - 2.0, 0, 5, maxiter=2, disp=False)
    for options in ({"xtol": 0.0}, {"rtol": 1e-20}, {"maxiter": -1}):
        with pytest.raises(ValueError, match=str(next(iter(options)))):
            tj.jit(lambda c, o=options: so.brentq(lambda x: x**3 - c, 0, 5, **o))(2.0)


def test_derivatives_of_roots_in_a_native_loop() -> None:
    """What the function reads of the loop's index is known to the derivative's rule, which runs later."""

    def total(c: Any) -> Any:
        s = 0.0
        for i in range(len(c)):
            s += so.brentq(lambda x: x**3 - c[i] * x - 1, 0.5, 5.0)
        return s

    c = np.linspace(0.5, 3, 40)
    roots = np.array([so.brentq(lambda x, k=k: x**3 - k * x - 1, 0.5, 5.0) for k in c])
    np.testing.assert_allclose(tj.jit(tj.grad(total))(c), roots / (3 * roots**2 - c), rtol=1e-10)
    assert "native loop of 40 steps" in str(tj.explain(tj.grad(total))(c))
