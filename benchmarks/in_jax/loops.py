"""Loops of JAX, step by step, with `fori_loop` and `.at`."""

from __future__ import annotations

from typing import Any

import numpy as np


def five(A: Any) -> Any:
    return 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])


def before(jnp: Any, x: Any, j: Any) -> Any:
    """The elements of a row before `j`, zeros after them: JAX's slices have sizes that are known."""
    return jnp.where(jnp.arange(x.shape[-1]) < j, x, 0.0)


def jacobi_2d(jnp: Any, lax: Any, steps: int, A: Any, B: Any) -> Any:
    def step(_: Any, c: Any) -> Any:
        A, B = c
        B = B.at[1:-1, 1:-1].set(five(A))
        return A.at[1:-1, 1:-1].set(five(B)), B

    return jnp.sum(lax.fori_loop(1, steps, step, (A, B))[0] ** 2)


def seidel_2d(jnp: Any, lax: Any, steps: int, A: Any) -> Any:
    N = A.shape[0]

    def cell(i: Any, j: Any, A: Any) -> Any:
        return A.at[i, j].set((A[i, j] + A[i, j - 1]) / 9.0)

    def row(i: Any, A: Any) -> Any:
        around = A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2]
        A = A.at[i, 1:-1].add(around)
        A = A.at[i, 1:-1].add(A[i + 1, 1:-1] + A[i + 1, 2:])
        return lax.fori_loop(1, N - 1, lambda j, A: cell(i, j, A), A)

    return lax.fori_loop(0, steps - 1, lambda _, A: lax.fori_loop(1, N - 1, row, A), A).sum()


