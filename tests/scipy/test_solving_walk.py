"""Each solver under each transformation: SciPy's own value, derivatives against differences of that."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.scipy.solvers import CASES, Case

AT = np.array([0.8, 0.5])
LANES = np.stack([AT, AT * 1.01, AT * 0.98])


def vector(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """All numbers that `f` gives."""
    return lambda t: np.concatenate([np.ravel(x) for x in tj.tree.leaves(f(t))])


def number(case: Case) -> Callable[[Any], Any]:
    f = vector(case.f)

    def total(t: Any) -> Any:
        out = f(t)
        return np.sum(out * np.linspace(1, 2, out.size))

    return total


def differences(f: Callable[[Any], Any]) -> np.ndarray:
    """The derivative of f by four points along each parameter."""
    h = 2e-3
    steps = h * np.eye(2)
    columns = [8 * (f(AT + d) - f(AT - d)) - f(AT + 2 * d) + f(AT - 2 * d) for d in steps]
    return np.stack(columns, -1) / (12 * h)


def close(got: Any, want: Any, rtol: float) -> None:
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * (1e-3 * np.abs(want).max() + 1e-6))


def value(case: Case) -> None:
    want = vector(case.theirs or case.f)(AT)
    close(tj.jit(vector(case.f))(AT), want, case.like)


def reverse(case: Case) -> None:
    want = differences(vector(case.theirs or case.f))
    close(tj.jit(tj.jacrev(vector(case.f)))(AT), want, case.near)


def forward(case: Case) -> None:
    want = differences(vector(case.theirs or case.f))
    close(tj.jit(tj.jacfwd(vector(case.f)))(AT), want, case.near)


def eagerly(case: Case) -> None:
    f = number(case)
    close(tj.grad(f)(AT), tj.jit(tj.grad(f))(AT), 1e-6)


def second(case: Case) -> None:
    f = number(case)
    got, want = tj.jit(tj.hessian(f))(AT), differences(tj.jit(tj.grad(f)))
    if case.near < 1e-2:
        close(got, want, max(case.near, 1e-3))
    else:  # searches that end less near: the differences are of gradients at other places
        np.testing.assert_allclose(got, want, atol=case.near * np.abs(want).max())


def lanes(case: Case) -> None:
    f = vector(case.f)
    one = tj.jit(lambda t: f(t))
    close(tj.jit(tj.vmap(f))(LANES), np.stack([one(t) for t in LANES]), 1e-7)


def slopes_of_lanes(case: Case) -> None:
    slope = tj.grad(number(case))
    one = tj.jit(slope)
    close(tj.jit(tj.vmap(slope))(LANES), np.stack([one(t) for t in LANES]), 1e-6)


WAYS = (value, reverse, forward, eagerly, second, lanes, slopes_of_lanes)


@pytest.mark.sample(500)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", CASES)
def test_every_solver(name: str, way: Callable[[Case], None]) -> None:
    case = CASES[name]
    if not case.smooth and way not in (value, lanes):
        return
    with tj.config.override(fallback=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy's own, of searches that go on beyond what rounding allows
        way(case)
