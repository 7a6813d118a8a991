"""Programs over coroutines, weak references, queues and objects with slots, which hold what the program goes on with."""

from __future__ import annotations

import collections.abc
import copy
import queue
import weakref
from typing import Any

from tests.programs.observe import program


class Later:
    """What a coroutine waits for: twice what it is told."""

    def __init__(self, v, told):
        self.v, self.told = v, told

    def __await__(self):
        got = yield self.v
        self.told.append(got)
        return self.v + got


@program
def coroutines_by_hand() -> Any:
    told: list[Any] = []

    async def inner(x, n):
        s = x
        for k in range(n):
            s += await Later(s * k, told)
        return s

    def f(x, n):
        c = inner(x, n)
        sent, steps = None, 0
        try:
            while True:
                v = c.send(sent)
                sent, steps = v * 0.5, steps + 1
        except StopIteration as e:
            return e.value, steps

    return f, [(1.0, 2), (2.0, 3), (0.5, 1)], lambda: told


class Owner:
    """A parent that its children know weakly, and the other way about."""

    def __init__(self, v):
        self.v, self.kids, self.ref = v, weakref.WeakSet(), None

    def adopt(self, kid):
        self.kids.add(kid)
        kid.ref = weakref.ref(self)


@program
def parents_by_reference() -> Any:
    a, b = Owner(1.0), Owner(2.0)
    a.adopt(b)

    def f(x):
        p = b.ref()
        p.v += x
        return p is a, a.v * x, b.ref is not None

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (a.v, b.v)


@program
def weak_families() -> Any:
    a, b = Owner(1.0), Owner(2.0)
    a.adopt(b)
    table = weakref.WeakValueDictionary(a=a, b=b)
    by_key = weakref.WeakKeyDictionary({a: 1.0})

    def f(x):
        a.v += x
        by_key[b] = by_key.get(a) * 2
        return a.v * x, len(a.kids), b in a.kids, table["b"] is b, sorted(table), by_key[b]

    return f, [(1.0,), (2.0,), (3.0,)], lambda: (a.v, b.v, len(by_key))


@program
def a_queue_of_objects() -> Any:
    class Job:
        def __init__(self, cost):
            self.cost = cost

    jobs = [Job(1.0), Job(2.0)]
    waiting: queue.Queue = queue.Queue()
    for j in jobs:
        waiting.put(j)

    def f(x):
        j = waiting.get()
        j.cost *= x
        waiting.put(j)
        waiting.put(Job(x))
        return j.cost, waiting.qsize(), j is jobs[0], any(j is k for k in jobs)

    def state():
        return [vars(j) for j in jobs], [(type(j).__name__, vars(j)) for j in waiting.queue]

    return f, [(2.0,), (3.0,), (0.5,)], state


class Settings:
    """Settings that are replaced one at a time."""

    __slots__ = ("parent", "rate", "tags")

    def __init__(self, rate, tags=(), parent=None):
        self.rate, self.tags, self.parent = rate, list(tags), parent

    def replace(self, **more):
        new = copy.copy(self)
        for name, value in more.items():
            setattr(new, name, value)
        return new


@program
def copies_with_replacement() -> Any:
    base = Settings(1.0, ["a"])
    chain = [base]

    def f(x, tag):
        c = chain[-1].replace(rate=chain[-1].rate * x, parent=chain[-1])
        c.tags.append(tag)
        d = copy.deepcopy(c)
        d.tags.append("deep")
        chain.append(c)
        return c.rate, c.tags is base.tags, d.tags, d.parent is base, d.parent.rate, c.parent is chain[-2]

    return f, [(2.0, "x"), (0.5, "y"), (3.0, "z")], lambda: ([c.rate for c in chain], base.tags)


class Lower(collections.abc.MutableMapping):
    """A dict of words in small letters."""

    def __init__(self):
        self.d: dict[str, Any] = {}

    def __getitem__(self, k):
        return self.d[k.lower()]

    def __setitem__(self, k, v):
        self.d[k.lower()] = v

    def __delitem__(self, k):
        del self.d[k.lower()]

    def __iter__(self):
        return iter(self.d)

    def __len__(self):
        return len(self.d)


@program
def a_mapping_by_a_mixin() -> Any:
    m = Lower()
    m.update(A=1.0, b=2.0)

    def f(x, k):
        m[k.upper()] = m.get(k, 0.5) * x
        m.setdefault("Z", x)
        popped = m.pop("a", None)
        return sum(m.values()), list(m.items()), popped, "B" in m, m == {"b": 2.0}, m.keys() & {"b", "z"}

    return f, [(2.0, "b"), (3.0, "c"), (0.5, "B")], lambda: m.d


@program
def methods_that_come_out() -> Any:
    def f(x):
        seen, found, last = set(), {}, [x]
        add, put, get = seen.add, found.setdefault, found.get
        add(3)
        put("x", x * 2)
        return seen, {"add": add, "more": [put, last.append]}, found, get("x"), last

    return f, [(1.0,), (2.0,), (3.0,)], None


@program
def methods_that_are_kept() -> Any:
    kept: dict[str, Any] = {}

    def f(x):
        names = kept["names"] = set()
        kept["add"] = names.add
        if "put" in kept:
            kept["put"](kept["n"], x)
        table = kept["table"] = {}
        kept["put"], kept["n"] = table.__setitem__, len(table)
        return kept["add"].__self__ is names, x + 1

    return f, [(1.0,), (2.0,), (3.0,)], lambda: kept
