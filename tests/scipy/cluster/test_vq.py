"""k-means and its parts against SciPy's own; derivatives by differences, with the assignments held fixed."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.cluster.vq as scipys

import tracejit as tj
from tracejit.errors import ShapeError
from tracejit.scipy.cluster.vq import vq

RNG = np.random.default_rng(0)
CALLS = {
    "vq": scipys.vq,
    "kmeans": scipys.kmeans,
    "kmeans2": lambda x, g: scipys.kmeans2(x, g, minit="matrix"),
    "one step": lambda x, g: scipys.kmeans2(x, g, 1, minit="matrix"),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_scipy(name: str) -> None:
    f: Any = CALLS[name]
    for shape, kind in (((20, 3), np.float64), ((20,), np.float32)):
        x = RNG.normal(size=shape).astype(kind)
        compiled = tj.jit(lambda x, g: f(x, g), fallback=False)
        for ours, want in zip(compiled(x, x[:4]), f(x, x[:4]), strict=True):
            assert ours.dtype == want.dtype and type(ours) is type(want)
            np.testing.assert_allclose(ours, want, rtol=1e-5 if kind == np.float32 else 1e-13, atol=1e-15)
        assert "library_call" not in compiled.lower(x, x[:4]).as_text("jaxpr")
    many = RNG.normal(size=(3, 20, 2))
    got = tj.jit(tj.vmap(lambda x: f(x, x[:2])))(many)
    for n, x in enumerate(many):
        for ours, want in zip(got, f(x, x[:2]), strict=True):
            np.testing.assert_allclose(ours[n], want, rtol=1e-13)


@pytest.mark.parametrize("name", CALLS)
def test_derivatives(name: str) -> None:
    f: Any = CALLS[name]
    x, way = RNG.normal(size=(2, 20, 3))

    def along(t: Any) -> Any:
        y = x + t * way
        return sum(tj.numpy.sum(tj.numpy.asarray(v) ** 2) for v in f(y, y[:4]))

    near = (along(1e-6) - along(-1e-6)) / 2e-6
    np.testing.assert_allclose(tj.jit(tj.grad(along))(0.0), near, rtol=1e-6)
    np.testing.assert_allclose(tj.grad(along)(0.0), near, rtol=1e-6)


def test_what_python_does() -> None:
    x, far = RNG.normal(size=(20, 2)), np.array([[0.0, 0.0], [9.0, 9.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = tj.jit(lambda x: scipys.kmeans(x, far), fallback=True)(x)
        assert got[0].shape == (1, 2)
        np.testing.assert_allclose(got[0], scipys.kmeans(x, far)[0])
        got = tj.jit(lambda x: scipys.kmeans(x, 2, rng=1), fallback=True)(x)
        np.testing.assert_allclose(got[0], scipys.kmeans(x, 2, rng=1)[0])
        with pytest.raises(scipys.ClusterError):
            tj.jit(lambda x: scipys.kmeans2(x, far, minit="matrix", missing="raise"), fallback=True)(x)
        with pytest.raises(ValueError, match="infs or NaNs"):
            tj.jit(lambda x: scipys.kmeans(x, far), fallback=True)(x * np.nan)
        with pytest.raises(ValueError, match="at least 1"):
            tj.jit(lambda x: scipys.kmeans(x, x[:2], iter=0), fallback=True)(x)
    with pytest.raises(ShapeError, match="do not fit"):
        tj.jit(vq, fallback=False)(np.ones((3, 2)), np.ones((3, 4)))
