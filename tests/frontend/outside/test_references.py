"""Weak references to objects of outside, and names of the fields of structured dtypes."""

from __future__ import annotations

import gc
import queue
import weakref
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import CapturedWriteError, FallbackWarning, UnfollowedError


class Node:
    """An object that others refer to."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    def scaled(self, x: Any) -> Any:
        return np.full(2, x) * self.weight


def test_a_weak_reference_gives_what_stands_for_the_object() -> None:
    node, array = Node(3.0), np.ones(2)
    to_node, to_array = weakref.ref(node), weakref.ref(array)

    def f(x: Any) -> Any:
        seen.append((to_node() is node, to_array() is array, to_node == weakref.ref(node)))
        return to_node().scaled(x).sum() + (to_array() * x).sum()

    seen: list[Any] = []
    assert tj.value_and_grad(f)(2.0) == (16.0, 8.0)
    assert seen == [(True, True, True)]


def test_weak_containers_would_hold_what_stands_for_objects() -> None:
    """In the end such a key would be gone."""
    node, found = Node(3.0), weakref.WeakKeyDictionary()

    def f(x: Any) -> Any:
        found[node] = found.get(node, 0.0) + 1.0
        return x * found[node]

    with pytest.raises(UnfollowedError, match="holds objects"):
        tj.grad(f)(1.0)
    assert not found
    with tj.config.override(fallback=True), pytest.warns(FallbackWarning):
        assert tj.jit(f)(2.0) == 2.0 and found[node] == 1.0


def test_queues_would_give_others_than_the_run_has() -> None:
    node, waiting = Node(3.0), queue.Queue()
    waiting.put(node)

    def f(x: Any) -> Any:
        taken = waiting.get()
        waiting.put(taken)
        return x * (1.0 if taken is node else 5.0)

    with pytest.raises(UnfollowedError, match="`Queue` holds objects"):
        tj.grad(f)(1.0)
    assert waiting.qsize() == 1
    with tj.config.override(fallback=True), pytest.warns(FallbackWarning):
        assert tj.jit(f)(2.0) == 2.0


def test_a_dead_reference_is_dead() -> None:
    node = Node(1.0)
    reference = weakref.ref(node)
    del node
    gc.collect()
    assert tj.grad(lambda x: x * (1.0 if reference() is None else 5.0))(1.0) == 1.0


def test_references_that_are_kept_are_the_users() -> None:
    node = Node(3.0)
    reference, kept = weakref.ref(node), []
    tj.grad(lambda x: (kept.append(reference), x)[1])(1.0)
    assert kept[0] is reference


DTYPE = np.dtype([("x", "f8"), ("y", "f8")])
HELD = np.zeros(2, DTYPE)


def _of_a_global(x: Any) -> Any:
    DTYPE.names = ("p", "q")
    return 2 * x


def _of_an_array(x: Any) -> Any:
    HELD.dtype.names = ("p", "q")
    return 2 * x


@pytest.mark.parametrize("f", [_of_a_global, _of_an_array])
def test_names_of_fields_are_not_assigned_while_tracing(f: Any) -> None:
    dtype = DTYPE if f is _of_a_global else HELD.dtype
    dtype.names = ("x", "y")
    with pytest.raises(CapturedWriteError, match="names"):
        tj.jit(f, fallback=False)(1.0)
    assert dtype.names == ("x", "y")
    with tj.config.override(fallback=True), pytest.warns(FallbackWarning):
        assert tj.jit(f)(1.0) == 2.0
    assert dtype.names == ("p", "q")
    dtype.names = ("x", "y")


def test_names_of_fields_of_an_argument_are_not_assigned_while_tracing() -> None:
    def f(a: Any) -> Any:
        a.dtype.names = ("p", "q")
        return a["x"].sum()  # not there, to Python

    a = np.zeros(2, [("x", "f8"), ("y", "f8")])
    with pytest.raises(Exception):  # noqa: B017 - of the assignment, or of what it leads to
        tj.jit(f, fallback=False)(a)
    assert a.dtype.names == ("x", "y")
