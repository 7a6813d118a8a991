"""Captured objects: attributes are guarded, methods followed, writes refused."""

from __future__ import annotations

import abc
import argparse
import copy
import dataclasses
import enum
import functools
import pathlib
import threading
import types
from typing import Generic, TypeVar

import numpy as np
import pytest

import tracejit as tj
from tests.frontend.fake import FakeCapture, Marked, module, traced
from tracejit import frontend, tree
from tracejit.errors import CapturedWriteError
from tracejit.ir.avals import Aval
from tracejit.tracing import Box, Storage, current_trace

W = np.ones(3)
RATE = 0.5
T = TypeVar("T")


def seen():
    return isinstance(W, Marked)


class Base:
    constant = 7
    table = np.arange(2.0)

    def __init__(self, w, lr=0.1):
        self.w = w
        self.lr = lr
        self.child = None

    def who(self):
        return "base", seen()

    @property
    def doubled(self):
        return self.lr * 2, seen()

    @staticmethod
    def static():
        return seen()

    @classmethod
    def build(cls, *args):
        return cls(*args)

    @functools.cached_property
    def cached(self):
        return seen(), self.lr

    def __call__(self, x):
        return x * self.lr

    def __add__(self, other):
        return self.lr + other

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.w[i], seen()

    def writes(self, x):
        self.last = x


class Model(Base):
    def who(self):
        return "model", super().who(), super(Model, self).who(), super().doubled  # noqa: UP008


def test_attributes_are_guarded_and_methods_followed():
    model = Model(np.ones(2))
    out, guards, capture = traced(lambda: (model.w, model.lr, model.who(), model.doubled))
    assert isinstance(out[0], Marked)
    assert out[2] == ("model", ("base", True), ("base", True), (0.2, True)) and out[3] == (0.2, True)
    assert capture.paths == ["model.w", "W"]
    model.w = new = np.zeros(2)
    assert guards.arrays()[0] is new
    model.child = 3
    assert guards.check()
    model.lr = 0.2
    assert guards.why() == "closure variable `model.lr` changed from 0.1 to 0.2"


def test_protocols():
    model = Model(np.ones(2))

    def f():
        return (
            model(2.0), model + 1, len(model), model[0][1], isinstance(model, Base), type(model) is Model,
            model.__class__ is Model, model.static(), model.cached, model.constant, hasattr(model, "nothing"),
            getattr(model, "nothing", 4), sorted(vars(model)), {model: 1}[model], model == model, bool(model),
        )  # fmt: skip

    out, guards, _ = traced(f)
    assert out == (
        0.2, 1.1, 3, True, True, True, True, True, (True, 0.1), 7, False, 4, ["child", "lr", "w"], 1, True, True,
    )  # fmt: skip
    model.nothing = 1
    assert not guards.check()


def test_class_attributes_and_methods_are_guarded(monkeypatch):
    model = Model(np.ones(2))
    _, guards, capture = traced(lambda: (model.constant, model.table, model(1.0)))
    assert capture.paths == ["Base.table"]
    monkeypatch.setattr(Base, "constant", 8)
    assert guards.why() == "class attribute `Base.constant` changed from 7 to 8"
    monkeypatch.undo()
    assert guards.check()
    monkeypatch.setattr(Base, "__call__", lambda self, x: x)
    assert guards.why() == "class attribute `Base.__call__` was redefined"
    monkeypatch.undo()
    model.constant = 9  # hides the class attribute
    assert not guards.check()


def test_method_shadowed_by_the_instance():
    model = Model(np.ones(2))
    _, guards, _ = traced(lambda: model.who())
    model.who = lambda: 1
    assert guards.why() == "closure variable `model.who` was defined; it was not when the function was traced"


def test_another_object_retraces():
    box = [Model(np.ones(2))]
    _, guards, _ = traced(lambda: box[0].lr)
    box[0] = Model(np.ones(2))
    assert not guards.check()


def test_writes_are_refused():
    model = Model(np.ones(2))
    with pytest.raises(CapturedWriteError, match=r"attribute `model.last`.*\n  at .*test_objects.py:"):
        traced(lambda: model.writes(1))

    def deletes():
        del model.w

    with pytest.raises(CapturedWriteError, match=r"attribute `model.w`"):
        traced(deletes)
    assert not hasattr(model, "last")


