"""Objects and containers whose contents change in loops and branches: attributes and elements are carried."""

from __future__ import annotations

import copy
import linecache
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import tree

X = np.array([3.0, -1.0, 2.5, 0.0, -4.0, 7.0, 1.0, 9.5, -2.0, 6.0])


class Counter:
    def __init__(self) -> None:
        self.n = 0
        self.total = 0
        self.largest = -np.inf

    def see(self, v):
        self.n += 1
        self.total += v
        if v > self.largest:
            self.largest = v


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a, b) -> None:
        self.a, self.b = a, b


@dataclass
class Filter:
    gain: float
    state: np.ndarray = field(default_factory=lambda: np.zeros(2))
    inner: Any = None

    @property
    def last(self):
        return self.state[0]

    @last.setter
    def last(self, v):
        self.state[0] = v

    def step(self, v):
        self.state = self.gain * self.state + v
        self.last = self.last / 2
        if self.inner is not None:
            self.inner.see(self.last)
        return self.state.sum()


def counts(x):
    c = Counter()
    for v in x:
        c.see(v)
    return c.n, c.total, c.largest


def objects_in_objects(x):
    f = Filter(0.5, inner=Counter())
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = f.step(x[i])
    return y, f.state, f.inner.n, f.inner.total, f.inner.largest


def several_in_a_list(x):
    filters = [Filter(0.5), Filter(0.25), Filter(-0.1)]
    for v in x:
        for f in filters:
            v = f.step(v)
    return [f.state for f in filters]


def slots_that_change_places(x):
    s = Slots(x.copy(), 2 * x)
    for v in x:
        s.a, s.b = s.b + v, s.a
    return s.a, s.b


def updated_in_place(x):
    s = Slots(x.copy(), x)
    for v in x:
        s.a += v
        s.b[0] += 1
        s.a[1:] -= s.b[:-1]
    return s.a, s.b, x


def elements(x):
    xs, d, q = [0.0, x], {"n": 0, "m": (1.0, 2)}, deque([1.0, 2.0])
    o = OrderedDict(a=1.0)
    for v in x:
        xs[0] += v
        d["n"] += 1
        d["m"] = (d["m"][0] * v, d["m"][1] + 1)
        q[1] += q[0]
        o["a"] -= v
    return xs, d["n"], d["m"], q[1], o["a"]


def variables_of_helpers(x):
    n = 0
    best = x[0]

    def see(v):
        nonlocal n, best
        n += 1
        if v > best:
            best = v

    for v in x:
        see(v)
    return n, best


def until(x):
    s = Slots(0, x[0])
    while s.b < 20:
        s.b += abs(x[s.a])
        s.a += 1
        if s.a > 7:
            break
    return s.a, s.b


def in_one_branch(x):
    c = Counter()
    if x[0] > 0:
        c.n += 3
        c.largest = x[1]
    if x[1] > 0:
        c.n = 9
    return c.n, c.largest


def named_twice(x):
    a = x.copy()
    s = Slots(a, 0.0)
    for v in x:
        s.a[0] += v
        s.b = a[0] - s.b
        a[1] *= 0.5
    return a, s.a, s.b


def bound_anew_after_an_update(x):
    a = x.copy()
    s = Slots(a, 0.0)
    for v in x:
        a += 1
        a = a * 2
        s.b += v
    return a, s.a, s.b


def starts_as_an_integer(x):
    d = {"s": 0}
    for v in x:
        d["s"] = d["s"] + v
    return d["s"]


NATIVE: list[Callable[..., Any]] = [
    counts,
    objects_in_objects,
    several_in_a_list,
    slots_that_change_places,
    updated_in_place,
    elements,
    variables_of_helpers,
    until,
    in_one_branch,
    named_twice,
    starts_as_an_integer,
]


def same_leaves(got, wanted):
    for g, w in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
        assert np.result_type(g) == np.result_type(w), f"{g!r} for {w!r}"
        np.testing.assert_allclose(g, w, rtol=1e-13)


@pytest.mark.parametrize("f", NATIVE, ids=lambda f: f.__name__)
def test_contents_are_carried(f):
    plain, ours = X.copy(), X.copy()
    same_leaves(tj.jit(f)(ours), f(plain))
    np.testing.assert_array_equal(ours, plain)
    report = tj.explain(f)(X.copy()).loops_and_branches
    assert not any("because" in line for line in report), report


def grows(x):
    kept = []
    for v in x:
        kept.append(v * v)
    return kept


def new_attributes(x):
    c = Counter()
    for v in x:
        c.last = v
        c.n += 1
    return c.last, c.n


