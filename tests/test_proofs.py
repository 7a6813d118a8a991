"""The five proofs of the mechanisms: each end to end, under jit and under jit(grad(...))."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

import tracejit as tj
from tracejit import lax
from tracejit.ir.jaxpr import sub_jaxprs
from tracejit.test_util import assert_max_traces

# ---- 1. a scan of 10^5 steps of a small ODE as one native loop


def oscillator(x0: Any, k: Any, steps: int) -> Any:
    """Explicit Euler for x'' = -k x: final position and velocity."""

    def step(state: Any, _: Any) -> Any:
        x, v = state
        return (x + 1e-4 * v, v - 1e-4 * k * x), None

    return lax.scan(step, (x0, 0.0 * x0), None, length=steps)[0]


def test_scan_of_1e5_steps_is_one_native_loop() -> None:
    steps = 100_000
    x, v = tj.jit(oscillator, static_argnums=2)(1.0, 4.0, steps)
    a, b = 1.0, 0.0
    for _ in range(steps):
        a, b = a + 1e-4 * b, b - 1e-4 * 4.0 * a
    assert (x, v) == (a, b)  # the same operations in the same order: the same bits
    loops = tj.jit(oscillator, static_argnums=2).lower(1.0, 4.0, steps).as_text("loops")
    assert loops.count("for ") == 1 and "callback" not in loops


def test_gradient_of_the_scan() -> None:
    def energy(x0: Any, k: Any) -> Any:
        x, v = oscillator(x0, k, 100_000)
        return 0.5 * v * v + 0.5 * k * x * x

    gx, gk = tj.jit(tj.grad(energy, (0, 1)))(1.0, 4.0)
    eps = 1e-6
    np.testing.assert_allclose(gx, (energy(1 + eps, 4.0) - energy(1 - eps, 4.0)) / (2 * eps), rtol=1e-6)
    np.testing.assert_allclose(gk, (energy(1.0, 4 + eps) - energy(1.0, 4 - eps)) / (2 * eps), rtol=1e-6)
    text = tj.jit(tj.grad(energy, (0, 1))).lower(1.0, 4.0).as_text("loops")
    assert "callback" not in text


# ---- 2. a write through a view of a view


def through_views(a: Any, s: Any) -> Any:
    block = a[1:4]
    row = block.T[2]
    row += s
    row[1] = 7.0 * s
    block[0, 0] *= 2.0
    return (a * a).sum() + row.sum()


def test_a_write_through_a_view_of_a_view() -> None:
    a, b = np.arange(20.0).reshape(5, 4), np.arange(20.0).reshape(5, 4)
    assert tj.jit(through_views)(a, 3.0) == through_views(b, 3.0)
    np.testing.assert_array_equal(a, b)


def test_gradient_through_views() -> None:
    a = np.arange(20.0).reshape(5, 4)
    ga, gs = tj.jit(tj.grad(through_views, (0, 1)))(a, 3.0)
    np.testing.assert_array_equal(a, np.arange(20.0).reshape(5, 4))  # grad works on its own copy
    eps = 1e-6
    want = np.zeros_like(a)
    for i in np.ndindex(*a.shape):
        up, down = a.copy(), a.copy()
        up[i] += eps
        down[i] -= eps
        want[i] = (through_views(up, 3.0) - through_views(down, 3.0)) / (2 * eps)
    np.testing.assert_allclose(ga, want, rtol=1e-5, atol=1e-5)
    up, down = through_views(a.copy(), 3.0 + eps), through_views(a.copy(), 3.0 - eps)
    np.testing.assert_allclose(gs, (up - down) / (2 * eps), rtol=1e-6)


# ---- 3. a Cholesky over dynamic extents, neither unrolled nor masked


def cholesky(a: Any) -> Any:
    """The lower Cholesky factor, row by row, with slices `A[i, :j]` of traced extent."""
    n = a.shape[0]

    def row(i: Any, m: Any) -> Any:
        def entry(j: Any, m: Any) -> Any:
            m[i, j] = (m[i, j] - np.dot(m[i, :j], m[j, :j])) / m[j, j]
            return m

        m = lax.fori_loop(0, i, entry, m)
        m[i, i] = np.sqrt(m[i, i] - np.dot(m[i, :i], m[i, :i]))
        return m

    return np.tril(lax.fori_loop(0, n, row, a))


def spd(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    b = rng.standard_normal((n, n))
    return b @ b.T + n * np.eye(n)


def test_cholesky_over_dynamic_extents() -> None:
    a = spd(30)
    np.testing.assert_allclose(tj.jit(cholesky)(a), np.linalg.cholesky(a), rtol=1e-12, atol=1e-12)
    jaxpr = tj.make_jaxpr(cholesky)(a).jaxpr
    assert count_eqns(jaxpr) == count_eqns(tj.make_jaxpr(cholesky)(spd(60)).jaxpr)  # not unrolled
    assert any(not v.aval.is_static for v in all_vars(jaxpr))  # not masked


def test_gradient_of_cholesky() -> None:
    a = spd(12)

    def logdet(m: Any) -> Any:
        return 2.0 * np.sum(np.log(np.diagonal(cholesky(m))))

    g = tj.jit(tj.grad(logdet))(a)
    # The algorithm reads the lower triangle only: d logdet / dA = A^-1, folded onto it.
    inverse = np.linalg.inv(a)
    want = np.tril(inverse + inverse.T) - np.diag(np.diagonal(inverse))
    np.testing.assert_allclose(g, want, rtol=1e-9, atol=1e-11)


def all_vars(jaxpr: Any) -> Any:
    for e in jaxpr.eqns:
        yield from e.outvars
        for sub in sub_jaxprs(e.params):
            yield from all_vars(sub)


def count_eqns(jaxpr: Any) -> int:
    return sum(1 + sum(count_eqns(s) for s in sub_jaxprs(e.params)) for e in jaxpr.eqns)


# ---- 4. a captured array, an attribute and a global that change between calls

W = np.array([1.0, 2.0, 3.0])
CONFIG = types.SimpleNamespace(scale=2.0)
OFFSET = 1.0


def captured(x: Any) -> Any:
    return (W * x).sum() * CONFIG.scale + OFFSET + W.sum()


def test_captured_state_is_current() -> None:
    global W, OFFSET
    x = np.array([0.5, -1.0, 2.0])
    f, g = tj.jit(captured), tj.jit(tj.grad(captured))
    try:
        for change in range(5):
            np.testing.assert_allclose(f(x), captured(x), rtol=1e-14)
            np.testing.assert_allclose(g(x), W * CONFIG.scale, rtol=1e-14)
            if change == 0:
                with assert_max_traces(f, 0):
                    W[1] = 50.0  # in place: no retrace
                    np.testing.assert_allclose(f(x), captured(x), rtol=1e-14)
            elif change == 1:
                CONFIG.scale = -3.0
            elif change == 2:
                OFFSET = 10.0
            elif change == 3:
                with assert_max_traces(f, 0):
                    W = np.array([9.0, 8.0, 7.0])  # rebound to an array of the same type: no retrace
                    np.testing.assert_allclose(f(x), captured(x), rtol=1e-14)
    finally:
        W, OFFSET, CONFIG.scale = np.array([1.0, 2.0, 3.0]), 1.0, 2.0


# ---- 5. one fused kernel of the loop IR for CUDA, assembled to PTX without a GPU


def test_a_fused_kernel_for_cuda() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.exp(-x * x) * np.sin(y) + x

    x = np.linspace(0.0, 1.0, 4096)
    ptx = tj.jit(f).lower(x, x).as_text("ptx")
    assert ".target sm_90" in ptx and ".visible .entry" in ptx
    assert ptx.count(".entry") == 1  # fused
    grad_ptx = tj.jit(tj.grad(lambda x, y: f(x, y).sum(), (0, 1))).lower(x, x).as_text("ptx")
    assert ".visible .entry" in grad_ptx
