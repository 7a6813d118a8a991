"""Containers, iterators, closures and globals: held, given, changed in place, given back."""

from __future__ import annotations

import array
import collections
import heapq
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


@program
def deque_popleft_only() -> Any:
    queue = collections.deque([1.0, 2.0, 3.0])

    def f(x):
        return x * queue.popleft()

    return f, _vectors(0, 1, 2, 3), lambda: queue


@program
def counter_counts() -> Any:
    c = collections.Counter()

    def f(word):
        c.update(word)
        c[word] += 1
        return c.most_common(1), c["nothing"]

    return f, [("abca",), ("bb",), ("abca",)], lambda: c


@program
def counter_missing_read() -> Any:
    c = collections.Counter(a=2)

    def f(x, k):
        return x * c[k], len(c)

    def before(n):
        if n == 2:
            c["b"] = 7

    return f, [(1.0, "a"), (1.0, "b"), (1.0, "b")], lambda: c, before


@program
def defaultdict_read_makes() -> Any:
    d = collections.defaultdict(list)

    def f(k):
        return len(d[k]), len(d), k in d

    return f, [("a",), ("b",), ("a",)], lambda: d


@program
def defaultdict_of_numbers() -> Any:
    d = collections.defaultdict(float)

    def f(k, x):
        d[k] += x
        return d[k] * 2

    def before(n):
        if n == 2:
            d.default_factory = lambda: 100.0

    return f, [("a", 1.0), ("a", 2.0), ("b", 3.0)], lambda: d, before


@program
def ordered_dict_moves() -> Any:
    d = collections.OrderedDict(a=1.0, b=2.0, c=3.0)

    def f(k):
        d.move_to_end(k)
        return list(d), next(iter(d.values()))

    return f, [("a",), ("b",), ("a",)], lambda: d


@program
def lru_by_hand() -> Any:
    cache: Any = collections.OrderedDict()

    def f(k):
        if k in cache:
            cache.move_to_end(k)
            return "hit", cache[k]
        cache[k] = k * 2.0
        if len(cache) > 2:
            cache.popitem(last=False)
        return "miss", cache[k]

    return f, [(k,) for k in (1, 2, 1, 3, 2)], lambda: cache


@program
def heap_of_numbers() -> Any:
    heap = [5.0, 7.0, 9.0]

    def f(x):
        heapq.heappush(heap, x)
        return heapq.heappop(heap)

    return f, [(6.0,), (1.0,), (8.0,)], lambda: heap


@program
def heap_replaced() -> Any:
    heap = [1.0, 2.0, 3.0]

    def f(x):
        return heapq.heapreplace(heap, x), heapq.nsmallest(2, heap)

    return f, [(6.0,), (1.0,), (8.0,)], lambda: heap


@program
def dijkstra() -> Any:
    graph = {0: {1: 4.0, 2: 1.0}, 1: {3: 1.0}, 2: {1: 2.0, 3: 5.0}, 3: {}}

    def f(start, scale):
        dist = {start: 0.0}
        heap = [(0.0, start)]
        while heap:
            d, n = heapq.heappop(heap)
            if d > dist.get(n, float("inf")):
                continue
            for m, w in graph[n].items():
                new = d + w * scale
                if new < dist.get(m, float("inf")):
                    dist[m] = new
                    heapq.heappush(heap, (new, m))
        return dist

    def before(n):
        if n == 1:
            graph[0][3] = 0.5
        if n == 2:
            del graph[2][1]

    return f, [(0, 1.0), (0, 2.0), (0, 1.0)], lambda: graph, before


@program
def chain_map() -> Any:
    base, local = {"a": 1.0, "b": 2.0}, {}
    chain = collections.ChainMap(local, base)

    def f(x):
        y = x * chain["a"] + chain["b"]
        chain["a"] = chain["a"] + 1
        return y

    def before(n):
        if n == 2:
            local.clear()
            base["a"] = 50.0

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (local, base), before


@program
def chain_map_reads() -> Any:
    base, local = {"a": 1.0, "b": 2.0}, {"b": 3.0}
    chain = collections.ChainMap(local, base)

    def before(n):
        if n == 1:
            local["a"] = 9.0
        if n == 2:
            chain.maps.insert(0, {"b": -1.0})

    return (lambda x: x * chain["a"] + chain["b"]), [(1.0,), (2.0,), (3.0,)], None, before


@program
def dict_subclass() -> Any:
    class Params(dict):
        reads = 0

        def __missing__(self, key):
            Params.reads += 1
            return 10.0

        def __getattr__(self, name):
            return self[name]

    p = Params(w=2.0)

    def f(x):
        return x * p.w + p["b"]

    def before(n):
        if n == 2:
            p["b"] = 1.0

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (p, Params.reads), before


@program
def list_subclass() -> Any:
    class Stack(list):
        def push(self, v):
            self.append(v)
            self.last = v
            return len(self)

    s = Stack([1.0])

    def f(x):
        n = s.push(x)
        return n, sum(s)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: s


@program
def list_subclass_returned() -> Any:
    class Row(list):
        def total(self):
            return sum(self)

    def f(x):
        r = Row([x, x * 2])
        return r, r.total(), type(r).__name__

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def user_dict() -> Any:
    class Store(collections.UserDict):
        def __setitem__(self, k, v):
            super().__setitem__(k.lower(), v)

    s = Store(A=1.0)

    def f(k, x):
        s[k] = x
        return len(s), s[k.lower()], list(s)

    return f, [("B", 1.0), ("A", 2.0), ("c", 3.0)], lambda: s.data


@program
def array_array() -> Any:
    held = array.array("d", [1.0, 2.0])

    def f(x):
        held[0] += x
        return held[0] * held[1], len(held)

    def before(n):
        if n == 2:
            held.append(3.0)
            held[1] = 9.0

    return f, [(1.0,), (2.0,), (3.0,)], lambda: list(held), before


@program
def bytearray_changed() -> Any:
    held = bytearray(b"abc")

    def f(k):
        held[0] = (held[0] + k) % 256
        held.append(k)
        return bytes(held), sum(held)

    return f, [(1,), (2,), (3,)], lambda: bytes(held)


@program
def bytearray_argument() -> Any:
    def f(b, k):
        b[0] = k
        return len(b), b[-1] * 2

    return f, [(bytearray(b"xy"), 1), (bytearray(b"z"), 2), (bytearray(b"xyz"), 3)], None
