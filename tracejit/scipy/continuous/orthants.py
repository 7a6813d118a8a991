"""Probabilities that all elements of a normal vector lie below limits: the distribution function of several variables.

Of two variables it is a formula: a Gaussian sum along the correlation (Z. Drezner and G. Wesolowsky, 1990), or Owen's
function where the variables are nearly the same. Of more, SciPy computes it when the program runs, from random points.
Derivatives are exact in any number of variables: with one element fixed at its limit, the others are normal again, and
along a correlation the probability changes by the density of two elements at their limits (R. Plackett, 1954).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.control.custom.public import custom_jvp
from tracejit.ir.avals import Aval
from tracejit.ops._lazy import scipy_stats
from tracejit.scipy import solving
from tracejit.scipy import special as sp

#: Beyond this many deviations nothing is left: probabilities are 0 or 1 in floats.
_FAR = 40.0
_POINTS = 20
#: Correlations from which Owen's function is taken.
_NEAR = 0.925

Sample = Callable[[Any, Any], Any]


def _density(z: Any) -> Any:
    return tnp.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)


def _two(x: Any, y: Any, r: Any) -> Any:
    """The probability that both of two standard normal variables with the correlation `r` lie below x and y."""
    # Along the angle, from independence to r.
    places, weights = np.polynomial.legendre.leggauss(_POINTS)
    inner = tnp.clip(r, -_NEAR, _NEAR)
    angle = tnp.arcsin(inner)
    at = angle * (places + 1) / 2
    sine, cosine = tnp.sin(at), tnp.cos(at)
    x0, y0 = x[:, None], y[:, None]
    heights = tnp.exp(-(x0 * x0 + y0 * y0 - 2 * sine * x0 * y0) / (2 * cosine * cosine))
    summed = sp.ndtr(x) * sp.ndtr(y) + angle * (heights @ weights) / (4 * math.pi)
    rest = tnp.sqrt(tnp.maximum((1 - r) * (1 + r), 1e-300))
    one, two = (tnp.where(v == 0, 1e-300, v) for v in (x, y))  # the limit of Owen's formula
    parts = sp.owens_t(one, (two / one - r) / rest) + sp.owens_t(two, (one / two - r) / rest)
    sides = tnp.where((one < 0) != (two < 0), 0.5, 0.0)
    by_owen = (sp.ndtr(x) + sp.ndtr(y)) / 2 - parts - sides
    return tnp.where(tnp.abs(r) < _NEAR, summed, tnp.maximum(by_owen, 0.0))


def _fixed(z: Any, r: Any, i: int) -> tuple[Any, Any]:
    """The limits and the correlations of the other elements where the one with index `i` is at its limit."""
    others = [j for j in range(r.shape[0]) if j != i]
    along = r[i, np.array(others, int)]
    left = tnp.sqrt(tnp.maximum(1 - along * along, 1e-300))
    z_new = (z[:, np.array(others, int)] - along * z[:, i : i + 1]) / left
    r_new = (r[np.ix_(others, others)] - along[:, None] * along) / (left[:, None] * left)
    return tnp.clip(z_new, -_FAR, _FAR), r_new


def below(z: Any, r: Any, sample: Sample) -> Any:
    """The probabilities (m,) that all elements lie below the limits `z` (m, n), of standard normal vectors with the
    correlations `r`; `sample(z, r)` gives those of three variables and more."""
    n = r.shape[0]
    if n == 0:
        return tnp.ones(z.shape[0])
    if n == 1:
        return sp.ndtr(z[:, 0])

    @custom_jvp
    def value(z: Any, r: Any) -> Any:
        return _two(z[:, 0], z[:, 1], r[0, 1]) if n == 2 else sample(z, r)

    @value.defjvp
    def _slope(primals: Any, tangents: Any) -> Any:
        (z, r), (dz, dr) = primals, tangents
        out: Any = tnp.zeros(z.shape[0])
        for i in range(n):
            z_rest, r_rest = _fixed(z, r, i)
            height = _density(z[:, i])
            out = out + dz[:, i] * height * below(z_rest, r_rest, sample)
            for j in range(i + 1, n):  # which is at j - 1 among the others
                both = height * _density(z_rest[:, j - 1]) / tnp.sqrt(tnp.maximum(1 - r[i, j] ** 2, 1e-300))
                out = out + dr[i, j] * both * below(*_fixed(z_rest, r_rest, j - 1), sample)
        return value(z, r), out

    return value(z, r)


def on_the_host(options: dict[str, Any]) -> Sample:
    """SciPy's distribution function as a call of the program's."""

    def sample(z: Any, r: Any) -> Any:
        def host(_: Any, z: Any, r: Any) -> Any:
            return [scipy_stats().multivariate_normal.cdf(z, cov=r, allow_singular=True, **options)]

        return solving.host_call(host, [], [Aval((z.shape[0],), np.dtype(float))], z, r)[0]

    return sample


def probability(x: Any, covariance: Any, sample: Sample) -> Any:
    """The probabilities that normal vectors with mean 0 lie below the rows of `x`."""
    size = tnp.sqrt(tnp.diagonal(covariance))
    z = tnp.clip(x / size, -_FAR, _FAR)
    return below(z, covariance / (size[:, None] * size), sample)
