"""Ufuncs by recipe give what they give without, to the bit: values, types, weakness, derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.interpreters.autodiff.test_recipes import bits, no_recipes
from tracejit.interpreters.autodiff import recipes
from tracejit.numpy.ufuncs import TABLE

OPERANDS: tuple[Any, ...] = (
    *(0.5, 2, True, np.float32(0.25), np.int64(3), np.array([0.5, 0.25, 0.75])),
    *(np.array([[0.5], [0.25]], np.float32), np.array([1, 2, 3]), np.array(0.5)),
)
ACTIVE = (0.5, np.float32(0.25), np.array([0.5, 0.25, 0.75]), np.array([0.5, 0.25, 0.75], np.float32))


def outcome(fn: Any, x: Any) -> Any:
    """Value, weakness and gradient of `fn` at `x`, or the exception."""
    about: list[Any] = []

    def f(x: Any) -> Any:
        out = fn(x)
        about[:] = [out.weak, out.scalar, out.aval]
        return np.sum(out)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, gradient = tj.value_and_grad(f)(x)
    except Exception as e:
        return type(e), str(e).splitlines()[0]
    return [*about, bits(value), bits(gradient)]


def check(fn: Any, x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as m:
        no_recipes(m)
        want = outcome(fn, x)
    for _ in range(3):
        assert outcome(fn, x) == want


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", sorted({u.__name__ for u in TABLE.values() if u.smooth}))
def test_calls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ufunc = getattr(np, name)
    for x in ACTIVE:
        if ufunc.nin == 1:
            check(lambda x: ufunc(x), x, monkeypatch)
            continue
        for y in OPERANDS:
            check(lambda x, y=y: ufunc(x, y), x, monkeypatch)
            check(lambda x, y=y: ufunc(y, x), x, monkeypatch)
        check(lambda x: ufunc(x, x), x, monkeypatch)


@pytest.mark.sample(4)
@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "**"])
def test_operators(symbol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forward, backward, twice = (
        eval(f"lambda x, y: {t}") for t in (f"x {symbol} y", f"y {symbol} x", f"x {symbol} x")
    )
    for x in ACTIVE:
        for y in OPERANDS:
            check(lambda x, y=y: forward(x, y), x, monkeypatch)
            check(lambda x, y=y: backward(x, y), x, monkeypatch)
        check(lambda x: twice(x, None), x, monkeypatch)


def test_numbers_that_do_not_fit_are_refused() -> None:
    for _ in range(3):
        with pytest.raises(OverflowError):
            tj.grad(lambda x: x * 10**400)(1.0)


def test_writes_reach_views_after_recipes() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        row = y[0]
        y[0] = row * row
        return (row + y[1]).sum()

    for _ in range(3):
        got = tj.grad(f)(np.array([[1.0, 2.0], [3.0, 4.0]]))
        np.testing.assert_array_equal(got, [[8.0, 16.0], [2.0, 2.0]])


def test_ufuncs_have_recipes() -> None:
    f = lambda x: np.sin(x) * 1.5 + x
    for _ in range(2):
        tj.grad(f)(0.5)
    for name in ("sin", "multiply", "add"):
        kept = [r for key, r in recipes._recipes.items() if key[0] is TABLE[name]]
        assert any(isinstance(r, recipes.Recipe) for r in kept), name


def test_text_is_that_of_the_value() -> None:
    """What a function decides by the text of a number is what it decides without a transformation."""

    def f(x: Any) -> Any:
        return x * 2 if str(x) == "1.5" and f"{x}" == "1.5" and repr([x]) == "[1.5]" else x * 3

    for derivative in (tj.grad(f), lambda x: tj.jvp(f, (x,), (1.0,))[1]):
        assert [float(derivative(x)) for x in (1.5, 2.0)] == [2, 3]
    assert tj.grad(tj.grad(lambda x: x**2 if str(x) == "1.5" else x**3))(1.5) == 2


def test_results_lie_in_memory_as_numpys_beside_arrays_in_fortran_order():
    held = {"m": np.arange(6.0).reshape(2, 3)}

    def f(x):
        m = held["m"].T * x
        return m.sum(), (m, np.broadcast_to(held["m"][0], (4, 3)) + held["m"][0] * x)

    (_, (m, other)), _ = tj.value_and_grad(f, has_aux=True)(2.0)
    assert m.strides == (held["m"].T * 2.0).strides
    assert other.strides == (np.broadcast_to(held["m"][0], (4, 3)) + held["m"][0] * 2.0).strides