def fdtd_2d(jnp: Any, lax: Any, steps: int, ex: Any, ey: Any, hz: Any, fict: Any) -> Any:
    def step(t: Any, c: Any) -> Any:
        ex, ey, hz = c
        ey = ey.at[0, :].set(fict[t])
        ey = ey.at[1:, :].add(-0.5 * (hz[1:, :] - hz[:-1, :]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        curl = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        return ex, ey, hz.at[:-1, :-1].add(-0.7 * curl)

    return jnp.mean(lax.fori_loop(0, steps, step, (ex, ey, hz))[2] ** 2)


def upwind(jnp: Any, lax: Any, u: Any, c: Any, steps: int) -> Any:
    def step(_: Any, u: Any) -> Any:
        un = u
        return lax.fori_loop(1, len(u), lambda i, u: u.at[i].set(un[i] - c * (un[i] - un[i - 1])), u)

    return (lax.fori_loop(0, steps, step, u) ** 2).sum()


def cholesky(jnp: Any, lax: Any, A: Any) -> Any:
    def cell(i: Any, j: Any, A: Any) -> Any:
        new = A[i, j] - before(jnp, A[i], j) @ before(jnp, A[j], j)
        return A.at[i, j].set(new / A[j, j])

    def row(i: Any, A: Any) -> Any:
        A = lax.fori_loop(0, A.shape[0], lambda j, A: jnp.where(j < i, cell(i, j, A), A), A)
        a = before(jnp, A[i], i)
        return A.at[i, i].set(jnp.sqrt(A[i, i] - a @ a))

    return jnp.sum(jnp.tril(lax.fori_loop(0, A.shape[0], row, A)))


def trisolv(jnp: Any, lax: Any, L: Any, x: Any, b: Any) -> Any:
    def row(i: Any, x: Any) -> Any:
        return x.at[i].set((b[i] - before(jnp, L[i], i) @ before(jnp, x, i)) / L[i, i])

    return jnp.sum(lax.fori_loop(0, x.shape[0], row, x) ** 3)


def gramschmidt(jnp: Any, lax: Any, A: Any) -> Any:
    n = A.shape[1]

    def column(k: Any, c: Any) -> Any:
        A, Q, R = c
        r = jnp.sqrt(A[:, k] @ A[:, k])
        Q = Q.at[:, k].set(A[:, k] / r)

        def other(j: Any, c: Any) -> Any:
            A, R = c
            dot = jnp.where(j > k, Q[:, k] @ A[:, j], R[k, j])
            return A.at[:, j].add(jnp.where(j > k, -Q[:, k] * dot, 0.0)), R.at[k, j].set(dot)

        A, R = lax.fori_loop(0, n, other, (A, R.at[k, k].set(r)))
        return A, Q, R

    _, Q, R = lax.fori_loop(0, n, column, (A, jnp.zeros_like(A), jnp.zeros((n, n))))
    return jnp.sum(Q * 2) + jnp.sum(R)


def durbin(jnp: Any, lax: Any, r: Any) -> Any:
    n = r.shape[0]
    places = jnp.arange(n)

    def step(k: Any, c: Any) -> Any:
        y, alpha, beta = c
        beta = beta * (1.0 - alpha * alpha)
        back = jnp.where(places < k, y[(k - 1 - places) % n], 0.0)
        alpha = -(r[k] + jnp.sum(jnp.where(places < k, r[(k - 1 - places) % n] * y, 0.0))) / beta
        return (y + alpha * back).at[k].set(alpha), alpha, beta

    y = jnp.zeros_like(r).at[0].set(-r[0])
    return jnp.sum(lax.fori_loop(1, n, step, (y, -r[0], jnp.ones_like(r[0])))[0])


def thomas(jnp: Any, lax: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    n = len(d)

    def forth(i: Any, s: Any) -> Any:
        c, d = s
        m = b[i] - a[i] * c[i - 1]
        return c.at[i].divide(m), d.at[i].set((d[i] - a[i] * d[i - 1]) / m)

    c, d = lax.fori_loop(1, n, forth, (c.at[0].divide(b[0]), d.at[0].divide(b[0])))

    def back(k: Any, x: Any) -> Any:
        i = n - 2 - k
        return x.at[i].set(d[i] - c[i] * x[i + 1])

    x = lax.fori_loop(0, n - 1, back, jnp.zeros(n).at[-1].set(d[-1]))
    return x @ x


def exponential_filter(jnp: Any, lax: Any, x: Any, alpha: Any) -> Any:
    y = jnp.zeros_like(x).at[0].set(x[0])
    step = lambda i, y: y.at[i].set(alpha * x[i] + (1 - alpha) * y[i - 1])  # noqa: E731
    return jnp.sum(lax.fori_loop(1, len(x), step, y) ** 2)


def adaptive_filter(jnp: Any, lax: Any, x: Any, weights: Any, rate: Any) -> Any:
    taps = len(weights)

    def step(t: Any, c: Any) -> Any:
        w, errors = c
        past = lax.dynamic_slice(x, (t - taps,), (taps,))[::-1]
        e = x[t] - w @ past
        return w + rate * e * past, errors.at[t - taps].set(e)

    errors = lax.fori_loop(taps, len(x), step, (weights, jnp.zeros(len(x) - taps)))[1]
    return jnp.sum(errors**2)


def full_convolution(jnp: Any, lax: Any, signal: Any, kernel: Any) -> Any:
    def inner(i: Any, out: Any) -> Any:
        return lax.fori_loop(0, len(kernel), lambda j, out: out.at[i + j].add(signal[i] * kernel[j]), out)

    out = jnp.zeros(len(signal) + len(kernel) - 1)
    return jnp.sum(lax.fori_loop(0, len(signal), inner, out) ** 2)


def convolution(jnp: Any, lax: Any, image: Any, kernel: Any) -> Any:
    rows, columns = image.shape[0] - 2, image.shape[1] - 2

    def cell(n: Any, out: Any) -> Any:
        i, j = n // columns, n % columns
        window = lax.dynamic_slice(image, (i, j), (3, 3))
        return out.at[i, j].set(jnp.sum(window * kernel))

    return jnp.sum(lax.fori_loop(0, rows * columns, cell, jnp.zeros((rows, columns))) ** 2)


def leapfrog(jnp: Any, lax: Any, pos: Any, vel: Any, steps: int) -> Any:
    dt = 0.01

    def step(_: Any, c: Any) -> Any:
        pos, vel = c

        def one(i: Any, acc: Any) -> Any:
            r = pos - pos[i]
            d3 = ((r**2).sum(axis=1) + 0.1) ** 1.5
            return acc.at[i].set((r / d3[:, None]).sum(axis=0))

        vel = vel + dt * lax.fori_loop(0, len(pos), one, jnp.zeros_like(pos))
        return pos + dt * vel, vel

    return 0.5 * (lax.fori_loop(0, steps, step, (pos, vel))[1] ** 2).sum()


def american_put(jnp: Any, lax: Any, spot: Any, strike: Any, rate: Any, volatility: Any, steps: int) -> Any:
    dt = 1.0 / steps
    up = jnp.exp(volatility * jnp.sqrt(dt))
    p = (jnp.exp(rate * dt) - 1 / up) / (up - 1 / up)
    discount = jnp.exp(-rate * dt)
    prices = spot * up ** jnp.arange(-steps, steps + 1, 2.0)

    def fold(_: Any, c: Any) -> Any:
        values, prices = c
        held = discount * (p * jnp.roll(values, -1) + (1 - p) * values)
        prices = prices * up
        return jnp.maximum(held, strike - prices), prices

    return lax.fori_loop(0, steps, fold, (jnp.maximum(strike - prices, 0.0), prices))[0][0]


def kalman(jnp: Any, lax: Any, observed: Any, process_noise: Any, noise: Any) -> Any:
    F = np.eye(4)
    F[0, 2] = F[1, 3] = 1.0
    H = np.eye(2, 4)
    Q = process_noise * jnp.diag(jnp.array([0.25, 0.25, 1.0, 1.0]))
    R = noise * jnp.eye(2)

    def step(c: Any, z: Any) -> Any:
        state, P, loss = c
        state, P = F @ state, F @ P @ F.T + Q
        residual = z - H @ state
        S = H @ P @ H.T + R
        det = S[0, 0] * S[1, 1] - S[0, 1] * S[1, 0]
        inverse = jnp.array([[S[1, 1], -S[0, 1]], [-S[1, 0], S[0, 0]]]) / det
        K = P @ H.T @ inverse
        loss = loss + 0.5 * (residual @ inverse @ residual + jnp.log(det))
        return (state + K @ residual, (jnp.eye(4) - K @ H) @ P, loss), None

    start = jnp.zeros(4), 10.0 * jnp.eye(4), jnp.zeros(())
    return lax.scan(step, start, observed)[0][2]


def floyd_warshall_rows(jnp: Any, lax: Any, path: Any) -> Any:
    def step(k: Any, path: Any) -> Any:
        return jnp.minimum(path, jnp.add.outer(path[:, k], path[k, :]))

    return lax.fori_loop(0, path.shape[0], step, path).sum()
