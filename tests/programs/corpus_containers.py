"""Containers, iterators, closures and globals: held, given, changed in place, given back."""

from __future__ import annotations

import array
import collections
import copy
import functools
import heapq
import itertools
import operator
import types
from typing import Any

import numpy as np

from tests.programs.observe import Keywords, program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


_total = 0.0
_history: list[Any] = []
_table: dict[Any, Any] = {}


def _reset() -> None:
    global _total, _scale
    _total, _scale = 0.0, 2.0
    _history.clear()
    _table.clear()
    globals().pop("_made_late", None)


@program
def global_number_added_to() -> Any:
    _reset()

    def f(x):
        global _total
        _total += x.sum()
        return x * _total

    def before(n):
        if n == 2:
            globals()["_total"] = 100

    return f, _vectors(0, 1, 2), lambda: _total, before


@program
def global_by_globals() -> Any:
    _reset()

    def f(x):
        globals()["_total"] = _total + 1
        return x * globals()["_total"]

    return f, _vectors(0, 1, 2), lambda: _total


@program
def global_update() -> Any:
    _reset()

    def f(x):
        globals().update(_total=_total + 2)
        return x + _total

    return f, _vectors(0, 1, 2), lambda: _total


@program
def global_made_and_deleted() -> Any:
    _reset()

    def f(x):
        global _made_late
        try:
            y = x + _made_late
            del _made_late
            return y
        except NameError as e:
            _made_late = 5.0
            return str(e)

    return f, _vectors(0, 1, 2), lambda: "_made_late" in globals()


@program
def global_set_by_helper() -> Any:
    _reset()

    def helper(v):
        global _scale
        _scale = v

    def f(x):
        old = _scale
        helper(old * 2)
        return x * old + _scale

    return f, _vectors(0, 1, 2), lambda: _scale


@program
def global_list_and_dict() -> Any:
    _reset()

    def f(x):
        _history.append(x)
        _table[len(_history)] = x.sum()
        return sum(_history), max(_table.values())

    def before(n):
        if n == 2:
            del _history[0]

    return f, _vectors(0, 1, 2), lambda: (_history, _table), before


@program
def list_methods_each() -> Any:
    held = [3.0, 1.0, 2.0]
    moves = {
        "append": lambda v: held.append(v),
        "extend": lambda v: held.extend([v, v]),
        "insert": lambda v: held.insert(0, v),
        "pop": lambda v: held.pop(),
        "remove": lambda v: held.remove(1.0),
        "sort": lambda v: held.sort(),
        "reverse": lambda v: held.reverse(),
        "slice": lambda v: held.__setitem__(slice(0, 1), [v, v]),
        "imul": lambda v: operator.imul(held, 2),
        "clear": lambda v: held.clear(),
        "index": lambda v: held.index(v),
    }

    def f(name, v):
        return moves[name](v), len(held)

    return f, [(n, float(k)) for k, n in enumerate(moves)], lambda: held


@program
def slice_assignment() -> Any:
    held = [0.0, 1.0, 2.0, 3.0]

    def f(x):
        held[1:3] = [x]
        held[::2] = [v + 1 for v in held[::2]]
        del held[-1:]
        return sum(held)

    return f, [(5.0,), (6.0,), (7.0,)], lambda: held


@program
def list_in_place_add() -> Any:
    held: list[Any] = []
    alias = held

    def f(x):
        nonlocal held
        held += [x, x + 1]
        return len(held), held is alias

    def before(n):
        nonlocal held
        if n == 2:
            held = list(held)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (held, alias), before


@program
def same_list_twice() -> Any:
    def f(a, b):
        a.append(b[0])
        b[0] = len(a)
        return a is b, a, b

    one = [1.0, 2.0]
    two = [3.0]
    return f, [(one, one), (one, two), (two, two)], None


@program
def same_array_twice_in_a_list() -> Any:
    a, b = np.zeros(2), np.ones(2)
    held = [a, a, b]

    def f(x):
        held[0] += x
        held[2][0] = held[1].sum()
        return held[1] * held[2]

    def before(n):
        if n == 1:
            held[1] = a.copy()
        if n == 2:
            held[2] = a

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (a, b, held), before


@program
def list_of_arrays_changed() -> Any:
    def f(arrays, k):
        for n, a in enumerate(arrays):
            a *= k
            a[0] = n
        arrays[0], arrays[-1] = arrays[-1], arrays[0]
        return arrays[0]

    return f, [([np.ones(2), np.ones(3), np.ones(2)], k) for k in (2.0, 3.0, 4.0)], None


@program
def argument_list_grows() -> Any:
    def f(xs):
        while len(xs) < 5:
            xs.append(xs[-1] + xs[-2])
        return xs[-1]

    return f, [([1.0, 1.0],), ([2.0, 3.0],), ([np.ones(2), np.zeros(2)],)], None


@program
def argument_dict_changed() -> Any:
    def f(d):
        d["n"] = d.get("n", 0) + 1
        d.setdefault("seen", []).append(d["x"])
        d.pop("drop", None)
        return d

    return f, [({"x": 1.0},), ({"x": 2.0, "n": 3, "drop": 0},), ({"seen": [0.0], "x": np.ones(2)},)], None


@program
def argument_set_changed() -> Any:
    def f(s, k):
        s.add(k)
        s.discard(1)
        return len(s), k in s, sorted(s)

    return f, [({1, 2}, 3), ({1}, 1), (set(), 5)], None


@program
def argument_deque_changed() -> Any:
    def f(d, x):
        d.append(x)
        d.rotate(1)
        return d[0], d.maxlen

    return f, [(collections.deque([1.0, 2.0], 3), k) for k in (1.0, 2.0, 3.0)], None


