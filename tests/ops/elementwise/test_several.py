"""Pointwise ops of several results: their types, and how they are lowered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ops.elementwise import floats as fl

X = np.array([[3.5, -0.75, 12.0], [1e-3, -7.25, 0.5]])
F64, I32 = np.dtype("f8"), np.dtype("i4")


def test_types() -> None:
    x = Aval((2, 3), F64)
    assert fl.frexp.op.type(x) == [x, Aval((2, 3), I32)]
    assert fl.divmod.op.type(x, Aval((), F64)) == [x, x]
    with pytest.raises(TypeRuleError, match="takes 2 operands"):
        fl.divmod.op.type(x)
    with pytest.raises(TypeRuleError, match="floats"):
        fl.frexp.op.type(Aval((), I32))
    with pytest.raises(TypeRuleError, match="different dtypes"):
        fl.divmod.op.type(x, Aval((), np.dtype("f4")))


def test_results_fuse_with_what_reads_them() -> None:
    def f(x: Any) -> Any:
        m, e = np.frexp(x * 2)
        whole = np.modf(x)[1]
        return np.sum(m * e) + whole, e[::-1], m.T @ np.ones(2)

    compiled = tj.jit(f)
    for got, want in zip(compiled(X), f(X), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-15)
    assert "callback" not in compiled.lower(X).as_text("loops")


@pytest.mark.parametrize("n", [0, 1])
def test_one_result_alone(n: int) -> None:
    for f in (lambda x: np.frexp(x)[n], lambda x: np.divmod(x, 2.0)[n], lambda x: np.modf(x)[n]):
        np.testing.assert_array_equal(tj.jit(f)(X), f(X))
        np.testing.assert_array_equal(tj.jit(lambda x, f=f: f(x).sum())(X), f(X).sum())
        np.testing.assert_array_equal(tj.jit(f)(X[0, 0]), f(X[0, 0]))


def test_in_loops_and_batches() -> None:
    def f(x: Any) -> Any:
        return tj.lax.fori_loop(0, 3, lambda i, c: np.ldexp(*np.frexp(c * 3)) / 2, x)

    np.testing.assert_allclose(tj.jit(f)(X), X * 27 / 8)
    np.testing.assert_allclose(tj.vmap(f)(X), X * 27 / 8)
    q, r = tj.vmap(np.divmod, in_axes=(0, None))(X, np.array([2.0, 0.7, -3.0]))
    np.testing.assert_array_equal(q, X // np.array([2.0, 0.7, -3.0]))
    np.testing.assert_array_equal(r, X % np.array([2.0, 0.7, -3.0]))
    outs = tj.vmap(np.divmod, in_axes=(1, None))(X, 2.0)
    np.testing.assert_array_equal(outs[0], X.T // 2.0)
