"""What a trace may not change: it is put back, and the trace refused."""

import dataclasses
import enum

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import CapturedWriteError, UnfollowedError

LOG = []
COUNT = 0


@dataclasses.dataclass
class Noisy:
    x: object
    made = 0

    def of_class(self):
        Noisy.made += 1
        return self.x * 2

    def twice(self):
        before = Noisy.made
        Noisy.made += 1
        between = Noisy.made
        Noisy.made += 1
        return before, between, self.made, self.x * Noisy.made

    def of_module(self):
        global COUNT
        COUNT += 1
        return self.x * 2


@dataclasses.dataclass
class Logging:
    x: object

    def of_list(self):
        LOG.append(1)
        return self.x * 2


def test_a_method_of_a_dataclass_writes_into_its_class_at_each_call(monkeypatch):
    monkeypatch.setattr(Noisy, "made", 0)
    f = tj.jit(lambda n: n.of_class())
    for n in range(3):
        assert f(Noisy(np.ones(2))).tolist() == [2.0, 2.0]
        assert Noisy.made == n + 1
    f = tj.jit(lambda n: n.twice())
    for n in range(3, 9, 2):
        assert repr(f(Noisy(2.0))) == repr((n, n + 1, n + 2, 2.0 * (n + 2)))


def test_what_a_branch_writes_into_such_a_class_is_refused(monkeypatch):
    monkeypatch.setattr(Noisy, "made", 0)

    def f(n, t):
        if t > 0:
            n.of_class()
        return n.x

    def step(n, t):
        for _ in range(100):
            n.of_class()
            t = t + 1
        return t

    for g in (f, step, tj.grad(lambda n, t: n.of_class().sum() * t, argnums=1)):
        with pytest.raises((CapturedWriteError, UnfollowedError)):
            tj.jit(g)(Noisy(np.ones(2)), 1.0)
        assert Noisy.made == 0


@pytest.mark.parametrize("method", ["of_module", "of_list"])
def test_methods_of_dataclasses_change_what_is_outside_at_each_call(method, monkeypatch):
    monkeypatch.setitem(globals(), "COUNT", 0)
    monkeypatch.setitem(globals(), "LOG", [])
    given = (Logging if method == "of_list" else Noisy)(np.ones(2))
    f = tj.jit(lambda n: getattr(n, method)())
    for _ in range(3):
        assert f(given).tolist() == [2.0, 2.0]
    assert (COUNT, LOG) == ((0, [1, 1, 1]) if method == "of_list" else (3, []))


def test_an_exception_that_ends_the_trace_leaves_nothing_behind():
    def f(n):
        n.of_class()
        raise KeyError("no")

    before = Noisy.made
    with pytest.raises(KeyError):
        tj.jit(f)(Noisy(np.ones(2)))
    assert Noisy.made == before


def test_attributes_of_functions_are_watched():
    def helper(x):
        helper.calls += 1
        return x

    helper.calls = 0
    counted = tj.jit(lambda x: helper(x))
    assert [counted(1.0) for _ in range(3)] == [1.0] * 3
    assert helper.calls == 3 and counted.trace_count == 1

    def scaled(x):
        return x * getattr(scaled, "k", 1.0)

    fast = tj.jit(lambda x: scaled(x))
    assert fast(2.0) == 2
    scaled.k = 5.0
    assert fast(2.0) == 10
    del scaled.k
    assert fast(2.0) == 2


def test_eager_transformations_carry_out_what_functions_are_given():
    def helper(x):
        helper.calls = getattr(helper, "calls", 0) + 1
        return x * x

    assert tj.grad(lambda x: helper(x))(3.0) == 6
    assert helper.calls == 1


def test_attributes_of_jitted_functions_are_watched():
    @tj.jit
    def f(x):
        f.count += 1
        return x

    f.count = 0
    with pytest.raises(CapturedWriteError, match=r"f\.count"):
        f(1.0)
    assert f.count == 0

    @tj.jit
    def g(x):
        return x * g.k

    g.k = 2.0
    assert g(3.0) == 6
    g.k = 4.0
    assert g(3.0) == 12