@program
def nested_argument_changed() -> Any:
    def f(tree, k):
        for key, (a, rest) in tree.items():
            a += k
            rest["n"] = key
        tree["new"] = (a, rest)
        return len(tree)

    return f, [({"a": (np.ones(2), {}), "b": (np.zeros(2), {"n": 0})}, k) for k in (1.0, 2.0, 3.0)], None


@program
def window_in_a_deque() -> Any:
    window = collections.deque(maxlen=2)

    def f(x):
        window.append(x)
        return sum(window) / len(window)

    def before(n):
        if n == 3:
            window.clear()

    return f, [(float(k),) for k in range(4)], lambda: window, before


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


@program
def buffer_seen_as_an_array() -> Any:
    raw = bytearray(16)

    def f(x):
        a = np.frombuffer(raw, float)
        a[:] += x
        return a.sum()

    return f, [(1.0,), (2.0,), (3.0,)], lambda: bytes(raw)


@program
def generator_argument() -> Any:
    def f(g, x):
        total = x
        for v in g:
            total = total + v
            if v > 2:
                break
        return total, next(g, None)

    return f, [((k * n for k in range(5)), 1.0) for n in (1, 2, 3)], None


@program
def iterator_argument_consumed() -> Any:
    its = [iter([1.0, 2.0, 3.0]), iter((4.0, 5.0)), iter(range(3))]

    def f(it):
        return next(it) * 2

    return f, [(it,) for it in its], lambda: [list(i) for i in map(copy.copy, its)]


@program
def iterator_captured() -> Any:
    it = iter([1.0, 2.0, 3.0])

    def f(x):
        return x * next(it)

    return f, _vectors(0, 1, 2, 3), None


@program
def count_captured() -> Any:
    ids = itertools.count(1)

    def f(x):
        return x * next(ids), next(ids)

    return f, _vectors(0, 1, 2), lambda: repr(ids)


@program
def cycle_captured() -> Any:
    signs = itertools.cycle([1.0, -1.0, 2.0])

    def f(x):
        return x * next(signs)

    return f, _vectors(0, 1, 2, 3), None


@program
def zip_captured() -> Any:
    pairs = zip([1.0, 2.0, 3.0, 4.0], "abcd", strict=True)

    def f(x):
        for v, name in pairs:
            return x * v, name
        return None

    return f, _vectors(0, 1, 2), None


@program
def enumerate_and_map_captured() -> Any:
    e, m = enumerate([5.0, 6.0, 7.0]), map(abs, [-1.0, -2.0, -3.0])

    def f(x):
        k, v = next(e)
        return x * k + v, next(m)

    return f, _vectors(0, 1, 2), None


@program
def dict_iterator_captured() -> Any:
    d = {"a": 1.0, "b": 2.0, "c": 3.0}
    it = iter(d.items())

    def f(x):
        k, v = next(it)
        return k, x * v

    def before(n):
        if n == 2:
            d["z"] = 1.0

    return f, _vectors(0, 1, 2), lambda: d, before


@program
def dict_views_captured() -> Any:
    d = {"a": 1.0, "b": 2.0}
    keys, values = d.keys(), d.values()

    def f(x):
        return len(keys), x * sum(values), "c" in keys

    def before(n):
        if n == 1:
            d["c"] = 5.0
        if n == 2:
            d["a"] = 7.0

    return f, _vectors(0, 1, 2), None, before


@program
def generator_returned() -> Any:
    def f(x):
        def values():
            for k in range(3):
                yield x * k

        return values()

    g = f
    return (lambda x: list(g(x))), [(1.0,), (2.0,), (3.0,)], None


@program
def generator_itself_jitted() -> Any:
    log: list[Any] = []

    def f(n):
        log.append("start")
        while n > 0:
            got = yield n
            log.append(got)
            n -= 1

    return f, [(1,), (2,), (3,)], lambda: log


@program
def generator_sent_to() -> Any:
    def average():
        total, n, mean = 0.0, 0, None
        while True:
            x = yield mean
            total, n = total + x, n + 1
            mean = total / n

    gen = average()
    next(gen)
    return (lambda x: gen.send(x) * 2), [(1.0,), (3.0,), (8.0,)], None


@program
def memo_dict() -> Any:
    memo: dict[int, Any] = {}
    calls: list[int] = []

    def fib(n):
        if n in memo:
            return memo[n]
        calls.append(n)
        memo[n] = n if n < 2 else fib(n - 1) + fib(n - 2)
        return memo[n]

    return fib, [(5,), (7,), (3,)], lambda: (memo, calls)


@program
def lru_cache_helper() -> Any:
    calls: list[int] = []

    @functools.lru_cache(maxsize=None)
    def weight(n):
        calls.append(n)
        return 1.0 / (n + 1)

    def f(x, n):
        return x * weight(n), weight.cache_info().hits

    return f, [(np.ones(2), 1), (np.ones(2), 1), (np.ones(2), 2)], lambda: calls


@program
def lru_cache_cleared() -> Any:
    scale = [2.0]

    @functools.lru_cache(maxsize=4)
    def weight(n):
        return scale[0] * n

    def f(x, n):
        return x * weight(n)

    def before(n):
        scale[0] += 1
        if n == 2:
            weight.cache_clear()

    return f, [(np.ones(2), 1), (np.ones(2), 1), (np.ones(2), 1)], None, before


