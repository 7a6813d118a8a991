"""Lists and dicts of `numba.typed`, among the arguments, captured, and made in traced code."""

from __future__ import annotations

import warnings
from typing import Any

import numba
import numpy as np
import pytest
from numba import typed, types

import tracejit as tj
from tracejit.errors import FallbackWarning, UnfollowedError

Dict: Any = typed.Dict  # what type checkers take for modules
List: Any = typed.List
X = np.arange(1.0, 6.0)


def _named() -> Any:
    named = Dict.empty(types.unicode_type, types.float64)
    named["a"], named["b"] = 2.0, 3.0
    return {"named": named}


def _numbers() -> Any:
    return {"numbers": List(X)}


def _long() -> Any:
    return {"numbers": List(np.linspace(0, 1, 40))}


GIVEN = {
    "weighted": lambda x, g: (x * g["numbers"][1], g["numbers"][0] / 2),
    "loop": lambda x, g: sum(v * w for v, w in zip(x, g["numbers"])),
    "by_index": lambda x, g: [g["numbers"][i] * x[i] for i in range(len(x))],
    "traced_index": lambda x, g: g["numbers"][np.argmax(x)] + 1,
    "named": lambda x, g: (
        x * g["named"]["a"],
        g["named"].get("c", -1.0),
        "b" in g["named"],
        len(g["named"]),
    ),
    "items": lambda x, g: {k: v + x[0] for k, v in g["named"].items()},
    "slice": lambda x, g: (len(g["numbers"][1:3]), g["numbers"][1:3][0], sum(g["numbers"][1:])),
    "classes": lambda x, g: (isinstance(g["numbers"], List), isinstance(g["numbers"], Dict)),
}


def _same(got: Any, want: Any) -> None:
    for a, b in zip(*map(tj.tree.leaves, (got, want)), strict=True):
        assert type(a) is type(b), (a, b)
        np.testing.assert_array_equal(a, b)


_DICTS = ("named", "items")


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.exhaustive) if n in _DICTS else n for n in GIVEN]
)
def test_given(name: str) -> None:
    _check_given(name, _named() if name in _DICTS else _numbers())


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["weighted", "traced_index", "slice"])
def test_longer_lists(name: str) -> None:
    _check_given(name, _long())


def _check_given(name: str, g: Any) -> None:
    f = GIVEN[name]
    jitted, captured = tj.jit(f, fallback=False), tj.jit(lambda x: f(x, g), fallback=False)
    for _ in range(2):
        _same(jitted(X, g), f(X, g))
        _same(captured(X), f(X, g))
        if "named" in g:
            g["named"]["a"] = 5.0  # seen by the next call
        else:
            g["numbers"][0], g["numbers"][1] = 7.0, 8.0
    if name == "weighted":
        assert jitted.trace_count == captured.trace_count == 1
    if "named" in g:
        g["named"]["c"] = 1.0
    else:
        g["numbers"].append(6.0)
    _same(jitted(X, g), f(X, g))
    _same(captured(X), f(X, g))


def grows(x: Any) -> Any:
    out = List()
    out.append(0.0)
    for v in x:
        if v > 2:
            out.append(v)
    return len(out)


def is_of_one_type(x: Any) -> Any:
    out = List([x[0]])
    out.append(2)
    out.insert(1, 3)
    out[0] = 1
    return out[1], out.pop(), len(out), out[0], out[1:][0], isinstance(out, List)


def counts(x: Any) -> Any:
    out = Dict.empty(types.int64, types.float64)
    for i in range(len(x)):
        out[i % 2] = out.get(i % 2, 0.0) + x[i]
    return out[0], out[1], len(out), 2 in out, bool(out)


def by_module(x: Any) -> Any:
    out = typed.List.empty_list(types.float64)
    for i in range(3):
        out.append(x[i])
        out.append(i)
    return [v / 2 for v in out]


MADE = [is_of_one_type, by_module, pytest.param(counts, marks=pytest.mark.exhaustive)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("f", MADE, ids=lambda f: f.__name__)
def test_made(f: Any) -> None:
    jitted = tj.jit(f, fallback=False)
    for x in (X, -X, 3 * X):
        _same(jitted(x), f(x))


def test_lists_that_grow_under_a_condition() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        for n in (3, 5, 300):
            assert tj.jit(grows, fallback=True)(np.arange(float(n))) == max(n - 3, 0) + 1


@pytest.mark.exhaustive
def test_lists_of_arrays() -> None:
    held = List([np.ones(2), np.arange(3.0)])

    def f(x: Any, held: Any) -> Any:
        return held[0] + x[0], len(held), held[1].sum()

    jitted = tj.jit(f, fallback=False)
    for _ in range(2):
        _same(jitted(X, held), f(X, held))
        held[0][:] = 3


def test_in_functions_of_numba() -> None:
    @numba.njit
    def total(values: Any, x: Any) -> Any:
        out = 0.0
        for i in range(len(values)):
            out += values[i] * x[i]
        return out

    values = List([1.0, 2.0, 3.0])
    assert tj.jit(total, fallback=False)(values, X) == total(values, X)
    assert tj.grad(lambda x: total(values, x))(X).tolist() == [1, 2, 3, 0, 0]
    assert tj.grad(grows_sum)(X).tolist() == [0, 0, 1, 1, 1]


def grows_sum(x: Any) -> Any:
    out = List()
    for v in x:
        if v > 2:
            out.append(v)
    return sum(out)


_HELD = List([1.0])


@pytest.mark.parametrize(
    ("f", "why"),
    [
        (lambda x: List([x[0]]), "List"),
        (lambda x: _HELD.append(2.0), "`append`"),
        (lambda x: _HELD.__setitem__(0, x[0]), "`a write`"),
        (lambda x: _HELD == List([1.0]), "`==`"),
        (lambda x: List([1.0]) == List([1.0]), "`==`"),
        (lambda x: List([1.0]).sort(), "`sort`"),
        (lambda x: List([1, x[0]]), "another type"),
        (lambda x: List([np.float32(1)]), "another type"),
        (lambda x: Dict.empty(types.int64, types.float32), "64 bits"),
    ],
)
def test_what_is_refused(f: Any, why: str) -> None:
    with pytest.raises(UnfollowedError, match=why):
        tj.jit(f, fallback=False)(X)
