"""Sparse matrices, graphs and indices read from arrays."""

import numpy as np

from examples.programs import program


def csr(rng, n):
    dense = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.4)
    rows = [np.flatnonzero(r) for r in dense]
    indptr = np.cumsum([0, *map(len, rows)])
    indices = np.concatenate(rows)
    data = np.concatenate([dense[i, r] for i, r in enumerate(rows)])
    return indptr, indices, data, rng.normal(size=n)


@program(csr, wrt=(2, 3))
def spmv(indptr, indices, data, x):
    y = np.zeros(len(indptr) - 1)
    for i in range(len(y)):
        for k in range(indptr[i], indptr[i + 1]):
            y[i] += data[k] * x[indices[k]]
    return np.sum(y**2)


@program(lambda rng, n: (*csr(rng, n), 15), tolerance=1e-11)
def pagerank(indptr, indices, data, x, steps):
    n = len(x)
    rank = np.full(n, 1.0 / n)
    for _ in range(steps):
        new = np.full(n, 0.15 / n)
        for i in range(n):
            degree = indptr[i + 1] - indptr[i]
            if degree == 0:
                continue
            for k in range(indptr[i], indptr[i + 1]):
                new[indices[k]] += 0.85 * rank[i] / degree
        rank = new
    return rank


@program(lambda rng, n: (rng.uniform(1, 9, size=(n, n)), 0))
def dijkstra(weights, start):
    n = weights.shape[0]
    dist = np.full(n, np.inf)
    done = np.zeros(n, dtype=bool)
    dist[start] = 0.0
    for _ in range(n):
        best = -1
        for v in range(n):
            if not done[v] and (best < 0 or dist[v] < dist[best]):
                best = v
        done[best] = True
        for v in range(n):
            if not done[v] and dist[best] + weights[best, v] < dist[v]:
                dist[v] = dist[best] + weights[best, v]
    return dist


@program(lambda rng, n: (rng.integers(0, n, size=(2 * n, 2)), n), static=(1,))
def components(edges, n):
    """Union–find with path halving."""
    parent = np.arange(n)
    for a, b in edges:
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[b] = a
    return parent


@program(lambda rng, n: (rng.normal(size=(n, n)), rng.normal(size=(3, 3))), wrt=(0, 1))
def convolution(image, kernel):
    out = np.zeros((image.shape[0] - 2, image.shape[1] - 2))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            for a in range(3):
                for b in range(3):
                    out[i, j] += image[i + a, j + b] * kernel[a, b]
    return np.sum(out**2)
