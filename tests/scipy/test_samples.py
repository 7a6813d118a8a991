"""Summaries of samples against SciPy's, in plain SciPy code that is traced."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tracejit as tj
from tracejit.test_util import check_grads

X = np.random.default_rng(4).uniform(0.2, 3, (6, 5))
CASES: dict[str, Callable[[Any], Any]] = {
    "zscore": lambda x: stats.zscore(x, axis=1, ddof=1),
    "sem": lambda x: stats.sem(x, axis=None),
    "skew": lambda x: stats.skew(x),
    "skew unbiased": lambda x: stats.skew(x, axis=1, bias=False, keepdims=True),
    "kurtosis": lambda x: stats.kurtosis(x, axis=None),
    "kurtosis unbiased": lambda x: stats.kurtosis(x, fisher=False, bias=False),
    "gmean": lambda x: stats.gmean(x, axis=1),
    "gmean weights": lambda x: stats.gmean(x, weights=np.arange(1.0, 7)[:, None] + 0 * X),
    "hmean": lambda x: stats.hmean(x, axis=None),
    "entropy": lambda x: stats.entropy(x),
    "tvar": lambda x: stats.tvar(x),
    "tstd": lambda x: stats.tstd(x, axis=1, ddof=0),
    "tsem": lambda x: stats.tsem(x, axis=None),
    "zmap": lambda x: stats.zmap(x[:2], x, axis=None, ddof=1),
    "variation": lambda x: stats.variation(x, axis=1, ddof=1, keepdims=True),
    "relative entropy": lambda x: stats.entropy(x, X[::-1], base=2, axis=1),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CASES)
def test_summaries(name: str) -> None:
    f = CASES[name]
    np.testing.assert_allclose(tj.jit(f)(X), f(X), rtol=1e-11)
    check_grads(lambda x: np.sum(f(x) ** 2), (X,), order=2)


def test_nan_policies_are_refused() -> None:
    with pytest.raises(ValueError, match="nan_policy"):
        tj.jit(lambda x: stats.skew(x, nan_policy="omit"))(X)


def test_limits_are_left_to_scipy() -> None:
    f = lambda x: (stats.tvar(x, (0.5, 2.5)), stats.tstd(x, (None, 2.0)), stats.tsem(x, (0.5, None)))
    np.testing.assert_allclose(tj.jit(f)(X), f(X), rtol=1e-12)


def test_pearsons_correlation() -> None:
    a, b = X[:, 0], X[:, 1]
    for alternative in ("two-sided", "less", "greater"):
        f = lambda a, b, way=alternative: stats.pearsonr(a, b, alternative=way)
        got, want = tj.jit(f)(a, b), f(a, b)
        np.testing.assert_allclose(tuple(got), tuple(want), rtol=1e-11)
        assert type(got) is type(want) and type(got.statistic) is type(want.statistic)
        np.testing.assert_allclose(got.confidence_interval(), want.confidence_interval(), rtol=1e-9)
    rows = tj.jit(lambda x: stats.pearsonr(x, x[:, ::-1] ** 2, axis=1).statistic)(X)
    np.testing.assert_allclose(rows, stats.pearsonr(X, X[:, ::-1] ** 2, axis=1).statistic, rtol=1e-11)
    check_grads(lambda a: stats.pearsonr(a, b).statistic, (a,), order=2)
    check_grads(lambda a: stats.pearsonr(a, b).pvalue, (a,), order=1)
    with tj.config.override(fallback=True), pytest.warns(stats.ConstantInputWarning):
        assert np.isnan(tj.jit(lambda a: stats.pearsonr(a, b).statistic)(0 * a))


@pytest.mark.parametrize("name", ["skew", "kurtosis", "zscore", "tvar", "tstd", "tsem"])
def test_precision_that_is_lost_is_told(name: str) -> None:
    compiled, flat = tj.jit(lambda x: getattr(stats, name)(x)), np.ones(12)
    compiled(np.arange(12.0))
    with tj.config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        with pytest.warns(RuntimeWarning, match="Precision loss"):
            compiled(flat)
