"""odeint by JAX's name: trees, against SciPy and the analytic solution."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import SolverFailedError, SolverOptionError
from tracejit.experimental.ode import odeint

TIMES = np.linspace(0.0, 2.0, 5)


def spring(y: Any, t: Any, stiffness: Any) -> Any:
    return {"at": y["speed"], "speed": -stiffness * y["at"]}


def end(stiffness: Any) -> Any:
    start = {"at": np.array([1.0, 2.0]), "speed": np.zeros(2)}
    return odeint(spring, start, TIMES, stiffness)["at"]


def test_trees_and_derivatives() -> None:
    w = np.sqrt(3.0)
    want = np.cos(w * TIMES)[:, None] * np.array([1.0, 2.0])
    np.testing.assert_allclose(end(3.0), want, atol=1e-6)
    np.testing.assert_allclose(tj.jit(end)(3.0), want, atol=1e-6)
    slope = tj.jit(tj.grad(lambda k: end(k)[-1, 0]))(3.0)
    assert np.isclose(slope, -TIMES[-1] * np.sin(w * TIMES[-1]) / (2 * w), rtol=1e-5)


def test_edges() -> None:
    assert odeint(lambda y, t: -y, 2.0, np.array([1.0])).tolist() == [2.0]
    single = odeint(lambda y, t: -y, np.ones(2, np.float32), TIMES)
    assert single.dtype == np.float32 and np.allclose(single[-1], np.exp(-2), atol=1e-6)
    with pytest.raises(SolverOptionError, match="mxstep=5"):
        odeint(lambda y, t: -y, 2.0, TIMES, mxstep=5)
    with pytest.raises(SolverFailedError, match="step size"):
        odeint(lambda y, t: y * y, 1.0, TIMES)
