"""Entries of programs: done at once, or put off until a program has ended that may be given up."""

from __future__ import annotations

import contextlib
import io
import threading
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.control.callbacks import journal


def said(f: Any, *args: Any) -> tuple[str, Any]:
    """What a call prints, and its result or exception."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            result = f(*args)
        except Exception as e:
            result = type(e), str(e)
    return out.getvalue(), result


def counted(x: Any, n: Any) -> Any:
    for step in range(n):
        x = x * 0.5
        print(step, x)
    return x


def looked_up(x: Any, i: Any) -> Any:
    print("first", x[0])
    y = x[i]
    print("then", y)
    return y


def test_entries_of_a_loop_come_in_order() -> None:
    assert said(tj.jit(counted), 1.0, 50) == said(counted, 1.0, 50)


def test_a_call_that_is_done_over_prints_once() -> None:
    compiled, x = tj.jit(looked_up, fallback=True), np.arange(3.0)
    for i in (7, 1, 2, 7, 0, -9):
        assert said(compiled, x, i) == said(looked_up, x, i), i
    assert compiled.trace_count == 1


def test_without_python_entries_before_the_failure_are_done() -> None:
    text, error = said(tj.jit(looked_up, fallback=False), np.arange(3.0), 7)
    assert text == "first 0.0\n" and issubclass(error[0], IndexError)


def test_a_program_without_checks_does_them_at_once() -> None:
    seen: list[str] = []

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            seen.append(text)
            if len(seen) == 5:
                raise KeyboardInterrupt
            return len(text)

    def f(x: Any) -> Any:
        for _ in range(1000):
            x = x * 0.5
            print("-", end="")
        return x

    with contextlib.redirect_stdout(Stream()), pytest.raises(KeyboardInterrupt):
        tj.jit(f)(np.ones(3))
    assert len(seen) == 5


def test_collected_entries_are_those_of_one_run() -> None:
    done: list[int] = []

    class Make:
        def compiled(self) -> Any:
            return lambda x: (int(x),)

    entry, at_once = (journal.Entry("n", done.append, Make(), at_once=now) for now in (False, True))
    with journal.collected(True):
        entry(1)
        with journal.collected(False):
            entry(2)
        at_once(3)
        assert done == [2, 3]
    assert done == [2, 3, 1]
    with pytest.raises(ZeroDivisionError), journal.collected(True):  # no check has raised this
        entry(4)
        raise ZeroDivisionError
    assert done[-1] == 4


def test_threads_have_their_own() -> None:
    compiled = tj.jit(looked_up, fallback=True)
    x, texts = np.arange(3.0), {}

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            texts.setdefault(threading.get_ident(), []).append(text)
            return len(text)

    def run() -> None:
        for _ in range(50):
            compiled(x, 1)

    with contextlib.redirect_stdout(Stream()):
        run()
        threads = [threading.Thread(target=run) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    for parts in texts.values():  # of one or more threads, whose numbers may be used again
        assert "".join(parts) == "first 0.0\nthen 1.0\n" * (len(parts) // 8)
    assert sum(map(len, texts.values())) == 5 * 50 * 8


def test_derivatives_print_once_and_lanes_each() -> None:
    def loss(x: Any) -> Any:
        print("x", x[0])
        return (x * x).sum()

    x = np.array([1.0, 2.0])
    for f in (tj.jit(tj.grad(loss)), tj.grad(tj.jit(loss)), tj.jit(tj.grad(tj.checkpoint(loss)))):
        text, gradient = said(f, x)
        assert text == "x 1.0\n" and gradient.tolist() == [2, 4]
    assert said(tj.vmap(tj.jit(loss)), np.stack([x, x + 1]))[0] == "x 1.0\nx 2.0\n"
    assert said(tj.jit(lambda x: tj.jvp(loss, (x,), (x,))), x)[0] == "x 1.0\n"


def test_explain_lists_them() -> None:
    report = tj.explain(looked_up)(np.arange(3.0), 1)
    assert [what.partition(" (at")[0] for what in report.callbacks] == ["print", "print"]
    assert "test_journal.py:" in report.callbacks[0]
