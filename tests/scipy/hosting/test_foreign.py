"""Functions of other libraries as calls of compiled programs, against these libraries. scikit-learn has both kinds:
functions of Python's, and compiled ones, some of which write into what they are given."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
import sklearn.metrics
import sklearn.metrics.pairwise
import sklearn.preprocessing
import sklearn.utils
from sklearn._isotonic import _inplace_contiguous_isotonic_regression, _make_unique
from sklearn.metrics import accuracy_score
from sklearn.utils.murmurhash import murmurhash3_bytes_u32

import tracejit as tj
from tracejit.errors import (
    LibraryResultError,
    NotDifferentiableError,
    RandomStateError,
    ReadOnlyArgumentError,
    UnfollowedError,
)
from tracejit.scipy.hosting import foreign, results
from tracejit.tracing import Box

RNG = np.random.default_rng(3)
LABELS = RNG.integers(0, 2, (2, 9))
X = RNG.uniform(0, 1, (5, 3))


def assert_same(got, want) -> None:
    """The same values in the same classes and orders of memory."""
    for g, w in zip(*(tj.tree.leaves(x) for x in (got, want)), strict=True):
        assert type(g) is type(w)
        np.testing.assert_allclose(g, w, rtol=1e-13)
        assert np.asarray(g).strides == np.asarray(w).strides


def falling(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Writes into `fitted` and `weights`, twice."""
    fitted, weights = y * 2.0, np.ones(len(y))
    _inplace_contiguous_isotonic_regression(fitted, weights)
    fitted -= y
    _inplace_contiguous_isotonic_regression(fitted, weights)
    return fitted, weights


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda a, b: accuracy_score(a, b) + 1, LABELS),
        (lambda a, b: sklearn.metrics.f1_score(a, b) * a, LABELS),
        (lambda a, b: sklearn.metrics.confusion_matrix(a, b).T @ a[:2], LABELS),
        (lambda p, y: sklearn.metrics.roc_curve(y, p), (RNG.uniform(0, 1, 9), LABELS[0])),
        (lambda x, copy, n: sklearn.preprocessing.normalize(x, "l1", axis=n, copy=copy), (X, True, 1)),
        (
            lambda x: sklearn.metrics.pairwise.rbf_kernel(x[::2, ::-1], x.T[:, 1:].T),
            (np.asfortranarray(X[:3]),),
        ),
        (lambda xs, ys: accuracy_score(xs, ys), ([0, 1, 1], [0, 1, 0])),
        (falling, (RNG.normal(size=7),)),
        (lambda n: murmurhash3_bytes_u32(b"tail", n) % 7, (5,)),
    ],
)
def test_values(f, args) -> None:
    compiled = tj.jit(f, fallback=False)
    for n in range(3):
        given = [a * (1 + 0.1 * n) if getattr(a, "dtype", None) == np.float64 else a for a in args]
        assert_same(compiled(*given), f(*given))
    assert compiled.trace_count == 1


def test_what_is_written_is_written_into_the_callers_array() -> None:
    def f(y, w):
        _inplace_contiguous_isotonic_regression(y, w)

    y, w = RNG.normal(size=6), np.ones(6)
    mine, weights = y.copy(), w.copy()
    tj.jit(f, fallback=False)(mine, weights)
    f(y, w)
    assert_same((mine, weights), (y, w))
    with pytest.raises(UnfollowedError, match="another argument is a part"):
        tj.jit(lambda y: f(y[:3], y[3:]), fallback=False)(np.array([3.0, 2, 1, 1, 1, 1]))
    fixed = np.arange(6.0)[::-1].copy()
    fixed.flags.writeable = False
    with pytest.raises(ReadOnlyArgumentError):
        tj.jit(f, fallback=False)(fixed, w)


def test_results_that_differ_are_pythons() -> None:
    f = tj.jit(lambda x: _make_unique(x, x * 2.0, np.ones(len(x)))[0] + 1, fallback=True)
    first, second = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 3.0])
    assert f(first).tolist() == [2, 3, 4]
    assert f(second).tolist() == [2, 4]
    assert f(first).tolist() == [2, 3, 4]
    with pytest.raises(LibraryResultError, match="another kind"):
        g = tj.jit(lambda x: _make_unique(x, x * 2.0, np.ones(len(x)))[0] + 1, fallback=False)
        g(first)
        g(second)


def test_what_is_not_taken() -> None:
    """Calls that draw, warn, show what they do, raise, or are made at each step of a loop."""
    y, p = LABELS

    def warns(y, p):
        return sklearn.metrics.precision_score(y, p)

    def in_a_loop(x, n):
        total = 0.0
        for i in range(n):
            total += sklearn.metrics.mean_squared_error(x, x * i)
        return total

    compiled = tj.jit(warns, fallback=True)
    for _ in range(2):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert compiled(y, 0 * p) == 0
        told = [w for w in told if w.category is not tj.errors.FallbackWarning]
        assert [w.category for w in told] == [sklearn.exceptions.UndefinedMetricWarning]
    with pytest.raises(RandomStateError):
        tj.jit(lambda x: sklearn.utils.resample(x), fallback=False)(X)
    with pytest.warns(tj.errors.FallbackWarning):
        assert tj.jit(in_a_loop, fallback=True)(X[0], 5) == pytest.approx(in_a_loop(X[0], 5))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        tj.jit(accuracy_score, fallback=True)(y, p[:3])


def test_transformations() -> None:
    def loss(x):
        return sklearn.metrics.mean_squared_error(x, np.zeros(3)) * 2

    with pytest.raises(NotDifferentiableError, match="library"):
        tj.jit(tj.grad(loss), fallback=False)(X[0])
    f = tj.jit(lambda x: x[0] + accuracy_score([1, 0], [1, 1]) * 2, fallback=False)
    assert tj.grad(f)(X[0]).tolist() == [1, 0, 0]


def test_which_functions() -> None:
    assert foreign.of(np.linalg.norm) is None and foreign.of(functools.reduce) is None
    assert foreign.of(sklearn.utils.check_array) is None
    assert foreign.of(sklearn.metrics.auc) is foreign.of(sklearn.metrics.auc)
    assert not foreign.is_compiled([].append) and foreign.is_compiled(_make_unique)


def test_arrays_that_go_backwards_and_have_gaps() -> None:
    a = np.arange(6.0).reshape(2, 3)
    for x in (a[::-1], a.T[:, ::-1], a[:, ::-1], a[::-1, ::-1].T):
        template, leaves = results.described(x, [])
        back = results.rebuilt(template, iter(leaves))
        assert back.strides == x.strides and back.tolist() == x.tolist()
        assert type(back) is np.ndarray and type(back) is not Box
    fixed = a.copy()
    fixed.flags.writeable = False
    for x in (a[:, ::2], a[:, :2].T, fixed):
        with pytest.raises(results.Untellable):
            results.described(x, [])
