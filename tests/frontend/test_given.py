"""Objects among the arguments of jitted functions: one trace for all alike, none kept alive."""

from __future__ import annotations

import functools
import gc
import types
import weakref

import numpy as np
import pytest

import tracejit as tj
from tracejit.api.jit import varying
from tracejit.frontend import kind_of


class Layer:
    def __init__(self, w: float) -> None:
        self.w = np.full(3, w)


class Net:
    def __init__(self, w: float, k: float = 2.0) -> None:
        self.layer = Layer(w)
        self.bias = np.full(3, w)
        self.k = k
        self.act = lambda x: x * self.k

    def plain(self, x):
        return self.act(self.layer.w * x) + self.bias

    @tj.jit
    def fast(self, x):
        return self.plain(x)


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w: float) -> None:
        self.w = np.full(3, w)


X = np.arange(3.0)


def test_instances_of_a_class_share_one_trace() -> None:
    nets = [Net(float(n)) for n in range(100)]
    for _ in range(2):
        for net in nets:
            assert np.array_equal(net.fast(X), net.plain(X))
    assert Net.fast.trace_count == 1
    nets[3].k, nets[4].bias, nets[5].layer = 5.0, np.ones(3, np.float32), Layer(7.0)
    for net in nets[:8]:
        assert np.array_equal(net.fast(X), net.plain(X))
    assert Net.fast.trace_count == 3


def test_settings_of_many_objects_each_have_their_program() -> None:
    f = tj.jit(lambda net, x: len(net.k) * x)
    nets = [Net(1.0, "k" * n) for n in range(12)]
    for _ in range(3):
        for net in nets:
            assert np.array_equal(f(net, X), len(net.k) * X)
    assert f.trace_count == 12


def test_numbers_of_many_objects_become_inputs() -> None:
    f = tj.jit(lambda net, x: net.k * x)
    for n in range(12):
        net = Net(1.0, float(n))
        assert np.array_equal(f(net, X), net.k * X)
    assert f.trace_count == 1 + varying.OFTEN


def _use(f, make, attribute):
    """Weak references to arrays of objects that `make` made and calls of `f` were given."""
    refs = []
    for n in range(3):
        x = make(float(n))
        for _ in range(3):
            f(x)
        refs.append(weakref.ref(attribute(x)))
        del x
    return refs


def test_no_object_is_kept_alive() -> None:
    method = tj.jit(lambda m, x: m(x))
    inside = tj.jit(lambda held, x: held[0]["net"].plain(x))
    named = tj.jit(lambda space, x: space.net.bias * x)
    partial = tj.jit(lambda p, x: p(x))
    closure = tj.jit(lambda f, x: f(x))
    own = tj.jit(lambda o, x: o.w * x)
    bias = lambda net: net.bias
    refs = {
        "a method that is jitted": _use(lambda net: net.fast(X), Net, bias),
        "a bound method": _use(lambda net: method(net.plain, X), Net, bias),
        "in containers": _use(lambda net: inside([{"net": net}], X), Net, bias),
        "an attribute": _use(lambda net: named(types.SimpleNamespace(net=net), X), Net, bias),
        "a partial": _use(lambda net: partial(functools.partial(net.plain), X), Net, bias),
        "a closure": _use(lambda net: closure(lambda x: net.bias * x, X), Net, bias),
        "slots": _use(lambda o: own(o, X), Slotted, lambda o: o.w),
        "jitted when bound": _use(lambda net: tj.jit(net.plain)(X), Net, bias),
    }
    gc.collect()
    assert [name for name, found in refs.items() if any(ref() is not None for ref in found)] == []
    for f in (method, inside, named, partial, closure, own):
        assert f.trace_count == 1


def test_what_lists_and_sets_of_the_arguments_hold_is_guarded() -> None:
    f = tj.jit(lambda nets, x: nets[0].bias * x)
    net = Net(2.0)
    assert np.array_equal(f([net], X), 2 * X)
    net.bias = np.full(3, 3.0)
    assert np.array_equal(f([net], X), 3 * X)
    size = tj.jit(lambda items, x: len(items) * x)
    items = {1, 2}
    assert size(items, 1.0) == 2
    items.add(3)
    assert size(items, 1.0) == 3


def test_the_attributes_of_an_object_as_a_dict() -> None:
    f = tj.jit(lambda layer, x: len(vars(layer)) * x)
    layer = Layer(1.0)
    assert f(layer, 1.0) == 1
    layer.more = 3
    assert f(layer, 1.0) == 2


def test_which_objects_are_the_same() -> None:
    def f(a, b, x):
        return (2.0 if a is b else 1.0) * x + (10.0 if a == b else 0.0) + a.layer.w.sum() - b.layer.w.sum()

    g = tj.jit(f)
    a, b = Net(1.0), Net(2.0)
    c = Net(3.0)
    c.layer = a.layer
    for p, q in ((a, b), (a, a), (b, b), (b, a), (a, c), (c, b)):
        assert g(p, q, 3.0) == f(p, q, 3.0)


def test_which_lists_are_the_same() -> None:
    def f(net, x):
        return x if net.lists[0] is net.lists[1] else 2 * x

    g, one, two = tj.jit(f), Net(1.0), Net(1.0)
    one.lists, two.lists = [[1.0], [1.0]], [[1.0]] * 2
    assert [g(one, 1.0), g(two, 1.0), g(one, 1.0)] == [2.0, 1.0, 2.0]


def test_the_hash_of_an_object() -> None:
    a, b = Net(1.0), Net(2.0)
    table = {a: 1.0, b: 2.0}
    f = tj.jit(lambda net, x: table[net] * x)
    assert [f(net, 3.0) for net in (a, b, a, b)] == [3.0, 6.0, 3.0, 6.0]


def test_closures_with_cells_in_common() -> None:
    def pair(a, b=None):
        return [lambda x: a * x, lambda x: (a if b is None else b) + x]

    def f(fs, x):
        return fs[0](x) + fs[1](x)

    g = tj.jit(f)
    for fs in (pair(2.0), pair(3.0), pair(2.0, 5.0), [pair(2.0)[0], pair(7.0)[1]]):
        assert g(fs, 1.5) == f(fs, 1.5)


def test_rules_that_read_an_object_are_those_of_this_object() -> None:
    class Scaled:
        def __init__(self, w):
            self.w = w

        @tj.jit
        def f(self, x):
            @tj.custom_jvp
            def g(x):
                return self.w * x

            @g.defjvp
            def rule(primals, tangents):
                return g(primals[0]), 10 * self.w * tangents[0]

            return g(x)

    a, b = Scaled(np.float64(1.0)), Scaled(np.float64(2.0))
    for o in (a, b, a):
        assert tj.grad(o.f)(3.0) == 10 * o.w


@pytest.mark.parametrize("x", [np.sum, np.linalg.norm, slice(1, 2), ..., object(), int])
def test_what_is_known_by_identity(x) -> None:
    assert kind_of(x) is None


def test_ranges_by_value() -> None:
    f = tj.jit(lambda r, x: sum(r) * x)
    assert [f(range(n), 2.0) for n in (3, 3, 4, 4)] == [6.0, 6.0, 12.0, 12.0]
    assert f.trace_count == 2
