"""jvp, linearize, vjp, grad: arguments, structures, auxiliary results, and the errors of wrong calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import dtypes
from tracejit.errors import (
    ArgumentCountError,
    CotangentMismatchError,
    NonFloatInputError,
    NonFloatOutputError,
    NonScalarOutputError,
    TangentMismatchError,
)
from tracejit.test_util import check_grads

X = np.array([0.3, -1.2, 2.0])


def f(x: Any) -> Any:
    return (np.sin(x) * x).sum()


SLOPE = np.cos(X) * X + np.sin(X)


def test_all_ways_to_one_gradient() -> None:
    value, g = tj.value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(g, SLOPE)
    np.testing.assert_allclose(tj.grad(f)(X), SLOPE)
    np.testing.assert_allclose(tj.vjp(f, X)[1](1.0)[0], SLOPE)
    np.testing.assert_allclose([tj.jvp(f, (X,), (e,))[1] for e in np.eye(3)], SLOPE)
    np.testing.assert_allclose([tj.linearize(f, X)[1](e) for e in np.eye(3)], SLOPE)
    check_grads(f, (X,), order=2)


@pytest.mark.parametrize("argnums", [0, 1, -1, (0,), (1, 0), [0, 2]])
def test_argnums(argnums: Any) -> None:
    def h(a: Any, b: Any, c: Any) -> Any:
        return a * b**2 * c**3

    parts = [2.0**2 * 3**3, 2 * 1 * 2 * 3**3, 1 * 2**2 * 3 * 3**2]
    got = tj.grad(h, argnums)(1.0, 2.0, 3.0)
    want = parts[argnums] if isinstance(argnums, int) else tuple(parts[n] for n in argnums)
    assert got == want and type(got) is type(want if isinstance(want, tuple) else np.float64(0))


def test_trees_keywords_and_aux() -> None:
    def loss(p: Any, *, scale: Any) -> Any:
        y = p["a"] * scale + p["b"][0].sum()
        return y, {"y": y, "note": "text", "n": 3}

    p = {"a": 2.0, "b": [X]}
    g, aux = tj.grad(loss, has_aux=True)(p, scale=4.0)
    assert g["a"] == 4.0 and g["b"][0].tolist() == [1, 1, 1] and aux["note"] == "text" and aux["n"] == 3
    (value, aux), _ = tj.value_and_grad(loss, has_aux=True)(p, scale=4.0)
    assert value == aux["y"] and isinstance(value, np.float64)
    with pytest.raises(TypeError, match="must return a pair"):
        tj.grad(f, has_aux=True)(X)


def test_aux_of_the_others() -> None:
    two = lambda x: (x * x, "aux")
    assert tj.jvp(two, (3.0,), (1.0,), has_aux=True) == (9.0, 6.0, "aux")
    y, pull, aux = tj.vjp(two, 3.0, has_aux=True)
    assert (y, pull(1.0), aux) == (9.0, (6.0,), "aux")
    y, push, aux = tj.linearize(two, 3.0, has_aux=True)
    assert (y, push(1.0), aux) == (9.0, 6.0, "aux")


WRONG: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (NonScalarOutputError, "shape", lambda: tj.grad(np.sin)(X)),
    (NonFloatInputError, "`x`", lambda: tj.grad(f)(np.arange(3))),
    (NonFloatOutputError, "int", lambda: tj.grad(lambda x: x.argmax())(X)),
    (ArgumentCountError, "argnums", lambda: tj.grad(f, 1)(X)),
    (NonFloatInputError, "complex", lambda: tj.grad(f, holomorphic=True)(X)),
    (TangentMismatchError, "primal 0", lambda: tj.jvp(f, (X,), (X[:2],))),
    (TangentMismatchError, "float0", lambda: tj.jvp(lambda n: n * 1.0, (3,), (1.0,))),
    (TangentMismatchError, "float0", lambda: tj.jvp(lambda n: n * 1.0, (3,), (1,))),
    (TangentMismatchError, r"f64\[\].*got i64\[\]", lambda: tj.jvp(np.sin, (3.0,), (1,))),
    (TangentMismatchError, r"f64\[3\].*got i64\[3\]", lambda: tj.jvp(f, (X,), (np.arange(3),))),
    (TangentMismatchError, r"f32\[\].*got f64\[\]", lambda: tj.jvp(f, (np.float32(1),), (np.float64(1),))),
    (TangentMismatchError, "bool", lambda: tj.linearize(np.sin, 3.0)[1](True)),
    (CotangentMismatchError, "i64", lambda: tj.vjp(np.sin, 3.0)[1](1)),
    (CotangentMismatchError, "c128", lambda: tj.vjp(np.sin, 3.0)[1](1j)),
    (CotangentMismatchError, "3", lambda: tj.vjp(np.sin, X)[1](np.ones(2))),
    (TypeError, "tuples", lambda: tj.jvp(f, X, X)),
]


@pytest.mark.parametrize(("error", "match", "call"), WRONG)
def test_wrong_calls(error: type[Exception], match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=match):
        call()


def test_integers_have_float0_cotangents() -> None:
    g = tj.grad(lambda x, n: x * n, (0, 1), allow_int=True)(2.0, 3)
    assert g[0] == 3.0 and g[1].dtype == dtypes.float0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
def test_derivatives_have_the_dtype_of_the_input(dtype: Any) -> None:
    x = X.astype(dtype)
    g = tj.grad(lambda x: (x * x).real.sum())(x)
    assert g.dtype == dtype and type(tj.grad(lambda s: (s * s).real)(x[0])) is dtype


def test_python_numbers_as_tangents_have_the_width_of_the_primal() -> None:
    for jit in (tj.jit, lambda f: f):
        x, z = np.float32(2), np.complex64(2j)
        assert jit(lambda t, x=x: tj.jvp(np.square, (x,), (t,))[1])(0.5) == 2
        assert jit(lambda t, x=x: tj.vjp(np.square, x)[1](t)[0])(0.5).dtype == np.float32
        assert jit(lambda t, z=z: tj.jvp(np.square, (z,), (t,))[1])(1j) == -4


def test_python_control_flow_on_values() -> None:
    def h(x: Any) -> Any:
        total = 0.0
        while x > 1:
            x = x / 2
            total += x
        return total

    assert tj.grad(h)(5.0) == 0.5 + 0.25 + 0.125


def test_gradients_do_not_disturb_arguments() -> None:
    def h(x: Any) -> Any:
        x *= 2
        return x.sum()

    x = X.copy()
    np.testing.assert_array_equal(tj.grad(h)(x), [2, 2, 2])
    np.testing.assert_array_equal(x, X)


def test_the_functions_name_is_kept() -> None:
    assert tj.grad(f).__name__ == "f" and tj.value_and_grad(f).__wrapped__ is f  # type: ignore[attr-defined]


@pytest.mark.parametrize("transform", [tj.grad, tj.value_and_grad, tj.vmap, tj.jit])
def test_transformations_take_functions(transform: Any) -> None:
    with pytest.raises(TypeError, match="takes a function, not ndarray"):
        transform(np.ones(3))


def test_a_function_without_a_result_is_told_so() -> None:
    with pytest.raises(tj.TracejitError, match="returned nothing"):
        tj.grad(lambda x: None)(1.0)


def test_numbers_beside_a_result_have_their_types_in_programs() -> None:
    """Also where `float(x)` of a value that is derived makes the transformation compile the function."""
    history: list[float] = []

    def f(x):
        loss = x * x
        return loss, {"loss": float(loss), "half": loss / 2, "sine": np.sin(x), "n": 3, "history": history}

    for g in (tj.value_and_grad(f, has_aux=True), tj.jit(tj.value_and_grad(f, has_aux=True))):
        (_, aux), slope = g(3.0)
        assert slope == 6.0 and aux["loss"] == 9.0
        assert [type(v) for v in aux.values()] == [type(v) for v in f(3.0)[1].values()]
        assert aux["history"] is history
    tangent = tj.jit(lambda x: tj.jvp(f, (x,), (1.0,), has_aux=True))(3.0)
    assert type(tangent[2]["half"]) is float


def test_truth_values_of_numbers_are_pythons() -> None:
    def f(x):
        flags = [x > 0, x == x, x != x, x <= 3, (x + 0.5).is_integer()]
        assert all(type(flag) is bool for flag in flags)
        return x * (2.0 if (x > 0) is True else 5.0) * (1.0 if (x < 0) is False else 7.0)

    assert tj.grad(f)(2.0) == 2.0 and tj.grad(tj.grad(lambda x: f(x) * x))(2.0) == 4.0
    assert tj.jvp(f, (2.0,), (1.0,)) == (4.0, 2.0)
    assert tj.jit(tj.grad(f))(2.0) == 2.0


def test_numbers_have_no_attributes_of_arrays_to_who_asks() -> None:
    class Holder(list):
        def ask(self):
            return getattr(self[0], "ndim", 3) * (2.0 if hasattr(self[0], "shape") else 5.0)

    def f(x):
        return x * getattr(x, "ndim", 3) * (2.0 if hasattr(x, "shape") else 5.0) * Holder([x]).ask()

    assert tj.grad(f)(2.0) == 225.0 and tj.jit(tj.grad(f))(2.0) == 225.0
    assert tj.grad(lambda x: x.sum() * x.ndim + x)(2.0) == 1.0  # who uses them has them
