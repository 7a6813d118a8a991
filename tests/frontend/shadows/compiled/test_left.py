"""Functions of Numba's that are left to it, and forms of functions for it."""

from __future__ import annotations

import random
from typing import Any

import numba
import numpy as np
import pytest
from numba.extending import overload, register_jitable

import tracejit as tj
from tracejit.errors import FallbackWarning, UnfollowedError

X = np.arange(3.0)


@numba.njit
def seed(n: Any) -> None:
    np.random.seed(n)


@numba.njit
def draws(x: Any) -> Any:
    return x + np.random.rand()


_normal = np.random.normal


@numba.njit
def draws_by_name(x: Any) -> Any:
    return x + _normal()


@numba.njit
def draws_as_python(x: Any) -> Any:
    return x + random.random()


@numba.njit
def calls(x: Any) -> Any:
    return 2 * draws(x)


def test_draws_are_numbas() -> None:
    seed(1)
    want = [draws(X[0]) for _ in range(2)]
    seed(1)
    with pytest.warns(FallbackWarning, match="random state of its own"):
        jitted = tj.jit(lambda x: draws(x[0]), fallback=True)
        assert [jitted(X) for _ in range(2)] == want


@pytest.mark.parametrize("f", [draws, draws_by_name, draws_as_python, calls], ids=lambda f: f.__name__)
def test_draws_are_refused(f: Any) -> None:
    for g in (tj.jit(f, fallback=False), tj.grad(f)):
        with pytest.raises(UnfollowedError, match="random state of its own"):
            g(1.0)


def tripled(x) -> Any:
    pass  # what it does says the form for Numba


@overload(tripled)
def _tripled(x):
    return (lambda x: 3.0 * x.sum()) if isinstance(x, numba.types.Array) else (lambda x: 9.0 * x)


@numba.njit
def by_overload(x: Any) -> Any:
    return tripled(x) + tripled(x[0])


def test_forms_for_numba() -> None:
    assert tj.jit(by_overload, fallback=False)(X + 1) == by_overload(X + 1) == 27
    assert tj.grad(by_overload)(X).tolist() == [12, 3, 3]
    assert tj.jit(lambda x: tripled(x) is None, fallback=False)(X) is True


@register_jitable
def shared(x: Any) -> Any:
    return x * x + 1


@numba.njit
def by_both(x: Any) -> Any:
    return shared(x) - shared(2.0)


def test_functions_for_python_and_numba() -> None:
    for f in (by_both, lambda x: by_both(x) * shared(x)):
        assert tj.jit(f, fallback=False)(3.0) == f(3.0)
    assert tj.grad(by_both)(3.0) == 6
