"""The gamma distribution, and those that are made of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit import numpy as tnp
from tracejit.control.custom.public import custom_jvp
from tracejit.control.structured.loops import while_loop
from tracejit.random.continuous import exponential, normal
from tracejit.random.drawing import float_dtype, open_unit, sampler, shape_of_draw, spread, unit_interval
from tracejit.random.keys import Shape, as_shape, fold_in, split
from tracejit.tracing import to_raw, wrap


@custom_jvp
def _log_gamma(key: Any, a: Any) -> Any:
    """log of gamma variates with shape parameters `a`: Marsaglia and Tsang, "A simple method for
    generating gamma variables" (2000), for a + 1, times u ** (1 / a) where a < 1.

    Every element tries until it is accepted; the numbers of a try depend on key, try and position
    only, so that mapping over keys changes nothing.
    """
    dtype = a.dtype
    boost_key, loop_key = split(key)
    small = a < 1
    d = tnp.where(small, a + 1, a) - dtype.type(1 / 3)
    c = dtype.type(1 / 3) / tnp.sqrt(d)

    def attempt(state: Any) -> Any:
        n, done, log_v = state
        z_key, u_key = split(fold_in(loop_key, n))
        z = normal(z_key, a.shape, dtype)
        u = open_unit(u_key, a.shape, dtype)
        positive = 1 + c * z > 0
        lv = 3 * tnp.log(tnp.where(positive, 1 + c * z, 1))
        good = positive & (tnp.log(u) < z * z / 2 + d - d * tnp.exp(lv) + d * lv)
        return n + 1, done | good, tnp.where(done, log_v, lv)

    # Nothing would ever be accepted for parameters that are negative, infinite or NaN.
    start = (np.int64(0), ~((a >= 0) & (a < np.inf)), tnp.zeros(a.shape, dtype))
    _, _, log_v = while_loop(lambda s: ~tnp.all(s[1]), attempt, start)
    boost = -exponential(boost_key, a.shape, dtype) / a
    out = tnp.log(d) + log_v + tnp.where(small, boost, 0)
    out = tnp.where(a == 0, -np.inf, tnp.where(a == np.inf, np.inf, out))
    return tnp.where(a >= 0, out, np.nan).astype(dtype)


@_log_gamma.defjvp
def _log_gamma_jvp(primals: Any, tangents: Any) -> Any:
    """Implicit reparametrisation (Figurnov, Mohamed and Mnih, 2018): dx/da = -(dF/da) / p(x)."""
    key, a = primals
    log_x = _log_gamma(key, a)
    x = tnp.exp(log_x)
    slope = wrap(ops.special.random_gamma_grad(to_raw(a), to_raw(x)))
    # For tiny a, x underflows; there log x is close to log(u) / a, of which the slope is -log x / a.
    usable = x > dtypes.finfo(a.dtype).tiny
    return log_x, tnp.where(usable, slope / tnp.where(usable, x, 1), -log_x / a) * tangents[1]


@sampler
def loggamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """The logarithm of gamma variates: finite where the variates themselves underflow."""
    dtype = float_dtype("loggamma", dtype, a)
    shape = shape_of_draw("loggamma", shape, a)
    wide = np.promote_types(dtype, np.float32) if dtype != dtypes.bfloat16 else np.dtype(np.float32)
    return _log_gamma(key, spread(a, shape, wide)).astype(dtype)


@sampler
def gamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Gamma with shape parameter `a` > 0 and scale 1 (NaN for negative `a`)."""
    return tnp.exp(loggamma(key, a, shape, dtype))


@sampler
def chisquare(key: Any, df: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Chi-square with `df` degrees of freedom."""
    dtype = float_dtype("chisquare", dtype, df)
    return 2 * gamma(key, tnp.asarray(df).astype(dtype) / 2, shape, dtype)


@sampler
def beta(key: Any, a: Any, b: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Beta with parameters a, b > 0: x / (x + y) of two gamma variates, by their logarithms."""
    dtype = float_dtype("beta", dtype, a, b)
    shape = shape_of_draw("beta", shape, a, b)
    first, second = split(key)
    x, y = loggamma(first, spread(a, shape, dtype)), loggamma(second, spread(b, shape, dtype))
    return 1 / (1 + tnp.exp(y - x))


@sampler
def dirichlet(key: Any, alpha: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Dirichlet vectors (*shape, k) with parameters `alpha` (..., k)."""
    dtype = float_dtype("dirichlet", dtype, alpha)
    alpha = tnp.asarray(alpha).astype(dtype)
    shape = alpha.shape if shape is None else (*as_shape(shape), alpha.shape[-1])
    x = loggamma(key, tnp.broadcast_to(alpha, shape))
    e = tnp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@sampler
def t(key: Any, df: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Student's t with `df` degrees of freedom."""
    dtype = float_dtype("t", dtype, df)
    shape = shape_of_draw("t", as_shape(shape) or np.shape(df), df)
    first, second = split(key)
    half = spread(df, shape, dtype) / 2
    return normal(first, shape, dtype) * tnp.sqrt(half / gamma(second, half))


@sampler
def f(key: Any, dfnum: Any, dfden: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Fisher's F with `dfnum` and `dfden` degrees of freedom."""
    dtype = float_dtype("f", dtype, dfnum, dfden)
    shape = shape_of_draw("f", shape, dfnum, dfden)
    first, second = split(key)
    n, m = spread(dfnum, shape, dtype), spread(dfden, shape, dtype)
    return (chisquare(first, n) / n) / (chisquare(second, m) / m)


@sampler
def generalized_normal(key: Any, p: Any, shape: Shape = (), dtype: Any = None) -> Any:
    """Density proportional to exp(-|x| ** p)."""
    dtype = float_dtype("generalized_normal", dtype, p)
    shape = shape_of_draw("generalized_normal", as_shape(shape), p)
    magnitude_key, sign_key = split(key)
    power = 1 / spread(p, shape, dtype)
    magnitude = gamma(magnitude_key, power) ** power
    return tnp.where(wrap(unit_interval(sign_key, shape, dtype)) < 0.5, -magnitude, magnitude)


@sampler
def ball(key: Any, d: int, p: float = 2, shape: Shape = (), dtype: Any = None) -> Any:
    """Uniform in the unit ball of the p-norm: (*shape, d) (Barthe, Guédon, Mendelson and Naor, 2005)."""
    dtype = float_dtype("ball", dtype)
    shape = as_shape(shape)
    g_key, e_key = split(key)
    g = generalized_normal(g_key, p, (*shape, d), dtype)
    e = exponential(e_key, shape, dtype)
    return g / ((tnp.abs(g) ** p).sum(axis=-1) + e)[..., None] ** tnp.asarray(1 / p).astype(dtype)
