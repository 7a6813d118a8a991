"""Programs that change what lives outside of them: stored after each run, as Python stores it."""

from __future__ import annotations

import collections
import copy
import dataclasses
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import Described
from tracejit.errors import CapturedWriteError


class Model:
    def __init__(self) -> None:
        self.x = np.arange(3.0)
        self.t = 0
        self.total = 0.0
        self.log: list[Any] = []
        self.table: dict[Any, Any] = {"a": 1, "b": np.ones(2)}
        self.seen = {1, 2}
        self.window = collections.deque([0.0, 0.0], maxlen=2)
        self.other: Any = None


@dataclasses.dataclass
class Point:
    a: Any
    b: float = 0.0


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a: Any) -> None:
        self.a = a


def counts(m, x):
    m.t += 1
    m.total += x
    m.x = m.x + m.total
    return m.x


def replaces_and_returns(m, x):
    m.other = y = m.x * x
    m.x, m.y = y, y
    return y, y[1:]


def keeps_an_argument(m, x):
    m.table["b"] = m.x
    m.other = m.table
    return m.other


def changes_a_dict(m, x):
    m.table["c"] = x
    m.table.setdefault("d", []).append(x)
    m.table["a"] += 1
    return m.table.pop("b", None)


def reorders_a_dict(m, x):
    m.table["a"] = m.table.pop("a") + x


def changes_a_list(m, x):
    m.log += [x, m.x * x]
    m.log[0] = 2 * x
    return m.log


def rolls(m, x):
    m.window.append(x)
    return sum(m.window)


def changes_a_set(m, x):
    m.seen.add(m.t)
    m.seen.discard(1)


def makes_objects(m, x):
    m.other = p = Point(m.x + x, 2.0)
    m.point = Slotted(p)
    m.pair = (p, [p, {"p": p}])
    return p


def deletes(m, x):
    m.new = x
    del m.total
    m.__dict__["more"] = m.new + x
    return hasattr(m, "total"), sorted(vars(m))


def in_place(m, x):
    m.x += x
    m.x[0] = 7
    m.table["b"] *= 2
    return m.x


def branches(m, x):
    if x > 1.5:
        m.t += 1
        m.x = m.x * 2
    else:
        m.total -= x
    return m.t


def loops(m, x):
    for k in range(40):
        m.total += k * x
        m.x = m.x + m.total
        m.t += 1
    return m.x


def a_loop_in_a_dict(m, x):
    while m.table["a"] < 10 * x:
        m.table["a"] += 1
    return m.table["a"]


def state(m: Any) -> Any:
    return Described(m).found


def both(f: Callable[..., Any], calls: int = 4) -> Any:
    """The jitted function, after calls with two models that are the same, where its results and state are those of
    the plain one."""
    fast, a, b = tj.jit(f, fallback=False), Model(), Model()
    for n in range(calls):
        want, got = (g(m, 1.0 + n % 2) for g, m in ((f, a), (fast, b)))
        assert state([got, b]) == state([want, a])
    return fast


ONCE = [counts, in_place, rolls, branches, loops, makes_objects, a_loop_in_a_dict, replaces_and_returns]
TWICE = [keeps_an_argument, changes_a_dict, reorders_a_dict, changes_a_set]


@pytest.mark.parametrize("f", ONCE, ids=lambda f: f.__name__)
def test_as_python_traced_once(f: Callable[..., Any]) -> None:
    assert both(f).trace_count <= 2  # the first call may find other kinds of values


@pytest.mark.parametrize("f", TWICE, ids=lambda f: f.__name__)
def test_as_python(f: Callable[..., Any]) -> None:
    both(f)


def test_what_can_be_done_once() -> None:
    both(deletes, 1)
    both(changes_a_list, 2)


def test_ten_thousand_steps_are_one_trace() -> None:
    m = Model()
    fast = tj.jit(counts)
    for _ in range(10_000):
        fast(m, 0.5)
    assert m.t == 10_000 and type(m.t) is int and m.total == 5000 and fast.trace_count == 1


def test_lists_stay_themselves_and_their_entries_too() -> None:
    log = [np.ones(2), {"n": 1}]
    first, second, own = log[0], log[1], log

    @tj.jit
    def f(x):
        log.insert(0, x)
        log[2]["n"] += 1

    x = np.zeros(2)
    f(x)
    assert log is own and log[0] is x and log[1] is first and log[2] is second and second == {"n": 2}


def test_state_of_outside_is_read_at_every_call() -> None:
    m = Model()
    fast = tj.jit(counts)
    fast(m, 1.0)
    m.t, m.total, m.x = 100, 7.0, np.zeros(3)
    fast(m, 1.0)
    assert (m.t, m.total, m.x.tolist()) == (101, 8.0, [8.0] * 3)
    m.t = 2**40  # a large integer is no input
    fast(m, 1.0)
    assert m.t == 2**40 + 1


