"""Softmax, attention, dropout and their kind against NumPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import tracejit as tj
from tracejit import nn, random
from tracejit.errors import ShapeError
from tracejit.test_util import check_grads

rng = np.random.default_rng(0)
X = rng.normal(size=(3, 5)) * 4


@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None])
def test_softmax(axis: Any) -> None:
    want = sp.softmax(X, axis=axis)
    f = lambda x: nn.softmax(x, axis=axis)
    np.testing.assert_allclose(f(X), want, rtol=1e-13)
    np.testing.assert_allclose(tj.jit(f)(X), want, rtol=1e-13)
    np.testing.assert_allclose(nn.log_softmax(X, axis=axis), np.log(want), rtol=1e-12, atol=1e-13)
    check_grads(f, (X,), order=2, atol=1e-5, rtol=1e-5)
    check_grads(lambda x: nn.log_softmax(x, axis=axis), (X,), order=2, atol=1e-5, rtol=1e-5)


def test_softmax_of_huge_and_excluded_values() -> None:
    x = np.array([1e4, 1e4, -1e4])
    assert np.allclose(nn.softmax(x), [0.5, 0.5, 0])
    some = nn.softmax(X, where=X > 0)
    assert np.all(some[X <= 0] == 0) and np.allclose(some.sum(-1), 1)
    assert np.all(np.isfinite(tj.grad(lambda x: (nn.softmax(x, where=X > 0) ** 2).sum())(X)))
    assert nn.softmax(np.arange(3)).dtype == np.float64


def test_standardize() -> None:
    want = (X - X.mean(-1, keepdims=True)) / np.sqrt(X.var(-1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.standardize(X), want, rtol=1e-12)
    np.testing.assert_allclose(tj.jit(nn.standardize)(X), want, rtol=1e-12)
    check_grads(nn.standardize, (X,), order=2, atol=1e-4, rtol=1e-4)


def test_one_hot() -> None:
    codes = nn.one_hot(np.array([0, 2, 3, -1]), 3)
    assert codes.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert nn.one_hot(np.array([[0, 1]]), 3, axis=0, dtype=np.float32).shape == (3, 1, 2)
    assert np.array_equal(tj.jit(lambda i: nn.one_hot(i, 3))(np.array([1, 2])), np.eye(3)[[1, 2]])


def test_dropout() -> None:
    key, x = random.key(0), np.ones(10000)
    y = nn.dropout(key, x, 0.25)
    assert set(np.unique(y)) == {0, 1 / 0.75} and abs(y.mean() - 1) < 0.03
    assert np.array_equal(tj.jit(lambda k, v: nn.dropout(k, v, 0.25))(key, x), y)
    slope = tj.grad(lambda v: (nn.dropout(key, v, 0.25) * np.arange(10000)).sum())(x)
    np.testing.assert_allclose(slope, y * np.arange(10000), rtol=1e-15)
    assert np.array_equal(nn.dropout(key, x, 0), x)
    with pytest.raises(ShapeError):
        nn.dropout(key, x, 1.5)


def _attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    out = np.empty((*q.shape[:-1], v.shape[-1]))
    group = q.shape[-2] // k.shape[-2]
    for b in range(q.shape[0]):
        for n in range(q.shape[2]):
            s = q[b, :, n] @ k[b, :, n // group].T / np.sqrt(q.shape[-1])
            if mask is not None:
                s = np.where(mask, s, -np.inf)
            out[b, :, n] = sp.softmax(s, axis=-1) @ v[b, :, n // group]
    return out


@pytest.mark.parametrize("groups", [4, 2, 1])
def test_attention(groups: int) -> None:
    q = rng.normal(size=(2, 3, 4, 5))
    k, v = rng.normal(size=(2, 2, 3, groups, 5))
    f = nn.dot_product_attention
    np.testing.assert_allclose(f(q, k, v), _attention(q, k, v), rtol=1e-12)
    np.testing.assert_allclose(tj.jit(f)(q, k, v), _attention(q, k, v), rtol=1e-12)
    causal = np.tri(3, dtype=bool)
    np.testing.assert_allclose(f(q, k, v, is_causal=True), _attention(q, k, v, causal), rtol=1e-12)
    np.testing.assert_allclose(f(q, k, v, mask=causal), _attention(q, k, v, causal), rtol=1e-12)
    check_grads(f, (q, k, v), order=1, atol=1e-5, rtol=1e-5)


def test_attention_needs_heads_that_share() -> None:
    with pytest.raises(ShapeError, match="share"):
        nn.dot_product_attention(np.ones((1, 2, 3, 4)), np.ones((1, 2, 2, 4)), np.ones((1, 2, 2, 4)))


def test_log_softmax_is_along_the_last_axis() -> None:
    np.testing.assert_allclose(nn.log_softmax(X), np.log(sp.softmax(X, axis=-1)), rtol=1e-12)
    some = nn.log_softmax(X, where=X > 0)
    assert np.all(some[X <= 0] == -np.inf) and np.allclose(np.exp(some).sum(-1), 1)


def test_dropout_differentiates_forward_and_to_second_order() -> None:
    key, x = random.key(0), rng.normal(size=50)
    f = lambda x: (nn.dropout(key, x, 0.5) ** 2).sum()
    kept = nn.dropout(key, np.ones(50), 0.5) > 0
    check_grads(f, (x,), order=2, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(tj.jit(tj.hessian(f))(x), np.diag(8.0 * kept))
    np.testing.assert_allclose(tj.hvp(f, (x,), (x,)), 8 * kept * x)
    keys = random.split(key, 3)
    many = tj.vmap(tj.grad(lambda x, key: (nn.dropout(key, x, 0.5) ** 2).sum()), (None, 0))(x, keys)
    for key, slope in zip(keys, many, strict=True):
        np.testing.assert_allclose(slope, 8 * x * (nn.dropout(key, np.ones(50), 0.5) > 0))


@pytest.mark.parametrize(
    ("f", "kept"),
    [
        (nn.relu, "bool[4,3]       12 B"),
        (nn.relu6, "bool[4,3]       12 B"),
        (lambda x: nn.dropout(random.key(0), x, 0.5), "u32[2]        8 B"),
        (lambda x: nn.softmax(x) * 1.0, "f64[4,3]       96 B"),
    ],
)
def test_residuals_are_the_smallest(f: Any, kept: str, capsys: Any) -> None:
    tj.print_saved_residuals(f, rng.normal(size=(4, 3)))
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 2 and lines[0].startswith(kept)


@pytest.mark.sample(2)
@pytest.mark.parametrize("axis", [None, 1, (0, 1)])
def test_logmeanexp(axis: Any) -> None:
    f = lambda x: nn.logmeanexp(x, axis=axis)
    np.testing.assert_allclose(f(X), np.log(np.exp(X).mean(axis=axis)), rtol=1e-12)
    np.testing.assert_allclose(tj.jit(f)(X), f(X), rtol=1e-13)
    check_grads(f, (X,), order=2, atol=1e-5, rtol=1e-5)
    some = nn.logmeanexp(X, axis=1, where=X > 0, keepdims=True)
    np.testing.assert_allclose(some, np.log(np.exp(X).mean(axis=1, where=X > 0, keepdims=True)), rtol=1e-12)
    assert nn.logmeanexp(X.astype(np.float32)).dtype == np.float32
