"""Random small graphs of matrices, and the best plan for them, by trying all."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.control.call.checkpoint import optimization_barrier
from tracejit.control.plans.planner import Problem
from tracejit.interpreters.autodiff.linearize import linearize_jaxpr

ROWS = 32


def function(seed: int, size: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A loss of `size` layers of different widths, each of one or two earlier ones, and arguments for it."""
    rng = np.random.default_rng(seed)
    widths = [int(8 * rng.integers(1, 9)) for _ in range(size + 1)]
    plan = []
    for n in range(size):
        first = n if rng.random() < 0.8 else int(rng.integers(0, n + 1))
        second = int(rng.integers(0, n + 1)) if rng.random() < 0.2 else None
        plan.append((first, second, int(rng.integers(0, 4))))
    weights = [
        rng.normal(size=(widths[a], widths[n + 1])) / np.sqrt(widths[a]) for n, (a, _, _) in enumerate(plan)
    ]
    others = [
        None if b is None else rng.normal(size=(widths[b], widths[n + 1])) / np.sqrt(widths[b])
        for n, (_, b, _) in enumerate(plan)
    ]
    kinds: list[Callable[[Any], Any]] = [np.tanh, np.tanh, np.exp, np.sin]

    def loss(x: Any, weights: Any, others: Any) -> Any:
        values = [x]
        for (a, b, kind), w, v in zip(plan, weights, others, strict=True):
            y = values[a] @ w
            if b is not None:
                y = y * (values[b] @ v)
            values.append(kinds[kind](y))
        return sum(((y**2).sum() for y in values[-2:]), 0.0)

    return loss, (rng.normal(size=(ROWS, widths[0])), weights, others)


def problem(f: Callable[..., Any], args: tuple[Any, ...]) -> Problem:
    """What is planned for `grad(f)(*args)`, all arguments being differentiated; loops are unrolled."""
    jaxpr = tj.jit(f, capture=False).lower(*args).jaxpr
    nonzero = tuple(v.aval.dtype.kind == "f" for v in jaxpr.invars)
    forward, linear, _, _ = linearize_jaxpr(jaxpr, nonzero)
    return Problem(forward, linear, len(jaxpr.outs), nonzero, lambda x: optimization_barrier(x, tag=-1))


def best_of_all(found: Problem, budget: int) -> float | None:
    """The least cost of all choices whose programs stay within the budget; None if none does."""
    nodes, graph = found.graph.candidates, found.graph
    every = itertools.product((0, 1), repeat=len(nodes))
    choices = [{n for n, kept in zip(nodes, flags, strict=True) if kept} for flags in every]
    by_cost = sorted(choices, key=lambda saved: graph.evaluate(saved).cost)
    return next((graph.evaluate(saved).cost for saved in by_cost if found.measure(saved) <= budget), None)
