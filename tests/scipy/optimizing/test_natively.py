"""Minimizers that are native loops: SciPy's minima, counts and reports, whatever derivatives are given."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj
from tracejit.errors import FallbackWarning
from tracejit.scipy.written.minima import descents, powell, regions, simplex


def rosenbrock(x: Any, c: Any) -> Any:
    return np.sum(c * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def soft(x: Any, c: Any) -> Any:
    return np.sum(np.log(1 + np.exp(x * c)) - x) + 0.1 * np.sum(x * x)


SLOPE, BEND = tj.jit(tj.grad(rosenbrock)), tj.jit(tj.hessian(rosenbrock))
START = np.linspace(-1, 1.2, 8)
SHORT = np.array([-1.2, 1.0, 0.7])


def compared(got: Any, want: Any) -> None:
    assert list(got) == list(want) and got.message == want.message
    for name in set(want) - {"message", "final_simplex"}:
        assert type(got[name]) is type(want[name]), name
        np.testing.assert_allclose(got[name], want[name], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "options",
    [{}, {"gtol": 1e-8}, {"maxiter": 5}, {"norm": 2, "xrtol": 1e-3}, {"c1": 0.1, "c2": 0.4}, {"gtol": 0.0}],
)
def test_results_are_those_of_scipy(options: Any) -> None:
    """With no tolerance the line search fails in the end, and the second one of SciPy's, too."""
    run = lambda c: so.minimize(rosenbrock, START, args=(c,), options=options)
    got = tj.jit(run)(100.0)
    want = so.minimize(rosenbrock, START, args=(100.0,), jac=tj.grad(rosenbrock), options=options)
    np.testing.assert_allclose(got.x, want.x, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(got.fun, want.fun, rtol=1e-5, atol=1e-9)
    assert (got.status, got.success, got.message) == (want.status, want.success, want.message)
    assert abs(got.nit - want.nit) <= 0.1 * want.nit
    # How long the last search goes on that finds nothing, the processor's rounding decides.
    assert not want.success or abs(got.nfev - want.nfev) <= 0.2 * want.nfev


def wavy(x: Any, c: Any) -> Any:
    return np.sum((x - c) ** 4 / 50 + np.sin(5 * x) * 2 + np.exp(-x)) + (x[0] * x[-1]) ** 2


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", [{"c1": 0.1, "c2": 0.2}, {"c2": 0.05}])
def test_steps_in_brackets_that_hardly_shrink(options: Any) -> None:
    compiled = tj.jit(lambda start: so.minimize(wavy, start, args=(1.3,), options=options))
    for seed in (2, 26):
        start = np.random.default_rng(seed).normal(size=4) * 3
        got, want = compiled(start), so.minimize(wavy, start, args=(1.3,), jac=tj.grad(wavy), options=options)
        for count in ("nit", "nfev", "njev", "status"):
            assert got[count] == want[count], (seed, count)
        np.testing.assert_allclose(got.x, want.x, rtol=1e-7)


def test_a_simplex_that_shrinks() -> None:
    bumpy = lambda x, c: np.sum((x - c) ** 2) + 5 * np.sum(np.abs(np.sin(9 * x)))
    run = lambda start: so.minimize(bumpy, start, args=(0.3,), method="Nelder-Mead")
    start = np.random.default_rng(13).normal(size=3)  # shrinks once
    compared(tj.jit(run)(start), run(start))


BOUNDS = [(-2.0, 0.5), (-1.0, 2.0), (-1.0, 0.75)]
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "cg": ("CG", {"jac": SLOPE}),
    "cg, few steps": ("CG", {"jac": SLOPE, "options": {"maxiter": 7, "norm": 2}}),
    "newton, matrix": ("Newton-CG", {"jac": SLOPE, "hess": BEND}),
    "newton, products": ("Newton-CG", {"jac": SLOPE, "hessp": lambda x, p, c: BEND(x, c) @ p}),
    "newton, differences": ("Newton-CG", {"jac": SLOPE, "options": {"maxiter": 5}}),
    "ncg": ("trust-ncg", {"jac": SLOPE, "hess": BEND, "options": {"gtol": 1e-8}}),
    "ncg, products": ("trust-ncg", {"jac": SLOPE, "hessp": lambda x, p, c: BEND(x, c) @ p}),
    "exact": ("trust-exact", {"jac": SLOPE, "hess": BEND, "options": {"initial_trust_radius": 0.3}}),
    "powell": ("Powell", {"options": {"xtol": 1e-5}}),
    "powell, few calls": ("Powell", {"options": {"maxfev": 90, "maxiter": None}}),
    "simplex": ("Nelder-Mead", {}),
    "simplex, few calls": ("Nelder-Mead", {"options": {"maxfev": 37, "adaptive": True}}),
    "simplex, bounds": ("Nelder-Mead", {"bounds": BOUNDS, "options": {"maxiter": 90}}),
    "value and gradient": ("CG", {"jac": True}),
}


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", SETTINGS)
def test_steps_are_those_of_scipy(name: str) -> None:
    method, given = SETTINGS[name]
    fun = (lambda x, c: (rosenbrock(x, c), SLOPE(x, c))) if given.get("jac") is True else rosenbrock
    run = lambda c: so.minimize(fun, SHORT, args=(c,), method=method, **given)
    compiled = tj.jit(run, fallback=False)
    got, want = compiled(9.0), run(9.0)
    compared(got, want)
    if method == "Nelder-Mead":
        np.testing.assert_allclose(got.final_simplex[0], want.final_simplex[0], rtol=1e-7)
    assert "library_call" not in compiled.lower(9.0).as_text("jaxpr")


