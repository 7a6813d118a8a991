"""Derivatives of functions that ask in which order the axes of an array lie in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

W = np.arange(6.0)
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "ravel": lambda x: (x.ravel(order="K") * W).sum(),
    "flatten": lambda x: (x.T.flatten("A") * W).sum(),
    "a product": lambda x: ((x * x).ravel("K") * W).sum(),
    "a function": lambda x: (np.sin(x).ravel("K") * W).sum(),
    "of the transposed": lambda x: ((x.T + 1.0).ravel("K") * W).sum(),
    "a copy of a part": lambda x: (np.sqrt(x[:, 1:]).T.copy().ravel("A") * W[:4]).sum(),
    "a new axis": lambda x: (x[None].ravel("K") * W).sum(),
    "its elements": lambda x: sum(v * k for v, k in zip(np.nditer(x), W, strict=True)),
}


def by_differences(f: Callable[[Any], Any], x: Any) -> Any:
    out = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[at] = 1e-6
        out[at] = (f(x + e) - f(x - e)) / 2e-6
    return out


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_order_is_that_of_the_callers_array(name: str) -> None:
    f = FUNCTIONS[name]
    compiled = tj.jit(tj.value_and_grad(f))
    along = tj.jit(lambda x: tj.jvp(f, (x,), (np.ones_like(x),))[1])
    c = np.arange(1.0, 7.0).reshape(2, 3)
    for x in (c, np.asfortranarray(c)) * 2:
        want = by_differences(f, x)
        for _ in range(3):  # eagerly by rules, then by what is kept of them
            value, slope = tj.value_and_grad(f)(x)
            assert value == f(x)
            np.testing.assert_allclose(slope, want, rtol=1e-6, atol=1e-8)
        value, slope = compiled(x)
        np.testing.assert_allclose(value, f(x), rtol=1e-14)
        np.testing.assert_allclose(slope, want, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(along(x), want.sum(), rtol=1e-6)
    assert compiled.trace_count == 2
