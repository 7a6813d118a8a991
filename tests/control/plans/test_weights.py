"""Weights: a rough cost of each kind of equation."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit import lax
from tracejit.control.plans.weights import is_light, work


def eqns(f: Any, *args: Any) -> list[Any]:
    return list(tj.jit(f).lower(*args).jaxpr.eqns)


def test_weights() -> None:
    a, v = np.ones((20, 30)), np.ones(100)
    (product,) = eqns(lambda a: a @ a.T, a)[-1:]
    assert work(product) > 2 * 20 * 20 * 30 / 10
    (exp,) = eqns(np.exp, v)
    (add,) = eqns(lambda v: v + 1, v)
    assert work(exp) > 5 * work(add) and is_light(add) and not is_light(exp)
    (loop,) = eqns(lambda v: lax.fori_loop(0, 50, lambda i, c: np.sin(c), v), v)
    assert 40 * work(exp) < work(loop) < 80 * work(exp)
    (branch,) = [
        e for e in eqns(lambda v: lax.cond(v[0] > 0, np.exp, lambda x: x, v), v) if e.op.name == "cond"
    ]
    assert work(branch) >= work(exp)
    (sort,) = eqns(np.sort, v)
    assert work(sort) > work(add)
