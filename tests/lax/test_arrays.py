"""JAX's low-level names against NumPy, evaluated and under jit."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tracejit import lax
from tracejit.api.autodiff.derivatives import grad
from tracejit.api.jit.jitted import jit

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
Y = np.array([[1.5, 2.0, 0.5], [-1.0, 4.0, 2.0]])
V = np.array([3.0, 1.0, 2.0])

CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "add": (lambda: lax.add(X, Y), X + Y),
    "scalar": (lambda: lax.mul(X, 2), X * 2),
    "max": (lambda: lax.max(X, Y), np.maximum(X, Y)),
    "rem": (lambda: lax.rem(X, Y), np.fmod(X, Y)),
    "pow": (lambda: lax.pow(Y * Y, X), (Y * Y) ** X),
    "integer_pow": (lambda: lax.integer_pow(X, 3), X**3),
    "rsqrt": (lambda: lax.rsqrt(V), 1 / np.sqrt(V)),
    "round": (lambda: lax.round(X), np.trunc(X + np.copysign(0.5, X))),
    "select": (lambda: lax.select(X > 0, X, Y), np.where(X > 0, X, Y)),
    "select_n": (lambda: lax.select_n(X > 0, X, Y), np.where(X > 0, Y, X)),
    "clamp": (lambda: lax.clamp(-1.0, X, 1.0), np.clip(X, -1, 1)),
    "convert": (lambda: lax.convert_element_type(X, np.float32), X.astype(np.float32)),
    "bitwise": (lambda: lax.bitwise_and(X > 0, Y > 1), (X > 0) & (Y > 1)),
    "iota": (lambda: lax.iota(np.int32, 4), np.arange(4, dtype=np.int32)),
    "broadcasted_iota": (lambda: lax.broadcasted_iota(np.int64, (2, 3), 1), np.tile(np.arange(3), (2, 1))),
    "full": (lambda: lax.full((2, 2), 7.0), np.full((2, 2), 7.0)),
    "full_like": (lambda: lax.full_like(X, 1), np.ones_like(X)),
    "broadcast": (lambda: lax.broadcast(V, (2,)), np.broadcast_to(V, (2, 3))),
    "broadcast_in_dim": (lambda: lax.broadcast_in_dim(V, (3, 2), (0,)), np.stack([V, V], 1)),
    "reshape": (lambda: lax.reshape(X, (3, 2)), X.reshape(3, 2)),
    "reshape dimensions": (lambda: lax.reshape(X, (6,), (1, 0)), X.T.reshape(6)),
    "transpose": (lambda: lax.transpose(X, (1, 0)), X.T),
    "squeeze": (lambda: lax.squeeze(X[:, None], (1,)), X),
    "expand_dims": (lambda: lax.expand_dims(X, (0, -1)), X[None, ..., None]),
    "rev": (lambda: lax.rev(X, (1,)), X[:, ::-1]),
    "concatenate": (lambda: lax.concatenate([X, Y], 0), np.concatenate([X, Y])),
    "pad": (lambda: lax.pad(V, 0.0, [(1, 2, 1)]), np.array([0, 3, 0, 1, 0, 2, 0, 0.0])),
    "slice": (lambda: lax.slice(X, (0, 1), (2, 3)), X[:, 1:]),
    "slice_in_dim": (lambda: lax.slice_in_dim(X, 0, None, 2, axis=1), X[:, ::2]),
    "reduce_sum": (lambda: lax.reduce_sum(X, (0,)), X.sum(0)),
    "reduce_max": (lambda: lax.reduce_max(X, (0, 1)), X.max()),
    "reduce_or": (lambda: lax.reduce_or(X > 2.5, (1,)), np.any(X > 2.5, 1)),
    "argmax": (lambda: lax.argmax(X, 1), X.argmax(1)),
    "cumsum": (lambda: lax.cumsum(X, 1), X.cumsum(1)),
    "cumsum reverse": (lambda: lax.cumsum(X, 1, reverse=True), X[:, ::-1].cumsum(1)[:, ::-1]),
    "sort": (lambda: lax.sort(X), np.sort(X)),
    "sort_key_val": (lambda: lax.sort_key_val(V, np.arange(3.0))[1], np.array([1.0, 2.0, 0.0])),
    "top_k": (lambda: lax.top_k(V, 2)[0], np.array([3.0, 2.0])),
    "dot": (lambda: lax.dot(X, V), X @ V),
    "dot_general": (lambda: lax.dot_general(X, Y, (((1,), (1,)), ((), ()))), X @ Y.T),
    "batch_matmul": (lambda: lax.batch_matmul(X[:, None], Y[:, :, None]), X[:, None] @ Y[:, :, None]),
    "dynamic_slice": (lambda: lax.dynamic_slice(X, (1, 5), (1, 2)), X[1:, 1:]),
    "dynamic_slice negative": (lambda: lax.dynamic_slice(V, (-2,), (2,)), V[1:]),
    "dynamic_index": (lambda: lax.dynamic_index_in_dim(X, 1, 1, keepdims=False), X[:, 1]),
    "dynamic_update_slice": (lambda: lax.dynamic_update_slice(V, np.zeros(2), (1,)), np.array([3.0, 0, 0])),
    "dynamic_update_index": (
        lambda: lax.dynamic_update_index_in_dim(X, V * 0, 0, 0),
        np.stack([V * 0, X[1]]),
    ),
    "gather": (
        lambda: lax.gather(X, np.array([[1], [0]]), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3)),
        X[[1, 0]],
    ),
    "scatter_add": (
        lambda: lax.scatter_add(
            V, np.array([[0], [0]]), np.array([1.0, 5.0]), lax.ScatterDimensionNumbers((), (0,), (0,))
        ),
        np.array([9.0, 1.0, 2.0]),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("transform", [lambda f: f, jit], ids=["eval", "jit"])
def test_names(name: str, transform: Any) -> None:
    f, expected = CASES[name]
    got = transform(f)()
    assert got.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_stop_gradient() -> None:
    assert grad(lambda x: lax.stop_gradient(x) * x)(3.0) == 3.0
    assert grad(lambda x: lax.stop_gradient({"a": x})["a"] * x)(3.0) == 3.0


def test_products_of_a_preferred_dtype() -> None:
    x, y = np.array([100, 100], np.int8), np.array([3, 3], np.int8)
    numbers = (((0,), (0,)), ((), ()))
    for f in (lax.dot_general, jit(lax.dot_general, static_argnums=(2, 3, 4))):
        out = np.asarray(f(x, y, numbers, None, np.int32))
        assert out.tolist() == 600
        assert out.dtype == np.int32
    a = np.full((2, 3), 1e-9, np.float32)
    assert lax.dot(a, a.T, preferred_element_type=np.float64).dtype == np.float64
    assert lax.dot(a, a.T, dimension_numbers=(((1,), (0,)), ((), ()))).shape == (2, 2)
    assert lax.batch_matmul(np.ones((2, 3, 4)), np.ones((2, 4, 5)), precision="highest").shape == (2, 3, 5)


#: JAX's arguments, by position and then by name only. Those for accelerators and several devices are not here.
SIGNATURES = {
    "scan": "f init xs length reverse unroll _split_transpose",
    "while_loop": "cond_fun body_fun init_val",
    "fori_loop": "lower upper body_fun init_val / unroll",
    "map": "f xs / batch_size",
    "associative_scan": "fn elems reverse axis",
    "cond": "pred true_fun false_fun operands / operand",
    "switch": "index branches operands / operand",
    "custom_root": "f initial_guess solve tangent_solve has_aux",
    "custom_linear_solve": "matvec b solve transpose_solve symmetric has_aux",
    "dynamic_slice": "operand start_indices slice_sizes / allow_negative_indices",
    "dynamic_slice_in_dim": "operand start_index slice_size axis / allow_negative_indices",
    "dynamic_index_in_dim": "operand index axis keepdims / allow_negative_indices",
    "dynamic_update_slice": "operand update start_indices / allow_negative_indices",
    "dynamic_update_slice_in_dim": "operand update start_index axis / allow_negative_indices",
    "dynamic_update_index_in_dim": "operand update index axis / allow_negative_indices",
    "select": "pred on_true on_false",
    "select_n": "which cases",
    "reduce": "operands init_values computation dimensions",
    "reduce_window": "operand init_value computation window_dimensions window_strides padding base_dilation "
    "window_dilation",
    "sort": "operand dimension is_stable num_keys",
    "top_k": "operand k / axis",
    "conv_general_dilated": "lhs rhs window_strides padding lhs_dilation rhs_dilation dimension_numbers "
    "feature_group_count batch_group_count precision preferred_element_type",
    "dot_general": "lhs rhs dimension_numbers precision preferred_element_type",
    "dot": "lhs rhs / dimension_numbers precision preferred_element_type",
    "gather": "operand start_indices dimension_numbers slice_sizes / unique_indices indices_are_sorted mode "
    "fill_value",
    **dict.fromkeys(
        ("scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"),
        "operand scatter_indices updates dimension_numbers / indices_are_sorted unique_indices mode",
    ),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), "operand axis reverse"),
    "stop_gradient": "x",
    "atan2": "x y",
    "nextafter": "x1 x2",
    "exp": "x / accuracy",
    "betainc": "a b x",
}


#: Arguments that JAX does not have.
OWN = {"checkpoint", "progress"}


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_have_jaxs_names(name: str) -> None:
    found = inspect.signature(getattr(lax, name)).parameters.values()
    ours = [p.name for p in found if p.kind is not p.KEYWORD_ONLY]
    by_name = [p.name for p in found if p.kind is p.KEYWORD_ONLY and p.name not in OWN]
    assert " ".join([*ours, *(["/", *by_name] if by_name else [])]) == SIGNATURES[name]


def test_operands_by_name() -> None:
    x, y = np.array([1.0, 2.0]), np.array([3.0, 5.0])
    np.testing.assert_array_equal(jit(lambda x, y: lax.sub(x=x, y=y))(x, y), x - y)
    np.testing.assert_array_equal(jit(lambda x, y: lax.div(x, y=y))(x, y), x / y)
    np.testing.assert_array_equal(lax.atan2(y=y, x=x), np.arctan2(x, y))
    np.testing.assert_array_equal(lax.exp(x, accuracy="highest"), np.exp(x))
    with pytest.raises(TypeError):
        lax.add(x, z=y)
    assert lax.cond(True, lambda a: a + 1, lambda a: a, operand=2) == 3
    assert lax.switch(1, [lambda a: (a, 0), lambda a: (a, 1)], operand=None) == (None, 1)
    with pytest.raises(TypeError, match="not both"):
        lax.cond(True, lambda a: a, lambda a: a, 1, operand=2)


def test_windows_that_do_not_count_from_the_end() -> None:
    x = np.arange(5.0)
    for f in (lambda f: f, jit):
        first = f(lambda i: lax.dynamic_slice(x, (i,), (2,), allow_negative_indices=False))
        last = f(lambda i: lax.dynamic_slice_in_dim(x, i, 2))
        assert first(-1).tolist() == [0, 1]
        assert last(-1).tolist() == [3, 4]
        assert f(lambda i: lax.dynamic_index_in_dim(x, i, keepdims=False))(-1) == 4
        written = f(lambda i: lax.dynamic_update_slice(x, np.ones(1), (i,), allow_negative_indices=(False,)))
        assert written(-3).tolist() == [1, 1, 2, 3, 4]
