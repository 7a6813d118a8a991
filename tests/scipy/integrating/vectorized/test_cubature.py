"""Integrals over boxes, against SciPy's own and its numbers of cuts, and their derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.integrate as si

import tracejit as tj
from tracejit.errors import SolverOptionError

INF = np.inf


def peak(k: Any) -> Any:
    return lambda x: 1 / (0.01 + np.sum((x - k / 3) ** 2, axis=-1))


CASES = {
    "one dimension": lambda k: si.cubature(peak(k), [0], [1]),
    "two": lambda k: si.cubature(peak(k), [0, 0], [1, k], rule="gk15", rtol=1e-6),
    "genz-malik": lambda k: si.cubature(
        lambda x: np.cos(np.sum(x * k, axis=-1)), [0, 1, 0], [1, 0, 2], rule="genz-malik", rtol=1e-5
    ),
    "arrays": lambda k: si.cubature(
        lambda x: np.stack([x[:, 0] * k, np.sqrt(np.abs(x[:, 0] - 0.3))], axis=-1), [0], [1], rtol=1e-4
    ),
    "infinite": lambda k: si.cubature(
        lambda x: np.exp(-k * x[:, 0] - x[:, 1] ** 2), [1.0, -INF], [INF, INF], rule="gk15", rtol=1e-5
    ),
    "points": lambda k: si.cubature(lambda x: k * np.sin(x[:, 0]) / x[:, 0], [-1], [1], points=[[0]]),
    "not enough": lambda k: si.cubature(peak(k), [-9], [9], max_subdivisions=2, rtol=1e-11),
    "none": lambda k: si.cubature(peak(k), [-9], [9], max_subdivisions=0, rtol=1e-11),
}
SLOW = ("one dimension", "arrays", "points", "none")


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.exhaustive if n in SLOW else ()) for n in CASES]
)
def test_values_and_derivatives(name: str) -> None:
    f = CASES[name]

    def parts(k: Any) -> Any:
        r = f(k)
        return r.estimate, r.error, r.subdivisions, r.status

    got, want = tj.jit(parts)(0.7), parts(0.7)
    assert [type(x) for x in got] == [type(x) for x in want]
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-3, atol=1e-14)
    assert got[2:] == want[2:]
    total = lambda k: np.sum(f(k).estimate)
    slope = (total(0.7 + 1e-5) - total(0.7 - 1e-5)) / 2e-5
    np.testing.assert_allclose(tj.jit(tj.grad(total))(0.7), slope, rtol=1e-5)


def test_room_is_made_for_more_boxes() -> None:
    f = lambda k: si.cubature(
        lambda x: np.abs(x[:, 0] * x[:, 1] - k), [0, 0], [1, 1], rule="genz-malik", rtol=3e-7
    )
    parts = lambda k: (f(k).estimate, f(k).subdivisions)
    got, want = tj.jit(parts)(0.2), parts(0.2)
    assert want[1] > 200
    np.testing.assert_allclose(got, want, rtol=1e-10)


def test_what_is_left_to_scipy() -> None:
    for f, error in (
        (lambda k: si.cubature(peak(k), [0], [1]).regions, SolverOptionError),
        (lambda k: si.cubature(peak(k), [-INF], [1]), SolverOptionError),
        (lambda k: si.cubature(peak(k), [0], [1], rule="gk99"), ValueError),
    ):
        with pytest.raises(error):
            tj.jit(f)(0.7)
    with pytest.warns(tj.errors.FallbackWarning):
        whole = tj.jit(lambda k: si.cubature(peak(k), [0], [1]), fallback=True)(0.7)
    assert type(whole) is type(si.cubature(peak(0.7), [0], [1]))
    assert len(whole.regions) > 1
