"""Guarded names: globals, builtins, cells, defaults, and what changes to them do."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit as tj
from tests.frontend.fake import Marked, module, traced
from tests.programs.observe import define
from tracejit.errors import CapturedWriteError, UnfollowedError

scale = 2.0
W = np.arange(3.0)


def test_global_scalar_is_guarded(monkeypatch):
    out, guards, _ = traced(lambda x: x * scale, 3.0)
    assert out == 6.0
    monkeypatch.setitem(globals(), "scale", 3.0)
    assert not guards.check()
    assert guards.why() == "global `scale` changed from 2.0 to 3.0"
    monkeypatch.setitem(globals(), "scale", float("2.0"))
    assert guards.check()
    monkeypatch.setitem(globals(), "scale", 2)
    assert not guards.check()


def test_deleted_global():
    m = module("m", "a = 1\ndef f(): return a")
    _, guards, _ = traced(m.f)
    del m.a
    assert not guards.check()
    assert guards.why() == "global `a` no longer exists (it was 1)"


def test_only_names_that_were_read_are_guarded():
    m = module("m", "a = 1\nb = 2\ndef f(p): return a if p else b")
    _, guards, _ = traced(m.f, True)
    m.b = 5
    assert guards.check()
    m.a = 5
    assert not guards.check()


@pytest.mark.parametrize("old, new", [(float("nan"), float("nan")), (0.0, 0.0), (1e300, 1e300), ("ab", "ab")])
def test_equal_values_hold(old, new):
    m = module("m", "def f(): return a", a=old)
    _, guards, _ = traced(m.f)
    m.a = type(new)(str(new))
    assert guards.check()


@pytest.mark.parametrize(
    "old, new",
    [(0.0, -0.0), (1, True), (1, 1.0), (1.0, np.float64(1.0)), (None, 0), ("a", b"a"), (np.float32(1), np.float64(1)),
     (complex(0.0, 0.0), complex(0.0, -0.0)), (float("nan"), 1.0)],
)  # fmt: skip
def test_values_that_differ(old, new):
    m = module("m", "def f(): return a", a=old)
    _, guards, _ = traced(m.f)
    m.a = new
    assert not guards.check()
    assert "global `a` changed" in guards.why()


def test_captured_array_is_read_at_every_call():
    m = module("m", "def f(x): return x + W.sum()", W=np.ones(3))
    out, guards, capture = traced(m.f, 1.0)
    assert out == 4.0
    assert capture.paths == ["W"]
    assert guards.arrays()[0] is m.W
    m.W[0] = 5
    assert guards.arrays()[0] is m.W
    m.W = np.zeros(3)
    assert guards.arrays()[0] is m.W
    m.W = np.zeros(4)
    assert guards.arrays() is None
    assert guards.why() == "global `W` changed from float64[3] to float64[4]"
    m.W = np.zeros(3, np.float32)
    assert guards.why() == "global `W` changed from float64[3] to float32[3]"
    m.W = 3.0
    assert guards.why() == "global `W` changed from float64[3] to 3.0"


def test_aliases_share_a_stand_in():
    a = np.ones(2)
    m = module("m", "def f(): return A is B, A", A=a, B=a)
    (same, _), guards, capture = traced(m.f)
    assert same and len(capture.paths) == 1
    m.B = np.ones(2)
    assert guards.why() == "global `B` is no longer the same object as global `A`"
    m.A = m.B
    assert guards.check()


def test_distinct_arrays_that_become_one():
    m = module("m", "def f(): return A is B", A=np.ones(2), B=np.ones(2))
    same, guards, _ = traced(m.f)
    assert not same
    m.A = m.B
    assert not guards.check()
    assert guards.why() == "two captured arrays that were different objects are now the same one"


def test_builtins_are_guarded_against_shadowing():
    m = module("m", "def f(x): return abs(x)")
    out, guards, _ = traced(m.f, -1.0)
    assert out == 1.0
    m.other = 3
    assert guards.check()
    m.abs = lambda x: x
    assert guards.why() == "global `abs` was defined; it was not when the function was traced"
    assert not guards.check()


def test_undefined_name():
    m = module("m", "def f(): return nothing\ndef g():\n try: return nothing\n except NameError: return 0")
    with pytest.raises(NameError, match="name 'nothing' is not defined"):
        traced(m.f)
    out, guards, _ = traced(m.g)
    assert out == 0
    m.nothing = 1
    assert not guards.check()


def test_closures():
    def make(k, w):
        def f(x):
            return x * k + w.sum()

        def rebind(new):
            nonlocal k, w
            k, w = new

        return f, rebind

    f, rebind = make(2.0, np.ones(2))
    out, guards, capture = traced(f, 1.0)
    assert out == 4.0 and capture.paths == ["w"]
    w = np.zeros(2)
    rebind((2.0, w))
    assert guards.arrays()[0] is w
    rebind((3.0, w))
    assert guards.why() == "closure variable `k` changed from 2.0 to 3.0"


def test_empty_cell():
    def make():
        def f(p):
            return late if p else 0

        def fill():
            nonlocal late
            late = 3

        if False:
            late = 1
        return f, fill

    f, fill = make()
    out, guards, _ = traced(f, False)
    assert out == 0
    fill()
    assert not guards.check()
    assert guards.why() == "closure variable `late` was assigned"


def test_defaults():
    w = np.ones(2)

    def f(x, a=2.0, w=w, *, k=3.0):
        return x * a * k, w

    out, guards, capture = traced(f, 1.0)
    assert out[0] == 6.0 and isinstance(out[1], Marked)
    assert capture.paths == ["w of f()"]
    f.__kwdefaults__["k"] = 4.0
    assert guards.why() == "default argument `k of f()` changed from 3.0 to 4.0"
    f.__kwdefaults__["k"] = 3.0
    assert guards.check()


def test_global_assignment_is_refused():
    source = (
        "n = 0\ndef f(x):\n    global n\n    n = x\ndef g(x):\n    global n\n    n += 1\n    return n * x"
    )
    m = module("m", source)
    with pytest.raises(CapturedWriteError, match=r"global `n`.*\n  at /home/user/m.py:4"):
        traced(m.f, 1)
    with pytest.raises(CapturedWriteError, match=r"global `n`.*\n  at /home/user/m.py:7"):
        traced(m.g, 1)
    assert m.n == 0


def test_nonlocal_assignment_is_refused():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x

    with pytest.raises(CapturedWriteError, match="closure variable `count`"):
        traced(f, 1)
    assert count == 0


def test_own_nonlocals_are_fine():
    def f(x):
        count = 0

        def add():
            nonlocal count
            count += 1

        add()
        add()
        return count * x

    assert traced(f, 2.0)[0] == 4.0


def test_class_bodies_comprehensions_and_inner_functions():
    source = """