def test_what_was_given_is_used() -> None:
    """A wrong gradient leads SciPy, and so the program, elsewhere; `jac` that names differences is SciPy's."""
    run = lambda c: so.minimize(
        soft, SHORT, args=(c,), jac=lambda x, c: 1.3 * x - 0.2, options={"maxiter": 4}
    )
    compared(tj.jit(run, fallback=False)(2.0), run(2.0))
    with pytest.raises(tj.errors.SolverOptionError, match="2-point"):
        tj.jit(lambda c: so.minimize(soft, SHORT, args=(c,), jac="2-point").x, fallback=False)(2.0)


@pytest.mark.sample(4)
@pytest.mark.parametrize("method", ["CG", "Newton-CG", "trust-ncg", "trust-exact", "Nelder-Mead"])
def test_derivatives(method: str) -> None:
    best = lambda c: so.minimize(soft, SHORT[:2], args=(c,), method=method, tol=1e-10).x
    want = (best_of(2.001) - best_of(1.999)) / 2e-3
    np.testing.assert_allclose(tj.jit(tj.jacfwd(best))(2.0), want, rtol=1e-3)
    cs = np.array([1.5, 2.0, 2.5])
    np.testing.assert_allclose(tj.jit(tj.vmap(best))(cs), [best_of(c) for c in cs], atol=1e-4)


def best_of(c: float) -> Any:
    return so.minimize(soft, SHORT[:2], args=(c,), tol=1e-10).x


def test_no_step_at_all_and_no_numbers() -> None:
    near = lambda c: so.minimize(lambda x: np.sum((x - c) ** 2), [c, c])
    got, want = tj.jit(near)(1.5), near(1.5)
    assert (got.nit, got.status, got.message) == (0, 0, want.message) and got.x.tolist() == [1.5, 1.5]
    nan = lambda c: so.minimize(lambda x: np.sum(np.sqrt(x - c)), [0.0, 0.0])
    with np.errstate(all="ignore"):
        got, want = tj.jit(nan, fallback=True)(1.0), nan(1.0)
    assert (got.status, got.message) == (want.status, want.message)


def test_derivatives_in_loops_and_lanes() -> None:
    def best(c: Any) -> Any:
        return so.minimize(
            lambda x: (x[0] - c) ** 2 + c * (x[1] - x[0] ** 2) ** 2 + x[1] ** 4, [0.5, 0.5], tol=1e-9
        ).x

    def path(cs: Any) -> Any:
        total = 0.0
        for c in cs:
            total = total + best(c)[1]
        return total

    want = lambda c: (best(c + 1e-5) - best(c - 1e-5)) / 2e-5
    cs = np.linspace(0.6, 2.0, 20)
    np.testing.assert_allclose(tj.jit(tj.grad(path))(cs)[3], want(cs[3])[1], rtol=1e-4)
    np.testing.assert_allclose(tj.jit(tj.vmap(best))(cs[:3]), [best(c) for c in cs[:3]], rtol=1e-6)


FUNCTIONS: dict[str, Any] = {
    "rosenbrock": lambda x: rosenbrock(x, 100.0),
    "soft": lambda x: soft(x, 1.3),
    "quartic": lambda x: np.sum((x - 1) ** 4),
    "waves": lambda x: np.sum(np.cos(x) + 0.05 * x * x) + 0.1 * x[0] * x[-1],
    "corner": lambda x: np.sum(np.abs(x - 0.3)),
}


