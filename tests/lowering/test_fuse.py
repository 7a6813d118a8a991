"""The lowering: values, what is fused into one nest, and what is not."""

from __future__ import annotations

import itertools
import time
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.programs import Maker
from tests.lowering.running import (
    check,
    copies,
    nodes,
    outer_nests,
    run,
    strides_of,
    trace,
    trace_closed,
)
from tracejit import ops
from tracejit.control.structured.loops import scan
from tracejit.ir.avals import Aval
from tracejit.ir.jaxpr import Jaxpr
from tracejit.lowering.fuse import lower
from tracejit.lowering.loops.nodes import Call, Comment, For, Inst, Store
from tracejit.lowering.loops.printer import format_program
from tracejit.ops.building.dims import dims_of
from tracejit.ops.elementwise.arithmetic import add, div, mul, sub
from tracejit.ops.elementwise.transcendental import exp, log, sin, sqrt, tanh
from tracejit.ops.reductions.reduce import argmax, reduce_max, reduce_sum
from tracejit.ops.shapes.broadcast import broadcast_to
from tracejit.ops.shapes.shape import expand_dims, reshape, transpose
from tracejit.tracing import unbox, wrap


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def loops(lowered: Any) -> int:
    return sum(isinstance(s, For) for s in nodes(lowered.program.body))


def calls(lowered: Any, name: str) -> int:
    return sum(isinstance(s, Call) and s.target.name == name for s in nodes(lowered.program.body))


def count(lowered: Any, op: str) -> int:
    return sum(isinstance(s, Inst) and s.op == op for s in nodes(lowered.program.body))


def mean(x: Any, axis: int) -> Any:
    kept = tuple(1 if n == axis else d for n, d in enumerate(dims_of(x)))
    total = reshape(reduce_sum(x, axes=(axis,)), shape=kept)
    return broadcast_to(div(total, float(dims_of(x)[axis])), dims_of(x))


def softmax(x: Any) -> Any:
    shape = dims_of(x)
    top = expand_dims(reduce_max(x, axes=(1,)), (1,))
    e = exp(sub(x, broadcast_to(top, shape)))
    return div(e, broadcast_to(expand_dims(reduce_sum(e, axes=(1,)), (1,)), shape))


# ---------------------------------------------------------------- pointwise


def test_a_chain_is_one_flat_loop():
    low = check(lambda x, y: add(mul(sin(x), y), exp(x)), normal(5, 7), normal(5, 7, seed=1))
    assert loops(low) == 1 and not low.program.arena_bytes
    assert low.small


def test_a_diamond_is_computed_once():
    def f(x):
        for _ in range(30):
            x = tanh(add(x, x))
        return x

    low = check(f, normal(4, 3))
    assert loops(low) == 1 and count(low, "math") == 30


def test_siblings_share_a_nest():
    low = check(lambda x, y: [add(x, y), mul(x, y), sub(add(x, y), 1.0)], normal(6, 5), normal(6, 5, seed=1))
    assert loops(low) == 1
    assert count(low, "load") == 2


def test_a_value_used_by_two_nests_is_stored_if_it_is_expensive():
    def f(x):
        e = exp(sin(x))
        return add(e, 1.0), transpose(e, permutation=(1, 0))

    low = check(f, normal(8, 9))
    assert count(low, "math") == 2
    cheap = check(lambda x: (add(mul(x, x), 1.0), transpose(mul(x, x), permutation=(1, 0))), normal(8, 9))
    assert sum(b.kind in ("arena", "stack") for b in cheap.program.buffers) == 0


def test_views_are_index_maps():
    def f(x):
        y = transpose(x, permutation=(1, 0))
        y = ops.shape.rev(y, dimensions=(0,))
        y = ops.slices.slice(y, start_indices=(1, 0), limit_indices=(7, 5), strides=(2, 1))
        return add(ops.slices.slice(y, start_indices=(1, 1), limit_indices=(3, 4)), 1.0)

    low = check(f, normal(5, 8))
    assert loops(low) == 2 and sum(isinstance(s, Store) for s in nodes(low.program.body)) == 1


def test_reshape_between_contiguous_values_is_free():
    def f(x):
        y = reshape(exp(x), shape=(12,))
        return reshape(add(y, 1.0), shape=(2, 6))

    low = check(f, normal(3, 4))
    assert loops(low) == 1 and count(low, "udiv") == count(low, "urem") == 0
    strided = check(f, np.asfortranarray(normal(3, 4)))
    assert count(strided, "math") == 1


