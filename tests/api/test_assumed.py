"""Programs for some values of conditions and integers."""

from __future__ import annotations

import contextlib
import io
import itertools
import warnings

import numpy as np
import pytest

import tracejit as tj
from tracejit.api import assumed
from tracejit.errors import FallbackWarning, VariableTypeError
from tracejit.interpreters import budget

X = np.array([1.0, -2.0, 3.0])


@pytest.fixture(autouse=True)
def _fallback():
    with tj.config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        yield


def test_there_is_a_program_for_each_outcome():
    f = tj.jit(lambda x: [x] if x.sum() > 1 else None)
    for _ in range(3):
        assert np.array_equal(f(X)[0], X) and f(-X) is None
    assert f.trace_count == 2
    assert list(f.retraces) == ["a condition or an integer that it depends on was False"]


def test_work_is_counted_not_timed(monkeypatch):
    """Whether a program took a value for known depended on how busy the machine was, and on what was imported first."""
    seconds = itertools.count(0.0, 0.6)
    monkeypatch.setattr(budget.time, "thread_time", lambda: next(seconds))
    f = tj.jit(lambda x: [x] if x.sum() > 1 else None)
    assert np.array_equal(f(X)[0], X) and f(-X) is None
    assert f.trace_count == 2


def test_functions_of_many_operations_are_pythons(monkeypatch):
    monkeypatch.setattr(assumed, "TRACING", 0.1)

    def f(x):
        for _ in range(120):
            x = np.sin(x)
        return [x] if x.sum() > 1 else None

    with pytest.warns(FallbackWarning):
        assert tj.jit(f)(X) is None


def test_programs_form_a_tree():
    def f(x):
        if x[0] > 0:
            return (x,) if x[1] > 0 else [x]
        return None if x[1] > 0 else {"x": x}

    fast = tj.jit(f)
    for a in (1.0, -1.0):
        for b in (1.0, -1.0):
            x = np.array([a, b])
            for _ in range(2):
                assert type(fast(x)) is type(f(x))
    assert fast.trace_count == 4


def test_an_integer_has_a_program_for_each_value():
    f = tj.jit(lambda x, n: x.sum(axis=n))
    m = np.arange(6.0).reshape(2, 3)
    for n in (0, 1, 0, -1):
        assert np.array_equal(f(m, np.int64(n)), m.sum(axis=n))
    assert f.trace_count == 3


def test_python_takes_over_where_there_are_too_many():
    f = tj.jit(lambda m, n: m.sum(axis=n))
    m = np.zeros((1,) * 20)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for n in range(20):
            assert f(m, np.int64(n)).ndim == 19
    assert f.trace_count == assumed.MOST_PROGRAMS
    assert len([w for w in told if w.category is FallbackWarning]) == 1


def test_what_a_failed_program_has_drawn_is_taken_back():
    def f(rng, x):
        y = rng.random() + x
        return [y] if y > 0.5 else y

    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    fast = tj.jit(f)
    for _ in range(20):
        assert fast(ours, 0.0) == f(theirs, 0.0)
    assert ours.bit_generator.state == theirs.bit_generator.state and fast.trace_count == 2


def test_what_a_failed_program_has_written_printed_and_stored_is_not_seen():
    seen = []

    def f(x):
        print("sum", x.sum())
        x += 1
        seen.append(len(seen))
        return x if x[0] > 3 else None

    fast, x, out = tj.jit(f), np.zeros(2), io.StringIO()
    with contextlib.redirect_stdout(out):
        assert [fast(x) is x for _ in range(6)] == [False] * 3 + [True] * 3
    assert x.tolist() == [6, 6] and seen == list(range(6))
    assert out.getvalue().split() == [w for n in range(6) for w in ("sum", f"{2.0 * n}")]


def test_a_value_that_is_not_known_is_found_when_the_program_runs():
    def f(rng):
        return [1] if rng.random() < 0.5 else None

    fast = tj.jit(f)
    ours, theirs = np.random.default_rng(1), np.random.default_rng(1)
    assert [fast(ours) for _ in range(20)] == [f(theirs) for _ in range(20)]


