"""MINPACK's methods as native loops: each rounding is SciPy's, and so are counts and reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj
from tracejit.scipy.written.minima import minpack

START = np.array([0.7, -0.4])
SYSTEMS: dict[str, Any] = {
    "powers": lambda x, c: x**3 + c * x - 1,
    "rosenbrock": lambda x, c: np.stack([c * (x[1] - x[0] ** 2), 1 - x[0]]),
    "none": lambda x, c: x**2 + c,
}
SETTINGS: list[tuple[str, str, dict[str, Any]]] = [
    ("powers", "hybr", {}),
    ("powers", "lm", {"maxiter": 4}),
    ("rosenbrock", "hybr", {"xtol": 1e-12, "factor": 1.0, "diag": [1.0, 3.0]}),
    ("rosenbrock", "lm", {"ftol": 1e-12, "xtol": 1e-12}),
    ("none", "hybr", {}),
    ("none", "hybr", {"maxfev": 4}),
    ("none", "lm", {}),
]


@pytest.mark.sample(6)
@pytest.mark.parametrize("n", range(len(SETTINGS)))
def test_roots_are_those_of_scipy(n: int) -> None:
    name, method, options = SETTINGS[n]
    told = lambda r: (r.x, r.fun, r.nfev, r.njev, r.status, r.success, r.message)
    slope = tj.jit(tj.jacfwd(SYSTEMS[name]))
    find = lambda c, jac: told(
        so.root(SYSTEMS[name], START, args=(c,), method=method, jac=jac, options=options)
    )
    compiled = tj.jit(lambda c: find(c, None), fallback=False)
    got, want = compiled(1.7), find(1.7, slope)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-10)
    np.testing.assert_allclose(got[1], want[1], atol=1e-10)
    assert got[2:] == want[2:] and [type(g) for g in got] == [type(w) for w in want]
    assert "library_call" not in compiled.lower(1.7).as_text("jaxpr")


T = np.linspace(0, 2, 15)
Y = 2 * np.exp(-1.3 * T) + 0.05 * np.sin(20 * T)


def decay(t: Any, a: Any, b: Any) -> Any:
    return a * np.exp(-b * t)


def test_squares_are_those_of_scipy(thorough: bool) -> None:
    gap = lambda p, y: decay(T, p[0], p[1]) - y
    slope = tj.jit(tj.jacfwd(gap))
    for o in ({"ftol": 1e-12, "max_nfev": 3}, {"x_scale": [1.0, 2.0]}, {})[: 3 if thorough else 2]:
        run = lambda y, jac, o=o: so.least_squares(gap, [1.0, 1.0], jac, method="lm", args=(y,), **o)
        got, want = tj.jit(lambda y, run=run: run(y, "2-point"), fallback=False)(Y), run(Y, slope)
        assert list(got) == list(want) and got.message == want.message
        for k in set(want) - {"message"}:
            np.testing.assert_allclose(got[k], want[k], rtol=1e-7, atol=1e-10, err_msg=k)
    fit = lambda y: so.curve_fit(decay, T, y)
    compiled = tj.jit(fit, fallback=False)
    np.testing.assert_allclose(compiled(Y)[0], fit(Y)[0], rtol=1e-6)
    assert "library_call" not in compiled.lower(Y).as_text("jaxpr")
    with pytest.warns(RuntimeWarning, match="maxfev = 2"):
        x, code = tj.jit(lambda y: so.leastsq(gap, [1.0, 1.0], args=(y,), maxfev=2), fallback=False)(Y)
    assert code == 5 and x.shape == (2,)


def test_what_was_given_is_used() -> None:
    """A matrix that is not the derivative leads SciPy, and so the program, another way."""
    find = lambda c: so.root(SYSTEMS["powers"], START, args=(c,), jac=lambda x, c: np.diag(2 + 3 * x**2))
    told = lambda c: (lambda r: (r.x, r.nfev, r.njev))(find(c))
    got, want = tj.jit(told, fallback=False)(1.7), told(1.7)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    assert got[1:] == want[1:]


def test_derivatives_in_lanes() -> None:
    find = lambda c: so.fsolve(SYSTEMS["powers"], START, args=(c,))
    near = (find(1.7001) - find(1.6999)) / 2e-4
    np.testing.assert_allclose(tj.jit(tj.jacfwd(find))(1.7), near, rtol=1e-6)
    cs = np.array([1.2, 1.7, 2.4])
    np.testing.assert_allclose(tj.jit(tj.vmap(find))(cs), [find(c) for c in cs], rtol=1e-9)


def test_what_is_told_about_the_search() -> None:
    slope = lambda x, c: np.diag(3 * x**2 + c)

    def root(c: Any, own: Any = None) -> Any:
        x, told, code, text = so.fsolve(SYSTEMS["powers"], START, (c,), own, full_output=True)
        return told["nfev"], code, text, x, told["fvec"]

    def least(c: Any, own: Any = None) -> Any:
        x, square, told, text, code = so.leastsq(SYSTEMS["powers"], START, (c,), own, full_output=True)
        return told["nfev"], code, text, x, told["fvec"], square

    for f in (root, least):
        got, want = tj.jit(lambda c, f=f: f(c), fallback=False)(1.7), f(1.7, slope)
        assert got[:3] == want[:3]
        for a, b in zip(got[3:], want[3:], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-9)
    lost = tj.jit(lambda c: so.leastsq(lambda x: x[:1] * c + 0 * x, START, full_output=True)[1])
    with tj.config.override(fallback=True):
        assert lost(1.7) is None  # the matrix has no inverse: Python does the call


@pytest.mark.exhaustive
@np.errstate(all="ignore")
def test_the_loops_have_the_bits_of_scipy() -> None:
    """As Python, without a compiler."""
    rng = np.random.default_rng(0)
    waves = lambda x, c: (
        len(x) - np.sum(np.cos(x)) + np.arange(1, len(x) + 1) * (1 - np.cos(x)) - np.sin(x) * c
    )
    for f in (*SYSTEMS.values(), waves):
        slope = tj.jit(tj.jacfwd(f))
        for i in range(20):
            x, c = rng.normal(size=2) * (1 + i % 3), rng.normal()
            r = so.root(f, x, args=(c,), jac=slope)
            given = 1.49012e-08, 300, 100.0, False
            got = minpack.hybrid(lambda x, c=c, f=f: f(x, c), lambda x, c=c, s=slope: s(x, c), x, x, given)
            assert (*r.x, r.nfev - 2, r.njev, r.status) == (*got[0], *got[2:])
            r = so.leastsq(f, x, (c,), slope, full_output=True)
            given = 1.49012e-08, 1.49012e-08, 0.0, 300, 100.0, False
            got = minpack.marquardt(lambda x, c=c, f=f: f(x, c), lambda x, c=c, s=slope: s(x, c), x, x, given)
            assert (*r[0], r[2]["nfev"], r[2]["njev"], r[4]) == (*got[0], *got[2:])
