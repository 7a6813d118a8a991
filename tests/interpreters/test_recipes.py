"""Eager derivatives by recipe are those that the rules give, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.cases import CASES
from tracejit.config import config
from tracejit.errors import NonFiniteError
from tracejit.interpreters import linearize, recipes
from tracejit.ir.avals import aval_of
from tracejit.ir.kernel import Pointwise
from tracejit.ir.primitive import REGISTRY
from tracejit.tracing import to_raw, wrap

NAMES = sorted(
    n for n in CASES if n in REGISTRY and type(REGISTRY[n].kernel) is Pointwise and not REGISTRY[n].multi
)


def no_recipes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linearize, "recipe_for", lambda *_: None)


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
def test_recipes_do_what_rules_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for case in CASES[name]:
        args = case.args()
        got = pulled_back(case, args)
        if got is None:
            continue
        with monkeypatch.context() as m:
            no_recipes(m)
            want = pulled_back(case, args)
        for g, w in zip(got, want or [], strict=True):
            g, w = np.asarray(g), np.asarray(w)
            assert (g.dtype, g.shape, g.tobytes()) == (w.dtype, w.shape, w.tobytes())


def test_most_elementwise_operations_have_recipes() -> None:
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
    ):
        op, case = REGISTRY[name], CASES[name][0]
        args = case.args()
        tangents = [object() if aval_of(a).dtype.kind == "f" else None for a in args]
        assert recipes.recipe_for(op, args, tangents, {}) is not None, name


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


def test_large_residuals_are_made_again() -> None:
    """As without recipes: 2 * x is not kept beside x."""
    x = np.ones(1000)
    _, pull = tj.vjp(lambda x: np.square(x), x)
    assert sum(np.asarray(a).nbytes for a in tj.tree.leaves(pull)) <= x.nbytes
