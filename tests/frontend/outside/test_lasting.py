"""What functions leave in the user's objects when an eager transformation has run them: what Python leaves there."""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import functools
import math
import types
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

import tracejit as tj

X = np.array([0.5, -1.0, 2.0])
Pair = collections.namedtuple("Pair", "low high")


class Node:
    def __init__(self, value: Any, next_: Any) -> None:
        self.value, self.next = value, next_


class Slots:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a, self.b = 0.0, None


@dataclasses.dataclass
class State:
    x: Any
    log: list[Any] = dataclasses.field(default_factory=list)


class Model:
    """Keeps what it computes, in the ways in which people do."""

    def __init__(self) -> None:
        self.history: list[Any] = []
        self.by_name: dict[str, Any] = {}
        self.last: Any = None
        self.recent: Any = collections.deque(maxlen=2)
        self.slots = Slots()
        self.steps = 0

    def __call__(self, x: Any) -> Any:
        self.steps += 1
        h = np.tanh(x * self.steps)
        self.given, self.last, self.part, self.turned = x, h, h[1:], h[::-1]
        self.column = h[:, None]
        loss = (h * h).sum()
        self.history.append(loss)
        self.recent.append(h.copy())
        self.by_name["pair"] = Pair(h.min(), [h, {"sum": loss, "list": [h, (loss, 1)]}])
        self.nodes = Node(h, Node(loss, None))
        self.slots.a, self.slots.b = loss, [h]
        self.state = State(h, [loss])
        self.kinds = h > 0, loss > 1, loss * 2, self.steps * 0.5
        return loss


def seen(x: Any, met: dict[int, int]) -> Any:
    """All that can be told apart of an object: classes, values, dtypes, and which arrays are one."""
    if isinstance(x, (int, float, str, bool, np.generic, type(None))):
        return type(x).__name__, x
    if id(x) in met:
        return "again", met[id(x)]
    met[id(x)] = len(met)
    if isinstance(x, np.ndarray):
        base = None if x.base is None else seen(x.base, met)
        return type(x).__name__, x.dtype.str, x.tolist(), base
    if isinstance(x, dict):
        return type(x).__name__, [(k, seen(v, met)) for k, v in x.items()]
    if isinstance(x, (list, tuple, collections.deque)):
        return type(x).__name__, [seen(v, met) for v in x]
    names = list(vars(x)) if hasattr(x, "__dict__") else list(type(x).__slots__)
    return type(x).__name__, [(n, seen(getattr(x, n), met)) for n in names]


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: tj.grad(f)(x),
    "value_and_grad": lambda f, x: tj.value_and_grad(f)(x),
    "jvp": lambda f, x: tj.jvp(f, (x,), (np.ones(3),)),
    "vjp": lambda f, x: tj.vjp(f, x)[1](1.0),
    "linearize": lambda f, x: tj.linearize(f, x)[1](np.ones(3)),
    "grad of a sum of a gradient": lambda f, x: tj.grad(lambda y: tj.grad(f)(y).sum())(x),
}


@pytest.mark.parametrize("way", WAYS)
def test_objects_hold_what_python_leaves_in_them(way: str) -> None:
    plain, ours = Model(), Model()
    for x in (X, X * 0.3):
        plain(x), WAYS[way](ours, x)
        if "of a" in way:  # derivatives of derivatives have copies of arguments
            ours.given = x
        assert seen([vars(ours), x], {}) == seen([vars(plain), x], {})
    ours.last[1] = 7.0  # views are views, and nothing else changes
    assert ours.part[0] == ours.turned[1] == ours.column[1, 0] == 7.0
    assert ours.recent[-1][1] != 7.0 and ours.given is x


def test_numbers_are_pythons_where_pythons_are() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.extend([x, x * 2.0, x > 1, np.sin(x), {x: "key"}, {x * 3.0}])
        return x * x

    f(1.5)
    plain, kept[:] = list(kept), []
    assert tj.grad(f)(1.5) == 3.0
    assert kept == plain and list(map(type, kept)) == list(map(type, plain))
    assert [type(k) for x in kept[4:] for k in x] == [float, float]


