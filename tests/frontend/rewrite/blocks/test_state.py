"""Dicts, lists and objects that loops and branches change in place and bind to names: `state = step(state)`."""

from __future__ import annotations

import random
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.frontend.agreement import agree
from tests.sources import compiled
from tracejit import tree
from tracejit.errors import TracejitError

X = np.array([1.5, -2.0, 0.25, 3.0, 1.0, -0.5, 2.0, 4.0, 0.75])


@dataclass(frozen=True)
class Frozen:
    x: Any
    settings: Any


CASES: list[Callable[..., Any]] = []
UNROLLED: list[Callable[..., Any]] = []


def case(f: Callable[..., Any]) -> Callable[..., Any]:
    """A loop over it is native."""
    CASES.append(f)
    return f


def unrolled(f: Callable[..., Any]) -> Callable[..., Any]:
    UNROLLED.append(f)
    return f


def step(s):
    s["x"] = s["x"] + 0.1 * s["v"]
    s["v"] = s["v"] - 0.1 * s["x"]
    return s


def step_both(s, m):
    s["x"] = s["x"] * 0.9
    m["y"] = m["y"] + s["x"]
    return s, m


@dataclass
class Particle:
    x: Any
    n: float

    def step(self):
        self.x = self.x * 0.9
        self.n += 1.0
        return self


@case
def a_dict_that_a_helper_changes_and_returns(x):
    s = {"x": x, "v": x * 0.0}
    first = s
    for _ in range(50):
        s = step(s)
    return s["x"], s["v"], first["x"], s is first


@case
def two_dicts_in_a_tuple(x):
    s, m = {"x": x}, {"y": x * 2}
    both = (s, m)
    for _ in range(50):
        both = step_both(*both)
    return s["x"], m["y"], both[0] is s, both[1]["y"]


@case
def a_dict_and_a_number_in_a_tuple(x):
    s = {"x": x}
    pair = (s, 0.0)
    for _ in range(50):
        s["x"] = s["x"] * 0.9
        pair = (pair[0], pair[1] + s["x"][0])
    return pair[1], pair[0]["x"], s["x"]


@case
def an_object_that_is_a_tree(x):
    p = Particle(x, 0.0)
    first = p
    for _ in range(50):
        p = p.step()
    return p.x, p.n, first.x


@case
def elements_of_a_list(x):
    s = [0.0, [1.0, 2.0]]
    other = s
    for v in x:
        s[0] += v
        s[1][0] *= v
        s = other
    return other[0], s[1][0], s[1][1]


@case
def updated_by_a_dict(x):
    s = {"a": 0.0}
    other = s
    for v in x:
        s |= {"a": s["a"] + v}
    return s["a"], other["a"]


@case
def new_ones_each_step(x):
    s = {"x": x, "n": 0}
    first = s
    for _ in range(50):
        s = {"x": s["x"] * 0.9, "n": s["n"] + 1}
    return s["x"], s["n"], first["x"]


@case
def the_first_step_changes_what_another_name_has(x):
    s = {"x": x}
    other = s
    for _ in range(50):
        other["x"] = other["x"] * 0.5
        s = {"x": s["x"] + 1}
    return s["x"], other["x"]


@case
def deep(x):
    s = {"a": {"b": {"c": {"d": {"e": {"f": x}}}}}}
    for _ in range(50):
        s["a"]["b"]["c"]["d"]["e"]["f"] = s["a"]["b"]["c"]["d"]["e"]["f"] * 0.9
    return s["a"]["b"]["c"]["d"]["e"]["f"]


@case
def extended_by_a_list(x):
    out = []
    for v in x:
        out += [v * v, v]
    return np.stack(out), sum(out), max(out)


@case
def extended_by_a_list_in_two_loops(x):
    out = []
    for v in x:
        for w in x:
            out += [v * w]
    return np.array(out)


@case
def a_list_in_a_dict_extended(x):
    h = {"loss": []}
    for v in x:
        h["loss"] += [v * v]
    return np.array(h["loss"])


@case
def an_array_and_not_a_list(x):
    r = np.zeros(1)
    for v in x:
        r += [v]
    return r


@case
def until_a_traced_condition(x):
    s = {"x": x, "v": x * 0.0}
    n = 0
    while np.sum(s["x"] ** 2) > 1.0 and n < 200:
        s = step(s)
        s["x"] = s["x"] * 0.97
        n += 1
    return s["x"], n


@case
def tuples_of_the_same_dicts_in_both_branches(x):
    s, m = {"x": x}, {"y": x * 2}
    both = (s, m)
    for v in x:
        if v > 0:
            both = step_both(*both)
        else:
            s["x"] = s["x"] + 1.0
            both = (s, m)
    both[0]["x"] = both[0]["x"] * 2
    return s["x"], m["y"]


