"""Convolutions of any rank, layout, stride, dilation and grouping: conv_general_dilated.

Along one spatial axis, with x dilated by `lhs_dilation` (zeros between its elements) and padded,
y[o] = sum over t of x[o * stride + t * rhs_dilation] w[t]; features are summed over as in a matrix product.
Both derivatives are convolutions again: the strides of one are the dilations of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tracejit import ops
from tracejit.errors import DynamicExtentError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.kernel import Composite
from tracejit.ir.values import Zero, is_linear, is_zero
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.helpers import instantiate, plain
from tracejit.ops.building.values import common_dtype, shape_of
from tracejit.ops.convolution import conv_kernel
from tracejit.ops.convolution.conv_shapes import Config, ConvDimensionNumbers, Specs, out_sizes
from tracejit.tracing import bind

__all__ = ["Config", "ConvDimensionNumbers", "conv_general_dilated", "conv_op", "plain_correlation"]


def _type(x: Aval, w: Aval, *, config: Config) -> Aval:
    name = "conv_general_dilated"
    dtype = common_dtype(name, (x, w))
    if not (x.is_static and w.is_static):
        raise DynamicExtentError(
            op=name, problem=f"{x} or {w} has a dimension whose size is a traced integer"
        )
    config.check(name, x, w)
    xs, ws = config.lhs_shape(x.shape), config.rhs_shape(w.shape)
    out = (xs[0] // config.batch_group_count, ws[0], *out_sizes(xs[2:], ws[2:], config))
    return Aval(config.numbers.out(out), dtype)


def _eval(x: Any, w: Any, *, config: Config) -> Any:
    _type(aval_of(x), aval_of(w), config=config)
    return conv_kernel.evaluate(x, w, config)


def _jvp(primals: Any, tangents: Any, *, config: Config) -> tuple[Any, Any]:
    (x, w), (tx, tw) = primals, tangents
    out = bind(conv_op, x, w, config=config)
    terms = [] if is_zero(tx) else [bind(conv_op, tx, w, config=config)]
    terms += [] if is_zero(tw) else [bind(conv_op, x, tw, config=config)]
    if not terms:
        return out, Zero(aval_of(out).tangent())
    return out, terms[0] if len(terms) == 1 else ops.arithmetic.add(*terms)


# ---------------------------------------------------------------- derivatives


def _transpose(ct: Any, x: Any, w: Any, *, config: Config) -> list[Any]:
    if 0 in (*dims_of(ct), *dims_of(x), *dims_of(w)):
        zeros = instantiate(Zero((x if is_linear(x) else w).aval))
        return [zeros, None] if is_linear(x) else [None, zeros]
    if is_linear(x):
        return [_to_input(ct, x.aval, w, config), None]
    return [None, _to_kernel(ct, x, w.aval, config)]


def _to_input(ct: Any, x: Aval, w: Any, config: Config) -> Any:
    """The kernel reversed, output features summed over; lhs features or batch are in groups of `count`."""
    numbers, count = config.numbers, config.groups
    xs, ws = config.lhs_shape(x.shape)[2:], config.rhs_shape(shape_of(w))[2:]
    outs = numbers.spatial_of_out(shape_of(ct))
    padding = []
    rows = zip(xs, ws, outs, config.window_strides, config.padding, config.dilations, strict=True)
    for n, size, out, stride, (low, _), (inner, outer) in rows:
        reach, end = (size - 1) * outer, (out - 1) * stride
        low = reach - low
        padding.append((low, (n - 1) * inner + reach - end - low))
    w = ops.shape.rev(w, dimensions=numbers.rhs_spec[2:])
    swapped = numbers.rhs_spec[1], numbers.rhs_spec[0], *numbers.rhs_spec[2:]
    if count > 1:  # (count * o, i) -> (count * i, o): the groups go with the features that come out
        w = conv_kernel.move_groups(w, numbers.rhs_spec[0], numbers.rhs_spec[1], count)
    by_input = replace(
        config,
        window_strides=config.lhs_dilation,
        lhs_dilation=config.window_strides,
        padding=tuple(padding),
        numbers=Specs(numbers.out_spec, swapped, numbers.lhs_spec),
        feature_group_count=count,
        batch_group_count=1,
    )
    out = bind(conv_op, ct, w, config=by_input)
    if config.batch_group_count > 1:
        out = conv_kernel.move_groups(out, numbers.lhs_spec[1], numbers.lhs_spec[0], count)
    return out


def _to_kernel(ct: Any, x: Any, w: Aval, config: Config) -> Any:
    """The input with batch and features exchanged, convolved with the cotangent as the kernel."""
    numbers = config.numbers
    xs, ws = config.lhs_shape(shape_of(x))[2:], config.rhs_shape(w.shape)[2:]
    outs = numbers.spatial_of_out(shape_of(ct))
    padding = []
    rows = zip(xs, ws, outs, config.window_strides, config.padding, config.dilations, strict=True)
    for n, size, out, stride, (low, _), (inner, outer) in rows:
        end, last = (out - 1) * stride, (n - 1) * inner
        padding.append((low, (size - 1) * outer + end - last - low))
    lhs, out = numbers.lhs_spec, numbers.out_spec
    rhs = numbers.rhs_spec
    by_kernel = replace(
        config,
        window_strides=config.rhs_dilation,
        rhs_dilation=config.window_strides,
        padding=tuple(padding),
        numbers=Specs((lhs[1], lhs[0], *lhs[2:]), (out[1], out[0], *out[2:]), (rhs[1], rhs[0], *rhs[2:])),
        feature_group_count=config.batch_group_count,
        batch_group_count=config.feature_group_count,
    )
    return bind(conv_op, x, ct, config=by_kernel)


# ---------------------------------------------------------------- batching


def _batch(size: int, args: Any, dims: Any, *, config: Config) -> tuple[Any, int]:
    """Lanes become a part of the batch (only x has them), of the output features (only w), or groups."""
    (x, w), (dx, dw), numbers = args, dims, config.numbers
    merge, split = conv_kernel.merge_axis, conv_kernel.split_axis
    batch, feature = numbers.out_spec[:2]
    if dw is None:
        x = merge(x, dx, numbers.lhs_spec[0], config.batch_group_count)
        return split(bind(conv_op, x, w, config=config), batch, size, 1), 0
    if dx is None:
        w = merge(w, dw, numbers.rhs_spec[0], config.groups)
        return split(bind(conv_op, x, w, config=config), feature, size, config.groups), 0
    w = merge(w, dw, numbers.rhs_spec[0], 1)
    if config.batch_group_count > 1:
        x = merge(x, dx, numbers.lhs_spec[0], 1)
        config = replace(config, batch_group_count=size * config.batch_group_count)
    else:
        x = merge(x, dx, numbers.lhs_spec[1], 1)
        config = replace(config, feature_group_count=size * config.feature_group_count)
    return split(bind(conv_op, x, w, config=config), feature, size, 1), 0


conv_op = plain(
    name="conv_general_dilated",
    doc="convolution with strides, padding, dilations and groups, in any layout",
    type=_type,
    eval=_eval,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    kernel=Composite(conv_kernel.formula),
)


def conv_general_dilated(x: Any, w: Any, config: Config) -> Any:
    """The convolution of `x` with the kernel `w` (of one dtype), as `config` says."""
    return bind(conv_op, x, w, config=config)


def plain_correlation(x: Any, w: Any, padding: Sequence[tuple[int, int]] | None = None) -> Any:
    """The correlation of (batch, features, ...) with (results, features, ...), without strides or dilations: with zeros
    for what `padding` adds to each axis before and after it."""
    rank = len(shape_of(x))
    axes, ones = tuple(range(rank)), (1,) * (rank - 2)
    pads = ((0, 0),) * (rank - 2) if padding is None else tuple(padding)
    return conv_general_dilated(x, w, Config(ones, pads, ones, ones, ConvDimensionNumbers(axes, axes, axes)))
