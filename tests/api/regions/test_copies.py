"""Functions that fall back, with their parts compiled: what pays is native, and nothing of the function changes."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import all_parts
from tracejit.api.regions.gain import rules
from tracejit.config import config

X = np.array([0.5, 1.5, -2.0, 3.0])


class Log(list[Any]):
    """What is appended to it is refused: its class has a length of its own."""

    def __len__(self) -> int:
        return super().__len__()


log = Log()


@pytest.fixture(autouse=True)
def _on() -> Iterator[None]:
    with config.override(fallback=True, regions=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        yield
    log.clear()


def regions_of(f: Any) -> list[Any]:
    return [part for part in f.python.callee.copies.parts.values() if hasattr(part, "gain")]


def outer(n, m):
    total = 0.0
    for k in range(n):
        for i in range(m):
            total += (i * 0.5 - k) ** 2
        log.append(total)
    return total


def test_the_heavy_loop_is_native_once_it_took_long(monkeypatch):
    monkeypatch.setattr(rules, "first", 0.002)
    monkeypatch.setattr(rules, "attempt", 60.0)
    f = tj.jit(outer)
    assert f(40, 5000) == outer(40, 5000) and log[:40] == log[40:]
    (inner,) = [r for r in regions_of(f) if r.gain.native_runs]
    assert inner.part.gives == ("total",) and 1 <= inner.gain.runs < 39
    reports = (tj.explain(f)(40, 5000) for _ in range(3))  # it goes by times, which a busy machine upsets
    assert any(": native;" in line for report in reports for line in report.regions)
    assert "parts of it, as measured" in str(tj.explain(f)(40, 5000))


def test_small_parts_are_left_to_python_and_their_places_vanish(monkeypatch):
    monkeypatch.setattr(rules, "small", 1.0)

    def small(n, m):
        total = 0.0
        for k in range(n):
            for i in range(m):
                total += (i * 0.5 - k) ** 2
            log.append(total)
        return total

    f = tj.jit(small)
    for _ in range(8):
        f(rules.judged, 2)
    assert not any(r.gain.native_runs or r.gain.traced for r in regions_of(f))
    copies = f.python.callee.copies
    assert not copies.active and copies.of(small) is small


def test_a_long_loop_that_runs_once_is_native_at_once():
    def once(n):
        s = 0.0
        for i in range(n):
            s += i * 0.5 + (i % 3)
        log.append(s)
        return s

    f = tj.jit(once)
    assert f(1_000_000) == once(1_000_000)
    assert sum(r.gain.native_runs + r.gain.traced for r in regions_of(f)) == 1
    assert sum(r.gain.runs for r in regions_of(f)) == 0


def test_settings_turn_it_off():
    def whole(n):
        s = 0
        for i in range(n):
            s += i * i
        log.append(s)
        return s

    f = tj.jit(whole)
    with all_parts(), config.override(regions=False):
        assert f(3) == 5
    assert regions_of(f) == []
    with config.override(fallback=False), pytest.raises(tj.TracejitError):
        tj.jit(whole)(4)


def test_recursion_goes_as_deep_as_pythons():
    def down(x, depth):
        for i in range(3):
            x = x + i
        log.append(depth)
        return x if depth == 0 else down(x, depth - 1)

    def deepest(f):
        good, bad = 1, 10_000
        while bad - good > 1:
            depth = (good + bad) // 2
            try:
                f(1.0, depth)
                good = depth
            except RecursionError:
                bad = depth
        return good

    with all_parts():
        plain, fast = deepest(down), deepest(tj.jit(down))
    assert plain - fast < 30


def test_a_function_stays_itself():
    def f(x, *, scale=2.0):
        for i in range(5):
            x = x * scale + i
        log.append((f.__name__, f, inspect.signature(f)))
        f.count = getattr(f, "count", 0) + 1
        return x

    g = tj.jit(f)
    with all_parts():
        for _ in range(3):
            assert np.array_equal(g(X, scale=3.0), f(X, scale=3.0))
            assert np.array_equal(g(X), f(X))
        f.__kwdefaults__ = {"scale": 5.0}
        assert np.array_equal(g(X), f(X))
    assert all(entry == ("f", f, log[0][2]) or entry[1] is f for entry in log) and f.count == 14


def test_code_that_is_replaced_is_run():
    def f(x):
        for i in range(5):
            x = x + i
        log.append(1)
        return x

    def other(x):
        log.append(2)
        return x * 100

    g = tj.jit(f)
    with all_parts():
        assert np.array_equal(g(X), X + 10)
        f.__code__ = other.__code__
        assert np.array_equal(g(X), X * 100)


def test_tracebacks_name_the_users_lines():
    def f(x, d):
        log.append(d)
        for i in range(3):
            x = x / (d - i)
        return x

    with all_parts():
        g = tj.jit(f)
        g(1.0, 7)
        with pytest.raises(ZeroDivisionError) as caught:
            g(1.0, 1)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == __file__ and last.line == "x = x / (d - i)" and last.name == "f"
    assert caught.value.__context__ is None


def test_numpys_error_state_and_filters_of_warnings_are_respected():
    def strictly():
        np.seterr(divide="raise")

    def always():
        warnings.simplefilter("error", RuntimeWarning)

    def f(x, first):
        first()
        log.append(1)
        y = x
        for i in range(3):
            y = y + 1.0 / (x - i)
        return y

    g = tj.jit(f)
    x = np.array([0.5, 3.5])
    with all_parts(), np.errstate(), warnings.catch_warnings():
        g(x, print)
        with pytest.raises(FloatingPointError):
            g(np.array([1.0, 0.5]), strictly)
    with all_parts(), warnings.catch_warnings(), pytest.raises(RuntimeWarning):
        g(np.array([1.0, 0.5]), always)


def test_methods_partials_and_objects_that_are_called():
    class Model:
        def __init__(self):
            self.w = 2.0

        def step(self, x, n):
            for i in range(n):
                x = x * self.w + i
            log.append(self.w)
            return x

        def __call__(self, x):
            return self.step(x, 3)

    m = Model()
    with all_parts():
        for f in (m.step, functools.partial(m.step, n=4)):
            args = (X, 3) if f == m.step else (X,)
            g = tj.jit(f)
            assert np.array_equal(g(*args), f(*args)) and np.array_equal(g(*args), f(*args))
            assert any(r.gain.native_runs + r.gain.traced for r in regions_of(g))
        assert np.array_equal(tj.jit(m)(X), m(X))


def test_threads_share_what_is_measured():
    f = tj.jit(outer)
    got: list[Any] = []

    def work(k):
        got.append((k, f(10 + k, 500)))

    with all_parts():
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert sorted(got) == [(k, outer(10 + k, 500)) for k in range(4)]


def test_a_profiler_sees_the_functions_name_and_lines():
    def f(x):
        for i in range(3):
            x = x + i
        log.append(x)
        return x

    seen = set()

    def tracer(frame, event, arg):
        if frame.f_code.co_filename == __file__:
            seen.add((frame.f_code.co_name, frame.f_lineno))
        return tracer

    g = tj.jit(f)
    g(1.0)
    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        g(1.0)
    finally:
        sys.settrace(before)
    assert {name for name, _ in seen} >= {"f"} and f.__code__.co_firstlineno + 3 in {n for _, n in seen}
