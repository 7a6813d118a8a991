"""Eager derivatives by recipe are those that the rules give, to the bit."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.cases import CASES
from tracejit.config import config
from tracejit.errors import NonFiniteError
from tracejit.interpreters.autodiff import recipes
from tracejit.ir.avals import aval_of
from tracejit.ir.kernel import Contract, Pointwise, Pull, Reduce
from tracejit.ir.primitive import REGISTRY
from tracejit.tracing import to_raw, wrap

KERNELS = (Pointwise, Pull, Reduce, Contract)
NAMES = sorted(
    n for n in CASES if n in REGISTRY and type(REGISTRY[n].kernel) in KERNELS and not REGISTRY[n].multi
)


def no_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipes, "known", lambda *_: None)


def bits(x: Any) -> Any:
    x = np.asarray(x)
    return x.dtype, x.shape, x.tobytes()


def pulled_back(case: Any, args: tuple[Any, ...]) -> list[Any] | None:
    """Value and cotangents of all operands that have them, or None if the operation has no derivative."""
    active = [n for n, a in enumerate(args) if aval_of(a).dtype.kind in "fc"]

    def f(*xs: Any) -> Any:
        full = list(args)
        for n, x in zip(active, xs, strict=True):
            full[n] = to_raw(x)
        return wrap(case.fn(*full))

    if not active:
        return None
    out, pull = tj.vjp(f, *(args[n] for n in active))
    if np.asarray(out).dtype.kind not in "fc":
        return None
    ct = np.cos(np.arange(np.size(out))).reshape(np.shape(out)).astype(np.asarray(out).dtype)[()]
    return [out, *pull(ct), *pull(ct)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(6)
def test_recipes_do_what_rules_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in CASES[name]:
        args = case.args()
        with monkeypatch.context() as m:
            no_recipes(m)
            want = pulled_back(case, args)
        for _ in range(3 if want else 0):  # met, made, used
            assert [*map(bits, pulled_back(case, args) or [])] == [*map(bits, want or [])]


def test_most_simple_operations_have_recipes() -> None:
    for name in (
        "add",
        "sub",
        "mul",
        "div",
        "neg",
        "sin",
        "exp",
        "log",
        "tanh",
        "sqrt",
        "pow",
        "maximum",
        "select",
        "reduce_sum",
        "dot_general",
        "reshape",
    ):
        for _ in range(2):
            pulled_back(CASES[name][0], CASES[name][0].args())
        kept = [r for key, r in recipes._recipes.items() if key[0] is REGISTRY[name]]
        assert any(isinstance(r, recipes.Recipe) for r in kept), name


def test_a_users_rule_is_asked_every_time() -> None:
    slope = 2.0
    op = tj.extend.pointwise("recipes_scaled", lambda x: x * 1.0, derivatives=(lambda t, ans, x: slope * t,))
    assert tj.grad(op)(1.0) == 2.0
    slope = 3.0
    assert tj.grad(op)(1.0) == 3.0
    del REGISTRY["recipes_scaled"]


def test_types_and_shapes_have_recipes_of_their_own() -> None:
    f = lambda x, y: (x * y).sum()
    for dtype in (np.float32, np.float64, np.complex128):
        for shape in ((), (1,), (3,), (0,), (2, 3)):
            x, y = np.full(shape, 2, dtype), np.asarray(3, dtype)[()]
            gx, gy = tj.grad(f, (0, 1), holomorphic=dtype is np.complex128)(x, y)
            assert gx.dtype == gy.dtype == dtype and gx.shape == shape and gy.shape == ()
            assert np.all(gx == 3) and gy == 2 * x.size


def test_checks_look_at_every_operation() -> None:
    with config.override(debug_nans=True), pytest.raises(NonFiniteError, match="log"):
        tj.grad(lambda x: np.log(x) * 2.0)(-1.0)


def test_overwritten_operands_keep_their_derivatives() -> None:
    def f(x: Any) -> Any:
        y = x * 2.0
        z = y * y
        y[...] = 0.0
        return z.sum()

    x = np.arange(100.0)
    np.testing.assert_array_equal(tj.grad(f)(x), 8 * x)


def test_an_operand_given_twice() -> None:
    f = lambda x: (x * x - x / x + np.where(x > 0, x, x) * np.maximum(x, x)).sum()
    for x in (1.5, np.linspace(1, 2, 5), np.linspace(1, 2, 300)):
        for _ in range(3):
            np.testing.assert_allclose(tj.grad(f)(x), 4 * x, rtol=1e-14)


def test_second_derivatives() -> None:
    f = lambda x: np.exp(np.sin(x) * 2.0) / x
    for _ in range(3):
        got = tj.grad(tj.grad(f))(0.7)
    h = 1e-5
    np.testing.assert_allclose(got, (tj.grad(f)(0.7 + h) - tj.grad(f)(0.7 - h)) / (2 * h), rtol=1e-8)


def test_a_derivative_frees_its_arrays_at_once() -> None:
    """Without waiting for the garbage collector."""
    seen: list[Any] = []

    def f(x: Any) -> Any:
        y = np.exp(x)
        seen.append(weakref.ref(y.read().primal))
        return (y * x).sum()

    gc.disable()
    try:
        for _ in range(3):
            tj.grad(f)(np.arange(3.0))
        assert [r() for r in seen] == [None] * 3
    finally:
        gc.enable()


def test_large_residuals_are_made_again() -> None:
    """As without recipes: 2 * x is not kept beside x."""
    x = np.ones(1000)
    _, pull = tj.vjp(lambda x: np.square(x), x)
    assert sum(np.asarray(a).nbytes for a in tj.tree.leaves(pull)) <= x.nbytes