@case
def frozen_ones_that_change_places(x):
    first = {"k": 1.0}
    a, b = Frozen(x, first), Frozen(x * 2, first)
    c, d = b, a
    for _ in range(51):
        a, b = Frozen(b.x * 0.5, a.settings), a
        c, d = d, c
    return a.x, b.x, a.settings is first, c.x, d.x


class Node:
    """Takes itself apart into containers that are new each time."""

    def __init__(self, a, b) -> None:
        self.a, self.b = a, b


tree.register(Node, lambda n: ((n.a, [n.b]), None), lambda _, parts: Node(parts[0], parts[1][0]))


@case
def a_node_of_its_own_kind(x):
    n = Node(x, x * 0.0)
    other = n
    for _ in range(50):
        n.b = n.b + n.a
        n = other
    m = Node(x, x)
    for _ in range(50):
        m = Node(m.a * 0.5, m.b + n.b)
    return other.b, n is other, m.a, m.b


@unrolled
def extended_and_named_twice(x):
    out = []
    other = out
    for v in x:
        out += [v, v * v]
    return other


@unrolled
def two_dicts_that_change_places(x):
    p, q = {"x": x}, {"x": x * 2}
    for _ in range(9):
        p["x"] = p["x"] + 0.1 * q["x"]
        p, q = q, p
    return p["x"], q["x"]


@unrolled
def filled_in_the_first_step(x):
    s = {}
    for _ in range(9):
        s["m"] = s.get("m", 0.0) * 0.9 + x
        s = s | {}
        s["n"] = s["m"] + 1
    return s


@case
def other_kinds(x):
    d, o, n = deque([0.0, 0.0], maxlen=2), OrderedDict(a=0.0), defaultdict(float)
    for v in x:
        d += [v]
        o |= {"a": o["a"] + v, "b": v}
        n[len(d)] += v
        n = n
    return list(d), list(o.values()), dict(n)


@unrolled
def copies_in_a_list(x):
    out, s = [], {"sum": 0.0}
    for v in x:
        s["sum"] += v
        out.append(s)
        s = dict(s)
    return out


def loops_of(f: Callable[..., Any]) -> list[str]:
    return [line for line in str(tj.explain(f)(X)).splitlines() if " for: " in line or " while: " in line]


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", CASES, ids=lambda f: f.__name__)
def test_state_is_carried(f):
    agree(f, X)
    assert any("native" in line for line in loops_of(f))


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", UNROLLED, ids=lambda f: f.__name__)
def test_what_cannot_be_carried_is_unrolled(f):
    agree(f, X)
    assert any("unrolled" in line for line in loops_of(f))


@pytest.mark.parametrize("n", [0, 1, 40])
def test_a_traced_number_of_steps(n):
    def f(x, n):
        s, p = {"x": x, "v": x * 0.0}, Particle(x, 0.0)
        first, q = s, p
        for _ in range(n):
            s, p = step(s), p.step()
        return s["x"], first["v"], p.x, q.n

    agree(f, X, np.int64(n))


def test_changed_and_replaced_is_refused_where_it_cannot_be_unrolled():
    def f(x, n):
        s = {"x": x}
        for _ in range(n):
            s["x"] = s["x"] * 0.9
            s = {"x": s["x"] + 1}
        return s["x"]

    with pytest.raises(TracejitError, match="it changes what is in `s`, and puts another container there"):
        tj.jit(f)(X, np.int64(3))


def test_gradients_and_lanes():
    def f(x):
        s = {"x": x, "v": x * 0.0}
        for _ in range(50):
            s = step(s)
        return np.sum(s["x"] * s["v"])

    eye = 1e-6 * np.eye(len(X))
    slope = [(f(X + e) - f(X - e)) / 2e-6 for e in eye]
    np.testing.assert_allclose(tj.jit(tj.grad(f))(X), slope, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(np.stack([X, 2 * X])), [f(X), f(2 * X)], rtol=1e-12)


# ---------------------------------------------------------------- random programs


@dataclass
class Pair:
    a: Any
    b: Any


HELPERS = """
import numpy as np

def grow(s):
    s['a'] = s['a'] * 0.5 + 1.0
    return s

def fresh(s):
    return {'a': s['a'] + 0.25, 'b': s['b']}

def copied(s):
    s = dict(s)
    s['b'] = s['b'] * 0.5
    return s

def swapped(s):
    s['a'], s['b'] = s['b'], s['a']
    return s

def both(s, t):
    s['a'] = s['a'] + 0.125 * t['b']
    return s, t

def chosen(s, c):
    if c:
        s['b'] = s['b'] + 1.0
        return s
    return s

def moved(p):
    p.a = p.a * 0.5
    return p

def f(x, c, k):
    s, t = {'a': x, 'b': x + 1.0}, {'a': x * 2.0, 'b': x}
    u, l, p = s, [x, x * 3.0], Pair(x, x - 1.0)
    q, z, o = p, (s, l), []
"""
DICTS = ("s", "t", "u", "z[0]")


