"""barriers: taken out last, so that nothing before merges what they keep apart."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit import lax
from tracejit.passes import pipeline
from tracejit.passes.barriers import barriers


def test_what_is_computed_twice_stays_so() -> None:
    f = tj.checkpoint(lambda x: np.sin(np.exp(x)))
    jaxpr = tj.jit(tj.grad(lambda x: f(x).sum() + (f(x) ** 2).sum())).lower(np.ones(3)).jaxpr
    done = pipeline.run(jaxpr)
    names = [e.op.name for e in done.eqns]
    assert "optimization_barrier" not in names and names.count("exp") >= 2


def test_in_loops_too() -> None:
    f = tj.checkpoint(lambda c: np.sin(np.exp(c)))

    def loop(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: f(c), x).sum()

    jaxpr = tj.jit(tj.grad(loop)).lower(np.ones(3)).jaxpr
    assert "optimization_barrier" not in str(pipeline.run(jaxpr))


def test_nothing_to_do() -> None:
    jaxpr = tj.jit(np.sin).lower(np.ones(3)).jaxpr
    assert barriers(jaxpr) is jaxpr
