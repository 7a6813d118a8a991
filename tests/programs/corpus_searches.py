"""Searches, sorting and recursion."""

from __future__ import annotations

import heapq
from collections import deque
from typing import Any

import numpy as np

from tests.programs.observe import program

A, B, C = (
    np.array([3.0, -1.0, 2.0, 5.0]),
    np.array([-3.0, -1.0, 0.0, 5.0]),
    np.array([-1.0, -1.0, -2.0, -5.0]),
)


@program
def breadth_first() -> Any:
    def f(graph, start):
        seen, order, queue = {start}, [], deque([start])
        while queue:
            node = queue.popleft()
            order.append(node)
            for nxt in graph[node]:
                if nxt not in seen:
                    seen.add(nxt)
                    queue.append(nxt)
        return order

    g = {0: [1, 2], 1: [3], 2: [3], 3: [0]}
    return f, [(g, 0), (g, 3), ({0: [1], 1: []}, 1)], None


@program
def dijkstra() -> Any:
    def f(w, start):
        n = len(w)
        dist = [float("inf")] * n
        dist[start] = 0
        heap = [(0, start)]
        while heap:
            d, u = heapq.heappop(heap)
            if d > dist[u]:
                continue
            for v in range(n):
                if w[u][v] > 0 and d + w[u][v] < dist[v]:
                    dist[v] = d + w[u][v]
                    heapq.heappush(heap, (dist[v], v))
        return dist

    w = [[0, 2, 9.0], [0, 0, 3], [1, 0, 0]]
    return f, [(w, 0), (np.array(w), 1), ([[0, 0], [4, 0]], 0)], None


@program
def flood_fill() -> Any:
    def f(grid, r, c, new):
        old = grid[r, c]

        def fill(i, j):
            if 0 <= i < grid.shape[0] and 0 <= j < grid.shape[1] and grid[i, j] == old != new:
                grid[i, j] = new
                for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
                    fill(i + di, j + dj)

        fill(r, c)
        return (grid == new).sum()

    def g():
        return np.array([[1, 1, 0], [0, 1, 0], [2, 0, 0]])

    return f, [(g(), 0, 0, 7), (g(), 2, 0, 2), (g(), 2, 2, 5)], None


@program
def quicksort() -> Any:
    def f(v):
        if len(v) <= 1:
            return v
        p = v[len(v) // 2]
        return f([x for x in v if x < p]) + [x for x in v if x == p] + f([x for x in v if x > p])

    return f, [([3, 1, 2],), ([5.0, 1.0, 5.0],), ([1, 2.5, True, -4],)], None


@program
def mergesort() -> Any:
    def merge(a, b):
        out, i, j = [], 0, 0
        while i < len(a) and j < len(b):
            if a[i] <= b[j]:
                out.append(a[i])
                i += 1
            else:
                out.append(b[j])
                j += 1
        return out + list(a[i:]) + list(b[j:])

    def f(v):
        if len(v) < 2:
            return list(v)
        return merge(f(v[: len(v) // 2]), f(v[len(v) // 2 :]))

    return f, [(A,), (B,), ([2, 1],)], None


@program
def permutations() -> Any:
    def f(v):
        if not v:
            return [[]]
        return [[x, *rest] for i, x in enumerate(v) for rest in f(v[:i] + v[i + 1 :])]

    return f, [([1, 2, 3],), ([4.0, 1.0],), (["a"],)], None


@program
def queens() -> Any:
    def f(n):
        def place(row, cols):
            if row == n:
                return 1
            return sum(
                place(row + 1, cols + [c])
                for c in range(n)
                if all(c != k and abs(c - k) != row - i for i, k in enumerate(cols))
            )

        return place(0, [])

    return f, [(4,), (5,), (3,)], None


@program
def a_break_in_the_else_of_a_loop_is_the_outer_ones() -> Any:
    def f(x, n):
        c, steps = 0.0, 0
        for i in range(n):
            for j in range(20):
                c = c + j * x[0]
            else:
                if c > 300.0:
                    break
            steps += 1
        return c, steps, i, j

    return f, [(np.ones(2), 2), (np.ones(2), 5), (np.full(2, 3.0), 4)], None


@program
def a_continue_in_the_else_of_a_loop_is_the_outer_ones() -> Any:
    def f(x, n):
        c, steps = 0.0, 0
        for i in range(n):
            j = 0
            while j < 5:
                j += 1
                if c > 40.0 + i:
                    break
                c = c + j * x[0]
            else:
                if i % 2:
                    continue
            steps += 1
        return c, steps, j

    return f, [(np.ones(2), 2), (np.ones(2), 7), (np.full(2, 3.0), 6)], None
