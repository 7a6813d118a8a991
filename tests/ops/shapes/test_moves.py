from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ops.records import same
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.ir.check import check_jaxpr
from tracejit.ops.elementwise import arithmetic
from tracejit.ops.indexing import index
from tracejit.ops.reductions import linalg, reduce
from tracejit.ops.shapes import broadcast, concat, shape, slices
from tracejit.passes.dce import dce
from tracejit.passes.simplify import simplify

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4))
U = RNG.standard_normal((1, 4))
J = np.int64(2)


def names(fn: Callable[..., Any], *args: Any, bounds: Any = None) -> list[str]:
    """The ops that are left of `fn`, whose values must not change."""
    jaxpr, consts = stage(lambda *xs: [fn(*xs)], [aval_of(a) for a in args], bounds=bounds)
    new = dce(simplify(jaxpr))
    check_jaxpr(new)
    same(eval_jaxpr(new, [*consts, *args])[0], fn(*args))
    return [e.op.name for e in new.eqns]


def test_relabels() -> None:
    assert names(lambda x: shape.reshape(shape.reshape(x, shape=(12,)), shape=(3, 4)), X) == []
    assert names(lambda x: shape.reshape(shape.reshape(x, shape=(12,)), shape=(4, 3)), X) == ["reshape"]
    assert names(lambda x: shape.squeeze(shape.expand_dims(x, (1,)), dimensions=(1,)), X) == []
    assert names(lambda x: shape.reshape(shape.expand_dims(x, (1,)), shape=(12,)), X) == ["reshape"]
    assert names(lambda x: shape.squeeze(shape.expand_dims(x, (0, 1)), dimensions=(1,)), X) == [
        "expand_dims",
        "squeeze",
    ]


def test_permutations() -> None:
    swap = lambda x: shape.transpose(x, permutation=(1, 0))
    assert names(lambda x: swap(swap(x)), X) == []
    turn = lambda x: shape.transpose(x, permutation=(1, 2, 0))
    assert names(lambda x: turn(turn(x)), X.reshape(3, 2, 2)) == ["transpose"]
    assert names(lambda x: shape.rev(shape.rev(x, dimensions=(1,)), dimensions=(1,)), X) == []
    assert names(lambda x: shape.rev(shape.rev(x, dimensions=(0,)), dimensions=(1,)), X) == ["rev", "rev"]


def test_broadcasts() -> None:
    grow = lambda x: shape.broadcast_to(shape.expand_dims(x, (0, 2)), (5, 3, 6, 4))
    assert names(grow, X) == ["broadcast_in_dim"]
    assert names(lambda x: broadcast.broadcast_to(broadcast.broadcast_to(x, (2, 1, 4)), (6, 2, 3, 4)), U) == [
        "broadcast_in_dim"
    ]


def test_reads_of_writes() -> None:
    write = lambda x, u, i: index.dynamic_update_slice(x, u, i, 0)
    read = lambda x, i: index.dynamic_slice(x, i, 0, sizes=(1, 4))
    assert names(lambda x, u, i: read(write(x, u, i), i), X, U, J) == []
    assert names(lambda x, u, i, j: read(write(x, u, i), j), X, U, J, J) == [
        "dynamic_update_slice",
        "dynamic_slice",
    ]
    assert names(lambda x, u, i: write(write(x, arithmetic.neg(u), i), u, i), X, U, J) == [
        "dynamic_update_slice"
    ]
    assert names(lambda x, u: write(x, u, 5), X, U) == ["slice_update"]
    assert names(lambda x, u: index.dynamic_slice_add(x, u, 1, 0), X, U) == ["slice_add"]
    assert names(lambda x: read(x, -9), X) == ["slice"]
    assert names(lambda x, i: index.dynamic_slice(x, i, i, sizes=(3, 4)), X, J) == []
    assert names(lambda x, u, i: index.dynamic_update_slice(x, u, i, i), X, X, J) == []


def test_constant_reads_of_writes() -> None:
    part: dict[str, Any] = {"start_indices": (1, 0), "limit_indices": (2, 4), "strides": (1, 1)}
    write = lambda x, u: slices.slice_update(x, u, **part)
    assert names(lambda x, u: slices.slice(write(x, u), **part), X, U) == []
    assert names(lambda x, u: write(write(x, arithmetic.neg(u)), u), X, U) == ["slice_update"]
    other = {**part, "start_indices": (0, 0)}
    assert len(names(lambda x, u: slices.slice(write(x, u), **other), X, U)) == 2


def test_writing_back_what_was_read() -> None:
    read = lambda x, i: index.dynamic_slice(x, i, 0, sizes=(1, 4))
    write = lambda x, u, i: index.dynamic_update_slice(x, u, i, 0)
    assert names(lambda x, i: write(x, read(x, i), i), X, J) == []
    assert len(names(lambda x, i, j: write(x, read(x, i), j), X, J, J)) == 2
    assert len(names(lambda x, y, i: write(x, read(y, i), i), X, X, J)) == 2
    part: dict[str, Any] = {"start_indices": (1, 0), "limit_indices": (2, 4), "strides": (1, 1)}
    other = {**part, "start_indices": (0, 0), "limit_indices": (1, 4)}
    assert names(lambda x: slices.slice_update(x, slices.slice(x, **part), **part), X) == []
    assert len(names(lambda x: slices.slice_update(x, slices.slice(x, **other), **part), X)) == 2


