"""The fast Hankel transform of samples at logarithmic distances (Hamilton 2000, FFTLog), for traced values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.errors import ArgumentError
from tracejit.numpy import fft
from tracejit.scipy import special


def _floats(x: Any) -> Any:
    a = tnp.asarray(x)
    return a if dtypes.is_inexact(a.dtype) else a.astype(float)


def _is_pole(x: Any) -> bool:
    """Whether a number that is known is a pole of the gamma function."""
    return isinstance(x, (int, float)) and x <= 0 and x == math.floor(x)


def _coefficients(name: str, n: int, dln: Any, mu: Any, offset: Any, bias: Any) -> Any:
    """The Mellin transform of the kernel at the frequencies of n samples."""
    low, high = (mu + 1 - bias) / 2, (mu + 1 + bias) / 2
    if _is_pole(low) or _is_pole(high):
        raise ArgumentError(name=name, problem="a singular transform has no traced form")
    y = np.linspace(0.0, 1.0, n // 2 + 1) * (math.pi * (n // 2) / n) / dln
    below, above = special.loggamma(low + 1j * y), special.loggamma(high + 1j * y)
    size = above.real - below.real + math.log(2) * bias
    angle = below.imag + above.imag + 2 * (math.log(2) - offset) * y
    u = tnp.exp(size) * (tnp.cos(angle) + 1j * tnp.sin(angle))
    # Of an even number of samples the highest frequency has a real coefficient.
    return u if n % 2 else tnp.concatenate([u[:-1], u[-1:].real + 0j])


def _weighted(a: Any, dln: Any, bias: Any, sign: float, shift: Any) -> Any:
    n = a.shape[-1]
    place = (np.arange(n) - (n - 1) / 2) * dln + shift
    return a * tnp.exp(sign * bias * place)


def _is_none(bias: Any) -> bool:
    return isinstance(bias, (int, float)) and bias == 0


def _filtered(x: Any, u: Any) -> Any:
    spectrum = fft.rfft(x)
    return fft.irfft(spectrum * u.astype(spectrum.dtype), x.shape[-1])[..., ::-1]


def fht(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """The Hankel transform of order `mu` of the samples `a`, whose arguments grow by the factor exp(dln). Raises
    ArgumentError for a singular one."""
    x = _floats(a)
    u = _coefficients("fht", x.shape[-1], dln, mu, offset, bias)
    if _is_none(bias):
        return _filtered(x, u)
    return _weighted(_filtered(_weighted(x, dln, bias, -1.0, 0.0), u), dln, bias, -1.0, offset)


def ifht(A: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Any:
    """The samples whose transform by `fht` is `A`. Raises ArgumentError for a singular one."""
    x = _floats(A)
    u = _coefficients("ifht", x.shape[-1], dln, mu, offset, bias)
    if not _is_none(bias):
        x = _weighted(x, dln, bias, 1.0, offset)
    out = _filtered(x, 1 / u.conj())
    return out if _is_none(bias) else _weighted(out, dln, bias, 1.0, 0.0)
