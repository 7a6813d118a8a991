"""Logging, warnings, streams and the clock in compiled programs: what is seen, and where it says to come from."""

from __future__ import annotations

import io
import logging
import sys
import time
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj

X = np.arange(3.0)


def test_streams_and_buffers() -> None:
    out = io.StringIO()

    def f(x: Any) -> Any:
        n = out.write(f"{x[0]}\n")
        print(x, file=out, flush=True)
        out.writelines([f"{v:.1f}" for v in x])
        own = io.StringIO()
        own.write("own: ")
        print(x[1], x[2], sep="/", end=";", file=own)
        return n, own.getvalue(), n * x

    compiled, seen = tj.jit(f), []
    for g in (f, compiled, compiled):
        out.seek(0)
        out.truncate()
        n, text, y = g(X + 1)
        seen.append((n, text, y.tolist(), type(n), out.getvalue()))
    assert seen[0] == seen[1] == seen[2]


def test_a_branch_writes_into_its_buffer() -> None:
    def f(x: Any) -> Any:
        own = io.StringIO()
        if x > 1:
            own.write(f"large {x}")
        else:
            own.write("small")
        return own.getvalue()

    compiled = tj.jit(f)
    assert [compiled(x) for x in (0.5, 2.5)] == [f(0.5), f(2.5)] and compiled.trace_count == 1


def helper(x: Any, level: int) -> None:
    if x[0] > 0:
        warnings.warn(f"from level {level}: {x[0]}", RuntimeWarning, stacklevel=level)
    LOG.warning("at level %d", level, stacklevel=level)


def through(x: Any) -> Any:
    for level in (1, 2, 3):
        helper(x, level)
    return x * 2


class Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def emit(self, r: logging.LogRecord) -> None:
        self.seen.append(
            (r.name, r.levelname, r.getMessage(), r.args, r.filename, r.lineno, r.funcName, r.module)
        )


LOG = logging.Logger("test_logs")


def call(f: Any, x: Any) -> Any:
    return f(x)


def test_lines_functions_and_registries_are_the_users() -> None:
    handler = Records()
    LOG.addHandler(handler)
    found = []
    compiled = tj.jit(through)
    for f in (through, compiled, compiled):
        handler.seen.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(f, X + 1)
        found.append(
            (handler.seen.copy(), [(str(w.message), w.category, w.filename, w.lineno) for w in caught])
        )
    assert found[0] == found[1] == found[2] and compiled.trace_count == 1
    LOG.removeHandler(handler)


def test_warnings_that_are_shown_once() -> None:
    def f(x: Any) -> Any:
        for _ in range(3):
            warnings.warn(f"once {x.size}", UserWarning, stacklevel=1)
        return x

    counts = []
    for g in (f, tj.jit(f)):
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            g(X)
            g(X)
        counts.append(len(caught))
    assert counts == [1, 1]


class Degenerate(RuntimeWarning):
    def __init__(self, text: str | None = None) -> None:
        super().__init__("degenerate" if text is None else text)


def test_warnings_that_are_objects() -> None:
    def f(x: Any) -> Any:
        if x[0] == x[1]:
            warnings.warn(Degenerate(), stacklevel=1)
            warnings.warn(Degenerate(f"at {x[0]}"), stacklevel=1)
        return 2 * x

    found, compiled = [], tj.jit(f)
    for g in (f, compiled):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            g(X)
            g(X * 0 + 3)
        found.append([(type(w.message), w.message.args, w.lineno) for w in caught])  # type: ignore[union-attr]
    assert found[0] == found[1] and len(found[0]) == 2 and compiled.trace_count == 1


def test_warnings_as_errors_are_pythons() -> None:
    def f(x: Any) -> Any:
        x[0] = 1.0
        warnings.warn("raised", RuntimeWarning, stacklevel=1)
        x[1] = 7.0
        return x

    compiled = tj.jit(f)
    for action in ("ignore", "error", "ignore"):
        with warnings.catch_warnings():
            warnings.simplefilter(action)  # type: ignore[arg-type]
            x = X.copy()
            if action == "error":
                with pytest.raises(RuntimeWarning, match="raised"):
                    compiled(x)
                assert x.tolist() == [1, 1, 2]
            else:
                assert compiled(x) is x and x.tolist() == [1, 7, 2]


def test_levels_are_those_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    handler, log = Records(), logging.getLogger("test_logs.levels")
    monkeypatch.setattr(log, "handlers", [handler])

    def f(x: Any) -> Any:
        log.info("%s and %r", x, {"a": x[0]})
        if log.isEnabledFor(logging.INFO):
            log.log(logging.INFO, f"{x[1]:.1f}")
        return x

    compiled = tj.jit(f)
    compiled(X)
    assert handler.seen == []
    log.setLevel(logging.INFO)
    compiled(X)
    log.setLevel(logging.NOTSET)
    assert [r[2] for r in handler.seen] == ["[0. 1. 2.] and {'a': np.float64(0.0)}", "1.0"]
    assert [r[5] for r in handler.seen] == [f.__code__.co_firstlineno + 1, f.__code__.co_firstlineno + 3]
    assert compiled.trace_count == 1


def test_the_clock_is_read_at_every_call() -> None:
    def f(x: Any) -> Any:
        start = time.perf_counter()
        time.sleep(0.001)
        return time.perf_counter() - start, time.time(), time.monotonic_ns(), x

    compiled = tj.jit(f)
    first, second = compiled(X), compiled(X)
    assert [type(v) for v in first[:3]] == [float, float, int]
    assert first[0] >= 0.001 and abs(first[1] - time.time()) < 60 and first[2] < second[2]


def test_stdout_is_looked_up_when_something_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = tj.jit(lambda x: (print("a", x[0]), sys.stdout.write("b\n"), print("c", file=sys.stderr))[1])
    for _ in range(2):
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        compiled(X)
        assert (out.getvalue(), err.getvalue()) == ("a 0.0\nb\n", "c\n")


def test_what_a_stream_raises_comes_out() -> None:
    out = io.StringIO()
    compiled = tj.jit(lambda x: print(x, file=out))
    compiled(X)
    out.close()
    with pytest.raises(ValueError, match="I/O operation on closed file"):
        compiled(X)


def test_what_may_be_caught_is_refused() -> None:
    def f(x: Any) -> Any:
        try:
            print(x, file=out)
        except ValueError:
            return "closed"
        return "open"

    out = io.StringIO()
    compiled = tj.jit(f, fallback=True)
    with pytest.warns(tj.errors.FallbackWarning):
        assert compiled(X) == "open"
    out.close()
    assert compiled(X) == "closed"