@program
def lru_cache_jitted() -> Any:
    calls: list[Any] = []

    @functools.lru_cache(maxsize=4)
    def f(x):
        calls.append(x)
        return x * 2

    return f, [(1.0,), (1.0,), (2.0,)], lambda: calls


@program
def mutable_default() -> Any:
    def f(x, seen=[]):  # noqa: B006
        seen.append(x)
        return len(seen), sum(seen)

    return f, [(1.0,), (2.0, [5.0]), (3.0,)], lambda: f.__defaults__


@program
def mutable_keyword_default() -> Any:
    def f(x, *, cache={}):  # noqa: B006
        cache[x] = cache.get(x, 0) + 1
        return cache[x]

    return f, [(1.0,), (1.0,), (3.0, Keywords(cache={3.0: 7}))], lambda: f.__kwdefaults__


@program
def default_of_a_helper() -> Any:
    def helper(x, acc=[0.0]):  # noqa: B006
        acc[0] += x
        return acc[0]

    return (lambda x: helper(x) * 2), [(1.0,), (2.0,), (3.0,)], lambda: helper.__defaults__


@program
def nonlocal_counter() -> Any:
    def make():
        n = 0

        def count(x):
            nonlocal n
            n += 1
            return x * n

        return count

    a, b = make(), make()
    return (
        (lambda x, which: (a if which else b)(x)),
        [(np.ones(2), 1), (np.ones(2), 1), (np.ones(2), 0)],
        lambda: (a.__closure__[0].cell_contents, b.__closure__[0].cell_contents),
    )


@program
def nonlocal_array_and_flag() -> Any:
    best, best_x, found = np.inf, None, False

    def f(x):
        nonlocal best, best_x, found
        v = float((x**2).sum())
        if v < best:
            best, best_x, found = v, x, True
        return best, found

    return f, _vectors(1, 0, 2), lambda: (best, best_x, found)


@program
def nonlocal_deleted() -> Any:
    late = 1.0

    def f(x):
        nonlocal late
        y = x * late
        del late
        late = 2.0
        return y

    return f, _vectors(1, 0, 2), lambda: late


@program
def loop_variable_captured_late() -> Any:
    fs = [lambda x: x * k for k in range(3)]  # noqa: B023
    gs = [lambda x, k=k: x * k for k in range(3)]

    def f(x):
        return [g(x) for g in fs + gs]

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def closures_returned_and_called() -> Any:
    def f(x):
        hs = []
        for k in range(3):
            hs.append(lambda y, k=k: x * y + k)
        total = 0.0

        def add(v):
            nonlocal total
            total = total + v

        for h in hs:
            add(h(2.0))
        return total

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def star_arguments() -> Any:
    def f(a, *rest, scale=1.0, **more):
        head, *middle, last = rest
        return a + head * scale, middle, last, sorted(more), sum(more.values())

    return (
        f,
        [
            (1.0, 2.0, 3.0),
            (1.0, 2.0, 3.0, 4.0, Keywords(scale=2.0, z=1.0, b=2.0)),
            (1.0, 2.0, Keywords(b=1)),
            (1.0, Keywords(scale=3.0)),
        ],
        None,
    )


@program
def keywords_changed_within() -> Any:
    def f(**kw):
        kw["a"] = kw["a"] * 2
        kw.pop("b", None)
        return kw

    return f, [(Keywords(a=1.0, b=2.0),), (Keywords(a=np.ones(2)),), (Keywords(b=1.0, a=2.0, c=3.0),)], None


@program
def walrus_and_scopes() -> Any:
    def f(xs):
        k = 10.0
        ys = [(y := x * k) for x in xs if (k2 := x + 1) > 1.5]
        zs = {k: v for k, v in enumerate(ys)}
        if (n := len(ys)) > 1:
            return y, k2, k, zs, n
        return k, zs, n

    return f, [([1.0, 2.0],), ([0.1, 0.2],), ([3.0, 0.0, 1.0],)], None


@program
def recursion_in_a_list() -> Any:
    def flat(t):
        if isinstance(t, list):
            return [v for part in t for v in flat(part)]
        return [t]

    def f(t):
        return flat(t), sum(flat(t))

    return f, [([1.0, [2.0, [3.0]]],), ([[], [1.0]],), ([[[[5.0]]]],)], None


@program
def mutual_recursion_with_state() -> Any:
    depth = [0]

    def even(n):
        depth[0] += 1
        return True if n == 0 else odd(n - 1)

    def odd(n):
        depth[0] += 1
        return False if n == 0 else even(n - 1)

    return even, [(4,), (3,), (0,)], lambda: depth


@program
def higher_order() -> Any:
    def compose(*fs):
        return functools.reduce(lambda f, g: lambda x: g(f(x)), fs)

    steps = [np.sin, lambda x: x + 1, functools.partial(operator.mul, 2.0)]

    def f(x):
        return compose(*steps)(x), list(map(operator.neg, [x, x])), list(filter(lambda v: v > 0, [1, -1]))

    def before(n):
        if n == 1:
            steps.append(np.abs)
        if n == 2:
            steps.reverse()

    return f, _vectors(0, 1, 2), None, before


@program
def registry_by_function() -> Any:
    def double(x):
        return x * 2

    def square(x):
        return x * x

    costs = {double: 1.0, square: 3.0}
    used: list[Any] = []

    def f(op, x):
        costs[op] = costs.get(op, 0.0) + 1
        used.append(op)
        return op(x), costs[op], op is double

    return f, [(double, 1.0), (square, 2.0), (double, 3.0)], lambda: (list(costs.values()), used)


