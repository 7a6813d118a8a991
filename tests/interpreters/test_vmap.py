"""Batching: one trace per vmap, rules under the parent, unbatched work done once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ConcreteValueError, TracerBoolError
from tracejit.interpreters.vmap import BatchTrace, BatchTracer, batch_flat, batch_jaxpr, batch_to_front
from tracejit.ir.check import check_jaxpr
from tracejit.ops.elementwise import arithmetic, transcendental
from tracejit.tracing import current_trace

X = np.arange(6.0).reshape(2, 3)


def test_values_and_their_batch_dims() -> None:
    outs, dims = batch_flat(lambda x, y: [transcendental.sin(x), y], 2, [X, np.ones(3)], [0, None])
    np.testing.assert_array_equal(outs[0], np.sin(X))
    assert dims == [0, None]


def test_unbatched_work_is_done_once() -> None:
    jaxpr = tj.make_jaxpr(tj.vmap(lambda x, y: x + np.sin(y), in_axes=(0, None)))(X, np.ones(3)).jaxpr
    (sin,) = [e for e in jaxpr.eqns if e.op.name == "sin"]
    assert sin.outvars[0].aval.shape == (3,)


def test_one_lane_has_no_value() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(1)
        return x if x > 0 else -x

    with pytest.raises(TracerBoolError, match="traced bool"):
        tj.vmap(f)(np.arange(3.0))
    trace = BatchTrace(current_trace(), 2)
    with pytest.raises(ConcreteValueError, match="one lane of a vmap"):
        trace.tracer(X, 0).concrete()


def test_tracers_show_one_element() -> None:
    seen: list[Any] = []
    tj.vmap(lambda x: seen.append((x.shape, type(x.read()))) or x)(X)
    assert seen == [((3,), BatchTracer)]


def test_a_jaxpr_batched() -> None:
    jaxpr = tj.make_jaxpr(lambda x, y: (x * y, y))(np.ones(3), np.ones(3)).jaxpr
    new, out = batch_jaxpr(jaxpr, 2, (True, False))
    check_jaxpr(new)
    assert out == (True, False) and new.out_avals[0].shape == (2, 3) and new.out_avals[1].shape == (3,)
    assert batch_jaxpr(jaxpr, 2, (True, False), True)[1] == (True, True)


def test_to_the_front() -> None:
    assert batch_to_front(X, 1, 3).shape == (3, 2) and batch_to_front(X, None, 4).shape == (4, 2, 3)
    assert batch_to_front(X, None, 4, force=False) is X


def test_nested_traces_keep_their_axes_apart() -> None:
    got = tj.vmap(lambda r: tj.vmap(lambda a: a * r.sum())(r))(X)
    np.testing.assert_array_equal(got, X * X.sum(1, keepdims=True))


def test_scalars_meet_arrays() -> None:
    outs, dims = batch_flat(lambda s, x: [arithmetic.mul(s, x)], 2, [np.ones(2), X], [0, 0])
    assert dims == [0] and outs[0].shape == (2, 3)
