"""Stencils over grids, in time loops."""

import numpy as np

from examples.programs import program


def two_grids(rng, n):
    return 5, rng.normal(size=(n, n)), rng.normal(size=(n, n))


@program(two_grids, wrt=(1,))
def jacobi_2d(steps, A, B):
    for t in range(1, steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return np.sum(A * A)


@program(lambda rng, n: (9, rng.normal(size=(n, n, n)), np.zeros((n, n, n))), wrt=(1,))
def heat_3d(steps, A, B):
    for t in range(1, steps):
        for P, Q in ((A, B), (B, A)):
            Q[1:-1, 1:-1, 1:-1] = (
                0.125 * (P[2:, 1:-1, 1:-1] - 2.0 * P[1:-1, 1:-1, 1:-1] + P[:-2, 1:-1, 1:-1])
                + 0.125 * (P[1:-1, 2:, 1:-1] - 2.0 * P[1:-1, 1:-1, 1:-1] + P[1:-1, :-2, 1:-1])
                + 0.125 * (P[1:-1, 1:-1, 2:] - 2.0 * P[1:-1, 1:-1, 1:-1] + P[1:-1, 1:-1, :-2])
                + P[1:-1, 1:-1, 1:-1]
            )
    return np.sum(A**2)


@program(lambda rng, n: (6, rng.normal(size=(n, n))), wrt=(1,))
def seidel_2d(steps, A):
    N = A.shape[0]
    for t in range(steps - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2]
            A[i, 1:-1] += A[i + 1, 1:-1] + A[i + 1, 2:]
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0
    return A.sum()


@program(lambda rng, n: (7, *(rng.normal(size=(n, n + 1)) for _ in range(3)), rng.normal(size=7)), wrt=(1, 4))
def fdtd_2d(steps, ex, ey, hz, fict):
    for t in range(steps):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.mean(hz**2)


@program(lambda rng, n: (4, rng.normal(size=(n, n)), n), static=(2,), wrt=(1,))
def adi(steps, u, N):
    v = np.empty(u.shape, dtype=u.dtype)
    p = np.empty(u.shape, dtype=u.dtype)
    q = np.empty(u.shape, dtype=u.dtype)
    DX, DT = 1.0 / N, 1.0 / 4
    mul = 2.0 * DT / (DX * DX)
    a = -mul / 2.0
    b = 1.0 + mul
    c = a
    for t in range(1, steps + 1):
        v[0, 1 : N - 1] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = v[0, 1 : N - 1]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -c / (a * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (
                -a * u[j, 0 : N - 2]
                + (1.0 + 2.0 * a) * u[j, 1 : N - 1]
                - c * u[j, 2:N]
                - a * q[1 : N - 1, j - 1]
            ) / (a * p[1 : N - 1, j - 1] + b)
        v[N - 1, 1 : N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            v[j, 1 : N - 1] = p[1 : N - 1, j] * v[j + 1, 1 : N - 1] + q[1 : N - 1, j]
        u[1 : N - 1, 0] = 1.0
        p[1 : N - 1, 0] = 0.0
        q[1 : N - 1, 0] = u[1 : N - 1, 0]
        for j in range(1, N - 1):
            p[1 : N - 1, j] = -a / (c * p[1 : N - 1, j - 1] + b)
            q[1 : N - 1, j] = (v[0 : N - 2, j] + v[1 : N - 1, j] - c * q[1 : N - 1, j - 1]) / (
                c * p[1 : N - 1, j - 1] + b
            )
        u[1 : N - 1, N - 1] = 1.0
        for j in range(N - 2, 0, -1):
            u[1 : N - 1, j] = p[1 : N - 1, j] * u[1 : N - 1, j + 1] + q[1 : N - 1, j]
    return np.sum(u * u)


@program(lambda rng, n: (rng.normal(size=(n, n)), 1e-2), wrt=(0,), tolerance=1e-10)
def laplace_until_converged(u, tolerance):
    """Iterate until the largest change is small; two buffers change places."""
    u = u.copy()
    new = u.copy()
    change = 1.0
    steps = 0
    while change > tolerance and steps < 500:
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(new - u).max()
        u, new = new, u
        steps += 1
    return np.sum(u**2) + 0 * steps


@program(lambda rng, n: (rng.random((n, n)) < 0.4, 6))
def game_of_life(alive, steps):
    grid = alive.astype(np.int64)
    for _ in range(steps):
        count = np.zeros_like(grid)
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                if di == 0 and dj == 0:
                    continue
                count += np.roll(np.roll(grid, di, axis=0), dj, axis=1)
        grid = ((count == 3) | ((grid == 1) & (count == 2))).astype(np.int64)
    return grid


@program(lambda rng, n: (rng.normal(size=n), 0.1, 11), wrt=(0,))
def upwind(u, c, steps):
    for n in range(steps):
        un = u.copy()
        for i in range(1, len(u)):
            u[i] = un[i] - c * (un[i] - un[i - 1])
    return (u**2).sum()
