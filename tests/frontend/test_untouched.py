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


def test_a_method_of_a_dataclass_that_is_refused_leaves_nothing_behind():
    with pytest.raises((CapturedWriteError, UnfollowedError)):
        tj.jit(lambda n: n.of_class())(Noisy(np.ones(2)))
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

    with pytest.raises(KeyError):
        tj.jit(f)(Noisy(np.ones(2)))
    assert Noisy.made == 0


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


def test_objects_that_are_used_as_they_are_keep_their_attributes():
    class Kind(enum.Enum):
        A = 1

    error = ValueError("first")

    def mark(x):
        Kind.A.used = True
        return x

    def again(x):
        error.args = ("again",)
        return x

    for f in (mark, again):
        with pytest.raises(CapturedWriteError):
            tj.jit(f)(1.0)
    assert not hasattr(Kind.A, "used")
    assert error.args == ("first",)


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
    with pytest.raises(UnfollowedError):
        tj.jit(lambda x: object.__getattribute__(p, "a") * x)(1.0)


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


@pytest.mark.parametrize("x", [bytearray(b"a"), (k for k in "a")])
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