def into_globals(x: Any) -> Any:
    global last
    last = np.sin(x)
    box["k"] = [last]  # type: ignore[name-defined]
    return last.sum()


def test_globals_and_cells() -> None:
    names: dict[str, Any] = {"np": np, "last": None, "box": {}}
    f = types.FunctionType(into_globals.__code__, names)
    cell: Any = None

    def g(x: Any) -> Any:
        nonlocal cell
        cell = np.cos(x)
        return f(x) + cell.sum()

    np.testing.assert_allclose(tj.grad(g)(X), np.cos(X) - np.sin(X))
    for found, want in ((names["last"], np.sin(X)), (names["box"]["k"][0], np.sin(X)), (cell, np.cos(X))):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, want)
    assert names["box"]["k"][0] is names["last"]


def test_what_is_kept_and_returned_is_differentiated_still() -> None:
    class Keeps:
        def lists(self, x: Any) -> Any:
            self.out = [x * 2, {"k": x * 3}]
            return self.out

        def objects(self, x: Any) -> Any:
            self.out = State(x * 2)
            return self.out

    k = Keeps()
    value, tangent = tj.jvp(k.lists, (X,), (np.ones(3),))
    assert tangent[0].tolist() == [2.0] * 3 and tangent[1]["k"].tolist() == [3.0] * 3
    assert k.out[0].tolist() == value[0].tolist() and type(k.out[1]["k"]) is np.ndarray
    value, tangent = tj.jvp(k.objects, (X,), (np.ones(3),))
    assert tangent.x.tolist() == [2.0] * 3 and type(k.out.x) is np.ndarray


def test_what_is_changed_afterwards_changes_no_derivative() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        h = np.exp(x)
        kept.append(h)
        return (h * h).sum()

    _, pull = tj.vjp(f, X)
    kept[0][:] = 0.0
    np.testing.assert_allclose(pull(1.0)[0], 2 * np.exp(2 * X))


def test_exceptions_have_the_values() -> None:
    def f(x: Any) -> Any:
        if x.sum() > 1:
            raise ValueError("too much", x.sum(), x * 2)
        return x.sum()

    with pytest.raises(ValueError, match="too much") as caught:
        tj.grad(f)(X)
    _, total, double = caught.value.args
    assert type(total) is np.float64 and total == 1.5
    assert type(double) is np.ndarray and double.tolist() == (X * 2).tolist()


def test_what_was_there_stays_itself() -> None:
    held = {"list": [1.0, X], "node": Node(X, None)}
    before = copy.copy(held)
    names: list[Any] = []

    def f(x: Any) -> Any:
        names.append(held["node"])
        held["new"] = [held["list"], held["node"], x]
        return x.sum()

    tj.grad(f)(X)
    assert held["list"] is before["list"] and held["node"] is before["node"] is names[0]
    assert held["new"][0] is held["list"] and held["new"][1] is held["node"] and held["new"][2] is X


def test_lanes_stay_traced_and_say_so() -> None:
    kept: list[Any] = []
    tj.vmap(lambda x: kept.append(x * 2.0) or x)(X)
    with pytest.raises(tj.TracejitError, match="TJ005"):
        kept[0] + 1.0


def test_masked_arrays_of_outside_are_written() -> None:
    held = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    kept: dict[str, Any] = {}

    def f(x: Any) -> Any:
        held[0] = x[0]
        held[2] = np.ma.masked
        kept["m"] = np.ma.array(x, mask=x > 1)
        return (held * x).sum()

    assert tj.grad(f)(X).tolist() == [1.0, 0.0, 0.0]
    assert held.data.tolist() == [0.5, 2.0, 3.0] and held.mask.tolist() == [False, True, True]
    assert type(kept["m"]) is np.ma.MaskedArray and kept["m"].mask.tolist() == [False, False, True]


class Cached:
    def __init__(self) -> None:
        self.x, self.asked = X, 0

    @functools.cached_property
    def norm(self) -> Any:
        self.asked += 1
        return np.sqrt((self.x**2).sum())


