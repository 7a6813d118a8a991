"""Filters and windows of `scipy.signal` that are chosen by values: `firls`, and the window `tukey`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.scipy.hosting.likeness import floats, refuse
from tracejit.scipy.linalg import solve
from tracejit.tracing import Box, to_raw

__all__ = ["firls"]


def firls(numtaps: int, bands: Any, desired: Any, *, weight: Any = None, fs: Any = None) -> Any:
    """The symmetric FIR filter of an odd number of coefficients with the least weighted squares of its errors."""
    n = int(numtaps)
    if n % 2 == 0 or n < 1:
        raise ValueError("numtaps must be odd and >= 1")
    m = (n - 1) // 2
    bands = floats(bands).reshape(-1) / (1.0 if fs is None else 0.5 * fs)
    desired = floats(desired).reshape(-1)
    if bands.size % 2:
        raise ValueError("bands must contain frequency pairs.")
    if bands.size != desired.size:
        raise ValueError(
            f"desired must have one entry per frequency, got {desired.size} gains for {bands.size // 2} frequencies."
        )
    bands, desired = bands.reshape(-1, 2), desired.reshape(-1, 2)
    weight = tnp.ones(bands.shape[0]) if weight is None else floats(weight).reshape(-1)
    if weight.size != bands.shape[0]:
        raise ValueError("weight must be the same size as the number of band pairs.")
    order = (bands[:, 1] <= bands[:, 0]) | (bands[:, 0] < 0) | (bands[:, 1] > 1)
    wrong = (
        tnp.any(order) | tnp.any(bands[:-1, 1] > bands[1:, 0]) | tnp.any(desired < 0) | tnp.any(weight < 0)
    )
    leave_if(to_raw(wrong), "an error of SciPy's about bands, gains or weights")
    return _least_squares(m, bands, desired, weight)


def _least_squares(m: int, bands: Any, desired: Any, weight: Any) -> Any:
    """The solution of the normal equations, whose matrix depends on sums and differences of the places alone."""
    low, high = bands[:, 0], bands[:, 1]
    k = np.arange(2 * m + 1.0)[:, None]
    q = (tnp.sinc(high * k) * high - tnp.sinc(low * k) * low) @ weight
    i = np.arange(m + 1)
    matrix = q[abs(i[:, None] - i)] + q[i[:, None] + i]
    slope = (desired[:, 1] - desired[:, 0]) / (high - low)
    start = desired[:, 0] - low * slope
    k = k[: m + 1]

    def upto(f: Any) -> Any:
        """The integrals of the lines times the cosines from 0 to `f`."""
        waves = np.pi * np.where(k == 0, 1.0, k)
        curved = tnp.where(k == 0, -0.5 * f * f, tnp.cos(waves * f) / waves**2)
        return f * (slope * f + start) * tnp.sinc(f * k) + slope * curved

    a = solve(matrix, (upto(high) - upto(low)) @ weight, assume_a="pos", check_finite=False)
    return tnp.concatenate([a[:0:-1], 2 * a[:1], a[1:]])


def tukey(M: int, alpha: Any = 0.5, sym: bool = True, *, xp: Any = None, device: Any = None) -> Any:
    """The window whose ends are half periods of a cosine, of the share `alpha` of its length."""
    if type(M) is Box or (xp is not None and xp is not np) or device is not None:
        refuse("tukey", "a traced length, or an array library or device", "give the length as a constant")
    if int(M) != M or M < 0:
        raise ValueError("Window length M must be a non-negative integer")
    if M <= 1:
        return tnp.ones(int(M))
    n = int(M) if sym else int(M) + 1
    i = np.arange(0.0, n)
    share = tnp.where(alpha <= 0, 1.0, tnp.where(alpha >= 1, 1.0, alpha))
    width = tnp.floor(share * (n - 1) / 2.0)
    rise = 0.5 * (1 + tnp.cos(np.pi * (-1 + 2.0 * i / share / (n - 1))))
    fall = 0.5 * (1 + tnp.cos(np.pi * (-2.0 / share + 1 + 2.0 * i / share / (n - 1))))
    window = tnp.where(i <= width, rise, tnp.where(i >= n - width - 1, fall, 1.0))
    return tnp.where(alpha <= 0, 1.0, window)[: int(M)]
