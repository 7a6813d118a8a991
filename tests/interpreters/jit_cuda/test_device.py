"""Programs on the emulated device beside the CPU: samples of the cases of every primitive and of whole programs."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from examples import digits
from examples.programs import PROGRAMS
from tests.fuzz.devices import device_failure, of_small_arrays
from tests.fuzz.grammar import program
from tests.lowering.cuda.lowering import SETTING
from tests.test_rules import ALL, lifted
from tracejit import tree
from tracejit.lowering.cuda import graphs
from tracejit.lowering.cuda.libs import functions
from tracejit.lowering.emit import libraries


def sampled(names: list[Any], every: int, first: int = 0) -> list[Any]:
    """All in `make test-all`, one of `every` otherwise."""
    return [
        n if k % every == first else pytest.param(n, marks=pytest.mark.exhaustive)
        for k, n in enumerate(names)
    ]


def equal(got: Any, want: Any, tolerance: float) -> None:
    got, want = tree.leaves(tj.device_get(got)), tree.leaves(want)
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert g.dtype == w.dtype and g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=tolerance, atol=tolerance)


@pytest.mark.sample(2)
@pytest.mark.parametrize("n", sampled(list(range(len(ALL))), 12, 5))
def test_primitives(n: int) -> None:
    case = ALL[n].values[0]
    fn, args = lifted(case), case.args()  # type: ignore[arg-type, union-attr]
    with tj.config.override(cuda=SETTING):
        there = tj.jit(fn, device="cuda", fallback=False)
        got, made = there(*args), there.lower(*args)
        equal(got, fn(*args), 1e-12)
        if "reassoc" in made.as_text("loops") or "library" in made.compile().as_text("plan"):
            return  # sums of floats in another order, and what libraries do
    for g, w in zip(tree.leaves(tj.device_get(got)), tree.leaves(tj.jit(fn)(*args)), strict=True):
        np.testing.assert_array_equal(g, w, "the CPU's bits")


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", sampled(sorted(PROGRAMS), 8, 3))
@pytest.mark.parametrize("small", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_programs(name: str, small: bool) -> None:
    """As they are planned, and as if their arrays were large."""
    with of_small_arrays() if small else nullcontext():
        compare_program(name)


def compare_program(name: str) -> None:
    p = PROGRAMS[name]
    args = p.make(np.random.default_rng(0), p.size)
    ours, plain = copy.deepcopy(args), copy.deepcopy(args)
    with tj.config.override(cuda=SETTING), np.errstate(all="ignore"):
        want = tj.jit(p.f, static_argnums=p.static, fallback=True)(*plain)
        equal(tj.jit(p.f, static_argnums=p.static, device="cuda", fallback=True)(*ours), want, p.tolerance)
        equal(ours, plain, p.tolerance)


SEEDS = [*range(12), *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(12, 1200))]


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed: int) -> None:
    """Every third one on the device that looks at each access."""
    setting = "sanitize" if SETTING == "emulate" and seed % 3 == 0 else SETTING
    assert device_failure(program(seed), setting) == ""


def test_a_step_of_training() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((16, 64)), np.eye(10)[rng.integers(0, 10, 16)]

    def step(p, m, v, t):
        value, g = tj.value_and_grad(digits.loss)(p, x, y)
        digits.adamw(p, g, m, v, t, 1e-3)
        return value

    def trained(**options: Any) -> Any:
        p, f = digits.init(), tj.jit(step, **options)
        m, v = ({k: np.zeros_like(a) for k, a in p.items()} for _ in range(2))
        return [float(f(p, m, v, float(t))) for t in (1, 2)], p, m, v

    with tj.config.override(cuda=SETTING):
        equal(trained(device="cuda"), trained(), 1e-9)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_programs_by_libraries(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every product, and matrices of all sizes, by the device's libraries; called twice."""
    monkeypatch.setattr(libraries, "LEAST", 1)
    monkeypatch.setattr(functions, "_LEAST", 1)
    p = PROGRAMS[name]
    args = p.make(np.random.default_rng(0), p.size)
    with tj.config.override(cuda=SETTING), np.errstate(all="ignore"):
        want = tj.jit(p.f, static_argnums=p.static, fallback=True)(*copy.deepcopy(args))
        f = tj.jit(p.f, static_argnums=p.static, device="cuda", fallback=True)
        for _ in range(2):
            equal(f(*copy.deepcopy(args)), want, max(p.tolerance, 1e-9))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_programs_by_graphs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every launch in a graph, also of a few; called until arrays lie where they lay."""
    monkeypatch.setattr(graphs, "FEWEST", 1)
    p = PROGRAMS[name]
    args = p.make(np.random.default_rng(0), p.size)
    with of_small_arrays(), tj.config.override(cuda=SETTING), np.errstate(all="ignore"):
        plain = tj.jit(p.f, static_argnums=p.static, fallback=True)
        f = tj.jit(p.f, static_argnums=p.static, device="cuda", fallback=True)
        for _ in range(5):
            ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
            equal(f(*ours), plain(*theirs), p.tolerance)
            equal(ours, theirs, p.tolerance)
