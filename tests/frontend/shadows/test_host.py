"""What callbacks are behind their stand-ins, and which guards they leave."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import tracejit as tj
from tests.frontend.fake import traced
from tracejit.frontend import users_own

W = np.ones(3)
LOG: list[Any] = []


def helper(x: Any) -> Any:
    return x + W


def test_outside_of_a_trace_things_are_themselves() -> None:
    for thing in (helper, np.sin, LOG, 3, LOG.append):
        assert users_own(thing) == thing


def test_functions_methods_and_containers_are_the_users() -> None:
    local: list[int] = []

    class Model:
        def look(self) -> Any:
            return self

    model = Model()
    partial = functools.partial(helper, 2.0)

    def f() -> None:
        things = (helper, LOG, local.append, model.look, partial, W, Model, [helper], np.sin)
        hold(things, users_own(things[0]), *map(users_own, things[1:]))

    def hold(_: Any, *own: Any) -> None:
        kept.extend(own)

    kept = Kept()
    traced(f)
    own = kept.items
    assert own[0] is helper and own[1] is LOG and own[5] is W and own[6] is Model
    assert own[2].__self__ is local and own[3].__self__ is model and own[4].func is helper
    assert own[7][0] is helper and own[8](0.0) == 0.0


class Kept:
    """Keeps what it is given, unseen by the frontend: its class is not followed as a list's is."""

    items: list[Any]

    def __init__(self) -> None:
        object.__setattr__(self, "items", [])

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)

    def extend(self, xs: Any) -> None:
        object.__getattribute__(self, "items").extend(xs)

    def append(self, x: Any) -> None:
        object.__getattribute__(self, "items").append(x)


def test_functions_made_while_tracing_get_real_names() -> None:
    kept = Kept()
    seen: list[Any] = []

    def f(scale: Any) -> None:
        inner = lambda x: (seen.append(x), helper(x) * scale)[1]

        def recursive(n: Any, base: Any = W) -> Any:
            return base if n == 0 else recursive(n - 1)

        kept.append(users_own(inner))
        kept.append(users_own(recursive))

    traced(f, 3.0)
    inner, recursive = kept.items
    assert inner.__globals__ is globals() and recursive.__globals__ is globals()
    np.testing.assert_array_equal(inner(1.0), [6, 6, 6])
    assert seen == [1.0] and recursive(3) is W


def test_guards_of_what_only_a_callback_reads_go() -> None:
    seen: list[Any] = []
    limit = 3.0

    def cb(x: Any) -> Any:
        seen.append(x)
        return x

    def f(x: Any) -> Any:
        users_own(cb)
        return x * limit

    _, guards, _ = traced(f, 1.0)
    seen.append(1)
    assert guards.check() and guards.why() is None
    limit = 4.0
    assert not guards.check()


def test_guards_of_what_traced_code_reads_too_stay() -> None:
    seen: list[Any] = []

    def cb(x: Any) -> Any:
        seen.append(x)
        return x

    def reads(x: Any) -> Any:
        users_own(cb)
        return x + len(seen)

    def calls(x: Any) -> Any:
        users_own(cb)
        return x if x else cb(x)

    for f in (reads, calls):
        _, guards, _ = traced(f, 1.0)
        seen.append(1)
        assert not guards.check()


def test_a_lambda_that_is_called_too_is_guarded() -> None:
    factor = [2.0]

    @tj.jit
    def f(x: Any) -> Any:
        double = lambda v: v * factor[0]
        tj.debug.callback(double, x)
        return double(x)

    assert f(1.0) == 2.0
    factor[0] = 3.0
    assert f(1.0) == 3.0
