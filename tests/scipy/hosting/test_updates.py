"""array-api-extra's `at`, as SciPy's own code uses it, for traced arrays and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.scipy.hosting.updates import At

try:  # since SciPy 1.18
    from scipy._external.array_api_extra import at  # type: ignore[import-not-found]
except ModuleNotFoundError:
    from scipy._lib.array_api_extra import at

X = np.array([1.0, -2.0, 3.0])
STEPS = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")


@pytest.mark.parametrize("step", STEPS)
def test_steps(step: str) -> None:
    def f(x: Any, made: Any) -> Any:
        y = x * 1.0
        out = getattr(made(y, y > 0), step)(2.0, copy=True)
        total = getattr(made(y.sum(), y.sum() > 0), step)(0.5)  # a number can't be written into
        into = getattr(made(y)[1], step)(7.0)
        return out, total, into, y

    for got, want in zip(tj.jit(lambda x: f(x, At))(X), f(X, at), strict=True):
        np.testing.assert_array_equal(got, want)
    for got, want in zip(f(X, At), f(X, at), strict=True):
        np.testing.assert_array_equal(got, want)


def test_what_it_refuses() -> None:
    with pytest.raises(ValueError, match="already"):
        At(X)[0][1]
    with pytest.raises(ValueError, match="not been set"):
        At(X).set(1.0)
    with pytest.raises(ValueError, match="read-only"):
        At(np.float64(1.0), ...).set(2.0, copy=False)
