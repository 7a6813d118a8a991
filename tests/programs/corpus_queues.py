"""Stacks, queues, heaps and lists whose length only the program knows. Those in `NATIVE` have to be native."""

from __future__ import annotations

import heapq
from collections import deque
from typing import Any

import numpy as np

from tests.programs.observe import Maker, program

#: Programs that Python must not have to run.
NATIVE: list[Maker] = []


def native(maker: Maker) -> Maker:
    """Enter a program that has to be native."""
    NATIVE.append(program(maker))
    return maker


def graph(n: int, degree: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random graph: where each node's edges begin, their ends, and their lengths, some of which are equal."""
    rng = np.random.default_rng(seed)
    return (
        np.arange(0, n * degree + 1, degree),
        rng.integers(0, n, n * degree),
        rng.integers(1, 9, n * degree) / 4,
    )


@native
def shortest_paths() -> Any:
    def f(indptr, indices, weights, start):
        dist = np.full(len(indptr) - 1, np.inf)
        dist[start] = 0.0
        heap: Any = [(0.0, start)]
        order = []
        while heap:
            d, u = heapq.heappop(heap)
            if d > dist[u]:
                continue
            order.append(u)
            for k in range(indptr[u], indptr[u + 1]):
                v = indices[k]
                if d + weights[k] < dist[v]:
                    dist[v] = d + weights[k]
                    heapq.heappush(heap, (dist[v], v))
        return dist, order, heap

    return f, [(*graph(30, 3, 0), 0), (*graph(30, 3, 1), 7), (*graph(5, 2, 2), 1)], None


@native
def breadth_first_over_arrays() -> Any:
    def f(indptr, indices, start):
        seen = np.zeros(len(indptr) - 1, bool)
        seen[start] = True
        queue, order = deque([start]), [start]
        while queue:
            u = queue.popleft()
            for k in range(indptr[u], indptr[u + 1]):
                v = indices[k]
                if not seen[v]:
                    seen[v] = True
                    queue.append(v)
                    order.append(v)
        return order, len(order), seen

    return f, [(*graph(20, 2, 3)[:2], 0), (*graph(20, 2, 4)[:2], 5)], None


@native
def adaptive_quadrature() -> Any:
    def simpson(f, a, b):
        return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))

    def f(a, b, tolerance):
        def g(x):
            return np.exp(-x * x) * np.sin(9 * x)

        stack = [(a, b, simpson(g, a, b), tolerance)]
        total, evaluations = 0.0, 0
        while stack:
            a, b, whole, tol = stack.pop()
            m = (a + b) / 2
            left, right = simpson(g, a, m), simpson(g, m, b)
            evaluations += 1
            if abs(left + right - whole) < 15 * tol:
                total += left + right
            else:
                stack.append((m, b, right, tol / 2))
                stack.append((a, m, left, tol / 2))
        return total, evaluations

    return f, [(0.0, 2.0, 1e-6), (-1.0, 3.0, 1e-8)], None


@native
def events_in_order_of_time() -> Any:
    def f(n, horizon):
        events = [(0.5, 0), (0.25, 1), (0.25, 0)]
        state = np.zeros(2)
        log = []
        while events:
            t, kind = heapq.heappop(events)
            if t > horizon:
                break
            state[kind] += 1
            log.append((t, kind))
            if state[kind] < n:
                heapq.heappush(events, (t + 0.5 + 0.125 * kind, kind))
        return state, log, events

    return f, [(4, 3.0), (9, 2.0), (1, 9.0)], None


@native
def accepted_samples() -> Any:
    def f(n, rng):
        chain, x = [], 0.0
        for _ in range(n):
            y = x + rng.normal()
            if rng.random() < np.exp(x * x / 2 - y * y / 2):
                x = y
                chain.append(x)
        return chain, len(chain) / n

    return f, [(n, np.random.default_rng(n)) for n in (200, 300, 50)], None