@program
def registry_read_by_function() -> Any:
    def double(x):
        return x * 2

    def square(x):
        return x * x

    costs = {double: 1.0, square: 3.0}

    def f(x):
        return {op.__name__: op(x) * cost for op, cost in costs.items()}, double in costs

    def before(n):
        if n == 1:
            costs[square] = 5.0
        if n == 2:
            del costs[double]

    return f, _vectors(0, 1, 2), None, before


@program
def is_comparisons() -> Any:
    sentinel = object()
    a = np.ones(2)
    held = [a, None, sentinel]

    def f(x, k):
        v = held[k]
        return v is None, v is sentinel, v is a, x is a, held[0] is a, x is x, [] is [], () is ()

    def before(n):
        if n == 2:
            held[0] = sentinel

    return f, [(a, 0), (np.ones(2), 1), (a, 2), (np.zeros(2), 0)], None, before


@program
def sorting_with_keys() -> Any:
    order = {"b": 0, "a": 1, "c": 2}
    asked: list[str] = []

    def key(item):
        asked.append(item[0])
        return order[item[0]]

    def f(d):
        return sorted(d.items(), key=key), max(d, key=d.get), min(d.items(), key=lambda kv: -kv[1])

    return f, [({"a": 1.0, "b": 2.0},), ({"c": 0.0, "a": 5.0},), ({"b": 1.0},)], lambda: asked


@program
def sort_held_objects() -> Any:
    rows = [(3.0, "c"), (1.0, "a"), (2.0, "b")]

    def f(reverse):
        rows.sort(key=operator.itemgetter(0), reverse=reverse)
        return rows[0]

    return f, [(False,), (True,), (False,)], lambda: rows


@program
def sort_argument_by_value() -> Any:
    def f(xs):
        xs.sort(reverse=True)
        return xs, sorted(xs)[0]

    return f, [([1.0, 3.0, 2.0],), ([1.0, 2.0],), ([5.0, 4.0, 6.0],)], None


@program
def dict_order_and_update() -> Any:
    d = {"a": 1.0, "b": 2.0}

    def f(k, x):
        old = d.pop(k, None)
        d[k] = x
        return list(d), old

    return f, [("a", 1.0), ("b", 2.0), ("c", 3.0)], lambda: d


@program
def dict_order_changed_outside() -> Any:
    d = {"a": 1.0, "b": 2.0}

    def f(x):
        for k, v in d.items():
            x = x * v + (k == "a")
        return x

    def before(n):
        if n > 0:
            d["a"] = d.pop("a")
        if n == 2:
            d["b"] = d.pop("b")

    return f, [(1.0,), (1.0,), (1.0,)], None, before


@program
def dict_merge_in_place() -> Any:
    d = {"a": 1.0}

    def f(k, x):
        nonlocal d
        old = d
        d |= {k: x}
        return len(d), d is old

    return f, [("a", 2.0), ("b", 2.0), ("c", 3.0)], lambda: d


@program
def set_held() -> Any:
    seen: set[Any] = set()

    def f(k):
        if k in seen:
            return "again", len(seen)
        seen.add(k)
        return "new", len(seen)

    return f, [(1,), (2,), (1,)], lambda: seen


@program
def set_in_place_operators() -> Any:
    s = {1, 2, 3}

    def f(other):
        nonlocal s
        s -= other
        s |= {len(s) + 10}
        return sorted(s)

    return f, [({1},), ({2, 11},), (set(),)], lambda: s


@program
def mapping_proxy_held() -> Any:
    d = {"k": 2.0}
    p = types.MappingProxyType(d)

    def before(n):
        d["k"] = float(n)
        d[str(n)] = 1.0

    return (lambda x: x * p["k"] + len(p)), _vectors(0, 1, 2), None, before


@program
def partial_changed() -> Any:
    held = {"k": 2.0}
    g = functools.partial(lambda x, d, k=1.0: x * d["k"] * k, d=held)

    def before(n):
        held["k"] += 1
        if n == 2:
            g.keywords["k"] = 10.0

    return (lambda x: g(x)), _vectors(0, 1, 2), None, before


@program
def partial_of_a_list() -> Any:
    held: list[Any] = []
    push = functools.partial(held.append)

    def f(x):
        push(x)
        return len(held)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def bound_method_of_a_list() -> Any:
    held: list[Any] = []
    push, pop = held.append, held.pop

    def f(x):
        push(x)
        push(x + 1)
        return pop()

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def unbound_methods() -> Any:
    held, table = [1.0], {"a": 1.0}

    def f(x):
        list.append(held, x)
        dict.update(table, b=x)
        dict.__setitem__(table, "c", x)
        return len(held), len(table)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (held, table)


@program
def operator_setitem() -> Any:
    held, table = [1.0, 2.0], {"a": 1.0}

    def f(x):
        operator.setitem(held, 0, x)
        operator.iadd(held, [x])
        operator.setitem(table, "a", x)
        operator.delitem(held, 1)
        return held[-1]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (held, table)


@program
def map_with_side_effects() -> Any:
    held: list[Any] = []

    def f(xs):
        collections.deque(map(held.append, xs), maxlen=0)
        [held.append(x) for x in xs if x > 1]
        return sum(1 for x in xs if not held.append(x))

    return f, [([1.0, 2.0],), ([3.0],), ([],)], lambda: held


@program
def grouping() -> Any:
    def f(items):
        groups = {}
        for k, v in items:
            groups.setdefault(k, []).append(v)
        by = {k: list(g) for k, g in itertools.groupby(items, key=lambda kv: kv[0])}
        return groups, by, list(itertools.accumulate(v for _, v in items))

    return f, [([("a", 1.0), ("b", 2.0), ("a", 3.0)],), ([("z", 1.0)],), ([],)], None


