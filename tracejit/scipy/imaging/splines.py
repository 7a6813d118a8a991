"""Splines through the elements of an array: their coefficients, and their values between the elements.

M. Unser, "Splines: a perfect fit for signal and image processing", 1999. A coefficient depends on the samples around
it by weights that fall off exponentially, so that those beyond a certain distance are nothing in double precision:
the coefficients are a correlation with a fixed vector, of samples that go on beyond the edges.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.imaging.filters import convolve1d

#: Order -> from where the weights of samples are nothing: the pole to this power is below 1e-17.
_REACH = {2: 24, 3: 31, 4: 40, 5: 48}
_SMALL = 64
#: Elements that decide one value, up to which the sum is written out.
MOST_TERMS = 256
#: How samples go on beyond the edges while coefficients are computed, by the mode.
_BEYOND = {
    "mirror": "mirror", "constant": "mirror", "wrap": "mirror", "grid-constant": "mirror",
    "nearest": "reflect", "reflect": "reflect", "grid-mirror": "reflect", "grid-wrap": "grid-wrap",
}  # fmt: skip
#: What is put around an image before, as SciPy does, where no continuation is exact.
PADDED = {"nearest": "edge", "grid-constant": "constant"}
PADS = 12
MODES = frozenset(_BEYOND)


@functools.cache
def _weights(order: int) -> np.ndarray:
    """The coefficients of the spline through a single one among zeros."""
    reach = _REACH[order]
    line = np.zeros(4 * reach + 1)
    line[2 * reach] = 1.0
    return scipy_module("ndimage").spline_filter1d(line, order)[reach : 3 * reach + 1]


@functools.cache
def _matrix(order: int, n: int, mode: str) -> np.ndarray:
    """The coefficients of n samples as a matrix. Between so few SciPy's own recursions leave an error at the edges."""
    return scipy_module("ndimage").spline_filter1d(np.eye(n), order, 0, mode=mode)


def coefficients(x: Any, order: int, axis: int, mode: str) -> Any:
    """The coefficients along one axis."""
    if mode not in MODES:
        raise ArgumentError(name="spline_filter1d", problem=f"boundary mode {mode!r} is unknown")
    n = x.shape[axis]
    if order < 2 or n == 1:
        return x
    if n <= _SMALL:
        return tnp.moveaxis(tnp.tensordot(_matrix(order, n, mode), x, ((1,), (axis,))), 0, axis)
    return convolve1d(x, _weights(order), axis, mode=_BEYOND[mode])


def filtered(x: Any, order: int, mode: str, cval: Any, prefilter: bool) -> tuple[Any, int]:
    """The coefficients along all axes, and how many elements were put around the image before."""
    if order < 2 or not prefilter:
        return x, 0
    pads = PADS if mode in PADDED else 0
    if pads:
        options = {"constant_values": cval} if mode == "grid-constant" else {}
        x = tnp.pad(x, pads, mode=PADDED[mode], **options)
    for axis in range(x.ndim):
        x = coefficients(x, order, axis, mode)
    return x, pads


def _basis(order: int, t: Any, piece: float) -> Any:
    """The B-spline at t, of whose pieces the one is taken in which `piece` lies."""
    a = abs(piece)
    s = t if piece >= 0 else -t
    if order == 1:
        return 1 - s
    if order == 2:
        return 0.75 - s * s if a < 0.5 else 0.5 * (1.5 - s) ** 2
    if order == 3:
        return 2 / 3 - s * s * (1 - s / 2) if a < 1 else (2 - s) ** 3 / 6
    if order == 4:
        if a < 0.5:
            return s * s * (s * s * 0.25 - 0.625) + 115 / 192
        if a < 1.5:
            return s * (s * (s * (5 / 6 - s / 6) - 1.25) + 5 / 24) + 55 / 96
        return (2.5 - s) ** 4 / 24
    if a < 1:
        return s * s * (s * s * (0.25 - s / 12) - 0.5) + 0.55
    if a < 2:
        return s * (s * (s * (s * (s / 24 - 0.375) + 1.25) - 1.75) + 0.625) + 0.425
    return (3 - s) ** 5 / 120


