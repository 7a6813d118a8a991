"""Densities of vectors against SciPy's, in plain SciPy code that is traced."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats as theirs
from scipy.stats import dirichlet, multivariate_normal

import tracejit as tj
from tracejit.test_util import check_grads

RNG = np.random.default_rng(8)
X, MEAN = RNG.normal(size=(6, 3)), np.array([0.3, -1.0, 2.0])
COV = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.5]])


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("x", "mean", "cov"),
    [
        (X, MEAN, COV), (X[0], MEAN, COV), (X, None, COV), (X, MEAN, np.diag(COV)), (X, MEAN, 2.0),
        (X.reshape(2, 3, 3), MEAN, COV), (X[:, 0], 0.5, 2.0), (X[:, 0], None, 2.0), (0.7, 0.5, 2.0),
    ],
)  # fmt: skip
def test_normal(x, mean, cov):
    for method in ("logpdf", "pdf"):
        f = lambda x, cov: getattr(multivariate_normal, method)(x, mean, cov)
        got, want = tj.jit(f)(x, cov), f(x, cov)
        assert type(got) is type(want) and np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_normal_differentiates():
    check_grads(lambda m, c: multivariate_normal.logpdf(X, m, c @ c.T).sum(), (MEAN, COV), order=2)
    with pytest.raises(np.linalg.LinAlgError):
        tj.jit(lambda x: multivariate_normal.logpdf(x, MEAN, -COV))(X)
    with pytest.raises(ValueError, match="covariance of shape"):
        tj.jit(lambda x: multivariate_normal.logpdf(x, MEAN, COV[:2]))(X)


def test_entropy():
    for cov in (COV, np.array([0.5, 2.0, 1.0]), 3.0):
        f = lambda c: multivariate_normal.entropy(np.zeros(np.shape(cov)[:1] or 1), c)
        np.testing.assert_allclose(tj.jit(f)(cov), f(cov), rtol=1e-12)
    check_grads(lambda c: multivariate_normal.entropy(None, c @ c.T), (COV,), order=2)


def test_dirichlet():
    alpha = np.array([0.7, 2.0, 1.0])
    inside = np.array([0.2, 0.3, 0.5])
    columns = np.stack([inside, inside[::-1]], axis=1)
    for x in (inside, inside[:2], columns):
        f = lambda a: dirichlet.logpdf(x, a)
        np.testing.assert_allclose(tj.jit(f)(alpha), f(alpha), rtol=1e-12)
    check_grads(lambda a: dirichlet.logpdf(inside, a), (alpha,), order=2)
    np.testing.assert_allclose(
        tj.jit(lambda a: dirichlet.pdf(inside, a))(alpha), dirichlet.pdf(inside, alpha), rtol=1e-12
    )


def test_other_methods_are_scipys():
    frozen = tj.scipy.stats.multivariate_normal(MEAN, COV)
    np.testing.assert_allclose(frozen.logpdf(X), multivariate_normal(MEAN, COV).logpdf(X))
    assert tj.scipy.stats.multivariate_normal.rvs(MEAN, COV, random_state=0).shape == (3,)


SCALE = COV / 3
MANY = np.stack([COV, 2 * COV, COV @ COV], axis=-1)
COUNTS = np.array([[1, 0, 3], [2, 2, 0], [1, 1, 1], [4, -1, 1]])
P = np.array([0.2, 0.5, 0.3])


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("multivariate_t", (X, MEAN, COV, 3.5)), ("multivariate_t", (X[0], MEAN, 2.0, 1.0)),
        ("wishart", (COV, 4.5, SCALE)), ("wishart", (MANY, 4.5, SCALE)),
        ("invwishart", (COV, 4.5, SCALE)), ("invwishart", (MANY, 4.5, SCALE)),
        ("matrix_normal", (X[:2], X[2:4], COV[:2, :2], COV)), ("matrix_normal", (X.reshape(3, 2, 3), X[:2], 1.0, COV)),
        ("multinomial", (COUNTS, 4.0, P)), ("multinomial", (COUNTS[0], 4.0, P)),
        ("dirichlet_multinomial", (COUNTS[:2], P * 3, 4)),
        ("multivariate_hypergeom", (COUNTS[:3], np.array([3, 5, 4]), 4)),
    ],
)  # fmt: skip
def test_others(name, args):
    d = getattr(theirs, name)
    log = "logpdf" if hasattr(d, "logpdf") else "logpmf"
    for method in (log, log[3:]):
        f = lambda *a: getattr(d, method)(*a)
        with np.errstate(all="ignore"):
            want = f(*args)
        given = [n for n, a in enumerate(args) if a is not None]

        def g(*traced, f=f, given=given):
            full = list(args)
            for n, a in zip(given, traced, strict=True):
                full[n] = a
            return f(*full)

        got = tj.jit(g)(*[args[n] for n in given])
        assert type(got) is type(want) and np.shape(got) == np.shape(want)
        np.testing.assert_allclose(got, want, rtol=1e-10)


def test_others_differentiate():
    check_grads(lambda s, df: theirs.wishart.logpdf(COV, df, s @ s.T), (COV, 4.5), order=1)
    check_grads(lambda s, df: theirs.invwishart.logpdf(MANY, df, s @ s.T).sum(), (COV, 4.5), order=1)
    check_grads(
        lambda m, c, df: theirs.multivariate_t(m, c @ c.T, df).logpdf(X).sum(), (MEAN, COV, 3.5), order=1
    )
    check_grads(lambda c: theirs.matrix_normal.logpdf(X[:2], X[2:4], 1.0, c @ c.T), (COV,), order=1)
    check_grads(lambda a: theirs.dirichlet_multinomial.logpmf(COUNTS[:2], a, 4).sum(), (P,), order=1)


@pytest.mark.parametrize("cov", [np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([2.0, 0.5]), 1.5])
def test_allow_singular(cov):
    def f(cov):
        return multivariate_normal.logpdf(
            np.array([0.3, -0.4]), np.array([0.1, 0.2]), cov, allow_singular=True
        )

    assert np.allclose(tj.jit(f, fallback=False)(cov), f(cov), rtol=1e-13)
    check_grads(f, (cov,), order=2, modes=("rev",))


def test_what_is_singular_is_scipys():
    f = tj.jit(lambda x, cov: multivariate_normal.logpdf(x, np.zeros(2), cov, True), fallback=True)
    good, ones = np.array([[2.0, 0.3], [0.3, 1.0]]), np.ones((2, 2))
    for x, cov in (
        (np.ones(2), good),
        (np.ones(2), ones),
        (np.array([1.0, 2.0]), ones),
        (np.ones(2), 2 * good),
    ):
        assert np.isclose(f(x, cov), multivariate_normal.logpdf(x, np.zeros(2), cov, True), rtol=1e-13)
    with pytest.raises(ValueError, match="positive semidefinite"):
        f(np.ones(2), np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="NaNs"):
        f(np.ones(2), np.full((2, 2), np.nan))
    assert f.trace_count == 1
    with pytest.raises(tj.errors.NumberError, match="inverse"):
        tj.grad(lambda cov: multivariate_normal.logpdf(np.ones(2), np.zeros(2), cov, True))(ones)
