"""Numbers among the results cost no launch of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING
from tracejit.lowering.cuda.sharing.early import store_early
from tracejit.lowering.loops.builder import Builder
from tracejit.lowering.loops.nodes import Comment, Store

X, W = np.random.default_rng(0).normal(size=(300, 70)), np.random.default_rng(1).normal(size=(70, 60))


def loss(w, x):
    return (np.tanh(x @ w) ** 2).mean()


@pytest.fixture(autouse=True)
def devices() -> Any:
    with tj.config.override(cuda=SETTING):
        yield


def test_a_loss_beside_its_gradient() -> None:
    f = tj.jit(tj.value_and_grad(loss), device="cuda")
    steps = f.lower(W, X).compile().as_text("plan").splitlines()
    assert steps[-1].strip().startswith("library: product"), "nothing comes after the last product"
    for got, want in zip(f(W, X), tj.jit(tj.value_and_grad(loss))(W, X), strict=True):
        np.testing.assert_allclose(tj.device_get(got), want, rtol=1e-10, atol=1e-14)


def built(uses: str) -> list[str]:
    """What becomes of a program that computes a number, does something else, and stores the number at its end."""
    k = Builder("early")
    out, x, y = (k.buffer(n, np.dtype(float), 8, "arg", i) for i, n in enumerate(("out", "x", "y")))
    value = k.load(x, 0) * 2
    with k.loop(0, 8) as i:
        k.store(out if uses == "out" else y, i, k.load(x, i))
    k.store(out, 0, k.load(y, 0) if uses == "y" else 1.0 if uses == "nothing" else value)
    if uses == "alias":
        k.program.may_alias.append((out, y))
    store_early(k.program)
    stmts = [s for s in k.program.body.stmts if not isinstance(s, Comment)]
    return [type(s).__name__ for s in stmts if isinstance(s, Store) or type(s).__name__ == "For"]


def test_where_stores_go() -> None:
    assert built("value") == ["Store", "For"]
    for uses in ("out", "y", "alias", "nothing"):
        assert built(uses) == ["For", "Store"], uses