def test_objects_that_are_used_as_they_are_get_their_attributes_at_each_call():
    class Kind(enum.Enum):
        A = 1

    error = ValueError("first")

    def mark(x):
        Kind.A.used = getattr(Kind.A, "used", 0) + x
        return Kind.A.used

    def again(x):
        error.args = (*error.args, "again")
        del error.note
        return x

    marked, done = tj.jit(mark), tj.jit(again)
    for n in range(3):
        error.note = "a"
        assert (marked(2), done(1.0)) == (2 * n + 2, 1.0)
        assert error.args == ("first", *["again"] * (n + 1)) and not hasattr(error, "note")
    assert Kind.A.used == 6
    Kind.A.used = 10
    assert marked(2) == 12

    class Level(enum.Enum):
        LOW = 1

        def __call__(self, x):
            return x * self.scale

    Level.LOW.scale = 1.0
    asks = [lambda x: x * getattr(Kind.A, "late", 1), lambda x: (x, hasattr(Kind.A, "late"))]
    asks += [lambda x: (x, vars(Kind.A).get("late")), lambda x: Level.LOW(x), lambda x: x * Level(1).scale]
    for f in asks:
        fast = tj.jit(f)
        for n in range(3):
            assert fast(2.0) == f(2.0)
            Kind.A.late = Level.LOW.scale = n
        del Kind.A.late


def test_what_classes_hold_that_are_used_as_they_are_is_followed():
    class Config:
        def __init__(self, k):
            self.k = k

    class Bad(ValueError):
        table, config, array, pair = [1.0], Config(2), np.ones(2), (1, 2)

    @dataclasses.dataclass
    class Layer:
        x: object

        def all(self, cls):
            return self.x * cls.config.k, cls.table[0], cls.array.sum(), cls.pair, getattr(cls, "late", 0)

        def own(self):
            return (
                self.x * self.config.k,
                self.table[0],
                self.array.sum(),
                self.pair,
                getattr(self, "late", 0),
            )

    Layer.table, Layer.config, Layer.array, Layer.pair = [1.0], Config(2), np.ones(2), (1, 2)

    class Meta(type):
        pass

    class Made(metaclass=Meta):
        table, config, array, pair = [1.0], Config(2), np.ones(2), (1, 2)

    error = KeyError("a", 1)
    calls = [lambda x, c=c: Layer(x).all(c) for c in (Bad, Made, Layer)]
    calls += [lambda x: Layer(x).own(), lambda x: (x * error.args[1], error.args[0])]
    for f in calls:
        fast = tj.jit(f)
        for n in range(4):
            assert repr(fast(2.0)) == repr(f(2.0))
            for c in (Bad, Made, Layer):
                c.table[0], c.config.k, c.pair = n, n, (n, n)
                c.array[:] = n
                if n == 1:
                    c.late = 5
            error.args = ("b", n)
        for c in (Bad, Made, Layer):
            del c.late


def test_what_goes_past_a_class_is_seen():
    @dataclasses.dataclass(frozen=True)
    class Point:
        a: float

    p = Point(1.0)

    def past(x):
        object.__setattr__(p, "a", 2.0)
        return x

    def by_vars(x):
        vars(p)["a"] = 3.0
        return x

    tj.jit(by_vars)(1.0)
    assert p == Point(3.0)
    tj.jit(past)(1.0)
    assert p == Point(2.0)
    read = tj.jit(lambda x: object.__getattribute__(p, "a") * x)
    for a in (2.0, 3.0):
        object.__setattr__(p, "a", a)
        assert read(1.0) == a
    with pytest.raises(UnfollowedError):
        tj.jit(lambda x: sum(map(object.__getattribute__, [p], ["a"])) * x)(1.0)


@pytest.mark.parametrize("cls", [type("Plain", (), {}), type("Slotted", (), {"__slots__": ("a",)})])
def test_an_attribute_that_is_assigned_and_deleted_need_not_be_there(cls):
    p = cls()
    p.a = 1.0

    def f(o, x):
        o.a = x
        del o.a
        return hasattr(p, "a")

    fast = tj.jit(f)
    for n in range(4):
        assert not fast(p, 1.0) and not hasattr(p, "a")
        if n == 2:
            p.a = 2.0


def test_nothing_is_asked_of_objects():
    asked = []

    class Asking(dict):
        def __getattr__(self, name):
            asked.append(name)
            raise AttributeError(name)

        def __repr__(self):
            asked.append("repr")
            return ""

    held = Asking(a=1.0)
    with pytest.raises(UnfollowedError):
        tj.jit(lambda x: x * held["a"])(1.0)
    with pytest.raises(UnfollowedError):
        tj.jit(lambda h, x: x * h["a"])(held, 1.0)
    assert asked == []


@pytest.mark.parametrize("x", [memoryview(b"a"), (k for k in "a")])
def test_arguments_that_change_unseen_are_refused(x):
    with pytest.raises(UnfollowedError):
        tj.jit(lambda x, y: y)(x, 1.0)


def test_attributes_that_are_no_fields_are_refused():
    odd = Noisy(np.ones(2))
    odd.other = 1.0
    f = tj.jit(lambda n: getattr(n, "other", 0.0) * n.x)
    for _ in range(3):
        assert f(Noisy(np.ones(2))).tolist() == [0, 0]
    with pytest.raises(UnfollowedError, match="other"):
        f(odd)