def test_effects_of_eager_runs():
    model = Model(np.ones(2))
    assert frontend.call(lambda: (model.writes(1), model.last))[1] == 1
    assert model.last == 1
    assert frontend.call(model.writes, (2,)) is None and model.last == 2


def test_objects_in_objects():
    model = Model(np.ones(2))
    model.child = Model(np.zeros(1), lr=3.0)
    model.layers = [Model(np.ones(4))]
    _, guards, capture = traced(lambda: (model.child.lr, model.layers[0].w))
    assert capture.paths == ["model.layers[0].w"]
    model.child.lr = 4.0
    assert guards.why() == "closure variable `model.child.lr` changed from 3.0 to 4.0"


def test_self_argument():
    model = Model(np.ones(2))
    out, guards, capture = traced(lambda self, x: (self.w, self.lr * x), model, 2.0)
    assert isinstance(out[0], Marked) and capture.paths == ["self.w"]
    model.lr = 1.0
    assert guards.why().endswith("`self.lr` changed from 0.1 to 1.0")


def test_slots_and_generics_and_abstract_classes():
    class Slotted:
        __slots__ = ("k", "w")

        def __init__(self):
            self.w, self.k = np.ones(2), 2.0

        def get(self):
            return self.k, seen()

    class Abstract(abc.ABC):
        @abc.abstractmethod
        def get(self): ...

    class Concrete(Abstract, Generic[T]):
        subclasses: list = []

        def __init_subclass__(cls):
            Concrete.subclasses.append(cls)

        def get(self):
            return 5, seen()

    s, c = Slotted(), Concrete()
    out, guards, _ = traced(lambda: (s.w, s.get(), c.get(), isinstance(c, Abstract)))
    assert isinstance(out[0], Marked) and out[1:] == ((2.0, True), (5, True), True)
    assert Concrete.subclasses == []
    s.k = 3.0
    assert guards.why() == "closure variable `s.k` changed from 2.0 to 3.0"


def test_getattr_hook():
    class Hooked:
        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            return name, seen()

    h = Hooked()
    assert traced(lambda: h.anything)[0] == ("anything", True)


@dataclasses.dataclass
class Config:
    w: object
    lr: float = 0.1

    def scaled(self, x):
        return x * self.lr * RATE, seen()

    def __add__(self, x):
        return x * self.lr * RATE, seen()


@dataclasses.dataclass(frozen=True)
class Frozen:
    lr: float = 0.1


def test_captured_dataclass():
    config = Config(np.ones(2))
    out, guards, _ = traced(lambda: (config.w, config.scaled(2.0), dataclasses.replace(config, lr=3).lr))
    assert isinstance(out[0], Marked) and out[1] == (0.1, True) and out[2] == 3
    config.lr = 0.2
    assert not guards.check()


def test_captured_dataclass_is_a_pytree():
    config = Config(np.ones(2))
    new, _, _ = traced(lambda: tree.map(lambda x: x * 2, config))
    assert type(new) is Config and isinstance(new.w, Marked) and new.lr == 0.2


def test_frozen_dataclasses_go_by_value():
    holder = [Frozen()]
    out, guards, _ = traced(lambda: (holder[0].lr, holder[0] == Frozen(), hash(holder[0]) == hash(Frozen())))
    assert out == (0.1, True, True)
    holder[0] = Frozen()
    assert guards.check()
    holder[0] = Frozen(0.2)
    assert not guards.check()


def test_objects_made_while_tracing_keep_their_class_and_are_watched(monkeypatch):
    out, guards, _ = traced(lambda: Config(2.0).scaled(2.0))
    assert out[0] == 0.1
    monkeypatch.setitem(globals(), "RATE", 0.25)
    assert guards.why() == "global `RATE` changed from 0.5 to 0.25"


def test_argument_classes_are_watched(monkeypatch):
    _, guards, capture = traced(lambda c: c + 2.0, Config(2.0))
    assert [s for s in capture.things if "W" in s.path]
    monkeypatch.setitem(globals(), "RATE", 0.25)
    assert guards.why() == "global `RATE` changed from 0.5 to 0.25"


def test_methods_of_argument_classes_are_followed(monkeypatch):
    _, guards, capture = traced(lambda c: c.scaled(2.0), Config(2.0))
    assert [path for path in capture.paths if "W" in path]
    monkeypatch.setitem(globals(), "RATE", 0.25)
    assert guards.why() == "global `RATE` changed from 0.5 to 0.25"


class Color(enum.Enum):
    RED = 1


