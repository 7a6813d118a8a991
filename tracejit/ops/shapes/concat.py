"""Putting arrays together: concatenate and pad."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import DynamicExtentError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim, DimSize
from tracejit.ir.kernel import Segment, Update
from tracejit.ir.primitive import FROM_JVP, LINEAR, NO_BOUNDS, NO_EFFECTS, NO_INPLACE, Op
from tracejit.ir.values import is_linear
from tracejit.ops.building.dims import check_axes, dims_of
from tracejit.ops.building.helpers import batch_is_last, to_batch_axis
from tracejit.ops.building.values import common_dtype, dtype_of, lift, ndim_of
from tracejit.tracing import bind

# ---------------------------------------------------------------- concatenate


def _concatenate_type(*xs: Aval, dimension: int) -> Aval:
    if not xs:
        raise TypeRuleError(op="concatenate", problem="needs at least one operand")
    check_axes("concatenate", (dimension,), xs[0].ndim)
    shape = list(xs[0].shape)
    for x in xs[1:]:
        same = x.ndim == len(shape) and all(
            a == b for n, (a, b) in enumerate(zip(x.shape, shape, strict=True)) if n != dimension
        )
        if not same:
            raise ShapeError(
                op="concatenate", problem=f"{xs[0]} and {x} differ in other axes than {dimension}"
            )
    sizes: list[Any] = [x.shape[dimension] for x in xs]
    if len(xs) > 1:
        if any(isinstance(s, Dim) for s in sizes):
            raise DynamicExtentError(
                op="concatenate", problem=f"the size along axis {dimension} is a traced integer"
            )
        shape[dimension] = sum(sizes)
    return Aval(tuple(shape), common_dtype("concatenate", xs))


def _concatenate_transpose(ct: Any, *xs: Any, dimension: int) -> list[Any]:
    if len(xs) == 1:
        return [ct]
    out: list[Any] = []
    start: Any = 0
    shape = dims_of(ct)
    for x in xs:
        stop = start + dims_of(x)[dimension]
        starts: list[Any] = [0] * len(shape)
        limits: list[Any] = [None] * len(shape)
        starts[dimension], limits[dimension] = start, stop
        out.append(ops.slices.slice(ct, start_indices=starts, limit_indices=limits) if is_linear(x) else None)
        start = stop
    return out


def _concatenate_batch(size: int, args: Any, dims: Any, *, dimension: int) -> tuple[Any, int]:
    at = ndim_of(args[0]) - (dims[0] is not None) if batch_is_last(args, dims) else 0
    xs = [to_batch_axis(x, d, at, size) for x, d in zip(args, dims, strict=True)]
    return bind(concatenate_op, *xs, dimension=dimension + (at == 0)), at


def _shifted(source: int, axis: int, offset: int) -> Segment:
    def place(k: Any, idx: Any, operands: Any, out: Any) -> Any:
        return tuple(k.add(i, offset) if n == axis else i for n, i in enumerate(idx)), None

    return Segment(source, place)


def _concatenate_segments(params: Any, avals: Any, out: Any) -> list[Segment]:
    axis, offset, segments = params["dimension"], 0, []
    for n, x in enumerate(avals):
        segments.append(_shifted(n, axis, offset))
        offset += x.shape[axis] if n + 1 < len(avals) else 0
    return segments


def _only_one(eqn: Any) -> Any:
    return eqn.invars[0] if len(eqn.invars) == 1 else None


concatenate_op = Op(
    name="concatenate",
    doc="arrays joined along an axis",
    multi=False,
    type=_concatenate_type,
    eval=lambda *xs, dimension: np.concatenate(xs, dimension),
    inplace=NO_INPLACE,
    jvp=LINEAR,
    linearize=FROM_JVP,
    transpose=_concatenate_transpose,
    batch=_concatenate_batch,
    simplify=(_only_one,),
    effects=NO_EFFECTS,
    bounds=NO_BOUNDS,
    kernel=Update(lambda params: None, _concatenate_segments),
)


def concatenate(*xs: Any, dimension: int) -> Any:
    """`xs` (of one dtype) joined along `dimension`."""
    return xs[0] if len(xs) == 1 else bind(concatenate_op, *xs, dimension=dimension)


# ---------------------------------------------------------------- pad

Config = tuple[tuple[int, int, int], ...]


def _padded_size(axis: int, size: DimSize, lo: int, hi: int, interior: int) -> DimSize:
    if lo + hi == interior == 0:  # a shift keeps the size
        return size
    if isinstance(size, Dim):
        raise DynamicExtentError(op="pad", problem=f"the size of axis {axis} is a traced integer")
    if interior < 0:
        raise ShapeError(op="pad", problem=f"axis {axis} has the negative interior padding {interior}")
    return max(0, lo + size + max(size - 1, 0) * interior + hi)


def _pad_type(x: Aval, fill: Aval, *, padding_config: Config) -> Aval:
    if len(padding_config) != x.ndim or fill.ndim:
        raise ShapeError(op="pad", problem=f"{padding_config} with the value {fill} does not fit {x}")
    if fill.dtype != x.dtype:
        raise TypeRuleError(op="pad", problem=f"the value {fill} has not the dtype of {x}")
    sizes = enumerate(zip(x.shape, padding_config, strict=True))
    return Aval(tuple(_padded_size(n, s, *c) for n, (s, c) in sizes), x.dtype)


def _kept(size: int, out_size: int, lo: int, interior: int) -> tuple[builtins.slice, builtins.slice]:
    """Which elements of an axis remain, and where they go (cropped where lo or hi is negative)."""
    step = interior + 1
    first = max(0, -(lo // step))
    stop = max(first, min(size, -(-(out_size - lo) // step)))
    start = lo + first * step
    return slice(first, stop), slice(start, start + (stop - first) * step, step) if stop > first else slice(
        0, 0
    )


def _pad_eval(x: Any, fill: Any, *, padding_config: Config) -> Any:
    x = np.asarray(x)
    shape: list[Any] = [_padded_size(0, s, *c) for s, c in zip(x.shape, padding_config, strict=True)]
    out = np.full(shape, fill, x.dtype)
    rows = zip(x.shape, shape, padding_config, strict=True)
    parts = [_kept(size, n, lo, interior) for size, n, (lo, _, interior) in rows]
    out[tuple(p[1] for p in parts)] = x[tuple(p[0] for p in parts)]
    return out


def _full(value: Any, shape: Any) -> Any:
    return ops.broadcast.broadcast_to(value, shape)


def _inside(x_shape: Any, padding_config: Config) -> Any:
    """Booleans of the padded shape: does the element come from the operand?"""
    return bind(pad_op, _full(np.True_, x_shape), np.False_, padding_config=padding_config)


def _pad_transpose(ct: Any, x: Any, fill: Any, *, padding_config: Config) -> list[Any]:
    zero = dtype_of(ct).type(0)
    ct_x = ct_fill = None
    if is_linear(x):
        ct_x = pad(ct, zero, padding_config=tuple((-lo, -hi, 0) for lo, hi, _ in padding_config))
        steps = [interior + 1 for _, _, interior in padding_config]
        ndim = len(steps)
        ct_x = ops.slices.slice(ct_x, start_indices=[0] * ndim, limit_indices=[None] * ndim, strides=steps)
    if is_linear(fill):
        outer = ops.compare.select(_inside(dims_of(x), padding_config), _full(zero, dims_of(ct)), ct)
        ct_fill = ops.reduce.reduce_sum(outer, axes=tuple(range(ndim_of(ct))))
    return [ct_x, ct_fill]


def _pad_batch(size: int, args: Any, dims: Any, *, padding_config: Config) -> tuple[Any, int]:
    x, fill = args
    if dims[1] is None and batch_is_last(args, dims):
        return bind(pad_op, x, fill, padding_config=(*padding_config, (0, 0, 0))), dims[0]
    config = ((0, 0, 0), *padding_config)
    x = to_batch_axis(x, dims[0], 0, size)
    if dims[1] is None:
        return bind(pad_op, x, fill, padding_config=config), 0
    out = pad(x, dtype_of(x).type(0), padding_config=config)
    shape = dims_of(out)
    axes = tuple(range(1, len(shape)))
    return ops.compare.select(
        _inside(dims_of(x), config), out, _full(ops.shape.expand_dims(fill, axes), shape)
    ), 0


def _pad_segments(params: Any, avals: Any, out: Any) -> list[Segment]:
    config = params["padding_config"]

    def place(k: Any, idx: Any, operands: Any, out: Any) -> Any:
        rows = zip(idx, config, strict=True)
        at = tuple(k.add(k.mul(i, interior + 1), lo) for i, (lo, _, interior) in rows)
        inside = None
        for n, (lo, hi, _) in enumerate(config):
            tests = [k.ge(at[n], 0)] if lo < 0 else []
            tests += [k.lt(at[n], out.extent(n))] if hi < 0 else []
            for t in tests:
                inside = t if inside is None else k.and_(inside, t)
        return at, inside

    return [Segment(0, place)]


def _nothing_added(eqn: Any) -> Any:
    return eqn.invars[0] if all(c == (0, 0, 0) for c in eqn.params["padding_config"]) else None


pad_op = Op(
    name="pad",
    doc="padding at both ends and between elements; negative padding crops",
    multi=False,
    type=_pad_type,
    eval=_pad_eval,
    inplace=NO_INPLACE,
    jvp=LINEAR,
    linearize=FROM_JVP,
    transpose=_pad_transpose,
    batch=_pad_batch,
    simplify=(_nothing_added,),
    effects=NO_EFFECTS,
    bounds=NO_BOUNDS,
    kernel=Update(lambda params: ("fill", 1), _pad_segments),
)


def pad(x: Any, fill: Any, *, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """`x` with (lo, hi, interior) elements `fill` put before, after and between the elements of each axis.

    Negative lo and hi remove elements, after the interior padding.
    """
    config = tuple(tuple(c) for c in padding_config)
    if all(c == (0, 0, 0) for c in config):
        return x
    return bind(pad_op, x, lift(fill, x), padding_config=config)
