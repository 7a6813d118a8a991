"""`scipy.ndimage`'s windows of shapes: erosions and dilations of images and masks, ranks; and Fourier filters.

SciPy's own Python code makes morphology of a few functions, whose forms these are (`PART.helper`).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, lax
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy.operands import raw
from tracejit.ops.building.dims import normalize_axis
from tracejit.scipy.imaging.filters import PART, axes_of, done, each, gaussian_filter, neighbours
from tracejit.tracing import to_raw, wrap

Axes = tuple[int, ...]


def elements(name: str, input: Any, size: Any, footprint: Any, how: tuple[Any, Any, Any], axes: Any) -> Any:
    """The elements of each window, along a last axis, and the footprint that chose them. `how`: mode, cval, origin."""
    x = wrap(raw(input))
    if dtypes.is_complex(x.dtype):
        raise TypeError("Complex type not supported")
    axes = axes_of(x, axes)
    if footprint is None and size is None:
        raise RuntimeError("no footprint or filter size provided")
    chosen = None if footprint is None else np.asarray(_known(name, footprint), bool)
    sizes = each(size, len(axes)) if chosen is None else chosen.shape
    windows = neighbours(x, tuple(map(operator.index, sizes)), axes, *how)
    elements = windows.reshape((*x.shape, math.prod(sizes)))
    return elements if chosen is None else elements[..., np.flatnonzero(chosen)]


def _known(name: str, x: Any) -> np.ndarray:
    """An array whose elements must be known while tracing."""
    value = to_raw(x)
    if not isinstance(value, (np.ndarray, np.generic, list, tuple, bool, int, float)):
        raise ArgumentError(name=name, problem="a footprint or structure of traced values has no traced form")
    return np.asarray(value)


@PART.helper("_filters._min_or_max_filter")
def _min_or_max_filter(
    input: Any, size: Any, footprint: Any, structure: Any, output: Any, mode: Any, cval: Any, origin: Any,
    minimum: Any, axes: Any = None,
) -> Any:  # fmt: skip
    """The least (largest) of the elements of each window; of those of a structure, less (plus) its values."""
    name = "grey_erosion" if minimum else "grey_dilation"
    chosen: Any = None
    if structure is not None:
        heights = _known(name, structure).astype(float)
        footprint = np.ones(heights.shape, bool) if footprint is None else footprint
        chosen = heights[np.asarray(_known(name, footprint), bool)]
    found = elements(name, input, size, footprint, (mode, cval, origin), axes)
    if structure is not None:
        found = found - chosen if minimum else found + chosen
    return done(name, found.min(axis=-1) if minimum else found.max(axis=-1), input, output)


def _one_axis(name: str, pick: Callable[[Any], Any]) -> Any:
    def filtered(
        input: Any, size: int, axis: int = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0,
        origin: int = 0,
    ) -> Any:  # fmt: skip
        axis = normalize_axis(name, axis, wrap(raw(input)).ndim)
        found = elements(name, input, (size,), None, (mode, cval, (origin,)), (axis,))
        return done(name, pick(found), input, output)

    filtered.__name__ = filtered.__qualname__ = name
    filtered.__doc__ = f"`scipy.ndimage.{name}`, for traced values too."
    return PART.function(filtered)


maximum_filter1d = _one_axis("maximum_filter1d", lambda x: x.max(axis=-1))
minimum_filter1d = _one_axis("minimum_filter1d", lambda x: x.min(axis=-1))


@PART.helper("_filters._rank_filter")
def ranked(
    input: Any, rank: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, origin: Any = 0, operation: str = "rank", axes: Any = None,
) -> Any:  # fmt: skip
    """The element of that rank, or percentile, of each window."""
    found = elements("rank_filter", input, size, footprint, (mode, cval, origin), axes)
    n = found.shape[-1]
    if operation == "percentile":
        share = rank + 100.0 if rank < 0 else rank
        if not 0 <= share <= 100:
            raise RuntimeError("invalid percentile")
        place = n - 1 if share == 100 else int(float(n) * share / 100.0)
    else:
        place = n // 2 if operation == "median" else operator.index(rank)
    place = place + n if place < 0 else place
    if not 0 <= place < n:
        raise RuntimeError("rank not within filter footprint size")
    return done("rank_filter", tnp.sort(found, axis=-1)[..., place], input, output)


@PART.helper("_morphology._binary_erosion")
def _binary_erosion(
    input: Any, structure: Any, iterations: Any, mask: Any, output: Any, border_value: Any, origin: Any,
    invert: Any, brute_force: Any, axes: Any,
) -> Any:  # fmt: skip
    """Whether all elements of the structure around each place are there; of the complement, if `invert`."""
    x = wrap(raw(input)) != 0
    if axes is not None and len(axes_of(x, axes)) != x.ndim:
        raise ArgumentError(name="binary_erosion", problem="a part of the axes has no traced form")
    shape = _cross(x.ndim) if structure is None else np.asarray(_known("binary_erosion", structure), bool)
    border = bool(border_value) != bool(invert)
    allowed = None if mask is None else wrap(raw(mask)) != 0

    def once(x: Any) -> Any:
        found = elements("binary_erosion", x, None, shape, ("constant", border, origin), None)
        kept = found.all(axis=-1)
        return kept if allowed is None else tnp.where(allowed, kept, x)

    x = ~x if invert else x
    if operator.index(iterations) < 1:
        x = _settled(once, x)
    for _ in range(max(operator.index(iterations), 0)):
        x = once(x)
    x = ~x if invert else x
    return x if output is None else done("binary_erosion", x, x, output)


def _settled(step: Callable[[Any], Any], x: Any) -> Any:
    """The mask that steps no longer change: a native loop."""

    def more(state: Any) -> Any:
        return state[1]

    def body(state: Any) -> Any:
        new = step(state[0])
        return new, (new != state[0]).any()

    return lax.while_loop(more, body, (x, tnp.asarray(True) | (x != x).any()))[0]


@functools.cache
def _cross(ndim: int) -> np.ndarray:
    """The neighbours of a place along the axes, and itself."""
    return np.abs(np.indices((3,) * ndim) - 1).sum(axis=0) <= 1


# ---------------------------------------------------------------- derivatives of Gaussians


@PART.function
def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """The sum of the second derivatives of an image that Gaussians smooth."""
    x = wrap(raw(input))
    parts = [p for p, _ in _smoothed(x, sigma, output, mode, cval, axes, 2, options)]
    return done("gaussian_laplace", functools.reduce(operator.add, parts), input, output)


@PART.function
def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """The length of the gradient of an image that Gaussians smooth; its own derivative at 0 is 0."""
    x = wrap(raw(input))
    parts = [p * p for p, _ in _smoothed(x, sigma, output, mode, cval, axes, 1, options)]
    total = functools.reduce(operator.add, parts)
    flat = total == 0
    return done(
        "gaussian_gradient_magnitude", tnp.where(flat, 0, tnp.sqrt(tnp.where(flat, 1, total))), input, output
    )


def _smoothed(
    x: Any, sigma: Any, output: Any, mode: Any, cval: Any, axes: Any, order: int, options: Any
) -> Any:
    """The derivative along each axis."""
    chosen = axes_of(x, axes)
    kind = x.dtype if output is None or not isinstance(output, (type, str, np.dtype)) else output
    for n, axis in enumerate(chosen):
        orders = [order * (k == n) for k in range(len(chosen))]
        yield gaussian_filter(x, sigma, orders, kind, mode, cval, axes=chosen, **options), axis


# ---------------------------------------------------------------- filters of Fourier transforms


def _fourier(
    name: str, input: Any, amount: Any, place: tuple[int, int], output: Any, factor: Callable[..., Any]
) -> Any:
    """The transform times a factor along each axis. `place`: how long the axis of a real transform was, and its number;
    the length is negative for a complex one."""
    n, axis = place
    x = wrap(raw(input))
    last = normalize_axis(name, axis, x.ndim)
    out = x
    for k, by in enumerate(each(amount, x.ndim)):
        real = n > 0 and k == last
        length = n if real else x.shape[k]
        at = np.arange(x.shape[k]) if real else np.fft.fftfreq(length) * length
        shape = [1] * x.ndim
        shape[k] = -1
        out = out * factor(at, by, length).reshape(shape)
    kind = out.dtype if x.dtype not in (np.float32, np.complex64) else x.dtype
    return done(name, out, x, kind if output is None else output)


@PART.function
def fourier_gaussian(input: Any, sigma: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
    """What a Gaussian of standard deviations `sigma` makes of a Fourier transform."""
    return _fourier(
        "fourier_gaussian",
        input,
        sigma,
        (n, axis),
        output,
        lambda k, s, m: tnp.exp(-2.0 * (k * (math.pi / m) * s) ** 2),
    )


@PART.function
def fourier_uniform(input: Any, size: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
    """What the mean over boxes of `size` makes of a Fourier transform."""
    return _fourier("fourier_uniform", input, size, (n, axis), output, lambda k, s, m: tnp.sinc(k * s / m))


@PART.function
def fourier_shift(input: Any, shift: Any, n: int = -1, axis: int = -1, output: Any = None) -> Any:
    """What a shift of the image makes of its Fourier transform."""
    return _fourier(
        "fourier_shift", input, shift, (n, axis), output, lambda k, s, m: tnp.exp(-2j * math.pi / m * k * s)
    )


__all__ = [
    "fourier_gaussian",
    "fourier_shift",
    "fourier_uniform",
    "gaussian_gradient_magnitude",
    "gaussian_laplace",
    "maximum_filter1d",
    "minimum_filter1d",
]
