"""Conditionals, while loops and scans as native control flow; dynamic extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.lowering.programs import boxed, unboxed
from tests.lowering.running import check, copies, nodes, run, strides_of, trace
from tracejit import ops
from tracejit.control.structured.branches import switch
from tracejit.control.structured.loops import fori_loop, scan, while_loop
from tracejit.ir.avals import Dim
from tracejit.lowering.fuse import lower
from tracejit.lowering.loops.nodes import For, If, Store, While
from tracejit.ops.building.dims import dims_of
from tracejit.ops.elementwise.arithmetic import add, maximum, minimum, mul, sub
from tracejit.ops.elementwise.compare import lt
from tracejit.ops.elementwise.transcendental import sin, sqrt
from tracejit.ops.indexing.index import dynamic_slice, dynamic_update_slice
from tracejit.ops.reductions.reduce import reduce_sum
from tracejit.ops.shapes.broadcast import broadcast_to
from tracejit.ops.shapes.shape import expand_dims, reshape, transpose


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def loop(body: Any, carry: Any, xs: Any = None, **options: Any) -> Any:
    """`scan` on raw values: body(carry list, x) -> (carry list, y)."""

    def step(c: Any, x: Any) -> Any:
        new, y = body(unboxed(c), unboxed([x])[0] if x is not None else None)
        return boxed(new), boxed([y])[0] if y is not None else None

    out, ys = scan(step, boxed(carry), boxed([xs])[0] if xs is not None else None, **options)
    return [*unboxed(out), *(unboxed([ys]) if ys is not None else [])]


def count_to(n: Any, body: Any, carry: Any) -> Any:
    return unboxed(fori_loop(0, n, lambda i, c: boxed(body(unboxed([i])[0], unboxed(c))), boxed(carry)))


def repeat(test: Any, body: Any, carry: Any) -> Any:
    return unboxed(
        while_loop(lambda c: boxed([test(*unboxed(c))])[0], lambda c: boxed(body(*unboxed(c))), boxed(carry))
    )


def choose(index: Any, branches: Any, *operands: Any) -> Any:
    def lifted(f: Any) -> Any:
        return lambda *args: boxed(f(*unboxed(args)))

    return unboxed(switch(boxed([index])[0], [lifted(b) for b in branches], *boxed(operands)))


def element(x: Any, *at: Any) -> Any:
    return reshape(dynamic_slice(x, *at, sizes=(1,) * len(at)), shape=())


def set_element(x: Any, value: Any, *at: Any) -> Any:
    return dynamic_update_slice(x, broadcast_to(value, (1,) * len(at)), *at)


def loops(low: Any) -> int:
    return sum(isinstance(s, For) for s in nodes(low.program.body))


def arena(low: Any) -> list[Any]:
    return [b for b in low.program.buffers if b.kind == "arena"]


# ---------------------------------------------------------------- scan


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 5])
def test_scan(length, reverse):
    def f(x, xs):
        return loop(lambda c, t: ([sin(add(c[0], t))], mul(c[0], t)), [x], xs, reverse=reverse)

    check(f, np.float64(1.0), normal(length))
    check(f, normal(3), normal(length, 3))


def test_scalar_carries_live_in_slots():
    def f(x, y):
        return loop(lambda c, _: ([add(c[1], c[0]), mul(c[0], 0.5)], None), [x, y], length=7)

    low = check(f, np.float64(1.0), np.float64(2.0))
    body = next(s for s in low.program.body.stmts if isinstance(s, For)).body
    assert not any(isinstance(s, Store) for s in nodes(body))


@pytest.mark.parametrize("size", [3, 100])
def test_permuted_and_unchanged_carries(size):
    def f(a, b, c):
        return loop(lambda v, _: ([v[1], v[0], v[2]], add(v[0], v[2])), [a, b, c], length=5)

    low = check(f, normal(size), normal(size, seed=1), normal(size, seed=2))
    assert copies(low) == (0 if size < 64 else copies(low))

    def rotate(a, b, c):
        return loop(lambda v, _: ([v[1], v[2], v[0]], None), [a, b, c], length=4)

    check(rotate, normal(size), normal(size, seed=1), normal(size, seed=2))
    check(lambda a: loop(lambda v, _: ([add(v[0], 1.0), v[0]], None), [a, a], length=4), normal(size))
    check(
        lambda a: loop(lambda v, _: ([v[1], add(v[0], v[1])], None), [a, mul(a, 2.0)], length=4), normal(size)
    )


def test_updates_of_a_carry_are_in_place():
    def f(x):
        return count_to(50, lambda i, c: [set_element(c[0], mul(element(c[0], i), 2.0), i)], [mul(x, 1.5)])

    low = check(f, normal(200))
    assert copies(low) == 0 and not arena(low)
    assert loops(low) == 2


def test_update_of_an_argument_through_a_loop_is_in_place():
    def f(x):
        return count_to(50, lambda i, c: [set_element(c[0], add(element(c[0], i), 2.0), i)], [x])

    low = check(f, normal(200), aliases={0: 0})
    assert copies(low) == 0 and loops(low) == 1


def test_pointwise_carries_are_in_place():
    def f(x, y):
        return loop(
            lambda c, _: ([sub(mul(c[0], 0.9), mul(c[1], 0.1)), add(c[1], c[0])], None), [x, y], length=6
        )

    low = check(f, normal(100), normal(100, seed=1))
    inner = next(
        s
        for s in low.program.body.stmts
        if isinstance(s, For) and any(isinstance(t, For) for t in s.body.stmts)
    )
    assert loops(low) <= 4 and sum(isinstance(s, For) for s in nodes(inner.body)) == 1


def test_old_parts_of_an_updated_carry_are_saved():
    def floyd(d):
        n = dims_of(d)[0]

        def step(k, c):
            row = dynamic_slice(c[0], k, np.int64(0), sizes=(1, n))
            column = dynamic_slice(c[0], np.int64(0), k, sizes=(n, 1))
            return [minimum(c[0], add(broadcast_to(row, (n, n)), broadcast_to(column, (n, n))))]

        return count_to(n, step, [d])

    low = check(floyd, np.random.default_rng(0).uniform(size=(12, 12)))
    assert sum(b.size for b in low.program.buffers if b.kind != "arg") <= 24

    def swap(x):
        def step(i, c):
            a, b = element(c[0], i), element(c[0], np.int64(9))
            return [set_element(set_element(c[0], b, i), a, np.int64(9))]

        return count_to(10, step, [x])

    check(swap, normal(10))


def test_rows_of_results_are_written_where_they_end():
    def f(x, w):
        return loop(lambda c, t: ([mul(c[0], 0.5)], sin(add(t, w))), [np.float64(1.0)], x)

    low = check(f, normal(6, 70), normal(70))
    assert not arena(low)


def test_results_of_inner_dynamic_shape_are_padded_with_zeros():
    def f(x):
        def step(c, i):
            part = dynamic_slice(x, np.int64(0), i, sizes=(None,), bounds=(5,))
            return [add(c[0], reduce_sum(part, axes=(0,)))], broadcast_to(reduce_sum(part, axes=(0,)), (2,))

        return loop(
            step, [np.float64(0.0)], ops.create.iota(shape=(5,), dtype=np.dtype(np.int64), dimension=0)
        )

    check(f, normal(5))


def test_nested_scans():
    def f(x, w):
        def outer(c, row):
            inner = loop(lambda d, t: ([add(mul(d[0], t), d[1]), d[1]], sin(d[0])), [c[0], c[0]], row)
            return [inner[0]], inner[2]

        return loop(outer, [w], x)

    check(f, normal(4, 6), np.float64(0.3))

    def matrix(a):
        def outer(i, c):
            return count_to(5, lambda j, d: [set_element(d[0], add(element(d[0], i, j), 1.0), i, j)], c)

        return count_to(4, outer, [a])

    low = check(matrix, normal(4, 5))
    assert copies(low) == 0


def test_dynamic_trip_counts():
    def f(n, x):
        return count_to(n, lambda i, c: [add(c[0], element(x, i))], [np.float64(0.0)])

    for n in (0, 3, 7):
        check(f, np.int64(n), normal(8))


# ---------------------------------------------------------------- while, cond


def test_while():
    check(
        lambda x: repeat(
            lambda a, n: lt(a, 100.0), lambda a, n: [mul(a, 2.0), add(n, np.int64(1))], [x, np.int64(0)]
        ),
        np.float64(1.5),
    )
    check(
        lambda x: repeat(
            lambda a, b: lt(reduce_sum(a, axes=(0,)), 50.0), lambda a, b: [add(a, b), b], [x, mul(x, x)]
        ),
        np.abs(normal(80)),
    )
    check(lambda x: repeat(lambda a: lt(a, 0.0), lambda a: [add(a, 1.0)], [x]), np.float64(1.5))


@pytest.mark.parametrize("index", [-3, 0, 1, 2, 9])
def test_only_one_branch_runs(index):
    branches = [lambda x, y: [sin(x), y], lambda x, y: [mul(x, y), x], lambda x, y: [x, y]]
    low = check(lambda i, x, y: choose(i, branches, x, y), np.int64(index), normal(5), normal(5, seed=1))
    assert sum(isinstance(s, If) for s in nodes(low.program.body)) == 2


def test_branches_update_in_place():
    def f(p, x):
        x = add(x, 1.0)
        return choose(p, [lambda a: [a], lambda a: [set_element(a, 7.0, np.int64(3))]], x)

    low = check(f, np.int64(1), normal(100))
    assert copies(low) == 0 and loops(low) == 1

    def g(p, x):
        return count_to(
            5, lambda i, c: choose(p, [lambda a: [a], lambda a: [set_element(a, 7.0, i)]], c[0]), [x]
        )

    low = check(g, np.int64(1), normal(100))
    (outer,) = [
        s
        for s in low.program.body.stmts
        if isinstance(s, For) and any(isinstance(t, If) for t in s.body.stmts)
    ]
    assert not any(isinstance(s, For) for s in nodes(outer.body))


def test_scalars_of_branches_do_not_leak():
    def f(p, x):
        y = sin(x)
        out = choose(p, [lambda a, b: [mul(a, b)], lambda a, b: [add(a, mul(a, b))]], x, y)
        return out[0], mul(x, y)

    for p in (0, 1):
        check(f, np.int64(p), np.float64(0.7))


# ---------------------------------------------------------------- dynamic extents


def cholesky(a: Any) -> Any:
    """Column by column; the lengths of rows depend on the column."""
    n = dims_of(a)[0]
    zero = np.int64(0)

    def part(x: Any, i: Any, j: Any) -> Any:
        """x[i, :j]"""
        return reshape_row(dynamic_slice(x, i, zero, j, sizes=(1, None), bounds=(n,)))

    def reshape_row(x: Any) -> Any:
        return ops.shape.squeeze(x, dimensions=(0,))

    def column(j, c):
        row = part(c[0], j, j)
        d = sqrt(sub(element(a, j, j), reduce_sum(mul(row, row), axes=(0,))))
        m = set_element(c[0], d, j, j)

        def below(i, e):
            s = reduce_sum(mul(part(e[0], add(add(i, j), np.int64(1)), j), part(e[0], j, j)), axes=(0,))
            i = add(add(i, j), np.int64(1))
            return [set_element(e[0], ops.arithmetic.div(sub(element(a, i, j), s), d), i, j)]

        return count_to(sub(np.int64(n - 1), j), below, [m])

    return count_to(n, column, [ops.broadcast.zeros(a.aval)])


def test_cholesky():
    b = normal(9, 9)
    a = b @ b.T + 9 * np.eye(9)
    jaxpr = trace(cholesky, a)
    low = lower(jaxpr, [strides_of(a)], {})
    (out,) = run(low, a)
    np.testing.assert_allclose(out, np.linalg.cholesky(a), rtol=1e-10)
    assert copies(low) == 0 and not arena(low)


def test_dynamic_inputs_and_outputs():
    def f(n, x):
        part = dynamic_slice(x, np.int64(1), n, sizes=(None,), bounds=(6,))
        return (
            add(part, 1.0),
            reduce_sum(part, axes=(0,)),
            transpose(broadcast_to(expand_dims(part, (0,)), (3, *dims_of(part))), permutation=(1, 0)),
        )

    low = check(f, np.int64(4), normal(8))
    assert low.out_dims[0] == (("input", 0),)
    assert isinstance(low.out_avals[0].shape[0], Dim)


@pytest.mark.parametrize("n", [0, 1, 5])
def test_products_of_dynamic_extent(n):
    def f(n, a, b):
        x = dynamic_slice(a, np.int64(0), np.int64(0), n, sizes=(20, None), bounds=(9,))
        y = dynamic_slice(b, np.int64(0), np.int64(0), n, sizes=(None, 30), bounds=(9,))
        dims = (((1,), (0,)), ((), ()))
        v = ops.shape.squeeze(
            dynamic_slice(b, np.int64(0), np.int64(2), n, sizes=(None, 1), bounds=(9,)), dimensions=(1,)
        )
        return ops.linalg.dot_general(x, y, dimension_numbers=dims), ops.linalg.dot_general(
            x, v, dimension_numbers=dims
        )

    check(f, np.int64(n), normal(20, 9), normal(9, 30, seed=1), rtol=1e-11)


def test_callbacks_in_loops_see_dynamic_extents():
    def f(x):
        def step(i, c):
            part = dynamic_slice(x, np.int64(0), i, sizes=(None,), bounds=(6,))
            return [add(c[0], reduce_sum(mul(ops.sort.sort(part)[0], maximum(part, part)), axes=(0,)))]

        return count_to(6, step, [np.float64(0.0)])

    jaxpr = trace(f, normal(6))
    x = normal(6)
    (out,) = run(lower(jaxpr, [(1,)], {}), x)
    want = sum(float(np.sum(np.sort(x[:i]) * x[:i])) for i in range(6))
    assert abs(out - want) < 1e-12


def test_loops_around_nothing_but_scalars_have_no_inner_loops():
    def f(x):
        return repeat(lambda a, b: lt(a, b), lambda a, b: [add(a, 1.0), b], [x, np.float64(9.0)])

    low = check(f, np.float64(0.0))
    assert sum(isinstance(s, While) for s in low.program.body.stmts) == 1 and loops(low) == 0
