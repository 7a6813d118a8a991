"""Profiles as users hold them: what they measure, and that nothing else changes."""

from __future__ import annotations

import json
import os
import threading

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ProfileSuffixError, ProfileUseError
from tracejit.timeline import SWITCH


def step(w, x):
    for _ in range(30):
        y = np.tanh(x @ w)
        w = w - 0.01 * (x.T @ (np.exp(-y) + y))
    return w, y.sum()


def operands():
    rng = np.random.default_rng(0)
    return rng.normal(size=(50, 20)), rng.normal(size=(200, 50)) * 0.1


def test_rows_of_a_loop():
    f = tj.jit(step)
    w, x = operands()
    plain = f(w, x)
    with tj.profile() as p:
        for _ in range(4):
            measured = f(w, x)
    assert all(np.array_equal(a, b) for a, b in zip(plain, measured, strict=True))
    assert f.trace_count == 1
    rows = p.rows
    assert rows[0].kind == "call" and rows[0].name == "step" and rows[0].count == 4
    assert rows[0].file == __file__ and rows[0].line == step.__code__.co_firstlineno
    (loop,) = [r for r in rows if r.kind == "loop"]
    assert loop.count == 4 and loop.line == step.__code__.co_firstlineno + 1
    products = [r for r in rows if r.kind == "blas"]
    assert [r.count for r in products] == [120, 120]
    assert all(r.line in (loop.line + 1, loop.line + 2) and r.depth == loop.depth + 1 for r in products)
    assert all(0 < r.least <= r.median <= r.p95 <= r.most <= r.total for r in products)
    assert products[0].flops == 2 * 200 * 50 * 20
    nested = sum(r.own for r in rows if r.depth > loop.depth)
    assert nested <= loop.total * 1.001 and loop.total <= rows[0].total * 1.001


def test_own_times_add_up():
    w, x = operands()
    with tj.profile() as p:
        for _ in range(3):
            tj.jit(step)(w, x)
    own = sum(r.own for r in p.rows)
    calls = sum(r.total for r in p.rows if r.kind == "call")
    assert own == pytest.approx(calls, rel=1e-3)
    assert calls <= p.seconds
    assert sum(p.lines().values()) <= own


def test_compiling_what_was_compiled_before_is_a_row_of_its_own():
    w, x = operands()
    f = tj.jit(step)
    assert not [r for r in tj.profile(f)(w, x).rows if r.kind == "twin"]
    g = tj.jit(lambda w, x: step(w, x)[0] * 2.0)
    g(w, x)
    rows = tj.profile(g, calls=3)(w, x).rows
    (twin,) = [r for r in rows if r.kind == "twin"]
    assert twin.name == "compiling again, to measure" and twin.count == 1
    compiling = [r for r in rows if r.kind in ("passes", "lowering")]
    assert compiling and all(twin.name in r.path for r in compiling)


def test_compiling_again_is_one_row_of_the_table_and_counts_in_no_share():
    w, x = operands()
    g = tj.jit(lambda w, x: step(w, x)[0] * 3.0)
    g(w, x)
    with tj.profile() as p:
        g(w, x)
        g(w, x[:-1])  # traced, and compiled, as it would be without a profile
    (twin,) = [r for r in p.rows if r.kind == "twin"]
    tracing = [r for r in p.rows if r.kind in ("trace", "lowering") and twin.name not in r.path]
    assert [r.count for r in tracing] == [1, 1]
    table = p.table()
    assert not [r for r in table.rows if twin.name in r.path]
    assert sum(r.own for r in table.rows) == pytest.approx(sum(r.own for r in p.rows))
    shares = [cells[2] for cells in table.lines()]
    assert shares.count("") == 1 and sum(float(s) for s in shares if s) == pytest.approx(100, abs=3)


def test_a_block_without_compiled_functions_says_so():
    with tj.profile() as p:
        np.exp(np.ones(3))
    assert "no compiled function ran" in str(p)


def test_plain_programs_afterwards():
    f = tj.jit(step)
    w, x = operands()
    f(w, x)
    before = f.lower(w, x).as_text("source")
    with tj.profile() as p:
        f(w, x)
        assert f.lower(w, x).as_text("source") == before
    count = p.rows[0].count
    for _ in range(3):
        f(w, x)
    assert p.rows[0].count == count
    assert type(f).__call__.__name__ == "call_"  # the direct form of a fast path again
    assert "probed" not in before and not SWITCH.on


def test_fast_paths_are_timed_too():
    f = tj.jit(lambda x: np.exp(x).sum())
    x = np.ones(5000)
    f(x)
    with tj.profile() as p:
        for _ in range(50):
            f(x)
    rows = {r.kind: r for r in p.rows}
    assert rows["call"].count == rows["native"].count == rows["entry"].count == 50


def test_a_function():
    p = tj.profile(step, calls=2)(*operands())
    assert p.rows[0].count == 2
    assert np.allclose(p.result[0], step(*operands())[0])
    assert "tracing" in str(p) and "test_profile.py" in str(p)


