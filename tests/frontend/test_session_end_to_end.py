"""Promise 2 through `jit`: what a function reads through names is current at every call."""

from __future__ import annotations

import dataclasses
import functools
import threading
import warnings

import numpy as np
import pytest

import tracejit as tj
from tests.frontend.fake import FakeCapture, module
from tracejit import frontend
from tracejit.test_util import assert_max_compiles

SOURCE = """
import numpy as np
W = np.arange(3.0)
scale = 2.0
params = {"w": [np.ones(3), np.eye(3)]}
def helper(x):
    return np.sin(x) * scale + W
def f(x):
    h = helper(x)
    for w in params["w"]:
        h = h @ w if w.ndim == 2 else h * w
    out = np.zeros(3)
    for i in range(3):
        out[i] = h[i] + len(params)
    return out
"""
x = np.arange(1.0, 4.0)


def same(jitted, fn, traces):
    np.testing.assert_allclose(jitted(x), fn(x), rtol=1e-15)
    assert jitted.trace_count == traces


def test_everything_is_current():
    m = module("m", SOURCE)
    jitted = tj.jit(m.f)
    same(jitted, m.f, 1)
    m.W[0] = 10
    same(jitted, m.f, 1)
    m.W = np.ones(3)
    same(jitted, m.f, 1)
    m.params = {"w": [np.full(3, 2.0), np.ones((3, 3))]}
    same(jitted, m.f, 1)
    m.scale = 3.0
    same(jitted, m.f, 2)
    m.params["w"].append(np.ones(3))
    same(jitted, m.f, 3)
    m.helper = lambda x: x
    same(jitted, m.f, 4)
    m.params["w"].pop()
    same(jitted, m.f, 5)
    m.W = np.ones(4)  # no longer read
    same(jitted, m.f, 5)


def test_a_function_of_a_captured_array_alone():
    m = module("m", "import numpy as np\nW = np.ones(3)\ndef f(): return W.sum() + np.max(W)")
    jitted = tj.jit(m.f)
    assert jitted() == 4
    m.W[1] = 7
    assert jitted() == 16 and jitted.trace_count == 1


def test_writes_into_captured_arrays_happen_at_every_call():
    m = module("m", "import numpy as np\nW = np.zeros(3)\ndef f(x):\n    W[0] += x\n    return W.sum()")
    jitted = tj.jit(m.f)
    assert [jitted(1.0), jitted(1.0), jitted(2.0)] == [1, 2, 4]
    assert m.W[0] == 4 and jitted.trace_count == 1


def test_nested_transformations_see_the_same_names():
    m = module("m", SOURCE + "def loss(x): return f(x).sum()\n")
    m.tj = tj
    exec("def g(x): return tj.grad(loss)(x)", m.__dict__)
    jitted = tj.jit(m.g)
    same(jitted, m.g, 1)
    m.W[0] = 5
    m.params["w"][0][:] = 3
    same(jitted, m.g, 1)
    m.scale = 5.0
    same(jitted, m.g, 2)


class Layer:
    def __init__(self):
        self.w = np.ones(3)
        self.gain = 2.0
        self.calls = 0

    def __call__(self, v):
        out = np.empty(3)
        out[:] = v * self.w * self.gain
        return out

    def count(self, v):
        self.calls += 1
        return v


def test_objects():
    layer = Layer()
    jitted = tj.jit(lambda v: layer(v))
    same(jitted, layer, 1)
    layer.w[0] = 4
    layer.w = layer.w * 2
    same(jitted, layer, 1)
    layer.gain = 3.0
    same(jitted, layer, 2)
    np.testing.assert_array_equal(tj.grad(lambda v: layer(v).sum())(x), layer.w * 3)
    counted = tj.jit(lambda v: layer.count(v))
    for _ in range(3):
        counted(x)
    assert layer.calls == 3 and counted.trace_count == 1


def test_objects_made_inside():
    def f(v):
        layer = Layer()
        layer.gain = v.sum()
        return layer(v)

    same(tj.jit(f), f, 1)


@dataclasses.dataclass
class State:
    a: object
    b: object

    def total(self):
        return (self.a * self.b).sum()


def test_dataclasses_go_in_and_out():
    def f(s):
        return State(s.a * s.total(), s.b), dataclasses.replace(s, b=s.b + 1)

    out = tj.jit(f)(State(x, x))
    want = f(State(x, x))
    assert type(out[0]) is State and type(out[1]) is State
    np.testing.assert_array_equal(out[0].a, want[0].a)
    np.testing.assert_array_equal(out[1].b, want[1].b)


def test_threads_trace_side_by_side():
    m = module("m", SOURCE)
    jitted = [tj.jit(m.f) for _ in range(4)]
    results = [None] * 4

    def work(n):
        results[n] = jitted[n](x)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for r in results:
        np.testing.assert_allclose(r, m.f(x))


def test_warnings_of_traced_code():
    def f(v):
        warnings.warn("mind this", UserWarning)
        return v

    fast = tj.jit(f)
    for _ in range(3):  # at every call, of the first program
        with pytest.warns(UserWarning, match="mind this"):
            fast(x)
    assert fast.trace_count == 1


def test_scalars_by_reference():
    """A capture may take scalars like arrays; equal ones don't count as the same array."""
    capture = FakeCapture()
    capture.scalar = lambda path, value: np.float64(value)
    session = frontend.Session(capture)
    m = module("m", "a = 1.5\nb = 1.5\ndef f(): return a + b", W=x)
    m.b = m.a
    assert session.run(m.f) == 3.0
    guards = session.guards()
    m.a = 2.0
    assert guards.arrays() == (2.0, 1.5)
    m.a = 2
    assert guards.why() == "global `a` changed from float to int"


def test_the_global_random_state_is_drawn_from_by_programs_and_eagerly() -> None:
    f = tj.jit(lambda x: x + np.random.normal(), fallback=False)
    state = np.random.get_state()
    drawn = f(1.0), f(1.0)
    np.random.set_state(state)
    assert drawn == (1.0 + np.random.normal(), 1.0 + np.random.normal())
    assert tj.grad(lambda x: x * np.random.uniform(1.0, 2.0))(1.0) >= 1.0
    seeded = tj.jit(lambda x: x + np.random.default_rng(0).normal())
    assert seeded(1.0) == seeded(1.0) == 1.0 + np.random.default_rng(0).normal()


class Bound:
    """A descriptor that makes a new function at every reading."""

    def __init__(self, fn):
        self.fn = fn

    def __get__(self, obj, owner=None):
        return functools.partial(self.fn, obj)


class Model:
    def __init__(self):
        self.w = np.ones(3)

    @tj.jit
    def jitted(self, x):
        return self.w @ x

    @Bound
    def bound(self, x):
        return self.w @ x

    @tj.jit
    def both(self, x):
        return self.jitted(x) + self.bound(x)


def test_descriptors_that_make_new_functions():
    model, x = Model(), np.arange(3.0)
    both = tj.jit(lambda x: model.both(x))
    slope = tj.jit(tj.grad(lambda x: model.jitted(x) * model.bound(x)))
    for w in (1.0, 1.0, 5.0):
        model.w = np.full(3, w)
        assert model.both(x) == both(x) == 6 * w
        np.testing.assert_array_equal(slope(x), np.full(3, 6 * w * w))
    with assert_max_compiles(0):
        both(x), slope(x)
