"""Jaxprs that close over nothing hold their constants as equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.errors import LeakedTracerError
from tracejit.interpreters.autodiff.jvp import jvp_jaxpr
from tracejit.interpreters.autodiff.linearize import linearize_jaxpr
from tracejit.interpreters.autodiff.transpose import transpose_jaxpr
from tracejit.interpreters.closed import holding, stage_closed, with_constants
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.jit import execute
from tracejit.interpreters.stage import StageTrace, stage
from tracejit.interpreters.vmap import batch_jaxpr
from tracejit.ir.avals import Aval
from tracejit.ops.creation.constant import constant_op
from tracejit.ops.elementwise.arithmetic import mul
from tracejit.tracing import new_trace, use_trace

F3 = Aval((3,), np.dtype(np.float64))
K = np.array([1.0, -2.0, 0.5])
X = np.array([3.0, 4.0, 5.0])


def scaled() -> Any:
    return stage_closed(lambda x: [mul(x, K)], [F3])


def test_constants_are_equations() -> None:
    jaxpr = scaled()
    assert len(jaxpr.invars) == 1
    assert [e.op for e in jaxpr.eqns][0] is constant_op
    np.testing.assert_array_equal(execute(jaxpr, [X])[0], K * X)
    with use_trace(ROOT):
        np.testing.assert_array_equal(eval_jaxpr(jaxpr, [X])[0], K * X)


def test_every_transformation_keeps_them() -> None:
    jaxpr = scaled()
    np.testing.assert_array_equal(execute(jvp_jaxpr(jaxpr, (True,))[0], [X, X])[1], K * X)
    np.testing.assert_array_equal(execute(batch_jaxpr(jaxpr, 2, (True,))[0], [np.stack([X, X])])[0][1], K * X)
    np.testing.assert_array_equal(execute(transpose_jaxpr(jaxpr, (True,), (True,))[0], [X])[0], K * X)
    forward, linear, nonzero, count = linearize_jaxpr(jaxpr, (True,))
    assert nonzero == (True,)
    assert count == 0  # the array is no residual: the linear program has it too
    np.testing.assert_array_equal(execute(forward, [X])[0], K * X)
    np.testing.assert_array_equal(execute(linear, [X])[0], K * X)


def test_without_constants_the_jaxpr_is_the_same() -> None:
    jaxpr, consts = stage(lambda x: [mul(x, x)], [F3])
    assert with_constants(jaxpr, consts) is jaxpr
    assert holding(jaxpr, {}) is jaxpr


def test_traced_values_are_no_constants() -> None:
    outer = StageTrace(ROOT)
    traced = outer.arg(F3)
    with new_trace(outer), pytest.raises(LeakedTracerError):
        stage_closed(lambda x: [mul(x, traced)], [F3])


def test_a_constant_of_the_program_around_is_its_array() -> None:
    outer = StageTrace(ROOT)
    with new_trace(outer):
        var = outer.lift(K)
        with use_trace(ROOT):
            jaxpr = stage_closed(lambda x: [mul(x, var)], [F3])
            with pytest.raises(LeakedTracerError):
                stage_closed(lambda x: [mul(x, outer.arg(F3))], [F3])
    assert jaxpr.eqns[0].params["value"].array is K