@program
def matrix_of_lists() -> Any:
    grid = [[0.0] * 3 for _ in range(2)]
    shared = [[0.0] * 2] * 2

    def f(i, j, v):
        grid[i][j] = v
        shared[i][j % 2] += v
        return [sum(row) for row in grid], shared[0] is shared[1], [list(c) for c in zip(*grid, strict=True)]

    return f, [(0, 1, 2.0), (1, 2, 3.0), (0, 0, 4.0)], lambda: (grid, shared)


@program
def copies_and_deep_copies() -> Any:
    held = {"a": [np.ones(2), 1.0], "b": np.zeros(2)}

    def f(x):
        shallow, deep = copy.copy(held), copy.deepcopy(held)
        shallow["a"][0] += x
        deep["b"] += x
        shallow["c"] = deep["b"]
        return shallow, deep["b"], len(held)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def results_share_parts() -> Any:
    def f(x):
        part = [x, x + 1]
        return part, part, {"p": part}, (part[0], part[0])

    return f, [(np.ones(2),), (np.zeros(2),), (1.0,)], None


@program
def argument_given_back() -> Any:
    def f(xs, d):
        xs[0] = xs[0] + 1
        return xs, d, [xs, d["k"]]

    return f, [([np.ones(2)], {"k": np.zeros(2)}) for _ in range(3)], None


@program
def captured_list_given_back() -> Any:
    held = [np.ones(2), np.zeros(2)]

    def f(x):
        held[0][:] = x
        return held

    def before(n):
        if n == 2:
            held.append(np.ones(1))

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held, before


@program
def tuple_of_a_list_changed() -> Any:
    held = ([1.0], [2.0, 3.0])

    def f(x):
        try:
            held[0] += [x]
        except TypeError as e:
            return str(e), len(held[0])
        return None

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def changed_while_iterated() -> Any:
    def f(xs, d):
        for x in xs:
            if x < 3:
                xs.append(x + 2)
        try:
            for k in d:
                d[k + "x"] = 1.0
        except RuntimeError as e:
            return xs, str(e), len(d)
        return xs

    return f, [([1.0, 2.0], {"a": 1.0}), ([5.0], {}), ([0.0], {"b": 2.0})], None


@program
def simulation_with_ledger() -> Any:
    ledger: list[tuple[str, float]] = []
    balance = collections.defaultdict(float)
    limits = {"a": 10.0}

    def pay(who, to, amount):
        if balance[who] - amount < -limits.get(who, 0.0):
            raise ValueError(f"{who} can't pay {amount}")
        balance[who] -= amount
        balance[to] += amount
        ledger.append((who, amount))

    def f(orders):
        done = failed = 0
        for who, to, amount in orders:
            try:
                pay(who, to, amount)
                done += 1
            except ValueError:
                failed += 1
        return done, failed, sum(balance.values())

    def before(n):
        limits["b"] = 3.0 * n

    return (
        f,
        [([("a", "b", 5.0), ("b", "c", 7.0)],), ([("b", "a", 7.0)],), ([("c", "a", 1.0), ("a", "c", 9.0)],)],
        lambda: (ledger, balance, limits),
        before,
    )


@program
def word_statistics() -> Any:
    totals = collections.Counter()

    def f(text):
        words = text.lower().split()
        totals.update(words)
        lengths = {w: len(w) for w in words}
        longest = max(words, key=lambda w: (lengths[w], w), default="")
        index = collections.defaultdict(set)
        for n, w in enumerate(words):
            index[w[0]].add(n)
        return totals.most_common(2), longest, {k: sorted(v) for k, v in index.items()}

    return f, [("the cat the dog",), ("",), ("A cat a day",)], lambda: totals


@program
def bounded_buffer_replay() -> Any:
    buffer = collections.deque(maxlen=3)
    stats = {"pushed": 0, "dropped": 0}

    def f(x, r):
        if len(buffer) == buffer.maxlen:
            stats["dropped"] += 1
        buffer.append((x, r))
        stats["pushed"] += 1
        xs = np.stack([s for s, _ in buffer])
        rs = np.array([r for _, r in buffer])
        return xs.mean(0), rs @ rs

    return f, [(np.ones(2) * k, float(k)) for k in range(4)], lambda: (buffer, stats)


@program
def event_bus() -> Any:
    handlers: dict[str, list[Any]] = collections.defaultdict(list)
    log: list[Any] = []

    def on(name):
        def register(fn):
            handlers[name].append(fn)
            return fn

        return register

    @on("add")
    def double(x):
        log.append("double")
        return x * 2

    def f(name, x):
        for h in handlers[name]:
            x = h(x)
        return x, len(handlers)

    def before(n):
        if n == 1:
            on("add")(lambda x: x + 100)

    return f, [("add", 1.0), ("add", 2.0), ("none", 3.0)], lambda: (log, list(handlers)), before


@program
def interpreter_of_instructions() -> Any:
    memory = {"r": 0.0}
    stack: list[float] = []

    def f(code):
        for op, *args in code:
            match op, args:
                case "push", [v]:
                    stack.append(v)
                case "add", []:
                    stack.append(stack.pop() + stack.pop())
                case "store", [name]:
                    memory[name] = stack.pop()
                case "load", [name]:
                    stack.append(memory[name])
                case _:
                    raise ValueError(f"what is {op}?")
        return stack[-1] if stack else None

    return (
        f,
        [
            ([("push", 1.0), ("push", 2.0), ("add",), ("store", "r")],),
            ([("load", "r"), ("load", "r"), ("add",)],),
            ([("push", 5.0), ("jump",)],),
        ],
        lambda: (memory, stack),
    )


