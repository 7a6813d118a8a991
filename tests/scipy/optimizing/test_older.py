"""SciPy's functions for one method each, and its searches in a region: SciPy's results, and derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so

import tracejit as tj


def valley(x: Any, c: Any) -> Any:
    return (x[0] - c) ** 2 + 2 * (x[1] - x[0] ** 2) ** 2 + 0.1 * x[1] ** 4


def both(x: Any, c: Any) -> Any:
    """The value and the gradient, as some of SciPy's functions want it."""
    a = 4 * (x[1] - x[0] ** 2)
    return valley(x, c), np.array([2 * (x[0] - c) - 2 * x[0] * a, a + 0.4 * x[1] ** 3])


START = np.array([0.5, 0.8])
BOX = [(0.0, 0.9), (-2.0, 2.0)]
QUIET = {"disp": 0}
MINIMA = {
    "fmin": lambda c: so.fmin(valley, START, (c,), 1e-9, 1e-9, full_output=1, **QUIET),
    "fmin_powell": lambda c: so.fmin_powell(valley, START, (c,), 1e-9, 1e-12, full_output=1, **QUIET),
    "fmin_cg": lambda c: so.fmin_cg(valley, START, None, (c,), 1e-8, full_output=1, **QUIET),
    "fmin_bfgs": lambda c: so.fmin_bfgs(valley, START, None, (c,), 1e-7, full_output=1, **QUIET),
    "fmin_l_bfgs_b": lambda c: so.fmin_l_bfgs_b(both, START, args=(c,), pgtol=1e-9, factr=10.0),
    "fmin_l_bfgs_b in a box": lambda c: so.fmin_l_bfgs_b(valley, START, None, (c,), 1, BOX)[:2],
    "fmin_tnc": lambda c: so.fmin_tnc(both, START, args=(c,), messages=0, xtol=1e-10, bounds=BOX),
    "fmin_slsqp": lambda c: so.fmin_slsqp(
        valley, START, [lambda x, c: x[0] + x[1] - c], args=(c,), iprint=0, acc=1e-12, full_output=1
    ),
    "fmin_cobyla": lambda c: so.fmin_cobyla(
        valley, START, [lambda x: 0.5 - x[1]], (c,), (), rhoend=1e-9, maxfun=4000, catol=1e-9
    ),
    "fmin_cobyla, arguments of all": lambda c: so.fmin_cobyla(
        valley, START, [lambda x, c: c - 0.8 - x[1]], (c,), rhoend=1e-9, maxfun=4000, catol=1e-9
    ),
    "leastsq": lambda c: so.leastsq(
        lambda x: np.array([x[0] - c, x[1] - x[0] ** 2, x[0] * x[1] - 0.3]), START
    ),
}


def first(out: Any) -> Any:
    return out[0] if isinstance(out, tuple) else out


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", MINIMA)
def test_minima(name: str) -> None:
    f = MINIMA[name]
    got, want = tj.jit(f)(1.1), f(1.1)
    assert type(got) is type(want) and (not isinstance(got, tuple) or len(got) == len(want))
    np.testing.assert_allclose(first(got), first(want), rtol=2e-5, atol=2e-5)
    if isinstance(want, tuple) and np.ndim(want[1]) == 0 and type(want[1]) is not int:
        np.testing.assert_allclose(got[1], want[1], rtol=1e-6, atol=1e-9)
    if name in (
        "fmin",
        "fmin_powell",
    ):  # no derivatives: the same steps, but for the last bits of the function
        assert got[-3:] == want[-3:]
    if name == "fmin_l_bfgs_b":
        assert got[2].keys() == want[2].keys() and got[2]["warnflag"] == 0
    slope = tj.jit(tj.jacobian(lambda c: first(f(c))))(1.1)
    near = (first(f(1.1 + 1e-3)) - first(f(1.1 - 1e-3))) / 2e-3
    np.testing.assert_allclose(slope, near, rtol=2e-3, atol=2e-3)


def test_newtons_method() -> None:
    f = lambda c: so.fmin_ncg(valley, START, None, args=(c,), full_output=1, disp=0)
    slope = lambda x, c: both(x, c)[1]
    got, want = tj.jit(f)(1.1), so.fmin_ncg(valley, START, slope, args=(1.1,), full_output=1, disp=0)
    np.testing.assert_allclose(got[0], want[0], rtol=1e-4)
    assert len(got) == len(want) and got[-1] == 0


NUMBERS = {
    "brent": lambda c: so.brent(lambda x: np.cosh(x - c) + 0.1 * x, full_output=1),
    "golden": lambda c: so.golden(lambda x: np.cosh(x - c) + 0.1 * x, brack=(0.0, 1.0), full_output=1),
    "fminbound": lambda c: so.fminbound(lambda x: np.cosh(x - c), 0.0, 3.0, xtol=1e-9, full_output=1),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name: str) -> None:
    f = NUMBERS[name]
    got, want = tj.jit(f)(1.3), f(1.3)
    assert len(got) == len(want)
    np.testing.assert_allclose(got[:2], want[:2], rtol=1e-7)
    np.testing.assert_allclose(tj.jit(tj.grad(lambda c: f(c)[0]))(1.3), 1.0, rtol=1e-6)


