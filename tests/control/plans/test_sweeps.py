"""Loops that keep few states: the same derivatives as loops that keep all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.control.plans.test_blocks import again, loop
from tracejit.control.plans.binomial import Schedule
from tracejit.control.plans.blocks import loops_of, scheduled
from tracejit.interpreters.autodiff.linearize import linearize_jaxpr
from tracejit.interpreters.autodiff.transpose import transpose_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.ir.jaxpr import Jaxpr
from tracejit.tracing import use_trace


def cotangents(jaxpr: Jaxpr, args: Any, nonzero: Any) -> list[Any]:
    forward, linear, out_nz, count = linearize_jaxpr(jaxpr, nonzero)
    back, _ = transpose_jaxpr(
        linear, (*(False,) * count, *(True,) * (len(linear.invars) - count)), (True,) * sum(out_nz)
    )
    outs = eval_jaxpr(forward, args)
    return [outs[0], *eval_jaxpr(back, [*outs[len(jaxpr.outs) :], np.float64(1.0)])]


@pytest.mark.sample(13)
@pytest.mark.parametrize("schedule", [(2, 1), (3, 2), (4, 4), (3, 5), (1, 1)])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("nonzero", [(True, True, True), (False, True, False), (False, False, True)])
def test_the_same_cotangents(schedule: tuple[int, int], reverse: bool, nonzero: tuple[bool, ...]) -> None:
    a, x, rows = np.array([0.9, 1.1]), np.array([0.3, 0.5]), np.linspace(-1, 1, 26).reshape(13, 2)
    jaxpr = tj.jit(lambda a, x, rows: loop(x, rows, reverse, a)).lower(a, x, rows).jaxpr
    (n,) = loops_of(jaxpr)
    new = scheduled(jaxpr, {n: Schedule(*schedule)}, again)
    with use_trace(ROOT):
        got, want = (cotangents(j, [a, x, rows], nonzero) for j in (new, jaxpr))
    assert len(got) == 1 + sum(nonzero)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12)


def f(x: Any, rows: Any) -> Any:
    for row in rows:
        x = np.sin(x * row) + 0.1 * x
    return (x**2).sum()


X, ROWS = np.linspace(0.2, 1, 40), np.linspace(-1, 1, 200 * 40).reshape(200, 40)
PLAN = 25 * X.nbytes


def test_under_other_transformations() -> None:
    planned = tj.grad(f, memory=PLAN)
    np.testing.assert_array_equal(tj.jit(planned)(X, ROWS), tj.jit(tj.grad(f))(X, ROWS))
    many = np.stack([X, X + 1])
    got = tj.jit(tj.vmap(planned, (0, None)))(many, ROWS)
    np.testing.assert_allclose(got, [tj.grad(f)(x, ROWS) for x in many], rtol=1e-12)


def test_derivatives_of_the_gradient() -> None:
    v = np.cos(X)
    forward = tj.jit(lambda x: tj.jvp(lambda x: tj.grad(f, memory=PLAN)(x, ROWS), (x,), (v,))[1])(X)
    reverse = tj.jit(tj.grad(lambda x: (tj.grad(f, memory=PLAN)(x, ROWS) * v).sum()))(X)
    want = tj.jit(tj.grad(lambda x: (tj.grad(f)(x, ROWS) * v).sum()))(X)
    np.testing.assert_allclose(forward, want, rtol=1e-10)
    np.testing.assert_allclose(reverse, want, rtol=1e-10)


def test_tangents_go_with_the_loop() -> None:
    part = tj.checkpoint(tj.jit(lambda x: f(x, ROWS)), policy="auto", memory=PLAN)
    _, along = tj.linearize(part, X)
    want = tj.jvp(lambda x: f(x, ROWS), (X,), (np.ones(40),))[1]
    np.testing.assert_allclose(along(np.ones(40)), want, rtol=1e-12)