def test_cached_properties_are_kept_and_forgotten_as_in_python() -> None:
    def f(x: Any, held: Any) -> Any:
        first = held.norm
        held.x = x
        second = held.norm
        held.__dict__.pop("norm")
        third = held.norm
        del held.norm
        return first + second + third + 2 * held.norm

    plain, ours = Cached(), Cached()
    for n in (1.0, 2.0):
        want = f(X * n, plain)
        value, slope = tj.value_and_grad(f)(X * n, ours)
        assert value == want and plain.asked == ours.asked
        np.testing.assert_allclose(slope, 3 * X / np.sqrt((X**2).sum()))
    assert seen(vars(ours), {}) == seen(vars(plain), {})


class Counting:
    def __init__(self) -> None:
        self.mean, self.t = np.zeros(3), 0
        self.log: list[Any] = []

    @tj.jit
    def step(self, x: Any) -> Any:
        self.t += 1
        self.mean = 0.9 * self.mean + x
        self.log.append(self.mean.sum())
        return (self.mean**2).sum()


@pytest.mark.parametrize("way", ["grad", "value_and_grad", "jvp", "vjp"])
def test_jitted_methods_change_their_objects_in_derivatives(way: str) -> None:
    ours, plain = Counting(), Counting()
    step = Counting.step.__wrapped__  # type: ignore[attr-defined]
    with tj.config.override(fallback=True):
        for x in (X, X * 0.5):
            WAYS[way](lambda x: ours.step(x) * ours.step(2 * x), x)
            step(plain, x)
            step(plain, 2 * x)
    assert seen(vars(ours), {}) == seen(vars(plain), {})
    fresh = Counting()
    with tj.config.override(fallback=True):
        slope = tj.grad(lambda x: fresh.step(x) * fresh.step(2 * x))(X)
    np.testing.assert_allclose(slope, 4 * (2.9**2) * X * (X**2).sum())


def test_jitted_functions_that_only_python_can_run_are_run_in_derivatives() -> None:
    @tj.jit
    def f(x: Any) -> Any:
        return np.array([float(str(x.sum())), 1.0]).sum() * x.sum()

    with tj.config.override(fallback=True), pytest.warns(tj.errors.FallbackWarning):
        assert tj.grad(lambda x: f(x))(X).tolist() == [2.5, 2.5, 2.5]
    with pytest.raises(tj.TracejitError):
        tj.grad(lambda x: f(x))(X)


def test_auxiliary_results_are_what_python_hands_out() -> None:
    class Keeps:
        def __init__(self) -> None:
            self.history: list[Any] = []

        def __call__(self, x: Any) -> Any:
            h = np.tanh(x)
            self.history.append(h.sum())
            self.h = h
            node = Node(h, self.history)
            return h.sum(), (self.history, h, h[1:], node, {"b": 1, "a": x}, f"{h.sum():.3f}", self)

    plain, ours = Keeps(), Keeps()
    for n in (1.0, 2.0):
        x = X * n
        want = plain(x)
        (value, aux), _ = tj.value_and_grad(ours, has_aux=True)(x)
        assert value == want[0]
        assert seen([aux, x], {}) == seen([want[1], x], {})
        assert aux[0] is ours.history and aux[1] is ours.h is aux[3].value and aux[-1] is ours
    tangent = tj.jvp(lambda x: (x * x, [x, x]), (X,), (X,), has_aux=True)
    assert tangent[1].tolist() == (2 * X * X).tolist() and tangent[2][0] is tangent[2][1] is X


def test_parts_of_complex_arrays_arrays_without_axes_and_classes() -> None:
    class Holder:
        last: Any = None

    o = types.SimpleNamespace()

    def f(x: Any) -> Any:
        o.given = x
        o.z = np.ones(3) * (x + 0j)
        o.re, o.im = o.z.real, o.z.imag
        Holder.last = x * 2
        return x * x

    x = np.array(2.0)
    assert tj.grad(f)(x) == 4.0
    assert o.given is x and Holder.last == 4.0 and type(Holder.last) is np.float64
    o.re[0], o.im[1] = 9.0, 5.0
    assert o.z.tolist() == [9, 2 + 5j, 2]


class Stack(list):
    """Has a method of its own, which runs as it is."""

    last: Any = None

    def push(self, v: Any) -> None:
        self.append(v)
        self.last = v


