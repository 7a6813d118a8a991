"""Why a function is traced again: each kind of change, named, with what was and what is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.test_util import assert_max_traces

V = np.ones(3)
scale = 2.0


class Point:
    """Not a pytree: an argument by identity."""


def made(**options: Any) -> Any:
    def f(x: Any, p: Any = None, n: int = 3, mode: str = "a", **more: Any) -> Any:
        return x * 2

    return tj.jit(f, **options)


@pytest.mark.parametrize(
    ("first", "then", "why"),
    [
        (lambda f: f(V), lambda f: f(np.ones(4)), "argument `x` changed from f64[3] to f64[4]"),
        (lambda f: f(V), lambda f: f(V.astype("f4")), "argument `x` changed from f64[3] to f32[3]"),
        (lambda f: f(V), lambda f: f(2.0), "argument `x` changed from f64[3] to a Python float"),
        (lambda f: f(2.0), lambda f: f(2), "argument `x` changed from a Python float to a Python int"),
        (lambda f: f(2.0), lambda f: f(V[0]), "from a Python float to f64[] (a NumPy scalar)"),
        (
            lambda f: f(V, {"a": V}),
            lambda f: f(V, {"a": V[:2]}),
            "argument `p`['a'] changed from f64[3] to f64[2]",
        ),
        (
            lambda f: f(V, {"a": V}),
            lambda f: f(V, {"b": V}),
            "the structure of argument `p` changed from {'a': *} to {'b': *}",
        ),
        (lambda f: f(V), lambda f: f(V, V), "the number of positional arguments changed from 1 to 2"),
        (lambda f: f(V, n=3), lambda f: f(V, n=4), "static argument `n` changed from 3 to 4"),
        (lambda f: f(V, None, 3), lambda f: f(V, None, 4), "static argument `n` changed from 3 to 4"),
        (lambda f: f(V, n=1), lambda f: f(V, n=True), "static argument `n` changed from 1 to True"),
        (lambda f: f(V, mode="a"), lambda f: f(V, mode="b"), "argument `mode` changed from 'a' to 'b'"),
        (lambda f: f(V, "a"), lambda f: f(V, "b"), "argument `p` changed from 'a' to 'b'"),
        (lambda f: f(V, np.sin), lambda f: f(V, np.cos), "argument `p` changed from <ufunc 'sin'> to <"),
        (lambda f: f(V, u=V), lambda f: f(V, v=V), "the keyword arguments changed from u to v"),
        (lambda f: f(V, u=[V]), lambda f: f(V, u=(V,)), "the structure of the keyword arguments changed"),
    ],
)
def test_signatures(first: Any, then: Any, why: str) -> None:
    f = made(static_argnames="n")
    first(f)
    assert list(f.retraces) == []
    then(f)
    (reason,) = f.retraces
    assert why in reason


def test_the_nearest_signature_is_compared_with() -> None:
    f = made()
    f(V, V)
    f(V[:2])
    f(V, V[:1])
    assert f.retraces[-1] == "argument `p` changed from f64[3] to f64[1]"


def test_names(monkeypatch: Any) -> None:
    f = tj.jit(lambda x: x * scale)
    f(V)
    monkeypatch.setitem(globals(), "scale", 3.0)
    f(V)
    assert list(f.retraces) == ["global `scale` changed from 2.0 to 3.0"]
    report = tj.explain(f)(V)
    assert report.retraces == list(f.retraces)
    assert "was traced again because" in str(report) and "from 2.0 to 3.0" in str(report)


def test_static_arguments_and_fixed_leaves_are_told_apart() -> None:
    f = tj.jit(lambda x, n, how: x * n, static_argnums=1)
    f(V, 2, "a")
    f(V, 3, "b")
    assert f.retraces[0] == "static argument `n` changed from 2 to 3; argument `how` changed from 'a' to 'b'"


def test_many_differences_are_cut() -> None:
    f = tj.jit(lambda xs: xs[0])
    f([V] * 9)
    f([V[:2]] * 9)
    assert f.retraces[0].count(";") == 3 and f.retraces[0].endswith("and 5 more")


def test_counting_traces_tells_why() -> None:
    f = tj.jit(lambda x: x + 1)
    f(V)
    with pytest.raises(AssertionError, match=r"argument `x` changed from f64\[3\]"), assert_max_traces(f, 0):
        f(V[:2])


def test_boxes_given_twice() -> None:
    inner = tj.jit(lambda a, b: a + b)
    tj.grad(lambda x, y: np.sum(inner(x, y) + inner(x, x)), (0, 1))(V, V)
    assert "which arguments are the same array changed" in inner.retraces[-1]


def test_another_order_in_memory_is_told() -> None:
    f = tj.jit(lambda x: x.reshape(-1) * 2.0)
    f(np.ones((2, 3)))
    f(np.asfortranarray(np.ones((2, 3))))
    assert f.retraces[-1] == "the order in memory of argument `x` changed"
