"""late: what depends on no cotangent comes when it is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit.control.plans.late import anchored, late


def test_order() -> None:
    def f(x: Any, ct: Any) -> Any:
        a, b, c = np.sin(x), np.cos(x), np.exp(x)
        ct = ct * c
        ct = ct * b
        return ct * a

    jaxpr = tj.jit(f).lower(np.ones(2), np.ones(2)).jaxpr
    names = lambda j: [e.op.name for e in j.eqns]
    assert names(jaxpr) == ["sin", "cos", "exp", "mul", "mul", "mul"]
    assert [e.op.name for e in anchored(jaxpr, 1)] == ["mul"] * 3
    assert names(late(jaxpr, 1)) == ["exp", "mul", "cos", "mul", "sin", "mul"]
    assert late(late(jaxpr, 1), 1) is late(jaxpr, 1)


def test_checkpoints_compute_again_in_time() -> None:
    """Products that are kept: everything else is needed one layer at a time."""

    def f(x: Any, ws: Any) -> Any:
        for w in ws:
            x = np.tanh(x @ w)
        return x.sum()

    x, ws = np.ones((32, 32)), [np.ones((32, 32)) / 32 for _ in range(8)]
    kept = tj.checkpoint(f, policy=tj.checkpoint_policies.dots_saveable)
    bytes_ = tj.jit(tj.grad(kept)).lower(x, ws).compile().memory_analysis()["temporary_bytes"]
    assert bytes_ <= 12 * x.nbytes