def _folded(c: Any, n: int, mode: str) -> Any:
    """Places beyond the edges as places within them; also between elements."""
    if n == 1 and mode != "grid-constant":
        return c * 0
    if mode in ("mirror", "constant"):
        period = 2 * n - 2
        c = tnp.mod(tnp.abs(c), period)  # of the size, which is exact where it is small
        return tnp.where(
            c >= n, period - c, c
        )  # as SciPy does: at once beyond the edge the elements are folded
    if mode in ("reflect", "grid-mirror"):
        c = tnp.mod(c + 0.5, 2 * n) - 0.5
        return tnp.where(c > n - 0.5, 2 * n - 1 - c, c)
    if mode == "wrap":
        inside = (c >= 0) & (c <= n - 1)
        return tnp.where(inside, c, tnp.mod(c, n - 1))
    if mode == "grid-wrap":
        return tnp.mod(c, n)
    return tnp.clip(c, 0, n - 1) if mode == "nearest" else c


def terms(c: Any, n: int, order: int, mode: str) -> tuple[list[tuple[Any, Any, Any]], Any]:
    """(index, weight, whether the element is there) of each element that decides the values at places `c` along an
    axis of n elements; and whether a place is inside, or None where all are."""
    inside = (c >= 0) & (c <= n - 1) if mode == "constant" else None
    c = _folded(c, n, mode)
    start = tnp.floor(c) if order % 2 else tnp.floor(c + 0.5)
    rest = c - start
    within = {"constant": "mirror", "wrap": "mirror"}.get(mode, mode)
    found = []
    for k in range(order + 1):
        step = k - order // 2
        middle = 0.5 - step if order % 2 else -float(step)
        weight = 1.0 if order == 0 else _basis(order, rest - step, middle if middle else 1e-9)
        place = start + step
        there = (place >= 0) & (place <= n - 1) if mode == "grid-constant" else None
        place = tnp.clip(place if there is not None else _folded(place, n, within), 0, n - 1)
        found.append((place.astype(np.int64), weight, there))
    return found, inside


def values(x: Any, places: list[Any], order: int, mode: str, cval: Any) -> Any:
    """The spline with coefficients `x` at places that have an array of coordinates for each axis."""
    along = [terms(c, n, order, mode) for c, n in zip(places, x.shape, strict=True)]
    total: Any = 0.0
    for corner in itertools.product(*(found for found, _ in along)):
        element = x[tuple(at for at, _, _ in corner)]
        for _, _, there in corner:
            element = element if there is None else tnp.where(there, element, cval)
        for _, weight, _ in corner:
            element = element * weight
        total = total + element
    return _kept(total, [inside for _, inside in along], cval)


def by_axes(x: Any, places: list[Any], order: int, mode: str, cval: Any, whole: bool = False) -> Any:
    """The same on a grid: a vector of coordinates for each axis, one axis after the other; or, if the values are to be
    rounded to whole ones, with the bits that SciPy's sum has."""
    if whole and (order + 1) ** x.ndim <= MOST_TERMS:
        shapes = [[-1 if k == axis else 1 for k in range(x.ndim)] for axis in range(x.ndim)]
        return values(x, [c.reshape(s) for c, s in zip(places, shapes, strict=True)], order, mode, cval)
    masks: list[Any] = []
    for axis, c in enumerate(places):
        found, inside = terms(c, x.shape[axis], order, mode)
        shape = [1] * x.ndim
        shape[axis] = -1
        total: Any = 0.0
        for at, weight, there in found:
            element = tnp.take(x, at, axis=axis)
            if there is not None:
                element = tnp.where(there.reshape(shape), element, cval)
            total = total + (weight if type(weight) is float else weight.reshape(shape)) * element
        masks.append(None if inside is None else inside.reshape(shape))
        x = total
    return _kept(x, masks, cval)


def _kept(total: Any, masks: list[Any], cval: Any) -> Any:
    given = [m for m in masks if m is not None]
    return tnp.where(functools.reduce(lambda a, b: a & b, given), total, cval) if given else total
