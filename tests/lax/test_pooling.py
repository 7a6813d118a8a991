"""reduce_window with all kinds of computations, and cumlogsumexp."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.ndimage
from numpy.lib.stride_tricks import sliding_window_view

import tracejit as tj
from tracejit import lax
from tracejit.errors import ShapeError, WindowComputationError
from tracejit.test_util import check_grads

X = np.random.default_rng(0).normal(size=(4, 6))
LOW = -np.inf


def primitives(f: Any, *args: Any) -> set[str]:
    return {e.op.name for e in tj.make_jaxpr(f)(*args).jaxpr.eqns}


@pytest.mark.parametrize(
    ("computation", "init", "name"),
    [
        (lax.add, 0.0, "reduce_window_sum"),
        (lambda a, b: b + a, 0.0, "reduce_window_sum"),
        (np.multiply, 1.0, "reduce_window_prod"),
        (lax.max, LOW, "reduce_window_max"),
        (lambda a, b: np.minimum(a, b), np.inf, "reduce_window_min"),
    ],
)
def test_known_computations_are_primitives(computation: Any, init: float, name: str) -> None:
    f = lambda x: lax.reduce_window(x, init, computation, (2, 3), (1, 2), "SAME")
    assert primitives(f, X) == {name}
    assert f(X).shape == (4, 3)


def test_pooling() -> None:
    got = tj.jit(lambda x: lax.reduce_window(x, LOW, lax.max, (2, 2), (2, 2), "VALID"))(X)
    np.testing.assert_array_equal(got, X.reshape(2, 2, 3, 2).max(axis=(1, 3)))
    got = tj.jit(lambda x: lax.reduce_window(x, 0.0, lax.add, (3, 3), None, "SAME"))(X)
    np.testing.assert_allclose(got, scipy.ndimage.uniform_filter(X, 3, mode="constant") * 9, atol=1e-12)
    got = tj.jit(lambda x: lax.reduce_window(x, LOW, lax.max, (3, 3), None, "SAME"))(X)
    np.testing.assert_array_equal(got, scipy.ndimage.maximum_filter(X, 3, mode="constant", cval=LOW))


def test_windows_that_do_not_fit() -> None:
    for padding in ("SAME", "VALID", [(0, 0)]):
        for sizes in ((2,), (2, 2, 2)):
            with pytest.raises(ShapeError):
                lax.reduce_window(X, 0.0, lax.add, sizes, None, padding)


def test_booleans_and_integers() -> None:
    b = X > 0
    windows = sliding_window_view(b, (2, 2))
    got = lax.reduce_window(b, True, lax.bitwise_and, (2, 2), (1, 1), "VALID")
    np.testing.assert_array_equal(got, windows.all(axis=(2, 3)))
    got = lax.reduce_window(b, False, lax.bitwise_or, (2, 2), (1, 1), "VALID")
    np.testing.assert_array_equal(got, windows.any(axis=(2, 3)))
    n = np.arange(6, dtype=np.int8)
    low = np.iinfo(np.int8).min
    f = lambda x: lax.reduce_window(x, low, lax.max, (3,), (1,), "SAME")
    assert primitives(f, n) == {"reduce_window_max"} and f(n).tolist() == [1, 2, 3, 4, 5, 5]


@pytest.mark.parametrize("init", [0.5, 2.0])
def test_an_initial_value_takes_part_in_every_window(init: float) -> None:
    windows = sliding_window_view(np.pad(X, 1, constant_values=init), (3, 3))
    for computation, want in (
        (lax.max, np.maximum(windows.max(axis=(2, 3)), init)),
        (lax.add, windows.sum(axis=(2, 3)) + init),
    ):
        f = tj.jit(lambda x, i, c=computation: lax.reduce_window(x, i, c, (3, 3), (1, 1), "SAME"))
        np.testing.assert_allclose(f(X, init), want, atol=1e-12)


def test_other_computations() -> None:
    """log-sum-exp of windows, and its derivative."""
    f = lambda x: lax.reduce_window(x, LOW, np.logaddexp, (2, 3), (1, 1), "VALID")
    want = np.log(np.exp(sliding_window_view(X, (2, 3))).sum(axis=(2, 3)))
    np.testing.assert_allclose(f(X), want, atol=1e-12)
    np.testing.assert_allclose(tj.jit(f)(X), want, atol=1e-12)
    rows = np.stack([X, 2 * X])
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(rows)[1], f(2 * X), atol=1e-12)
    smooth = lambda x: lax.reduce_window(x, 0.0, lambda a, b: np.sin(a) + b * b, (2, 3), (1, 1), "SAME")
    check_grads(smooth, (X,), order=2)
    scale = np.float64(0.5)
    closes = lambda x, s: lax.reduce_window(x, 0.0, lambda a, b: a * s + b, (3,), (1,), "VALID")
    got = tj.jit(tj.grad(lambda s: np.sum(closes(X[0], s))))(scale)
    eps = 1e-6
    want = (np.sum(closes(X[0], scale + eps)) - np.sum(closes(X[0], scale - eps))) / (2 * eps)
    np.testing.assert_allclose(got, want, atol=1e-8)


def test_several_operands() -> None:
    """The maximum of windows and where it is."""

    def first(a: Any, b: Any) -> Any:
        take = a[0] >= b[0]
        return np.where(take, a[0], b[0]), np.where(take, a[1], b[1])

    f = lambda x: lax.reduce_window((x, np.arange(6)), (LOW, np.int64(-1)), first, (3,), (2,), "VALID")
    best, where = tj.jit(f)(X[0])
    windows = sliding_window_view(X[0], 3)[::2]
    np.testing.assert_array_equal(best, windows.max(axis=1))
    np.testing.assert_array_equal(where, windows.argmax(axis=1) + [0, 2])


def test_shapes() -> None:
    assert lax.reduce_window_shape_tuple((4, 6), (2, 3), (1, 2), "SAME") == (4, 3)
    assert lax.reduce_window_shape_tuple((4, 6), (2, 3), (1, 2), [(0, 0), (1, 1)], (2, 1), (1, 2)) == (6, 2)
    assert lax.padtype_to_pads((5,), (3,), (2,), "SAME") == [(1, 1)]


def test_errors() -> None:
    with pytest.raises(WindowComputationError):
        lax.reduce_window(X, 0.0, lambda a, b: a > b, (2, 2), (1, 1), "VALID")
    with pytest.raises(ShapeError):
        lax.reduce_window(X, 0.0, lax.add, (2,), (1,), "VALID")
    with pytest.raises(ShapeError):
        lax.reduce_window(X, 0.0, lax.add, (2, 2), (1, 1), "HALF")
    with pytest.raises(ShapeError):
        lax.reduce_window((X, X), 0.0, lax.add, (2, 2), (1, 1), "VALID")


# ---------------------------------------------------------------- running


def test_cumlogsumexp() -> None:
    x = X * 300
    for axis, reverse in ((0, False), (1, True), (-1, False)):
        f = lambda x, a=axis, r=reverse: lax.cumlogsumexp(x, axis=a, reverse=r)
        rows = np.flip(x, axis) if reverse else x
        want = np.logaddexp.accumulate(rows, axis=axis)
        want = np.flip(want, axis) if reverse else want
        np.testing.assert_allclose(f(x), want, rtol=1e-14)
        np.testing.assert_allclose(tj.jit(f)(x), want, rtol=1e-14)
        check_grads(f, (X,), order=2)
        slopes = tj.jit(tj.jacrev(lambda v, f=f: f(v)[0]))(x)
        assert np.isfinite(slopes).all()
        np.testing.assert_allclose(np.sum(slopes, axis=(-2, -1)), 1, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_cumlogsumexp_in_other_precisions(dtype: Any) -> None:
    x = X.astype(dtype)
    got = tj.jit(lax.cumlogsumexp)(x)
    assert got.dtype == dtype
    np.testing.assert_allclose(
        got, np.logaddexp.accumulate(x), rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps
    )


def test_cumlogsumexp_of_infinities_and_ties() -> None:
    x = np.array([-np.inf, -np.inf, 1.0, 1.0, -np.inf, np.inf, 0.0, np.nan])
    with np.errstate(invalid="ignore"):
        want = np.logaddexp.accumulate(x)
        np.testing.assert_allclose(lax.cumlogsumexp(x), want)
    np.testing.assert_allclose(tj.jit(lax.cumlogsumexp)(x), want)
    slope = tj.jit(tj.grad(lambda x: lax.cumlogsumexp(x)[4]))(x[:5])
    np.testing.assert_allclose(slope, [0, 0, 0.5, 0.5, 0], atol=1e-15)
    ties = np.array([1.0, 1.0, 1.0])
    hessian = tj.hessian(lambda x: lax.cumlogsumexp(x)[2])(ties)
    np.testing.assert_allclose(hessian, np.eye(3) / 3 - 1 / 9, atol=1e-12)
