"""Images of another size: `jax.image` for NumPy programs.

Each axis is resampled by one matrix of weights. Sources of the kernels: R. Keys, Cubic convolution interpolation for
digital image processing (1981); C. Duchon, Lanczos filtering in one and two dimensions (1979).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.docstrings import complete as _complete
from tracejit.errors import ArgumentError

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """How pixels between those of an image are found. Functions take the name as text, too, such as "linear"."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """The method of this name. Raises ArgumentError for another."""
        if s not in _NAMES:
            problem = f"there is no method {s!r}; there are {', '.join(sorted(_NAMES))}"
            raise ArgumentError(name="resize", problem=problem)
        return _NAMES[s]


_LINEAR, _CUBIC = ("linear", "bilinear", "trilinear", "triangle"), ("cubic", "bicubic", "tricubic")
_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(_LINEAR, ResizeMethod.LINEAR),
    **dict.fromkeys(_CUBIC, ResizeMethod.CUBIC),
    **dict.fromkeys(("cubic-pytorch", "bicubic-pytorch"), ResizeMethod.CUBIC_PYTORCH),
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "area": ResizeMethod.AREA,
}


def _triangle(d: Any) -> Any:
    return tnp.maximum(1 - d, 0)


def _cubic(a: float) -> Callable[[Any], Any]:
    """Keys' kernel with the slope `a` at distance 1."""

    def kernel(d: Any) -> Any:
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((d - 5) * d + 8) * d * a - 4 * a
        return tnp.where(d < 1, near, tnp.where(d < 2, far, 0.0))

    return kernel


def _lanczos(radius: int) -> Callable[[Any], Any]:
    return lambda d: tnp.where(d <= radius, tnp.sinc(d) * tnp.sinc(d / radius), 0.0)


_KERNELS: dict[ResizeMethod, Callable[[Any], Any]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.CUBIC: _cubic(-0.5),
    ResizeMethod.CUBIC_PYTORCH: _cubic(-0.75),
    ResizeMethod.LANCZOS3: _lanczos(3),
    ResizeMethod.LANCZOS5: _lanczos(5),
}


def _normalized(weights: Any) -> Any:
    """Columns with the sum 1, or 0 where they have next to nothing within the image."""
    total = tnp.sum(weights, axis=0)
    there = tnp.abs(total) > 1000 * np.finfo(np.float32).eps
    return tnp.where(there, weights / tnp.where(there, total, 1.0), 0.0)


def _weights(m: int, n: int, scale: Any, translation: Any, method: ResizeMethod, antialias: bool) -> Any:
    """The matrix (m, n) that gives n pixels of m. Pixels whose centres lie outside of the image get nothing."""
    centres = (np.arange(n) + 0.5 - translation) / scale - 0.5
    if method is ResizeMethod.AREA:
        low = (np.arange(n) - translation) / scale
        at = np.arange(m)[:, None]
        shared = tnp.minimum(low + 1 / scale, at + 1.0) - tnp.maximum(low, at)
        weights = tnp.maximum(shared, 0.0)
    elif method is ResizeMethod.CUBIC_PYTORCH and not antialias:
        return _with_edges(m, centres, _KERNELS[method])
    else:
        kernel = _KERNELS[ResizeMethod.CUBIC if method is ResizeMethod.CUBIC_PYTORCH else method]
        stretch = tnp.maximum(1 / scale, 1.0) if antialias else 1.0
        weights = kernel(tnp.abs(centres - np.arange(m)[:, None]) / stretch)
    inside = (centres >= -0.5) & (centres <= m - 0.5)
    return tnp.where(inside, _normalized(weights), 0.0)


def _with_edges(m: int, centres: Any, kernel: Callable[[Any], Any]) -> Any:
    """Weights for an image that goes on with its last pixels for two more."""
    positions = np.arange(-2, m + 2)
    weights = kernel(tnp.abs(centres - positions[:, None]))
    onto = (np.clip(positions, 0, m - 1) == np.arange(m)[:, None]).astype(float)
    return _normalized(onto @ weights)


def _resampled(image: Any, axes: Sequence[int], weights: Sequence[Any]) -> Any:
    for axis, w in zip(axes, weights, strict=True):
        moved = tnp.moveaxis(image, axis, -1) @ w.astype(image.dtype)
        image = tnp.moveaxis(moved, -1, axis)
    return image


def _inexact(image: Any) -> Any:
    return image if image.dtype.kind in "fc" else image.astype(float)


def _method(method: str | ResizeMethod) -> ResizeMethod:
    return ResizeMethod.from_string(method) if isinstance(method, str) else method


def resize(
    image: Any,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Any:
    """The image with another shape of as many axes.

    With `antialias`, kernels are as wide as the pixels of a smaller image. "nearest" keeps the dtype; other methods
    give floats.

    Raises:
        ArgumentError: there is no such method, or the shape has another number of axes.
    """
    image, found = tnp.asarray(image), _method(method)
    if len(shape) != image.ndim:
        problem = f"the shape {tuple(shape)} has {len(shape)} axes, the image {image.ndim}"
        raise ArgumentError(name="resize", problem=problem)
    axes = [n for n, (old, new) in enumerate(zip(image.shape, shape, strict=True)) if old != new]
    if found is ResizeMethod.NEAREST:
        for axis in axes:
            m, n = image.shape[axis], shape[axis]
            image = tnp.take(image, np.floor((np.arange(n) + 0.5) * m / n).astype(int), axis=axis)
        return image
    ratios = [np.float64(shape[a]) / image.shape[a] for a in axes]
    weights = [
        _weights(image.shape[a], shape[a], scale, 0.0, found, antialias)
        for a, scale in zip(axes, ratios, strict=True)
    ]
    return _resampled(_inexact(image), axes, weights)


def scale_and_translate(
    image: Any,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = None,
) -> Any:
    """The image scaled and moved along `spatial_dims`, into an image of another shape; zero outside of it.

    A pixel at y goes to `y * scale + translation`, where pixel n has its centre at n + 1/2. It is differentiable with
    respect to the image, the scale and the translation.

    Raises:
        ArgumentError: the method is "nearest" or not known, or the shape does not fit.
    """
    image, found = _inexact(tnp.asarray(image)), _method(method)
    others = [n for n in range(image.ndim) if n not in [d % image.ndim for d in spatial_dims]]
    if len(shape) != image.ndim or any(shape[n] != image.shape[n] for n in others):
        problem = f"an image of shape {image.shape} can't have the shape {tuple(shape)}"
        raise ArgumentError(name="scale_and_translate", problem=problem)
    if found is ResizeMethod.NEAREST:
        raise ArgumentError(name="scale_and_translate", problem="it has no method 'nearest'")
    scale, translation = tnp.asarray(scale), tnp.asarray(translation)
    weights = [
        _weights(image.shape[d], shape[d], scale[n], translation[n], found, antialias)
        for n, d in enumerate(spatial_dims)
    ]
    return _resampled(image, spatial_dims, weights)


_complete(__name__)