@native
def crossings_of_zero() -> Any:
    def f(x):
        at = []
        for i in range(1, len(x)):
            if x[i - 1] * x[i] < 0:
                at.append(i)
        last = at[-1] if at else -1
        return at, last, len(at) > 2

    rng = np.random.default_rng(5)
    return f, [(rng.normal(size=40),), (rng.normal(size=40),), (np.ones(40),)], None


@native
def a_list_of_both_kinds_of_numbers() -> Any:
    def f(x, first):
        found = [first]
        for i in range(len(x)):
            if x[i] > first:
                found.append(x[i])
        return found

    return f, [(np.arange(20.0), 4.0), (np.arange(20.0), 30.0)], None


@native
def a_stack_that_is_emptied() -> Any:
    def f(n):
        stack = []
        while n > 0:
            stack.append(n % 2)
            n //= 2
        bits = 0
        while stack:
            bits = 10 * bits + stack.pop()
        return bits

    return f, [(11,), (200,), (0,), (1,)], None


@native
def a_deque_used_from_both_ends() -> Any:
    def f(x):
        d = deque()
        for i in range(len(x)):
            if x[i] > 0:
                d.append(x[i])
            else:
                d.appendleft(x[i])
            if len(d) > 5:
                d.popleft()
        return d, d[0], d[-1], len(d)

    rng = np.random.default_rng(6)
    return f, [(rng.normal(size=50),), (rng.normal(size=50),)], None


@native
def items_are_replaced() -> Any:
    def f(x):
        kept = []
        for i in range(len(x)):
            if not kept or x[i] > kept[-1]:
                kept.append(x[i])
            else:
                kept[-1] = 0.5 * (kept[-1] + x[i])
        return kept

    rng = np.random.default_rng(7)
    return f, [(rng.normal(size=40),), (rng.normal(size=40),)], None


@program
def an_empty_heap_is_popped() -> Any:
    def f(x):
        heap = []
        for i in range(len(x)):
            if x[i] > 0:
                heapq.heappush(heap, x[i])
            else:
                heapq.heappop(heap)
        return heap

    return f, [(np.array([1.0] * 20 + [-1.0]),), (np.array([1.0, -1.0, -1.0] + [1.0] * 20),)], None


@program
def an_index_beyond_the_list() -> Any:
    def f(x, i):
        found = []
        for k in range(len(x)):
            if x[k] > 0:
                found.append(x[k])
        return found[i]

    x = np.arange(20.0) - 10
    return f, [(x, 3), (x, -2), (x, 9), (x, -20), (-np.abs(x), 0)], None


@program
def one_list_by_two_names() -> Any:
    def f(x):
        found = everything = []
        for k in range(len(x)):
            if x[k] > 0:
                found.append(x[k])
        return found is everything, found, everything, [found]

    return f, [(np.arange(20.0) - 10,)], None


@program
def a_list_that_the_caller_has() -> Any:
    def f(x, found):
        for k in range(len(x)):
            if x[k] > 0:
                found.append(x[k])
        return found

    return f, [(np.arange(20.0) - 10, []), (np.arange(20.0) - 10, [1.0])], None


@program
def a_list_that_grows_while_a_loop_runs_over_it() -> Any:
    def f(indptr, indices):
        order, seen = [0], np.zeros(len(indptr) - 1, bool)
        for u in order:
            for k in range(indptr[u], indptr[u + 1]):
                if not seen[indices[k]]:
                    seen[indices[k]] = True
                    order.append(indices[k])
        return order

    return f, [graph(12, 2, 3)[:2], graph(12, 2, 4)[:2]], None


@program
def arrays_in_a_list_under_a_condition() -> Any:
    def f(x):
        kept, y = [], np.zeros(2)
        for k in range(len(x)):
            y += x[k]
            if x[k] > 0:
                kept.append(y)
        return kept

    return f, [(np.arange(20.0) - 10,)], None


@program
def items_of_several_types() -> Any:
    def f(x):
        kept = []
        for k in range(len(x)):
            if x[k] > 0:
                kept.append(x[k])
            else:
                kept.append(k)
        return kept

    return f, [(np.arange(20.0) - 10,)], None


