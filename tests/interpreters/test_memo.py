"""Transformed jaxprs are remembered as long as the jaxpr lives."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.memo import kept, memoize_by_jaxpr
from tracejit.ir.jaxpr import Jaxpr
from tracejit.tracing import caller, current_trace


def program() -> Jaxpr:
    return tj.make_jaxpr(np.sin)(np.ones(3)).jaxpr


def test_once_for_each_set_of_arguments() -> None:
    calls: list[tuple[Jaxpr, int]] = []

    @memoize_by_jaxpr
    def transformed(jaxpr: Jaxpr, n: int) -> list[int]:
        calls.append((jaxpr, n))
        return [n]

    a, b = program(), program()
    assert transformed(a, 1) is transformed(a, 1)
    assert transformed(a, 2) is not transformed(a, 1) and transformed(b, 1) is not transformed(a, 1)
    assert calls == [(a, 1), (a, 2), (b, 1)]


def test_runs_under_the_root_whatever_is_current() -> None:
    @memoize_by_jaxpr
    def root(jaxpr: Jaxpr) -> bool:
        return current_trace() is ROOT

    jaxpr = program()
    tj.make_jaxpr(lambda x: x * root(jaxpr))(1.0)
    assert root(jaxpr)


def test_entries_die_with_the_jaxpr() -> None:
    class Result:
        pass

    @memoize_by_jaxpr
    def transformed(jaxpr: Jaxpr) -> Result:
        return Result()

    jaxpr = program()
    alive = weakref.ref(transformed(jaxpr))
    assert alive() is not None
    del jaxpr
    gc.collect()
    assert alive() is None


def test_a_result_holds_as_long_as_its_checks_and_those_inside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"same": True, "made": 0}

    @contextlib.contextmanager
    def followed() -> Iterator[list[Any]]:
        yield [lambda: state["same"]]

    @memoize_by_jaxpr
    def inner(jaxpr: Jaxpr) -> int:
        state["made"] += 1
        return state["made"]

    @memoize_by_jaxpr
    def outer(jaxpr: Jaxpr) -> int:
        with kept():
            return inner(jaxpr)

    monkeypatch.setattr(caller, "followed", followed)
    jaxpr = program()
    assert outer(jaxpr) == outer(jaxpr) == inner(jaxpr) == 1  # read in the inner one only
    state["same"] = False
    assert outer(jaxpr) == 2 and inner(jaxpr) == 3
    assert inner(other := program()) == inner(other) == 4  # not of a jitted function: nothing is followed
