"""fori_loop, dynamic lengths and dynamic extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.control.oracle import check, close, numeric_grad
from tracejit import lax
from tracejit.api.autodiff.derivatives import grad, jvp
from tracejit.api.batching import vmap
from tracejit.errors import CarryTypeError, LoopLengthError, TracejitError

RNG = np.random.default_rng(1)
X = RNG.normal(size=5)


def at(x: Any, i: Any) -> Any:
    """x[i], where `x` may be an array of NumPy's and `i` traced."""
    return lax.dynamic_index_in_dim(x, i, keepdims=False)


def test_static_bounds(run: Any) -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(1, 5, lambda i, c: c * at(x, i) + i, np.float64(1.0))

    def oracle(x: Any) -> Any:
        c = np.float64(1.0)
        for i in range(1, 5):
            c = c * x[i] + i
        return c

    check(f, oracle, X, run=run)


@pytest.mark.sample(2)
def test_traced_bounds(run: Any) -> None:
    def f(x: Any, lo: Any, hi: Any) -> Any:
        return lax.fori_loop(lo, hi, lambda i, c: np.sin(c) + at(x, i), x[0] * 1.0)

    def oracle(x: Any, lo: Any, hi: Any) -> Any:
        c = x[0] * 1.0
        for i in range(lo, hi):
            c = np.sin(c) + x[i]
        return c

    for lo, hi in ((0, 5), (1, 4), (3, 3), (4, 2)):
        check(f, oracle, X, np.int64(lo), np.int64(hi), run=run)


def test_index_is_a_python_integer_to_promotion() -> None:
    out = lax.fori_loop(0, 3, lambda i, c: c * i, np.float32(1))
    assert out.dtype == np.float32


def test_batched_trip_counts(run: Any) -> None:
    def f(n: Any, x: Any) -> Any:
        return lax.fori_loop(0, n, lambda i, c: c * x + 1.0, x)

    def oracle(n: int, x: Any) -> Any:
        c = x
        for _ in range(n):
            c = c * x + 1.0
        return c

    ns, xs = np.array([0, 3, 1]), np.array([0.5, 1.5, -0.5])
    expected = np.array([oracle(n, x) for n, x in zip(ns, xs, strict=True)])
    close(run(vmap(f))(ns, xs), expected)
    gs = np.array([numeric_grad(lambda y, n=n: oracle(n, y), (x,), 0) for n, x in zip(ns, xs, strict=True)])
    np.testing.assert_allclose(run(vmap(grad(f, 1)))(ns, xs), gs, rtol=1e-6)
    outer = run(grad(lambda xs: lax.reduce_sum(vmap(f)(ns, xs), (0,))))(xs)
    np.testing.assert_allclose(outer, gs, rtol=1e-6)
    twice = run(vmap(grad(grad(f, 1), 1)))(ns, xs)
    again = np.array([grad(grad(f, 1), 1)(n, x) for n, x in zip(ns, xs, strict=True)])
    np.testing.assert_allclose(twice, again, rtol=1e-6, atol=1e-12)
    _, t = run(lambda: jvp(lambda xs: vmap(f)(ns, xs), (xs,), (np.ones(3),)))()
    np.testing.assert_allclose(t, gs, rtol=1e-6)


def triangular_sums(fori: Any, x: Any) -> Any:
    """out[i] = sum of x[:i]², with a dynamic extent."""

    def body(i: Any, c: Any) -> Any:
        x, out = c
        part = x[:i]
        out[i] = np.sum(part * part)
        return x, out

    return fori(0, 5, body, (x, np.zeros(5)))[1]


def python_fori(lo: int, hi: int, body: Any, c: Any) -> Any:
    for i in range(lo, hi):
        c = body(i, c)
    return c


@pytest.mark.sample(2)
def test_dynamic_extent(run: Any) -> None:
    check(
        lambda x: triangular_sums(lax.fori_loop, x),
        lambda x: triangular_sums(python_fori, x),
        X,
        run=run,
    )


def cholesky(fori: Any, a: Any) -> Any:
    n = a.shape[0]

    def row(i: Any, m: Any) -> Any:
        def column(j: Any, m: Any) -> Any:
            m[i, j] = (m[i, j] - np.sum(m[i, :j] * m[j, :j])) / m[j, j]
            return m

        m = fori(0, i, column, m)
        m[i, i] = np.sqrt(m[i, i] - np.sum(m[i, :i] * m[i, :i]))
        return m

    return fori(0, n, row, a * 1.0)


@pytest.mark.sample(2)
def test_cholesky(run: Any) -> None:
    b = RNG.normal(size=(4, 4))
    a = b @ b.T + 4 * np.eye(4)
    lower = np.tril(run(lambda a: cholesky(lax.fori_loop, a))(a))
    np.testing.assert_allclose(lower, np.linalg.cholesky(a))
    check(
        lambda a: cholesky(lax.fori_loop, a),
        lambda a: cholesky(python_fori, a),
        a,
        run=run,
    )


def test_errors() -> None:
    with pytest.raises(LoopLengthError, match="upper"):
        lax.fori_loop(0, 2.5, lambda i, c: c, 0)
    with pytest.raises(CarryTypeError, match="f64"):
        lax.fori_loop(0, 3, lambda i, c: c * 1j, np.ones(2))


@pytest.mark.parametrize("call, message", [
    (lambda: lax.fori_loop(0, 3, 1.0, X), "fori_loop: body_fun is a function, but this is of type float"),
    (lambda: lax.scan(None, 0.0, X), "scan: f is a function"),
    (lambda: lax.while_loop(lambda c: c < 3, 5, 0), "while_loop: body_fun is a function"),
    (lambda: lax.map(X, X), "map: f is a function"),
    (lambda: lax.cond(True, 1, lambda: 2), "cond: true_fun is a function"),
    (lambda: lax.switch(0, [np.sin, 3], X), "switch: branch 1 is a function"),
    (lambda: lax.switch(0, [], X), "switch: there are no branches"),
    (lambda: lax.fori_loop(0, 3, lambda i, c: c, {"a": ["text"]}), r"carry\['a'\]\[0\] is a str"),
    (lambda: lax.scan(lambda c, r: (c, r), 0.0, {"b": object()}), r"xs\['b'\] is a object"),
    (lambda: lax.cond(True, np.sin, np.cos, "text"), r"operands\[0\] is a str"),
    (lambda: lax.dynamic_slice(X, (0, 0), (2,)), "2 start indices for an array of 1 dimensions"),
    (lambda: lax.custom_linear_solve(lambda v: v[:2], X, lambda _, b: b), r"matvec gives a single value of f64\[2\]"),
])  # fmt: skip
def test_arguments_that_are_not_what_they_should_be(call: Any, message: str) -> None:
    with pytest.raises(TracejitError, match=message):
        call()
