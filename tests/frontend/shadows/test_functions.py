"""Helpers are followed: copies of the user's functions, whatever they are wrapped in."""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import os.path

import numpy as np
import pytest

import tracejit as tj
from tests.frontend.fake import Marked, module, traced
from tracejit import frontend
from tracejit.errors import CapturedWriteError, InternalTypeError

W = np.ones(3)


def helper(x):
    return x + W.sum()


def even(n):
    return True if n == 0 else odd(n - 1)


def odd(n):
    return False if n == 0 else even(n - 1)


def kind():
    return type(W).__name__, isinstance(W, Marked)


def test_helper_is_followed_and_redefinition_retraces(monkeypatch):
    out, guards, capture = traced(lambda x: helper(x), 1.0)
    assert out == 4.0 and capture.paths == ["W"]
    monkeypatch.setitem(globals(), "helper", lambda x: x)
    assert guards.why() == "global `helper` was redefined"


def test_new_code_of_a_helper_retraces():
    m = module("m", "def g(x): return x\ndef f(x): return g(x)")
    _, guards, _ = traced(m.f, 1.0)
    m.g.__code__ = (lambda x: x + 1).__code__
    assert guards.why() == "global `g` was redefined"


def test_new_code_of_the_function_itself_retraces():
    m = module("m", "def f(x): return x")
    _, guards, _ = traced(m.f, 1.0)
    m.f.__code__ = (lambda x: x + 1).__code__
    assert not guards.check()
    m = module("m", "def f(x, a=1): return x")
    _, guards, _ = traced(m.f, 1.0)
    m.f.__defaults__ = (2,)
    assert not guards.check()


def test_recursion():
    assert traced(lambda: (even(4), odd(4)))[0] == (True, False)

    def fact(n):
        return 1 if n == 0 else n * fact(n - 1)

    assert traced(fact, 5)[0] == 120

    def ping(n):
        return n if n == 0 else pong(n - 1)

    def pong(n):
        return n if n == 0 else ping(n - 1)

    assert traced(ping, 5)[0] == 0


def test_functions_in_containers_and_partials():
    table = {"k": [kind]}
    assert traced(lambda: table["k"][0]())[0] == ("Marked", True)
    p = functools.partial(lambda a, b, c=0: (type(a).__name__, b, type(c).__name__), W, c=W)
    assert traced(lambda: p(2))[0] == ("Marked", 2, "Marked")
    assert traced(p, 2)[0] == ("Marked", 2, "Marked")


def test_lru_cache_is_seen_through():
    @functools.lru_cache
    def cached(n):
        return n, isinstance(W, Marked)

    assert traced(lambda: cached(1))[0] == (1, True)
    assert cached.cache_info().currsize == 0


def test_decorators():
    def twice(g):
        @functools.wraps(g)
        def wrapper(*args):
            return g(*args), g(*args)

        return wrapper

    decorated = twice(kind)
    assert traced(lambda: decorated())[0] == (("Marked", True),) * 2
    assert traced(decorated)[0] == (("Marked", True),) * 2


def test_context_managers_of_the_standard_library():
    @contextlib.contextmanager
    def scope():
        yield isinstance(W, Marked)

    def f():
        with scope() as seen:
            return seen

    assert traced(f)[0] is True


def test_library_functions_are_not_followed():
    def f():
        return os.path.join("a", "b"), os.path

    (joined, mod), _, capture = traced(f)
    assert joined == os.path.join("a", "b") and mod.sep == os.path.sep
    assert any("join" in s.path for s in capture.things)


def test_shared_cells_are_shared():
    def make():
        state = [0]

        def a():
            return state

        def b():
            return state

        return a, b

    a, b = make()
    assert traced(lambda: a() is b())[0]


def test_callables_that_are_no_functions():
    class Model:
        def __init__(self):
            self.w = np.ones(2)

        def __call__(self, x):
            return x, isinstance(self.w, Marked)

        def method(self, x):
            return x, isinstance(self.w, Marked)

    model = Model()
    out, guards, capture = traced(model, 1)
    assert out == (1, True) and capture.paths == ["the function.w"]
    model.w = np.zeros(2)
    assert guards.arrays()[0] is model.w
    assert traced(model.method, 1)[0] == (1, True)
    assert traced(abs, -1)[0] == 1
    assert traced(Model)[0].__class__ is Model


