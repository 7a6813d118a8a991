"""Linearization: primals now, tangents on a tape that can be run any number of times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.interpreters.autodiff.linearize import linearize_flat, linearize_jaxpr
from tracejit.interpreters.autodiff.tangents import Residual
from tracejit.ir.check import check_jaxpr
from tracejit.ir.values import Zero
from tracejit.ops.elementwise import arithmetic, transcendental

X = np.array([0.1, 0.7])


def f(x: Any) -> Any:
    return np.sin(x) * x


def test_the_tape_holds_linear_equations_only() -> None:
    outs, tape = linearize_flat(lambda x: [arithmetic.mul(transcendental.sin(x), x)], [X], [True])
    np.testing.assert_array_equal(outs[0], np.sin(X) * X)
    assert {e.op.name for e in tape.eqns} <= {"mul", "add", "neg", "scale"}
    assert any(type(a) is Residual for e in tape.eqns for a in e.invars)


def test_a_frozen_tape_is_a_right_program() -> None:
    _, tape = linearize_flat(lambda x: [arithmetic.mul(transcendental.sin(x), x)], [X], [True])
    jaxpr, residuals = tape.freeze("linear")
    check_jaxpr(jaxpr)
    assert len(jaxpr.invars) == len(residuals) + 1


def test_known_zeros() -> None:
    _, tape = linearize_flat(lambda x, y: [arithmetic.floor(x), y], [X, X], [True, False])
    assert [type(o) for o in tape.outs] == [Zero, Zero] and len(tape.invars) == 1


def test_the_linear_map_can_be_called_many_times() -> None:
    y, lin = tj.linearize(f, X)
    np.testing.assert_array_equal(y, f(X))
    slope = np.cos(X) * X + np.sin(X)
    for scale in (1.0, -2.0, 1.0):
        np.testing.assert_allclose(lin(scale * np.ones(2)), scale * slope)


@pytest.mark.parametrize("jitted", [False, True])
def test_the_pullback_can_be_called_many_times(jitted: bool) -> None:
    g = tj.jit(f) if jitted else f
    _, pull = tj.vjp(g, X)
    slope = np.cos(X) * X + np.sin(X)
    for scale in (1.0, -2.0, 1.0):
        (ct,) = pull(scale * np.ones(2))
        np.testing.assert_allclose(ct, scale * slope)
        ct[:] = 99.0  # what the caller does with a result does not reach the next


def test_linear_maps_are_traced_like_anything_else() -> None:
    _, lin = tj.linearize(f, X)
    slope = np.cos(X) * X + np.sin(X)
    np.testing.assert_allclose(tj.jit(lin)(np.ones(2)), slope)
    np.testing.assert_allclose(tj.vmap(lin)(np.eye(2)), np.diag(slope))
    np.testing.assert_allclose(tj.grad(lambda t: lin(t).sum())(np.ones(2)), slope)


def test_each_primal_is_computed_once() -> None:
    calls: list[int] = []

    def counted(x: Any) -> Any:
        calls.append(1)
        return np.sin(x)

    _, lin = tj.linearize(counted, X)
    lin(X)
    lin(X)
    assert calls == [1]


def test_a_jaxprs_forward_and_linear_parts() -> None:
    jaxpr = tj.make_jaxpr(f)(X).jaxpr
    forward, linear, nonzero, count = linearize_jaxpr(jaxpr, (True,))
    assert nonzero == (True,) and len(forward.outs) == 1 + count and len(linear.invars) == count + 1
    assert linearize_jaxpr(jaxpr, (True,))[0] is forward  # remembered
    check_jaxpr(forward)
    check_jaxpr(linear)


@pytest.mark.parametrize("jit", [lambda f: f, tj.jit])
def test_a_repeated_number_is_no_tangent(jit: Any) -> None:
    def twice(x: Any) -> Any:
        return (np.sin(x) * np.broadcast_to(2.0, 2)).sum()

    out, back = tj.vjp(jit(tj.grad(twice)), X)
    np.testing.assert_allclose(out, 2 * np.cos(X), rtol=1e-15)
    np.testing.assert_allclose(back(np.ones(2))[0], -2 * np.sin(X), rtol=1e-15)
