"""SciPy's functions without traced forms, as calls of compiled programs, against SciPy itself."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats
from scipy.special import diric

import tracejit as tj
from tracejit.errors import DynamicExtentError, NotDifferentiableError
from tracejit.scipy import special

RNG = np.random.default_rng(0)
X = RNG.normal(size=12)
A = RNG.normal(size=(4, 3))


def same(f, *args):
    """Compiled as a whole, with the results of Python, kinds and memory order included."""
    got, want = tj.jit(f)(*args), f(*args)
    for g, w in zip(*(tj.tree.leaves(x) for x in (got, want)), strict=True):
        assert type(g) is type(w)
        np.testing.assert_array_equal(g, w)
        assert np.asarray(g).strides == np.asarray(w).strides
    return got


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: scipy.special.diric(x, 3),
        lambda x: diric(2 * x, 3) + 1,
        lambda x: special.diric(x, n=3),
        lambda x: scipy.special.wright_bessel(1.0, 2.0, abs(x)),
        lambda x: scipy.special.itairy(x),
        lambda x: scipy.signal.freqz(x, worN=8),
        lambda x: scipy.linalg.qz(x[:9].reshape(3, 3), x[3:].reshape(3, 3), output="complex"),
        lambda x: scipy.signal.butter(3, abs(x[0]) / 4, output="sos"),
        lambda x: scipy.stats.expectile(x),
        lambda x: scipy.stats.theilslopes(x, x**3),
        lambda x: scipy.interpolate.interpn(([0.0, 1.0],), x[:2], [[0.3]]),
    ],
)
def test_values(f) -> None:
    same(f, X)


def test_objects_of_scipys() -> None:
    f = tj.jit(lambda x: scipy.stats.cramervonmises(x, "norm"), fallback=False)
    got, want = f(X), scipy.stats.cramervonmises(X, "norm")
    assert type(got) is type(want) and vars(got) == vars(want)
    table = tj.jit(lambda x: scipy.stats.tukey_hsd(x, 2 * x, x + 1).statistic, fallback=False)
    np.testing.assert_array_equal(table(X), scipy.stats.tukey_hsd(X, 2 * X, X + 1).statistic)


def test_functions_that_take_large_numbers_only() -> None:
    same(lambda a: scipy.signal.kaiserord(a, 0.1), 65.0)


def test_orders_of_memory() -> None:
    for a in (A, np.asfortranarray(A), A.T):
        same(lambda a: scipy.special.diric(a, 3), a)
        same(lambda a: scipy.special.diric(a.T, 3), a)


def test_explain_lists_the_call() -> None:
    f = tj.jit(lambda x: scipy.special.diric(x, 3))
    (line,) = tj.explain(f)(X).callbacks
    assert line.startswith("host call of scipy.special.diric (at ") and "test_calls.py" in line


def test_integers_that_decide_shapes_become_static() -> None:
    f = tj.jit(lambda x, n: diric(x, n))
    for n in (3, 5, 3):
        np.testing.assert_array_equal(f(X, n), diric(X, n))
    assert f.trace_count == 2


def test_in_a_native_loop_and_branch() -> None:
    def f(x, n):
        for _ in range(n):
            x = diric(x, 3) * 0.9 if x[0] > 0.1 else x + 0.3
        return x

    np.testing.assert_array_equal(tj.jit(f)(X, 60), f(X, 60))


def test_vmap_is_lane_by_lane() -> None:
    rows = RNG.normal(size=(3, 12))
    want = [diric(r, 3) for r in rows]
    np.testing.assert_array_equal(tj.vmap(lambda r: diric(r, 3))(rows), want)
    np.testing.assert_array_equal(tj.jit(tj.vmap(lambda r: diric(r, 3)))(rows), want)
    chosen = tj.jit(tj.vmap(lambda r: tj.lax.cond(r[0] > 0, lambda r: diric(r, 3), lambda r: r, r)))
    np.testing.assert_array_equal(
        chosen(rows), [w if r[0] > 0 else r for w, r in zip(want, rows, strict=True)]
    )


def test_derivatives_name_what_has_one() -> None:
    with pytest.raises(NotDifferentiableError, match="nearest with one is numpy"):
        tj.grad(lambda x: diric(x, 3).sum())(X)
    stopped = tj.grad(lambda x: (x * diric(tj.lax.stop_gradient(x), 3)).sum())(X)
    np.testing.assert_array_equal(stopped, diric(X, 3))


def test_exceptions_are_scipys_own() -> None:
    f = tj.jit(lambda a: scipy.linalg.ldl(a)[1])
    with tj.config.override(fallback=True):
        a = A[:3] + A[:3].T
        np.testing.assert_allclose(f(a), scipy.linalg.ldl(a)[1])
        with pytest.raises(ValueError, match="must not contain infs or NaNs"):
            f(a * np.nan)


def test_warnings_come_once_and_from_the_users_line() -> None:
    def seen(f, x):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            f(x)
        return [(str(w.message), w.category, w.filename, w.lineno) for w in told]

    def h(x):
        return scipy.stats.kstat(x, 2) + scipy.stats.circmean(x) + scipy.stats.skewtest(x).statistic

    with tj.config.override(fallback=True):
        compiled = tj.jit(h)
        compiled(X)
        flat = np.ones(12)
        assert seen(compiled, flat) == seen(h, flat)


def test_other_shapes_than_expected_are_pythons_to_do() -> None:
    full, flat = np.eye(2) + 0.1, np.zeros((2, 2))
    with tj.config.override(fallback=True):
        f = tj.jit(scipy.linalg.orth)
        np.testing.assert_array_equal(f(full), scipy.linalg.orth(full))
        assert f(flat).shape == (2, 0)
    with pytest.raises(DynamicExtentError, match="differs between the examples"):
        tj.vmap(scipy.linalg.orth)(flat[None])


def test_what_is_not_taken() -> None:
    """Arguments that are written, random numbers, results whose shapes depend on values."""
    out = np.zeros(12)
    for f in (
        lambda x: scipy.ndimage.fourier_ellipsoid(x, 2.0, output=out),
        lambda x: scipy.stats.bootstrap((x,), np.mean).confidence_interval.low,
        lambda x: scipy.signal.find_peaks_cwt(x, [1, 2]),
    ):
        with tj.config.override(fallback=True):
            assert tj.explain(f)(X).fallback is not None
