"""`try` around what compiled code checks: refused where a handler would miss its exception."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import CaughtCheckError, IndexOutOfRangeError

X = np.arange(1.0, 5.0)


def index(x: Any, i: Any) -> Any:
    try:
        return x[i]
    except IndexError:
        return 0.0


def factor(x: Any, i: Any) -> Any:
    try:
        a = np.linalg.cholesky(np.outer(x, x))
    except (KeyError, np.linalg.LinAlgError):
        a = np.eye(4)
    return a.sum()


def in_a_loop(x: Any, i: Any) -> Any:
    total = 0.0
    for k in range(i):
        try:
            total += x[k]
        except:  # noqa: E722
            total -= 1
    return total


def around_a_loop(x: Any, i: Any) -> Any:
    total = 0.0
    try:
        for k in range(i):
            total += x[k]
    except Exception:
        total = -1.0
    return total


@pytest.mark.parametrize("f", [index, factor, in_a_loop, around_a_loop])
def test_a_handler_of_compiled_checks_is_refused(f: Callable[..., Any]) -> None:
    with pytest.raises(CaughtCheckError, match=r"test_tries\.py:\d+ raises when"):
        tj.jit(f)(X, 2)
    assert np.isfinite(f(X, 2))


def other_kinds(x: Any, i: Any) -> Any:
    try:
        y = x[i]
    except (KeyError, ZeroDivisionError):
        y = 0.0
    else:
        y = y + 1
    finally:
        y = y * 2
    return y


def known_here(x: Any, i: Any) -> Any:
    try:
        return x[17]
    except IndexError:
        return x[0] * i


def no_checks(x: Any, i: Any) -> Any:
    try:
        y = x.sum() / i
    except Exception:
        y = -1.0
    return y


@pytest.mark.parametrize("f", [other_kinds, known_here, no_checks])
def test_other_handlers_are_pythons(f: Callable[..., Any]) -> None:
    assert tj.jit(f)(X, 2) == f(X, 2)


def test_outside_of_the_jitted_function_it_is_caught() -> None:
    take = tj.jit(lambda x, i: x[i])

    def f(i: Any) -> Any:
        try:
            return take(X, i)
        except IndexOutOfRangeError:
            return 0.0

    assert f(1) == 2 and f(9) == 0
