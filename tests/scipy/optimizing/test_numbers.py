"""Minima of functions of one number: SciPy's steps, reports and failures, without a call of SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj
from tracejit.scipy.written.minima import numbers


def wave(x: Any, c: Any) -> Any:
    return np.cos(x * c) + 0.1 * x * x


def none(x: Any, c: Any) -> Any:
    return c * x


SETTINGS: list[dict[str, Any]] = [
    {},
    {"bracket": (3.0, -1.0), "tol": 1e-3},
    {"bracket": (5.0, 1.9, -4.0)},
    {"options": {"maxiter": 3}},
    {"method": "golden"},
    {"method": "golden", "bracket": (2.0, 3.0), "options": {"maxiter": 7}},
    {"bounds": (0.1, 4.0)},
    {"bounds": (0.0, 4.0), "options": {"xatol": 1e-9, "maxiter": 5}},
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("n", range(len(SETTINGS)))
def test_results_are_those_of_scipy(n: int) -> None:
    run = lambda c: so.minimize_scalar(wave, args=(c,), **SETTINGS[n])
    got, want = tj.jit(run, fallback=False)(1.6), run(1.6)
    assert list(got) == list(want) and got.message == want.message
    for name in set(want) - {"message"}:
        assert type(got[name]) is type(want[name]), name
        np.testing.assert_allclose(got[name], want[name], rtol=1e-9, err_msg=name)


def test_points_that_are_no_bracket() -> None:
    run = lambda c: so.minimize_scalar(none, args=(c,))
    with np.errstate(over="ignore", invalid="ignore"):
        got, want = tj.jit(run, fallback=False)(1.3), run(1.3)
    assert dict(got) == dict(want) and not got.success
    for f in (so.brent, so.golden, so.bracket):
        with pytest.raises(RuntimeError, match="valid bracket"):
            tj.jit(lambda c, f=f: f(none, args=(c,)), fallback=False)(1.3)
    with pytest.warns(so.OptimizeWarning, match="Maximum number"):
        tj.jit(lambda c: so.fminbound(wave, 0, 4, (c,), maxfun=5), fallback=False)(1.6)
    with pytest.raises(ValueError, match="not fulfill"):
        tj.jit(lambda c: so.brent(wave, (c,), (1.0, 0.0, 2.0)), fallback=True)(1.0)


def test_nothing_is_called() -> None:
    def all_of_them(c: Any) -> Any:
        found = so.brent(wave, (c,)), so.golden(wave, (c,)), so.fminbound(wave, 0, 4, (c,), full_output=True)
        return *found, so.bracket(wave, 0.3, 1.0, (c,))

    compiled = tj.jit(all_of_them, fallback=False)
    got, want = compiled(1.6), all_of_them(1.6)
    np.testing.assert_allclose(np.hstack(got), np.hstack(want), rtol=1e-9)
    assert "library_call" not in compiled.lower(1.6).as_text("jaxpr")


@pytest.mark.exhaustive
@np.errstate(all="ignore")
def test_the_loops_have_the_bits_of_scipy() -> None:
    """As Python, without a compiler."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        c, a, b = rng.normal(size=3) * 3
        f = lambda x, c=c: wave(x, c)
        points = numbers.bracket(f, a, b, 110.0, 1000)
        assert so.bracket(f, a, b) == points[:7]
        r = so.minimize_scalar(f, bounds=(min(a, b), max(a, b)))
        assert (r.x, r.fun, r.nfev, r.status) == numbers.bounded(f, min(a, b), max(a, b), 1e-5, 500)
        for method, tol in (("brent", 1.48e-8), ("golden", float(np.sqrt(np.finfo(float).eps)))):
            r = so.minimize_scalar(f, bracket=(a, b), method=method)
            got = getattr(numbers, method)(f, *points[:3], points[4], tol, 500)
            assert (r.x, r.fun, r.nit, r.nfev - points[6]) == got


def test_derivatives() -> None:
    best = lambda c: so.minimize_scalar(wave, args=(c,), bracket=(1.0, 2.0), tol=1e-12).x
    near = lambda c: (best(c + 1e-5) - best(c - 1e-5)) / 2e-5
    np.testing.assert_allclose(tj.jit(tj.grad(best))(1.6), near(1.6), rtol=1e-3)
    cs = np.array([1.4, 1.6, 1.9])
    np.testing.assert_allclose(tj.jit(tj.vmap(best))(cs), [best(c) for c in cs], rtol=1e-6)
    # The least value is on a bound, which the search does not reach.
    edge = lambda low: so.minimize_scalar(lambda x: (x + 1) ** 2, bounds=(low, 4.0)).x
    np.testing.assert_allclose(tj.jit(tj.grad(edge))(0.5), 1.0, rtol=1e-9)