def test_enums_and_library_objects():
    path = pathlib.Path("a")
    color = Color.RED
    out, _, capture = traced(lambda: (color is Color.RED, path.name, Color.RED.value))
    assert out == (True, "a", 1)
    assert [s.path for s in capture.things] == ["closure variable `path`"]


def test_type_of_other_things():
    def f(one):
        made = type("Made", (), {"x": 1})
        return (
            type(one) is int,
            isinstance(int, type),
            type(type(one)) is type,
            made.x,
            issubclass(type, object),
        )

    assert traced(f, 1)[0] == (True, True, True, 1, True)


class Net:
    width = 4
    bias = np.ones(2)
    count = 0

    def __init__(self, w):
        self.w = w
        self.made = seen()

    def forward(self, x):
        return x, seen(), isinstance(self.bias, Marked), self.width

    def __mul__(self, k):
        return type(self)(self.w * k)

    def __eq__(self, other):
        return isinstance(other, Net) and self.w == other.w

    @property
    def size(self):
        return self._size, seen()

    @size.setter
    def size(self, n):
        self._size = n, seen()

    @functools.cached_property
    def once(self):
        return [seen()]

    @classmethod
    def default(cls):
        return cls(1)

    @staticmethod
    def helper():
        return seen()

    def bump(self):
        Net.count += 1


class Wide(Net):
    width = 8
    helper = None

    def __init__(self, w):
        super().__init__(w)
        self.wide = True

    def forward(self, x):
        return ("wide", *super().forward(x))


def test_objects_made_while_tracing_are_followed(monkeypatch):
    def f():
        n, w = Net(2), Wide(3)
        n.size = 5
        return (
            n.made, n.forward(1), w.forward(1), (n * 2).w, n == Net(2), n != w, isinstance(w, Net), type(n) is Net,
            n.__class__ is Net, type(n).__name__, n.size, n.once is n.once, Net.default().w, Net.helper(), w.helper,
            Net.width, Wide.width, issubclass(Wide, Net), {Net: 1}[type(n)], Net.forward(n, 2)[1], w.wide,
        )  # fmt: skip

    out, guards, capture = traced(f)
    assert out == (
        True, (1, True, True, 4), ("wide", 1, True, True, 8), 4, True, True, True, True,
        True, "Net", ((5, True), True), True, 1, True, None,
        4, 8, True, 1, True, True,
    )  # fmt: skip
    assert capture.paths == ["W", "Net.bias"] and not capture.things
    monkeypatch.setattr(Net, "width", 5)
    assert guards.why() == "class attribute `Net.width` changed from 4 to 5"


def test_class_writes_are_refused():
    with pytest.raises(CapturedWriteError, match=r"class attribute `Net.count`"):
        traced(lambda: Net(1).bump())
    assert Net.count == 0
    frontend.call(lambda: Net(1).bump())
    assert Net.count == 1
    Net.count = 0


def test_objects_leave_with_the_users_class():
    out = frontend.call(lambda: (Net(1), [Wide(2)], Net))
    assert type(out[0]) is Net and type(out[1][0]) is Wide and out[2] is Net
    assert traced(Net, 3)[0].w == 3


def test_dispatch_on_classes_and_functions():
    table = {Net: "net", seen: "seen", int: "int"}
    chosen = frozenset({seen})
    k = 3
    out = traced(lambda: (table[type(Net(1))], table[seen], table[type(k)], seen in chosen))[0]
    assert out == ("net", "seen", "int", True)


def test_namespaces():
    cfg = types.SimpleNamespace(lr=0.1, w=np.ones(2))
    args = argparse.Namespace(lr=0.2)
    out, guards, capture = traced(lambda: (cfg.lr, cfg.w, args.lr))
    assert isinstance(out[1], Marked) and capture.paths == ["cfg.w"] and not capture.things
    args.lr = 0.3
    assert guards.why() == "closure variable `args.lr` changed from 0.2 to 0.3"
    cfg.lr = 0.2
    assert guards.why() == "closure variable `cfg.lr` changed from 0.1 to 0.2"

    def writes():
        cfg.lr = 3

    with pytest.raises(CapturedWriteError):
        traced(writes)


def test_copies():
    model = Model(np.ones(2))
    model.items = [1]

    def f():
        a, b = copy.copy(model), copy.deepcopy(model)
        a.lr = 5
        b.items.append(2)
        return type(a), isinstance(a.w, Marked), a.lr, b.items, model.items

    assert traced(f)[0] == (Model, True, 5, [1, 2], [1])