class Tagged(tuple):
    """A tuple with attributes."""

    def __new__(cls, v: Any) -> Any:
        self = super().__new__(cls, (v,))
        self.__dict__["tag"] = 2 * v
        return self


class Level(enum.Enum):
    """A member gets attributes by a method that runs as it is."""

    LOW = 1

    def keep(self, v: Any) -> None:
        self.kept = v


class Broken(Exception):
    def keep(self, v: Any) -> None:
        self.kept = v


@dataclasses.dataclass
class Counted:
    v: Any
    total: ClassVar[Any] = 0.0

    @classmethod
    def count(cls, v: Any) -> None:
        cls.total = cls.total + v


def test_functions_and_modules_of_libraries_are_themselves() -> None:
    o = types.SimpleNamespace()

    def f(x: Any) -> Any:
        o.act, o.np, o.linalg, o.norm = np.tanh, np, np.linalg, np.linalg.norm
        o.held = {"a": [np.sin, max, isinstance], "b": math.exp}
        o.type, o.array, o.draw = type, np.ndarray, np.random.normal
        return o.act(x), (np.cos, np)

    aux = tj.value_and_grad(f, has_aux=True)(1.0)[0][1]
    assert aux == (np.cos, np)
    assert (o.act, o.np, o.linalg, o.norm) == (np.tanh, np, np.linalg, np.linalg.norm)
    assert o.held == {"a": [np.sin, max, isinstance], "b": math.exp}
    assert o.type is type and o.array is np.ndarray and o.draw == np.random.normal


def test_what_methods_that_run_as_they_are_leave() -> None:
    s, error, table = Stack(), Broken(), []
    Counted.total = 0.0

    def f(x: Any) -> Any:
        s.push(2 * x)
        error.keep(3 * x)
        Level.LOW.keep(4 * x)
        Counted.count(5 * x)
        table.append(Tagged(6 * x))
        return x * x

    assert tj.grad(f)(2.0) == 4.0
    found = [s[0], s.last, error.kept, Level.LOW.kept, Counted.total, table[0][0], table[0].tag]  # type: ignore[attr-defined]
    assert found == [4.0, 4.0, 6.0, 8.0, 10.0, 12.0, 24.0]
    assert {*map(type, found)} == {float} and type(table[0]) is Tagged


LOG: list[Any] = []
TABLE: dict[Any, Any] = {(1, 2): 0.0}
LAST: Any = None
HOLDER = types.SimpleNamespace()
PLACE = Node(None, None)


@dataclasses.dataclass
class Logged:
    v: Any

    def __add__(self, other: Any) -> Any:
        return keep(self.v + other)


def keep(v: Any) -> Any:
    global LAST
    LAST, HOLDER.last, PLACE.value = v, 2 * v, 3 * v
    LOG.append([v])
    TABLE["last"] = {"v": v}
    return v


def test_globals_that_only_code_knows_which_runs_as_it_is() -> None:
    LOG.clear()
    for key in TABLE:  # which is not changed by being looked at
        if key == "last":
            break
        assert tj.grad(lambda x: 2.0 * x + Logged(1.0).v)(2.0) == 2.0
    assert tj.grad(lambda x: (Logged(x) + 1.0) ** 2)(2.0) == 6.0
    found = [LAST, HOLDER.last, PLACE.value, LOG[0][0], TABLE["last"]["v"]]
    assert found == [3.0, 6.0, 9.0, 3.0, 3.0] and {*map(type, found)} == {float}


def test_objects_of_classes_of_their_own_beside_the_result() -> None:
    def f(x: Any) -> Any:
        s, error = Stack([2 * x]), Broken(3 * x)
        s.last, error.kept = 4 * x, x  # type: ignore[attr-defined]
        return x * x, (s, error, Tagged(x))

    s, error, tagged = tj.value_and_grad(f, has_aux=True)(2.0)[0][1]
    found = [s[0], s.last, error.args[0], error.kept, tagged[0], tagged.tag]
    assert found == [4.0, 8.0, 6.0, 2.0, 2.0, 4.0] and {*map(type, found)} == {float}
