"""Programs that put other things into containers and objects among their arguments."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np

from tests.programs.observe import program


@dataclasses.dataclass
class State:
    t: int
    x: Any
    log: list[Any]


@program
def a_state_that_is_stepped() -> Any:
    state = State(0, np.zeros(3), [])

    def step(s, dt):
        s.t += 1
        s.x = s.x + dt
        s.log.append((s.t, s.x.sum()))
        return s, s.log[-1][0]

    return step, [(state, 0.1), (state, 0.2), (State(5, np.ones(3), [(1, 2.0)]), 0.5)], lambda: state


@program
def a_batch_that_gets_an_entry() -> Any:
    batch = {"x": np.arange(3.0), "n": 0, "name": "a"}

    def f(b, k):
        b["y"] = b["x"] * 2
        b["n"] += k
        del b["name"]
        b["name"] = "b"
        return b["n"], len(b), list(b)

    return f, [(batch, 1), (batch, 2), (batch, 3)], lambda: batch


@program
def a_list_and_what_is_in_it() -> Any:
    xs: list[Any] = [[1.0], {"k": [2.0]}, np.ones(2)]

    def f(xs, v):
        xs[0].append(v)
        xs[1]["k"].append(xs[0][-1] + v)
        xs[2] += v
        xs[2] = xs[2] * 2
        return xs[1], len(xs[0])

    return f, [(xs, 1.0), (xs, 2.0), (xs, 3.0)], lambda: xs


@program
def the_same_list_by_two_names() -> Any:
    a: list[float] = []
    b: list[float] = []

    def f(x, y, v):
        x.append(v)
        return len(y), y is x, y[-1] if y else None

    return f, [(a, b, 1.0), (a, a, 2.0), (b, a, 3.0), (a, a, 4.0)], lambda: (a, b)


@program
def a_list_in_two_places_of_arguments() -> Any:
    inner = [1.0]

    def f(d, xs):
        d["a"].append(xs[-1] + 1)
        return len(xs), len(d["a"])

    calls = [({"a": inner}, [3.0]), ({"a": inner}, inner), ({"a": [2.0]}, inner)]
    return f, calls, lambda: (inner, calls)


@program
def a_captured_list_is_given() -> Any:
    log = [1.0]

    def f(xs):
        log.append(2.0)
        return len(xs), xs[-1]

    return f, [([5.0],), (log,), (log,), ([1.0, 2.0],)], lambda: log


@program
def an_attribute_is_given() -> Any:
    class Owner:
        def __init__(self):
            self.items = [1.0]

        def add(self, xs, v):
            self.items.append(v)
            return len(xs) + v

    owner = Owner()
    return owner.add, [([1.0], 2.0), (owner.items, 3.0), ([1.0, 2.0], 4.0)], lambda: owner


@program
def a_captured_state_is_given() -> Any:
    state = State(0, 1.0, [])

    def f(s, v):
        state.t += 1
        return s.t + v

    return f, [(State(7, 1.0, []), 1.0), (state, 2.0), (state, 3.0)], lambda: state


@program
def an_equal_list_is_put_in() -> Any:
    given = {"k": [1.0, 2.0]}
    held = given["k"]

    def f(d):
        d["k"] = list(d["k"])
        return d["k"][0]

    return f, [(given,), (given,), (given,)], lambda: (given, held, given["k"] is held)


@program
def an_empty_list_comes_back() -> Any:
    empty: list[Any] = []
    nothing: dict[str, Any] = {}

    def f(x, d, v):
        return x, d, v + 1, x is empty

    return f, [(empty, nothing, 1.0), (empty, nothing, 2.0), ([], {}, 3.0)], lambda: (empty, nothing)


@program
def a_deque_and_a_defaultdict() -> Any:
    window: Any = collections.deque([1.0, 2.0], maxlen=3)
    counts: Any = collections.defaultdict(int)

    def f(w, d, v, k):
        w.append(v)
        d[k] += 1
        return w[-1] + w[0], d[k]

    return (
        f,
        [(window, counts, 3.0, "a"), (window, counts, 4.0, "b"), (window, counts, 5.0, "a")],
        lambda: (
            window,
            counts,
        ),
    )


@program
def keywords_and_more() -> Any:
    log: list[float] = []
    notes: dict[str, Any] = {}

    def f(*args, out, **more):
        out.append(sum(args))
        more["seen"] = len(out)
        notes["last"] = out[-1]
        return more

    def g(x, n):
        return f(x, 1.0, out=n, k=2)

    return g, [(1.0, log), (2.0, log), (3.0, [])], lambda: (log, notes)


@program
def a_list_that_is_emptied_and_filled() -> Any:
    xs = [3.0, 1.0]

    def f(xs, v):
        first = xs.pop(0)
        xs.insert(0, v)
        xs.reverse()
        xs.extend([first, v])
        return first

    return f, [(xs, 1.0), (xs, 2.0), (xs, 3.0)], lambda: xs


@program
def a_number_in_a_list_decides() -> Any:
    xs: list[Any] = [2, np.ones(3)]

    def f(xs):
        xs[0] += 1
        xs[1] = np.zeros(xs[0])
        return xs[1].shape

    return f, [(xs,), (xs,), (xs,)], lambda: xs


@program
def a_failing_call_changes_what_python_changes() -> Any:
    xs = [1.0]

    def f(xs, a, i):
        xs.append(1.0)
        v = a[i]
        xs.append(v)
        return len(xs)

    a = np.arange(3.0)
    return f, [(xs, a, 1), (xs, a, 7), (xs, a, 2)], lambda: xs


@program
def objects_of_a_dataclass_in_a_list() -> Any:
    particles = [State(0, 1.0, []), State(1, 2.0, [])]

    def f(ps, dt):
        for p in ps:
            p.x += dt * p.t
            p.log.append(p.x)
        ps.append(ps[0])
        return sum(p.x for p in ps)

    return f, [(particles[:], 0.1), (particles[:], 0.2), (particles[:], 0.3)], lambda: particles


@program
def a_cache_that_is_filled() -> Any:
    cache: dict[Any, Any] = {}

    def f(x, n, cache):
        if n not in cache:
            cache[n] = np.arange(n) * 1.0
        return (cache[n] * x).sum()

    return f, [(1.0, 3, cache), (2.0, 3, cache), (3.0, 4, cache)], lambda: cache


@program
def tuples_told_apart() -> Any:
    p, q = (1.0, np.ones(2)), (1.0, np.ones(2))
    known = [p]

    def f(a, b):
        return a is b, a is known[0], a[0] + b[0]

    def before(n):
        known[0] = q if n == 3 else p

    return f, [(p, p), (p, q), (q, q), (q, p)], None, before


@program
def captured_tuples_told_apart() -> Any:
    def pair():
        return tuple(map(float, range(1, 3)))

    held = {"a": pair(), "b": pair()}

    def f(x):
        return held["a"] is held["b"], x

    def before(n):
        held["b"] = held["a"] if n == 1 else pair()

    return f, [(1.0,), (2.0,), (3.0,)], None, before
