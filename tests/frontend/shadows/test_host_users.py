"""Functions of the user's that others call: what they do besides giving a value, and whether a program runs them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as so
from scipy.integrate import quad, solve_ivp

import tracejit as tj


class Counter:
    """A function with state."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return x**2 - 2


def appends(a: Any) -> Any:
    seen: list[Any] = []
    x = so.brentq(lambda x: (seen.append(x), x**2 - a)[1], 0.0, 5.0)
    return x, len(seen)


def counts(a: Any) -> Any:
    count = 0

    def fun(x: Any) -> Any:
        nonlocal count
        count += 1
        return np.sum((x - a) ** 2)

    return so.minimize(fun, [0.0, 0.0], method="Nelder-Mead", options={"maxiter": 9}).x, count


def counts_in_an_object(a: Any) -> Any:
    counter = Counter()
    return a * so.brentq(counter, 0.0, 5.0), counter.calls


def counts_in_an_attribute(a: Any) -> Any:
    def slopes(t: Any, y: Any) -> Any:
        slopes.calls += 1
        return -a * y

    slopes.calls = 0
    return solve_ivp(slopes, (0, 1), [1.0], t_eval=[1.0]).y, slopes.calls


def by_an_argument(a: Any) -> Any:
    seen: list[Any] = []
    value = quad(lambda x, seen: (seen.append(x), x**a)[1], 0.0, 1.0, args=(seen,))[0]
    return value, len(seen)


def takes_from_an_iterator(a: Any) -> Any:
    numbers = iter(range(100))
    return so.newton(lambda x: x**2 - a + 0 * next(numbers), 1.0), next(numbers)


def of_elements(a: Any) -> Any:
    seen: list[Any] = []
    return np.vectorize(lambda x: (seen.append(x), 2.0 * x)[1])(a * np.ones(3)), len(seen)


def of_slices(a: Any) -> Any:
    seen: list[Any] = []
    return np.apply_along_axis(lambda x: (seen.append(1), x.sum())[1], 0, a * np.ones((3, 4))), len(seen)


WITH_STATE = (
    appends, counts, counts_in_an_object, counts_in_an_attribute, by_an_argument, takes_from_an_iterator, of_elements,
    of_slices,
)  # fmt: skip


@pytest.mark.parametrize("f", WITH_STATE, ids=lambda f: f.__name__)
def test_functions_with_state_are_called_as_often_as_by_scipy(f: Callable[[Any], Any]) -> None:
    want = f(2.0)
    with tj.config.override(fallback=True), pytest.warns(tj.errors.FallbackWarning, match="TJ182|TJ221"):
        got = tj.jit(f)(2.0)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_functions_that_print_print_as_often(capsys: pytest.CaptureFixture[str]) -> None:
    def f(a: Any) -> Any:
        def fun(x: Any) -> Any:
            print("asked")
            return np.sum((x - a) ** 2)

        return so.minimize(fun, [0.0, 0.0], method="BFGS").nfev

    wanted = f(1.5)
    assert capsys.readouterr().out.count("asked") == wanted
    with tj.config.override(fallback=True), pytest.warns(tj.errors.FallbackWarning, match="prints"):
        assert tj.jit(f)(1.5) == wanted
    assert capsys.readouterr().out.count("asked") == wanted


class Model:
    """Methods that store what solvers and layers give."""

    def __init__(self) -> None:
        self.steps, self.found = 0, np.zeros(2)

    def root(self, a: Any) -> Any:
        self.steps += 1
        self.found = so.brentq(lambda x: x**2 - a, 0.0, 5.0)
        return self.found

    def hosted(self, a: Any) -> Any:
        self.steps += 1
        self.found = so.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2), method="SLSQP").x
        return self.found.sum()

    def layer(self, a: Any) -> Any:
        self.steps += 1
        self.found = tj.nn.relu(a * np.ones(2))
        return self.found.sum()


@tj.custom_jvp
def doubled(x: Any) -> Any:
    return 2 * x


@doubled.defjvp
def _doubled_jvp(primals: Any, tangents: Any) -> Any:
    return doubled(*primals), 2 * tangents[0]


@pytest.mark.parametrize("name", ["root", "hosted", "layer"])
def test_rules_of_ours_are_beside_what_is_stored(name: str) -> None:
    """A program that stores what a solver gives was Python's, as one with the user's own rules still is."""
    plain, model = Model(), Model()
    compiled = tj.jit(functools.partial(Model.__dict__[name]))
    with tj.config.override(fallback=False):
        for a in (2.0, 3.0):
            expected = getattr(plain, name)(a) if name != "layer" else 2 * a
            np.testing.assert_allclose(compiled(model, a), expected, rtol=1e-7)
    assert model.steps == 2 and np.sum(model.found) == pytest.approx(expected, rel=1e-7)


def test_rules_of_the_users_are_left_to_python() -> None:
    class Holder:
        def __init__(self) -> None:
            self.found = 0.0

        def step(self, a: Any) -> Any:
            self.found = doubled(a)
            return self.found

    with tj.config.override(fallback=False), pytest.raises(tj.errors.CapturedWriteError):
        tj.jit(Holder().step)(2.0)