def test_result_that_is_a_function_or_object_is_the_users():
    class Thing:
        pass

    thing = Thing()
    (f, (t,)), _, _ = traced(lambda: (helper, [thing]))
    assert f is helper and t is thing


def test_function_attributes():
    def f():
        return f.k * 2

    f.k = 3
    out, guards, _ = traced(f)
    assert out == 6
    f.k = 4
    assert not guards.check()


def test_prepare_is_cached():
    assert frontend.prepare(helper) is frontend.prepare(helper)
    out, guards = frontend.prepare(helper).run(frontend.EagerCapture(), (1.0,))
    assert out == 4.0 and guards.check() and len(guards) == 0


def test_effects_happen_in_eager_runs():
    m = module(
        "m",
        "n = 0\nlog = []\ndef f(x):\n    global n\n    n += 1\n    log.append(n)\n    n += x\n    return n",
    )
    assert frontend.call(m.f, (2,)) == 3
    assert m.n == 3 and m.log == [1]
    count = 0

    def g():
        nonlocal count
        count += 1
        if count > 1:
            raise ValueError
        return count

    assert frontend.call(g) == 1 and count == 1
    with pytest.raises(ValueError):
        frontend.call(g)
    assert count == 2


def test_nested_run_joins_the_session():
    def inner(x):
        return x, isinstance(W, Marked)

    def f(x):
        return frontend.call(inner, (x,))

    out, _, capture = traced(f, 1)
    assert out == (1, True) and capture.paths == ["W"]
    assert frontend.current_session() is None


def test_annotations_and_identity_of_copies():
    def f(x: int, *, y: float = 1.0) -> int:
        """Doc."""
        return f

    out = traced(f, 1)[0]
    assert out is f
    names = traced(lambda: (f.__name__, f.__qualname__, f.__module__, f.__doc__, f.__annotations__))[0]
    assert names == (f.__name__, f.__qualname__, f.__module__, f.__doc__, f.__annotations__)


def test_methods_of_captured_arrays_and_lists():
    a, log = np.arange(3.0), []
    m = module("m", "def f(): return total()\ndef g(): push(1)", total=a.sum, push=log.append)
    out, guards, capture = traced(m.f)
    assert out == 3.0 and capture.paths == ["total.__self__"]
    m.total = np.ones(3).sum
    assert not guards.check()
    with pytest.raises(CapturedWriteError):
        traced(m.g)
    assert log == []


def test_library_objects_with_state_are_reported():
    p = np.polynomial.Chebyshev([1.0, 2.0])
    get = operator.itemgetter(0)
    _, _, capture = traced(lambda: (p(1.0), get([1]), np.float64, np.sum, math.pi))
    assert [s.path for s in capture.things] == ["closure variable `p`"]


def test_our_own_functions_around_a_users_are_not_copied():
    """`np` in them is NumPy: they handle raw values, also where they wrap each other."""
    table = np.array([1.0, 3.0, -2.0])
    f = tj.vmap(tj.grad(lambda a: (a * (table - np.roll(table, 1)))[0]))
    np.testing.assert_array_equal(tj.jit(f)(np.array([0.5, -0.5])), [3.0, 3.0])


class Cell:
    def __init__(self, w):
        self.w = w

    def __call__(self, c, r):
        return np.tanh(self.w * c + r), c

    def step(self, c, r):
        return self(c, r)


def _rows(body, x):
    return tj.lax.scan(body, x, x)[1].sum()


def _cell(w, c, r, *, k=1.0):
    return np.tanh(w["w"] * c + r) * k, c