def other_kinds(x):
    s = Slots("start", 0.0)
    for v in x:
        s.a = "later"
        s.b += v
    return s.b


@pytest.mark.parametrize(
    "f", [grows, new_attributes, other_kinds, bound_anew_after_an_update], ids=lambda f: f.__name__
)
def test_what_cannot_be_carried_is_unrolled(f):
    same_leaves(tj.jit(f)(X.copy()), f(X.copy()))


def test_tuples_of_arrays_of_outside():
    def f(x):
        pair = (x, 1.0)
        if x[0] < 0:
            pair = (x * 2, 2.0)
        for k in range(6):
            if x[k] < 0:
                return pair[0], k
        return pair[0] + 1, -1

    same_leaves(tj.jit(f)(X), f(X))
    same_leaves(tj.jit(f)(-X), f(-X))


def test_a_step_of_zero_raises_when_the_program_runs():
    def f(n, by):
        s = 0
        for i in range(n, 2 * n, by):
            s += i
        return s

    g = tj.jit(f)
    assert g(5, 2) == f(5, 2) and g(5, -2) == 0
    with pytest.raises(ValueError, match="must not be zero"):
        g(5, 0)


def test_gradients_and_lanes():
    def energy(x):
        y, state, *_ = objects_in_objects(x)
        return (y**2).sum() + state[0]

    eps = 1e-6 * np.cos(np.arange(10.0))
    slope = (energy(X + eps) - energy(X - eps)) / 2
    np.testing.assert_allclose(tj.jit(tj.grad(energy))(X) @ eps, slope, rtol=1e-8)
    lanes = np.stack([X, X[::-1], 2 * X])
    for f in (counts, until, in_one_branch, variables_of_helpers):
        wanted = tree.map(lambda *v: np.stack(v), *[f(x.copy()) for x in lanes])
        for g, w in zip(tree.leaves(tj.jit(tj.vmap(f))(lanes)), tree.leaves(wanted), strict=True):
            np.testing.assert_array_equal(g, w)


def test_an_object_outside_is_written_by_runs_alone():
    """An object that lives on outside of the program is not written while it is recorded, and by each run as in
    Python."""
    outer, plain = Counter(), Counter()

    def g(x, counter):
        for v in x:
            counter.see(v)
        return x

    compiled = tj.jit(lambda x: g(x, outer))
    before = copy.deepcopy(vars(outer))
    compiled.lower(X)
    assert vars(outer) == before
    for x in (X, X * 2, -X):
        compiled(x)
        g(x, plain)
        assert vars(outer) == vars(plain)
        assert list(map(type, vars(outer).values())) == list(map(type, vars(plain).values()))
    assert compiled.trace_count == 2  # the total is Python's 0 at first, and a number of NumPy afterwards


def test_classes_of_code_without_a_module() -> None:
    source = """
class Kept: pass
def f(x, t):
    kept = Kept()
    kept.n, kept.path = 0, [x]
    if t > 2:
        kept.n = 5
        kept.path.append(x)
    return kept.n, len(kept.path)
"""
    linecache.cache["<kept>"] = len(source), None, source.splitlines(True), "<kept>"
    space: dict[str, Any] = {}
    exec(compile(source, "<kept>", "exec"), space)
    traced = tj.jit(space["f"])
    x = np.ones(2)
    assert [traced(x, t) for t in (1.0, 3.0)] == [space["f"](x, t) for t in (1.0, 3.0)] == [(0, 1), (5, 2)]


MISSING = object()


def cast(x: Any, *, dtype: Any = MISSING) -> Any:
    return x if dtype is MISSING else x.astype(dtype)


def test_a_plain_object_that_is_a_default_is_no_iterator() -> None:
    """What stands for it has all special methods, and refuses them: blocks beside it were Python's."""

    def f(x: Any) -> Any:
        y = cast(x)
        if y[0] > 0:
            y = y * 2
        while y[0] < 10:
            y = y + 1
        return y

    for x in (X, -X):
        np.testing.assert_array_equal(tj.jit(f, fallback=False)(x), f(x))


def test_a_coroutine_goes_on_as_a_generator_does() -> None:
    """A loop that sends values to one is not staged."""

    class Asks:
        def __await__(self) -> Any:
            return (yield)

    async def total(n: int) -> float:
        s = 0.0
        for _ in range(n):
            s += await Asks()
        return s

    def f(x: Any, n: int) -> Any:
        running = total(n)
        running.send(None)
        try:
            while True:
                running.send(x)
                x = 2 * x
        except StopIteration as e:
            return e.value

    assert tj.jit(f, fallback=False)(1.0, 3) == f(1.0, 3) == 7.0