def test_scalars_stay_in_registers():
    low = check(lambda x, y: add(broadcast_to(mul(x, sin(y)), (4, 5)), y), np.float64(2.0), np.float64(0.5))
    (nest,) = [s for s in low.program.body.stmts if isinstance(s, For)]
    assert sum(isinstance(s, Inst) and s.op == "math" for s in nodes(nest.body)) == 0


def test_invariant_code_leaves_loops():
    low = check(
        lambda x, y: mul(broadcast_to(expand_dims(exp(x), (1,)), (4, 9)), broadcast_to(y, (4, 9))),
        normal(4),
        normal(9),
    )
    inner = [s for s in nodes(low.program.body) if isinstance(s, For)][-1]
    assert not any(isinstance(s, Inst) and s.op == "math" for s in nodes(inner.body))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint8", "float32", "complex64", "complex128"])
def test_dtypes(dtype):
    x = (normal(3, 4) * 3).astype(dtype)
    check(
        lambda x: (add(x, x), mul(x, x), reduce_sum(x, axes=(0,)), transpose(x, permutation=(1, 0))),
        x,
        rtol=1e-5,
    )


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,), (1, 1), (1, 5)])
def test_empty_and_tiny_shapes(shape):
    axes = tuple(range(len(shape)))

    def f(x):
        return (
            add(sin(x), x),
            reduce_sum(x, axes=axes),
            reduce_sum(x, axes=axes[:1]),
            broadcast_to(x, (2, *shape)),
        )

    check(f, normal(*shape))


def test_outputs_that_are_inputs_constants_or_the_same_value():
    check(lambda x, y: [x, add(x, y), x, np.float64(3.0), add(x, y), y], normal(4), np.float64(2.0))


def test_strided_and_reversed_inputs():
    base = normal(8, 9, 10)
    for x in (base[::2, 1::3], base[::-1, :, ::-2], base.transpose(2, 0, 1), base[:, :1]):
        check(lambda x: (mul(x, 2.0), reduce_sum(x, axes=(1,)), reduce_sum(x, axes=(0, 2))), x)


# ---------------------------------------------------------------- reductions


@pytest.mark.sample(2)
@pytest.mark.parametrize("shape", [(5,), (4, 6), (3, 1, 5), (2, 3, 4, 2)])
def test_every_subset_of_axes(shape):
    x = normal(*shape)
    for n in range(len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), n):
            check(lambda x, axes=axes: (reduce_sum(x, axes=axes), reduce_max(mul(x, x), axes=axes)), x)


def test_argmax_with_ties_and_nan():
    x = np.array([[1.0, 3.0, 3.0, 2.0], [np.nan, 1.0, np.nan, 0.0]])
    check(lambda x: (argmax(x, axes=(1,)), argmax(x, axes=(0,)), argmax(x, axes=(0, 1))), x)


def test_sums_are_accurate():
    x = np.random.default_rng(0).uniform(0.0, 1.0, 300_000).astype(np.float32)
    exact = np.sum(x.astype(np.float64))
    (got,) = run(lower(trace(lambda x: reduce_sum(x, axes=(0,)), x), [(1,)], {}), x)
    assert abs(float(got) - exact) <= abs(float(np.sum(x)) - exact) + np.spacing(np.float32(exact))


@pytest.mark.parametrize("values", [[np.inf, 1.0], [np.inf, -np.inf], [np.nan], [1e308, 1e308]])
def test_sums_of_infinities_over_several_blocks(values):
    x = np.zeros(3000)
    x[: len(values)] = values
    with np.errstate(all="ignore"):
        check(lambda x: reduce_sum(x, axes=(0,)), x)


def test_half_precision_sums_in_single_precision():
    x = np.full(5000, 0.1, np.float16)
    check(lambda x: reduce_sum(x, axes=(0,)), x, rtol=1e-3)


def test_softmax_is_one_loop_over_rows():
    low = check(softmax, normal(6, 40))
    assert outer_nests(low) == 1
    assert count(low, "math") == 1  # the exponentials of a row are kept for its last pass
    assert low.program.arena_bytes == 0


def test_layernorm_is_one_loop_over_rows():
    def layernorm(x, scale):
        d = sub(x, mean(x, 1))
        return mul(div(d, sqrt(add(mean(mul(d, d), 1), 1e-5))), broadcast_to(scale, dims_of(x)))

    low = check(layernorm, normal(6, 40), normal(40))
    assert outer_nests(low) == 1 and low.program.arena_bytes == 0