def test_exceptions_pass_through():
    f = tj.jit(lambda x, i: np.exp(x)[i], fallback=False)
    with tj.profile() as p, pytest.raises(IndexError):
        f(np.ones(3000), 3000)
    assert p.rows[0].kind == "call" and not SWITCH.on
    assert f(np.zeros(3000), 2) == 1

    def fails(x):
        raise ValueError("from a callback")

    with tj.profile() as p, pytest.raises(ValueError, match="from a callback"):
        tj.jit(lambda x: tj.pure_callback(fails, tj.ShapeDtypeStruct((), float), x))(1.0)
    assert [r.count for r in p.rows if r.kind == "callback" and r.name.startswith("Python")] == [1]


def test_nested_profiles():
    f = tj.jit(lambda x: np.exp(x).sum())
    x = np.ones(5000)
    with tj.profile() as outer:
        f(x)
        with tj.profile() as inner:
            f(x)
            f(x)
        f(x)
    assert inner.rows[0].count == 2 and outer.rows[0].count == 4
    (entry,) = [r for r in inner.rows if r.kind == "entry"]
    assert entry.count == 2


def test_threads_of_the_user():
    f = tj.jit(lambda x: np.exp(x).sum())
    x = np.ones(5000)
    with tj.profile() as p:
        together = threading.Barrier(3)
        threads = [
            threading.Thread(target=lambda: [together.wait(), *(f(x) for _ in range(20)), together.wait()])
            for _ in range(3)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    (call,) = [r for r in p.rows if r.kind == "call"]
    (entry,) = [r for r in p.rows if r.kind == "entry"]
    assert call.count == entry.count == 60 and entry.threads == 3


def test_threads_that_share_a_loop():
    f = tj.jit(lambda x: np.sin(np.exp(-x * x)) * np.cos(x))
    x = np.linspace(0, 1, 500_000)
    with tj.config.override(num_threads=2), tj.profile() as p:
        for _ in range(10):
            f(x)
    parts = [r for r in p.rows if r.kind == "part"]
    assert parts and all(r.count >= 20 for r in parts)
    assert sum(r.own for r in p.rows) == pytest.approx(
        sum(r.total for r in p.rows if r.kind == "call"), rel=0.02
    )


def test_other_transformations_inside():
    x = np.ones((3, 4))
    with tj.profile() as p:
        gradients = tj.vmap(tj.grad(tj.jit(lambda x: np.sum(x**3))))(x)
        tj.jit(tj.grad(lambda x: np.sum(np.sin(x))))(x)
    assert np.allclose(gradients, 3) and any(r.kind == "trace" for r in p.rows)


def test_functions_that_python_runs():
    f = tj.jit(lambda x: open(os.devnull).close() or x)
    with tj.config.override(fallback=True), pytest.warns(tj.errors.FallbackWarning), tj.profile() as p:
        assert f(1.0) == 1.0
    assert [r.count for r in p.rows if r.kind == "python"] == [1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children_have_no_profile():
    f = tj.jit(lambda x: np.exp(x).sum())
    x = np.zeros(5000)
    with tj.profile() as p:
        f(x)
        pid = os.fork()
        if pid == 0:
            ok = f(x) == 5000 and not SWITCH.on
            os._exit(0 if ok else 1)
        assert os.waitpid(pid, 0)[1] == 0
    assert p.rows[0].count == 1


def test_files(tmp_path):
    p = tj.profile(step)(*operands())
    for name in ("t.json", "t.speedscope.json", "t.txt"):
        p.save(tmp_path / name)
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert "speedscope" in json.loads((tmp_path / "t.speedscope.json").read_text())["$schema"]
    assert (tmp_path / "t.txt").read_text() == f"{p.table(1000)}\n"
    with pytest.raises(ProfileSuffixError):
        p.save(tmp_path / "t.pdf")


def test_wrong_use():
    p = tj.profile()
    with pytest.raises(ProfileUseError):
        p.table()
    assert "not begun" in repr(p)
    with p:
        assert "so far" in repr(p)
    with pytest.raises(ProfileUseError):
        p.__enter__()


def test_an_empty_block():
    with tj.profile() as p:
        pass
    assert p.rows == [] and "profile of" in str(p) and len(p.trace()["traceEvents"]) == 2


def test_what_does_not_fit_is_counted(monkeypatch):
    monkeypatch.setattr("tracejit.profiling.session.MOST", 10)
    p = tj.profile(step)(*operands())
    assert p.recording.dropped > 0 and "too many" in str(p)
    assert [r.count for r in p.rows if r.kind == "blas"] == [30, 30]  # the counters are exact


def test_probes_are_placed_where_they_are_worth_it():
    p = tj.profile(lambda x: np.sum(x) * 2)(np.ones(3))
    assert [r.kind for r in p.rows if r.kind in ("nest", "loop")] == []
