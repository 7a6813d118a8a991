"""tracejit.scipy.ndimage against SciPy, in plain SciPy code that is traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import tracejit as tj
from tracejit.test_util import check_grads

RNG = np.random.default_rng(11)
X = RNG.normal(size=(6, 7))
W = RNG.normal(size=(2, 3))
MANY = RNG.normal(size=(5, 6))
AT = RNG.uniform(-1, 7, (2, 20))
MODES = ["reflect", "constant", "nearest", "mirror", "wrap", "grid-mirror", "grid-wrap", "grid-constant"]
CASES: dict[str, Callable[[Any], Any]] = {
    "correlate1d": lambda x: ndimage.correlate1d(x, [1.0, -2, 4], 0, origin=1),
    "correlate1d even": lambda x: ndimage.correlate1d(x, [1.0, -2, 4, 3], origin=-1),
    "convolve1d": lambda x: ndimage.convolve1d(x, [1.0, -2, 4]),
    "convolve1d even": lambda x: ndimage.convolve1d(x, [1.0, -2, 4, 3], 0, origin=1),
    "correlate": lambda x: ndimage.correlate(x, W, origin=(0, 1)),
    "convolve": lambda x: ndimage.convolve(x, W),
    "convolve origin": lambda x: ndimage.convolve(x, W[:, :2], mode="constant", cval=2.0, origin=(-1, 0)),
    "correlate many": lambda x: ndimage.correlate(x, MANY, mode="wrap", origin=(0, -1)),
    "convolve many": lambda x: ndimage.convolve(x, MANY, mode="constant", cval=1.5),
    "convolve1d many": lambda x: ndimage.convolve1d(x, MANY[0].repeat(4), 0),
    "gaussian_filter1d": lambda x: ndimage.gaussian_filter1d(x, 1.5),
    "gaussian slope": lambda x: ndimage.gaussian_filter1d(x, 0.7, 0, order=1, radius=3),
    "gaussian third": lambda x: ndimage.gaussian_filter1d(x, 0.9, order=3),
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x, (0.6, 0.0), mode=["wrap", "nearest"]),
    "gaussian axes": lambda x: ndimage.gaussian_filter(x, 0.8, order=2, axes=(1,), truncate=3.0),
    "uniform_filter1d": lambda x: ndimage.uniform_filter1d(x, 4, 0, origin=-1),
    "uniform_filter": lambda x: ndimage.uniform_filter(x, (3, 2)),
    "maximum_filter": lambda x: ndimage.maximum_filter(x, 3),
    "minimum_filter": lambda x: ndimage.minimum_filter(x, footprint=[[0, 1], [1, 1]], mode="nearest"),
    "median_filter": lambda x: ndimage.median_filter(x, (2, 3)),
    "sobel": lambda x: ndimage.sobel(x, 0),
    "prewitt": lambda x: ndimage.prewitt(x, mode="constant"),
    "laplace": lambda x: ndimage.laplace(x, mode="wrap"),
    "nearest element": lambda x: ndimage.map_coordinates(x, AT, order=0, mode="nearest"),
    "multilinear": lambda x: ndimage.map_coordinates(x, AT, order=1, cval=-3.0),
    "multilinear nearest": lambda x: ndimage.map_coordinates(x, AT, order=1, mode="nearest"),
    "nearest grid": lambda x: ndimage.map_coordinates(x, AT, order=0, mode="grid-constant", cval=0.5),
    "multilinear grid": lambda x: ndimage.map_coordinates(x, AT, order=1, mode="grid-constant", cval=0.5),
    "output": lambda x: ndimage.sobel(x, output=np.float32) + ndimage.laplace(x, np.zeros((6, 7))),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", sorted(CASES))
def test_values_and_derivatives(name: str) -> None:
    f = CASES[name]
    want = f(X)
    got = tj.jit(f)(X)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tj.vmap(f)(np.stack([X, -X]))[1], f(-X), rtol=1e-12, atol=1e-12)
    if name != "output":  # rounded to float32 on the way
        check_grads(lambda x: f(x) ** 2, (X,), order=1)


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str) -> None:
    def f(x: Any) -> Any:
        return ndimage.correlate1d(x, [1.0, 2, 3, 4, 5], 0, mode=mode, cval=1.5)

    np.testing.assert_allclose(tj.jit(f)(X), f(X), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float32, np.complex128])
def test_dtypes(dtype: Any) -> None:
    x = (10 * np.abs(X)).astype(dtype)
    for f in (lambda x: ndimage.correlate(x, W), lambda x: ndimage.uniform_filter(x, 3)):
        got, want = tj.jit(f)(x), f(x)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=0 if want.dtype.kind in "iu" else 1e-6)


IMAGES = {
    "even": np.full((12, 12), 200, np.uint8),
    "rising": np.tile(np.arange(12, dtype=np.uint8) * 13, (12, 1)),
    "random": RNG.integers(-300, 300, (12, 12)).astype(np.int16),
    "mask": RNG.random((12, 12)) > 0.4,
}
WHOLE: dict[str, Callable[[Any], Any]] = {
    "gaussian": lambda x: ndimage.gaussian_filter(x, 1.0),
    "wide gaussian": lambda x: ndimage.gaussian_filter(x, 2.5),
    "uniform": lambda x: ndimage.uniform_filter(x, 3),
    "even uniform": lambda x: ndimage.uniform_filter1d(x, 4, 0, origin=1),
    "thirds": lambda x: ndimage.correlate1d(x, [1 / 3, 1 / 3, 1 / 3]),
    "tenths": lambda x: ndimage.convolve1d(x, [0.1, 0.2, 0.3, 0.4]),
    "slope": lambda x: ndimage.correlate1d(x, [-0.3, 0.0, 0.3], 0),
    "sobel": ndimage.sobel,
    "magnitude": lambda x: ndimage.gaussian_gradient_magnitude(x, 1.0),
    "shift": lambda x: ndimage.shift(x, 0.5),
    "rotate": lambda x: ndimage.rotate(x, 30.0, order=1),
    "nearest": lambda x: ndimage.rotate(x, 30.0, order=0),
    "zoom": lambda x: ndimage.zoom(x, 1.7, order=1),
}


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("image", IMAGES)
@pytest.mark.parametrize("name", WHOLE)
def test_images_of_integers_have_scipys_values(name: str, image: str) -> None:
    """Sums are cut off or rounded, so that their last bits count: they are added as SciPy adds them, or by SciPy."""
    f, x = WHOLE[name], IMAGES[image]
    got, want = tj.jit(f, fallback=True)(x), f(x)
    assert got.dtype == want.dtype and np.array_equal(got, want)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: ndimage.uniform_filter(x, (2, 3), mode="constant", cval=3.7, output=np.int32),
        lambda x: ndimage.uniform_filter1d(x, 2, output=int),
        lambda x: ndimage.uniform_filter(x, 3, output=bool),
        lambda x: ndimage.uniform_filter1d(x.astype(int) << 56, 2),
    ],
)
def test_means_that_last_bits_decide_are_scipys(f: Any) -> None:
    """SciPy's sum gains and loses an element at each place, and keeps what their last bits have lost."""
    g = tj.jit(f, fallback=True)
    for x in (
        np.arange(30.0).reshape(5, 6),
        RNG.integers(-200, 200, (9, 8)) / 10,
        RNG.integers(0, 255, (8, 8)) * 1e3,
    ):
        got, want = g(x), f(x)
        assert got.dtype == want.dtype and np.array_equal(got, want)