def test_bracket() -> None:
    f = lambda c: so.bracket(lambda x: (x - c) ** 2)
    got, want = tj.jit(f)(4.5), f(4.5)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert [*map(type, got)] == [*map(type, want)]


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    "name", ["anderson", "broyden1", "broyden2", "diagbroyden", "excitingmixing", "linearmixing", "newton_krylov"]
)  # fmt: skip
def test_roots(name: str) -> None:
    more = {} if name in ("newton_krylov", "broyden2") else {"alpha": 0.4}
    f = lambda c: getattr(so, name)(lambda x: c - x - 0.1 * x**3, np.ones((2, 1)), f_tol=1e-10, **more)
    got = tj.jit(f)(1.5)
    np.testing.assert_allclose(got, f(1.5), rtol=1e-8)
    slope = tj.jit(tj.jacobian(f))(1.5)
    np.testing.assert_allclose(slope, 1 / (1 + 0.3 * got**2), rtol=1e-8)


SEARCHES = {
    "differential_evolution": lambda c: so.differential_evolution(valley, BOX, (c,), rng=3, tol=1e-6),
    "dual_annealing": lambda c: so.dual_annealing(valley, BOX, (c,), maxiter=20, rng=3),
    "shgo": lambda c: so.shgo(valley, BOX, (c,)),
    "direct": lambda c: so.direct(valley, BOX, args=(c,), maxiter=2000, eps=1e-3),
    "basinhopping": lambda c: so.basinhopping(lambda x: valley(x, c), START, 5, rng=3),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches(name: str) -> None:
    f = SEARCHES[name]
    got, want = tj.jit(lambda c: (lambda r: (r.x, r.fun, r.message, r.success))(f(c)))(0.6), f(0.6)
    close = 1e-2 if name == "direct" else 1e-5
    np.testing.assert_allclose(got[0], want.x, rtol=close, atol=close)
    np.testing.assert_allclose(got[1], want.fun, rtol=1e-3)
    assert got[2] == want.message and bool(got[3]) is bool(want.get("success", True))
    slope = tj.jit(tj.jacobian(lambda c: f(c).x))(0.6)
    best = lambda c: so.minimize(valley, START, (c,), bounds=BOX, tol=1e-12).x
    np.testing.assert_allclose(slope, (best(0.601) - best(0.599)) / 2e-3, rtol=3e-2)


def test_grids() -> None:
    polished = lambda c: so.brute(lambda x: valley(x, c), [(0, 1), slice(0, 1, 0.1)], finish=so.fmin)
    np.testing.assert_allclose(tj.jit(polished)(0.6), polished(0.6), rtol=1e-6)
    plain = lambda c: so.brute(lambda x: valley(x, c), [(0, 1), slice(0, 1, 0.1)], finish=None)
    np.testing.assert_array_equal(tj.jit(plain)(0.6), plain(0.6))
    line = lambda c: so.brute(lambda x: (x[0] - c) ** 2, [(0, 1)], Ns=5, finish=None)
    np.testing.assert_array_equal(tj.jit(line)(0.6), line(0.6))
    assert type(tj.jit(line)(0.6)) is type(line(0.6)) is np.float64


def test_linear_squares_in_a_box() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(6, 3)), rng.normal(size=6)
    f = lambda a, b: so.lsq_linear(a, b, (-0.1, 0.3))
    got, want = tj.jit(lambda a, b: (f(a, b).x, f(a, b).cost, f(a, b).message))(a, b), f(a, b)
    np.testing.assert_allclose(got[0], want.x, rtol=1e-7, atol=1e-9)
    assert got[2] == want.message and np.isclose(got[1], want.cost)
    slope = tj.jit(tj.jacobian(lambda b: f(a, b).x))(b)
    moved = [(f(a, b + e).x - f(a, b - e).x) / 2e-4 for e in 1e-4 * np.eye(6)]
    np.testing.assert_allclose(slope, np.transpose(moved), atol=1e-3)


def test_what_is_refused() -> None:
    for f in (
        lambda c: so.fmin(valley, START, (c,), retall=1),
        lambda c: so.brute(lambda x: valley(x, c), BOX, full_output=1),
        lambda c: so.differential_evolution(valley, BOX, (c,), callback=print),
    ):
        with pytest.raises(tj.errors.SolverOptionError):
            tj.grad(lambda c, f=f: np.sum(f(c)[0]))(1.0)


def test_scipy_says_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    f = lambda c: so.fmin_bfgs(valley, START, args=(c,))
    tj.jit(f)(1.1)
    assert "Optimization terminated successfully" in capsys.readouterr().out
    few = lambda c: so.leastsq(lambda x: np.exp(x) - c, [9.0], maxfev=2)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert tj.jit(few)(1.1) == few(1.1) == 5


def test_regions_and_starts_by_their_names() -> None:
    bounds = [(0.0, 2.0)] * 2
    f = lambda a: so.differential_evolution(lambda x: ((x - a) ** 2).sum(), bounds=bounds, rng=0).x
    np.testing.assert_allclose(tj.jit(f, fallback=False)(1.0), f(1.0), rtol=1e-6)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x0'"):
        tj.jit(lambda a: so.basinhopping(lambda x: ((x - a) ** 2).sum(), rng=0).x, fallback=False)(1.0)
