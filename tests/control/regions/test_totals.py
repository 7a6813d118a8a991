"""Cotangents that loops, branches and calls add to what later equations gave: values beside eager ones and differences,
and that a loop in a loop makes no arrays of zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj

RNG = np.random.default_rng(0)
A, W = RNG.normal(size=(4, 4)), RNG.normal(size=4)


def nested(a: Any, w: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        for j in range(len(a)):
            s += a[i, j] * w[(i + j) % 3] * a[j, i]
    return s


def branch(a: Any, w: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        for j in range(i, len(a)):
            if a[i, j] > 0:
                s += a[i, j] ** 2 * w[j % 3]
            else:
                s -= a[j, i]
    return s


@tj.jit
def element(a: Any, i: Any, j: Any) -> Any:
    return a[i, j] * a[j, j]


def called(a: Any, w: Any) -> Any:
    s = 0.0
    for i in range(len(a)):
        for j in range(len(a)):
            s += element(a, i, j) * w[0]
    return s


def checkpointed(a: Any, w: Any) -> Any:
    def row(i: Any, w: Any) -> Any:
        s = 0.0
        for j in range(len(a)):
            s += np.sin(a[i, j] * w[j % 3])
        return s

    s = 0.0
    for i in range(len(a)):
        s += tj.checkpoint(row)(i, w)
    return s


def given_twice(a: Any, w: Any) -> Any:
    """An array that is the start of a loop and a constant of it, and is used after it."""

    def step(c: Any, _: Any) -> Any:
        return c * 0.5 + (a * a[0]).sum() * w, None

    return tj.lax.scan(step, w, None, length=4)[0].sum() + w.sum()


def until(a: Any, w: Any) -> Any:
    i = 0
    s = a[0, 0]
    while s < 50.0 and i < 12:
        j = 0
        while j < len(a) and a[i % len(a), j] < 1.5:
            s += a[i % len(a), j] ** 2 + w[j % 3] ** 2
            j += 1
        s += 0.1
        i += 1
    return s


def window(a: Any, w: Any) -> Any:
    """Inner loops of computed lengths, of which few steps are kept."""
    s = 0.0
    for i in range(len(a)):
        for j in range(len(a)):
            near = 0.0
            for k in range(max(i - 1, 0), min(i + 2, len(a))):
                for m in range(max(j - 1, 0), min(j + 2, len(a))):
                    near += np.exp(-((a[k, m] - a[i, j]) ** 2) * w[0])
            s += near * near
    return s


FUNCTIONS = (nested, branch, called, checkpointed, given_twice, until, window)


@pytest.mark.sample(4)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients(f: Any) -> None:
    want = tj.grad(f, argnums=(0, 1))(A, W)
    for found in (
        tj.jit(tj.grad(f, argnums=(0, 1)), fallback=False)(A, W),
        tj.grad(tj.jit(f, fallback=False), argnums=(0, 1))(A, W),
    ):
        for x, y in zip(found, want, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)
    step = 1e-6
    for k in range(2):
        move = RNG.normal(size=(A, W)[k].shape)
        ends = [f(*(x + s * move if n == k else x for n, x in enumerate((A, W)))) for s in (step, -step)]
        np.testing.assert_allclose(np.sum(want[k] * move), (ends[0] - ends[1]) / (2 * step), rtol=1e-6)


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", (branch, given_twice, window), ids=lambda f: f.__name__)
def test_second_order_and_lanes(f: Any) -> None:
    move = RNG.normal(size=A.shape)
    gradient = tj.jit(tj.grad(f), fallback=False)
    _, forward = tj.jvp(lambda a: gradient(a, W), (A,), (move,))
    backward = tj.jit(tj.grad(lambda a: np.sum(tj.grad(f)(a, W) * move)), fallback=False)(A)
    np.testing.assert_allclose(forward, backward, rtol=1e-9, atol=1e-10)
    lanes = np.stack([A, A + 0.1 * move, A - 0.1 * move])
    found = tj.jit(tj.vmap(tj.grad(f), in_axes=(0, None)), fallback=False)(lanes, W)
    for x, a in zip(found, lanes, strict=True):
        np.testing.assert_allclose(x, tj.grad(f)(a, W), rtol=1e-11, atol=1e-13)


def _zeros(jaxpr: Any, shape: tuple[int, ...], depth: int = 0) -> int:
    """How many arrays of this shape are filled in the loops of a program."""
    count = 0
    for e in jaxpr.eqns:
        count += depth > 0 and e.op.name in ("broadcast_in_dim", "full") and e.outvars[0].aval.shape == shape
        for p in e.params.values():
            for body in p if isinstance(p, tuple) else (p,):
                if hasattr(body, "eqns"):
                    count += _zeros(body, shape, depth + (e.op.name in ("scan", "while")))
    return count


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", (nested, branch, window), ids=lambda f: f.__name__)
def test_a_loop_in_a_loop_makes_no_array_of_zeros(f: Any) -> None:
    a = RNG.normal(size=(20, 20))
    assert _zeros(tj.make_jaxpr(tj.grad(tj.jit(f, fallback=False)))(a, W).jaxpr, (20, 20)) == 0
