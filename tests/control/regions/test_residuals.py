"""What reverse mode keeps of a loop: no more than it needs."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tests.control.oracle import numeric_grad
from tracejit import lax


def forward_outputs(f: Any, *args: Any) -> str:
    """The outputs of the forward loop of a gradient."""
    text = str(tj.make_jaxpr(tj.grad(f))(*args))
    loop = next(line for line in text.splitlines() if "scan[" in line and "reverse=False" in line)
    return loop.split("scan[")[0]


def test_broadcasts_are_kept_as_what_they_repeat() -> None:
    """The outer product needs its factors, which are vectors."""

    def f(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            v = np.sin(c)
            return c + (v[:, None] * np.cos(c)[None, :] * c[0]).sum(axis=1) / 7, None

        return np.sum(lax.scan(step, x, length=3)[0])

    x = np.linspace(0.1, 0.9, 7)
    assert forward_outputs(f, x).count("[3,7,7]") <= 1  # the product of the first two, which the third needs
    np.testing.assert_allclose(tj.jit(tj.grad(f))(x), numeric_grad(f, (x,), 0), rtol=1e-6)


def test_broadcasts_of_what_depends_on_the_step() -> None:
    """An elimination: the part that is left gets smaller, and its factors are vectors of that length."""

    def f(a: Any) -> Any:
        def step(k: Any, a: Any) -> Any:
            factors = a[k + 1 :, k] / a[k, k]
            a[k + 1 :, k + 1 :] = a[k + 1 :, k + 1 :] - factors[:, None] * a[k, k + 1 :]
            return a

        return np.sum(np.sin(lax.fori_loop(0, 5, step, a * 1.0)))

    a = np.random.default_rng(0).normal(size=(5, 5)) + 5 * np.eye(5)
    assert "[5,4,4]" not in forward_outputs(f, a)
    np.testing.assert_allclose(tj.jit(tj.grad(f))(a), numeric_grad(f, (a,), 0), rtol=1e-5, atol=1e-8)


def test_scalars_that_are_broadcast() -> None:
    def f(x: Any) -> Any:
        step = lambda c, r: (np.sin(c) * np.tanh(np.sum(c) * r), None)
        return np.sum(lax.scan(step, x, np.ones(4))[0])

    x = np.linspace(0.1, 0.9, 6)
    np.testing.assert_allclose(tj.jit(tj.grad(f))(x), numeric_grad(f, (x,), 0), rtol=1e-6)
    twice = tj.grad(lambda x: np.sum(tj.grad(f)(x) * x))
    want = numeric_grad(lambda x: np.sum(tj.grad(f)(x) * x), (x,), 0)
    np.testing.assert_allclose(tj.jit(twice)(x), want, rtol=1e-5, atol=1e-8)


def test_memory_of_a_reverse_scan_is_that_of_its_residuals() -> None:
    """A sine and a cosine of each step, and a few vectors whatever the length."""

    def f(x: Any, n: int) -> Any:
        return np.sum(lax.scan(lambda c, _: (np.sin(c) * x + 0.1, None), x, None, length=n)[0])

    x = np.linspace(0.1, 1, 50)
    for n in (64, 1024, 4096):
        needed = tj.jit(tj.grad(lambda x, n=n: f(x, n))).lower(x).compile().memory_analysis()
        residuals = 2 * n * x.nbytes
        assert residuals <= needed["temporary_bytes"] <= residuals + 10 * x.nbytes
