"""Draws with traced parameters: NumPy's numbers, exceptions and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control.generators.tables import pcg, same, state
from tracejit.interpreters.generators import copy_of

_CASES: dict[str, tuple[Any, ...]] = {
    "normal": (1.5, 2.0),
    "uniform": (1.5, 4.0),
    "exponential": (2.5,),
    "gamma": (2.0, 1.5),
    "rayleigh": (1.5,),
    "laplace": (1.5, 2.0),
    "logistic": (1.0, 2.0),
    "gumbel": (1.0, 2.0),
    "poisson": (3.0,),
    "binomial": (10, 0.3),
    "triangular": (0.0, 1.0, 3.0),
    "integers": (2, 9),
    "lognormal": (0.0, 0.5),
    "dirichlet": (np.array([1.0, 2.0, 3.0]),),
    "multivariate_normal": (np.zeros(2), np.eye(2) * 2),
    "multinomial": (10, np.array([0.2, 0.3, 0.5])),
    "hypergeometric": (5, 6, 3),
}


def test_traced_parameters_of_numbers_and_arrays() -> None:
    def f(rng, cases, arrays):
        numbers = [getattr(rng, name)(*args) for name, args in cases.items()]
        sized = [getattr(rng, name)(*args, size=(2, 3)) for name, args in arrays.items()]
        return numbers, sized, [getattr(rng, name)(*args) for name, args in arrays.items()]

    arrays = {
        name: tuple(np.full(3, x) for x in args)
        for name, args in _CASES.items()
        if not any(isinstance(x, np.ndarray) for x in args)
    }
    ours, theirs, g = pcg(3), pcg(3), tj.jit(f, fallback=False)
    for _ in range(2):
        for got, want in zip(g(ours, _CASES, arrays), f(theirs, _CASES, arrays), strict=True):
            for name, a, b in zip(_CASES if len(got) == len(_CASES) else arrays, got, want, strict=True):
                assert same(a, b), (name, a, b)
        assert state(ours) == state(theirs)


@pytest.mark.parametrize(
    ("draw", "good", "bad"),
    [
        (lambda rng, v: rng.normal(0.0, v), 1.0, -1.0),
        (lambda rng, v: rng.normal(0.0, v), 0.0, -0.0),
        (lambda rng, v: rng.uniform(0.0, v), 1.0, -1.0),
        (lambda rng, v: rng.uniform(0.0, v), 1.0, np.inf),
        (lambda rng, v: rng.exponential(v), 2.0, -2.0),
        (lambda rng, v: rng.integers(v), 5, 0),
        (lambda rng, v: rng.integers(3, v, endpoint=True), 3, 2),
        (lambda rng, v: rng.poisson(v), 2.0, -1.0),
        (lambda rng, v: rng.binomial(5, v), 0.5, 1.5),
    ],
)
def test_parameters_that_numpy_refuses_raise_its_exception(draw: Any, good: Any, bad: Any) -> None:
    def f(rng, v):
        first = rng.random()
        return first + draw(rng, v)

    ours, theirs, g = pcg(1), pcg(1), tj.jit(f, fallback=True)
    assert g(ours, good) == f(theirs, good)
    with pytest.raises((ValueError, OverflowError)) as want:
        f(theirs, bad)
    for h in (tj.jit(f, fallback=False), g):  # by compiled code, and by Python after it
        rng = copy_of(ours)
        with pytest.raises(type(want.value)) as got:
            h(rng, bad)
        assert str(got.value) == str(want.value)
    assert state(rng) == state(theirs)
    theirs = copy_of(ours)
    assert g(ours, good) == f(theirs, good) and tj.explain(f)(ours, good).fallback is None


def test_a_failed_check_puts_generators_back_before_python_draws() -> None:
    def f(rng, x, i):
        x += rng.normal(size=3)
        total = 0.0
        for _ in range(20):
            total += rng.random()
        return x[i] / total

    ours, theirs, g = pcg(1), pcg(1), tj.jit(f, fallback=True)
    for i in (1, 7, 2):
        a, b = np.ones(3), np.ones(3)
        if i < 3:
            assert g(ours, a, i) == pytest.approx(f(theirs, b, i), rel=1e-14)
        else:
            for fun, rng, x in ((g, ours, a), (f, theirs, b)):
                with pytest.raises(IndexError):
                    fun(rng, x, i)
        assert a.tolist() == b.tolist() and state(ours) == state(theirs)


def test_derivatives_are_pathwise() -> None:
    def f(p, rng):
        x = p
        for _ in range(50):
            x = 0.9 * x + 0.1 * rng.normal(p * 0.5, 1.0 + p * p)
        return x + rng.exponential(p) + rng.uniform(p, 3 * p) + rng.gamma(2.0, p)

    def plain(p):
        return f(p, np.random.default_rng(2))

    want = (plain(1.3 + 1e-6) - plain(1.3 - 1e-6)) / 2e-6
    ours, theirs = pcg(2), pcg(2)
    value, slope = tj.jit(tj.value_and_grad(f), fallback=False)(1.3, ours)
    assert np.isclose(slope, want, rtol=1e-6) and np.isclose(value, f(1.3, theirs), rtol=1e-12)
    assert state(ours) == state(theirs)
    assert np.isclose(tj.jit(lambda p: tj.jvp(plain, (p,), (1.0,))[1])(1.3), want, rtol=1e-6)
    assert np.isclose(tj.grad(tj.jit(f))(1.3, pcg(2)), want, rtol=1e-6)


def test_numbers_whose_dependence_is_not_known_have_no_derivative() -> None:
    with pytest.raises(tj.errors.NotDifferentiableError):
        tj.jit(tj.grad(lambda p, rng: rng.beta(p, 2.0)), fallback=False)(1.0, pcg(0))
    counted = tj.jit(tj.grad(lambda p, rng: p * rng.poisson(p)), fallback=False)
    assert counted(3.0, pcg(0)) == pcg(0).poisson(3.0)


def test_draws_into_arrays_that_are_there() -> None:
    def f(rng, x):
        known = np.random.default_rng(3)
        a, b = np.empty(3), np.empty((2, 2), np.float32)
        same_one = rng.random(out=a) is a
        rng.standard_normal((2, 2), np.float32, b)
        known.standard_exponential(out=x)
        return same_one, a * x[:3], b, rng.standard_gamma(2.0, out=a), a

    ours, theirs, x, y = pcg(1), pcg(1), np.ones(5), np.ones(5)
    got, want = tj.jit(f, fallback=False)(ours, x), f(theirs, y)
    assert all(map(same, got, want)) and got[3] is got[4] and x.tolist() == y.tolist()
    for out in (lambda: np.empty(3, int), lambda: np.empty(6)[::2]):
        with pytest.raises(tj.errors.RandomStateError):
            tj.jit(lambda rng, out=out: rng.random(out=out()), fallback=False)(pcg(0))
