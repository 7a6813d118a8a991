"""Triangular systems and factorizations, written out."""

import numpy as np

from examples.programs import program


def positive(rng, n):
    a = rng.normal(size=(n, n))
    return (a @ a.T + n * np.eye(n),)


def diagonal(rng, n):
    return (rng.normal(size=(n, n)) + n * np.eye(n),)


@program(positive, wrt=(0,))
def cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])
    return np.sum(np.tril(A))


@program(diagonal, wrt=(0,))
def lu(A):
    N = A.shape[0]
    for i in range(N):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, N):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return np.sum(A**2)


@program(lambda rng, n: (*diagonal(rng, n), rng.normal(size=n)), wrt=(0, 1))
def ludcmp(A, b):
    N = A.shape[0]
    x = np.zeros_like(b)
    y = np.zeros_like(b)
    for i in range(N):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, N):
            A[i, j] -= A[i, :i] @ A[:i, j]
    for i in range(N):
        y[i] = b[i] - A[i, :i] @ y[:i]
    for i in range(N - 1, -1, -1):
        x[i] = (y[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return np.sum(x * x)


@program(lambda rng, n: (np.tril(diagonal(rng, n)[0]), np.zeros(n), rng.normal(size=n)), wrt=(0, 2))
def trisolv(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return np.sum(x**3)


@program(diagonal, wrt=(0,))
def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]), dtype=A.dtype)
    for k in range(A.shape[1]):
        nrm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(nrm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return np.sum(Q * 2) + np.sum(R)


@program(lambda rng, n: (rng.normal(size=n) * 0.1,), wrt=(0,))
def durbin(r):
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y)


@program(lambda rng, n: tuple(rng.normal(size=n) + s for s in (0, 5, 0, 0)), wrt=(0, 1, 2, 3))
def thomas(a, b, c, d):
    n = len(d)
    c, d = c.copy(), d.copy()
    c[0] /= b[0]
    d[0] /= b[0]
    for i in range(1, n):
        m = b[i] - a[i] * c[i - 1]
        c[i] /= m
        d[i] = (d[i] - a[i] * d[i - 1]) / m
    x = np.zeros(n)
    x[-1] = d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x @ x


@program(lambda rng, n: (diagonal(rng, n)[0][:, ::-1].copy(), rng.normal(size=n)), wrt=(0, 1))
def gauss_with_pivots(A, b):
    """Elimination with row exchanges."""
    n = len(b)
    A = A.copy()
    b = b.copy()
    for k in range(n - 1):
        p = k
        largest = abs(A[k, k])
        for i in range(k + 1, n):
            if abs(A[i, k]) > largest:
                largest = abs(A[i, k])
                p = i
        if p != k:
            row = A[k].copy()
            A[k] = A[p]
            A[p] = row
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]
    return np.sum(x**2)


@program(positive, tolerance=1e-9)
def power_iteration(A):
    """Until the eigenvalue stays; says how many steps it took."""
    v = np.ones(A.shape[0])
    value = 0.0
    for k in range(1000):
        w = A @ v
        new = np.sqrt(w @ w)
        v = w / new
        if abs(new - value) < 1e-10:
            break
        value = new
    return value, k


@program(lambda rng, n: (*positive(rng, n), rng.normal(size=n)), wrt=(1,), tolerance=1e-9)
def conjugate_gradient(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for _ in range(3 * len(b)):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        if np.sqrt(new) < 1e-9:
            break
        p = r + (new / rs) * p
        rs = new
    return np.sum(x)
