"""Solvers of linear systems and eigenvalues: iterations with tests of convergence, and reflections."""

import numpy as np

from examples.programs import program
from examples.programs.factorizations import diagonal
from examples.programs.sparse import csr


def symmetric_inverse(S):
    """Of a 2x2 matrix, and its determinant."""
    (a, b), (c, d) = S
    det = a * d - b * c
    return np.array([[d, -b], [-c, a]]) / det, det


def rotation(a, b):
    """Cosine and sine that turn (a, b) into (r, 0)."""
    if b == 0:
        return 1.0, 0.0
    r = np.hypot(a, b)
    return a / r, b / r


def solve_tridiagonal(lower, diag, upper, right):
    n = len(diag)
    x = right.copy()
    scaled = np.empty(n)
    scaled[0] = upper[0] / diag[0]
    x[0] /= diag[0]
    for i in range(1, n):
        pivot = diag[i] - lower[i] * scaled[i - 1]
        scaled[i] = upper[i] / pivot
        x[i] = (x[i] - lower[i] * x[i - 1]) / pivot
    for i in reversed(range(n - 1)):
        x[i] -= scaled[i] * x[i + 1]
    return x


@program(lambda rng, n: (rng.normal(size=(n + 3, n)), rng.normal(size=n + 3)), wrt=(0, 1), tolerance=1e-10)
def householder_least_squares(A, b):
    """Reflects A to a triangle in place, then substitutes backwards."""
    n = A.shape[1]
    for k in range(n):
        v = A[k:, k].copy()
        alpha = -np.sign(v[0]) * np.sqrt(v @ v)
        v[0] -= alpha
        norm = v @ v
        if norm == 0:
            continue
        A[k:, k:] -= np.outer(v, 2.0 / norm * (v @ A[k:, k:]))
        b[k:] -= v * (2.0 / norm * (v @ b[k:]))
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return np.sum(x**2)


@program(lambda rng, n: (rng.normal(size=(n + 2, n)),), tolerance=1e-10)
def jacobi_svd(A):
    """Singular values by rotations of pairs of columns, until all of them are orthogonal."""
    A = A.copy()
    n = A.shape[1]
    for sweep in range(30):
        rotated = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                alpha, beta = A[:, p] @ A[:, p], A[:, q] @ A[:, q]
                gamma = A[:, p] @ A[:, q]
                if abs(gamma) <= 1e-14 * np.sqrt(alpha * beta):
                    continue
                rotated = True
                zeta = (beta - alpha) / (2 * gamma)
                t = np.copysign(1.0, zeta) / (abs(zeta) + np.sqrt(1 + zeta**2))
                c = 1 / np.sqrt(1 + t * t)
                s = c * t
                A[:, p], A[:, q] = c * A[:, p] - s * A[:, q], s * A[:, p] + c * A[:, q]
        if not rotated:
            break
    else:
        raise RuntimeError("did not converge")
    values = np.sqrt(np.sum(A * A, axis=0))
    values.sort()
    return values[::-1], sweep > 0


@program(
    lambda rng, n: (*diagonal(rng, n), rng.normal(size=n), 1e-10),
    wrt=(0, 1),
    tolerance=1e-8,
)
def gmres(A, b, tolerance):
    """Without restarts; Givens rotations keep the residual known."""
    n = len(b)
    Q = np.zeros((n + 1, n))
    R = np.zeros((n + 1, n))
    cs, sn = np.zeros(n), np.zeros(n)
    g = np.zeros(n + 1)
    g[0] = np.linalg.norm(b)
    Q[0] = b / g[0]
    k = 0
    while k < n and abs(g[k]) > tolerance:
        w = A @ Q[k]
        for i in range(k + 1):
            R[i, k] = Q[i] @ w
            w -= R[i, k] * Q[i]
        length = np.sqrt(w @ w)
        if length > tolerance:
            Q[k + 1] = w / length
        for i in range(k):
            R[i, k], R[i + 1, k] = (
                cs[i] * R[i, k] + sn[i] * R[i + 1, k],
                cs[i] * R[i + 1, k] - sn[i] * R[i, k],
            )
        cs[k], sn[k] = rotation(R[k, k], length)
        R[k, k] = cs[k] * R[k, k] + sn[k] * length
        g[k], g[k + 1] = cs[k] * g[k], -sn[k] * g[k]
        k += 1
    y = np.zeros(n)
    for i in range(k - 1, -1, -1):
        y[i] = (g[i] - R[i, i + 1 : k] @ y[i + 1 : k]) / R[i, i]
    x = y @ Q[:n]
    return np.sum(x**2)


@program(lambda rng, n: (rng.normal(size=2 * n), 10, 0.3), wrt=(0, 2))
def crank_nicolson(u, steps, r):
    """Heat on a rod with fixed ends; the arguments' array holds the last state."""
    n = len(u)
    lower, diag, upper = np.full(n, -r / 2), np.full(n, 1 + r), np.full(n, -r / 2)
    diag[[0, -1]] = 1.0
    upper[0] = lower[-1] = 0.0
    for _ in range(steps):
        right = u.copy()
        right[1:-1] += r / 2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[:] = solve_tridiagonal(lower, diag, upper, right)
    return 0.5 * np.sum(u**2)


@program(lambda rng, n: (rng.normal(size=(n, n)), 1.5, 1e-6), tolerance=1e-10)
def red_black_relaxation(u, omega, tolerance):
    """Over-relaxation of every other cell, by views with steps; -1 if it does not converge."""
    k = 0
    while k < 400:
        largest = 0.0
        for colour in (0, 1):
            for start in (1, 2):
                first = 1 + (start + colour) % 2
                inner = u[start:-1:2, first:-1:2]
                rows, columns = inner.shape
                around = (
                    u[start - 1 : -2 : 2, first:-1:2][:rows]
                    + u[start + 1 :: 2, first:-1:2][:rows]
                    + u[start:-1:2, first - 1 : -2 : 2][:, :columns]
                    + u[start:-1:2, first + 1 :: 2][:, :columns]
                )
                change = omega * (around / 4 - inner)
                inner += change
                largest = max(largest, np.abs(change).max())
        k += 1
        if largest < tolerance:
            break
    else:
        return -1
    return k


@program(csr, wrt=(2, 3))
def spmv_rows(indptr, indices, data, x):
    """A product a row."""
    y = np.zeros(len(indptr) - 1)
    for i in range(len(y)):
        cols = indices[indptr[i] : indptr[i + 1]]
        y[i] = data[indptr[i] : indptr[i + 1]] @ x[cols]
    return np.sum(y**2)


@program(lambda rng, n: (rng.normal(size=(2 * n, n)) + 2, rng.normal(size=2 * n), 0.3), wrt=(1,))
def lasso(A, b, penalty):
    """Coordinate descent with soft thresholds, until no coordinate moves."""
    A = A / np.sqrt((A**2).sum(axis=0))
    x = np.zeros(A.shape[1])
    residual = b.copy()
    for _ in range(1000):
        largest = 0.0
        for j in range(len(x)):
            old = x[j]
            rho = A[:, j] @ residual + old
            x[j] = np.sign(rho) * max(abs(rho) - penalty, 0.0)
            if x[j] != old:
                residual += A[:, j] * (old - x[j])
                largest = max(largest, abs(x[j] - old))
        if largest < 1e-12:
            break
    return 0.5 * residual @ residual + penalty * np.abs(x).sum()
