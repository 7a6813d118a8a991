"""Containers, iterators, closures and globals: held, given, changed in place, given back."""

from __future__ import annotations

import array
import collections
import copy
import itertools
from typing import Any

import numpy as np

from tests.programs.observe import program


def _vectors(*shifts: float) -> list[tuple[Any, ...]]:
    return [(np.arange(3.0) + s,) for s in shifts]


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
