"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ArgumentError, DynamicExtentError
from tracejit.ir.avals import aval_of
from tracejit.numpy.dispatch import implements
from tracejit.numpy.operands import convert, dtype_of, result_type, shape_of
from tracejit.ops.convolution.conv import Config, ConvDimensionNumbers
from tracejit.ops.convolution.sliding import Windows, sliding_windows
from tracejit.tracing import wrap

_LAYOUT = ConvDimensionNumbers(*((0, 1, 2),) * 3)


def _vectors(name: str, a: Any, v: Any) -> tuple[Any, Any]:
    """Raw vectors of one dtype. Raises ArgumentError for what NumPy does not take."""
    dtype = result_type(a, v)
    x, y = convert(a, dtype), convert(v, dtype)
    for text, r in (("a", x), ("v", y)):
        if len(shape_of(r)) != 1:
            deep = "deep" if len(shape_of(r)) > 1 else "small depth"
            raise ArgumentError(name=name, problem=f"object of too {deep} for desired array")
        if type(shape_of(r)[0]) is not int:
            raise DynamicExtentError(op=name, problem="the length of a vector is a traced integer")
        if shape_of(r)[0] == 0:
            raise ArgumentError(name=name, problem=f"{text} cannot be empty")
    return x, y


def _slide(name: str, x: Any, y: Any, mode: str) -> Any:
    """The sums of products of `y` with the parts of `x`, which is no shorter."""
    m = shape_of(y)[0]
    pads = {"full": (m - 1, m - 1), "same": (m // 2, m - m // 2 - 1), "valid": (0, 0)}
    if mode not in pads:
        raise ArgumentError(
            name=name, problem=f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})"
        )
    exact = dtype_of(x).kind in "biu"
    if m == 1 or mode == "valid" or exact or not (aval_of(x).is_static and aval_of(y).is_static):
        return _products(x, y, pads[mode])
    # Padding with zeros would make NaN of zero times infinity.
    n, (before, after) = shape_of(x)[0], pads[mode]
    whole = _products(x, y, (0, 0))
    head = ops.slices.slice(x, start_indices=(0,), limit_indices=(m - 1,), strides=(1,))
    tail = ops.slices.slice(x, start_indices=(n - m + 1,), limit_indices=(n,), strides=(1,))
    left = [_edge(head, y, before, 0)] if before else []
    right = [_edge(tail, y, 0, after)] if after else []
    return ops.concat.concatenate(*left, whole, *right, dimension=0)


def _products(x: Any, y: Any, pads: tuple[int, int]) -> Any:
    """The sums of products of `y` with the parts of `x`, padded with zeros."""
    config = Config((1,), (pads,), (1,), (1,), _LAYOUT)
    x, y = (ops.shape.expand_dims(r, (0, 1)) for r in (x, y))
    return ops.shape.squeeze(ops.conv.conv_general_dilated(x, y, config), dimensions=(0, 1))


def _edge(x: Any, y: Any, before: int, after: int) -> Any:
    """`_products` of `x` padded on one side, each sum over the elements that `x` has."""
    (size,), (m,) = shape_of(x), shape_of(y)
    padded = ops.concat.pad(x, dtype_of(x).type(0), padding_config=((before, after, 0),))
    count = before + after
    parts = sliding_windows(padded, Windows((0,), (m,), (1,), (1,)))
    rows, columns = (ops.create.iota(shape=(count, m), dtype=np.int64, dimension=d) for d in (0, 1))
    place = ops.arithmetic.add(rows, columns)
    inside = ops.compare.ge(place, before) if before else ops.compare.lt(place, size)
    y = ops.compare.select(inside, ops.broadcast.broadcast_to(y, (count, m)), dtype_of(x).type(0))
    return ops.reduce.reduce_sum(ops.arithmetic.mul(parts, y), axes=(1,))


def _reversed(x: Any) -> Any:
    return ops.shape.rev(x, dimensions=(0,))


@implements(np.convolve, "convolve")
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The discrete convolution of two vectors."""
    x, y = _vectors("convolve", *(_at_least_one(r) for r in (a, v)))
    if shape_of(x)[0] < shape_of(y)[0]:
        x, y = y, x
    return wrap(_slide("convolve", x, _reversed(y), mode))


def _at_least_one(x: Any) -> Any:
    """A number as a vector of one."""
    return wrap(ops.shape.reshape(convert(x, result_type(x)), shape=(1,))) if shape_of(x) == () else x


@implements(np.correlate, "correlate")
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The cross-correlation of two vectors, the second conjugated."""
    x, y = _vectors("correlate", a, v)
    y = ops.complexes.conj(y) if result_type(y).kind == "c" else y
    if shape_of(x)[0] < shape_of(y)[0]:
        return wrap(_reversed(_slide("correlate", y, x, mode)))
    return wrap(_slide("correlate", x, y, mode))
