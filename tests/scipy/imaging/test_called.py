"""Filters that call the user's functions, in compiled programs: SciPy's values, slopes by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage, signal

import tracejit as tj
from tracejit.errors import ArgumentError

IMAGE = np.random.default_rng(0).normal(size=(6, 7))
CROSS = np.array([[1, 0, 1], [1, 1, 1]])


def _sums(line: Any, out: Any, by: float = 1.0) -> None:
    out[...] = (line[:-2] + line[1:-1] * line[2:]) * by


CASES: dict[str, Any] = {
    "window": lambda x: ndimage.generic_filter(x, np.max, size=3),
    "footprint": lambda x: ndimage.generic_filter(
        x, lambda v, k, p=1: np.sum(v**2) * k * p, footprint=CROSS, mode="constant", cval=0.5,
        extra_arguments=(2.0,), extra_keywords={"p": 3},
    ),
    "line": lambda x: ndimage.generic_filter1d(x, _sums, 3, axis=0, extra_arguments=(2.0,)),
    "line origin": lambda x: ndimage.generic_filter1d(x, _sums, 3, mode="wrap", origin=1),
    "places": lambda x: ndimage.geometric_transform(x, lambda p: (p[0] - 0.5, p[1] * 0.9)),
    "other shape": lambda x: ndimage.geometric_transform(
        x, lambda p: (p[0] - 0.5, p[0] * 0.9), (4,), order=1, mode="nearest"
    ),
    "medfilt": lambda x: signal.medfilt(x, [3, 5]),
    "medfilt line": lambda x: signal.medfilt(x[0] * 1.0),
    "medfilt2d": lambda x: signal.medfilt2d(x, 5),
    "order_filter": lambda x: signal.order_filter(x, np.ones((3, 3)), 1),
}  # fmt: skip


#: A footprint that was captured is not known while tracing: Python takes over.
LEFT = {"footprint": pytest.mark.xfail(raises=ArgumentError, reason="a captured footprint is a traced value")}


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [pytest.param(n, marks=LEFT.get(n, ())) for n in CASES])
def test_values_and_slopes(name: str) -> None:
    f, way = CASES[name], np.cos(np.arange(42.0)).reshape(6, 7)
    got, slope = tj.jit(lambda x, way: tj.jvp(f, (x,), (way,)))(IMAGE, way)
    np.testing.assert_allclose(got, f(IMAGE), rtol=1e-12, atol=1e-13)
    near = (f(IMAGE + 1e-6 * way) - f(IMAGE - 1e-6 * way)) / 2e-6
    np.testing.assert_allclose(slope, near, rtol=1e-6, atol=1e-7)
    many = tj.jit(tj.vmap(f))(np.stack([IMAGE, way]))
    np.testing.assert_allclose(many[1], f(way), rtol=1e-12, atol=1e-13)


def test_integers_and_errors() -> None:
    whole = (IMAGE * 100).astype(np.int32)
    for f in (
        lambda x: ndimage.generic_filter(x, np.mean, size=3),
        lambda x: signal.medfilt(x),
        lambda x: signal.order_filter(x, np.array([[0, 1, 1]]), 1),
    ):
        got = tj.jit(f)(whole)
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, f(whole))
    for bad in (
        lambda x: ndimage.generic_filter(x, np.mean),
        lambda x: ndimage.generic_filter1d(x, _sums, 0),
        lambda x: ndimage.generic_filter1d(x, _sums, 3, origin=2),
        lambda x: ndimage.generic_filter(x * 1j, np.mean, 3),
        lambda x: signal.medfilt(x, 4),
        lambda x: signal.medfilt(x * 1j),
        lambda x: signal.order_filter(x, np.ones((2, 3)), 1),
    ):
        with pytest.raises((RuntimeError, ValueError, TypeError)) as theirs:
            bad(IMAGE)
        with pytest.raises(theirs.type):
            tj.jit(bad)(IMAGE)