def test_filters_of_integers_are_native() -> None:
    for name in ("gaussian", "uniform", "thirds", "slope"):
        got = tj.jit(WHOLE[name], fallback=False)(IMAGES["random"])
        assert np.array_equal(got, WHOLE[name](IMAGES["random"]))


def test_weights_and_coordinates_may_be_traced() -> None:
    check_grads(lambda w: ndimage.convolve(X, w) ** 2, (W,), order=2)
    inner = np.array([[1.3, 2.6], [0.4, 5.7]])
    check_grads(lambda c: ndimage.map_coordinates(X, c, order=1), (inner,), order=1)


@pytest.mark.parametrize(
    ("f", "words"),
    [
        (lambda x: ndimage.correlate1d(x, [1.0, 2], mode="round"), "boundary mode"),
        (lambda x: ndimage.correlate1d(x, [1.0, 2], origin=3), "invalid origin"),
        (lambda x: ndimage.correlate(x, [1.0, 2]), "one axis for each"),
        (lambda x: ndimage.median_filter(x), "no footprint"),
        (lambda x: ndimage.map_coordinates(x, AT, mode="round"), "boundary mode"),
        (lambda x: ndimage.gaussian_filter(x, (1, 2, 3)), "3 values for 2 axes"),
    ],
)
def test_bad_arguments(f: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        tj.jit(f)(X)


def test_many_weights_are_one_operation() -> None:
    """The size of a program does not depend on the number of weights; images of integers have SciPy's values."""
    w = RNG.normal(size=(15, 15))
    few, many = (
        len(tj.make_jaxpr(tj.grad(lambda x, w=w: ndimage.convolve(x, w).sum()))(X).jaxpr.eqns)
        for w in (w[:5, :5], w)
    )
    assert few == many < 200
    image, mean = np.arange(100, dtype=np.uint8).reshape(10, 10), np.full((5, 5), 1 / 25)
    assert np.array_equal(tj.jit(lambda x: ndimage.convolve(x, mean))(image), ndimage.convolve(image, mean))


@pytest.mark.parametrize("f", [ndimage.correlate, ndimage.convolve])
def test_weights_of_axes_in_another_order_are_scipys(f: Any) -> None:
    x = RNG.normal(size=(4, 5, 6))
    g = tj.jit(lambda x: f(x, W, axes=(2, 0)), fallback=True)
    with pytest.warns(tj.errors.FallbackWarning, match="increasing order"):
        assert np.array_equal(g(x), f(x, W, axes=(2, 0)))
