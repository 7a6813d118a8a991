"""Calls of jitted functions inside every transformation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.control.oracle import check, close
from tracejit import lax, ops
from tracejit.api.autodiff.derivatives import grad
from tracejit.api.autodiff.jacobians import hessian, jacfwd, jacrev
from tracejit.api.batching import vmap
from tracejit.api.jit.jitted import jit
from tracejit.control.regions.rules import region_avals
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import Dim, aval_of
from tracejit.ir.check import OutputRef

X = np.array([0.3, -0.7, 1.2])


def model(x: Any) -> Any:
    return np.sin(x) * x[0] + np.sum(x * x)


@pytest.mark.sample(2)
def test_jitted_inside(run: Any) -> None:
    check(jit(model), model, X, run=run)
    check(lambda x: jit(model)(jit(model)(x)), lambda x: model(model(x)), X, run=run, second=False)


def power(x: Any, n: Any) -> Any:
    return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x), (np.int64(0), x))[1]


@pytest.mark.sample(2)
def test_tapes_of_unknown_length_in_a_call(run: Any) -> None:
    check(jit(power), lambda x, n: x ** (n + 1), np.float64(1.1), np.int64(3), run=run)


def test_an_extent_that_is_an_output_twice_is_the_first_of_them() -> None:
    def fn(n: Any) -> list[Any]:
        m = ops.arithmetic.add(n, 1)
        return [m, ops.shape.broadcast_to(np.float64(1.0), (Dim(m, 9),)), m]

    jaxpr = stage(fn, [aval_of(np.int64(3))])[0]
    extent = region_avals(jaxpr, [0], "call", own=True)[1].shape[0]
    assert isinstance(extent, Dim) and isinstance(extent.var, OutputRef) and extent.var.index == 0


@pytest.mark.sample(2)
def test_dynamic_extents_in_a_call(run: Any) -> None:
    def sums(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            y, out = c
            out[i] = np.sum(y[:i] * y[:i])
            return y, out

        return lax.fori_loop(0, 3, body, (x, x * 0.0))[1]

    check(jit(sums), lambda x: np.array([0.0, x[0] ** 2, x[0] ** 2 + x[1] ** 2]), X, run=run)


@pytest.mark.sample(2)
def test_hessians_of_loops(run: Any) -> None:
    def f(x: Any) -> Any:
        return np.sum(lax.scan(lambda c, _: (np.sin(c) * x, None), x, length=3)[0])

    h = run(hessian(f))(X)
    close(h, h.T, 1e-8)
    close(run(jacfwd(grad(f)))(X), h, 1e-8)
    close(run(jacrev(grad(jit(f))))(X), h, 1e-8)
    close(run(vmap(hessian(jit(f))))(np.stack([X, X])), np.stack([h, h]), 1e-8)


def test_third_order(run: Any) -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: c * x, 1.0)

    assert run(grad(grad(grad(f))))(2.0) == 6.0
    assert run(jit(grad(jit(grad(jit(grad(f)))))))(2.0) == 6.0
    close(
        run(vmap(grad(grad(grad(lambda x: power(x, np.int64(3)))))))(np.array([1.0, 2.0])),
        np.array([24.0, 48.0]),
    )
