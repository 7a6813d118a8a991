"""piecewise: each function is given the elements that its condition selects."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import TracejitError

X = np.array([-2.0, -0.5, 0.3, 1.0, 4.0])
W = np.cos(np.arange(5)) + 1

PROGRAMS = {
    "mean": lambda x: np.piecewise(x, [x < 0, x >= 0], [lambda v: v - v.mean(), lambda v: v * v.sum()]),
    "otherwise": lambda x: np.piecewise(x, [x < 0], [lambda v: v - v.mean(), lambda v: v / v.max()]),
    "override": lambda x: np.piecewise(x, [x > 0, x > 0.5], [lambda v: v * v.size, lambda v: v.cumsum()]),
    "arguments": lambda x: np.piecewise(
        x, [x > 0, x > 0.5], [lambda v, a, b=0: v * a + b, 2, lambda v, a, b=0: a - v.sum() * b], 3.0, b=2.0
    ),
    "moved": lambda x: np.piecewise(x, [x > -1, x < -1], [lambda v: np.sort(v)[::-1], 2]),
    "in place": lambda x: np.piecewise(x, [x > 0], [lambda v: v.__imul__(2), 2]),
    "known": lambda x: np.piecewise(x, [True, False, True, False, False], [lambda v: v.sum(), 2]),
    "none": lambda x: np.piecewise(x, [x > 100], [lambda v: v / v.max(), lambda v: v - v.min()]),
    "one condition": lambda x: np.piecewise(x, x > 0, [lambda v: v * v.mean()]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_see_what_is_selected(name: str) -> None:
    f = PROGRAMS[name]
    loss = lambda x: (f(x) * W).sum()
    slope = [(loss(X + h) - loss(X - h)) / 2e-6 for h in 1e-6 * np.eye(5)]
    batch = np.stack([X, X + 1, -X])
    assert np.allclose(tj.jit(f)(X), f(X), rtol=1e-14)
    assert np.allclose(tj.jit(tj.grad(loss))(X), slope, rtol=1e-6)
    assert np.allclose(tj.grad(loss)(X), slope, rtol=1e-6)
    assert np.allclose(tj.vmap(f)(batch), [f(x) for x in batch], rtol=1e-14)


def test_shapes_and_dtypes_are_numpys() -> None:
    square = X[:4].reshape(2, 2)
    for f, x in (
        (lambda x: np.piecewise(x, [x > 0], [lambda v: v - v.mean(), lambda v: v.prod()]), square),
        (lambda x: np.piecewise(x, [np.array([True, False])], [lambda v: v - v.mean(), 0]), square),
        (lambda x: np.piecewise(x, [x > 0], [lambda v: v * 2, 7]), np.array(2.0)),
        (lambda x: np.piecewise(x, x > 0, [lambda v: v * 2, 7]), np.float64(-3.0)),
        (lambda x: np.piecewise(x, [x > 2], [lambda v: v / 2.7, 1.9]), np.arange(6)),
        (lambda x: np.piecewise([x[0], x[1], x[2]], [[True, False, True]], [lambda v: v.sum(), 0]), X),
    ):
        got, expected = tj.jit(f)(x), f(x)
        assert type(got) is np.ndarray and got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_what_does_not_fit_is_refused() -> None:
    for f in (
        lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]),
        lambda x: np.piecewise(x, [x > 0], [lambda v: v[:2], 0]),
    ):
        with pytest.raises((ValueError, IndexError)):
            f(X)
        with pytest.raises(TracejitError):
            tj.jit(f)(X)