def test_loops_before_a_condition_are_run_to_know_it():
    def f(x, n):
        s = 0.0
        for i in range(n):
            s += x * i
        return [s] if s > 100 else s

    fast = tj.jit(f)
    assert [fast(x, 200) for x in (1.0, 0.001, 2.0)] == [f(x, 200) for x in (1.0, 0.001, 2.0)]
    assert fast.trace_count == 2


def test_derivatives_of_the_branch_that_is_taken():
    def f(x):
        y = [x**2] if x > 0 else (x**3, 0)
        return y[0]

    g = tj.jit(tj.grad(f))
    assert [g(v) for v in (2.0, -2.0, 3.0)] == [4.0, 12.0, 6.0]


def test_not_where_python_does_nothing_over():
    def f(x):
        return [x] if x.sum() > 1 else None

    with pytest.raises(VariableTypeError):
        tj.jit(f, fallback=False)(X)
    with pytest.raises(VariableTypeError):
        tj.vmap(tj.jit(lambda x: x * 2 if f(x) is None else x))(np.ones((2, 3)))
    fast = tj.jit(f)
    fast(X)
    with tj.config.override(fallback=False), pytest.raises(VariableTypeError):
        fast(X)


def test_other_guards_hold_besides():
    scale = 2.0

    def f(x):
        return [x * scale] if x > 0 else None

    fast = tj.jit(f)
    assert fast(1.0) == [2.0] and fast(-1.0) is None
    scale = 3.0
    assert fast(1.0) == [3.0] and fast(-1.0) is None and fast(2.0) == [6.0]


def test_explain_says_so():
    report = tj.explain(lambda x: [x] if x > 0 else None)(1.0)
    assert report.fallback is None
    assert any("condition: taken to be True" in line for line in report.loops_and_branches)


def test_sorting_by_values_and_special_methods():
    class Item:
        def __init__(self, key):
            self.key = key

        def __lt__(self, other):
            return bool(self.key < other.key)

    def f(xs):
        return [i.key for i in sorted(map(Item, xs))], sorted(xs, key=lambda v: -v), max(xs, key=abs)

    fast = tj.jit(f)
    for xs in ([1.0, 3.0], [3.0, 1.0], [-3.0, 1.0]):
        assert fast(xs) == f(xs)


def test_steps_of_a_loop_that_can_not_be_native():
    def f(x):
        try:
            while x.sum() > 4:
                raise KeyboardInterrupt("too much")
        except KeyboardInterrupt as e:
            return e.args
        return x * 2

    def g(x, tol=0.1):
        kinds: list[object] = [x]
        while x > tol:
            x = x / 2
            kinds.append([x] if len(kinds) % 2 else x)
        return kinds

    fast, steps = tj.jit(f), tj.jit(g)
    for x in (X, X + 1, X, X + 2):
        assert repr(fast(x)) == repr(f(x))
    assert fast.trace_count == 2
    for v in (0.5, 0.2, 0.05, 0.5):
        assert steps(v) == g(v)
    assert steps.trace_count == 3


def test_a_function_that_calls_itself_on_conditions():
    def simpson(f, a, b, tol):
        m = (a + b) / 2
        whole, halves = (b - a) * f(m), (m - a) * f((a + m) / 2) + (b - m) * f((m + b) / 2)
        if abs(whole - halves) < tol:
            return halves
        return simpson(f, a, m, tol) + simpson(f, m, b, tol)

    fast = tj.jit(lambda tol: simpson(lambda t: t * t, 0.0, 1.0, tol))
    for tol in (0.1, 0.01, 0.1):
        assert fast(tol) == pytest.approx(simpson(lambda t: t * t, 0.0, 1.0, tol), rel=1e-14)
    moves = tj.jit(lambda n: _hanoi(n, "a", "b", "c"))
    for n in (2, 4, 2):
        assert moves(n) == _hanoi(n, "a", "b", "c")
    assert moves.trace_count <= 4


def _hanoi(n, a, b, c):
    return [*_hanoi(n - 1, a, c, b), (n, a, c), *_hanoi(n - 1, b, a, c)] if n else []
