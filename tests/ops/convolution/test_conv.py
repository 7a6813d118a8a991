"""Convolutions against the definition: any rank, layout, stride, dilation, padding and grouping."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tracejit as tj
from tests.ops import conv_reference as reference
from tracejit import ops
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.interpreters.expand import expand
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.ops.convolution.conv import Config, ConvDimensionNumbers
from tracejit.ops.convolution.conv_shapes import out_sizes
from tracejit.test_util import check_grads
from tracejit.tracing import to_raw, wrap

NCHW = ConvDimensionNumbers(*((0, 1, 2, 3),) * 3)
NHWC = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
NCW = ConvDimensionNumbers(*((0, 1, 2),) * 3)
PLAIN = Config((1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), NCHW)


def of(config: Config) -> Any:
    return lambda x, w: wrap(ops.conv.conv_general_dilated(to_raw(x), to_raw(w), config))


def integers(shape: Any, dtype: Any, seed: int = 0) -> np.ndarray:
    """Small whole numbers, whose sums are exact."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0 if np.dtype(dtype).kind in "bu" else -4, 5, shape)
    return (x + 1j * rng.integers(-4, 5, shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


DTYPES = ["f8", "f4", "f2", "c16", "c8", "i8", "i4", "u1", "?"]


@settings(max_examples=30)
@given(reference.convolutions(), st.sampled_from(DTYPES))
def test_values(parameters: Any, dtype: str) -> None:
    config, xs, ws = parameters
    x, w = integers(xs, dtype), integers(ws, dtype, 1)
    want = reference.conv(x, w, config)
    for got in (ops.conv.conv_general_dilated(x, w, config), tj.jit(of(config))(x, w)):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_sizes_of_results() -> None:
    """As many places as the (dilated) kernel has in the (dilated, padded) operand, by trying; none for an empty one."""
    sizes, pads = range(4), (-2, 0, 1)
    for n, k, low, high, stride, inner, outer in itertools.product(
        range(5), sizes, pads, pads, (1, 2), (1, 3), (1, 2)
    ):
        config = Config((stride,), ((low, high),), (inner,), (outer,), NCW)
        room = len(range(0, n * inner - inner + 1, 1)) if n else 0
        reach = (k - 1) * outer + 1
        want = sum(1 for at in range(0, room + low + high, stride) if at + reach <= room + low + high)
        assert out_sizes((n,), (k,), config) == (want if k else 0,)


@settings(max_examples=15)
@given(reference.convolutions())
def test_derivatives_to_second_order(parameters: Any) -> None:
    config, xs, ws = parameters
    x, w = integers(xs, "f8") / 3, integers(ws, "f8", 1) / 3
    check_grads(of(config), (x, w), order=2)
    got = tj.jit(tj.grad(lambda x, w: (of(config)(x, w) ** 2).sum(), (0, 1)))(x, w)
    want = tj.grad(lambda x, w: (of(config)(x, w) ** 2).sum(), (0, 1))(x, w)
    for g, v in zip(got, want, strict=True):
        np.testing.assert_allclose(g, v, atol=1e-9)


@settings(max_examples=12)
@given(reference.convolutions())
def test_vmap_over_either_or_both(parameters: Any) -> None:
    config, xs, ws = parameters
    x, w = integers((3, *xs), "f8"), integers((3, *ws), "f8", 1)
    for axes in ((0, None), (None, 0), (0, 0)):
        rows = [(x[n] if axes[0] == 0 else x[0], w[n] if axes[1] == 0 else w[0]) for n in range(3)]
        want = np.stack([reference.conv(a, b, config) for a, b in rows])
        args = x if axes[0] == 0 else x[0], w if axes[1] == 0 else w[0]
        np.testing.assert_array_equal(tj.vmap(of(config), in_axes=axes)(*args), want)
        np.testing.assert_array_equal(tj.jit(tj.vmap(of(config), in_axes=axes))(*args), want)


def test_vmap_of_grad_of_jit() -> None:
    x, w = integers((3, 2, 3, 5, 5), "f8") / 7, integers((4, 3, 3, 3), "f8", 1) / 7
    config = replace(PLAIN, window_strides=(2, 2))
    loss = lambda x, w: np.sum(np.tanh(tj.jit(of(config))(x, w)))
    got = tj.jit(tj.vmap(tj.grad(loss, (0, 1)), in_axes=(0, None)))(x, w)
    want = [tj.grad(loss, (0, 1))(row, w) for row in x]
    for g, v in zip(got, zip(*want, strict=True), strict=True):
        np.testing.assert_allclose(g, np.stack(v), atol=1e-12)


CASES = {
    "plain": ((3, 4, 9, 8), (5, 4, 3, 3), PLAIN),
    "one by one": ((3, 4, 16, 16), (5, 4, 1, 1), replace(PLAIN, padding=((0, 0),) * 2)),
    "many small images": ((32, 4, 4, 4), (8, 4, 3, 3), PLAIN),
    "an odd number of small images": ((7, 4, 4, 4), (8, 4, 3, 3), PLAIN),
    "channels last": ((3, 9, 8, 4), (3, 3, 4, 5), replace(PLAIN, numbers=NHWC)),
    "channels last, strides": (
        (3, 9, 8, 4),
        (3, 3, 4, 5),
        replace(PLAIN, numbers=NHWC, window_strides=(2, 3)),
    ),
    "depthwise": ((2, 6, 9, 8), (6, 1, 3, 3), replace(PLAIN, feature_group_count=6)),
    "depthwise, large windows": ((2, 3, 12, 12), (3, 1, 7, 9), replace(PLAIN, feature_group_count=3)),
    "groups": ((2, 6, 9, 8), (12, 3, 3, 3), replace(PLAIN, feature_group_count=2)),
    "strides": ((3, 4, 17, 16), (6, 4, 3, 3), replace(PLAIN, window_strides=(2, 3))),
    "dilated kernel": ((3, 4, 11, 10), (6, 4, 3, 3), replace(PLAIN, rhs_dilation=(2, 3))),
    "dilated operand": ((3, 4, 6, 5), (6, 4, 3, 3), replace(PLAIN, lhs_dilation=(2, 3))),
    "few taps": ((2, 2, 9, 8), (2, 2, 2, 3), PLAIN),
}


@pytest.mark.sample(16)
@pytest.mark.parametrize("name", CASES)
def test_each_way_of_compiling_with_gradients(name: str) -> None:
    xs, ws, config = CASES[name]
    x, w = integers(xs, "f8"), integers(ws, "f8", 1)
    want = reference.conv(x, w, config)
    np.testing.assert_array_equal(ops.conv.conv_general_dilated(x, w, config), want)
    np.testing.assert_array_equal(tj.jit(of(config))(x, w), want)
    ct = integers(want.shape, "f8", 2)
    grads = tj.grad(lambda x, w: np.sum(of(config)(x, w) * ct), (0, 1))
    for got, eager in zip(tj.jit(grads)(x, w), grads(x, w), strict=True):
        np.testing.assert_array_equal(got, eager)
    for k, (of_x, of_w) in enumerate(((integers(xs, "f8", 3), 0 * w), (0 * x, integers(ws, "f8", 4)))):
        slope = reference.conv(of_x, w, config) if k == 0 else reference.conv(x, of_w, config)
        pulled = grads(x, w)
        assert np.sum(pulled[0] * of_x) + np.sum(pulled[1] * of_w) == np.sum(slope * ct)


@pytest.mark.parametrize("dilation", [1, 3])
def test_an_axis_without_elements_is_its_padding(dilation: int) -> None:
    config = Config((1,), ((2, 1),), (dilation,), (1,), NCW)
    for f in (of(config), tj.jit(of(config))):
        np.testing.assert_array_equal(f(np.ones((1, 1, 0)), np.ones((2, 1, 2))), np.zeros((1, 2, 2)))


def test_half_precision_is_summed_in_single() -> None:
    x = np.full((1, 1, 4096), 1.0, np.float16)
    w = np.full((1, 1, 4096), 1.0, np.float16)
    config = Config((1,), ((0, 0),), (1,), (1,), NCW)
    assert ops.conv.conv_general_dilated(x, w, config)[0, 0, 0] == 4096
    assert tj.jit(of(config))(x, w)[0, 0, 0] == 4096


def _equations(config: Config, xs: Any, ws: Any) -> list[Any]:
    avals = [aval_of(np.zeros(s)) for s in (xs, ws)]
    jaxpr, _ = stage(lambda x, w: [ops.conv.conv_general_dilated(x, w, config)], avals)
    return list(expand(jaxpr).eqns)


def test_patches_are_made_one_image_at_a_time() -> None:
    """What is packed for BLAS is one image's, not the whole batch's."""
    x, w = np.ones((8, 4, 16, 16)), np.ones((8, 4, 3, 3))
    compiled = tj.jit(of(PLAIN)).lower(x, w).compile()
    assert "pack" in compiled.as_text("loops")
    products = [e for e in _equations(PLAIN, x.shape, w.shape) if e.op.name == "dot_general"]
    assert [e.outvars[0].aval.shape[0] for e in products] == [8]


def test_zeros_of_a_dilated_operand_are_not_multiplied() -> None:
    """The input gradient of a convolution with strides is four small products, not one with zeros."""
    config = replace(PLAIN, lhs_dilation=(2, 2))
    products = [e for e in _equations(config, (2, 8, 16, 16), (8, 8, 3, 3)) if e.op.name == "dot_general"]
    work = sum(int(np.prod(e.invars[1].aval.shape)) for e in products)
    whole = [e for e in _equations(PLAIN, (2, 8, 32, 32), (8, 8, 3, 3)) if e.op.name == "dot_general"]
    assert len(products) == 4 and 3 * work < int(np.prod(whole[0].invars[1].aval.shape))


@pytest.mark.parametrize(
    ("shapes", "config", "error"),
    [
        (((1, 2, 5, 5), (3, 3, 3, 3)), PLAIN, ShapeError),
        (((1, 2, 5), (3, 2, 3)), PLAIN, ShapeError),
        (((1, 2, 5, 5), (3, 1, 3, 3)), replace(PLAIN, feature_group_count=2), ShapeError),
        (((3, 2, 5, 5), (4, 2, 3, 3)), replace(PLAIN, batch_group_count=2), ShapeError),
        (
            ((2, 2, 5, 5), (4, 1, 3, 3)),
            replace(PLAIN, batch_group_count=2, feature_group_count=2),
            ShapeError,
        ),
        (((1, 2, 5, 5), (3, 2, 3, 3)), replace(PLAIN, window_strides=(0, 1)), ShapeError),
        (
            ((1, 2, 5, 5), (3, 2, 3, 3)),
            replace(PLAIN, numbers=ConvDimensionNumbers((0, 1, 2, 2), (0, 1, 2, 3), (0, 1, 2, 3))),
            ShapeError,
        ),
    ],
)
def test_errors(shapes: Any, config: Config, error: type) -> None:
    x, w = (np.ones(s) for s in shapes)
    with pytest.raises(error):
        tj.jit(of(config))(x, w)


def test_dtypes_must_agree() -> None:
    with pytest.raises(TypeRuleError):
        tj.jit(of(PLAIN))(np.ones((1, 2, 5, 5)), np.ones((3, 2, 3, 3), np.float32))
