"""Results that are no new objects: containers of the caller's, captured ones, arrays that are given twice."""

import collections
import dataclasses
import functools

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import UnfollowedError


@dataclasses.dataclass
class State:
    x: object
    notes: object


def test_containers_of_the_caller_are_handed_back():
    @tj.jit
    def step(a, b, k=None, *, d):
        a["w"] -= 1
        b[0][0][:] = 2
        return b, a, (b[0], k), d, d.notes

    for _ in range(4):  # the first calls go the general way
        a, b, k, d = {"w": np.ones(2)}, [[np.zeros(1)], 3.0], (np.ones(1),), State(np.ones(2), [1.0])
        out = step(a, b, k, d=d)
        assert out[0] is b and out[1] is a and out[2][0] is b[0] and out[2][1] is k
        assert out[3] is d and out[4] is d.notes
        assert a["w"].tolist() == [0, 0] and b[0][0] == 2


def test_two_arguments_may_be_one_object():
    second = tj.jit(lambda a, b: b)
    one, two = [1.0], [2.0]
    assert second(one, one) is one
    for _ in range(3):
        assert second(one, two) is two and second(two, one) is one


def test_other_containers_and_derivatives():
    first = tj.jit(lambda q: (q, q[0]))
    for _ in range(3):
        q = collections.deque([np.ones(2)])
        out = first(q)
        assert out[0] is q and out[1] is q[0]

    def loss(w):
        return (first([w * 2])[0][0] ** 2).sum()

    assert tj.grad(loss)(np.ones(2)).tolist() == [8, 8]


def test_captured_containers_are_themselves():
    held = {"k": [np.zeros(2)]}

    @tj.jit
    def f(x):
        held["k"][0][:] = x
        return held, held["k"]

    for x in (1.0, 2.0):
        out = f(x)
        assert out[0] is held and out[1] is held["k"] and held["k"][0].tolist() == [x, x]
    held["k"] = [np.ones(1)]
    assert f(3.0)[1] is held["k"]


def test_an_array_twice_is_one():
    def f(x):
        y = x + 1
        return y, [y], y.sum()

    fast = tj.jit(f)
    for _ in range(3):
        y, (z,), s = fast(np.ones(2))
        assert y is z and y.tolist() == [2, 2] and s == 4


@pytest.mark.parametrize("make", [list, tuple, lambda xs: dict(enumerate(xs)), collections.deque])
def test_a_new_container_twice_is_one(make):
    def f(x):
        part = make([x, 0.5])
        return part, [part, x * 2], {"part": part}

    fast = tj.jit(f)
    for k in range(3):
        first, (second, twice), named = fast(k + 1.0)
        assert first is second is named["part"] and type(first) is type(make([])) and twice == 2 * k + 2
        assert first == make([k + 1.0, 0.5])


def test_what_a_cache_keeps():
    @functools.cache
    def base(n):
        return np.zeros(n)

    def written(x):
        b = base(2)
        b += x
        return b * 2

    fast = tj.jit(lambda x: (base(2) + x, base(2) is base(2)))
    total, same = fast(1.0)
    assert total.tolist() == [1, 1] and same
    for f in (written, lambda x: base(2)):
        with pytest.raises(tj.errors.CapturedWriteError):
            tj.jit(f)(1.0)
    scale = [2.0]

    @functools.cache
    def scaled(n):
        return scale[0] * n

    with pytest.raises(UnfollowedError):
        tj.jit(lambda x: x * scaled(3))(1.0)