@pytest.mark.exhaustive
@np.errstate(all="ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_loops_have_the_bits_of_scipy(name: str) -> None:
    """As Python, without a compiler."""
    rng = np.random.default_rng(0)
    f = FUNCTIONS[name]
    slope, bend = tj.jit(tj.grad(f)), tj.jit(tj.hessian(f))
    both = lambda x: (f(x), slope(x))
    for i in range(20):
        n = 2 + i % 4
        x = rng.normal(size=n) * (1 + i % 3)
        most = 200 * n if i % 4 else int(rng.integers(1, 9))
        o = {"maxiter": most}
        r = so.minimize(f, x, method="CG", jac=slope, options=o)
        got = descents.conjugate(both, x, (1e-5, np.inf, most, 1e-4, 0.4))
        assert (*r.x, r.fun, r.nfev, r.njev, r.nit, r.status) == (*got[0], got[1], *got[3:7])
        r = so.minimize(f, x, method="Nelder-Mead", options=o | {"maxfev": 90})
        low = np.full(n, -np.inf)
        corners = simplex.around(x, low, -low, False)
        got = simplex.nelder_mead(f, corners, low, -low, (1e-4, 1e-4, most, 90, False, False))
        assert (*r.x, r.nit, r.nfev, r.status) == (*got[0][0], *got[2:])
        r = so.minimize(f, x, method="Powell", options=o | {"maxfev": 900})
        got = powell.powell(f, x, np.eye(n), (1e-4, 1e-4, most, 900))
        assert (*r.x, r.fun, *r.direc.ravel(), r.nit, r.nfev, r.status) == (
            *got[0],
            got[1],
            *got[2].ravel(),
            *got[3:],
        )
        if name != "corner":
            r = so.minimize(f, x, method="trust-ncg", jac=slope, hess=bend, options=o)
            given = 1.0, 1000.0, 0.15, 1e-4, most, False, 25, False
            got = regions.trusted(both, bend, lambda x, h, p: (h @ p, 0), x, given)
            assert (r.nfev, r.njev, r.nhev, r.nit, r.status) == got[4:]
            np.testing.assert_allclose(r.x, got[0], rtol=1e-9)


@pytest.mark.filterwarnings(
    "ignore::RuntimeWarning"
)  # of nothing, and of steps that single precision is too coarse for
@pytest.mark.parametrize("method", ["BFGS", "Newton-CG", "Nelder-Mead"])
def test_guesses_that_no_native_loop_takes(method: str) -> None:
    """Of single precision, in which SciPy's steps are then: Python runs them. One of two axes is an error."""
    run = lambda x: so.minimize(lambda v: np.sum((v - 3) ** 2), x, method=method, jac=lambda v: 2 * (v - 3))
    start = np.array([1.0, 2.0], np.float32)
    with pytest.warns(FallbackWarning, match="TJ182"):
        got, want = tj.jit(run, fallback=True)(start), run(start)
    assert got.x.dtype == want.x.dtype and got.nfev == want.nfev
    np.testing.assert_array_equal(got.x, want.x)
    with pytest.raises(ValueError, match="'x0' must only have one dimension"):
        tj.jit(run)(np.ones((2, 2)))


@pytest.mark.sample(2)
@pytest.mark.parametrize(("method", "most"), [("BFGS", 500), ("BFGS", 3), ("Nelder-Mead", 500)])
def test_scipy_prints_and_warns_with_disp(method: str, most: int, capsys: pytest.CaptureFixture[str]) -> None:
    """As entries of the program, in their order."""
    given = (
        {"jac": SLOPE, "hess": BEND} if method == "trust-ncg" else {"jac": SLOPE} if method == "BFGS" else {}
    )

    def run(c: Any) -> Any:
        print("before")
        return so.minimize(
            soft, SHORT, args=(c,), method=method, options={"disp": True, "maxiter": most}, **given
        ).x

    compiled = tj.jit(run, fallback=False)
    told = []
    for f in (compiled, run):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            f(2.0)
        out, warned = capsys.readouterr().out, [(w.category, str(w.message)) for w in seen]
        if any("precision loss" in text for _, text in warned):
            # Last bits decide how often the last step is tried.
            out = re.sub(r"evaluations: \d+", "evaluations: many", out)
        told.append((out, warned))
    assert told[0] == told[1] and told[0][0].startswith("before\n")
    assert "library_call" not in compiled.lower(2.0).as_text("jaxpr")
