"""debug.print and debug.callback: what is printed, when, and what a wrong format gives."""

from __future__ import annotations

import bdb
import io
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import DebugFormatError

X = np.array([1.0, 2.0, 3.0])


def test_it_prints_the_values_of_the_moment(capsys: Any) -> None:
    def f(x: Any, n: Any) -> Any:
        tj.debug.print("x = {}, n = {n:03d}, {{}} {s!r}", x, n=n, s="text")
        x = x * 2
        tj.debug.print("{x} {0:.2f} {x!s}", np.sum(x), x=x)
        return x

    want = "x = [1. 2. 3.], n = 007, {} 'text'\n[2. 4. 6.] 12.00 [2. 4. 6.]\n"
    for way in (f, tj.jit(f), tj.jit(lambda *a: tj.jit(f)(*a))):
        way(X, 7)
        assert capsys.readouterr().out == want


def test_trees_print_as_python_does(capsys: Any) -> None:
    tj.jit(lambda p: tj.debug.print("{}", p))({"w": X, "b": [1, 2]})
    assert capsys.readouterr().out == "{'w': array([1., 2., 3.]), 'b': [np.int64(1), np.int64(2)]}\n"


def test_between_prints_of_python(capsys: Any) -> None:
    @tj.jit
    def f(x: Any) -> Any:
        tj.debug.print("running {}", x)
        return x

    f(1.0)
    print("between")
    f(2.0)
    assert capsys.readouterr().out == "running 1.0\nbetween\nrunning 2.0\n"


def test_lanes_and_derivatives(capsys: Any) -> None:
    def f(x: Any) -> Any:
        tj.debug.print("{}", x)
        return x * x

    tj.vmap(f)(X)
    tj.jit(tj.vmap(tj.grad(f)))(X)
    assert capsys.readouterr().out == "1.0\n2.0\n3.0\n" * 2
    tj.grad(f)(5.0)
    tj.jit(tj.grad(tj.grad(f)))(5.0)
    tj.jvp(f, (5.0,), (1.0,))
    tj.hessian(f)(5.0)
    tj.jacrev(f)(5.0)
    assert capsys.readouterr().out == "5.0\n" * 5


def test_in_loops(capsys: Any) -> None:
    def f(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            lax.cond(i > 0, lambda: tj.debug.print("{i}: {c:.1f}", i=i, c=c, ordered=True), lambda: None)
            return c * 2

        return lax.fori_loop(0, 3, body, x)

    for way in (tj.jit(f), tj.grad(f), tj.jit(tj.grad(f))):
        way(1.0)
        assert capsys.readouterr().out == "1: 2.0\n2: 4.0\n"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: tj.debug.print("{x}", x), "there is no 'x'"),
        (lambda x: tj.debug.print("{} {}", x), "there is no argument 1"),
        (lambda x: tj.debug.print("{1}", x), "there is no argument 1"),
        (lambda x: tj.debug.print("{x}", x=x, y=x), "'y' is not used"),
        (lambda x: tj.debug.print("hello", x), "argument 0 is not used"),
        (lambda x: tj.debug.print("{", x), "single|expected|Single"),
        (lambda x: tj.debug.print("{x:.3f}", x=x), "numbers, not arrays"),
        (lambda x: tj.debug.print(x), "not a string"),
        (lambda x: tj.debug.print("{x:{w}}", x=x[0]), "there is no 'w'"),
    ],
)
def test_wrong_formats_are_found_while_tracing(call: Any, message: str) -> None:
    with pytest.raises(DebugFormatError, match=message):
        tj.make_jaxpr(call)(X)


def test_fields_may_look_inside(capsys: Any) -> None:
    tj.jit(lambda x: tj.debug.print("{x.shape} {x[1]:.1f} {t[k]} {n:{w}d}", x=x, t={"k": 5}, n=3, w=4))(X)
    assert capsys.readouterr().out == "(3,) 2.0 5    3\n"


def test_callback_gives_nothing() -> None:
    got: list[Any] = []
    f = tj.jit(lambda x: tj.debug.callback(lambda a, *, k: got.append((a, k)), x, k="text"))
    assert f(3.0) is None and got == [(3.0, "text")]


def test_breakpoint_shows_the_values_of_the_moment(monkeypatch: Any, capsys: Any) -> None:
    def f(x: Any, p: Any) -> Any:
        y = x * 2
        text, hidden = "abc", object()
        tj.debug.breakpoint(extra=y.sum())
        return y, text, hidden

    for way in (lambda *a: f(*a)[0], tj.jit(lambda *a: f(*a)[0])):
        monkeypatch.setattr("sys.stdin", io.StringIO("p y\np extra + p['k']\np text\nc\n"))
        way(X, {"k": 1})
        out = capsys.readouterr().out
        assert "test_debug.py:" in out and "(tjdb) array([2., 4., 6.])" in out
        assert "13.0" in out and "'abc'" in out and "hidden" not in out


def test_breakpoint_stops_in_every_step_and_can_be_left(monkeypatch: Any, capsys: Any) -> None:
    def f(x: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            tj.debug.breakpoint()
            return c + i

        return lax.fori_loop(0, 5, body, x)

    monkeypatch.setattr("sys.stdin", io.StringIO("p i, c\nc\np i, c\nq\n"))
    with pytest.raises(bdb.BdbQuit):
        tj.jit(f)(1.0)
    out = capsys.readouterr().out
    assert "(np.int64(0), np.float64(1.0))" in out and "(np.int64(1), np.float64(1.0))" in out
