"""Dimensions that are integers of the program, through every op that takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ops.records import same
from tracejit import ops
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.interpreters.autodiff.linearize import linearize_flat
from tracejit.interpreters.autodiff.transpose import pull_back
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import stage
from tracejit.interpreters.vmap import batch_flat, batch_to_front
from tracejit.ir.avals import aval_of
from tracejit.ir.check import check_jaxpr
from tracejit.ops.building.dims import dims_of
from tracejit.ops.indexing import gather, index, scatter
from tracejit.ops.indexing.gather import GatherDimensionNumbers
from tracejit.ops.reductions import linalg, sort
from tracejit.ops.shapes import concat, shape, slices

RNG = np.random.default_rng(8)
X = RNG.standard_normal((6, 4))


def rows(x: Any, n: Any) -> Any:
    """The first n rows."""
    return index.dynamic_slice(x, 0, 0, n, sizes=(None, 4), bounds=(6,))


def grow(y: Any, n: Any) -> Any:
    """Back to a static shape."""
    return index.dynamic_update_slice(np.zeros((6, 4)), y, 0, 0)


def _gathered(y: Any) -> Any:
    dn = GatherDimensionNumbers((0,), (1,), (1,))
    i = np.array([[3], [0], [0], [2]])
    return gather.gather(y, i, dimension_numbers=dn, slice_sizes=(None, 1), mode="clip")


def _scattered(y: Any) -> Any:
    dn = scatter.ScatterDimensionNumbers((0,), (1,), (1,))
    i = np.array([[3], [1], [3]])
    u = slices.slice(y, start_indices=(0, 0), limit_indices=(None, 3))
    return scatter.scatter(y, i, u, dimension_numbers=dn, mode="clip")


def _product(y: Any) -> Any:
    square = linalg.dot_general(y, y, dimension_numbers=(((0,), (0,)), ((), ())))
    return linalg.dot_general(y, square, dimension_numbers=(((1,), (0,)), ((), ())))


PROGRAMS: dict[str, Callable[..., Any]] = {
    "dynamic_slice": lambda y, n: y,
    "transpose": lambda y, n: shape.transpose(shape.transpose(y, permutation=(1, 0)), permutation=(1, 0)),
    "expand_dims": lambda y, n: shape.squeeze(shape.expand_dims(y, (0, 2)), dimensions=(0, 2)),
    "broadcast": lambda y, n: ops.arithmetic.mul(y, shape.broadcast_to(np.arange(4.0), dims_of(y))),
    "rev": lambda y, n: shape.rev(y, dimensions=(0, 1)),
    "slice": lambda y, n: concat.concatenate(
        slices.slice(y, start_indices=(0, 1), limit_indices=(None, 4)),
        slices.slice(y, start_indices=(0, 0), limit_indices=(None, 1)),
        dimension=1,
    ),
    "pad": lambda y, n: slices.slice(
        concat.pad(y, 2.0, padding_config=((0, 0, 0), (1, 0, 0))),
        start_indices=(0, 0),
        limit_indices=(None, 4),
    ),
    "shift": lambda y, n: concat.pad(y, -1.0, padding_config=((2, -2, 0), (-1, 1, 0))),
    "gather": lambda y, n: _gathered(y),
    "scatter": lambda y, n: _scattered(y),
    "product": lambda y, n: _product(y),
    "sort": lambda y, n: sort.sort(y, axis=0)[0],
    "several": lambda y, n: sort.sort(y, sort.sort(y, axis=1)[0], axis=0)[1],
}


def program(name: str) -> Callable[..., Any]:
    return lambda x, n: grow(PROGRAMS[name](rows(x, n), n), n)


def staged(fn: Callable[..., Any], *args: Any) -> list[Any]:
    """The outputs of `fn` (a list), traced, checked and evaluated."""
    jaxpr, consts = stage(fn, [aval_of(a) for a in args])
    check_jaxpr(jaxpr)
    return eval_jaxpr(jaxpr, [*consts, *args])


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("n", [0, 3, 6])
def test_values(name: str, n: int) -> None:
    fn = program(name)
    same(staged(lambda x, n: [fn(x, n)], X, np.int64(n))[0], fn(X, np.int64(n)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name: str) -> None:
    fn = program(name)
    t, ct, n = RNG.standard_normal(X.shape), RNG.standard_normal(X.shape), np.int64(3)

    def forward(x: Any, n: Any, t: Any) -> list[Any]:
        return jvp_flat(lambda x: [fn(x, n)], [x], [t])[1]

    def backward(x: Any, n: Any, ct: Any) -> list[Any]:
        _, tape = linearize_flat(lambda x: [fn(x, n)], [x], [True])
        return pull_back(tape, [ct])

    (tangent,), (back,) = staged(forward, X, n, t), staged(backward, X, n, ct)
    same(tangent, forward(X, n, t)[0], exact=False)
    same(back, backward(X, n, ct)[0], exact=False)
    np.testing.assert_allclose(np.sum(back * t), np.sum(ct * tangent), rtol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_batches(name: str) -> None:
    fn = program(name)
    xs, n = RNG.standard_normal((2, *X.shape)), np.int64(3)

    def batched(xs: Any, n: Any) -> list[Any]:
        (out,), (dim,) = batch_flat(lambda x: [fn(x, n)], 2, [xs], [0])
        return [batch_to_front(out, dim, 2)]

    same(staged(batched, xs, n)[0], np.stack([fn(x, n) for x in xs]), exact=False)


def test_batched_starts_beside_a_whole_dynamic_axis() -> None:
    def column(x: Any, i: Any, n: Any) -> Any:
        y = rows(x, n)
        d = dims_of(y)[0]
        part = index.dynamic_slice(y, 0, i, getattr(d, "var", n), sizes=(None, 1), bounds=(6,))
        return index.dynamic_update_slice(np.zeros((6, 1)), part, 0, 0)

    def batched(x: Any, i: Any, n: Any) -> list[Any]:
        (out,), (dim,) = batch_flat(lambda i: [column(x, i, n)], 3, [i], [0])
        return [batch_to_front(out, dim, 3)]

    i, n = np.array([3, 0, 9]), np.int64(4)
    want = np.stack([column(X, j, n) for j in i])
    same(batched(X, i, n)[0], want)
    same(staged(batched, X, i, n)[0], want)


def _window(x: Any, i: Any, n: Any, u: Any) -> Any:
    """Reads, adds and writes n rows from row i on, one column less."""
    y = index.dynamic_slice(x, i, 1, n, sizes=(None, 3), bounds=(6,))
    x = index.dynamic_slice_add(x, y, i, 0)
    return index.dynamic_update_slice(x, ops.arithmetic.mul(y, u), ops.arithmetic.sub(i, 1), 1)


@pytest.mark.parametrize("n", [0, 2, 6])
def test_start_and_traced_size_vary(n: int) -> None:
    i, u, n = np.array([3, 0, 9, -2]), np.float64(1.5), np.int64(n)

    def batched(x: Any, i: Any, n: Any, u: Any) -> list[Any]:
        (out,), (dim,) = batch_flat(lambda i: [_window(x, i, n, u)], 4, [i], [0])
        return [batch_to_front(out, dim, 4)]

    same(staged(batched, X, i, n, u)[0], np.stack([_window(X, j, n, u) for j in i]))
    ct = RNG.standard_normal((4, *X.shape))

    def backward(x: Any, i: Any, n: Any, u: Any) -> list[Any]:
        _, tape = linearize_flat(lambda x, u: batched(x, i, n, u), [x, u], [True, True])
        return pull_back(tape, [ct])

    want = [np.zeros_like(X), 0.0]
    for j, c in zip(i, ct, strict=True):
        _, tape = linearize_flat(lambda x, u, j=j: [_window(x, j, n, u)], [X, u], [True, True])
        for total, part in enumerate(pull_back(tape, [c])):
            want[total] = want[total] + part
    for a, b in zip(staged(backward, X, i, n, u), want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
