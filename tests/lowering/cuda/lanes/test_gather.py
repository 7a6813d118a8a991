"""Loops of steps over lanes are one kernel with the bits of the CPU, on a device that looks at each access; others are
not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import lowered, on_device
from tracejit import lax
from tracejit.lowering.cuda.kernels import ptx_of
from tracejit.lowering.cuda.nodes import Kernel

RNG = np.random.default_rng(0)
N = 70  # lanes: two blocks of threads, one of them not full
X, A, B = RNG.normal(size=(6, N)), RNG.normal(size=N), RNG.normal(size=N)
LANES, INDEX = RNG.normal(size=(N, 3)), RNG.permutation(N)


def paths(x):
    c = np.zeros(x.shape[1], x.dtype)
    for row in x:
        c = 0.9 * c + np.sin(row)
    return c


def lorenz(y):
    def f(y):
        return np.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    def step(i, y):
        a = f(y)
        b = f(y + 0.005 * a)
        return y + 0.01 * b

    return tj.vmap(lambda y: lax.fori_loop(0, 5, step, y))(y)


def asian(z, s0):
    s, total = np.full(z.shape[1], s0), np.zeros(z.shape[1])
    for row in z:
        s = s * np.exp(0.02 * row - 0.0002)
        total = total + s
    return np.maximum(total / z.shape[0] - s0, 0)


def smoothed(x):
    def step(c, v):
        c = 0.3 * v + 0.7 * c
        return c, c

    return tj.vmap(lambda x: lax.scan(step, x[0], x)[1])(x)


def exchanged(a, b):
    for _ in range(5):
        a, b = b, a + 0.5 * b
    return a, b


def scalars(x):
    s, n, c = 1.0, 0, np.zeros(x.shape[1])
    for i, row in enumerate(x):
        c = c * s + row * i
        s, n = s * 0.9, n + 1
    return c, s, n


def alternating(x):
    c = np.zeros(x.shape[1])
    for i, row in enumerate(x):
        if i % 2 == 0:
            c = c + row
        else:
            c = c * row
    return c


def columns(x):
    out, c = np.zeros_like(x), np.zeros(x.shape[0])
    for i in range(x.shape[1]):
        c = c + x[:, i]
        out[:, i] = c * 2
    return out


def repeated(x):
    n = 0
    while n < 5:
        x, n = np.sin(x) + n, n + 1
    return x, n


def pairs(x, y):
    def one(x, y):
        return lax.fori_loop(0, 5, lambda i, c: c * x + y + i, x)

    return tj.vmap(tj.vmap(one, in_axes=(0, None)), in_axes=(None, 0))(x, y)


def complexes(x):
    z = np.zeros(x.shape[1], complex)
    for row in x:
        z = z * z * 0.1 + row * 1j
    return z


def signs(x):
    b = np.zeros(x.shape[1], bool)
    for row in x:
        b = b ^ (row > 0)
    return b


def stencil(x):
    for _ in range(5):
        x = 0.5 * (np.roll(x, 1) + np.roll(x, -1))
    return x


def mixed(x):
    a, m = np.zeros(x.shape[1]), 0.0
    for row in x:
        a = a * 0.5 + row
        m = m + a.max()
    return a, m


def shuffled(x, p):
    for _ in range(3):
        x = x[p] + 1
    return x


#: name -> function, arguments, lanes (0: it is no loop over lanes)
CASES: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "paths": (paths, (X,), N),
    "paths of float32": (paths, (X.astype(np.float32),), N),
    "small carries": (lorenz, (LANES,), N),
    "several carries": (asian, (X, 100.0), N),
    "a gradient": (lambda x: tj.grad(lambda x: paths(x).sum())(x), (X,), N),
    "a gradient of small carries": (lambda y: tj.grad(lambda y: lorenz(y).sum())(y), (LANES,), N),
    "vmap of a scan": (smoothed, (LANES,), N),
    "blocks that take turns": (exchanged, (A, B), N),
    "scalars beside lanes": (scalars, (X,), N),
    "a branch": (alternating, (X,), N),
    "results of each step": (columns, (X.T.copy(),), N),
    "while": (repeated, (A,), N),
    "pairs": (pairs, (A[:9], B[:11]), 99),
    "complex": (complexes, (X,), N),
    "boolean": (signs, (X,), N),
    "neighbours": (stencil, (A,), 0),
    "a reduction in each step": (mixed, (X,), 0),
    "an order that is read": (shuffled, (A, INDEX), 0),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CASES)
def test_lanes_have_the_bits_of_the_cpu(name: str) -> None:
    f, args, lanes = CASES[name]
    with tj.config.override(cuda="sanitize"):
        there = tj.jit(f, device="cuda")
        got = tj.tree.leaves(tj.device_get(there(*args)))
        plan = there.lower(*args).compile().as_text("plan")
    assert re.findall(r"(\d+) lanes", plan) == [str(lanes)] * (lanes > 0)
    for a, b in zip(tj.tree.leaves(tj.jit(f)(*args)), got, strict=True):
        np.testing.assert_array_equal(a, b)


COLUMNS = {
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(0),
    "max": lambda x: x.max(0),
    "var": lambda x: x.var(0),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize(
    ("shape", "lanes"), [((6000, 16), 48), ((40, 20_000), 20_000)], ids=["parts of rows", "parts of columns"]
)
def test_sums_of_columns_have_a_thread_for_each_part(name: str, shape: tuple[int, int], lanes: int) -> None:
    """Loops whose iterations do not wait for each other, around loops of steps: all their lanes are one loop's."""
    x, f = RNG.normal(size=shape), COLUMNS[name]
    with tj.config.override(cuda="sanitize" if shape[1] < 40 else "emulate"):
        there = tj.jit(f, device="cuda")
        got = tj.device_get(there(x))
        plan = there.lower(x).compile().as_text("plan")
    assert f"{lanes} lanes" in plan and "rows" not in plan
    np.testing.assert_array_equal(got, tj.jit(f)(x))


def test_a_scan_of_many_lanes_is_one_launch() -> None:
    x = RNG.normal(size=(8, 40_001))
    program, (got, *_) = on_device(lambda x: paths(x), x)
    (kernel,) = program.plan.steps
    assert isinstance(kernel, Kernel) and kernel.kind == "threads" and kernel.size == 40_001
    np.testing.assert_array_equal(got, tj.jit(paths)(x))


def test_the_carry_is_in_registers() -> None:
    """Within the loop of steps, one load of what the step reads and nothing else."""
    text = ptx_of(
        lowered(
            lambda x: (
                np.zeros(x.shape[1])
                + lax.fori_loop(0, x.shape[0], lambda i, c: 0.5 * c + x[i], np.zeros(x.shape[1]))
            ),
            X,
        )
    )
    assert text.count("st.global") == 1 and "ld.local" not in text and "bar" not in text


def test_loops_one_after_another_are_one_kernel() -> None:
    x = RNG.normal(size=5000)

    def f(x):
        y = x.copy()
        y[:] += np.sin(x)
        return np.stack([y, x], 1)

    program, outs = on_device(f, x)
    assert len(program.plan.kernels) == 1
    np.testing.assert_array_equal(outs[0], tj.jit(f)(x))
