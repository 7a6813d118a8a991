"""L-BFGS-B as a native loop: SciPy's steps, counts, messages and fields, whatever the bounds, and its failures."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj
from tracejit.scipy.optimizing import natively
from tracejit.scipy.written.minima.limited import lbfgsb


def weighted(x: Any) -> Any:
    return np.arange(1.0, len(x) + 1) * (x - 0.3)


#: Functions with their gradients; some of these are wrong, so that line searches fail.
FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "rosenbrock": (so.rosen, so.rosen_der),
    "quadratic": (
        lambda x: weighted(x) @ (x - 0.3) + np.sum(x) ** 2,
        lambda x: 2 * weighted(x) + 2 * np.sum(x),
    ),
    "quartic": (lambda x: np.sum((x - 1) ** 4), lambda x: 4 * (x - 1) ** 3),
    "waves": (lambda x: np.sum(np.cos(x) + 0.05 * x * x), lambda x: -np.sin(x) + 0.1 * x),
    "equal unknowns": (lambda x: np.sum(x * x), lambda x: 2 * x),
    "falling": (lambda x: np.sum(x), lambda x: np.ones(len(x))),
    "flat": (lambda x: 0 * x[0] + 1.0, lambda x: 0 * x),
    "no number": (lambda x: np.sum(np.sqrt(x)), lambda x: 0.5 / np.sqrt(x)),
    "partly": (lambda x: np.sum(x - np.log(x)), lambda x: 1 - 1 / x),
    "upward": (lambda x: np.sum((x - 1) ** 2), lambda x: -2 * (x - 1)),
    "rough": (lambda x: np.sum((x - 1) ** 2) + np.sin(40 * x[0]), lambda x: 2 * (x - 1)),
}
OPTIONS: list[dict[str, Any]] = [
    {},
    {"maxcor": 2},
    {"maxfun": 5},
    {"maxiter": 0},
    {"maxls": 2},
    {"maxiter": 3},
]


def problem(rng: Any, i: int) -> Any:
    """A start, which may lie outside, and bounds: none, some, all, with unknowns that are fixed."""
    n = int(rng.integers(2, 9))
    x = np.full(n, 0.7) if i % 7 == 0 else rng.normal(size=n) * (1 + i % 3)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    if i % 4:
        low = np.where(rng.random(n) < 0.5, low, rng.normal(size=n) - 0.5)
        high = np.where(rng.random(n) < 0.5, high, np.where(np.isinf(low), 0, low) + 2 * rng.random(n))
    if i % 4 == 2:
        low, high = np.full(n, -1.0), np.full(n, 0.5 + rng.random())
    if i % 5 == 4 and i % 4:
        low[0] = high[0] = 0.4
    return x, low, high, i % 4 != 0


@pytest.mark.sample(2)
@np.errstate(all="ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_loop_takes_the_steps_of_scipy(name: str) -> None:
    """As Python, without a compiler."""
    f, slope = FUNCTIONS[name]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for i in range(24):
        x, low, high, bounded = problem(rng, i)
        o = OPTIONS[i % len(OPTIONS)] | ({"maxiter": 20} if name == "falling" else {})
        given = natively.settings("l-bfgs-b", o, None, bounded)
        assert given is not None
        sizes = [given[k] for k in ("maxcor", "ftol", "gtol", "maxiter", "maxfun", "maxls")]
        limits = so.Bounds(low, high) if bounded else None
        want = so.minimize(f, x, jac=slope, method="L-BFGS-B", bounds=limits, options=o)
        start = np.clip(x, low, high)
        got = lbfgsb(lambda x: (np.float64(f(x)), slope(x)), start, low, high, (*sizes, bounded))
        counts = want.nfev, want.njev, want.nit, want.message
        assert counts == (*got[3:6], natively.LIMITED_TOLD[got[6] - 1]), i
        np.testing.assert_allclose(got[0], want.x, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(got[1], want.fun, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(got[2], want.jac, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(got[7][: got[9]], want.hess_inv.sk, rtol=1e-3, atol=1e-5)


@np.errstate(all="ignore")
def test_unknowns_of_equal_breakpoints_come_in_the_order_of_scipys_heap() -> None:
    """Many reach their bounds at once: which of them is fixed first decides what the others do."""
    n = 9
    f = lambda x: np.sum(x) + 0.1 * weighted(x) @ x
    slope = lambda x: np.ones(n) + 0.1 * (weighted(x) + np.arange(1.0, n + 1) * x)
    low, high = np.full(n, -1.0), np.full(n, 2.0)
    want = so.minimize(f, np.ones(n), jac=slope, method="L-BFGS-B", bounds=list(zip(low, high, strict=True)))
    got = lbfgsb(
        lambda x: (f(x), slope(x)), np.ones(n), low, high, (10, 2.2e-9, 1e-5, 15000, 15000, 20, True)
    )
    assert (want.nfev, want.nit) == (got[3], got[5])
    np.testing.assert_allclose(got[0], want.x, rtol=1e-9)


def rosenbrock(x: Any, c: Any) -> Any:
    return np.sum(c * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


SLOPE = tj.jit(tj.grad(rosenbrock))
START = np.array([-1.2, 1.0, 0.7])


def bounds(c: Any) -> Any:
    return [(-2.0, c / 18), (None, 2.0), (-1.0, 0.75)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("bounded", [False, True])
def test_results_have_all_fields(bounded: bool) -> None:
    limited = bounds(9.0) if bounded else None
    run = lambda c: so.minimize(rosenbrock, START, (c,), "L-BFGS-B", bounds=limited)
    compiled = tj.jit(run, fallback=False)
    got = compiled(9.0)
    want = so.minimize(rosenbrock, START, (9.0,), "L-BFGS-B", SLOPE, bounds=limited)
    assert list(got) == list(want) and got.message == want.message
    for name in set(want) - {"message", "hess_inv"}:
        assert type(got[name]) is type(want[name]), name
        np.testing.assert_allclose(got[name], want[name], rtol=1e-5, atol=1e-9, err_msg=name)
    assert type(got.hess_inv) is type(want.hess_inv) and got.hess_inv.n_corrs == want.hess_inv.n_corrs
    np.testing.assert_allclose(got.hess_inv.todense(), want.hess_inv.todense(), rtol=1e-4, atol=1e-6)
    assert "library_call" not in compiled.lower(9.0).as_text("jaxpr")


def test_bounds_choose_the_method_and_derivatives_are_those_of_what_is_active() -> None:
    best = lambda c: so.minimize(rosenbrock, START, (c,), bounds=bounds(c), tol=1e-12).x
    want = (best(9.0 + 1e-3) - best(9.0 - 1e-3)) / 2e-3
    got = tj.jit(tj.jacfwd(best))(9.0)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    assert abs(got[0] - 1 / 18) < 1e-12  # it lies on its bound
    cs = np.array([8.0, 9.0])
    np.testing.assert_allclose(tj.jit(tj.vmap(best))(cs), [best(c) for c in cs], rtol=1e-5)


def test_what_no_native_loop_takes() -> None:
    """Its operator is a result alone; options that SciPy refuses or warns of, and bounds that cross, are SciPy's."""
    with pytest.raises(tj.errors.SolverOptionError, match="hess_inv"):
        tj.jit(lambda c: so.minimize(rosenbrock, START, (c,), "L-BFGS-B").hess_inv.todense(), fallback=False)(
            9.0
        )
    for o in ({"maxcor": 0}, {"ftol": -1.0}, {"maxls": 0}, {"disp": False}, {"norm": 2}, {"maxiter": None}):
        assert natively.settings("l-bfgs-b", o, None, True) is None
    assert natively.settings("l-bfgs-b", {"ftol": 1e-3}, 1e-8, True)["ftol"] == 1e-3  # type: ignore[index]
    assert natively.settings("bfgs", {}, None, True) is None


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_settings_that_scipy_alone_knows_are_its_own() -> None:
    def kind(x: Any) -> Any:
        found = so.minimize(lambda q: ((q - 1) ** 2).sum(), x, bounds=[(0, 3), (0, 0.5)])
        return isinstance(found.hess_inv, so.LbfgsInvHessProduct)

    def unknown(x: Any) -> Any:
        return so.minimize(lambda q: ((q - 1) ** 2).sum(), x, bounds=[(np.nan, 3), (0, 0.5)]).x

    def broken(x: Any) -> Any:
        return so.minimize(lambda q: (q**2).sum(), x, method="L-BFGS-B", options={"maxls": 20.5}).x

    start = np.array([0.3, 0.2])
    assert tj.jit(kind, fallback=False)(start) is True
    np.testing.assert_allclose(tj.jit(unknown, fallback=True)(start), unknown(start), rtol=1e-6)
    with pytest.raises(TypeError):
        tj.jit(broken, fallback=True)(start)
