"""Losses against their definitions in plain NumPy, with derivatives against finite differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import tracejit as tj
from tracejit import nn
from tracejit.test_util import check_grads

RNG = np.random.default_rng(5)
LOGITS = RNG.normal(size=(6, 4))
LABELS = np.array([0, 3, 1, 1, 2, 0])
P = sp.softmax(RNG.normal(size=(6, 4)), axis=1)
W = np.array([0.5, 2.0, 1.0, 1.5])
T = RNG.uniform(size=(6, 4))

LOSSES: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "mse": (lambda x: nn.mse_loss(x, T, reduction="none"), lambda x: (x - T) ** 2),
    "l1": (lambda x: nn.l1_loss(x, T, reduction="none"), lambda x: abs(x - T)),
    "huber": (
        lambda x: nn.huber_loss(x, T, 0.7, reduction="none"),
        lambda x: np.where(abs(x - T) <= 0.7, (x - T) ** 2 / 2, 0.7 * (abs(x - T) - 0.35)),
    ),
    "log cosh": (lambda x: nn.log_cosh_loss(x, T, reduction="none"), lambda x: np.log(np.cosh(x - T))),
    "hinge": (lambda x: nn.hinge_loss(x, 1.0, reduction="none"), lambda x: np.maximum(0, 1 - x)),
    "binary": (
        lambda x: nn.binary_cross_entropy_with_logits(x, T, reduction="none"),
        lambda x: -T * np.log(sp.expit(x)) - (1 - T) * np.log(sp.expit(-x)),
    ),
    "binary, weighted": (
        lambda x: nn.binary_cross_entropy_with_logits(x, T, W, reduction="none"),
        lambda x: -W * T * np.log(sp.expit(x)) - (1 - T) * np.log(sp.expit(-x)),
    ),
    "gaussian": (
        lambda x: nn.gaussian_nll_loss(x, T, P, reduction="none"),
        lambda x: (np.log(P) + (x - T) ** 2 / P) / 2,
    ),
    "poisson": (lambda x: nn.poisson_nll_loss(x, T, reduction="none"), lambda x: np.exp(x) - T * x),
    "labels": (
        lambda x: nn.cross_entropy(x, LABELS, reduction="none"),
        lambda x: -np.log(sp.softmax(x, axis=1))[np.arange(6), LABELS],
    ),
    "probabilities": (
        lambda x: nn.cross_entropy(x, P, reduction="none"),
        lambda x: -(P * np.log(sp.softmax(x, axis=1))).sum(1),
    ),
    "smoothed": (
        lambda x: nn.cross_entropy(x, P, W, 0.1, reduction="none"),
        lambda x: -(W * (0.9 * P + 0.025) * np.log(sp.softmax(x, axis=1))).sum(1),
    ),
    "divergence": (
        lambda x: nn.kl_divergence(nn.log_softmax(x), P, reduction="none"),
        lambda x: (P * np.log(P / sp.softmax(x, axis=1))).sum(1),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_values_and_derivatives(name: str) -> None:
    f, want = LOSSES[name]
    np.testing.assert_allclose(f(LOGITS), want(LOGITS), rtol=1e-12)
    np.testing.assert_allclose(tj.jit(f)(LOGITS), want(LOGITS), rtol=1e-12)
    check_grads(f, (LOGITS,), order=1, atol=1e-5, rtol=1e-5)


def test_reductions() -> None:
    each = nn.mse_loss(LOGITS, T, reduction="none")
    np.testing.assert_allclose(nn.mse_loss(LOGITS, T), each.mean())
    np.testing.assert_allclose(nn.mse_loss(LOGITS, T, reduction="sum"), each.sum())
    with pytest.raises(tj.errors.ShapeError, match="reduction"):
        nn.mse_loss(LOGITS, T, reduction="average")


def test_weighted_and_ignored_labels() -> None:
    logs, weights = np.log(sp.softmax(LOGITS, axis=1)), W[LABELS]
    own = -logs[np.arange(6), LABELS]
    np.testing.assert_allclose(nn.cross_entropy(LOGITS, LABELS, W), (weights * own).sum() / weights.sum())
    smooth = 0.9 * weights * own - 0.025 * (logs * W).sum(1)
    np.testing.assert_allclose(nn.cross_entropy(LOGITS, LABELS, W, 0.1), smooth.sum() / weights.sum())
    some = LABELS.copy()
    some[:2] = -100
    np.testing.assert_allclose(nn.cross_entropy(LOGITS, some, ignore_index=-100), own[2:].mean())
    images, labels = RNG.normal(size=(2, 4, 5)), RNG.integers(0, 4, (2, 5))
    want = -np.take_along_axis(np.log(sp.softmax(images, axis=1)), labels[:, None], 1).mean()
    np.testing.assert_allclose(nn.cross_entropy(images, labels, axis=1), want)
    np.testing.assert_allclose(nn.nll_loss(logs, LABELS), own.mean())
    with pytest.raises(tj.errors.ShapeError):
        nn.cross_entropy(LOGITS, LABELS[:5])
    with pytest.raises(tj.errors.ShapeError):
        nn.cross_entropy(LOGITS, P[:5])


def test_far_from_overflow() -> None:
    far = np.array([[1000.0, -1000.0]])
    assert nn.cross_entropy(far, np.array([1])) == 2000
    assert nn.binary_cross_entropy_with_logits(far, np.array([[0.0, 1.0]])) == 1000
    assert nn.binary_cross_entropy(np.array([0.0, 1.0]), np.array([0.0, 1.0])) == 0
    np.testing.assert_allclose(nn.log_cosh_loss(1000.0, 0.0), 1000 - np.log(2))
    g = tj.grad(lambda x: nn.binary_cross_entropy_with_logits(x, np.array([[0.0, 1.0]]), reduction="sum"))(
        far
    )
    np.testing.assert_allclose(g, [[1, -1]])


def test_cosine_similarity() -> None:
    want = (LOGITS * T).sum(1) / np.linalg.norm(LOGITS, axis=1) / np.linalg.norm(T, axis=1)
    np.testing.assert_allclose(nn.cosine_similarity(LOGITS, T), want)
    zero = np.zeros((1, 4))
    assert nn.cosine_similarity(zero, T[:1]) == 0
    assert np.all(np.isfinite(tj.grad(lambda x: nn.cosine_similarity(x, T[:1])[0])(zero)))


def by_paths(p: np.ndarray, labels: list[int], blank: int = 0) -> float:
    """The probability of `labels`: the sum over all paths that become them without repetitions and blanks."""
    total = 0.0
    for path in itertools.product(range(p.shape[1]), repeat=p.shape[0]):
        kept = [c for n, c in enumerate(path) if c != blank and (n == 0 or path[n - 1] != c)]
        if kept == labels:
            total += float(np.prod([p[n, c] for n, c in enumerate(path)]))
    return total


def test_ctc_is_the_sum_over_all_alignments() -> None:
    z = RNG.normal(size=(4, 5, 3))
    labels = np.array([[1, 2], [2, 2], [1, 0], [0, 0]])
    inputs, lengths = np.array([5, 4, 5, 3]), np.array([2, 2, 1, 0])
    p = sp.softmax(z, axis=2)
    want = [-np.log(by_paths(p[n, : inputs[n]], labels[n, : lengths[n]].tolist())) for n in range(4)]

    def f(z):
        return nn.ctc_loss(nn.log_softmax(z), labels, inputs, lengths, reduction="none")

    np.testing.assert_allclose(f(z), want, rtol=1e-12)
    np.testing.assert_allclose(tj.jit(f)(z), want, rtol=1e-12)
    mean = nn.ctc_loss(nn.log_softmax(z), labels, inputs, lengths)
    np.testing.assert_allclose(mean, np.mean(want / np.maximum(lengths, 1)), rtol=1e-12)
    slope = tj.jit(tj.grad(lambda z: f(z).sum()))(z)
    d = RNG.normal(size=z.shape)
    np.testing.assert_allclose(np.sum(slope * d), (f(z + 1e-6 * d) - f(z - 1e-6 * d)).sum() / 2e-6, rtol=1e-6)
    assert not slope[3, 3:].any()  # beyond the length of an input
    impossible = nn.ctc_loss(nn.log_softmax(z[:1, :1]), labels[:1], np.array([1]), np.array([2]))
    assert impossible == np.inf
    padded = np.array([[1, 2], [2, 2], [1, 99], [-1, -7]])  # what is behind a length is not looked at
    np.testing.assert_array_equal(
        nn.ctc_loss(nn.log_softmax(z), padded, inputs, lengths, reduction="none"), f(z)
    )
    half = nn.ctc_loss(nn.log_softmax(z).astype(np.float16), labels, inputs, lengths)
    assert half.dtype == np.float16 and np.isclose(half, mean, rtol=1e-2)
    with pytest.raises(tj.errors.ShapeError):
        nn.ctc_loss(z, labels[:2], inputs, lengths)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_dtypes_are_kept(dtype: Any) -> None:
    x, t = LOGITS.astype(dtype), T.astype(dtype)
    logs, ones = nn.log_softmax(x), np.ones(6, int)
    losses = [
        *(f(x, t) for f in (nn.mse_loss, nn.l1_loss, nn.huber_loss, nn.log_cosh_loss, nn.hinge_loss)),
        *(f(x, np.abs(t)) for f in (nn.poisson_nll_loss, nn.binary_cross_entropy_with_logits)),
        nn.binary_cross_entropy(P.astype(dtype), P.astype(dtype)),
        nn.gaussian_nll_loss(x, t, np.abs(t)),
        nn.cross_entropy(x, LABELS, label_smoothing=0.1),
        nn.cross_entropy(x, P.astype(dtype)),
        nn.kl_divergence(logs, P.astype(dtype)),
        nn.nll_loss(logs, LABELS),
        nn.ctc_loss(np.asarray(logs)[:, None], LABELS[:, None] % 3, ones, ones, blank=3),
    ]
    assert {np.asarray(loss).dtype for loss in losses} == {np.dtype(dtype)}


def test_what_is_impossible_and_does_not_occur() -> None:
    logits, p = np.array([[0.5, -np.inf, 1.5]]), np.array([[0.25, 0.0, 0.75]])
    rest = -p[0, ::2] @ (logits[0, ::2] - np.logaddexp(0.5, 1.5))
    assert np.isclose(nn.cross_entropy(logits, p), rest)
    assert np.isclose(nn.kl_divergence(nn.log_softmax(logits), p), rest + sp.xlogy(p, p).sum())
    slope = tj.jit(tj.grad(lambda x: nn.cross_entropy(x, p)))(logits)
    np.testing.assert_allclose(slope, sp.softmax(logits, axis=1) - p, atol=1e-15)
