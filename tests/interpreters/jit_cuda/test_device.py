"""Programs on the emulated device beside the CPU: samples of the cases of every primitive and of whole programs."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from examples.programs import PROGRAMS
from tests.lowering.cuda.lowering import SETTING
from tests.test_rules import ALL, lifted
from tracejit import tree
from tracejit.lowering.cuda import planner


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


@pytest.mark.parametrize("n", sampled(list(range(len(ALL))), 12, 5))
def test_primitives(n: int) -> None:
    case = ALL[n].values[0]
    fn, args = lifted(case), case.args()  # type: ignore[arg-type, union-attr]
    with tj.config.override(cuda=SETTING):
        equal(tj.jit(fn, device="cuda", fallback=False)(*args), fn(*args), 1e-12)


@pytest.mark.parametrize("name", sampled(sorted(PROGRAMS), 8, 3))
@pytest.mark.parametrize("alone", [planner.ALONE, pytest.param(0, marks=pytest.mark.exhaustive)])
def test_programs(name: str, alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As they are planned, and with a launch for every loop."""
    monkeypatch.setattr(planner, "ALONE", alone)
    monkeypatch.setattr(planner, "MANY", planner.MANY if alone else 64)
    p = PROGRAMS[name]
    args = p.make(np.random.default_rng(0), p.size)
    ours, plain = copy.deepcopy(args), copy.deepcopy(args)
    with tj.config.override(cuda=SETTING), np.errstate(all="ignore"):
        want = tj.jit(p.f, static_argnums=p.static)(*plain)
        equal(tj.jit(p.f, static_argnums=p.static, device="cuda", fallback=True)(*ours), want, p.tolerance)
        equal(ours, plain, p.tolerance)
