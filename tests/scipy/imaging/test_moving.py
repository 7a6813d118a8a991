"""Images moved by splines, against SciPy: all orders and modes, derivatives, integers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import tracejit as tj
from tracejit.test_util import check_grads

RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(9, 8))
WHOLE = (IMAGE * 40).astype(np.int16)
AT = RNG.uniform(-4, 13, (2, 11))
TURN = np.array([[0.9, -0.2], [0.15, 1.1]])
MODES = ("constant", "nearest", "mirror", "reflect", "wrap", "grid-wrap", "grid-constant", "grid-mirror")


def calls(order: int, mode: str) -> list[tuple[Any, np.ndarray]]:
    options = {"order": order, "mode": mode}
    return [
        (lambda x: ndimage.map_coordinates(x, AT, cval=0.5, **options), IMAGE),
        (lambda x: ndimage.shift(x, (0.7, -1.3), cval=0.5, **options), IMAGE),
        (lambda x: ndimage.zoom(x, (1.6, 0.7), **options), IMAGE),
        (lambda x: ndimage.affine_transform(x, TURN, offset=0.3, **options), IMAGE),
        (lambda x: ndimage.affine_transform(x, np.array([0.5, 1.2]), **options), IMAGE),
        (lambda x: ndimage.shift(x, 0.7, **options), WHOLE),
    ]


def check(order: int, mode: str, only: slice = slice(None)) -> None:
    for f, x in calls(order, mode)[only]:
        got, want = tj.jit(f)(x), f(x)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-10)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("order", "mode"), [(3, "constant"), (2, "nearest"), (1, "grid-constant"), (0, "wrap")]
)
def test_some(order: int, mode: str) -> None:
    check(order, mode, slice(2, 6))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("order", "mode"), [*itertools.product(range(6), MODES)])
def test_all(order: int, mode: str) -> None:
    check(order, mode)


def test_long_axes() -> None:
    """Coefficients are a correlation there."""
    x = RNG.normal(size=200)
    for order, mode in ((3, "mirror"), (5, "reflect"), (4, "grid-wrap")):
        got = tj.jit(lambda x: ndimage.spline_filter1d(x, order, mode=mode))(x)
        np.testing.assert_allclose(got, ndimage.spline_filter1d(x, order, mode=mode), rtol=1e-12, atol=1e-13)


def test_derivatives() -> None:
    inside = RNG.uniform(1.1, 6.4, (2, 5))
    check_grads(lambda x, at: ndimage.map_coordinates(x, at), (IMAGE, inside), order=2, rtol=1e-4, atol=1e-4)
    check_grads(
        lambda by: ndimage.shift(IMAGE, by, mode="mirror"),
        (np.array([0.3, -0.4]),),
        order=2,
        rtol=1e-4,
        atol=1e-4,
    )
    turned = lambda a: ndimage.affine_transform(IMAGE, a, mode="nearest")
    check_grads(turned, (TURN,), order=1, rtol=1e-3, atol=1e-3)


def test_complex_images_and_rotation() -> None:
    z = IMAGE + 1j * IMAGE[::-1]
    want: Any = ndimage.zoom(z, 1.5)
    np.testing.assert_allclose(tj.jit(lambda z: ndimage.zoom(z, 1.5))(z), want, rtol=1e-10)
    turn = lambda x: ndimage.rotate(x, 30.0)  # SciPy's own code, of affine_transform
    np.testing.assert_allclose(tj.jit(turn)(IMAGE), turn(IMAGE), atol=1e-11)


def test_refusals() -> None:
    with pytest.raises(RuntimeError, match="order"):
        tj.jit(lambda x: ndimage.shift(x, 1.0, order=6))(IMAGE)
    with pytest.raises(ValueError, match="has no traced form"):
        tj.jit(lambda x: ndimage.map_coordinates(x, np.ones((4, 2)), order=5))(np.ones((3, 3, 3, 3)))