a = 2.0
def f(x):
    class C:
        y = a
        z = [a for _ in range(2)]
        def get(self):
            return a + len(self.z)
    inner = lambda: a
    return x, C.y, C.z, C().get(), inner(), [a for _ in range(1)], {a: a}, eval("a"), globals()["a"]
"""
    m = module("m", source)
    out, guards, _ = traced(m.f, 1)
    assert out == (1, 2.0, [2.0, 2.0], 4.0, 2.0, [2.0], {2.0: 2.0}, 2.0, 2.0)
    m.a = 3.0
    assert not guards.check()


def test_warm_functions_still_ask(monkeypatch):
    """Adaptive specialisation must not skip the guarded globals."""

    def f():
        total = 0.0
        for _ in range(100):
            total += scale
        return total

    for _ in range(50):
        f()
    out, guards, _ = traced(f)
    assert out == 200.0
    for _ in range(20):
        out, guards, _ = traced(f)
        assert len(guards) >= 1
    monkeypatch.setitem(globals(), "scale", 1.0)
    assert not guards.check()
    assert f() == 100.0


def test_generator_and_exceptions():
    def gen(n):
        for i in range(n):
            yield i * scale

    assert list(traced(lambda: list(gen(3)))[0]) == [0.0, 2.0, 4.0]

    def fails():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as e:
        traced(fails)
    assert e.traceback[-1].path.name == "test_session_names.py"


def test_arrays_without_numbers_are_snapshots():
    m = module("m", "def f(): return A", A=np.array(["a"], dtype=object))
    _, guards, capture = traced(m.f)
    assert "does not hold numbers" in capture.things[0].reason
    m.A = np.array(["a"], dtype=object)
    assert not guards.check()


def test_math_is_used_as_it_is():
    out, _, capture = traced(lambda: math.sqrt(4.0))
    assert out == 2.0 and not capture.things


def test_globals_are_read_and_assigned_by_their_dict():
    names = {"total": 1.0, "table": {"a": 1}}
    source = """
def f(x):
    held = globals()
    held["total"] = held["total"] + x
    held.update(late=x * 2)
    extra = held["extra"] if "extra" in held else held.get("none", 5)
    return total, late, extra, held["table"]["a"]


def every(x):
    return x, len(globals()) > 3
"""
    plain, traced = dict(names, table={"a": 1}), dict(names, table={"a": 1})
    for held in (plain, traced):
        define(source, held, "globals_by_dict.py")
    fast = tj.jit(traced["f"], fallback=False)
    for n in range(4):
        assert fast(1.0 + n) == plain["f"](1.0 + n)
        assert (traced["total"], traced["late"]) == (plain["total"], plain["late"])
        for held in (plain, traced):
            held["table"]["a"] = n
            held["extra" if n == 1 else "other"] = 7 * n
    with pytest.raises(UnfollowedError):
        tj.jit(traced["every"], fallback=False)(1.0)
