"""The kernel forms of views, updates, gathers, scatters, products and sorts, as machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.ops.building.test_dims import PROGRAMS, program
from tests.ops.indexing.test_gather import CASES, arguments
from tests.ops.records import same
from tests.ops.reductions.test_linalg import CASES as PRODUCTS
from tracejit import errors
from tracejit.interpreters.autodiff.linearize import linearize_flat
from tracejit.interpreters.autodiff.transpose import pull_back
from tracejit.interpreters.jit import execute
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.ops.indexing import gather, index, scatter
from tracejit.ops.reductions import linalg, sort
from tracejit.ops.shapes import concat, shape, slices

RNG = np.random.default_rng(9)
X = RNG.standard_normal((4, 6))
U = RNG.standard_normal((2, 3))
FAR, BEFORE = np.int64(3), np.int64(-7)


def compiled(fn: Callable[..., Any], *args: Any) -> list[Any]:
    jaxpr, consts = stage(lambda *xs: list(fn(*xs)), [aval_of(a) for a in args])
    return execute(jaxpr, [*consts, *args])


def check(fn: Callable[..., Any], *args: Any, exact: bool = True) -> None:
    """`fn` gives a list; compiled it gives the same, without touching its arguments."""
    before = [np.array(a) for a in args]
    for out, want in zip(compiled(fn, *args), fn(*args), strict=True):
        same(out, want, exact)
    for a, b in zip(args, before, strict=True):
        same(a, b)


def test_views() -> None:
    def many(x: Any) -> list[Any]:
        part: Any = {"start_indices": (1, 0), "limit_indices": (4, 5), "strides": (2, 2)}
        return [
            shape.reshape(x, shape=(3, 2, 4)),
            shape.reshape(shape.transpose(x, permutation=(1, 0)), shape=(8, 3)),
            shape.transpose(x, permutation=(1, 0)),
            shape.broadcast_to(shape.expand_dims(x, (1,)), (2, 4, 3, 6)),
            shape.squeeze(slices.slice(x, start_indices=(2, 0), limit_indices=(3, 6)), dimensions=(0,)),
            shape.rev(x, dimensions=(0, 1)),
            slices.slice(x, **part),
            slices.slice_update(x, slices.slice(shape.rev(x, dimensions=(0,)), **part), **part),
            slices.slice_add(x, slices.slice(shape.rev(x, dimensions=(0,)), **part), **part),
            concat.concatenate(x, shape.rev(x, dimensions=(1,)), x, dimension=1),
            concat.pad(x, 2.0, padding_config=((1, -2, 1), (-1, 2, 0))),
        ]

    check(many, X)
    check(many, np.asfortranarray(X))
    check(many, np.concatenate([X, X])[::2][::-1])


def test_dynamic_slices() -> None:
    check(lambda x, i, j: [index.dynamic_slice(x, i, j, sizes=(2, 3))], X, FAR, BEFORE)
    check(lambda x, u, i, j: [index.dynamic_update_slice(x, u, i, j)], X, U, FAR, BEFORE)
    check(lambda x, u, i, j: [index.dynamic_slice_add(x, u, i, j), x], X, U, BEFORE, FAR)
    check(lambda x, i: [index.dynamic_slice(x, i, sizes=(2,))], X[0], np.uint64(2**64 - 1))


@pytest.mark.parametrize("name", PROGRAMS)
def test_dynamic_dimensions(name: str) -> None:
    fn = program(name)
    jaxpr, consts = stage(lambda x, n: [fn(x, n)], [aval_of(X.T.copy()[:, :4]), aval_of(FAR)])
    for n in (0, 4, 6):
        x = RNG.standard_normal((6, 4))
        same(execute(jaxpr, [*consts, x, np.int64(n)])[0], fn(x, np.int64(n)), exact=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_of_dynamic_dimensions(name: str) -> None:
    fn = program(name)

    def backward(x: Any, n: Any, ct: Any) -> list[Any]:
        _, tape = linearize_flat(lambda x: [fn(x, n)], [x], [True])
        return pull_back(tape, [ct])

    check(backward, RNG.standard_normal((6, 4)), np.int64(4), RNG.standard_normal((6, 4)), exact=False)


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}-{c[3]}")
def test_gathers_and_scatters(case: Any) -> None:
    operand, indices_shape, dn, sizes = case
    mirror = scatter.ScatterDimensionNumbers.of_gather(dn)

    def run(x: Any, i: Any) -> list[Any]:
        out = []
        for mode in ("clip", "fill"):
            part = gather.gather(x, i, dimension_numbers=dn, slice_sizes=sizes, mode=mode, fill_value=2.5)
            out.append(part)
            for fn in (scatter.scatter, scatter.scatter_add, scatter.scatter_mul, scatter.scatter_min):
                out.append(fn(x, i, part, dimension_numbers=mirror, mode=mode))
        return out

    check(run, *arguments(operand, indices_shape, "clip"))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint32, np.float16, np.float32, np.complex128])
def test_scatter_dtypes(dtype: Any) -> None:
    x, u = RNG.integers(0, 3, (4, 2)).astype(dtype), RNG.integers(0, 3, (3, 2)).astype(dtype)
    i = np.array([[1], [3], [1]])
    dn = scatter.ScatterDimensionNumbers((1,), (0,), (0,))
    family = (
        scatter.scatter, scatter.scatter_add, scatter.scatter_mul, scatter.scatter_min, scatter.scatter_max
    )  # fmt: skip
    check(lambda x, i, u: [fn(x, i, u, dimension_numbers=dn, mode="clip") for fn in family], x, i, u)
    check(lambda x, i: [gather.take(x, i, 0, mode="fill")], x, np.array([0, 9, -1]))


@pytest.mark.parametrize("case", PRODUCTS, ids=lambda c: c[3])
def test_products(case: Any) -> None:
    a, b, numbers, _ = case
    x, y = RNG.standard_normal(a), RNG.standard_normal(b)
    check(lambda x, y: [linalg.dot_general(x, y, dimension_numbers=numbers)], x, y, exact=False)


def test_sorts() -> None:
    x = np.array([[3, np.nan, 1, -0.0], [0.0, 2, -1, np.nan]])
    keys = np.array([[1, 0, 1, 0], [2, 2, 0, 0]])
    check(
        lambda x, k: [*sort.sort(k, x, num_keys=2), sort.argsort(x, axis=0), *sort.sort(x, axis=1)], x, keys
    )


def test_checks() -> None:
    check(lambda i: [index.check_index(i, size=5, axis=0)], np.array([0, -5, 4]))
    check(lambda i, n: [index.check_index(i, size=n, axis=0)], np.array([0, -2, 1]), np.int64(2))
    with pytest.raises(errors.IndexOutOfRangeError, match=r"index 7 .* axis 1 with size 5"):
        compiled(lambda i: [index.check_index(i, size=5, axis=1)], np.array([1, 7]))
    with pytest.raises(errors.IndexOutOfRangeError, match=r"index -3 .* size 2"):
        compiled(lambda i, n: [index.check_index(i, size=n, axis=0)], np.int64(-3), np.int64(2))
