"""What functions change in containers and objects among their arguments is changed where there are arrays on devices,
in compiled functions and in those that Python runs on copies."""

from __future__ import annotations

import collections
import dataclasses
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING

X = np.arange(3.0)


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    with tj.config.override(cuda=SETTING, fallback=True):
        yield


@dataclasses.dataclass
class State:
    x: Any
    n: int = 0


@dataclasses.dataclass(slots=True)
class Slim:
    x: Any
    n: int = 0


class Pair(NamedTuple):
    x: Any
    log: list[Any]


def into_list(c, x):
    c.append(x[0])
    c[1] = 7


def out_of_list(c, x):
    c.insert(0, c.pop())


def into_dict(c, x):
    c["new"] = c.pop("x") is x
    c["n"] += 1


def reordered(c, x):
    c["x"] = c.pop("x")


def into_object(c, x):
    c.n = c.n + 1


def into_attributes(c, x):
    c.other = 3
    c.n = c.other + c.n


def swapped(c, x):
    c[0], c[1] = c[1], c[0]


def inside(c, x):
    c["s"].n = 5
    c["l"][0].append(1)


def into_pair(c, x):
    c.log.append((1, c.log[0]))


def stopped(c, x):
    c.append(1)
    raise KeyError("stopped")


CASES: list[tuple[Any, Any]] = [
    (into_list, lambda x: [x, 1]),
    (into_list, lambda x: [1, 2]),
    (out_of_list, lambda x: [1, x]),
    (into_list, lambda x: collections.deque([x, 1])),
    (into_dict, lambda x: {"x": 1, "n": 1}),
    (reordered, lambda x: {"x": x, "n": 1}),
    (into_object, State),
    (into_object, Slim),
    (into_attributes, State),
    (swapped, lambda x: [x, [1]]),
    (inside, lambda x: {"s": State(x), "l": ([x], 2)}),
    (into_pair, lambda x: Pair(x, [x])),
    (stopped, lambda x: [x]),
]


def plain(x: Any) -> Any:
    """A container with its attributes, and with arrays as lists."""
    if isinstance(x, (list, tuple, collections.deque)):
        return type(x).__name__, [plain(v) for v in x]
    if isinstance(x, dict):
        return [(k, plain(v)) for k, v in x.items()]
    if isinstance(x, (State, Slim)):
        return {n: plain(getattr(x, n)) for n in ("x", "n", "other") if hasattr(x, n)}
    return np.asarray(tj.device_get(x)).tolist()


@pytest.mark.parametrize("by_python", [False, True], ids=["compiled", "by Python"])
@pytest.mark.parametrize(("f", "make"), CASES)
@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_arguments_are_changed(f: Any, make: Any, by_python: bool) -> None:
    def run(c, x):
        if by_python:
            uuid.uuid4()
        f(c, x)
        return x * 2

    want = make(X)
    try:
        run(want, X)
    except KeyError as e:
        assert e.args == ("stopped",)
    there = tj.device_put(X, "cuda")
    jitted = tj.jit(run, device="cuda")
    for x in (X, there):
        for _ in range(2):  # the second call goes another way
            c = make(there)
            parts = list(c) if isinstance(c, list) else []
            try:
                got = jitted(c, x)
                np.testing.assert_array_equal(tj.device_get(got), X * 2)
            except KeyError as e:
                assert e.args == ("stopped",)
            assert plain(c) == plain(want)
            held = [v for v in tj.tree.leaves(c) if isinstance(v, (np.ndarray, type(there))) and np.ndim(v)]
            assert all(v is there for v in held), "the caller's own arrays"
            assert f is not swapped or (c[0] is parts[1] and c[1] is there)


def test_what_a_function_only_reads_stays_the_same_object() -> None:
    there, seen = tj.device_put(X, "cuda"), []
    note = {"n": 1}
    tj.jit(lambda x, c: x * c["n"], device="cuda")(there, note)
    with pytest.warns(tj.errors.FallbackWarning):
        tj.jit(lambda x, c: (seen.append(c), uuid.uuid4())[0], device="cuda")(there, note)
    assert seen[0] is note


class Base:
    __slots__ = "note"  # one slot, by its name alone


@dataclasses.dataclass(slots=True)
class Noted(Base):
    x: Any


def test_a_slot_that_is_declared_by_its_name_alone() -> None:
    def f(c: Any) -> Any:
        c.note = 3
        uuid.uuid4()  # Python runs it
        return c.x * 2

    c = Noted(tj.device_put(X))
    with pytest.warns(tj.errors.FallbackWarning):
        tj.jit(f, device="cuda")(c)
    assert c.note == 3
