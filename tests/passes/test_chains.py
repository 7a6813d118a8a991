"""Products of several matrices in the order that multiplies least."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.ir.check import check_jaxpr
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ops.reductions.linalg import dot_general
from tracejit.passes.chains import chains
from tracejit.tracing import to_raw

RNG = np.random.default_rng(5)


def matrices(*sizes: int) -> list[Any]:
    return [RNG.standard_normal(s) for s in itertools.pairwise(sizes)]


def dot(x: Any, y: Any, i: int | None = None, j: int = 0) -> Any:
    """The sum over axis `i` (the last) of `x` and axis `j` of `y`."""
    i = aval_of(x).ndim - 1 if i is None else i
    return dot_general(x, y, dimension_numbers=(((i,), (j,)), ((), ())))


def multiplications(jaxpr: Jaxpr) -> int:
    total = 0
    for e in jaxpr.eqns:
        ((x,), _), _ = e.params["dimension_numbers"]
        total += e.invars[0].aval.size * e.invars[1].aval.size // e.invars[0].aval.shape[x]
    return total


def through(fn: Any, args: Sequence[Any]) -> tuple[Jaxpr, Jaxpr]:
    """The program before and after the pass, whose results agree."""
    jaxpr, _ = stage(lambda *xs: [fn(*xs)], [aval_of(a) for a in args])
    new = chains(jaxpr)
    check_jaxpr(new)
    want, got = eval_jaxpr(jaxpr, args)[0], eval_jaxpr(new, args)[0]
    np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10 * np.max(np.abs(want)))
    return jaxpr, new


def least(sizes: Sequence[int]) -> int:
    """By trying all orders."""
    if len(sizes) == 2:
        return 0
    return min(
        least(sizes[: k + 1]) + least(sizes[k:]) + sizes[0] * sizes[k] * sizes[-1]
        for k in range(1, len(sizes) - 1)
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_order_is_the_best_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, rng.integers(4, 8)).tolist()
    before, after = through(lambda *xs: functools.reduce(dot, xs), matrices(*sizes))
    assert multiplications(after) == least(sizes) or multiplications(before) < 1.1 * least(sizes)


def test_vectors_come_first() -> None:
    a, b = matrices(50, 60, 70)
    v = RNG.standard_normal(70)
    _, after = through(lambda a, b, v: dot(dot(a, b), v), [a, b, v])
    assert multiplications(after) == 60 * 70 + 50 * 60
    u = RNG.standard_normal(50)
    _, after = through(lambda u, a, b: dot(u, dot(a, b)), [u, a, b])
    assert multiplications(after) == 50 * 60 + 60 * 70


def test_transposed_products() -> None:
    """Products that are read along their rows, as derivatives do."""
    a, b = matrices(50, 60, 70)
    v = RNG.standard_normal(50)
    _, after = through(lambda a, b, v: dot(dot(a, b), v, 0, 0), [a, b, v])
    assert multiplications(after) == 50 * 60 + 60 * 70
    _, after = through(lambda a, b, v: dot(v, dot(a, b), 0, 0), [a, b, v])
    assert multiplications(after) == 50 * 60 + 60 * 70
    c = RNG.standard_normal((3, 50))
    _, after = through(lambda a, b, c: dot(dot(a, b), c, 0, 1), [a, b, c])
    assert multiplications(after) == 3 * 50 * 60 + 3 * 60 * 70
    w = RNG.standard_normal(70)
    _, after = through(lambda a, b, w, c: dot(dot(dot(a, b), w), c, 0, 1), [a, b, w, c])
    assert multiplications(after) == 60 * 70 + 50 * 60 + 3 * 50


def test_what_is_used_twice_is_computed_once() -> None:
    a, b = matrices(50, 60, 70)
    v, w = RNG.standard_normal(70), RNG.standard_normal(70)
    jaxpr, _ = stage(
        lambda a, b, v, w: [dot(p := dot(a, b), v), dot(p, w)], [aval_of(x) for x in (a, b, v, w)]
    )
    assert chains(jaxpr) is jaxpr


def test_best_orders_stay_as_they_are() -> None:
    args = matrices(2, 60, 70, 80)
    before, after = through(lambda a, b, c: dot(dot(a, b), c), args)
    assert after is before


def test_only_with_fastmath() -> None:
    a, b = matrices(80, 80, 80)
    v = RNG.standard_normal(80)
    f = lambda a, b, v: a @ b @ v
    strict, fast = tj.jit(f).lower(a, b, v).compile(), tj.jit(f, fastmath=True).lower(a, b, v).compile()
    assert multiplications(strict.jaxpr) == 80**3 + 80**2 and multiplications(fast.jaxpr) == 2 * 80**2
    for compiled in (strict, fast):
        np.testing.assert_allclose(compiled(a, b, v), f(a, b, v), rtol=1e-10)


def test_fastmath_contracts() -> None:
    """x * y - y * x is zero unless one product is rounded and the other is not."""
    f = lambda x, y: x * y - y * x * 1.0000001
    x, y = RNG.random(1000), RNG.random(1000)
    strict, fast = tj.jit(f), tj.jit(f, fastmath=True)
    np.testing.assert_array_equal(strict(x, y), f(x, y))
    np.testing.assert_allclose(fast(x, y), f(x, y), rtol=1e-6)
    assert "contract" in fast.lower(x, y).as_text("source")
    assert "contract" not in strict.lower(x, y).as_text("source").split("define i32 @entry")[1]


def test_fastmath_composes() -> None:
    a, b = matrices(20, 20, 20)
    loss = lambda a: np.sin(0.01 * (a @ b @ b[:, 0])).sum()
    want = tj.grad(loss)(a)
    np.testing.assert_allclose(tj.jit(tj.grad(loss), fastmath=True)(a), want, rtol=1e-10)
    np.testing.assert_allclose(tj.grad(tj.jit(loss, fastmath=True))(a), want, rtol=1e-10)
    batch = np.stack([a, 2 * a])
    got = tj.jit(tj.vmap(tj.jit(loss, fastmath=True)), fastmath=True)(batch)
    np.testing.assert_allclose(got, [loss(x) for x in batch], rtol=1e-10)
    assert to_raw(got).shape == (2,)
