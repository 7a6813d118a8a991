"""debug_nans and debug_infs: the operation is found, wherever it is hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.config import config
from tracejit.errors import NonFiniteError

X = np.array([0.5, -1.0, 2.0, 3.0, 4.0])


@pytest.fixture(autouse=True)
def _on() -> Any:
    with config.override(debug_nans=True):
        yield


def hidden(x: Any) -> Any:
    y = np.exp(x)
    z = np.log(y - y.sum())  # the line of the error
    return np.sum(z) * 2


def line_of(f: Any) -> int:
    return f.__code__.co_firstlineno + 2


@pytest.mark.parametrize("way", [tj.jit, tj.grad, lambda f: tj.jit(lambda x: tj.jit(f)(x)), tj.vmap])
def test_the_operation_and_the_line(way: Any) -> None:
    x = X[None] if way is tj.vmap else X
    with pytest.raises(NonFiniteError, match=r"`log` gave 5 NaNs among 5 elements") as caught:
        way(hidden)(x)
    message = str(caught.value)
    assert f"test_nans.py:{line_of(hidden)}" in message
    assert "Operand 0 is f64[" in message and " from -" in message
    assert isinstance(caught.value, FloatingPointError)


def test_the_fast_path_looks_too() -> None:
    f = tj.jit(lambda x: np.sqrt(x))
    assert f(4.0) == 2 and f(4.0) == 2
    with pytest.raises(NonFiniteError, match=r"`sqrt`.*f64\[\] -1.0"):
        f(-1.0)
    with config.override(debug_nans=False):
        assert np.isnan(f(-1.0))


def test_in_loops_and_branches() -> None:
    def f(x: Any) -> Any:
        body = lambda i, c: lax.cond(i > 1, lambda: np.arccos(c + i), lambda: c)
        return lax.fori_loop(0, 3, body, x)

    for way in (f, tj.jit(f), tj.jit(tj.vmap(f))):
        with pytest.raises(NonFiniteError, match="arccos"):
            way(np.ones(2))
    g = lambda x: lax.while_loop(lambda c: c > -1, lambda c: np.sqrt(c - 1), x)
    with pytest.raises(NonFiniteError, match="sqrt"):
        tj.jit(g)(1.5)


def test_in_derivatives() -> None:
    f = lambda x: np.sum(np.sqrt(x) * x)
    for way in (tj.grad(f), tj.jit(tj.grad(f))):
        assert np.isfinite(way(np.ones(2))).all()
    g = lambda x: np.sum(np.arccos(x * 2))
    with pytest.raises(NonFiniteError):
        tj.jit(tj.grad(g))(np.ones(2))


def test_finite_results_and_what_was_given() -> None:
    nan = np.array([1.0, np.nan])
    assert tj.jit(lambda x: x)(nan) is nan
    np.testing.assert_array_equal(tj.jit(lambda x: np.where(np.isnan(x), 0.0, x))(nan), [1, 0])
    assert tj.jit(lambda x: np.exp(x))(1000.0) == np.inf  # infinities are another setting
    with config.override(debug_infs=True), pytest.raises(NonFiniteError, match="`exp` gave an infinity"):
        tj.jit(lambda x: np.exp(x))(1000.0)
    with config.override(debug_infs=True, debug_nans=False):
        assert np.isnan(tj.jit(lambda x: np.log(x))(-1.0))


def test_arguments_that_are_updated() -> None:
    @tj.jit
    def f(x: Any) -> Any:
        x -= 2.0
        x[...] = np.log(x)

    x = np.array([3.0, 4.0])
    f(x)
    np.testing.assert_allclose(x, np.log([1.0, 2.0]))
    with pytest.raises(NonFiniteError, match=r"`log`.*\[-1.0, 2.0\]"):
        f(np.array([1.0, 4.0]))


def test_prints_are_not_repeated(capsys: Any) -> None:
    def f(x: Any) -> Any:
        tj.debug.print("{}", x)
        return np.log(x)

    with pytest.raises(NonFiniteError):
        tj.jit(f)(-1.0)
    assert capsys.readouterr().out == "-1.0\n"


@pytest.mark.parametrize("dtype", ["f2", "f4", "c8", "c16"])
def test_other_dtypes(dtype: str) -> None:
    with pytest.raises(NonFiniteError):
        tj.jit(lambda x: x - x)(np.full(3, np.inf, dtype))


def test_integers_have_none() -> None:
    assert tj.jit(lambda x: x // 2)(np.arange(3)).tolist() == [0, 0, 1]