@pytest.mark.parametrize(
    "bounds, left",
    [((0, 2), []), ((0, 3), ["check_index"]), ((-1, 2), ["check_index"]), (None, ["check_index"])],
)
def test_checks_that_cannot_fail(bounds: Any, left: list[str]) -> None:
    assert names(lambda i: index.check_index(i, size=3, axis=0), J, bounds=[bounds]) == left


def test_narrow_index() -> None:
    i = np.int32(1)
    assert names(lambda i: index.check_index(i, size=3, axis=0), i, bounds=[(0, 2)]) == [
        "convert_element_type"
    ]


def test_products() -> None:
    y = RNG.standard_normal((3, 5))
    numbers = (((1,), (0,)), ((), ()))
    swap = lambda x: shape.transpose(x, permutation=(1, 0))
    assert names(lambda x, y: linalg.dot_general(swap(x), y, dimension_numbers=numbers), X, y) == [
        "dot_general"
    ]
    assert names(
        lambda x, y: linalg.dot_general(swap(x), swap(y), dimension_numbers=numbers), X, y.T.copy()
    ) == ["dot_general"]
    a = RNG.standard_normal((2, 3, 4))
    turn = lambda x: shape.transpose(x, permutation=(2, 1, 0))
    outer = (((), ()), ((), ()))
    assert names(lambda a: linalg.dot_general(turn(a), a, dimension_numbers=outer), a) == [
        "transpose",
        "dot_general",
    ]


def test_trivial_joins() -> None:
    assert names(lambda x: concat.concatenate(x, dimension=0), X) == []


A, B = RNG.standard_normal((64, 80)), RNG.standard_normal((72, 80))
BATCH = RNG.standard_normal((3, 40, 64)), RNG.standard_normal((3, 64, 50))


def spread(x: Any, shape: tuple[int, ...], *axes: int) -> Any:
    return broadcast.broadcast_in_dim(x, shape=shape, broadcast_dimensions=axes)


@pytest.mark.parametrize(
    ("fn", "x", "y"),
    [
        (lambda x, y: (spread(x, (64, 72, 80), 0, 2), spread(y, (64, 72, 80), 1, 2), (2,)), A, B),
        (lambda x, y: (spread(y, (64, 72, 80), 1, 2), spread(x, (64, 72, 80), 0, 2), (2,)), A, B),
        (lambda x, y: (spread(x, (80, 64, 72), 0, 1), spread(y, (80, 64, 72), 0, 2), (0,)), A.T, B.T),
        (lambda x, y: (spread(x, (64, 80, 72), 0, 1), spread(y, (64, 80, 72), 1, 2), (1,)), A, B.T),
        (lambda x, y: (spread(x, (3, 40, 50, 64), 0, 1, 3),
                       spread(y, (3, 40, 50, 64), 0, 2, 3), (3,)), BATCH[0], BATCH[1].swapaxes(1, 2)),
        (lambda x, y: (spread(x, (40, 50, 3, 64), 0, 2, 3), spread(y, (40, 50, 3, 64), 1, 2, 3), (2, 3)),
         BATCH[0].swapaxes(0, 1), BATCH[1].transpose(2, 0, 1)),
    ],
)  # fmt: skip
def test_sums_of_products_are_matrix_products(fn: Any, x: Any, y: Any) -> None:
    def whole(x: Any, y: Any) -> Any:
        p, q, axes = fn(x, y)
        return reduce.reduce_sum(arithmetic.mul(p, q), axes=axes)

    jaxpr, _ = stage(lambda x, y: [whole(x, y)], [aval_of(x), aval_of(y)])
    new = dce(simplify(jaxpr))
    check_jaxpr(new)
    assert [e.op.name for e in new.eqns] == ["dot_general"]
    np.testing.assert_allclose(eval_jaxpr(new, [x, y])[0], whole(x, y), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("fn", "x", "y"),
    [
        (lambda x, y: (spread(x, (64, 72, 80), 0, 2), spread(y, (64, 72, 80), 1, 2), (1, 2)), A, B),
        (lambda x, y: (spread(x, (64, 72, 80), 0, 2), spread(y, (64, 72, 80), 1, 2), (2,)), A > 0, B > 0),
        (lambda x, y: (spread(x, (4, 5, 80), 0, 2), spread(y, (4, 5, 80), 1, 2), (2,)), A[:4], B[:5]),
        (lambda x, y: (x, spread(y, (64, 80), 1), (1,)), A, B[0]),
    ],
)
def test_other_sums_stay(fn: Any, x: Any, y: Any) -> None:
    """An axis summed of one operand alone, other dtypes, small products, operands that are not repeated."""

    def whole(x: Any, y: Any) -> Any:
        p, q, axes = fn(x, y)
        return reduce.reduce_sum(arithmetic.mul(p, q), axes=axes)

    jaxpr, _ = stage(lambda x, y: [whole(x, y)], [aval_of(x), aval_of(y)])
    assert "dot_general" not in [e.op.name for e in dce(simplify(jaxpr)).eqns]
