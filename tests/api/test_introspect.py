"""Programs without running them: make_jaxpr, eval_shape, ShapeDtypeStruct; disable_jit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.api.introspect import jaxpr_as_fun, typeof
from tracejit.errors import UnknownDtypeError
from tracejit.ir.avals import aval_of

X = np.ones((2, 3))


def test_shape_dtype_struct() -> None:
    s = tj.ShapeDtypeStruct((2, 3), "float32")
    assert s.ndim == 2 and s.size == 6 and s.dtype == np.float32
    assert s == tj.ShapeDtypeStruct([2, 3], np.float32) and len({s, tj.ShapeDtypeStruct((2, 3), "f4")}) == 1
    assert (
        s != tj.ShapeDtypeStruct((3, 2), "f4") and repr(s) == "ShapeDtypeStruct(shape=(2, 3), dtype=float32)"
    )
    with pytest.raises(UnknownDtypeError):
        tj.ShapeDtypeStruct((1,), "no such")


def test_eval_shape_computes_nothing() -> None:
    seen: list[Any] = []
    out = tj.eval_shape(lambda x: {"s": seen.append(x) or x @ x.T, "n": None}, X)
    assert out == {"s": tj.ShapeDtypeStruct((2, 2), float), "n": None} and len(seen) == 1
    huge = tj.ShapeDtypeStruct((10**6, 10**6), float)
    assert tj.eval_shape(lambda x: x.sum(0) + x[:, 0].mean(), huge).shape == (10**6,)


def test_make_jaxpr_static_and_shapes() -> None:
    f = lambda x, n: [x * n] * n
    closed, shape = tj.make_jaxpr(f, static_argnums=1, return_shape=True)(X, 2)
    assert len(closed.jaxpr.invars) == 1 and len(closed.jaxpr.outs) == 2
    assert shape == [tj.ShapeDtypeStruct((2, 3), float)] * 2


def test_a_program_is_a_function_again() -> None:
    w = np.arange(3.0)
    f = jaxpr_as_fun(tj.make_jaxpr(lambda x: np.sin(x) * w)(X))
    np.testing.assert_array_equal(f(X)[0], np.sin(X) * w)
    np.testing.assert_allclose(tj.grad(lambda x: f(x)[0].sum())(X), np.cos(X) * w)
    np.testing.assert_allclose(tj.jit(lambda x: f(x)[0])(X), np.sin(X) * w)


def test_disable_jit() -> None:
    with tj.disable_jit():
        total, before = lax.scan(lambda c, x: (c + x, c), 0.0, np.arange(3.0))
        assert tj.jit(lambda x: float(x.sum()))(X) == 6.0  # real values: nothing is traced
    assert total == 3.0 and before.tolist() == [0, 0, 1]
    with tj.disable_jit(), tj.disable_jit(False):
        f = tj.jit(np.sin)
        f(X)
        assert f.trace_count == 1


def test_block_until_ready_is_the_identity() -> None:
    assert tj.block_until_ready(X) is X


def test_typeof() -> None:
    assert typeof(X) == aval_of(X) and typeof(tj.ShapeDtypeStruct((2, 3), float)) == aval_of(X)
    seen: list[Any] = []
    tj.make_jaxpr(lambda x: seen.append(typeof(x)) or x)(X)
    assert seen == [aval_of(X)]
