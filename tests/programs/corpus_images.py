"""Whole programs of images, physics, economics and of algorithms on nested lists."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.programs.observe import program

IMAGE = (np.arange(36).reshape(6, 6) * 7 % 29).astype(np.uint8)


@program
def otsu() -> Any:
    def f(img):
        hist = np.bincount(img.ravel(), minlength=256)
        total, sum_all = img.size, np.dot(np.arange(256), hist)
        w, s, best, t = 0, 0, 0, 0
        for i in range(256):
            w += hist[i]
            if w == 0:
                continue
            if w == total:
                break
            s += i * hist[i]
            between = w * (total - w) * (s / w - (sum_all - s) / (total - w)) ** 2
            if between > best:
                best, t = between, i
        return t, best

    return f, [(IMAGE,), (IMAGE // 9,), (np.zeros((2, 2), np.uint8),)], None


@program
def hough() -> Any:
    def f(edges, n):
        h, w = edges.shape
        diag = int(math.ceil(math.hypot(h, w)))
        thetas = np.deg2rad(np.linspace(-90, 89, n))
        acc = np.zeros((2 * diag, n), dtype=int)
        ys, xs = np.nonzero(edges)
        for x, y in zip(xs, ys, strict=True):
            for k in range(n):
                rho = int(round(x * np.cos(thetas[k]) + y * np.sin(thetas[k]))) + diag
                acc[rho, k] += 1
        return np.unravel_index(acc.argmax(), acc.shape), acc.max()

    return f, [(np.eye(4), 5), (np.zeros((3, 3)), 4), (IMAGE > 25, 3)], None


@program
def connected_components() -> Any:
    def f(mask):
        labels = np.zeros(mask.shape, dtype=int)
        current = 0
        for i in range(mask.shape[0]):
            for j in range(mask.shape[1]):
                if mask[i, j] and labels[i, j] == 0:
                    current += 1
                    stack = [(i, j)]
                    while stack:
                        r, c = stack.pop()
                        if (
                            0 <= r < mask.shape[0]
                            and 0 <= c < mask.shape[1]
                            and mask[r, c]
                            and not labels[r, c]
                        ):
                            labels[r, c] = current
                            stack += [(r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)]
        return labels, current

    return f, [(IMAGE > 15,), (np.eye(3, dtype=int),), (np.zeros((2, 2), bool),)], None


@program
def sobel_edges() -> Any:
    def f(img, limit):
        img = img.astype(float)
        kx = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
        out = np.zeros_like(img)
        for i in range(1, img.shape[0] - 1):
            for j in range(1, img.shape[1] - 1):
                win = img[i - 1 : i + 2, j - 1 : j + 2]
                out[i, j] = math.sqrt((win * kx).sum() ** 2 + (win * kx.T).sum() ** 2)
        out *= 255 / out.max()
        return (out > limit).astype(np.uint8) * 255

    return f, [(IMAGE, 100), (IMAGE[::-1].copy(), 20), (np.zeros((3, 3)), 1)], None


@program
def brightness_wraps() -> Any:
    def f(img, delta):
        return (
            img + np.uint8(delta),
            np.clip(img.astype(int) + delta, 0, 255).astype(np.uint8),
            255 - img,
            img.mean() / 255,
        )

    return f, [(IMAGE, 240), (IMAGE * 8, 50), (IMAGE[:1], 0)], None


@program
def equalize() -> Any:
    def f(img):
        hist, _ = np.histogram(img, 256, (0, 256))
        cdf = hist.cumsum()
        low = cdf[cdf > 0].min()
        table = np.round((cdf - low) / max(cdf[-1] - low, 1) * 255).astype(np.uint8)
        return table[img]

    return f, [(IMAGE,), (IMAGE // 4,), (np.full((2, 2), 9, np.uint8),)], None


@program
def median_filter() -> Any:
    def f(img, k):
        p = np.pad(img, k // 2, mode="edge")
        out = np.empty_like(img)
        for i in range(img.shape[0]):
            for j in range(img.shape[1]):
                out[i, j] = np.median(p[i : i + k, j : j + k])
        return out

    return f, [(IMAGE[:3, :3], 3), (IMAGE[:2, :4] / 2, 3), (IMAGE[:2, :2], 1)], None


@program
def integral_image() -> Any:
    def f(img, r0, c0, r1, c1):
        s = np.zeros((img.shape[0] + 1, img.shape[1] + 1), dtype=np.int64)
        s[1:, 1:] = img.cumsum(0).cumsum(1)
        return s[r1, c1] - s[r0, c1] - s[r1, c0] + s[r0, c0], s[-1, -1] == img.sum()

    return f, [(IMAGE, 0, 0, 2, 2), (IMAGE, 1, 1, 6, 6), (IMAGE, 3, 3, 3, 3)], None


@program
def boris_pusher() -> Any:
    def f(x, v, e, b, q_over_m, dt, steps):
        path = [x]
        for _ in range(steps):
            minus = v + 0.5 * q_over_m * dt * e
            t = 0.5 * q_over_m * dt * b
            s = 2 * t / (1 + np.dot(t, t))
            prime = minus + np.cross(minus, t)
            v = minus + np.cross(prime, s) + 0.5 * q_over_m * dt * e
            x = x + dt * v
            path.append(x)
        return np.array(path), 0.5 * np.dot(v, v)

    z = np.zeros(3)
    return f, [(z, np.array([1.0, 0, 0]), z, np.array([0, 0, 1.0]), 1, 0.1, 3), (z, z, z, z, -1.0, 1, 0),
               (z, np.ones(3), np.array([0, 1, 0]), np.array([0, 0, 2]), 2, 0.1, 2)], None  # fmt: skip


@program
def poisson_solver() -> Any:
    def f(rho, dx, tol, most):
        phi = np.zeros_like(rho)
        for it in range(most):
            old = phi.copy()
            phi[1:-1] = 0.5 * (old[2:] + old[:-2] + dx**2 * rho[1:-1])
            err = np.abs(phi - old).max()
            if err < tol:
                break
        else:
            it = -1
        return phi, it

    return f, [(np.ones(5), 0.5, 1e-3, 100), (np.ones(5), 1, 1e-9, 3), (np.zeros(4), 1.0, 1e-3, 5)], None


@program
def thomas_algorithm() -> Any:
    def f(a, b, c, d):
        n = len(d)
        cp, dp, x = [0] * n, [0] * n, [0] * n
        cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
        for i in range(1, n):
            m = b[i] - a[i] * cp[i - 1]
            cp[i] = c[i] / m if i < n - 1 else 0
            dp[i] = (d[i] - a[i] * dp[i - 1]) / m
        x[-1] = dp[-1]
        for i in range(n - 2, -1, -1):
            x[i] = dp[i] - cp[i] * x[i + 1]
        return x

    return f, [([0, 1, 1], [4, 4, 4], [1, 1, 0], [1, 2, 3]), (P3 := np.array([0, 1.0, 1]), P3 + 4, P3, P3 * 2),
               ([0, 1], [0, 1], [1, 1], [1, 1])], None  # fmt: skip


@program
def gauss_elimination() -> Any:
    def f(a, b):
        n = len(a)
        m = [list(row) + [b[i]] for i, row in enumerate(a)]
        for c in range(n):
            p = max(range(c, n), key=lambda r: abs(m[r][c]))
            if abs(m[p][c]) < 1e-12:
                raise ValueError("singular")
            m[c], m[p] = m[p], m[c]
            for r in range(c + 1, n):
                k = m[r][c] / m[c][c]
                for j in range(c, n + 1):
                    m[r][j] -= k * m[c][j]
        x = [0] * n
        for i in range(n - 1, -1, -1):
            x[i] = (m[i][n] - sum(m[i][j] * x[j] for j in range(i + 1, n))) / m[i][i]
        return x

    return f, [([[2, 1], [1, 3]], [3, 5]), ([[0, 1.0], [1, 0]], [1, 2]), (np.ones((2, 2)), np.ones(2))], None


@program
def determinant_by_minors() -> Any:
    def f(m):
        if len(m) == 1:
            return m[0][0]
        return sum((-1) ** j * m[0][j] * f([row[:j] + row[j + 1 :] for row in m[1:]]) for j in range(len(m)))

    return f, [([[1, 2], [3, 4]],), ([[2, 0, 1], [1, 3.0, 2], [0, 1, 1]],), ([[5]],)], None


@program
def fourier_on_lists() -> Any:
    def f(v):
        n = len(v)
        if n == 1:
            return [v[0]]
        even, odd = f(v[::2]), f(v[1::2])
        w = [
            complex(math.cos(2 * math.pi * k / n), -math.sin(2 * math.pi * k / n)) * odd[k]
            for k in range(n // 2)
        ]
        return [even[k] + w[k] for k in range(n // 2)] + [even[k] - w[k] for k in range(n // 2)]

    return f, [([1, 2, 3, 4],), (np.arange(4.0),), ([5],)], None


@program
def pairwise_on_lists() -> Any:
    def f(pts):
        n = len(pts)
        d = [[0] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1, n):
                d[i][j] = d[j][i] = math.sqrt(sum((a - b) ** 2 for a, b in zip(pts[i], pts[j], strict=True)))
        close = [(i, j) for i in range(n) for j in range(i) if d[i][j] < 2]
        return d, close

    return f, [([[0, 0], [1, 1], [3, 4]],), (np.eye(2),), ([[1.5]],)], None


@program
def monte_carlo_by_hand() -> Any:
    state = {"x": 12345}

    def draw():
        state["x"] = (1103515245 * state["x"] + 12345) & 0x7FFFFFFF
        return state["x"] / 0x7FFFFFFF

    def f(n):
        hits = 0
        for _ in range(n):
            if draw() ** 2 + draw() ** 2 <= 1:
                hits += 1
        return 4 * hits / n

    return f, [(10,), (20,), (5,)], lambda: state


@program
def xorshift() -> Any:
    def f(x, n):
        out = np.zeros(n)
        for i in range(n):
            x ^= (x << 13) & 0xFFFFFFFF
            x ^= x >> 17
            x ^= (x << 5) & 0xFFFFFFFF
            out[i] = x / 2**32
        return out, x

    return f, [(1, 4), (2463534242, 3), (7, 0)], None


@program
def permutation_test() -> Any:
    def f(a, b, n):
        pooled, observed, count = np.concatenate([a, b]), a.mean() - b.mean(), 0
        seed = 1
        for _ in range(n):
            p = pooled.copy()
            for i in range(len(p) - 1, 0, -1):
                seed = (seed * 16807) % 2147483647
                j = seed % (i + 1)
                p[i], p[j] = p[j], p[i]
            if abs(p[: len(a)].mean() - p[len(a) :].mean()) >= abs(observed):
                count += 1
        return observed, count / n, (count + 1) / (n + 1)

    return (
        f,
        [(np.arange(3.0), np.arange(4.0), 10), (np.zeros(2), np.ones(2), 5), (np.arange(2), np.arange(3), 1)],
        None,
    )


@program
def lookup_table() -> Any:
    def f(x, xs, ys):
        lo, hi = 0, len(xs) - 1
        if not xs[0] <= x <= xs[-1]:
            raise ValueError("outside")
        while hi - lo > 1:
            mid = (lo + hi) // 2
            if xs[mid] > x:
                hi = mid
            else:
                lo = mid
        t = (x - xs[lo]) / (xs[hi] - xs[lo])
        return ys[lo] * (1 - t) + ys[hi] * t, lo

    return f, [(1.5, [0, 1, 2], [0, 10, 40]), (2, np.arange(3.0), np.arange(3)), (7, [0, 1], [0, 1])], None


@program
def predator_and_prey() -> Any:
    def f(x, y, n, dt=0.1):
        out = [(x, y)]
        for _ in range(n):
            x, y = x + dt * (x - 0.5 * x * y), y + dt * (0.25 * x * y - y)
            if x < 0.1:
                x = 0
            out.append((x, y))
        return out, x == 0

    return f, [(2, 1, 3), (0.05, 3.0, 2), (1.0, 1, 0)], None


@program
def astar() -> Any:
    def f(grid, start, goal):
        frontier, cost, came = [(0, start)], {start: 0}, {start: None}
        while frontier:
            frontier.sort(reverse=True)
            _, node = frontier.pop()
            if node == goal:
                break
            for d in ((0, 1), (1, 0), (0, -1), (-1, 0)):
                nxt = node[0] + d[0], node[1] + d[1]
                if not (0 <= nxt[0] < len(grid) and 0 <= nxt[1] < len(grid[0])) or grid[nxt[0]][nxt[1]]:
                    continue
                new = cost[node] + 1
                if nxt not in cost or new < cost[nxt]:
                    cost[nxt], came[nxt] = new, node
                    frontier.append((new + abs(goal[0] - nxt[0]) + abs(goal[1] - nxt[1]), nxt))
        else:
            return None
        path = [goal]
        while came[path[-1]] is not None:
            path.append(came[path[-1]])
        return path[::-1], cost[goal]

    g = [[0, 0, 0], [1, 1, 0], [0, 0, 0]]
    return f, [(g, (0, 0), (2, 0)), (np.array(g), (0, 0), (0, 2)), ([[0, 1], [1, 0]], (0, 0), (1, 1))], None