def test_shadows_of_an_enclosing_eager_run():
    model = Model(np.ones(2))

    def outer():
        seen_module = helper_module
        local = model

        def inner():
            return local.lr, isinstance(local.w, Marked), seen_module.K

        return traced(inner)

    helper_module = module("helper_module", "K = 3")
    out, guards, capture = frontend.call(outer)
    assert out == (0.1, True, 3) and capture.paths == ["local.w"]
    model.lr = 0.2
    assert not guards.check()
    model.lr = 0.1
    helper_module.K = 4
    assert not guards.check()


def test_functions_as_arguments():
    out, _, _ = traced(lambda f, fs: (f(), fs[0]()), seen, [seen])
    assert out == (True, True)


def test_generators_are_reported_and_draws_are_noticed_in_the_end():
    counter = (k for k in ())
    rng = np.random.default_rng(0)
    _, _, capture = traced(lambda: (next(counter, 0), rng.bit_generator))
    assert {s.path for s in capture.things} == {"closure variable `counter`"}


def test_state_of_a_captured_box():
    b = Box(Storage(np.ones(2), current_trace()), (), Aval((2,), np.dtype(float)))
    cell = [b]
    _, guards, capture = traced_box(lambda: cell[0])
    assert capture.paths == ["cell[0]"]
    cell[0] = Box(Storage(np.ones(3), current_trace()), (), Aval((3,), np.dtype(float)))
    assert guards.why() == "closure variable `cell[0]` changed from f64[2] to f64[3]"


def traced_box(f):
    capture = FakeCapture()
    capture.array = lambda path, value: capture.paths.append(path.text) or value
    session = frontend.Session(capture)
    return session.run(f), session.guards(), capture


def test_sessions_are_per_thread():
    """Sessions belong to the thread that runs them."""

    def f():
        results = [frontend.current_session()]
        thread = threading.Thread(target=lambda: results.append(frontend.current_session()))
        thread.start()
        thread.join()
        return results

    here, there = traced(f)[0]
    assert here is not None and there is None


def test_metaclasses_of_the_users():
    class Odd(type):
        def __eq__(cls, other):
            return cls is other

        __hash__ = None

    class Thing(metaclass=Odd):
        k = 2

        def get(self):
            return self.k * RATE

    thing = Thing()
    out, _, capture = traced(lambda: (thing.get(), Thing().get(), type(thing) is Thing))
    assert out == (1.0, 1.0, True)
    assert [s.path for s in capture.things] == ["closure variable `thing`"]


class Counted:
    def __init__(self, *args):
        super().__init__()
        self.count = getattr(self, "count", 0) + 1


class Weighed(Counted):
    def __init__(self, w):
        super().__init__()
        self.w = w


class Named(Weighed):
    def __init__(self, w, name):
        super().__init__(w)
        self.name = name


class Left:
    def __init__(self, **rest):
        self.left = 1
        super().__init__(**rest)


class Right:
    def __init__(self, **rest):
        self.right = 2
        super().__init__(**rest)

    def __eq__(self, other):
        return super().__eq__(other) is True

    __hash__ = None


class LeftRight(Left, Right):
    def __init__(self, w):
        super().__init__()
        self.w = w


HELD = LeftRight(1.0)


def test_super_that_ends_at_object():
    def f(x):
        n, b = Named(x, "n"), LeftRight(x)
        return n.w * n.count + b.w + 10 * b.left + 100 * b.right, b == b, b == n, HELD == HELD

    assert tj.jit(f)(2.0) == f(2.0) == (214.0, True, False, True)
    assert tj.value_and_grad(lambda x: f(x)[0])(2.0)[0] == 214.0


class Positive:
    def __init__(self, v):
        self.v = v

    def __bool__(self):
        return self.v > 0


HELD_POSITIVE = Positive(1.0)


def test_bool_of_the_users_classes():
    def f(x):
        p, y = Positive(x), 0.0
        if p:
            y = x * 2
        if not HELD_POSITIVE:
            y = y + 1.0
        while Positive(y - 3):
            y = y - 1
        return y, bool(p), 1.0 if p else 2.0, not p, any([p]), HELD_POSITIVE and 5.0

    for x in (4.0, -4.0):
        assert tj.jit(f)(x) == f(x)
    assert tj.grad(lambda x: x * 2 if Positive(x) else x * 3)(-1.0) == 3.0
