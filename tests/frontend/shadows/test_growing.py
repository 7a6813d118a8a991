"""Lists of outside to which a function appends: one program for all lengths."""

from __future__ import annotations

import collections
import copy
import json
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import UnfollowedError
from tracejit.frontend.paths import argument
from tracejit.frontend.shadows.growing import CLASSES, Growing, Short, example


class Filter:
    """A Kalman filter of one number that keeps its history."""

    def __init__(self) -> None:
        self.x, self.p, self.t = 0.0, 1.0, 0
        self.xs: list[Any] = []
        self.log: dict[str, list[Any]] = {"gain": [], "time": []}
        self.late: Any = collections.deque(maxlen=5)

    def step(self, z: Any) -> Any:
        self.t += 1
        p = self.p + 0.1
        gain = p / (p + 1)
        self.x = self.x + gain * (z - self.x)
        self.p = (1 - gain) * p
        self.xs.append(self.x)
        self.log["gain"] += [gain]
        self.log["time"].append(self.t)
        self.late.append(z)
        return self.xs[-1] - self.xs[-2] if len(self.xs) > 1 else self.x


def test_ten_thousand_calls_of_a_method_with_a_history_are_one_program() -> None:
    ours, theirs = Filter(), Filter()
    step = tj.jit(Filter.step)
    zs = np.random.default_rng(0).normal(size=10_000).tolist()
    for z in zs:
        step(ours, z)
        Filter.step(theirs, z)
    assert step.trace_count <= 3
    assert np.allclose(ours.xs, theirs.xs, rtol=1e-12, atol=0) and ours.log["time"] == theirs.log["time"]
    assert np.allclose(ours.log["gain"], theirs.log["gain"], rtol=1e-12, atol=0)
    assert ours.late == theirs.late and len(ours.xs) == 10_000
    assert set(map(type, ours.xs)) == {float}


def test_another_list_is_another_history_of_one_program() -> None:
    step = tj.jit(Filter.step)
    filters = [Filter() for _ in range(20)]
    for _ in range(3):
        for f in filters:
            step(f, 1.0)
    assert step.trace_count <= 3 and all(len(f.xs) == 3 for f in filters)


def _growing(items: Any) -> Growing:
    class Session:
        """Gives items as they are."""

        def wrap(self, node: Any, value: Any) -> Any:
            return value

        def check(self, *_: Any) -> None:
            return None

        turn = check

    session: Any = Session()
    return Growing(session, argument(0, "log"), items)


def test_it_is_as_the_list_where_it_answers() -> None:
    for cls in CLASSES:
        x, plain = _growing(cls([1, 2, 3])), cls([1, 2, 3])
        for y in (x, plain):
            y.append(4)
            y.extend((5, 6))
            y += [7]
            y[-1] = 8
            assert y.pop() == 8
        assert x.tj_count() == len(plain) and bool(x)
        assert [x[n] for n in range(-6, 3)] == [plain[n] for n in range(-6, 3)]
        assert example(x) == cls() and type(example(x)) is cls
    x, xs = _growing([1, 2, 3]), [1, 2, 3, 4]
    x.append(4)
    assert [x[-n:] for n in range(1, 5)] == [xs[-n:] for n in range(1, 5)]


WHOLE: Any = (iter, len, list, repr, str, reversed, copy.copy, copy.deepcopy, lambda x: x + [1], lambda x: [1] + x,
         lambda x: x * 2, lambda x: x == [1], lambda x: x < [1], lambda x: 1 in x, lambda x: x[:], lambda x: x[1:],
         lambda x: x.sort(), lambda x: x.pop(0), lambda x: x.index(1), lambda x: x.__setitem__(0, 1), json.dumps,
         lambda x: x.__delitem__(0), lambda x: [*x], lambda x: f"{x}", lambda x: x[-1:None:-1],
         lambda x: x.clear())  # fmt: skip


@pytest.mark.parametrize("n", range(len(WHOLE)))
def test_what_needs_the_whole_list_is_refused(n: int) -> None:
    x = _growing([1, 2])
    with pytest.raises((UnfollowedError, TypeError)) as e:
        WHOLE[n](x)
    if isinstance(e.value, UnfollowedError):
        assert e.value.places == (x.tj_node.place(),)


def test_a_short_list_is_refused_up_to_the_item() -> None:
    for use, depth in ((lambda x: x[-3], 3), (lambda x: x[4], 5), (lambda x: x[-5:], 5)):
        x = _growing([1, 2])
        with pytest.raises(UnfollowedError) as e:
            use(x)
        assert e.value.places == (Short(x.tj_node.place(), depth),)


def test_a_full_window_moves() -> None:
    x = _growing(collections.deque([1, 2, 3], maxlen=3))
    assert (x[0], x[-3]) == (1, 1)
    x.append(4)
    assert (x[-1], x[-2], x[-3]) == (4, 3, 2)
    for use in (lambda x: x[0], lambda x: x[-4], lambda x: x.pop(), lambda x: x.tj_count()):
        with pytest.raises(UnfollowedError):
            use(x)


def test_what_a_list_has_not_is_missing() -> None:
    with pytest.raises(AttributeError, match="'list' object has no attribute 'push'"):
        _growing([]).push(1)


def test_a_list_that_is_used_as_a_whole_is_pythons_in_the_end() -> None:
    log: list[float] = []

    def f(x: Any) -> Any:
        log.append(x)
        return sum(log)

    with tj.config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        g = tj.jit(f)
        assert [g(1.0) for _ in range(20)] == list(range(1, 21))