def test_logsumexp_is_one_loop_over_rows():
    def logsumexp(x):
        top = reduce_max(x, axes=(1,))
        return add(
            log(reduce_sum(exp(sub(x, broadcast_to(expand_dims(top, (1,)), dims_of(x)))), axes=(1,))), top
        )

    low = check(logsumexp, normal(6, 40))
    assert outer_nests(low) == 1


def test_sums_of_one_array_share_a_loop():
    low = check(
        lambda x, y: (reduce_sum(mul(x, y), axes=(0,)), reduce_sum(mul(x, x), axes=(0,)), add(x, y)),
        normal(50),
        normal(50),
    )
    assert loops(low) == 1


def test_leading_axes_are_reduced_row_by_row():
    low = check(lambda x: reduce_sum(mul(x, x), axes=(0,)), normal(30, 8))
    outer = [s for s in low.program.body.stmts if isinstance(s, For)]
    assert len(outer) == 3  # clear the row, accumulate, store


# ---------------------------------------------------------------- cumulative, contract, updates


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_cumulative(axis, reverse):
    check(lambda x: ops.cumulative.cumsum(sin(x), axis=axis, reverse=reverse), normal(3, 4, 5))
    check(lambda x: ops.cumulative.cummax(x, axis=axis, reverse=reverse), normal(3, 0, 2))


@pytest.mark.sample(8)
@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32", "int64"])
@pytest.mark.parametrize("size", [3, 12])
def test_products(dtype, size):
    n = size
    x, y = (normal(2, n, n + 1) * 3).astype(dtype), (normal(2, n + 1, n + 2, seed=1) * 3).astype(dtype)

    def dot(a, b, contract, batch=((), ())):
        return ops.linalg.dot_general(a, b, dimension_numbers=(contract, batch))

    def f(x, y):
        a, b = (
            ops.index.dynamic_slice(x, 0, 0, 0, sizes=(1, n, n + 1)),
            ops.index.dynamic_slice(y, 0, 0, 0, sizes=(1, n + 1, n + 2)),
        )
        a, b = reshape(a, shape=(n, n + 1)), reshape(b, shape=(n + 1, n + 2))
        v = reshape(ops.slices.slice(b, start_indices=(0, 1), limit_indices=(n + 1, 2)), shape=(n + 1,))
        return (
            dot(x, y, ((2,), (1,)), ((0,), (0,))),
            dot(a, b, ((1,), (0,))),
            dot(transpose(b, permutation=(1, 0)), a, ((1,), (1,))),
            dot(a, v, ((1,), (0,))),
            dot(v, b, ((0,), (0,))),
            dot(v, v, ((0,), (0,))),
            dot(x, y, ((0, 2), (0, 1))),
            dot(add(a, a), a, ((), ())),
        )

    check(f, x, y, rtol=1e-4 if dtype == "float32" else 1e-11)


def test_transposed_operands_of_a_product_are_not_copied():
    def f(x, y):
        return ops.linalg.dot_general(
            transpose(x, permutation=(1, 0)),
            reshape(y, shape=(30, 20)),
            dimension_numbers=(((1,), (0,)), ((), ())),
        )

    low = check(f, normal(30, 20), normal(20, 30), rtol=1e-11)
    assert calls(low, "blas:dgemm") == 1 and not loops(low)


def test_products_without_elements():
    dims = (((1,), (0,)), ((), ()))
    check(lambda x, y: ops.linalg.dot_general(x, y, dimension_numbers=dims), normal(4, 0), normal(0, 5))
    check(lambda x, y: ops.linalg.dot_general(x, y, dimension_numbers=dims), normal(0, 4), normal(4, 5))


@pytest.mark.parametrize(
    "config",
    [((-2, 2, 0), (1, -1, 0)), ((2, -3, 0), (-4, 3, 0)), ((5, -4, 0), (-1, -1, 0)), ((9, -9, 0), (0, 1, 0))],
)
def test_pads_that_cut_off_stay_within_the_array(config):
    """The interpreter checks the bounds of every store."""
    check(lambda a: ops.concat.pad(a, np.float64(1.0), padding_config=config), normal(4, 6))


def test_concatenate_and_pad_inline_their_operands():
    def f(x, y):
        a = ops.concat.concatenate(sin(x), mul(y, 2.0), dimension=0)
        return ops.concat.pad(exp(a), np.float64(1.0), padding_config=((1, 2, 1), (-1, 0, 0)))

    low = check(f, normal(3, 4), normal(2, 4))
    assert sum(b.kind in ("arena", "stack") for b in low.program.buffers) == 1


