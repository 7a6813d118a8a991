"""Second-order sections: SciPy's, and their derivatives by differences; what SciPy refuses is left to Python."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.signal as ss

import tracejit as tj
from tests.scipy.beside import check_slope, check_values

B, A = np.array([0.2, 0.3, 0.4, 0.1, 0.05]), np.array([1, -0.4, 0.3, -0.1, 0.05])
Z, P = np.array([-1.0, -0.5, 0.3]), np.array([0.4, 0.2])
U = np.sin(np.arange(20) * 0.7)

CASES: dict[str, tuple[Any, ...]] = {
    "tf2sos": (ss.tf2sos, B, A),
    "tf2sos, odd": (lambda b, a: ss.tf2sos(b[:4], a[:4]), B, A),
    "tf2sos, odd kept": (lambda b, a: ss.tf2sos(b[:4], a[:4], pairing="keep_odd"), B, A),
    "tf2sos, no poles": (lambda b: ss.tf2sos(b, [2.0]), B),
    "zpk2sos": (lambda z, p, k: ss.zpk2sos(z, [p[0] + 0.2j, p[0] - 0.2j, p[1]], k), Z, P, 2.0),
    "zpk2sos, fewer zeros": (lambda z, p, k: ss.zpk2sos(z[:1], [*p, -0.1, -0.3], k), Z, P, 2.0),
    "butter": (lambda x: ss.butter(5, x, output="sos"), 0.3),
    "ellip": (lambda x: ss.ellip(3, 1.0, 40.0, [x, 2 * x], "bandpass", output="sos"), 0.2),
    "cheby2": (lambda x: ss.cheby2(4, 40.0, x, "high", output="sos"), 0.2),
    "a filter": (lambda x: ss.sosfilt(ss.bessel(3, x, output="sos"), U), 0.2),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives(name: str) -> None:
    f, *args = CASES[name]
    check_values(f, args, rtol=1e-12, atol=1e-13)
    check_slope(f, args, (0.2, 0.1), 1e-6, rtol=1e-5, atol=1e-6)


def test_many_at_once() -> None:
    x = np.array([0.2, 0.3])
    got = tj.jit(tj.vmap(lambda x: ss.butter(4, x, output="sos")))(x)
    np.testing.assert_allclose(got, [ss.butter(4, w, output="sos") for w in x], rtol=1e-12)


def test_what_python_does() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        with pytest.raises(ValueError, match="no matching conjugate"):
            tj.jit(lambda p: ss.zpk2sos([1.0], p, 1.0), fallback=True)(np.array([0.2 + 0.1j]))
        got = tj.jit(lambda b: ss.tf2sos(b, A[:3], analog=True), fallback=True)(B[:3])
    np.testing.assert_array_equal(got, ss.tf2sos(B[:3], A[:3], analog=True))
