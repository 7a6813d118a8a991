"""Losses: how far predictions are from what they should be.

Each takes `reduction="mean"`, `"sum"` or `"none"` (the loss of each element, or of each example where classes are
compared), and gives a scalar or an array. Classes are the last axis unless `axis` says otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import dtypes, lax
from tracejit import numpy as tnp
from tracejit.errors import ShapeError
from tracejit.nn.functions import log_softmax
from tracejit.scipy import special


def mse_loss(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    """(prediction - target)**2, for arrays that broadcast."""
    return _reduced(tnp.square(tnp.subtract(prediction, target)), reduction)


def l1_loss(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    """|prediction - target|."""
    return _reduced(tnp.abs(tnp.subtract(prediction, target)), reduction)


def huber_loss(prediction: Any, target: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    """e**2 / 2 where the error e is at most `delta`, delta * (|e| - delta / 2) beyond (Huber 1964)."""
    e = tnp.subtract(prediction, target)
    return _reduced(_as(e, special.huber(delta, e)), reduction)


def log_cosh_loss(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    """log(cosh(prediction - target)), computed as |e| + log1p(exp(-2|e|)) - log(2): it does not overflow."""
    e = tnp.abs(tnp.subtract(prediction, target))
    return _reduced(e + tnp.log1p(tnp.exp(-2 * e)) - math.log(2), reduction)


def cross_entropy(
    logits: Any,
    target: Any,
    weight: Any = None,
    label_smoothing: float = 0.0,
    axis: int = -1,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Any:
    """-sum_c p_c log(softmax(logits))_c, computed from the logits.

    Parameters
    ----------
    logits
        Floats of shape (..., C, ...) with the C classes along `axis`.
    target
        Integers, the labels, of the shape of `logits` without `axis`; or floats of the shape of `logits`, which are
        probabilities.
    weight
        Shape (C,): a factor for each class. The mean of labels is then weighted.
    label_smoothing
        The part of a target that is spread evenly over all classes (Szegedy et al. 2016).
    ignore_index
        Examples with this label count for nothing.

    Raises
    ------
    ShapeError
        The shapes do not fit together.
    """
    logits, target = tnp.asarray(logits), tnp.asarray(target)
    axis = axis % logits.ndim
    classes = logits.shape[axis]
    if target.dtype.kind in "iu":
        return _of_labels(logits, target, weight, label_smoothing, axis, ignore_index, reduction)
    if target.shape != logits.shape:
        raise ShapeError(op="cross_entropy", problem=f"probabilities {target.shape} of logits {logits.shape}")
    target = target * (1 - label_smoothing) + label_smoothing / classes
    terms = -_product(target, log_softmax(logits, axis))
    if weight is not None:
        terms = terms * _along(weight, axis, logits.ndim)
    return _reduced(tnp.sum(terms, axis=axis), reduction)


def _of_labels(
    logits: Any, labels: Any, weight: Any, smoothing: float, axis: int, ignored: int | None, reduction: str
) -> Any:
    """The cross entropy with integer labels."""
    if labels.shape != logits.shape[:axis] + logits.shape[axis + 1 :]:
        raise ShapeError(op="cross_entropy", problem=f"labels {labels.shape} of logits {logits.shape}")
    counted = None if ignored is None else labels != ignored
    labels = labels if counted is None else tnp.where(counted, labels, 0)
    logs = log_softmax(logits, axis)
    weights = tnp.ones(logits.shape[axis], logs.dtype) if weight is None else tnp.asarray(weight)
    own = weights[labels]
    loss = -_picked(logs, labels, axis) * own
    if smoothing:
        everywhere = -tnp.sum(logs * _along(weights, axis, logits.ndim), axis=axis)
        loss = (1 - smoothing) * loss + smoothing / logits.shape[axis] * everywhere
    if counted is not None:
        loss, own = tnp.where(counted, loss, 0), tnp.where(counted, own, 0)
    return tnp.sum(loss) / tnp.sum(own) if reduction == "mean" else _reduced(loss, reduction)


def nll_loss(log_probabilities: Any, labels: Any, axis: int = -1, reduction: str = "mean") -> Any:
    """Minus the log probability of each label: `cross_entropy` of what `log_softmax` gave."""
    logs = tnp.asarray(log_probabilities)
    return _reduced(-_picked(logs, tnp.asarray(labels), axis % logs.ndim), reduction)


def binary_cross_entropy(probability: Any, target: Any, reduction: str = "mean") -> Any:
    """-t log(p) - (1 - t) log(1 - p), 0 where both factors of a term are; infinite where p is 0 and t is not."""
    p, t = tnp.asarray(probability), tnp.asarray(target)
    return _reduced(_as(p, -special.xlogy(t, p) - special.xlog1py(1 - t, -p)), reduction)


def binary_cross_entropy_with_logits(
    logits: Any, target: Any, pos_weight: Any = None, reduction: str = "mean"
) -> Any:
    """`binary_cross_entropy` of sigmoid(logits), computed as softplus(x) - t x; `pos_weight` is a
    factor of the terms of t."""
    x, t = tnp.asarray(logits), tnp.asarray(target)
    if pos_weight is None:
        return _reduced(_softplus(x) - t * x, reduction)
    return _reduced((1 - t) * _softplus(x) + pos_weight * t * _softplus(-x), reduction)


def hinge_loss(prediction: Any, target: Any, reduction: str = "mean") -> Any:
    """max(0, 1 - prediction * target), for targets -1 and 1."""
    return _reduced(tnp.maximum(0, 1 - tnp.multiply(prediction, target)), reduction)


def kl_divergence(log_q: Any, p: Any, axis: int = -1, reduction: str = "mean") -> Any:
    """sum_c p_c (log p_c - log q_c) along `axis`, from log probabilities `log_q` and probabilities `p`; a term with
    p = 0 is 0."""
    p = tnp.asarray(p)
    return _reduced(
        tnp.sum(_as(p, special.xlogy(p, p)) - _product(p, tnp.asarray(log_q)), axis=axis), reduction
    )


def gaussian_nll_loss(
    mean: Any, target: Any, variance: Any, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """(log(v) + (mean - target)**2 / v) / 2 with v = max(variance, eps)."""
    v = tnp.maximum(variance, eps)
    return _reduced(0.5 * (tnp.log(v) + tnp.square(tnp.subtract(mean, target)) / v), reduction)


def poisson_nll_loss(log_rate: Any, target: Any, reduction: str = "mean") -> Any:
    """exp(log_rate) - target * log_rate: minus the log-likelihood of counts, without the term of the target alone."""
    return _reduced(tnp.exp(log_rate) - tnp.multiply(target, log_rate), reduction)


def cosine_similarity(a: Any, b: Any, axis: int = -1, eps: float = 1e-8) -> Any:
    """a.b / (|a| |b|) along `axis`, where both norms are taken to be at least `eps`."""
    a, b = tnp.asarray(a), tnp.asarray(b)
    least = eps * eps
    sizes = tnp.maximum(tnp.sum(a * a, axis=axis), least) * tnp.maximum(tnp.sum(b * b, axis=axis), least)
    return tnp.sum(a * b, axis=axis) / tnp.sqrt(sizes)


_NEVER = -1e30  # for log(0), without infinities


def ctc_loss(
    log_probabilities: Any,
    labels: Any,
    input_lengths: Any,
    label_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
) -> Any:
    """Minus the log of the probability of each label sequence, summed over all alignments with blanks (Graves et al.
    2006, Connectionist Temporal Classification, equations 6-8).

    Parameters
    ----------
    log_probabilities
        Shape (B, T, C), log-softmax over the C classes, `blank` among them.
    labels
        Integers of shape (B, L), padded with anything behind their lengths.
    input_lengths, label_lengths
        Integers of shape (B,): how much of T and of L counts.
    reduction
        `"mean"` divides each loss by its label length first.

    Labels that need more time than there is have probability 0: the loss is infinite, and its derivative 0.

    Raises
    ------
    ShapeError
        The shapes do not fit together.
    """
    logs, labels = tnp.asarray(log_probabilities), tnp.asarray(labels)
    if logs.ndim != 3 or labels.ndim != 2 or labels.shape[0] != logs.shape[0]:
        raise ShapeError(op="ctc_loss", problem=f"labels {labels.shape} of log probabilities {logs.shape}")
    dtype, (batch, longest) = logs.dtype, labels.shape
    if dtype.itemsize == 2:
        logs = logs.astype(np.float32)
    input_lengths, label_lengths = tnp.asarray(input_lengths), tnp.asarray(label_lengths)
    labels = tnp.where(np.arange(longest) < label_lengths[:, None], labels, blank)
    low = logs.dtype.type(_NEVER)
    states = 2 * longest + 1  # a blank before, between and after the labels
    odd = np.arange(states) % 2 == 1
    spread = tnp.concatenate(
        [tnp.repeat(labels, 2, axis=1), tnp.full((batch, 1), blank, labels.dtype)], axis=1
    )
    own = tnp.where(odd, spread, blank)
    emitted = tnp.take_along_axis(logs, own[:, None, :].astype(np.int64), axis=2)  # (B, T, states)
    before = tnp.concatenate([tnp.full((batch, 2), -1), own[:, :-2]], axis=1)[:, :states]
    may_skip = odd & (own != before)
    start = tnp.where(np.arange(states) < 2, emitted[:, 0], low)

    def step(alpha: Any, row: Any) -> tuple[Any, Any]:
        time, seen = row
        one = tnp.concatenate([tnp.full((batch, 1), low), alpha[:, :-1]], axis=1)
        two = tnp.concatenate([tnp.full((batch, 2), low), alpha[:, :-2]], axis=1)[:, :states]
        arrived = tnp.logaddexp(tnp.logaddexp(alpha, one), tnp.where(may_skip, two, low))
        alpha = tnp.where((time < input_lengths)[:, None], arrived + seen, alpha)
        return alpha, None

    times = np.arange(1, logs.shape[1])
    alpha, _ = lax.scan(step, start, (times, tnp.swapaxes(emitted[:, 1:], 0, 1)))
    ends = 2 * label_lengths
    last = tnp.take_along_axis(alpha, ends[:, None], axis=1)[:, 0]
    other = tnp.take_along_axis(alpha, tnp.maximum(ends - 1, 0)[:, None], axis=1)[:, 0]
    likely = tnp.logaddexp(last, tnp.where(label_lengths > 0, other, low))
    loss = tnp.where(likely < _NEVER / 2, logs.dtype.type(np.inf), -likely).astype(dtype)
    return _reduced(
        loss / tnp.maximum(label_lengths, 1).astype(dtype) if reduction == "mean" else loss, reduction
    )


def _softplus(x: Any) -> Any:
    return tnp.logaddexp(x, tnp.zeros((), tnp.asarray(x).dtype))


def _as(x: Any, value: Any) -> Any:
    """What SciPy's functions made of `x`, in its dtype: they widen half precision."""
    return value.astype(x.dtype) if dtypes.is_inexact(x.dtype) else value


def _product(p: Any, logs: Any) -> Any:
    """p * logs, 0 where p is 0 and the log infinite: what is impossible, and does not occur."""
    return p * tnp.where((p == 0) & tnp.isinf(logs), logs.dtype.type(0), logs)


def _picked(logs: Any, labels: Any, axis: int) -> Any:
    """The elements at `labels` along `axis`."""
    index = tnp.expand_dims(labels, axis)
    return tnp.squeeze(tnp.take_along_axis(logs, index, axis), axis)


def _along(weight: Any, axis: int, ndim: int) -> Any:
    return tnp.asarray(weight).reshape((-1,) + (1,) * (ndim - 1 - axis))


def _reduced(loss: Any, reduction: str) -> Any:
    if reduction == "mean":
        return tnp.mean(loss)
    if reduction == "sum":
        return tnp.sum(loss)
    if reduction == "none":
        return loss
    problem = f'`reduction` is "mean", "sum" or "none", not {reduction!r}'
    raise ShapeError(op="a loss", problem=problem)
