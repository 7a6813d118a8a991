"""Signatures of calls: options resolved, leaves sorted into traced and fixed, names for messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracejit.api.jit.signature import Call, Options, is_dead
from tracejit.errors import UnhashableStaticError

X = np.ones(3)


def f(x: Any, y: Any = None, *, mode: Any = "a") -> Any:
    return x


def options(fun: Any = f, **given: Any) -> Options:
    names = ("static_argnums", "static_argnames", "donate_argnums", "donate_argnames")
    return Options(
        fun, *(given.get(n) for n in names), inline=False, keep_unused=False, fastmath=False, capture=True
    )


def call(*args: Any, opts: Options | None = None, **kwargs: Any) -> Call:
    return Call(f, opts or options(), args, kwargs)


def test_numbers_imply_names_and_back() -> None:
    assert options(static_argnums=1).static_names == {"y"}
    assert options(static_argnames="y").static_nums == {1}
    assert options(static_argnums=-1).static_nums == {1}
    assert options(lambda *a: a, static_argnums=5).static_nums == {5}


def test_keys() -> None:
    same = [call(X), call(X + 1), call(X[::-1])]
    other = [call(X, None, mode="b"), call(X.astype(int)), call((X,)), call(X, 1.0), call(X, np.float64(1))]
    assert len({c.key() for c in same}) == 1
    assert len({c.key() for c in [*same, *other]}) == 1 + len(other)


def test_strings_are_fixed_and_numbers_traced() -> None:
    c = call(X, {"s": "text", "n": 2}, mode="b")
    assert len(c.leaves) == 2 and sorted(map(str, c.fixed.values())) == ["b", "text"]
    assert c.weak == [False, True]
    args, kwargs = c.rebuild(["X", "N"], [])
    assert args == ("X", {"s": "text", "n": "N"}) and kwargs == {"mode": "b"}


def test_names_of_leaves() -> None:
    assert call(X, (X, X)).names() == ["`x`", "`y`[0]", "`y`[1]"]
    assert call(X, mode=X).names() == ["`x`", "`mode`"]
    assert call(y=X, x={"b": X, "a": X}).names() == ["`y`", "`x`['b']", "`x`['a']"]  # in the caller's order


def test_donated_leaves() -> None:
    opts = options(donate_argnums=(1,))
    assert call(X, (X, X), opts=opts).donated() == (1, 2) and call(X, opts=opts).donated() == ()
    assert call(y=X, x=X, opts=opts).donated() == (0,)


def test_objects_that_are_not_followed_are_compared_by_identity() -> None:
    class Equal:
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0

        def __getattribute__(self, name: str) -> object:
            return object.__getattribute__(self, name)

    one, other = Equal(), Equal()
    key = call(X, one).key()
    assert key != call(X, other).key() and key == call(X, one).key()
    assert not is_dead(key)
    del one
    assert is_dead(key) and key != call(X, Equal()).key()


def test_objects_that_are_followed_are_not_in_the_signature() -> None:
    class Plain:
        __slots__ = ()

    first, second = call(X, Plain()), call(X, Plain())
    assert first.key() == second.key() and len(first.objects) == 1


def test_unhashable_static() -> None:
    with pytest.raises(UnhashableStaticError, match=r"`y`.*list"):
        call(X, [1], opts=options(static_argnums=1)).key()
