"""What JAX does best: scans, whole arrays, its own factorizations."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from benchmarks.in_jax.loops import five


def jacobi_2d(jnp: Any, lax: Any, steps: int, A: Any, B: Any) -> Any:
    edge = jnp.pad(jnp.zeros(np.subtract(A.shape, 2)), 1, constant_values=1.0)

    def framed(inner: Any, frame: Any) -> Any:
        return jnp.pad(inner, 1) + frame

    a, b = A * edge, B * edge

    def step(A: Any, _: Any) -> Any:
        return framed(five(framed(five(A), b)), a), None

    return jnp.sum(lax.scan(step, A, None, length=steps - 1)[0] ** 2)


def seidel_2d(jnp: Any, lax: Any, steps: int, A: Any) -> Any:
    def sweep(A: Any, _: Any) -> Any:
        def row(above: Any, now: Any) -> Any:
            here, below = now
            known = here[1:-1] + above[:-2] + above[1:-1] + above[2:] + here[2:]
            known = known + below[:-2] + below[1:-1] + below[2:]

            def cell(left: Any, k: Any) -> Any:
                new = (k + left) / 9.0
                return new, new

            inner = lax.scan(cell, here[0], known)[1]
            new = jnp.concatenate([here[:1], inner, here[-1:]])
            return new, new

        rows = lax.scan(row, A[0], (A[1:-1], A[2:]))[1]
        return jnp.concatenate([A[:1], rows, A[-1:]]), None

    return lax.scan(sweep, A, None, length=steps - 1)[0].sum()


def fdtd_2d(jnp: Any, lax: Any, steps: int, ex: Any, ey: Any, hz: Any, fict: Any) -> Any:
    def step(c: Any, f: Any) -> Any:
        ex, ey, hz = c
        ey = jnp.concatenate([jnp.full_like(ey[:1], f), ey[1:] - 0.5 * (hz[1:] - hz[:-1])])
        ex = jnp.concatenate([ex[:, :1], ex[:, 1:] - 0.5 * (hz[:, 1:] - hz[:, :-1])], 1)
        curl = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        return (ex, ey, hz - 0.7 * jnp.pad(curl, ((0, 1), (0, 1)))), None

    return jnp.mean(lax.scan(step, (ex, ey, hz), fict[:steps])[0][2] ** 2)


def upwind(jnp: Any, lax: Any, u: Any, c: Any, steps: int) -> Any:
    def step(u: Any, _: Any) -> Any:
        return jnp.concatenate([u[:1], u[1:] - c * (u[1:] - u[:-1])]), None

    return (lax.scan(step, u, None, length=steps)[0] ** 2).sum()


def cholesky(jnp: Any, lax: Any, A: Any) -> Any:
    lower = jnp.tril(A)  # nothing above is read, nor has it a gradient
    full = lower + jnp.tril(A, -1).T
    return jnp.sum(jnp.linalg.cholesky(full, symmetrize_input=False))


def trisolv(jnp: Any, lax: Any, L: Any, x: Any, b: Any) -> Any:
    solve = importlib.import_module("jax.scipy.linalg").solve_triangular
    return jnp.sum(solve(L, b, lower=True) ** 3)


def gramschmidt(jnp: Any, lax: Any, A: Any) -> Any:
    n = A.shape[1]

    def column(A: Any, k: Any) -> Any:
        r = jnp.sqrt(A[:, k] @ A[:, k])
        q = A[:, k] / r
        dots = jnp.where(jnp.arange(n) > k, q @ A, 0.0)
        return A - q[:, None] * dots, (q, dots.at[k].set(r))

    _, (Q, R) = lax.scan(column, A, jnp.arange(n))
    return jnp.sum(Q * 2) + jnp.sum(R)


def thomas(jnp: Any, lax: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    def forth(s: Any, row: Any) -> Any:
        a, b, c, d = row
        m = b - a * s[0]
        new = c / m, (d - a * s[1]) / m
        return new, new

    zero = jnp.zeros_like(d[0])
    _, (c, d) = lax.scan(forth, (zero, zero), (a.at[0].set(0), b, c, d))

    def back(x: Any, row: Any) -> Any:
        x = row[1] - row[0] * x
        return x, x

    x = lax.scan(back, zero, (c.at[-1].set(0), d), reverse=True)[1]
    return x @ x


def exponential_filter(jnp: Any, lax: Any, x: Any, alpha: Any) -> Any:
    def step(y: Any, v: Any) -> Any:
        y = alpha * v + (1 - alpha) * y
        return y, y

    return jnp.sum(lax.scan(step, x[0], x)[1] ** 2)


def adaptive_filter(jnp: Any, lax: Any, x: Any, weights: Any, rate: Any) -> Any:
    taps = len(weights)
    windows = jnp.stack([x[taps - 1 - k : len(x) - 1 - k] for k in range(taps)], axis=1)

    def step(w: Any, row: Any) -> Any:
        past, wanted = row
        e = wanted - w @ past
        return w + rate * e * past, e

    return jnp.sum(lax.scan(step, weights, (windows, x[taps:]))[1] ** 2)


def full_convolution(jnp: Any, lax: Any, signal: Any, kernel: Any) -> Any:
    return jnp.sum(jnp.convolve(signal, kernel) ** 2)


def convolution(jnp: Any, lax: Any, image: Any, kernel: Any) -> Any:
    rows, columns = image.shape[0] - 2, image.shape[1] - 2
    parts = [kernel[a, b] * image[a : a + rows, b : b + columns] for a in range(3) for b in range(3)]
    return jnp.sum(sum(parts) ** 2)


def leapfrog(jnp: Any, lax: Any, pos: Any, vel: Any, steps: int) -> Any:
    dt = 0.01

    def step(c: Any, _: Any) -> Any:
        pos, vel = c
        r = pos[None] - pos[:, None]
        d3 = ((r**2).sum(axis=2) + 0.1) ** 1.5
        vel = vel + dt * (r / d3[:, :, None]).sum(axis=1)
        return (pos + dt * vel, vel), None

    return 0.5 * (lax.scan(step, (pos, vel), None, length=steps)[0][1] ** 2).sum()