@program
def genetic_population() -> Any:
    population = [np.array([float(i), 1.0]) for i in range(4)]
    best: list[float] = []

    def fitness(p, target):
        return -np.abs(p - target).sum()

    def f(target, step):
        population.sort(key=lambda p: fitness(p, target), reverse=True)
        half = population[: len(population) // 2]
        population[len(half) :] = [p + step for p in half]
        best.append(float(fitness(population[0], target)))
        return population[0]

    return (
        f,
        [(np.array([2.0, 1.0]), 0.5), (np.array([0.0, 0.0]), -0.5), (np.ones(2), 0.1)],
        lambda: (population, best),
    )


@program
def pipeline_of_generators() -> Any:
    seen: list[Any] = []

    def source(xs):
        for x in xs:
            seen.append(x)
            yield x

    def scaled(it, k):
        return (x * k for x in it)

    def pairs(it):
        it = iter(it)
        return zip(it, it, strict=False)

    def f(xs, k):
        return [a + b for a, b in pairs(scaled(source(xs), k))], len(seen)

    return f, [([1.0, 2.0, 3.0], 2.0), ([1.0], 1.0), ([4.0, 5.0, 6.0, 7.0], 3.0)], lambda: seen


@program
def topological_order() -> Any:
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
    visits: collections.Counter[str] = collections.Counter()

    def f(start):
        order, state = [], {}

        def visit(n):
            visits[n] += 1
            if state.get(n) == 1:
                raise ValueError("a circle at " + n)
            if n in state:
                return
            state[n] = 1
            for m in graph[n]:
                visit(m)
            state[n] = 2
            order.append(n)

        visit(start)
        return order[::-1]

    def before(n):
        if n == 2:
            graph["d"].append("b")

    return f, [("a",), ("b",), ("a",)], lambda: (visits, graph), before


@program
def polynomial_by_dict() -> Any:
    def mul(p, q):
        out: dict[int, Any] = {}
        for (i, a), (j, b) in itertools.product(p.items(), q.items()):
            out[i + j] = out.get(i + j, 0) + a * b
        return {k: v for k, v in sorted(out.items()) if v != 0}

    held = {0: 1.0, 1: 1.0}

    def f(p, x):
        r = mul(p, held)
        return r, sum(c * x**k for k, c in r.items())

    def before(n):
        held[n + 1] = float(n)

    return f, [({0: 1.0, 1: -1.0}, 2.0), ({2: 3.0}, np.arange(3.0)), ({}, 1.0)], None, before


@program
def sparse_grid_of_tuples() -> Any:
    alive = {(1, 0), (1, 1), (1, 2)}

    def f(steps):
        nonlocal alive
        for _ in range(steps):
            near = collections.Counter(
                (i + a, j + b) for i, j in alive for a in (-1, 0, 1) for b in (-1, 0, 1) if a or b
            )
            alive = {c for c, n in near.items() if n == 3 or (n == 2 and c in alive)}
        return len(alive), sorted(alive)

    return f, [(1,), (1,), (2,)], lambda: alive


@program
def code_run_by_exec() -> Any:
    scope: dict[str, Any] = {"n": 0}

    def f(x):
        exec("n = n + 1", scope)
        return x * scope["n"]

    return f, _vectors(1, 1, 1), lambda: scope["n"]


@program
def locals_and_vars() -> Any:
    def f(x):
        y = x + 1
        names = sorted(locals())
        return names, vars()["y"] * 2, eval("x + y")

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def weak_things() -> Any:
    d = {"a": np.ones(2)}

    def f(x):
        d["b"] = d["a"]
        d["a"] = d["b"] * x
        return id(d["a"]) == id(d["b"]), d["a"] is d["b"], len(d)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: d


@program
def exception_keeps_state() -> Any:
    log: list[str] = []

    def f(xs):
        try:
            for x in xs:
                log.append("in")
                if x < 0:
                    raise ValueError(x)
            return "fine"
        except ValueError as e:
            log.append("except")
            return e.args
        else:
            log.append("else")
        finally:
            log.append("finally")

    return f, [([1.0],), ([1.0, -2.0],), ([-3.0],)], lambda: log


@program
def refused_after_changes_of_everything() -> Any:
    _reset()
    held, d, s, q, n = [1.0], {"a": 1.0}, {1}, collections.deque([1.0]), 0
    gen = (k for k in range(10))

    def f(x):
        global _total
        nonlocal n
        n += 1
        _total += 1
        next(gen)
        held.append(2.0)
        d["b"] = 2.0
        s.add(2)
        q.append(2.0)
        _history.append(1)
        print("acts")
        return n

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (held, d, s, q, n, _total, _history, next(gen))


@program
def same_iterator_given_twice() -> Any:
    it, gen = iter([1.0, 2.0, 3.0, 4.0, 5.0]), (float(k) for k in range(9))

    def f(it, x):
        return next(it) * x

    return f, [(it, 1.0), (it, 1.0), (gen, 2.0), (gen, 2.0), (it, 3.0)], lambda: list(copy.copy(it))


@program
def same_bytearray_given_twice() -> Any:
    b, a = bytearray(b"abc"), array.array("d", [1.0, 2.0])

    def f(b, k):
        b[0] += k
        b.append(1)
        return b[0] * 2, len(b)

    return f, [(b, 1), (b, 1), (b, 2), (a, 1), (a, 1)], lambda: (bytes(b), list(a))


@program
def bytearray_only_read() -> Any:
    b, a = bytearray(b"abc"), array.array("d", [1.0, 2.0])

    def before(n):
        b[0] = n
        a[0] = float(n)

    return (lambda b, x: b[0] * x), [(b, 1), (b, 1), (a, 1.0), (a, 1.0)], None, before


@program
def user_containers_given() -> Any:
    class Rows(list):
        pass

    class Table(dict):
        pass

    rows, table, store = Rows([1.0]), Table(a=1.0), collections.UserDict(a=1.0)

    def f(c, k, x):
        if isinstance(c, list):
            c.append(x)
        else:
            c[k] = x
        return len(c), x * 2

    return (
        f,
        [
            (rows, 0, 1.0),
            (rows, 0, 2.0),
            (table, "b", 1.0),
            (table, "c", 1.0),
            (store, "b", 1.0),
            (store, "c", 1.0),
        ],
        lambda: (rows, table, store.data),
    )


@program
def user_containers_with_notes() -> Any:
    class Rows(list):
        pass

    rows = Rows([1.0, 2.0])

    def f(r, x):
        r.note = x
        return sum(r) * x

    return f, [(rows, 1.0), (rows, 2.0), (Rows([5.0]), 3.0)], lambda: rows


@program
def counters_given() -> Any:
    c, d = collections.Counter("aab"), collections.defaultdict(int)

    def f(c, k, x):
        c[k] += 1
        return c[k] * x, len(c)

    return f, [(c, "a", 1.0), (c, "a", 2.0), (d, "a", 3.0), (d, "a", 4.0)], lambda: (c, d)


@program
def defaultdict_given_and_read() -> Any:
    d = collections.defaultdict(float, a=1.0)

    def f(d, k, x):
        return d[k] + x

    return f, [(d, "a", 1.0), (d, "b", 2.0), (d, "b", 3.0)], lambda: d


@program
def cached_array_written() -> Any:
    @functools.lru_cache(maxsize=4)
    def base(n):
        return np.zeros(n)

    def f(x):
        g = base(3)
        g += x
        return g * 1

    return f, _vectors(1, 1, 1), lambda: base(3)


@program
def cached_list_changed() -> Any:
    @functools.cache
    def base(n):
        return [float(n)]

    def f(x):
        g = base(3)
        g.append(x)
        return len(g), g is base(3)

    return f, [(1.0,), (1.0,), (1.0,)], lambda: base(3)


@program
def cached_array_given_back() -> Any:
    kept: list[Any] = []

    @functools.cache
    def base(n):
        return np.zeros(n)

    def f(x):
        return base(3), base(2) + x, base(3) is base(3)

    def before(n):
        base(3)[:] += n

    return f, [(1.0,), (1.0,), (1.0,)], lambda: kept, before


@program
def cache_filled_for_others() -> Any:
    @functools.cache
    def square(n):
        return n * n

    def f(x):
        return x * square(3) + square(4)

    return f, _vectors(1, 1, 1), lambda: square.cache_info()


@program
def same_result_twice() -> Any:
    def f(x):
        y = x + 1
        return y, y, [y], {"a": y}

    return f, [(np.ones(2),), (np.zeros(2),), (np.ones(3),)], None


@program
def views_among_results() -> Any:
    def f(x):
        y = x + 1
        return y, y[1:], y.reshape(-1, 1), y.T

    return f, [(np.ones(4),), (np.zeros(4),), (np.ones(3),)], None


@program
def views_of_arguments_given_back() -> Any:
    w = np.arange(6.0)

    def f(x):
        return x[1:], x.T, w[2:4], w.reshape(2, 3), x

    return f, [(np.ones((2, 3)),), (np.zeros((2, 3)),), (np.ones((3, 2)),)], lambda: w


@program
def argument_containers_given_back_unchanged() -> Any:
    def f(xs, d, t):
        xs[0][:] = 7
        return xs, d, t, d["k"]

    return f, [([np.ones(2)], {"k": np.zeros(2)}, (np.ones(1), [np.ones(1)])) for _ in range(3)], None


@program
def parts_of_arguments_in_new_containers() -> Any:
    def f(xs, d):
        return [xs[0], xs[0]], {"list": xs[1], "k": d}, (xs[1],)

    return f, [([np.ones(2), [np.zeros(1)]], {"k": 1.0}) for _ in range(3)], None


@program
def captured_parts_given_back() -> Any:
    a, d = np.ones(2), {"k": [1.0, 2.0], "a": np.ones(1)}

    def f(x):
        return a, d["k"], d["a"], (d["k"], x)

    def before(n):
        if n == 2:
            d["k"] = [3.0]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (a, d), before


@program
def list_pushed_and_popped() -> Any:
    stack = [1.0, 2.0]

    def f(x):
        stack.append(x)
        total = sum(stack)
        stack.pop()
        return total

    def before(n):
        if n == 2:
            stack.append(50.0)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: stack, before


@program
def default_replaced_within() -> Any:
    def helper(x, k=1.0):
        return x * k

    def f(x):
        y = helper(x)
        helper.__defaults__ = (5.0,)
        return y

    return f, [(1.0,), (2.0,), (3.0,)], lambda: helper.__defaults__


@program
def keyword_default_replaced_within() -> Any:
    def helper(x, *, k=1.0):
        return x * k

    def f(x):
        y = helper(x)
        helper.__kwdefaults__["k"] = 5.0
        return y

    return f, [(1.0,), (2.0,), (3.0,)], lambda: helper.__kwdefaults__


@program
def code_replaced_within() -> Any:
    def helper(x):
        return x * 2

    def f(x):
        y = helper(x)
        helper.__code__ = (lambda x: x + 100).__code__
        return y

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def cell_written_within() -> Any:
    k = 1.0

    def helper(x):
        return x * k

    def f(x):
        y = helper(x)
        helper.__closure__[0].cell_contents = 5.0
        return y

    return f, [(1.0,), (2.0,), (3.0,)], lambda: k


@program
def partial_keywords_changed_within() -> Any:
    g = functools.partial(lambda x, k: x * k, k=2.0)

    def f(x):
        y = g(x)
        g.keywords["k"] = 10.0
        return y

    return f, [(1.0,), (2.0,), (3.0,)], lambda: g.keywords


@program
def module_attribute_set() -> Any:
    module = types.ModuleType("settings")
    module.k = 1.0  # type: ignore[attr-defined]

    def f(x):
        module.k = module.k + 1
        module.made = 2
        return x * module.k

    return f, [(1.0,), (2.0,), (3.0,)], lambda: {k: v for k, v in vars(module).items() if k[0] != "_"}


@program
def module_attribute_read() -> Any:
    module = types.ModuleType("settings")
    module.k = 1.0  # type: ignore[attr-defined]

    def before(n):
        module.k = float(n)
        if n == 2:
            module.extra = 1.0

    return (lambda x: (x * module.k, hasattr(module, "extra"))), [(1.0,)] * 3, None, before


@program
def object_array_of_lists() -> Any:
    a = np.array([[1.0], [2.0, 3.0], None], dtype=object)

    def f(x):
        a[0].append(x)
        a[2] = x
        return len(a[0])

    return f, [(1.0,), (2.0,), (3.0,)], lambda: a


@program
def string_array_changed() -> Any:
    a = np.array(["a", "b"])

    def f(x):
        a[0] = a[1]
        return x * len(a[0])

    def before(n):
        a[1] = "xy"[n % 2]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: a, before


@program
def structured_array_changed() -> Any:
    a = np.zeros(2, dtype=[("x", float), ("n", int)])

    def f(x):
        a["x"] += x
        a[0]["n"] += 1
        return a["x"].sum(), a["n"][0]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: a


@program
def set_of_arrays_by_id() -> Any:
    a, b = np.ones(2), np.zeros(2)
    names = {id(a): "a", id(b): "b"}

    def f(x):
        return names.get(id(x), "?"), x * 2

    return f, [(a,), (b,), (np.ones(2),)], None


@program
def list_holds_itself() -> Any:
    held: list[Any] = [1.0]
    held.append(held)

    def f(x):
        held[1][0] = x
        return held[0] * 2, held[1] is held

    return f, [(1.0,), (2.0,), (3.0,)], lambda: held


@program
def nested_alias_seen_by_other_name() -> Any:
    inner = {"n": 0.0}
    one, two = {"p": inner}, [inner]

    def f(x):
        two[0]["n"] += x
        return one["p"]["n"], one["p"] is two[0]

    def before(n):
        if n == 2:
            two[0] = {"n": 9.0}

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (one, two), before


@program
def range_slice_and_text_keys() -> Any:
    table = {(1, "a"): 1.0, range(3): 2.0, 1.0: 3.0, True: 4.0, None: 5.0, frozenset({1}): 6.0}

    def f(k, x):
        return table[k] * x

    def before(n):
        if n == 4:
            table[None] = 50.0

    return f, [((1, "a"), 1.0), (range(3), 1.0), (1, 1.0), (None, 1.0), (None, 1.0), ("?", 1.0)], None, before


@program
def contexts_with_effects() -> Any:
    depth = [0]

    import contextlib  # noqa: PLC0415

    @contextlib.contextmanager
    def deeper(k):
        depth[0] += k
        try:
            yield depth[0]
        finally:
            depth[0] -= k

    def f(x):
        with deeper(2) as a, deeper(3) as b:
            return x * a + b, depth[0]

    def before(n):
        depth[0] = n

    return f, _vectors(0, 1, 2), lambda: depth, before


@program
def dispatch_registered_within() -> Any:
    @functools.singledispatch
    def show(v):
        return 0.0

    def f(x):
        y = show(1)
        show.register(int, lambda v: 5.0)
        return x + y

    return f, [(1.0,), (2.0,), (3.0,)], lambda: show(1)


@program
def wrapped_by_a_counting_decorator() -> Any:
    def counted(fn):
        @functools.wraps(fn)
        def inner(*args):
            inner.calls += 1
            return fn(*args)

        inner.calls = 0
        return inner

    @counted
    def helper(x):
        return x * 2

    def f(x):
        return helper(helper(x)), helper.calls

    def before(n):
        if n == 2:
            helper.calls = 100

    return f, _vectors(0, 1, 2), lambda: helper.calls, before


@program
def attribute_of_a_helper_added_outside() -> Any:
    def helper(x):
        return x * getattr(helper, "scale", 1.0)

    def before(n):
        if n == 1:
            helper.scale = 5.0
        if n == 2:
            del helper.scale

    return (lambda x: helper(x)), _vectors(1, 1, 1), None, before


@program
def attribute_of_a_helper_deleted() -> Any:
    def helper(x):
        return x

    helper.once = 3.0

    def f(x):
        if hasattr(helper, "once"):
            y = helper.once
            del helper.once
            return x * y
        return x

    return f, _vectors(1, 1, 1), lambda: vars(helper)


@program
def list_of_an_attribute_of_a_helper() -> Any:
    def helper(x):
        helper.seen.append(1)
        return x

    helper.seen = []
    return (lambda x: helper(x)), _vectors(1, 1, 1), lambda: helper.seen
