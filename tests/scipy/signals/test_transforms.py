"""Chirp transforms, values of splines and other forms of filters, against SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import signal

import tracejit as tj

_r = np.random.default_rng(0)
X = _r.normal(size=24)
IMAGE = _r.normal(size=(9, 8))
B, A = np.array([0.2, 0.3, 0.1]), np.array([1, -0.4, 0.1, 0.3])
SOS = signal.butter(3, 0.3, output="sos")
CASES: dict[str, Callable[[Any], Any]] = {
    "czt": lambda x: signal.czt(x),
    "czt spiral": lambda x: signal.czt(IMAGE * x[0], 5, np.exp(-0.1j), 1.1, axis=0),
    "zoom_fft": lambda x: signal.zoom_fft(x, [0.1, 0.4]),
    "zoom_fft end": lambda x: signal.zoom_fft(x, 0.5, 9, fs=3.0, endpoint=True),
    "cspline1d_eval": lambda x: signal.cspline1d_eval(x, np.linspace(-7, 70, 31)),
    "cspline1d_eval places": lambda x: signal.cspline1d_eval(x, x * 5 + 3, dx=0.5, x0=1.0),
    "qspline1d_eval": lambda x: signal.qspline1d_eval(x, np.linspace(-7, 40, 31)),
    "sos2tf": lambda x: signal.sos2tf(SOS * x[0]),
    "bilinear": lambda x: signal.bilinear(B * x[0], A),
    "bilinear rate": lambda x: signal.bilinear([1.0], A * x[0], fs=3.0),
    "group_delay": lambda x: signal.group_delay((B + x[:3], A), 5, True, fs=3.0),
    "group_delay at": lambda x: signal.group_delay((B + x[:3], A), [0.1, 0.5]),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f = CASES[name]
    compiled = tj.jit(f)
    got, want = (tj.tree.leaves(g(X)) for g in (compiled, f))
    assert "library_call" not in compiled.lower(X).as_text("jaxpr")
    for g, w in zip(got, want, strict=True):
        assert g.dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-10)
    along = lambda t: sum(tj.numpy.sum(tj.numpy.real(v)) for v in tj.tree.leaves(f(X + t * X**2)))
    near = (along(1e-6) - along(-1e-6)) / 2e-6
    np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=1e-5, atol=1e-6)


def test_errors() -> None:
    with pytest.raises(ValueError, match="CZT"):
        tj.jit(lambda x: signal.czt(x, 0))(X)