MADE_INSIDE = {
    "partial": lambda x: _rows(functools.partial(_cell, {"w": x}), x),
    "of a partial": lambda x: _rows(functools.partial(functools.partial(_cell, {"w": x}), k=x[1]), x),
    "of a ufunc": lambda x: tj.lax.map(functools.partial(np.multiply, x), x).sum(),
    "while": lambda x: tj.lax.while_loop(
        functools.partial(lambda k, s: s[0] < k, 3),
        functools.partial(lambda k, s: (s[0] + 1, s[1] * x + k), x[1]),
        (0, x),
    )[1].sum(),
    "branches": lambda x: tj.lax.cond(
        x[0] > 0, functools.partial(np.multiply, x[1]), functools.partial(np.add, 2.0), x
    ).sum(),
    "vmap in scan": lambda x: _rows(
        lambda c, r: (tj.vmap(functools.partial(np.multiply, x[0]))(c), c * r), x
    ),
    "grad": lambda x: tj.grad(functools.partial(lambda w, c: np.sin(w * c).sum(), x))(x).sum(),
    "checkpoint": lambda x: tj.checkpoint(functools.partial(lambda w, c: np.sin(w * c).sum(), x))(x),
    "object": lambda x: _rows(Cell(x), x),
    "method": lambda x: _rows(Cell(x).step, x),
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("f", MADE_INSIDE.values(), ids=MADE_INSIDE)
def test_callables_that_hold_traced_values(f):
    """They are made inside the run, so there is nothing to capture, whichever transformation traces."""
    x = np.array([0.5, 1.5, 2.5, 3.5])
    eager = tj.grad(f)(x)
    assert np.allclose([(f(x + h) - f(x - h)) / 2e-6 for h in np.eye(4) * 1e-6], eager, rtol=1e-5)
    for run in (tj.jit(tj.grad(f)), tj.grad(tj.jit(f))):
        assert np.allclose(run(x), eager, rtol=1e-12)
    assert np.allclose(tj.jit(tj.vmap(f))(np.stack([x, -x])), [f(x), f(-x)], rtol=1e-12)
    assert np.allclose(tj.jit(tj.hessian(f))(x), tj.jacfwd(tj.grad(f))(x), rtol=1e-12)


class Scaled:
    """Methods that transformations are given inside of a jitted function."""

    def __init__(self) -> None:
        self.a = 3.0

    def f(self, x):
        return self.a * x**2

    def __call__(self, x):
        return self.a * x**3

    def less(self, x):
        return x < 50 * self.a

    def step(self, c, x):
        return c + self.a * x, c


SCALED = Scaled()
PARTIAL = functools.partial(SCALED.f)


def uses_of_methods(x):
    return [
        tj.grad(SCALED.f)(x) + tj.grad(SCALED.f)(x),
        tj.grad(SCALED)(x),
        tj.grad(PARTIAL)(x),
        tj.grad(functools.partial(SCALED))(x),
        tj.vmap(SCALED.f)(np.array([x, x])),
        tj.jvp(SCALED.f, (x,), (1.0,))[1],
        tj.grad(tj.checkpoint(SCALED.f))(x),
        tj.jit(SCALED.f)(x),
        tj.lax.cond(x > 0, SCALED.f, SCALED, x),
        tj.lax.while_loop(SCALED.less, SCALED.f, x),
        tj.lax.scan(SCALED.step, x, np.arange(3.0))[0],
        tj.lax.map(SCALED.f, np.array([x, 2 * x])),
    ]


def test_methods_for_transformations_inside_of_jit(monkeypatch):
    jitted = tj.jit(uses_of_methods)
    for a in (3.0, 4.0):
        monkeypatch.setattr(SCALED, "a", a)
        for got, want in zip(jitted(2.0), uses_of_methods(2.0), strict=True):
            np.testing.assert_allclose(got, want)


def test_the_message_names_the_guard_that_fails(monkeypatch):
    """Guards that fail right after tracing, since other code keeps changing what the function reads."""
    real = frontend.Session.guards

    def guards(session):
        found = real(session)
        found.arrays, found.why = lambda *_: None, lambda *_: "global `W` changed from 1 to 2"
        return found

    monkeypatch.setattr(frontend.Session, "guards", guards)
    with pytest.raises(InternalTypeError, match="fail right after tracing: global `W` changed from 1 to 2"):
        tj.jit(lambda x: x * 2)(1.0)


def test_functions_by_class_are_followed():
    class Square:
        def __init__(self, a):
            self.a = a

    @functools.singledispatch
    def area(s):
        return "none"

    area.register(Square, lambda s: s.a * s.a)
    area.register(float, lambda s: s + 1)
    area.register(np.ndarray, lambda s: s.sum())

    def f(s, x):
        return area(s), area(x), area(x[0] * 0), area(1.5), area("a"), area(True)

    fast = tj.jit(f, fallback=False)
    for n in range(4):
        for s in (Square(2.0 + n), type("Other", (Square,), {})(3.0), 2.5):
            assert repr(fast(s, np.ones(3))) == repr(f(s, np.ones(3)))
        area.register(*((str, lambda s: "text"), (float, lambda s: s * 100), (bool, lambda s: not s))[n % 3])