def test_update_in_place_of_a_dead_value():
    def f(x, i):
        y = sin(x)
        return ops.index.dynamic_update_slice(y, broadcast_to(np.float64(7.0), (2,)), i)

    low = check(f, normal(100), np.int64(3))
    assert copies(low) == 0 and not [b for b in low.program.buffers if b.kind == "arena"]


def test_the_old_value_of_an_update_survives():
    def f(x, u):
        y = add(x, 1.0)
        z = ops.slices.slice_update(y, u, start_indices=(2,), limit_indices=(4,))
        w = ops.slices.slice_update(z, u, start_indices=(5,), limit_indices=(7,))
        return add(y, z), w, ops.shape.rev(z, dimensions=(0,))

    check(f, normal(80), normal(2))


def test_aliased_input_is_updated_in_place():
    def f(x, u):
        return ops.slices.slice_add(x, u, start_indices=(1,), limit_indices=(3,))

    low = check(f, normal(100), normal(2), aliases={0: 0})
    assert copies(low) == 0 and loops(low) == 1


def test_aliased_input_read_elsewhere_first():
    def shifted(x):
        part = ops.slices.slice(x, start_indices=(0,), limit_indices=(9,))
        y = ops.slices.slice_update(x, part, start_indices=(1,), limit_indices=(10,))
        return y, ops.shape.rev(x, dimensions=(0,))

    check(shifted, normal(10), aliases={0: 0})
    check(lambda x: (add(ops.shape.rev(x, dimensions=(0,)), x), x), normal(10), aliases={0: 0})
    check(lambda x, y: (y, x), normal(10), normal(10, seed=1), aliases={0: 0, 1: 1})
    check(lambda x, y: (add(x, y), sub(x, y)), normal(4, 5), normal(4, 5, seed=1), aliases={0: 0, 1: 1})


def test_softmax_into_its_argument():
    check(softmax, normal(6, 40), aliases={0: 0})
    check(
        lambda x: (sub(x, mean(x, 1)), reduce_sum(mul(x, mean(x, 1)), axes=(1,))),
        normal(6, 40),
        aliases={0: 0},
    )


def test_strided_aliases():
    x = normal(8, 9).T[::2]
    check(lambda x: add(mul(x, 2.0), 1.0), x, aliases={0: 0})
    check(lambda x: reshape(add(reshape(x, shape=(40,)), 1.0), shape=(5, 8)), x, aliases={0: 0})


# ---------------------------------------------------------------- callbacks, checks


def test_ops_without_native_code_call_back():
    low = check(lambda x: [*ops.sort.sort(x, axis=0, num_keys=1, stable=True), sin(x)], normal(5, 3))
    assert [c.in_specs[0][1] for c in low.callbacks] == [(5, 3)]


def test_checks_raise_in_order_even_if_unused():
    def f(x, i, j):
        ops.index_check.check_index(i, size=4, axis=0)
        ops.index_check.check_index(j, size=5, axis=1)
        return add(x, 1.0)

    low = lower(trace(f, normal(3), np.int64(0), np.int64(0)), [(1,), (), ()], {})
    run(low, normal(3), np.asarray(3), np.asarray(-5))
    with pytest.raises(IndexError, match="axis 0"):
        run(low, normal(3), np.asarray(9), np.asarray(9))
    with pytest.raises(IndexError, match="axis 1"):
        run(low, normal(3), np.asarray(0), np.asarray(9))


def test_a_failing_check_leaves_the_callers_array_alone():
    """What the caller sees is written after the last check."""

    def f(x, i):
        x = ops.slices.slice_update(
            x, ops.broadcast.zeros(ops_aval(3)), start_indices=(0,), limit_indices=(3,)
        )
        ops.index_check.check_index(i, size=4, axis=0)
        return ops.slices.slice_update(
            x, ops.broadcast.zeros(ops_aval(2)), start_indices=(5,), limit_indices=(7,)
        )

    low = lower(trace(f, normal(80), np.int64(0)), [(1,), ()], {0: 0})
    x = np.ones(80)
    with pytest.raises(IndexError):
        run(low, x, np.asarray(9))
    assert (x == 1).all()


def ops_aval(*shape: int) -> Aval:
    return Aval(shape, np.dtype(np.float64))


def test_transposes_are_tiled():
    low = check(lambda x, y: add(transpose(x, permutation=(1, 0)), y), normal(70, 100), normal(100, 70))
    assert loops(low) == 4
    check(lambda x: mul(x, 2.0), np.asfortranarray(normal(64, 96)))


