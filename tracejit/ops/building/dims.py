"""Shapes in rules: sizes of raw values, axes, dynamic dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import AxisError, DynamicExtentError, ShapeError
from tracejit.ir.avals import Dim, DimSize, Shape
from tracejit.ir.check import OperandRef


def dims_of(x: Any) -> Shape:
    """The shape of a raw value, Linear or Zero, without making an aval."""
    aval = getattr(x, "aval", None)
    return np.shape(x) if aval is None else aval.shape


def normalize_axis(name: str, axis: int, ndim: int) -> int:
    """A possibly negative axis as one in [0, ndim); raises AxisError."""
    if not -ndim <= axis < ndim:
        raise AxisError(op=name, axis=axis, ndim=ndim)
    return int(axis) % ndim


def check_axes(name: str, axes: Sequence[int], ndim: int) -> None:
    """Raises unless `axes` are different ones in [0, ndim)."""
    for a in axes:
        if not 0 <= a < ndim:
            raise AxisError(op=name, axis=a, ndim=ndim)
    if len(set(axes)) != len(axes):
        raise ShapeError(op=name, problem=f"axis given twice in {tuple(axes)}")


def dynamic_shape(name: str, sizes: Sequence[Any], bounds: Sequence[Any], count: int, first: int) -> Shape:
    """`sizes` with each None replaced by a Dim: the value of the next of `count` operands from `first` on."""
    if not all(s is None or type(s) is int for s in sizes):
        raise DynamicExtentError(op=name, problem=f"the shape {sizes} has a size that is traced")
    holes = [n for n, s in enumerate(sizes) if s is None]
    if not len(holes) == len(bounds) == count:
        raise ShapeError(
            op=name, problem=f"{len(holes)} dynamic sizes, {count} operands, {len(bounds)} bounds"
        )
    out = list(sizes)
    for n, (hole, bound) in enumerate(zip(holes, bounds, strict=True)):
        out[hole] = Dim(OperandRef(first + n), bound)
    return tuple(out)


def split_dynamic(shape: Shape) -> tuple[list[Any], tuple[int | None, ...], tuple[int | None, ...]]:
    """`shape` as (operands, sizes with None for dynamic ones, bounds)."""
    dims = [d for d in shape if isinstance(d, Dim)]
    sizes = tuple(None if isinstance(d, Dim) else d for d in shape)
    return [d.var for d in dims], sizes, tuple(d.bound for d in dims)


def with_batch(
    size: DimSize, dyn: Sequence[Any], sizes: Sequence[Any], bounds: Sequence[Any], last: bool = False
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The parts of a shape, as `split_dynamic` gives them, with a batch axis before or behind all axes."""
    new, one, most = split_dynamic((size,))
    parts = ((new, dyn), (one, sizes), (most, bounds))
    return tuple((*b, *a) if last else (*a, *b) for a, b in parts)  # type: ignore[return-value]


def broadcast_shapes(*shapes: Shape) -> Shape:
    """NumPy's broadcast shape; dynamic dimensions match themselves and 1."""
    ndim = max((len(s) for s in shapes), default=0)
    out: list[DimSize] = [1] * ndim
    for s in shapes:
        for n, d in enumerate(s, ndim - len(s)):
            if out[n] == 1:
                out[n] = d
            elif d != 1 and d != out[n]:
                raise ShapeError(
                    op="broadcast",
                    problem="shapes " + " and ".join(map(str, shapes)) + " do not fit together",
                )
    return tuple(out)
