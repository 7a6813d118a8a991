"""Lengths, steps and indices that depend on values: masks, searches, queues, recursion, tables, whole algorithms."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import Any

import numpy as np

from tests.programs.observe import program

A, B, C = (
    np.array([3.0, -1.0, 2.0, 5.0]),
    np.array([-3.0, -1.0, 0.0, 5.0]),
    np.array([-1.0, -1.0, -2.0, -5.0]),
)


@program
def masks() -> Any:
    def f(x):
        m = x > 0
        y = x[m]
        return y, len(y), y.sum(), np.nonzero(m), np.argwhere(m), np.count_nonzero(m), np.compress(m, x * 2)

    return f, [(A,), (B,), (C,)], None


@program
def unique_and_counts() -> Any:
    def f(k):
        u, n = np.unique(k, return_counts=True)
        return (
            u,
            n,
            np.bincount(k),
            len(u),
            u[n.argmax()],
            {int(a): int(b) for a, b in zip(u, n, strict=True)},
        )

    return f, [(np.array([1, 2, 2, 5]),), (np.array([0, 0, 0]),), (np.array([3, 1, 3, 1]),)], None


@program
def slices_of_traced_ends() -> Any:
    def f(x, n):
        k = int(x[0]) if n is None else n
        x = x + 0
        return x[:k] * 2, x[k:].sum(), x[k : k + 2] + 1, x[::-1][:k] - 1, x[: len(x) - k] * 3, len(x[:k])

    return f, [(A, 2), (A, 0), (A, None)], None


@program
def lag_products() -> Any:
    def f(x):
        return np.array([np.sum(x[i:] * x[: len(x) - i]) for i in range(3)]), [
            x[i:].mean() for i in range(len(x))
        ]

    return f, [(A,), (B[:3],), (np.arange(6.0),)], None


@program
def shrinking_tree() -> Any:
    def f(s, k, u, r, n):
        d = 1 / u
        p = (r - d) / (u - d)
        v = np.maximum(s * u ** np.arange(n, -n - 1, -2.0) - k, 0)
        while len(v) > 1:
            v = (p * v[:-1] + (1 - p) * v[1:]) / r
        return v[0], v.shape

    return f, [(100.0, 95.0, 1.1, 1.01, 4), (100.0, 105.0, 1.2, 1.0, 3), (50.0, 95.0, 1.1, 1.01, 4)], None


@program
def run_lengths() -> Any:
    def f(v):
        out = []
        for x in v:
            if out and out[-1][0] == x:
                out[-1][1] += 1
            else:
                out.append([x, 1])
        return out

    return f, [([1, 1, 2],), (np.array([3.0, 3.0, 3.0]),), ("aabbb",), ([],)], None


@program
def hanoi_and_ackermann() -> Any:
    moves = []

    def hanoi(n, a, b, c):
        if n:
            hanoi(n - 1, a, c, b)
            moves.append((n, a, c))
            hanoi(n - 1, b, a, c)
        return len(moves)

    def ackermann(m, n):
        if m == 0:
            return n + 1
        return ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))

    def f(n):
        return hanoi(n, "a", "b", "c"), ackermann(2, n)

    return f, [(2,), (3,), (1,)], lambda: moves


@program
def common_subsequence() -> Any:
    def f(a, b):
        t = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                if a[i - 1] == b[j - 1]:
                    t[i, j] = t[i - 1, j - 1] + 1
                else:
                    t[i, j] = max(t[i - 1, j], t[i, j - 1])
        return t[-1, -1], t

    return f, [("abcd", "acd"), (A, B), ([1, 2], [3, 4])], None


@program
def edit_distance() -> Any:
    def f(a, b):
        prev = list(range(len(b) + 1))
        for i, x in enumerate(a, 1):
            cur = [i]
            for j, y in enumerate(b, 1):
                cur.append(min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + (x != y)))
            prev = cur
        return prev[-1]

    return f, [("kitten", "sitting"), (A, B), ([], [1, 2])], None


@program
def knapsack() -> Any:
    def f(weights, values, cap):
        best = [0] * (cap + 1)
        for w, v in zip(weights, values, strict=True):
            for c in range(cap, w - 1, -1):
                best[c] = max(best[c], best[c - w] + v)
        return best[cap], best

    return f, [([1, 2, 3], [6, 10, 12], 5), ([4], [7.5], 3), ([1, 1], [True, 2.5], 2)], None


@program
def bisection() -> Any:
    def f(c, lo, hi):
        for step in range(60):
            mid = (lo + hi) / 2
            if abs(hi - lo) < 1e-6:
                break
            if mid**3 - c > 0:
                hi = mid
            else:
                lo = mid
        else:
            return None
        return mid, step

    return f, [(2.0, 0.0, 2.0), (5, 0, 4), (9.0, 0.0, 1e30)], None


@program
def newton() -> Any:
    def f(a, x):
        for i in range(20):
            if x == 0:
                return "flat", i
            new = x - (x * x - a) / (2 * x)
            if abs(new - x) < 1e-9:
                break
            x = new
        else:
            return "no convergence", x
        return new, i

    return f, [(2.0, 1.0), (9, 3), (-1.0, 0.5), (1.0, 0)], None


@program
def adaptive_quadrature() -> Any:
    def f(k, tol):
        evals = [0]

        def g(t):
            evals[0] += 1
            return t**k

        def simpson(a, b, whole):
            m = (a + b) / 2
            left = (m - a) / 6 * (g(a) + 4 * g((a + m) / 2) + g(m))
            right = (b - m) / 6 * (g(m) + 4 * g((m + b) / 2) + g(b))
            if abs(left + right - whole) < tol:
                return left + right
            return simpson(a, m, left) + simpson(m, b, right)

        return simpson(0.0, 1.0, 0.5), evals[0]

    return f, [(2, 1e-4), (4, 1e-3), (1.5, 1e-3)], None


@program
def sieve() -> Any:
    def f(n):
        keep = np.ones(n + 1, dtype=bool)
        keep[:2] = False
        for p in range(2, int(n**0.5) + 1):
            if keep[p]:
                keep[p * p :: p] = False
        return np.flatnonzero(keep), [i for i in range(n + 1) if keep[i]]

    return f, [(10,), (30,), (2,)], None


@program
def histogram_by_hand() -> Any:
    def f(x, lo, hi, n):
        counts, below = [0] * n, 0
        width = (hi - lo) / n
        for v in x:
            if v < lo or v >= hi:
                below += 1
                continue
            counts[int((v - lo) // width)] += 1
        return counts, below, max(counts)

    return f, [(A, 0, 6, 3), (B, -3.0, 0.0, 2), (C, 5, 6, 2)], None


@program
def moving_averages() -> Any:
    def f(x, w):
        out, window = [], deque(maxlen=w)
        for v in x:
            window.append(v)
            out.append(sum(window) / len(window))
        return out, np.convolve(x, np.ones(w) / w, "valid")

    return f, [(A, 2), (B, 3), (C, 1)], None


@program
def life() -> Any:
    state = {"grid": np.zeros((5, 5), int)}
    state["grid"][2, 1:4] = 1

    def f(steps):
        g = state["grid"]
        for _ in range(steps):
            n = sum(np.roll(np.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
            g = ((n == 3) | ((g == 1) & (n == 2))).astype(int)
        state["grid"] = g
        return g.sum()

    return f, [(1,), (2,), (0,)], lambda: state


@program
def tokens() -> Any:
    def f(text, x):
        ops, stack = {"+": lambda a, b: a + b, "*": lambda a, b: a * b, "-": lambda a, b: a - b}, []
        for t in text.split():
            if t in ops:
                b, a = stack.pop(), stack.pop()
                stack.append(ops[t](a, b))
            else:
                stack.append(x if t == "x" else int(t))
        return stack.pop(), len(stack)

    return f, [("x 2 + 3 *", 1.5), ("4 x x * -", 2), ("1 x", np.ones(2))], None


@program
def counts_in_dicts() -> Any:
    def f(keys, x):
        sums, counts = defaultdict(float), Counter()
        for k, v in zip(keys, x, strict=True):
            sums[k] += v
            counts[k] += 1
        return dict(sums), dict(counts), {k: sums[k] / counts[k] for k in sums}, counts.most_common(1)

    return f, [([1, 2, 1], [1.0, 2.0, 3.0]), (["a", "b"], [1, 2]), ([1, 1], np.array([1, 5]))], None


@program
def growing_list() -> Any:
    log = []

    def f(x, rate):
        t = 0
        while x > 1 and t < 50:
            x -= rate * x
            t += 1
            log.append((t, x))
        return t, x, len(log)

    return f, [(10.0, 0.5), (3.0, 0.1), (0.5, 0.5)], lambda: log
