"""Captured containers: structure and entries are guarded, changes while tracing refused."""

from __future__ import annotations

import collections
import types
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
from numpy import r_, s_

import tracejit as tj
from tests.frontend.fake import Marked, module, traced
from tracejit.errors import CapturedWriteError


class Point(NamedTuple):
    x: object
    y: object


def test_arrays_inside_are_captured_by_path():
    params = {"W": [np.ones(2), np.zeros(3)], "b": (np.ones(1), 2.0)}
    m = module("m", "def f(): return params, params['W'][0]", params=params)
    (out, w0), guards, capture = traced(m.f)
    assert capture.paths == ["params['W'][0]", "params['W'][1]", "params['b'][0]"]
    assert type(out) is dict and isinstance(w0, Marked) and out["W"][0] is w0
    params["W"][0] = new = np.zeros(2)
    assert guards.arrays()[0] is new
    m.params = {"W": [np.ones(2), np.zeros(3)], "b": (np.ones(1), 2.0)}
    assert guards.arrays()[0] is m.params["W"][0]
    m.params["b"] = (np.ones(1), 3.0)
    assert guards.why() == "global `params['b'][1]` changed from 2.0 to 3.0"


def test_structure_is_guarded():
    data = [np.ones(1), np.ones(2)]
    m = module("m", "def f(): return len(data)", data=data)
    _, guards, _ = traced(m.f)
    data.append(np.ones(3))
    assert guards.why() == "global `data` changed its length from 2 to 3"
    m.data = tuple(data[:2])
    assert guards.why() == "global `data` changed from list to tuple"


def test_keys_and_their_order():
    d = {"a": 1, "b": 2}
    m = module("m", "def f(): return list(d)", d=d)
    out, guards, _ = traced(m.f)
    assert out == ["a", "b"]
    m.d = {"b": 2, "a": 1}
    assert guards.why() == "global `d` changed from ('a', 'b') to ('b', 'a')"


def test_scalar_lists_sets_and_long_lists():
    m = module("m", "def f(): return xs, s, fs", xs=[1.0] * 1000, s={1, 2}, fs=frozenset({1}))
    _, guards, _ = traced(m.f)
    assert len(guards) < 10
    m.xs[999] = 2.0
    assert not guards.check()
    m.xs[999] = 1.0
    assert guards.check()
    m.s.add(3)
    assert not guards.check()
    m.s = {1.0, 2}
    assert not guards.check()


def test_classes_of_containers_are_kept():
    values = [
        collections.OrderedDict(a=np.ones(1)), collections.defaultdict(list, a=np.ones(1)),
        collections.deque([np.ones(1)], maxlen=3), Point(np.ones(1), 2), (np.ones(1),), [],
    ]  # fmt: skip
    m = module("m", "def f(): return list(values)", values=values)
    out, _, capture = traced(m.f)
    assert [type(x) for x in out] == [type(x) for x in values]
    assert capture.paths[3] == "values[3][0]" or capture.paths[3] == "values[3].x"
    assert out[1].default_factory is list and out[2].maxlen == 3


def test_lists_that_hold_themselves():
    loop = [np.ones(1)]
    loop.append(loop)
    m = module("m", "def f(): return loop[1][1] is loop", loop=loop)
    assert traced(m.f)[0]


def test_one_list_at_two_paths():
    a = [np.ones(1)]
    m = module("m", "def f(): return a is b", a=a, b=a)
    out, guards, _ = traced(m.f)
    assert out
    m.b = [np.ones(1)]
    assert not guards.check()


@pytest.mark.parametrize(
    "change",
    ["d['b'] = x", "d.update(a=x)", "xs.append(x)", "xs[0] = x", "s.add(x)", "del d['a']", "xs.sort()"],
)
def test_changes_are_refused(change):
    m = module("m", f"def f(x): {change}", d={"a": 1}, xs=[3, 2], s={1})
    with pytest.raises(
        CapturedWriteError, match=f"global `{'xs' if 'xs' in change else change[-6] if 0 else ''}"
    ):
        traced(m.f, 5)
    assert (m.d, m.xs, m.s) == ({"a": 1}, [3, 2], {1})


def test_own_containers_may_change():
    m = module(
        "m",
        "def f(x):\n    out = list(xs)\n    out.append(x)\n    d = dict(a=1)\n    d['b'] = x\n    return out, d",
        xs=[1],
    )
    assert traced(m.f, 5)[0] == ([1, 5], {"a": 1, "b": 5})


def test_functions_in_captured_tuples_are_followed_in_eager_runs() -> None:
    pair = collections.namedtuple("pair", "f n")(lambda x: np.array([x[0], x[1] * 2]), 2)
    for f in (lambda x: pair.f(x).sum(), lambda x: pair[0](x).sum() * pair.n):
        for run in (tj.grad(f), tj.jit(tj.grad(f)), lambda x: tj.vmap(tj.grad(f))(x[None])[0]):
            np.testing.assert_allclose(run(np.ones(2))[1], 2 * run(np.ones(2))[0])


def square(x: Any) -> Any:
    return np.full(2, x * x).sum() / 2


PDF = scipy.stats.norm.pdf
KEPT = {"pdf": scipy.stats.norm.pdf}
REGISTRY = {square: 2.0}
HELD: dict[str, Any] = {"f": square, "inner": {"fs": [square]}}
SPACE = types.SimpleNamespace(f=square, n=0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * REGISTRY.get(square, 10.0),
        lambda x: x * (2.0 if HELD["f"] is square else 1.0),
        lambda x: HELD["f"](x),
        lambda x: HELD["inner"]["fs"][0](x),
        lambda x: x * (2.0 if SPACE.f is square else 1.0) + SPACE.f(x),
        lambda x: sum(g(x) for g in (HELD["f"], *HELD["inner"]["fs"])),
    ],
)
def test_functions_in_containers_are_themselves_in_eager_transformations_too(f: Any) -> None:
    """As under jit: the same values and derivatives."""
    want = (f(3.0 + 1e-6) - f(3.0 - 1e-6)) / 2e-6
    assert np.isclose(tj.grad(f)(3.0), want)
    assert np.isclose(tj.jit(tj.grad(f))(3.0), want)
    assert np.isclose(tj.jvp(f, (3.0,), (1.0,))[1], want)
    assert tj.vmap(f)(np.array([3.0]))[0] == f(3.0)


def test_writes_into_containers_of_functions_happen_in_eager_transformations() -> None:
    calls: list[Any] = [square]
    table: dict[Any, int] = {square: 0, "n": 1}
    space = types.SimpleNamespace(f=square, n=0)

    def f(x):
        calls.append(cube)
        table[square] += 1
        table[cube] = 7
        del table["n"]
        space.n = 5
        return cube(x)

    def cube(x):
        return x**3

    assert tj.grad(f)(2.0) == 12.0
    assert calls == [square, cube] and table == {square: 1, cube: 7}
    assert (space.n, space.f) == (5, square)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: PDF(x),
        lambda x: KEPT["pdf"](x),
        lambda x: np.sum(r_[x, 2 * x]),
        lambda x: x * s_[1:].start,
        scipy.stats.norm.pdf,
    ],
)
def test_parts_of_libraries_by_names_of_their_own(f: Any) -> None:
    """`from numpy import r_`, and methods of SciPy's distributions that a name or a dict holds."""
    want = (f(0.3 + 1e-6) - f(0.3 - 1e-6)) / 2e-6
    assert np.isclose(tj.grad(f)(0.3), want)
    assert np.isclose(tj.jit(f)(0.3), f(0.3))
