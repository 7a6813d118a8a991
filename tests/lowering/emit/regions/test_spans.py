"""Ranges of carries, against the numbers that loops really have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import IndexOutOfRangeError
from tracejit.ir.kernel import ScanRegion, WhileRegion
from tracejit.lowering.emit.regions.spans import _FAR, of_carries

N, START = 9, 1


def counts_up(i: Any, s: Any) -> Any:
    return s + 2


def counts_down(i: Any, s: Any) -> Any:
    return s - 1


def stays(i: Any, s: Any) -> Any:
    return np.minimum(s + i, 5)


def wraps(i: Any, s: Any) -> Any:
    return (s + 3) % 7


def grows(i: Any, s: Any) -> Any:
    return s * 2


def by_branches(i: Any, s: Any) -> Any:
    return lax.cond(i > 3, lambda s: s + 1, lambda s: s, s)


def by_inner_loop(i: Any, s: Any) -> Any:
    return lax.while_loop(lambda t: t % 4 != 0, lambda t: t + 1, s + 1)


FOUND: list[tuple[Callable[..., Any], Any]] = [
    (counts_up, (START, _FAR)),
    (counts_down, (-_FAR, START)),
    (stays, (START, 5)),
    (wraps, (0, 6)),
    (grows, None),
    (by_branches, (START, _FAR)),
    (by_inner_loop, (START, _FAR)),
]


@pytest.mark.parametrize(("step", "span"), FOUND, ids=lambda x: getattr(x, "__name__", ""))
def test_spans(step: Callable[..., Any], span: Any) -> None:
    jaxpr = tj.make_jaxpr(lambda s: lax.fori_loop(0, N, step, s))(np.int64(0))
    (eqn,) = [e for e in jaxpr.jaxpr.eqns if isinstance(e.op.kernel, (ScanRegion, WhileRegion))]
    body = eqn.params["jaxpr"]
    (found,), _ = of_carries(body, [v.bounds for v in body.invars[:1]], [(START, START)])
    assert found == span
    s = START
    for i in range(N):
        assert found is None or found[0] <= s <= found[1]
        s = int(step(np.int64(i), np.int64(s)))


def move_back(x: Any, start: Any) -> Any:
    """Insertion: an index that goes down, and is wrapped where it gets below zero."""
    j = start
    for _ in range(4):
        x[j] = x[j - 1]
        j -= 1
    return x, j


def move_on(x: Any, start: Any) -> Any:
    j = start
    while x[j] < 5:
        x[j] += 1
        j += 1
    return x, j


@pytest.mark.parametrize("f", [move_back, move_on])
@pytest.mark.parametrize("start", [-9, -8, -7, -1, 0, 2, 5, 7, 8])
def test_indices_that_move_are_wrapped_and_checked(f: Callable[..., Any], start: int) -> None:
    def run(g: Any) -> Any:
        try:
            return [np.asarray(a).tolist() for a in g(np.arange(8.0), start)]
        except (IndexError, IndexOutOfRangeError):
            return "outside"

    assert run(tj.jit(f)) == run(f)