def test_nothing_is_stored_if_a_check_fails() -> None:
    seen = []

    class Careful:
        def __init__(self) -> None:
            self.n, self.x = 0, np.zeros(3)

        def step(self, i):
            self.n += 1
            self.x[i] = self.n
            seen.append(i)
            self.last = self.x[i] / i
            return self.last

    fast, plain = Careful(), Careful()
    step = tj.jit(Careful.step)
    with tj.config.override(fallback=True):
        for i in (1, 2, 7, 1):
            results = []
            for f, m in ((step, fast), (Careful.step, plain)):
                try:
                    results.append(f(m, i))
                except IndexError as e:
                    results.append(str(e))
            assert state(results[0]) == state(results[1]) and state(fast) == state(plain)
    assert seen == [1, 1, 2, 2, 1, 1]


def test_transformations_of_what_stores_are_refused() -> None:
    m = Model()
    fast = tj.jit(lambda x: counts(m, x).sum())
    fast(2.0)
    before = state(m)
    for f in (tj.grad(fast), lambda x: tj.vmap(fast)(np.array([x, x]))):
        with pytest.raises(CapturedWriteError):
            f(2.0)
    assert state(m) == before


def test_state_inside_of_derivatives_is_stored_once_a_call() -> None:
    m, buffer, log = Model(), np.zeros(2), []

    def f(x):
        m.t += 1
        buffer[1] += x * m.t
        log.append(x * 2)
        return x * x * buffer[1]

    def seen(transform):
        m.t, buffer[:] = 0, 0.0
        log.clear()
        found = [float(transform(f)(x)) for x in (2.0, 3.0)]
        return found, m.t, buffer.tolist(), list(log), [type(x) for x in log]

    plain = seen(lambda f: f)[1:]
    ways = [
        (tj.grad, [12.0, 66.0]),  # x**3, then x**2 * (2 + 2 * x)
        (lambda f: tj.grad(tj.grad(f)), [12.0, 40.0]),
        (lambda f: lambda x: tj.jvp(tj.grad(f), (x,), (1.0,))[1], [12.0, 40.0]),
        (tj.hessian, [12.0, 40.0]),
    ]
    for transform, slopes in ways:
        got = seen(lambda f, by=transform: tj.jit(by(f), fallback=False))
        assert got == (slopes, *plain)


def test_state_is_not_stored_for_lanes() -> None:
    m = Model()

    def f(x):
        m.t += 1
        return x * m.t

    with pytest.raises(CapturedWriteError):
        tj.jit(tj.vmap(tj.grad(f)), fallback=False)(np.ones(2))
    assert m.t == 0


def test_callbacks_might_see_it() -> None:
    m = Model()

    def f(x):
        m.t += 1
        return tj.pure_callback(lambda v: v * m.t, x, x)

    with pytest.raises(CapturedWriteError):
        tj.jit(f, fallback=False)(np.ones(2))
    assert m.t == 0


def test_a_store_is_a_plain_function() -> None:
    fast, m = tj.jit(counts), Model()
    program = fast.prepare((m, 1.0), {})[1]
    assert "o0.t = x0" in program.store.source and m.t == 0
    again = copy.copy(m)
    fast(again, 1.0)
    assert again.t == 1 and m.t == 0


def test_equal_tuples_that_are_made_are_two():
    held: list[tuple[int, str]] = []

    def f(x):
        for n in (1, 1):
            held.append((n, "a"))
        return x

    tj.jit(f)(1.0)
    assert held == [(1, "a"), (1, "a")] and held[0] is not held[1]


def test_numbers_that_python_does_not_write_out():
    """It refuses to make a text of more than 4,300 digits."""
    held = types.SimpleNamespace(entries=[], number=0)

    def f(x):
        held.entries.append(7**9000)
        held.number = 5**9000
        return held.entries, ([x.sum()], 3**12000)

    (entries, (_, number)) = tj.jit(f, fallback=False)(np.ones(2))
    assert entries is held.entries and entries[0] == 7**9000
    assert held.number == 5**9000 and number == 3**12000


class _Count(int):
    unit = "pieces"

    def twice(self):
        return _Count(self * 2)


class _Name(str):
    """Has attributes."""


def test_numbers_and_texts_of_classes_are_made_anew():
    def f(x):
        name = _Name("ab")
        name.note = x
        count = _Count(3)
        return count, [count.twice(), count], name, x * count

    given = tj.jit(f)(1.5)
    assert Described(given).found == Described(f(1.5)).found
    assert type(given[0]) is _Count and given[0].unit == "pieces" and given[0] is given[1][1]
    assert tj.jit(f)(1.5)[0] is not given[0]


def test_namespaces_that_the_function_makes_are_made_anew():
    held = types.SimpleNamespace(sub=types.SimpleNamespace(k=1.0))

    def f(x):
        held.sub = types.SimpleNamespace(k=held.sub.k * 2, a=x)
        made = types.SimpleNamespace(of=held.sub)
        made.own = made
        return made, held.sub

    seen = []
    for g in (f, tj.jit(f, fallback=False)):
        held.sub = types.SimpleNamespace(k=1.0)
        for n in range(3):
            made, sub = g(np.ones(2) + n)
            assert made.of is sub is held.sub and made.own is made
            seen.append(repr((sub, held.sub.a is sub.a)))
    assert seen[:3] == seen[3:]