def test_shared_operands_of_loops_survive_their_update():
    """What a loop passes through is the operand itself; it is kept when the operand is overwritten later."""

    def f(x):
        y = sin(x)
        z, w = _keeping(y)
        u = ops.slices.slice_update(
            y, ops.broadcast.zeros(ops_aval(3)), start_indices=(0,), limit_indices=(3,)
        )
        return add(ops.shape.rev(z, dimensions=(0,)), u), w

    check(f, normal(80))


def _keeping(y: Any) -> tuple[Any, Any]:
    start = [wrap(y), wrap(np.float64(0.0))]
    (kept, total), _ = scan(lambda c, _: ([c[0], wrap(add(unbox(c[1]), 1.0))], None), start, None, length=3)
    return unbox(kept), unbox(total)


# ---------------------------------------------------------------- the whole


def test_comments_name_equations_and_lines():
    low = lower(trace(lambda x: exp(x), normal(3)), [(1,)], {})
    (comment,) = [s for s in nodes(low.program.body) if isinstance(s, Comment)]
    assert comment.text.startswith("let b:f64[3] = exp a") and "test_fuse.py:" in comment.text
    assert "exp(" in format_program(low.program)


def fitting_aliases(jaxpr: Jaxpr, first: int) -> dict[int, int]:
    """Every output into the first free argument of its type."""
    aliases: dict[int, int] = {}
    for o, a in enumerate(jaxpr.outs):
        for n, v in enumerate(jaxpr.invars[first:]):
            if a.aval.shape and v.aval == a.aval and n not in aliases.values():
                aliases[o] = n
                break
    return aliases


@pytest.mark.sample(38)
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    args = [rng.standard_normal(s) for s in [(3, 4), (4,), (), (2, 3, 4)]]
    args[0] = np.asfortranarray(args[0]) if seed % 3 == 0 else args[0]
    args[3] = rng.standard_normal((4, 6, 8))[::2, ::2, ::-2] if seed % 5 == 0 else args[3]
    jaxpr, consts = trace_closed(Maker(seed, 10), *args)
    aliases = fitting_aliases(jaxpr, len(consts)) if seed % 2 else {}
    with np.errstate(all="ignore"):
        check(Maker(seed, 10), *args, rtol=1e-9, aliases=aliases)


def test_lowering_time_is_linear():
    def f(x, y):
        for n in range(400):
            x = add(mul(x, y), sin(x)) if n % 3 else broadcast_to(reduce_sum(mul(x, y), axes=(0,)), (100,))
        return x

    jaxpr = trace(f, normal(100), normal(100))
    start = time.perf_counter()
    lower(jaxpr, [(1,), (1,)], {})
    assert time.perf_counter() - start < 3.0
    assert strides_of(np.zeros((2, 3))) == (3, 1)


def test_results_that_read_each_other_reshaped() -> None:
    """An element that is in a register is not read from memory, where it is not yet."""

    def f(a):
        x = np.logaddexp(a, a)
        y = np.kron(x, np.int64(2))
        y[...] -= 2
        return x, y, (x[:, None] * np.ones((3, 1))).reshape(3) + 1

    a = np.array([4.0, 3.0, -1.5])
    for got, want in zip(tj.jit(f)(a), f(a), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-15)
    b = np.stack([a, a[::-1]], axis=1)[:, 0]
    for got, want in zip(tj.jit(f)(b), f(b), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-15)


def test_a_broadcast_keeps_what_it_shows() -> None:
    """Two nests read an expensive row that is the same for all: the row is kept, not the repeated rows."""

    def f(x: Any, v: Any) -> list[Any]:
        w = broadcast_to(exp(sin(v)), (100, 70))
        y = exp(mul(x, w))
        return [mul(w, ops.shape.rev(y, dimensions=(0,)))]

    lowered = check(f, normal(100, 70), normal(70))
    blocks = sorted(b.size for b in lowered.program.buffers if b.kind in ("arena", "private"))
    assert blocks == [70]


def test_transposed_sums_are_computed_in_order() -> None:
    """Several large operands are walked through in their order; only their result is read across."""

    def f(x: Any, y: Any) -> Any:
        return transpose(mul(exp(x), add(y, mul(x, y))), permutation=(1, 0))

    lowered = check(f, normal(80, 90), normal(80, 90))
    blocks = [b.size for b in lowered.program.buffers if b.kind in ("arena", "private")]
    assert blocks == [7200]
    small = check(f, normal(8, 9), normal(8, 9))
    assert not [b for b in small.program.buffers if b.kind in ("arena", "private")]
