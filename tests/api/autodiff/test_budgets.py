"""memory=: derivatives of whole functions within a budget, under every transformation."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import ArgumentTypeError, MemoryBudgetError

W = np.random.default_rng(0).normal(size=(30, 30)) / 5
X = np.random.default_rng(1).normal(size=(50, 30))
BUDGET = 160_000  # of 264,080 that everything needs


def chain(x: Any) -> Any:
    for _ in range(20):
        x = np.tanh(x @ W)
    return (x**2).sum()


planned = tj.grad(chain, memory=BUDGET)


def test_eager_and_compiled() -> None:
    want = tj.grad(chain)(X)
    np.testing.assert_allclose(planned(X), want, rtol=1e-12)
    np.testing.assert_array_equal(tj.jit(planned)(X), tj.jit(tj.grad(chain))(X))
    value, got = tj.value_and_grad(chain, memory=BUDGET)(X)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert np.isclose(value, chain(X))
    value, pullback = tj.vjp(chain, X, memory=BUDGET)
    np.testing.assert_allclose(pullback(2.0)[0], 2 * want, rtol=1e-12)


def test_under_other_transformations() -> None:
    xs = np.stack([X, 2 * X])
    np.testing.assert_array_equal(tj.jit(tj.vmap(planned))(xs), tj.jit(tj.vmap(tj.grad(chain)))(xs))
    twice = tj.grad(lambda x: (planned(x) ** 2).sum())
    want = tj.grad(lambda x: (tj.grad(chain)(x) ** 2).sum())(X)
    np.testing.assert_allclose(tj.jit(twice)(X), want, rtol=1e-8, atol=1e-10)
    got = tj.jvp(planned, (X,), (X,))[1]
    np.testing.assert_allclose(got, tj.jvp(tj.grad(chain), (X,), (X,))[1], rtol=1e-8, atol=1e-10)


def test_branches_auxiliary_results_and_names() -> None:
    def f(x: Any, *, k: float) -> Any:
        y = np.sin(x) if x.sum() > 0 else x**3
        return (y * k).sum(), {"y": y}

    for sign in (1, -1):
        x = sign * np.linspace(0.1, 1, 5)
        got, aux = tj.grad(f, has_aux=True, memory=10**5)(x, k=2.0)
        want, want_aux = tj.grad(f, has_aux=True)(x, k=2.0)
        np.testing.assert_allclose(got, want, rtol=1e-14)
        np.testing.assert_allclose(aux["y"], want_aux["y"], rtol=1e-14)


def test_a_checkpoint() -> None:
    kept = tj.checkpoint(chain, policy="auto", memory=BUDGET)
    np.testing.assert_allclose(tj.jit(tj.grad(lambda x: 3 * kept(x)))(X), 3 * tj.grad(chain)(X), rtol=1e-12)


def test_the_arena_is_no_larger() -> None:
    compiled = tj.jit(planned).lower(X).compile()
    assert compiled.memory_analysis()["arena_bytes"] <= BUDGET


def test_too_little() -> None:
    with pytest.raises(
        MemoryBudgetError, match=r"chain .* needs at least [\d,]+ bytes, more than memory=1,000"
    ):
        tj.grad(chain, memory=1000)(X)
    with pytest.raises(MemoryBudgetError):
        tj.jit(tj.grad(chain, memory=1000))(X)

    def until(x: Any) -> Any:
        while np.abs(x).max() > 0.1:
            x = 0.5 * np.sin(x)
        return x.sum()

    with pytest.raises(MemoryBudgetError, match="only a run knows"):
        tj.grad(until, memory=10**6)(X)


@pytest.mark.parametrize("memory", [-1, 1.5, "1 GB", True])
def test_budgets_are_numbers_of_bytes(memory: Any) -> None:
    with pytest.raises(ArgumentTypeError, match="a number of bytes"):
        tj.grad(chain, memory=memory)


def test_budgets_go_with_the_policy_auto() -> None:
    with pytest.raises(ArgumentTypeError, match="policy='auto' only"):
        tj.checkpoint(chain, policy=tj.checkpoint_policies.dots_saveable, memory=10)
    with pytest.raises(ArgumentTypeError, match="a number of bytes"):
        tj.checkpoint(chain, policy="auto")


def test_pickles() -> None:
    again = pickle.loads(pickle.dumps(tj.jit(planned)))
    np.testing.assert_array_equal(again(X), tj.jit(planned)(X))


def test_numbers_of_steps_are_constants() -> None:
    def f(x: Any, n: int) -> Any:
        for k in range(n):
            x = np.sin(x) + 0.01 * k
        return (x**2).sum()

    x = np.linspace(0, 1, 20)
    with pytest.raises(MemoryBudgetError, match="only a run knows"):
        tj.grad(f, memory=10**5)(x, 50)
    got = tj.grad(lambda x: f(x, 50), memory=40 * x.nbytes)(x)
    np.testing.assert_allclose(got, tj.grad(f)(x, 50), rtol=1e-12)


def test_arguments_that_are_written_are_copies() -> None:
    def f(x: Any) -> Any:
        x[0] = 3 * x[1]
        return (x**2).sum()

    x = np.array([1.0, 2.0])
    assert tj.grad(f, memory=1000)(x).tolist() == [0, 40] and x.tolist() == [1, 2]


def test_explain_says_what_the_plan_is() -> None:
    findings = [f for f in tj.explain(planned)(X).findings if f.topic == "rows"]
    (plan,) = [f for f in findings if f.rule == "rows: plan"]
    assert plan.facts["memory"] == BUDGET >= plan.facts["bytes"] and "states are kept" in plan.why
    # The loop is nearly all of the work, and the share counts what its schedule does again.
    again = float(re.search(r"done ([\d.]+) times more", plan.why)[1])  # type: ignore[index]
    assert abs(int(plan.facts["share"][:-1]) / 100 - again) < 0.1 and again >= 1
    assert not any(f.rule == "rows: plan" for f in tj.explain(tj.grad(chain))(X).findings)

    def unrolled(x: Any, ws: Any) -> Any:
        for w in ws:
            x = np.tanh(x @ w)
        return (x**2).sum()

    report = tj.explain(tj.grad(unrolled, memory=75_000))(X, [W] * 8)
    kept = [f for f in report.findings if f.rule == "rows: kept"]
    assert kept and all(f.where.startswith("test_budgets.py:") and f.facts["bytes"] == X.nbytes for f in kept)
    assert "of the function's work is done again" in str(report)


_PEAK = """
import resource, numpy as np, tracejit as tj
ws = [np.eye(256) for _ in range(16)]
x = np.ones((4096, 256))
def f(ws, x):
    for w in ws:
        x = np.tanh(x @ w)
    return (x**2).sum()
g = tj.jit(tj.grad(f, memory={memory}))
g.lower(ws, x).compile()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
g(ws, x)
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) - sum(w.nbytes for w in ws))
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
@pytest.mark.parametrize("memory", [70_000_000, 100_000_000])
def test_the_memory_that_the_system_gave(memory: int) -> None:
    program = _PEAK.format(memory=memory)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 0.5 * memory < int(done.stdout) <= memory
