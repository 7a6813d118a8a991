"""Continuous distributions: transformations of uniform and normal numbers.

All take a key first. `shape` is the shape of the draw (None: the parameters' broadcast shape), `dtype` a
real float (None: the parameters', float64 unless they are arrays of another). Draws are differentiable
in the parameters. Formulas are the inverses of the distribution functions unless said otherwise
(Devroye, "Non-Uniform Random Variate Generation", 1986).

Raises (all): RandomKeyError for what is no key, RandomArgumentError for a dtype or shape that does not fit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.random.drawing import (
    float_dtype,
    open_unit,
    sampler,
    shape_of_draw,
    spread,
    uniform_between,
    unit_interval,
)
from tracejit.random.keys import Shape, as_shape, split
from tracejit.scipy import special
from tracejit.tracing import wrap


@sampler
def uniform(key: Any, shape: Shape = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Any:
    """Uniform in [minval, maxval), of `shape`, float64 by default."""
    dtype = float_dtype("uniform", dtype, minval, maxval)
    shape = shape_of_draw("uniform", as_shape(shape), minval, maxval)
    u = wrap(unit_interval(key, shape, dtype))
    low, high = spread(minval, shape, dtype), spread(maxval, shape, dtype)
    return tnp.maximum(low, u * (high - low) + low)


@sampler
def normal(key: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Standard normal: sqrt(2) erfinv(u) for u uniform in (-1, 1)."""
    dtype = float_dtype("normal", dtype)
    low = float(np.nextafter(dtype.type(-1), dtype.type(0)))
    u = uniform_between(key, as_shape(shape), dtype, low, 1.0)
    return (special.erfinv(u) * dtype.type(math.sqrt(2))).astype(dtype)  # SciPy's functions widen halves


@sampler
def lognormal(key: Any, sigma: Any = 1.0, shape: Shape | None = None, dtype: Any = None) -> Any:
    """exp(sigma z) for a standard normal z."""
    dtype = float_dtype("lognormal", dtype, sigma)
    shape = shape_of_draw("lognormal", shape, sigma)
    return tnp.exp(normal(key, shape, dtype) * spread(sigma, shape, dtype))


@sampler
def truncated_normal(key: Any, lower: Any, upper: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Standard normal, given that it lies in (lower, upper)."""
    dtype = float_dtype("truncated_normal", dtype, lower, upper)
    shape = shape_of_draw("truncated_normal", shape, lower, upper)
    root = dtype.type(math.sqrt(2))
    low, high = spread(lower, shape, dtype), spread(upper, shape, dtype)
    a, b = special.erf(low / root), special.erf(high / root)
    u = wrap(unit_interval(key, shape, dtype))
    out = (root * special.erfinv(a + u * (b - a))).astype(dtype)
    # rounding may leave the open interval
    inside = tnp.nextafter(low, dtype.type(np.inf)), tnp.nextafter(high, dtype.type(-np.inf))
    return tnp.clip(out, *inside).astype(dtype)


@sampler
def exponential(key: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Exponential with mean 1."""
    dtype = float_dtype("exponential", dtype)
    return -tnp.log1p(-wrap(unit_interval(key, as_shape(shape), dtype)))


@sampler
def gumbel(key: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Standard Gumbel: -log(-log u)."""
    dtype = float_dtype("gumbel", dtype)
    return -tnp.log(-tnp.log(open_unit(key, as_shape(shape), dtype)))


@sampler
def laplace(key: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Standard Laplace: density exp(-|x|) / 2."""
    dtype = float_dtype("laplace", dtype)
    eps = float(dtypes.finfo(dtype).epsneg)
    u = uniform_between(key, as_shape(shape), dtype, -1 + eps, 1.0)
    return tnp.sign(u) * tnp.log1p(-tnp.abs(u))


@sampler
def logistic(key: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Standard logistic: log(u / (1 - u))."""
    dtype = float_dtype("logistic", dtype)
    u = open_unit(key, as_shape(shape), dtype)
    return tnp.log(u) - tnp.log1p(-u)


@sampler
def cauchy(key: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Standard Cauchy: tan(pi (u - 1/2))."""
    dtype = float_dtype("cauchy", dtype)
    u = open_unit(key, as_shape(shape), dtype)
    return tnp.tan(dtype.type(math.pi) * (u - dtype.type(0.5)))


@sampler
def rayleigh(key: Any, scale: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Rayleigh: scale sqrt(-2 log u)."""
    dtype = float_dtype("rayleigh", dtype, scale)
    shape = shape_of_draw("rayleigh", shape, scale)
    u = open_unit(key, shape, dtype)
    return spread(scale, shape, dtype) * tnp.sqrt(dtype.type(-2) * tnp.log(u))


@sampler
def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Shape | None = None, dtype: Any = None
) -> Any:
    """Weibull: scale (-log u) ** (1 / concentration)."""
    dtype = float_dtype("weibull_min", dtype, scale, concentration)
    shape = shape_of_draw("weibull_min", shape, scale, concentration)
    power = dtype.type(1) / spread(concentration, shape, dtype)
    return spread(scale, shape, dtype) * exponential(key, shape, dtype) ** power


@sampler
def pareto(key: Any, b: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Pareto with density b / x ** (b + 1) for x >= 1."""
    dtype = float_dtype("pareto", dtype, b)
    shape = shape_of_draw("pareto", shape, b)
    return tnp.exp(exponential(key, shape, dtype) / spread(b, shape, dtype))


@sampler
def triangular(
    key: Any, left: Any, mode: Any, right: Any, shape: Shape | None = None, dtype: Any = None
) -> Any:
    """Triangular on [left, right] with its peak at `mode`."""
    dtype = float_dtype("triangular", dtype, left, mode, right)
    shape = shape_of_draw("triangular", shape, left, mode, right)
    a, c, b = (spread(x, shape, dtype) for x in (left, mode, right))
    u = wrap(unit_interval(key, shape, dtype))
    split_at = (c - a) / (b - a)
    rising = a + tnp.sqrt(u * (b - a) * (c - a))
    falling = b - tnp.sqrt((1 - u) * (b - a) * (b - c))
    return tnp.where(u < split_at, rising, falling)


@sampler
def maxwell(key: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Maxwell: the length of a standard normal vector of three components."""
    dtype = float_dtype("maxwell", dtype)
    z = normal(key, (*as_shape(shape), 3), dtype)
    return tnp.sqrt((z * z).sum(axis=-1))


@sampler
def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """loc + scale times a Maxwell number with a random sign."""
    dtype = float_dtype("double_sided_maxwell", dtype, loc, scale)
    shape = shape_of_draw("double_sided_maxwell", as_shape(shape), loc, scale)
    first, second = split(key)
    u = wrap(unit_interval(second, shape, dtype))
    signed = tnp.where(u < dtype.type(0.5), dtype.type(1), dtype.type(-1)) * maxwell(first, shape, dtype)
    return signed * spread(scale, shape, dtype) + spread(loc, shape, dtype)


@sampler
def wald(key: Any, mean: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Inverse Gaussian with the given mean and shape parameter 1 (Michael, Schucany and Haas, 1976)."""
    dtype = float_dtype("wald", dtype, mean)
    shape = shape_of_draw("wald", shape, mean)
    first, second = split(key)
    m = spread(mean, shape, dtype)
    v = normal(first, shape, dtype)
    u = wrap(unit_interval(second, shape, dtype))
    w = m * v * v
    root = tnp.sqrt(w * (4 + w))
    x = m - m * (root - w) / 2
    return tnp.where(u <= m / (m + x), x, m * m / x)
