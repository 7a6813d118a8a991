"""Dynamic programming: tables filled cell by cell."""

import numpy as np

from examples.programs import program


@program(lambda rng, n: (rng.uniform(1, 10, size=(n, n)),))
def floyd_warshall(path):
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if path[i, k] + path[k, j] < path[i, j]:
                    path[i, j] = path[i, k] + path[k, j]
    return path


@program(lambda rng, n: (rng.uniform(1, 10, size=(n, n)),), wrt=(0,))
def floyd_warshall_rows(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))
    return path.sum()


@program(lambda rng, n: (rng.integers(0, 4, size=n),))
def nussinov(seq):
    n = len(seq)
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    match = 1 if seq[i] + seq[j] == 3 else 0
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match)
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@program(lambda rng, n: (rng.integers(0, 3, size=n), rng.integers(0, 3, size=n + 2)))
def levenshtein(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(len(a) + 1):
        d[i, 0] = i
    for j in range(len(b) + 1):
        d[0, j] = j
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            cost = 0 if x == y else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[-1, -1]


@program(lambda rng, n: (rng.integers(1, 9, size=n), rng.uniform(size=n), 4 * n), static=(2,))
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for w, v in zip(weights, values):
        for c in range(capacity, -1, -1):
            if c >= w and best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best[capacity]


@program(lambda rng, n: (rng.uniform(size=(4, 4)), rng.uniform(size=(4, 3)), rng.integers(0, 3, size=n)))
def viterbi(trans, emit, obs):
    n_states, T = trans.shape[0], len(obs)
    score = np.zeros((T, n_states))
    back = np.zeros((T, n_states), dtype=np.int64)
    score[0] = np.log(emit[:, obs[0]])
    for t in range(1, T):
        for s in range(n_states):
            options = score[t - 1] + np.log(trans[:, s])
            back[t, s] = np.argmax(options)
            score[t, s] = options[back[t, s]] + np.log(emit[s, obs[t]])
    path = np.zeros(T, dtype=np.int64)
    path[-1] = np.argmax(score[-1])
    for t in range(T - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, score[-1].max()


@program(lambda rng, n: (rng.integers(0, 100, size=n),))
def insertion_sort(x):
    for i in range(1, len(x)):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    return x


@program(lambda rng, n: (rng.normal(size=n),))
def longest_rise(x):
    best = run = 1
    for i in range(1, len(x)):
        if x[i] > x[i - 1]:
            run += 1
            best = max(best, run)
        else:
            run = 1
    return best
