from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.ir.check import check_jaxpr
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ops.elementwise.arithmetic import add, mul
from tracejit.ops.elementwise.compare import select
from tracejit.ops.elementwise.transcendental import exp, tanh
from tracejit.ops.reductions.linalg import dot_general
from tracejit.ops.shapes.broadcast import broadcast_in_dim
from tracejit.ops.shapes.shape import transpose
from tracejit.passes.dce import dce
from tracejit.passes.layout import layout

RNG = np.random.default_rng(8)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape)


def dot(x: Any, w: Any) -> Any:
    return dot_general(x, w, dimension_numbers=(((1,), (0,)), ((), ())))


def turn(x: Any, *order: int) -> Any:
    return transpose(x, permutation=order or (1, 0))


def through(fn: Callable[..., Any], *args: Any) -> tuple[Jaxpr, Jaxpr]:
    """The program before and after the pass, whose results agree."""
    jaxpr, _ = stage(lambda *xs: fn(*xs), [aval_of(a) for a in args])
    new = layout(jaxpr)
    check_jaxpr(new)
    for got, want in zip(eval_jaxpr(new, args), eval_jaxpr(jaxpr, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    return jaxpr, dce(new)


def turned(jaxpr: Jaxpr) -> list[tuple[int, ...]]:
    """The shapes of what is transposed."""
    return [e.invars[0].aval.shape for e in jaxpr.eqns if e.op.name == "transpose"]


def test_a_product_is_written_as_it_is_read() -> None:
    before, after = through(lambda x, w: [turn(dot(x, w))], normal(5, 3), normal(3, 7))
    assert turned(before) == [(5, 7)] and turned(after) == []


def test_through_elementwise_operations() -> None:
    """Operands that are no products are transposed instead, which is a matter of how they are read."""

    def f(x: Any, w: Any, b: Any, c: Any) -> list[Any]:
        y = add(dot(x, w), broadcast_in_dim(b, shape=(5, 7), broadcast_dimensions=(1,)))
        return [turn(mul(tanh(y), add(c, exp(dot(x, w)))))]

    _, after = through(f, normal(5, 3), normal(3, 7), normal(7), normal(5, 7))
    assert turned(after) == [(5, 7)] * 2  # those of b and c
    assert [e.outvars[0].aval.shape for e in after.eqns if e.op.name == "dot_general"] == [(7, 5)] * 2


def test_operands_that_are_numbers_or_masks() -> None:
    ones = lambda: broadcast_in_dim(np.float64(1), shape=(5, 7), broadcast_dimensions=())
    f = lambda x, w, m: [turn(select(m, mul(dot(x, w), np.float64(2)), ones()))]
    _, after = through(f, normal(5, 3), normal(3, 7), normal(5, 7) > 0)
    assert (5, 7) not in [e.outvars[0].aval.shape for e in after.eqns if e.op.name == "dot_general"]


@pytest.mark.parametrize("seed", range(10))
def test_products_of_any_axes(seed: int) -> None:
    """Batches, several axes on each side: turned exactly if the two sides change places."""
    rng = np.random.default_rng(seed)
    nb, nx, ny, nc = (int(n) for n in rng.integers([0, 1, 1, 1], [3, 3, 3, 3]))
    sizes = iter(rng.permutation(np.arange(2, 12)))
    b, x, y, c = ([int(next(sizes)) for _ in range(n)] for n in (nb, nx, ny, nc))
    left, right = normal(*b, *x, *c), normal(*b, *c, *y)
    contracted = tuple(range(nb + nx, nb + nx + nc)), tuple(range(nb, nb + nc))
    batch = (tuple(range(nb)),) * 2
    product = lambda p, q: dot_general(p, q, dimension_numbers=(contracted, batch))
    axes = range(nb + nx + ny)
    swap = (*axes[:nb], *axes[nb + nx :], *axes[nb : nb + nx])
    _, after = through(lambda p, q: [turn(product(p, q), *swap)], left, right)
    assert turned(after) == []
    other = tuple(int(n) for n in rng.permutation(axes))
    _, after = through(lambda p, q: [turn(product(p, q), *other)], left, right)
    assert len(turned(after)) == (other not in (swap, tuple(axes)))


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w, a: [turn(p := dot(x, w)), p],  # read as it is, too
        lambda x, w, a: [turn(p := dot(x, w)), turn(tanh(p))],
        lambda x, w, a: [turn(add(p := dot(x, w), p))],
        lambda x, w, a: [turn(exp(a)), dot(x, w)],  # no product
    ],
)
def test_what_stays(f: Callable[..., Any]) -> None:
    before, after = through(f, normal(5, 3), normal(3, 7), normal(5, 7))
    assert turned(after) == turned(before)


# ---------------------------------------------------------------- through jit


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("sizes", [(3, 4, 5), (40, 30, 50), (64, 1, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_programs(sizes: tuple[int, int, int], dtype: Any) -> None:
    n, k, m = sizes
    x, w, b = (normal(*s).astype(dtype) for s in ((n, k), (k, m), (m,)))
    f = lambda x, w, b: np.tanh(x @ w / 8 + b).T @ x
    compiled = tj.jit(f).lower(x, w, b).compile()
    assert turned(compiled.jaxpr) == []
    tolerance = 30 * k * np.finfo(dtype).eps
    np.testing.assert_allclose(compiled(x, w, b), f(x, w, b), rtol=tolerance, atol=tolerance * 10)


def test_rows_of_a_transposed_product() -> None:
    x, w = normal(30, 20), normal(20, 40) / 4
    f = lambda x, w: softmax((x @ w).T)
    rows = tj.jit(lambda x, w: f(x, w).copy()).lower(x, w).compile()
    assert turned(rows.jaxpr) == []
    np.testing.assert_allclose(rows(x, w), f(x, w), rtol=1e-12)
    columns = (
        tj.jit(f).lower(x, w).compile()
    )  # NumPy's result is in Fortran's order: it alone is turned, in the end
    assert turned(columns.jaxpr) == [(40, 30)] and columns.jaxpr.eqns[-1].op.name == "transpose"
    np.testing.assert_allclose(columns(x, w), f(x, w), rtol=1e-12)
    assert columns(x, w).strides == f(x, w).strides


def test_derivatives_and_loops() -> None:
    x, w = normal(6, 4), normal(4, 6) / 3

    def loss(x: Any, w: Any) -> Any:
        step = lambda c, _: (softmax((c @ w @ c).T).T, None)
        return (lax.scan(step, x, None, length=3)[0] ** 2).sum()

    for got, want in zip(tj.jit(tj.grad(loss, (0, 1)))(x, w), tj.grad(loss, (0, 1))(x, w), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
