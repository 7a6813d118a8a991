"""Discrete distributions, choices and permutations."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.control.structured.loops import while_loop
from tracejit.errors import RandomArgumentError
from tracejit.ir.avals import aval_of
from tracejit.random.continuous import exponential, gumbel
from tracejit.random.drawing import open_unit, sampler, shape_of_draw, spread, unit_interval
from tracejit.random.keys import Shape, as_shape, bits, fold_in, split
from tracejit.scipy import special
from tracejit.tracing import to_raw, wrap

_F64 = np.dtype(float)


def _int_dtype(function: str, dtype: Any) -> np.dtype:
    dtype = dtypes.canonical(dtype)
    if dtype.kind not in "iu":
        raise RandomArgumentError(function=function, problem=f"draws integers, not {dtype}")
    return dtype


@sampler
def randint(key: Any, shape: Shape, minval: Any, maxval: Any, dtype: Any = np.int64) -> Any:
    """Uniform integers in [minval, maxval); `minval` everywhere if there are none.

    Twice as many bits as the dtype has are reduced modulo the range, so the bias is below 2**-bits.

    Raises:
        RandomArgumentError: `dtype` is no integer dtype.
    """
    dtype = _int_dtype("randint", dtype)
    shape = shape_of_draw("randint", as_shape(shape), minval, maxval)
    word = np.dtype(f"u{dtype.itemsize}")
    info = np.iinfo(dtype)
    low = tnp.clip(tnp.asarray(minval), info.min, info.max).astype(dtype)
    # The range may end one above the largest number.
    past_end = tnp.asarray(maxval) > info.max
    high = tnp.clip(tnp.asarray(maxval), info.min, info.max).astype(dtype)
    width = tnp.where(high > low, high.astype(word) - low.astype(word), word.type(1))
    whole = past_end & (high > low)
    width = tnp.broadcast_to(tnp.where(whole, width + word.type(1), width), shape)
    first, second = split(key)
    offset = _modulo(bits(first, shape, word), bits(second, shape, word), width)
    return (tnp.broadcast_to(low, shape).astype(word) + offset).astype(dtype)


def _modulo(high: Any, low: Any, width: Any) -> Any:
    """(high * 2**bits + low) mod width; width 0 stands for 2**bits, of which `low` is the remainder."""
    word = low.dtype
    half = word.type(2 ** (word.itemsize * 4))
    safe = tnp.where(width == 0, word.type(1), width)
    multiplier = half % safe
    multiplier = (multiplier * multiplier) % safe
    reduced = ((high % safe) * multiplier + low % safe) % safe
    return tnp.where(width == 0, low, reduced)


def integers(
    key: Any,
    low: Any,
    high: Any = None,
    shape: Shape | None = None,
    dtype: Any = np.int64,
    endpoint: bool = False,
) -> Any:
    """Uniform integers as NumPy's `Generator.integers`: in [low, high), or [0, low) without `high`;
    `endpoint` includes the end."""
    low, high = (0, low) if high is None else (low, high)
    shape = shape_of_draw("integers", shape, low, high)
    return randint(key, shape, low, tnp.asarray(high) + 1 if endpoint else high, dtype)


@sampler
def bernoulli(key: Any, p: Any = 0.5, shape: Shape | None = None) -> Any:
    """Booleans, True with probability `p`."""
    shape = shape_of_draw("bernoulli", shape, p)
    return wrap(unit_interval(key, shape, _F64)) < tnp.asarray(p)


@sampler
def rademacher(key: Any, shape: Shape = (), dtype: Any = np.int64) -> Any:
    """-1 or 1, each with probability 1/2."""
    signs = bernoulli(key, 0.5, as_shape(shape))
    return (2 * signs.astype(np.int64) - 1).astype(dtypes.canonical(dtype))


@sampler
def categorical(key: Any, logits: Any, axis: int = -1, shape: Shape | None = None) -> Any:
    """Indices along `axis`, with probabilities proportional to exp(logits): the largest of
    logits plus Gumbel noise (Gumbel, 1954)."""
    logits = tnp.asarray(logits)
    if not logits.ndim:
        raise RandomArgumentError(function="categorical", problem="needs an axis of logits, not one number")
    own = tuple(np.delete(logits.shape, axis))
    shape = own if shape is None else as_shape(shape)
    if shape[len(shape) - len(own) :] != own:
        problem = f"logits of shape {own} don't broadcast to {shape}"
        raise RandomArgumentError(function="categorical", problem=problem)
    lead = len(shape) - len(own)
    axis = axis % logits.ndim
    full = (*shape[:lead], *logits.shape)
    dtype = logits.dtype if dtypes.is_float(logits.dtype) else _F64
    return tnp.argmax(gumbel(key, full, dtype) + logits, axis=lead + axis)


@sampler
def geometric(key: Any, p: Any, shape: Shape | None = None, dtype: Any = np.int64) -> Any:
    """The number of trials up to the first success, of probability `p`."""
    dtype = _int_dtype("geometric", dtype)
    shape = shape_of_draw("geometric", shape, p)
    e = exponential(key, shape, _F64)
    return (tnp.floor(-e / tnp.log1p(-spread(p, shape, _F64))) + 1).astype(dtype)


# ---------------------------------------------------------------- rejection


@sampler
def poisson(key: Any, lam: Any, shape: Shape | None = None, dtype: Any = np.int64) -> Any:
    """Poisson with mean `lam`; -1 where `lam` is NaN or negative.

    Products of uniform numbers below 10 (Knuth), from 10 on the transformed rejection PTRS of
    Hörmann, "The transformed rejection method for generating Poisson random variables" (1993).
    """
    dtype = _int_dtype("poisson", dtype)
    shape = shape_of_draw("poisson", shape, lam)
    mean = spread(lam, shape, _F64)
    bad = ~((mean >= 0) & (mean < np.inf))
    large = mean >= 10
    small_key, large_key = split(key)
    few = _poisson_knuth(small_key, tnp.where(large | bad, 0.0, mean))
    many = _poisson_ptrs(large_key, tnp.where(large, mean, 1e5))
    out = tnp.where(large, many, few)
    return tnp.where(bad, -1, tnp.clip(out, 0, np.iinfo(dtype).max)).astype(dtype)


def _poisson_knuth(key: Any, mean: Any) -> Any:
    """How many exponential times fit into `mean`."""

    def step(state: Any) -> Any:
        n, count, left = state
        left = left - exponential(fold_in(key, n), mean.shape, _F64)
        return n + 1, count + (left > 0), left

    start = (np.int64(0), tnp.zeros(mean.shape, np.int64), mean)
    return while_loop(lambda s: tnp.any(s[2] > 0), step, start)[1]


def _poisson_ptrs(key: Any, mean: Any) -> Any:
    b = 0.931 + 2.53 * tnp.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)
    log_mean = tnp.log(mean)

    def attempt(u: Any, v: Any) -> tuple[Any, Any]:
        u = u - 0.5
        us = 0.5 - tnp.abs(u)
        k = tnp.floor((2 * a / us + b) * u + mean + 0.43)
        surely = (us >= 0.07) & (v <= v_r)
        never = (k < 0) | ((us < 0.013) & (v > us))
        left = tnp.log(v * inv_alpha / (a / (us * us) + b))
        right = k * log_mean - mean - special.gammaln(tnp.where(k < 0, 0, k) + 1)
        return k, surely | (~never & (left <= right))

    return _first_accepted(key, attempt, mean.shape).astype(np.int64)


def _first_accepted(key: Any, attempt: Any, shape: tuple[int, ...]) -> Any:
    """For every element the first value `attempt(u, v) -> (value, accepted)` that is accepted."""

    def step(state: Any) -> Any:
        n, done, out = state
        u_key, v_key = split(fold_in(key, n))
        k, good = attempt(open_unit(u_key, shape, _F64), open_unit(v_key, shape, _F64))
        return n + 1, done | good, tnp.where(done, out, k)

    start = (np.int64(0), tnp.zeros(shape, bool), tnp.zeros(shape))
    return while_loop(lambda s: ~tnp.all(s[1]), step, start)[2]


@sampler
def binomial(key: Any, n: Any, p: Any, shape: Shape | None = None, dtype: Any = np.float64) -> Any:
    """Successes in `n` trials of probability `p`, as floats unless `dtype` says otherwise; NaN (or -1)
    where the parameters make no sense.

    Waiting times between successes where n * min(p, 1 - p) < 10 (Devroye, 1986), otherwise the
    transformed rejection BTRS of Hörmann, "The generation of binomial random variates" (1993).
    """
    dtype = dtypes.canonical(dtype)
    shape = shape_of_draw("binomial", shape, n, p)
    count, prob = spread(n, shape, _F64), spread(p, shape, _F64)
    bad = ~((count >= 0) & (count < np.inf) & (prob >= 0) & (prob <= 1))
    count, prob = tnp.where(bad, 0.0, tnp.floor(count)), tnp.where(bad, 0.5, prob)
    flipped = prob > 0.5
    q = tnp.where(flipped, 1 - prob, prob)
    large = count * q >= 10
    wait_key, btrs_key = split(key)
    few = _binomial_waiting(wait_key, tnp.where(large, 0.0, count), q)
    many = _binomial_btrs(btrs_key, tnp.where(large, count, 100.0), tnp.where(large, q, 0.5))
    k = tnp.where(large, many, few)
    k = tnp.where(flipped, count - k, k)
    return tnp.where(bad, np.nan if dtypes.is_float(dtype) else -1, k).astype(dtype)


def _binomial_waiting(key: Any, n: Any, p: Any) -> Any:
    """Successes while the waiting times, geometric numbers, fit into n trials."""
    rate = tnp.log1p(-tnp.where(p > 0, p, 0.5))

    def step(state: Any) -> Any:
        i, k, trials = state
        wait = tnp.ceil(-exponential(fold_in(key, i), n.shape, _F64) / rate)
        trials = trials + tnp.where(p > 0, tnp.maximum(wait, 1), np.inf)
        return i + 1, k + (trials <= n), trials

    start = (np.int64(0), tnp.zeros(n.shape), tnp.zeros(n.shape))
    return while_loop(lambda s: tnp.any(s[2] < n), step, start)[1]


def _binomial_btrs(key: Any, n: Any, p: Any) -> Any:
    spq = tnp.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spq
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    v_r = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * spq
    mode = tnp.floor((n + 1) * p)
    log_odds = tnp.log(p / (1 - p))
    base = special.gammaln(mode + 1) + special.gammaln(n - mode + 1)

    def attempt(u: Any, v: Any) -> tuple[Any, Any]:
        u = u - 0.5
        us = 0.5 - tnp.abs(u)
        k = tnp.floor((2 * a / us + b) * u + c)
        inside = (k >= 0) & (k <= n)
        kk = tnp.where(inside, k, 0)
        surely = inside & (us >= 0.07) & (v <= v_r)
        left = tnp.log(v * alpha / (a / (us * us) + b))
        right = base - special.gammaln(kk + 1) - special.gammaln(n - kk + 1) + (kk - mode) * log_odds
        return k, surely | (inside & (left <= right))

    return _first_accepted(key, attempt, n.shape)


@sampler
def multinomial(key: Any, n: Any, p: Any, shape: Shape | None = None, dtype: Any = np.float64) -> Any:
    """Counts (..., k) of `n` trials that fall into k classes with probabilities `p` (..., k)."""
    p = tnp.asarray(p)
    k = p.shape[-1]
    own = np.broadcast_shapes(np.shape(n), p.shape[:-1])
    shape = own if shape is None else as_shape(shape)[:-1]
    left = tnp.broadcast_to(tnp.asarray(n).astype(_F64), shape)
    rest = tnp.ones(shape)
    counts = []
    for j in range(k - 1):
        share = tnp.where(rest > 0, p[..., j] / tnp.where(rest > 0, rest, 1), 0)
        drawn = binomial(fold_in(key, j), left, tnp.clip(share, 0, 1), shape)
        counts.append(drawn)
        left, rest = left - drawn, rest - p[..., j]
    return tnp.stack([*counts, left], axis=-1).astype(dtypes.canonical(dtype))


# ---------------------------------------------------------------- orders


@sampler
def permutation(key: Any, x: Any, axis: int = 0, independent: bool = False) -> Any:
    """`x` with its parts along `axis` in random order, or a permutation of `range(x)` for an int `x`.

    `independent`: every line along `axis` has an order of its own.
    """
    if not hasattr(x, "shape") and hasattr(x, "__index__"):
        return _shuffled(key, tnp.arange(operator.index(x)), 0)
    x = tnp.asarray(x)
    if not x.ndim:
        problem = f"takes an array, or a Python int for a permutation of range(x), not {aval_of(to_raw(x))}"
        raise RandomArgumentError(function="permutation", problem=problem)
    axis = axis % x.ndim
    if independent or x.ndim == 1:
        return _shuffled(key, x, axis)
    return tnp.take(x, _shuffled(key, tnp.arange(x.shape[axis]), 0), axis=axis)


def _shuffled(key: Any, x: Any, axis: int) -> Any:
    """Sorted by 32 random bits an element, so often that n elements are as good as without ties: n³ < 2³² a round."""
    size = math.prod(x.shape)
    for _ in range(math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))):
        key, own = split(key)
        order = tnp.argsort(bits(own, x.shape, np.uint32), axis=axis, stable=True)
        x = tnp.take_along_axis(x, order, axis=axis)
    return x


@sampler
def choice(key: Any, a: Any, shape: Shape = (), replace: bool = True, p: Any = None, axis: int = 0) -> Any:
    """Elements of `a` (or of `range(a)`) along `axis`, with probabilities `p` if given.

    Raises:
        RandomArgumentError: nothing to choose from, or more without replacement than there are.
    """
    count_only = not hasattr(a, "shape") and hasattr(a, "__index__")
    a = operator.index(a) if count_only else tnp.asarray(a)
    size = a if count_only else a.shape[axis]  # type: ignore[attr-defined]
    shape = as_shape(shape)
    n = math.prod(shape)
    if n and (size == 0 or (not replace and n > size)):
        problem = f"can't choose {n} of {size}{'' if replace else ' without replacement'}"
        raise RandomArgumentError(function="choice", problem=problem)
    index = _chosen(key, size, shape, n, replace, p)
    if count_only:
        return index
    return tnp.take(a, index, axis=axis)


def _chosen(key: Any, size: int, shape: tuple[int, ...], n: int, replace: bool, p: Any) -> Any:
    if p is None:
        if replace:
            return randint(key, shape, 0, size)
        return permutation(key, size)[:n].reshape(shape)
    p = tnp.asarray(p)
    if p.shape != (size,):
        problem = f"p of shape {p.shape} for {size} elements"
        raise RandomArgumentError(function="choice", problem=problem)
    if replace:
        total = tnp.cumsum(p)
        u = wrap(unit_interval(key, shape, _F64))
        return tnp.searchsorted(total, total[-1] * (1 - u))  # 0 < 1 - u <= 1: no element of probability 0
    # The n largest of log p plus Gumbel noise are n draws without replacement (Vieira, 2014).
    noisy = gumbel(key, (size,), _F64) + tnp.log(p)
    return tnp.argsort(-noisy, stable=True)[:n].reshape(shape)