@program
def what_is_asked_of_a_grown_list() -> Any:
    def f(x):
        kept = []
        for k in range(len(x)):
            if x[k] > 0:
                kept.append(x[k])
        return (
            isinstance(kept, list),
            type(kept) is list,
            hasattr(kept, "append"),
            hasattr(kept, "x"),
            not kept,
        )

    return f, [(np.arange(20.0) - 10,), (-np.ones(20),)], None


@program
def tuples_with_nan_in_a_heap() -> Any:
    def f(x, nan):
        heap = []
        for k in range(len(x)):
            if x[k] > 0:
                heapq.heappush(heap, (x[k], k))
            else:
                heapq.heappush(heap, (nan, -k))
        return [heapq.heappop(heap) for _ in range(3)]

    return f, [(np.arange(20.0) - 10, np.float64("nan")), (np.arange(20.0) - 10, np.float64(4.0))], None


@program
def a_state_that_keeps_a_queue() -> Any:
    class Server:
        def __init__(self):
            self.waiting, self.done = [], 0

        def serve(self, x):
            for k in range(len(x)):
                if x[k] > 0:
                    self.waiting.append(x[k])
                elif self.waiting:
                    self.waiting.pop()
                    self.done += 1
            return self.done

    s = Server()
    return s.serve, [(np.arange(20.0) - 10,), (10 - np.arange(20.0),)], lambda: s


@native
def sums_of_lists() -> Any:
    def f(x):
        low = [v for v in x if v < 0]
        high = []
        for v in x:
            if v > 0:
                high.append(v)
        both = low + high
        high.append(99.0)
        low += high
        return both, [1.0, 2.0] + low + [], high, len(both + both)

    return f, [(np.arange(20.0) - 10,), (-np.ones(20),), (np.ones(3),)], None


@native
def sums_of_lists_of_both_kinds() -> Any:
    def f(x, n):
        numpys, pythons = [], []
        for v in x:
            if v > 0:
                numpys.append(v)
            else:
                pythons.append(1.5)
        return numpys + pythons, pythons + numpys + numpys, [0.5] + pythons

    return f, [(np.arange(20.0) - 10, 2.0), (-np.ones(20), 1.0)], None


@program
def sums_of_lists_in_a_loop() -> Any:
    def f(x):
        kept = []
        for k in range(len(x)):
            if x[k] > 0:
                kept = [x[k]] + kept
            elif len(kept) > 3:
                kept = kept[1:] + kept[:1]
        return kept

    return f, [(np.sin(np.arange(40.0)),), (np.ones(30),)], None


@native
def sums_of_lists_of_arrays() -> Any:
    def f(x, n):
        xs, ys = [], [x]
        while n > 0:
            xs.append(x * n)
            ys.append(xs[-1])
            n -= 1
        both = xs + ys
        both[0][0] = 50.0
        return both, xs, ys

    return f, [(np.arange(3.0), 3.0), (np.arange(3.0), 6.0), (np.ones(3), 1.0)], None


@native
def conditions_of_several_types() -> Any:
    def f(x, end):
        queue, n, log = [], 0, []
        for v in x:
            if v > 0:
                queue.append(v)
        while queue and queue[-1] < end and not (n and v > 5):
            log.append(queue.pop() * 2)
            n += 1 if (log and n) or v else 2
        return log, n, [k for k in x if k and (n or k > 2)]

    return f, [(np.arange(12.0), 99.0), (np.arange(12.0)[::-1], 4.0), (-np.ones(4), 1.0)], None


@native
def distances_of_both_kinds() -> Any:
    def f(w, start):
        n = len(w)
        dist = [np.inf] * n
        dist[start] = 0.0
        heap = [(0.0, start)]
        while heap:
            d, u = heapq.heappop(heap)
            if d > dist[u]:
                continue
            for v in range(n):
                if w[u, v] > 0 and d + w[u, v] < dist[v]:
                    dist[v] = d + w[u, v]
                    heapq.heappush(heap, (dist[v], v))
        return dist

    w = np.array([[0, 2, 9.0, 0], [0, 0, 3, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    return f, [(w, 0), (w.T.copy(), 1), (w * 0, 0)], None
