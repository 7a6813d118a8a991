"""Staging: what is recorded, what is computed while tracing, what becomes a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import LeakedTracerError
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import ArgRef, StageTrace, bounds_of, stage
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.jaxpr import Literal
from tracejit.ops.creation import create
from tracejit.ops.elementwise import arithmetic, transcendental
from tracejit.ops.shapes import broadcast
from tracejit.tracing import new_trace

X = aval_of(np.ones(3))


def test_records_equations_in_order() -> None:
    jaxpr, consts = stage(lambda x: [transcendental.sin(transcendental.cos(x))], [X])
    assert [e.op.name for e in jaxpr.eqns] == ["cos", "sin"] and consts == []
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, [np.ones(3)])[0], np.sin(np.cos(np.ones(3))))


def test_scalars_are_literals_and_arrays_constants() -> None:
    w = np.arange(3.0)
    jaxpr, consts = stage(lambda x: [arithmetic.mul(arithmetic.mul(x, w), np.float64(2)), w], [X])
    assert len(consts) == 1 and consts[0] is w  # used twice, one input
    assert type(jaxpr.eqns[1].invars[1]) is Literal and jaxpr.outs[1] is jaxpr.invars[0]


def test_small_constant_computations_happen_while_tracing() -> None:
    def fn(x: Any) -> list[Any]:
        return [arithmetic.add(x, transcendental.sin(np.ones(3)))]

    recorded, _ = stage(fn, [X])
    folded, consts = stage(fn, [X], eager_constants=True)
    assert len(recorded.eqns) == 2 and len(folded.eqns) == 1
    np.testing.assert_array_equal(consts[0], np.sin(np.ones(3)))


def test_an_extent_given_by_an_argument() -> None:
    n = Aval((), np.dtype(np.int64))
    jaxpr, _ = stage(lambda n, x: [transcendental.sin(x)], [n, X.with_shape((Dim(ArgRef(0), 5),))])
    assert jaxpr.invars[1].aval.shape[0].var is jaxpr.invars[0]
    assert jaxpr.outs[0].aval == jaxpr.invars[1].aval


def test_known_ranges_of_integers() -> None:
    ranges: list[Any] = []

    def fn(i: Any) -> list[Any]:
        ranges.append(bounds_of(arithmetic.add(i, np.int64(2))))
        return [i]

    stage(fn, [Aval((), np.dtype(np.int64))], bounds=[(0, 9)])
    assert ranges == [(2, 11)]
    assert bounds_of(np.int64(4)) == (4, 4) and bounds_of(np.float64(4)) is None


def test_a_range_that_may_wrap_is_unknown() -> None:
    ranges: list[Any] = []

    def fn(i: Any) -> list[Any]:
        ranges.append(bounds_of(arithmetic.add(i, np.int8(100))))
        return [i]

    stage(fn, [Aval((), np.dtype(np.int8))], bounds=[(0, 90)])
    assert ranges == [None]


def test_values_of_an_inner_trace_do_not_fit_an_outer_one() -> None:
    outer = StageTrace(None)
    with new_trace(outer):
        inner = StageTrace(outer)
        v = inner.arg(X)
        with pytest.raises(LeakedTracerError):
            outer.lift(v)


def test_creation_is_recorded_with_its_type() -> None:
    jaxpr, _ = stage(lambda x: [create.convert_element_type(x, dtype=np.dtype(np.float32))], [X])
    assert jaxpr.out_avals[0].dtype == np.float32


def test_a_number_repeated_while_tracing_is_no_array_of_the_program() -> None:
    def fn(x: Any) -> list[Any]:
        row = broadcast.broadcast_to(np.float64(2), (3000,))
        return [arithmetic.mul(arithmetic.add(x, row), row)]

    jaxpr, consts = stage(fn, [aval_of(np.ones(3000))], eager_constants=True)
    assert consts == [] and [e.op.name for e in jaxpr.eqns] == ["broadcast_in_dim", "add", "mul"]
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, [np.ones(3000)])[0], np.full(3000, 6.0))


def test_what_is_computed_of_repeated_numbers_is_no_array_of_the_program() -> None:
    def fn(x: Any) -> list[Any]:
        row = arithmetic.mul(broadcast.broadcast_to(np.float64(2), (30,)), np.float64(3))
        return [arithmetic.mul(x, row), row]

    jaxpr, consts = stage(fn, [aval_of(np.ones(30))], eager_constants=True)
    assert consts == [] and [e.op.name for e in jaxpr.eqns] == ["broadcast_in_dim", "mul"]
    for got in eval_jaxpr(jaxpr, [np.ones(30)]):
        np.testing.assert_array_equal(got, np.full(30, 6.0))


def test_what_is_written_there_since_counts() -> None:
    def fn(x: Any) -> list[Any]:
        row = arithmetic.mul(broadcast.broadcast_to(np.float64(2), (30,)), np.float64(3))
        row[7] = 1.0
        return [arithmetic.mul(x, row)]

    jaxpr, consts = stage(fn, [aval_of(np.ones(30))], eager_constants=True)
    assert len(consts) == 1
    assert eval_jaxpr(jaxpr, [*consts, np.ones(30)])[0].tolist() == [6.0] * 7 + [1.0] + [6.0] * 22


def test_no_elements_are_no_repeated_number() -> None:
    def fn(x: Any) -> list[Any]:
        none = arithmetic.mul(broadcast.broadcast_to(np.float64(2), (0, 3)), np.float64(3))
        return [arithmetic.mul(x, arithmetic.add(none, np.float64(1)))]

    jaxpr, consts = stage(fn, [aval_of(np.ones((0, 3)))], eager_constants=True)
    assert eval_jaxpr(jaxpr, [*consts, np.ones((0, 3))])[0].shape == (0, 3)


def test_an_array_of_the_user_stays_one_however_it_lies_in_memory() -> None:
    """It may change between calls."""
    number = np.array(2.0)
    row = np.broadcast_to(number, 3)
    f = tj.jit(lambda x: x * row)
    assert f(np.ones(3))[0] == 2
    number[...] = 5
    assert f(np.ones(3)).tolist() == [5, 5, 5]
