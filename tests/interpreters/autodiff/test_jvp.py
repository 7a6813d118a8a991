"""Forward mode: tangents ride along, known zeros are never arrays, traces do not mix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import NotDifferentiableError
from tracejit.interpreters.autodiff.jvp import JVPTrace, JVPTracer, jvp_flat
from tracejit.ir.primitive import REGISTRY, Sentinel
from tracejit.ir.values import Zero
from tracejit.ops.creation import create
from tracejit.ops.elementwise import arithmetic, transcendental
from tracejit.tracing import bind, current_trace, new_trace

X = np.array([0.1, 0.7])


def test_value_and_tangent() -> None:
    (y,), (t,) = jvp_flat(lambda x: [transcendental.sin(x)], [X], [np.ones(2)])
    np.testing.assert_array_equal(y, np.sin(X))
    np.testing.assert_allclose(t, np.cos(X))


def test_known_zeros_stay_symbolic() -> None:
    _, tangents = jvp_flat(
        lambda x: [arithmetic.floor(x), create.stop_gradient(x), np.ones(2)], [X], [np.ones(2)]
    )
    assert [type(t) for t in tangents] == [Zero, Zero, Zero]


def test_an_unvarying_input_has_no_tracer() -> None:
    trace = JVPTrace(current_trace())
    assert trace.tracer(X, Zero(tj.make_jaxpr(np.sin)(X).in_avals[0])) is X
    assert type(trace.tracer(X, X)) is JVPTracer


def test_another_traces_tracer_is_a_constant() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        inner = tj.jvp(lambda y: seen.append(y.read()) or x + y, (1.0,), (1.0,))
        return inner[1] * x

    assert tj.jvp(f, (5.0,), (1.0,)) == (5.0, 1.0)
    assert type(seen[0]) is JVPTracer and type(seen[0].primal) is not JVPTracer


def test_python_may_branch_on_values() -> None:
    f = lambda x: x * x if x > 0 else -x
    assert tj.jvp(f, (3.0,), (1.0,)) == (9.0, 6.0) and tj.jvp(f, (-3.0,), (1.0,)) == (3.0, -1.0)


def test_a_function_without_derivative_says_why() -> None:
    refused = [op for op in REGISTRY.values() if isinstance(op.jvp, Sentinel) and op.jvp.reason]
    for op in refused:
        assert op.jvp.name == "NOT_DIFFERENTIABLE"  # type: ignore[union-attr]
    if not refused:
        pytest.skip("every op has a derivative")
    with pytest.raises(NotDifferentiableError):
        raise NotDifferentiableError(op=refused[0].name, reason=refused[0].jvp.reason)  # type: ignore[union-attr]


def test_rules_run_under_the_parent() -> None:
    trace = JVPTrace(current_trace())
    with new_trace(trace):
        out = bind(REGISTRY["sin"], trace.tracer(X, np.ones(2)))
    assert type(out) is JVPTracer and type(out.primal) is np.ndarray and type(out.tangent) is np.ndarray


def test_writes_carry_tangents() -> None:
    def f(x: Any) -> Any:
        z = np.zeros(2)
        z[0] = x[1] * 3
        return z

    y, t = tj.jvp(f, (X,), (np.array([1.0, 10.0]),))
    np.testing.assert_allclose(y, [2.1, 0])
    np.testing.assert_allclose(t, [30, 0])