class Programs:
    """Random programs of dicts, lists and objects with several names, in loops and branches."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.of = self.random.choice

    def source(self) -> str:
        body = self.block(0, self.random.randint(2, 5))
        parts = "dict(s), dict(t), dict(u), list(l), p.a, p.b, q.a, q.b, dict(z[0]), list(z[1])"
        end = f"return {parts}, o, s is u, z[0] is s, p is q, z[1] is l"  # one container twice is refused in results
        return HELPERS + "".join(f"    {line}\n" for line in (*body, end))

    def value(self) -> str:
        places = [
            f"{self.of(DICTS)}['{self.of('ab')}']",
            f"l[{self.of('01')}]",
            "z[1][0]",
            f"{self.of('pq')}.a",
        ]
        return f"{self.of(places)} * 0.5 + {self.of(['0.25', 'x'])}"

    def change(self) -> str:
        """What a branch may do: a name that it binds is a new container after it (docs/differences.md)."""
        d, e = self.of(DICTS), self.of(DICTS)
        return self.of(
            [
                f"{d}['{self.of('ab')}'] = {self.value()}",
                f"l[{self.of('01')}] = {self.value()}",
                f"{self.of('pq')}.{self.of('ab')} = {self.value()}",
                f"{self.of(['grow', 'swapped'])}({d})",
                f"both({d}, {e})",
                f"chosen({d}, {self.condition()})",
                f"{d}.update(a={self.value()})",
            ]
        )

    def statement(self) -> str:
        name, d, e = self.of("stu"), self.of(DICTS), self.of(DICTS)
        m, n = self.random.sample("stu", 2)
        return self.of(
            [
                self.change(),
                self.change(),
                f"{name} = {self.of(['grow', 'fresh', 'copied', 'swapped'])}({d})",
                f"{name} = chosen({d}, {self.condition()})",
                f"{m}, {n} = both({d}, {e})",
                f"z = ({d}, l)",
                f"{name} = {d}",
                f"{m}, {n} = {n}, {m}",
                f"l = {self.of(['l', 'list(l)', 'z[1]', '[l[1], l[0]]'])}",
                f"{self.of('pq')} = {self.of(['moved(p)', 'moved(q)', 'Pair(p.b, q.a)', 'q'])}",
                f"{name} = {{'a': {self.value()}, 'b': {self.value()}}}",
                f"{name} |= {{'a': {self.value()}}}",
                f"o += [{self.value()}]",
                f"o.append({self.value()})",
            ]
        )

    def condition(self) -> str:
        return self.of(["c", "not c", f"{self.of(DICTS)}['a'][0] > 1.0", "x[1] > p.a[1]"])

    def block(self, depth: int, count: int, chosen: bool = False) -> list[str]:
        out: list[str] = []
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.2 * depth and depth < 3:
                out += [f"if {self.condition()}:", *self.inner(depth, True)]
                out += ["else:", *self.inner(depth, True)] if self.random.random() < 0.5 else []
            elif depth < 2 and kind < 0.5:
                steps = self.of(["range(3)", "range(8)", "range(k)"])
                out += [f"for i in {steps}:", *self.inner(depth, chosen)]
            else:
                out.append(self.change() if chosen else self.statement())
        return out

    def inner(self, depth: int, chosen: bool) -> list[str]:
        return [f"    {line}" for line in self.block(depth + 1, self.random.randint(1, 3), chosen)]


ARGUMENTS = [(0.5 + np.arange(3.0), np.bool_(c), np.int64(k)) for c, k in [(True, 6), (False, 1), (True, 2)]]


def outcome(seed: int) -> str:
    """'equal' or 'refused'; fails if the program means something else."""
    source = Programs(seed).source()
    space: dict[str, Any] = {"__name__": f"state_{seed}", "Pair": Pair}
    exec(compiled(source, f"state_{seed}.py"), space)
    jitted = tj.jit(space["f"])
    for args in ARGUMENTS:
        wanted = space["f"](*args)
        try:
            got = jitted(*args)
        except TracejitError:
            return "refused"
        assert tree.structure(got) == tree.structure(wanted), source
        for g, w in zip(tree.leaves(got), tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-9, err_msg=source)
    return "equal"


def test_random_programs_are_right_or_refused():
    outcomes = [outcome(seed) for seed in range(6)]
    assert outcomes.count("equal") >= 3, outcomes


@pytest.mark.exhaustive
@pytest.mark.parametrize("chunk", range(20))
def test_many_random_programs_are_right_or_refused(chunk):
    outcomes = [outcome(seed) for seed in range(1000 + 50 * chunk, 1050 + 50 * chunk)]
    assert outcomes.count("equal") >= 25, outcomes
