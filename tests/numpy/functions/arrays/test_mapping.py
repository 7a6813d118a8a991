"""np.vectorize and its like: at once where they can be, one after the other where not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import TracejitError
from tracejit.test_util import check_grads

A = np.random.default_rng(0).normal(size=(3, 4))
V = A[0]
N = np.arange(3)


def smooth(x: Any, y: Any = 2.0) -> Any:
    return np.sin(x) * y


def branching(x: Any) -> Any:
    """Twice what is positive, the opposite of the rest."""
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


ELEMENTS = {
    "formula": lambda v: v * v * 0.1 + 3,
    "python's": lambda v: isinstance(v, (float, int)) and not isinstance(v, np.generic),
    "sum": lambda v: v + v,
    "function": lambda v: np.exp(v) / 3,
    "tuple": lambda v: (v * 0.1, v),
    "branch": lambda v: v * 2 if v > 1 else v * 3,
}


@pytest.mark.parametrize("name", ELEMENTS)
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64, bool])
def test_elements_are_pythons_numbers_and_the_dtype_is_that_of_numpys(name: str, dtype: Any) -> None:
    x = np.linspace(0, 3, 5).astype(dtype)
    f = np.vectorize(ELEMENTS[name])
    want, got = f(x), tj.jit(lambda x: f(x))(x)
    for w, g in zip(tj.tree.leaves(want), tj.tree.leaves(got), strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(
            g, w, rtol=2e-3 if w.dtype == np.float16 else 1e-6 if w.itemsize == 4 else 1e-13
        )


def test_elements_of_another_dtype_than_the_results() -> None:
    x = np.linspace(-1, 3, 7, dtype=np.float32)
    f = np.vectorize(lambda v: v * 0.1, otypes=[float])
    assert np.array_equal(tj.jit(f)(x), f(x))  # computed with 64 bits


def test_a_result_that_does_not_fit() -> None:
    x = np.array([3, 200], np.uint8)
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for uint8"):
        tj.jit(np.vectorize(lambda v: v + 100))(x)


def test_formulas_run_at_once() -> None:
    jaxpr = tj.make_jaxpr(lambda x: np.vectorize(lambda v: v * v)(x))(A)
    assert str(jaxpr).count("mul") == 1
    check_grads(lambda x: np.vectorize(smooth)(x, x), (A,), order=2)


def test_a_vectorized_function_is_called_as_its_elements_function() -> None:
    def told(x: Any) -> Any:
        f, g = np.vectorize(branching), np.vectorize(smooth, doc="Something else.")
        return f(x), f.__name__, f.__doc__, g.__name__, g.__doc__

    (values, *names), (want, *wanted) = tj.jit(told)(V), told(V)
    assert names == wanted == ["branching", branching.__doc__, "smooth", "Something else."]
    np.testing.assert_array_equal(values, want)


def test_python_branches_run_one_by_one_while_values_are_known() -> None:
    f = lambda x: np.vectorize(branching)(x)
    np.testing.assert_allclose(tj.grad(lambda x: f(x).sum())(V), np.where(V > 0, 2, -1))
    g = lambda x: np.apply_along_axis(lambda r: r.sum() if r[0] > 0 else r.prod(), 1, x)
    np.testing.assert_allclose(tj.jvp(g, (A,), (A,))[0], g(A))
    np.testing.assert_allclose(tj.jit(f)(A), f(A))  # the branch is one of the program
    np.testing.assert_allclose(tj.vmap(f)(A), f(A))  # compiled, since Python has many values there


def test_refusals() -> None:
    for f in (
        lambda x: np.vectorize(smooth)(x[:0]),
        lambda x: np.vectorize(smooth, signature="(n,m)->()")(x[0]),
        lambda x: np.vectorize(smooth, signature="(n),(n)->()")(x),
        lambda x: np.apply_along_axis(np.sum, 1, x[:0]),
        lambda x: np.apply_over_axes(lambda a, axis: a.sum(), x, 0),
    ):
        with pytest.raises(TracejitError):
            tj.jit(f)(A)


def test_dtypes_are_those_of_the_first_result() -> None:
    for f in (
        lambda v: np.vectorize(lambda a: 1 if a > 2 else a)(v),
        lambda v: np.vectorize(lambda a: a if a > 2 else 1)(v),
        lambda v: np.apply_along_axis(lambda r: 1 if r[0] > 2 else r[0] / 2, 1, v[:, None]),
    ):
        v = np.array([3.0, 1.0, 2.5])
        got = tj.jvp(f, (v,), (v,))[0]
        assert got.dtype == f(v).dtype
        np.testing.assert_array_equal(got, f(v))
    for f in (
        lambda v: np.vectorize(lambda a: 1.5)(v),
        lambda v: np.vectorize(lambda a: (a * 2, 1), otypes="if")(v),
        lambda v: np.vectorize(lambda a: a * 2, otypes="f")(v[:0]),
        lambda v: np.vectorize(lambda a, b: a + b.sum(), excluded=["b"])(v, b=v),
    ):
        for got, expected in zip(leaves(tj.jit(f)(N)), leaves(f(N)), strict=True):
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


def leaves(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def test_signatures_are_kept() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for f, message in (
        (lambda x: np.vectorize(np.add, signature="(n),(n)->(n)")(x, x[:, :2]), "inconsistent size"),
        (lambda x: np.vectorize(lambda a: a * 2, signature="(n)->()")(x), "setting an array element"),
        (lambda x: np.vectorize(lambda a: [a, 2.0])(x), "setting an array element"),
        (lambda x: np.vectorize(lambda a: (a.sort(), a.sum())[1], signature="(n)->()")(x), "read-only"),
    ):
        for run in (f, tj.jit(f)):
            with pytest.raises(ValueError, match=message):
                run(x)


def test_rows_may_be_written() -> None:
    def in_order(row: Any) -> Any:
        row.sort()
        return row[:2]

    def marked(row: Any) -> Any:
        row[0] = 7.0
        return row.sum()

    for f in (in_order, marked):
        for axis in (0, 1):
            run = lambda x, f=f, axis=axis: (np.apply_along_axis(f, axis, x), x * 1)
            x = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
            expected, given = run(x.copy()), x.copy()
            for got in (tj.jit(run)(given), tj.jvp(run, (x.copy(),), (x,))[0]):
                np.testing.assert_array_equal(got[0], expected[0])
                np.testing.assert_array_equal(got[1], expected[1])
            np.testing.assert_array_equal(given, expected[1])
    with pytest.raises(TracejitError):  # a real array cannot hold traced values
        real = np.ones((2, 2))
        tj.grad(lambda y: np.apply_along_axis(lambda r, y: r.__imul__(y), 0, real, y).sum())(2.0)


def test_results_that_are_named_tuples() -> None:
    class Pair(NamedTuple):
        low: Any
        high: Any

    f = lambda x: np.apply_along_axis(lambda row: Pair(row.min(), row.max()), 1, x)
    x = np.sin(np.arange(12.0)).reshape(3, 4)
    np.testing.assert_array_equal(tj.jit(f)(x), f(x))
