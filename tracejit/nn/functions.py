"""Normalisation, attention, dropout and one-hot codes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes, random
from tracejit import numpy as tnp
from tracejit.control.custom.linear_call import call_linear
from tracejit.errors import ShapeError
from tracejit.scipy import special

logsumexp = special.logsumexp


def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """log of the mean of exp(x) along `axis` (an int, a tuple or None for all), over the elements where `where`."""
    x = tnp.asarray(x)
    counted = np.ones((), bool) if where is None else where
    n = tnp.sum(tnp.broadcast_to(counted, x.shape), axis=axis, keepdims=keepdims)
    out = special.logsumexp(x, axis=axis, keepdims=keepdims, **({} if where is None else {"where": where}))
    return out - tnp.log(n).astype(out.dtype)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """log(softmax(x)) along `axis` (an int, a tuple or None for all); -inf where `where` is False."""
    return special.log_softmax(x if where is None else tnp.where(where, x, -np.inf), axis)


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along `axis` (an int, a tuple or None for all).

    Where `where` is False the result is 0 and the element does not count. The derivative needs
    the result only.
    """
    x = tnp.asarray(x)
    if x.dtype.kind in "biu":
        x = x.astype(float)
    if where is None:
        return special.softmax(x, axis)
    out = special.softmax(tnp.where(where, x, dtypes.finfo(x.dtype).min), axis)
    return tnp.where(where, out, 0)


def standardize(
    x: Any, axis: Any = -1, mean: Any = None, variance: Any = None, epsilon: float = 1e-5, where: Any = None
) -> Any:
    """(x - mean) / sqrt(variance + epsilon), both taken along `axis` unless given."""
    kept = {"axis": axis, "keepdims": True}
    if where is not None:
        kept["where"] = where
    if mean is None:
        mean = tnp.mean(x, **kept)
    if variance is None:
        variance = tnp.mean(tnp.square(x - mean), **kept)
    return (x - mean) / tnp.sqrt(variance + epsilon)


def one_hot(x: Any, num_classes: int, *, dtype: Any = float, axis: int = -1) -> Any:
    """1 at index `x` along a new axis of `num_classes`, 0 elsewhere; all 0 for indices out of range."""
    x = tnp.asarray(x)
    axis = axis % (x.ndim + 1)
    column = tnp.arange(num_classes).reshape((num_classes,) + (1,) * (x.ndim - axis))
    return (tnp.expand_dims(x, axis) == column).astype(dtype)


def dropout(key: Any, x: Any, rate: float) -> Any:
    """`x` with each element set to 0 with probability `rate`, the others divided by 1 - rate.

    The derivative keeps the key, not the mask: the mask is drawn again.

    Raises:
        ShapeError: `rate` is not in [0, 1).
    """
    if not 0 <= rate < 1:
        raise ShapeError(op="dropout", problem=f"the rate is a number in [0, 1), not {rate}")
    x = tnp.asarray(x)
    if rate == 0:
        return x
    x = x if dtypes.is_inexact(x.dtype) else x.astype(float)
    kept = 1 - float(rate)

    def thin(key: Any, x: Any) -> Any:
        return tnp.where(random.bernoulli(key, kept, x.shape), x / x.dtype.type(kept), x.dtype.type(0))

    return call_linear(thin, thin, key, x, eager_constants=False)


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
) -> Any:
    """softmax(scale q k^T + bias) v for every head (Vaswani and others, 2017).

    `query` (..., T, N, H), `key` and `value` (..., S, K, H) with N a multiple of K; `bias` and `mask`
    broadcast to (..., N, T, S); `scale` is 1 / sqrt(H) by default. Gives (..., T, N, H).

    Raises:
        ShapeError: N is not a multiple of K.
    """
    query, key, value = tnp.asarray(query), tnp.asarray(key), tnp.asarray(value)
    heads, groups = query.shape[-2], key.shape[-2]
    if heads % groups:
        problem = f"{heads} query heads can't share {groups} key heads"
        raise ShapeError(op="dot_product_attention", problem=problem)
    if heads != groups:
        key, value = (tnp.repeat(a, heads // groups, axis=-2) for a in (key, value))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = tnp.einsum("...tnh,...snh->...nts", query, key) * factor
    if bias is not None:
        scores = scores + bias
    allowed = _allowed(scores.shape[-2:], mask, is_causal)
    weights = softmax(scores) if allowed is None else softmax(scores, where=allowed)
    return tnp.einsum("...nts,...snh->...tnh", weights, value)


def _allowed(shape: tuple[int, ...], mask: Any, is_causal: bool) -> Any:
    if not is_causal:
        return mask
    causal = np.tri(*shape, dtype=bool)
    return causal if mask is None else tnp.logical_and(mask, causal)
