"""np.vectorize and its like: at once where they can be, one after the other where not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import TracejitError
from tracejit.test_util import check_grads

A = np.random.default_rng(0).normal(size=(3, 4))
V = A[0]


def smooth(x: Any, y: Any = 2.0) -> Any:
    return np.sin(x) * y


def branching(x: Any) -> Any:
    return x * 2 if x > 0 else -x


CALLS = {
    "scalars": (lambda x: np.vectorize(smooth)(x, 3.0), A),
    "broadcast": (lambda x: np.vectorize(smooth)(x, x[:1]), A),
    "keywords": (lambda x: np.vectorize(smooth)(x, y=x), A),
    "several results": (lambda x: np.vectorize(lambda a: (a, a * a))(x), A),
    "otypes": (lambda x: np.vectorize(smooth, otypes=[np.float32])(x), A),
    "excluded": (lambda x: np.vectorize(lambda p, a: p[0] * a, excluded={0})(x[0], x), A),
    "signature": (lambda x: np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(x, x[0]), A),
    "core results": (lambda x: np.vectorize(lambda a: np.outer(a, a), signature="(n)->(n,n)")(x), A),
    "decorator": (lambda x: np.vectorize(otypes=[float])(smooth)(x), A),
    "along": (lambda x: np.apply_along_axis(np.sort, 0, x), A),
    "over": (lambda x: np.apply_over_axes(np.max, x, (0, 1)), A),
}


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name: str) -> None:
    f, x = CALLS[name]
    want = tj.tree.leaves(f(x))
    for way in (tj.jit, lambda f: lambda x: tj.jvp(f, (x,), (x,))[0]):
        for g, w in zip(tj.tree.leaves(way(f)(x)), want, strict=True):
            assert g.dtype == w.dtype
            np.testing.assert_allclose(g, w, rtol=1e-12)
    for g, w in zip(tj.tree.leaves(tj.vmap(f)(np.stack([x, x]))), want, strict=True):
        np.testing.assert_allclose(g[1], w, rtol=1e-12)


def test_formulas_run_at_once() -> None:
    calls = []

    def seen(x: Any) -> Any:
        calls.append(x.shape)
        return x * x

    tj.make_jaxpr(lambda x: np.vectorize(seen)(x))(A)
    assert calls == [()]
    check_grads(lambda x: np.vectorize(smooth)(x, x), (A,), order=2)


def test_python_branches_run_one_by_one_while_values_are_known() -> None:
    f = lambda x: np.vectorize(branching)(x)
    np.testing.assert_allclose(tj.grad(lambda x: f(x).sum())(V), np.where(V > 0, 2, -1))
    g = lambda x: np.apply_along_axis(lambda r: r.sum() if r[0] > 0 else r.prod(), 1, x)
    np.testing.assert_allclose(tj.jvp(g, (A,), (A,))[0], g(A))
    np.testing.assert_allclose(tj.jit(f)(A), f(A))  # the branch is one of the program
    with pytest.raises(TracejitError):
        tj.vmap(f)(A)


def test_refusals() -> None:
    for f in (
        lambda x: np.vectorize(smooth)(x[:0]),
        lambda x: np.vectorize(smooth, signature="(n,m)->()")(x[0]),
        lambda x: np.vectorize(smooth, signature="(n),(n)->()")(x),
        lambda x: np.apply_along_axis(np.sum, 1, x[:0]),
        lambda x: np.apply_over_axes(lambda a, axis: a.sum(), x, 0),
        lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]),
    ):
        with pytest.raises(TracejitError):
            tj.jit(f)(A)


def test_piecewise_takes_the_last_condition_that_holds() -> None:
    f = lambda x: np.piecewise(x, [x > 0, x > 0.5], [1.0, lambda v: v * 10])
    np.testing.assert_allclose(tj.jit(f)(A), f(A))
