"""`match` statements over traced values, against plain Python."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import UnfollowedError


class Kind(enum.IntEnum):
    LINEAR = 0
    SQUARE = 4


def values(x: Any, k: Any) -> Any:
    match k:
        case 0 | 1:
            y = x * 2
        case -3:
            y = x - 1
        case n if n > 10:
            y = x * n
        case Kind.SQUARE:
            y = x**2
        case _:
            y = -x
    return y


def pairs(x: Any, y: Any) -> Any:
    match (x, y):
        case (0, 0):
            return 1.0
        case (a, b) if a < b:
            return b - a
        case (0 | 5, b) as both:
            return b * 10.0 + both[0]
        case [a, *rest]:
            return a + rest[0] * 2.0
    return 0.0


def nested(x: Any, y: Any) -> Any:
    match [(x, 1), [y, x, 3.0]]:
        case [(a, 2), _]:
            return a
        case [[a, one], [*most, last]] if a > 0:
            return a + one + sum(most) * last
        case [_, (first, *_, last)]:
            return first * last


def looped(x: Any, n: Any) -> Any:
    total = 0.0
    for i in range(n):
        match i % 3:
            case 0:
                total += x
            case 1:
                if total > 4:
                    break
                total *= 1.1
            case other:
                match other + i:
                    case 4:
                        continue
                    case _:
                        total -= other * 0.01
        total += 0.001
    return total


def structures(x: Any) -> Any:
    match x:
        case [a, _b]:  # an array is a sequence to `match` since NumPy 2.5
            return a
        case np.ndarray():
            return x.sum()


def arrays(x: Any) -> Any:
    match x:
        case [a, _b]:
            return a
        case _:
            return x.sum()


def flags(x: Any) -> Any:
    match x > 1:
        case True:
            return 1.0
        case _:
            return 2.0


CASES: list[tuple[Callable[..., Any], list[tuple[Any, ...]]]] = [
    (values, [(2.0, k) for k in (0, 1, -3, 11, 4, 5)]),
    (pairs, [(0.0, 0.0), (1.0, 2.0), (2.0, 1.0), (0.0, -1.0), (5.0, 3.0)]),
    (nested, [(1.0, 2.0), (-1.0, 2.0)]),
    (looped, [(1.0, 7), (3.0, 9), (1.0, 0), (0.2, 12)]),
    (structures, [(np.arange(2.0),)]),
    (arrays, [(1 + np.arange(2.0),), (np.arange(3.0),)]),
    (flags, [(0.5,), (1.5,)]),
]


@pytest.mark.parametrize(("f", "calls"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_match(f: Callable[..., Any], calls: list[tuple[Any, ...]]) -> None:
    compiled = tj.jit(f)
    for args in calls:
        assert compiled(*args) == f(*args)


def test_match_is_a_native_branch_with_derivatives() -> None:
    slope = tj.jit(tj.grad(values))
    assert [slope(3.0, k) for k in (0, 11, 4, 7)] == [2, 11, 6, -1]
    lanes = tj.vmap(tj.jit(values), (None, 0))(2.0, np.array([1, -3, 4]))
    assert lanes.tolist() == [4, 1, 4]
    decisions = tj.explain(tj.jit(values))(2.0, 3).loops_and_branches
    assert len(decisions) == 4 and all(d.endswith("native branch") for d in decisions)


def test_what_match_looks_into_stays_pythons() -> None:
    def f(x: Any, options: Any) -> Any:
        match options:
            case {"scale": s}:
                return x * s
            case str():
                return x
            case int(k):
                return x + k

    for options in ({"scale": 3.0}, "a"):
        assert tj.jit(f, static_argnums=() if type(options) is dict else 1)(2.0, options) == f(2.0, options)
    assert tj.jit(f, static_argnums=1)(2.0, 5) == 7


def test_guards_with_names_and_scopes_of_their_own() -> None:
    def f(x: Any, k: Any) -> Any:
        match k:
            case n if (m := n + 1) > 2 or any(n == j for j in range(1)):
                return x * m
            case _:
                return x + m

    compiled = tj.jit(f)
    for k in (np.int64(2), np.int64(-4), 2, 1, 0):
        assert compiled(1.0, k) == f(1.0, k)


def test_names_stay_bound_where_the_guard_does_not_hold() -> None:
    def f(x: Any, k: Any) -> Any:
        a = n = 0.5
        match k:
            case [a, n] if a > n:
                x = x + 1.0
            case n if n == 3:
                x = x + 2.0
            case [a, _] if False:
                x = x + 3.0
            case _:
                x = x + 4.0
        return x, a, n if n is not k else 7

    compiled = tj.jit(f, static_argnums=1)
    for k in ((1.0, 2.0), (2.0, 1.0), 3, 4, (5.0, 5.0)):
        assert compiled(1.0, k) == f(1.0, k)


def test_names_of_traced_patterns_stay_bound() -> None:
    def f(x: Any, k: Any) -> Any:
        a, n = 0.5, 1.5
        match (k, x):
            case (a, 3.0) if a > 1.0:
                x = x + 1.0
            case (n, _) if n > 2.0:
                x = x + 2.0
        return x, a, n

    compiled = tj.jit(f)
    for x, k in ((3.0, 2.0), (3.0, 0.5), (2.0, 4.0), (2.0, 1.0)):
        assert compiled(x, k) == f(x, k)


def test_numbers_are_captured_by_their_class_and_dicts_by_their_keys() -> None:
    def f(x: Any) -> Any:
        match x:
            case bool(b):
                return "bool", b
            case int(n) if n > 10:
                return "large", n * 2
            case int(n):
                return "int", n
            case float(0.5 | 2.5 as v):
                return "known", v
            case str(s):
                return "text", s
            case {"a": int(n), "b": q, **rest}:
                return n + q, rest
            case {"a": [p, *_]}:
                return "list", p
            case {}:
                return "dict", len(x)
        return "other", x

    compiled = tj.jit(f, fallback=False)
    given = (
        True,
        3,
        30,
        0.5,
        1.5,
        {"a": 1, "b": 2.5, "c": 4},
        {"a": [2.0, 1.0]},
        {"a": 1.5, "b": 1},
        {"c": 1},
        {},
    )
    for x in (*given, (1, 2)):
        assert compiled(x) == f(x), x


def test_a_class_of_the_users_with_a_name_of_pythons() -> None:
    class int:
        __match_args__ = ("n",)

        def __init__(self, n: Any) -> None:
            self.n = n

    def f(x: Any) -> Any:
        match int(x):
            case int(n):
                return n * 2

    with pytest.raises(UnfollowedError, match="has the name"):
        tj.jit(f, fallback=False)(3.0)


def test_lists_and_dicts_of_traced_length_are_matched() -> None:
    def lists(r: Any) -> Any:
        match [q for q in (0.5, 1.5, 2.5) if q > r]:
            case []:
                return -1.0
            case [q]:
                return q
            case [q, _]:
                return q + 10
        return -2.0

    def dicts(k: Any) -> Any:
        held: dict[int, Any] = {}
        for i in range(len(k)):
            held[k[i].item()] = i
        match held:
            case {3: n, 4: m}:
                return n - m
            case {3: n}:
                return n
        return len(held)

    compiled = tj.jit(lists, fallback=False)
    for r in (0.0, 1.0, 2.0, 3.0):
        assert compiled(r) == lists(r)
    compiled = tj.jit(dicts, fallback=False)
    for k in ([1, 2, 3] * 8, [3, 4, 1] * 8, [5, 6, 7] * 8):
        assert compiled(np.array(k)) == dicts(np.array(k))
