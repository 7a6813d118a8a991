"""Programs that want to see errors of numbers: strict blocks, warnings that are errors, warnings that are counted."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tests.programs.observe import program

A = np.array([1.0, 2.0, 4.0])
CALLS = [(A,), (A - 1,), (A + 0.5,)]


@program
def a_safe_quotient() -> Any:
    def f(a, b):
        try:
            with np.errstate(divide="raise", invalid="raise"):
                return a / b
        except FloatingPointError:
            return np.zeros_like(a)

    return f, [(A, A + 1), (A, A - 1), (A * 0, A * 0)], None


@program
def newton_that_gives_up() -> Any:
    def f(x, tol):
        with np.errstate(all="raise"):
            try:
                for i in range(60):
                    step = (x * x - 2.0) / (2.0 * x)
                    x = x - step
                    if abs(step) < tol:
                        return x, i
            except FloatingPointError as e:
                return str(e), -1
        return x, 60

    return f, [(np.float64(1.0), 1e-12), (np.float64(0.0), 1e-12), (np.float64(-30.0), 1e-9)], None


@program
def a_step_is_halved_until_it_is_finite() -> Any:
    def f(x, step):
        tries = 0
        while tries < 20:
            try:
                with np.errstate(over="raise"):
                    value = np.exp(x * step).sum()
                break
            except FloatingPointError:
                step *= 0.5
                tries += 1
        return value, step, tries

    return f, [(A, 1.0), (A, 1000.0), (A * 10, 20.0)], None


@program
def a_model_that_counts_its_failures() -> Any:
    class Model:
        def __init__(self) -> None:
            self.w = np.ones(3)
            self.failed = 0

        def update(self, g):
            try:
                with np.errstate(all="raise"):
                    self.w = self.w - g / np.sqrt((g * g).sum())
            except FloatingPointError:
                self.failed += 1
            return self.w.sum()

    m = Model()
    return m.update, [(A,), (A * 0,), (A + 1,), (A * 1e200,)], lambda: m


@program
def a_likelihood_that_may_be_infinite() -> Any:
    def f(x, mu, sigma):
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                z = (x - mu) / sigma
                return float(-0.5 * (z**2).sum() - len(x) * np.log(sigma))
            except RuntimeWarning:
                return -np.inf

    calls = [(A, 1.0, np.float64(2.0)), (A, 1.0, np.float64(0.0)), (A, 0.0, np.float64(-1.0))]
    return f, calls, None


@program
def how_many_warnings() -> Any:
    def f(x):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            y = np.sqrt(x) + np.log(x)
        return np.nan_to_num(y), [w.category.__name__ for w in told], bool(told)

    return f, [(A,), (A - 1,), (A - 3,)], None


@program
def checks_its_input_with_warnings_of_its_own() -> Any:
    def check(x):
        if x.ndim != 1:
            warnings.warn("not a vector", UserWarning, stacklevel=2)
        return x.ravel()

    def f(x):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            y = check(x) * 2
        return y, [str(w.message) for w in told]

    return f, [(A,), (A.reshape(1, 3),), (A + 1,)], None


@program
def strict_for_all_but_a_part() -> Any:
    def f(x):
        with np.errstate(all="raise"):
            y = x * x + 1
            with np.errstate(divide="ignore", invalid="ignore"):
                w = np.where(x > 0, 1 / x, 0.0)
            return (w * y).sum() / y.sum()

    return f, CALLS, None


@program
def the_error_state_is_set_for_a_simulation() -> Any:
    def f(x, n):
        old = np.seterr(over="raise", invalid="raise")
        try:
            for _ in range(n):
                x = x * x - 0.5
            return x
        except FloatingPointError as e:
            return f"diverged: {e}"
        finally:
            np.seterr(**old)

    return f, [(A / 4, 20), (A, 20), (A / 3, 30)], lambda: np.geterr()


@program
def a_decorator_that_is_strict() -> Any:
    @np.errstate(divide="raise")
    def ratio(a, b):
        return a / b

    def f(a, b):
        try:
            return ratio(a, b).sum()
        except FloatingPointError:
            return None

    return f, [(A, A), (A, A - 2), (A + 1, A)], None


@np.errstate(divide="ignore", invalid="ignore")
def quietly_divided(a: Any, b: Any) -> Any:
    return np.where(b == 0, 0.0, a / b)


@program
def a_helper_that_is_quiet() -> Any:
    return (lambda a, b: quietly_divided(a, b).sum()), [(A, A), (A, A - 2), (A + 1, A)], None


@program
def methods_that_are_quiet() -> Any:
    class Model:
        scale = 2.0

        @np.errstate(all="ignore")
        def energy(self, x):
            return self.scale * np.log(x * x)

        def fit(self, x):
            for _ in range(30):
                x = x - 0.01 * self.energy(np.abs(x) + 1)
            return x

    return Model().fit, [(A,), (A + 1,), (-A,)], None


@program
def steps_that_are_strict_in_a_loop() -> Any:
    @np.errstate(over="raise")
    def step(x):
        return x * x

    def f(x, n):
        for k in range(n):
            try:
                x = step(x)
            except FloatingPointError:
                return k, "too large"
        return x.sum(), "fine"

    return f, [(A * 0.1, 4), (A + 1, 4), (A + 1, 12)], None


@program
def the_jitted_function_is_strict() -> Any:
    @np.errstate(divide="raise", invalid="raise")
    def f(a, b):
        return a / b

    return f, [(A + 1, A + 1), (A, A), (A + 1, A + 2)], None
