"""Captured containers: structure and entries are guarded, changes while tracing refused."""

from __future__ import annotations

import collections
from typing import NamedTuple

import numpy as np
import pytest

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
