"""What is stored outside, what is there already among it; captured arrays are results as they are."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj

N = 1000


class Model:
    shared = np.zeros(2)
    rate = 5.0

    def __init__(self) -> None:
        self.v, self.u, self.n = np.zeros(3), np.ones(3), 3
        self.entries = {"n": 1000, "v": np.zeros(2)}

    def accumulate(self, x):
        self.v += x
        return self.v

    def keep(self, x):
        self.n = max(self.n, 1)
        self.entries["n"] = max(self.entries["n"], int("1000"))
        self.entries["v"] += x
        return self.n * x + self.entries["v"]

    def onto_the_class(self, x):
        self.shared += x  # makes an attribute of the object
        return x

    def rate_onto_the_class(self, x):
        self.rate = 5.0
        return x

    def another(self, x):
        self.n = 4
        return x

    def another_type(self, x):
        self.n = 3.0
        return x


class Watched(Model):
    def __setattr__(self, name, value):
        object.__setattr__(self, "log", name)
        object.__setattr__(self, name, value)


class Slots:
    __slots__ = ("v",)

    def __init__(self) -> None:
        self.v = np.zeros(2)

    def accumulate(self, x):
        self.v += x
        return self.v


@pytest.mark.parametrize("cls", [Model, Slots])
def test_an_array_that_an_object_holds_is_updated_in_place(cls) -> None:
    ours, plain = cls(), cls()
    f, before = tj.jit(ours.accumulate), ours.v
    for x in (1.0, 2.0, 3.0):
        out = f(x)
        assert np.array_equal(out, plain.accumulate(x))
        assert out is before is ours.v


def test_the_same_value_again() -> None:
    ours, plain = Model(), Model()
    f = tj.jit(ours.keep)
    for x in (1.0, 2.0):
        assert np.array_equal(f(x), plain.keep(x))
    assert np.array_equal(ours.entries["v"], plain.entries["v"])
    ours.n = plain.n = -2  # now another value is stored
    assert np.array_equal(f(1.0), plain.keep(1.0))
    assert ours.n == plain.n == 1 and np.array_equal(ours.entries["v"], plain.entries["v"])


def model_of_its_own() -> Model:
    """A model whose class no other test writes into."""
    return type("Model", (Model,), {"shared": np.zeros(2)})()


@pytest.mark.parametrize("name", ["onto_the_class", "rate_onto_the_class", "another", "another_type"])
def test_other_values_are_stored(name) -> None:
    ours, plain = model_of_its_own(), model_of_its_own()
    f = tj.jit(getattr(ours, name))
    for x in (1.0, 2.0):
        assert f(x) == getattr(plain, name)(x)
        assert repr(vars(ours)) == repr(vars(plain))
        assert ours.shared is type(ours).shared and np.array_equal(ours.shared, plain.shared)
    assert not Model.shared.any()


def test_a_setter_of_the_class_is_followed() -> None:
    ours, plain = Watched(), Watched()
    f = tj.jit(ours.accumulate)
    for x in (1.0, 2.0):
        np.testing.assert_array_equal(f(x), plain.accumulate(x))
        assert repr(vars(ours)) == repr(vars(plain)) and ours.log == "v"
    assert f.trace_count == 1


def test_nonlocal_and_global_names() -> None:
    m = 1000

    def cell(x):
        nonlocal m
        m = max(m, int("1000"))
        return m * x

    def name(x):
        global N
        N = N + 1 - 1
        return N * x

    def smaller(x):
        nonlocal m
        m = min(m, 10)
        return m * x

    assert tj.jit(cell)(2.0) == 2000 and tj.jit(name)(2.0) == 2000
    assert m == N == 1000
    assert tj.jit(smaller)(1.0) == m == 10


def test_captured_arrays_are_results_as_they_are() -> None:
    model, other = Model(), np.ones(2)
    f = tj.jit(lambda x: (model.u, {"a": model.u}, other, x * model.u, other + 0))
    for x in (1.0, 2.0, 3.0):
        a, b, c, d, e = f(x)
        assert a is b["a"] is model.u and c is other and d is not model.u and e is not other
        model.u = np.full(3, x)
    alone = tj.jit(lambda: other)
    assert alone() is alone() is other


def test_captured_arrays_as_results_of_other_transformations() -> None:
    w = np.arange(3.0)
    f = tj.jit(lambda x: (x * 2, w))
    assert np.array_equal(tj.grad(lambda x: (f(x)[1] * f(x)[0]).sum())(1.0), 6.0)
    y, same = tj.vmap(f, out_axes=(0, None))(np.ones(2))
    assert np.array_equal(y, [2, 2]) and np.array_equal(same, w)
    assert np.array_equal(tj.jit(lambda x: f(x)[1] + x)(1.0), w + 1)
