"""The sizes and layouts of convolutions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tracejit.errors import ShapeError
from tracejit.ir.avals import Aval
from tracejit.records import record

Ints = tuple[int, ...]


class ConvDimensionNumbers(NamedTuple):
    """Where the axes of a convolution lie (as in JAX): which axis of the operand is the batch, the features,
    and each spatial axis; of the kernel the output features, the input features, and each spatial axis; of
    the result as of the operand."""

    lhs_spec: Ints
    rhs_spec: Ints
    out_spec: Ints

    def spatial_of_out(self, shape: Sequence[Any]) -> Ints:
        return tuple(shape[n] for n in self.out_spec[2:])

    def out(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """(batch, features, spatial…) sizes in the result's order."""
        return arranged(shape, self.out_spec)


Specs = ConvDimensionNumbers


def arranged(sizes: Sequence[Any], spec: Ints) -> tuple[Any, ...]:
    """`sizes` (batch, features, spatial…), each at the axis that `spec` says."""
    out: list[Any] = [None] * len(spec)
    for size, axis in zip(sizes, spec, strict=True):
        out[axis] = size
    return tuple(out)


@record(frozen=True)
class Config:
    """What a convolution does, besides its operands. Padding may be negative: it crops, after dilation."""

    window_strides: Ints
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: Ints
    rhs_dilation: Ints
    numbers: ConvDimensionNumbers
    feature_group_count: int = 1
    batch_group_count: int = 1

    @property
    def groups(self) -> int:
        return self.feature_group_count * self.batch_group_count

    @property
    def dilations(self) -> list[tuple[int, int]]:
        return list(zip(self.lhs_dilation, self.rhs_dilation, strict=True))

    def lhs_shape(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """(batch, features, spatial…) of the operand."""
        return tuple(shape[n] for n in self.numbers.lhs_spec)

    def rhs_shape(self, shape: Sequence[Any]) -> tuple[Any, ...]:
        """(output features, input features, spatial…) of the kernel."""
        return tuple(shape[n] for n in self.numbers.rhs_spec)

    def check(self, name: str, x: Aval, w: Aval) -> None:
        """Raises ShapeError unless operands and parameters fit together."""
        n, rows = x.ndim - 2, (self.window_strides, self.padding, self.lhs_dilation, self.rhs_dilation)
        if n < 0 or w.ndim != x.ndim or any(len(r) != n for r in rows):
            raise ShapeError(op=name, problem=f"{x}, {w} and parameters for {len(rows[0])} spatial axes")
        if any(sorted(s) != list(range(x.ndim)) for s in self.numbers):
            raise ShapeError(op=name, problem=f"{tuple(self.numbers)} are not axes of {x} and {w}")
        if min((1, *rows[0], *rows[2], *rows[3])) < 1:
            raise ShapeError(op=name, problem="strides and dilations are at least 1")
        self._check_groups(name, x, w)

    def _check_groups(self, name: str, x: Aval, w: Aval) -> None:
        (batch, features, *_), (out, taken, *_) = self.lhs_shape(x.shape), self.rhs_shape(w.shape)
        by_feature, by_batch = self.feature_group_count, self.batch_group_count
        if min(by_feature, by_batch) < 1 or (by_feature > 1 and by_batch > 1):
            raise ShapeError(op=name, problem="one of the group counts is 1, and the other at least that")
        if features != taken * by_feature:
            raise ShapeError(
                op=name,
                problem=f"{features} features in {by_feature} groups do not fit a kernel for {taken} of {w}",
            )
        if out % self.groups or batch % by_batch:
            raise ShapeError(
                op=name,
                problem=f"{self.groups} groups do not divide {out} output features or {batch} examples",
            )


def dilated(size: int, dilation: int) -> int:
    """The length of `size` elements that are `dilation` apart."""
    return (size - 1) * dilation + 1 if size > 0 else 0


def out_sizes(xs: Sequence[int], ws: Sequence[int], config: Config) -> Ints:
    """The result's spatial sizes."""
    rows = zip(xs, ws, config.window_strides, config.padding, config.dilations, strict=True)
    out = []
    for n, size, stride, (low, high), (inner, outer) in rows:
        room = dilated(n, inner) + low + high - dilated(size, outer)
        out.append(max(room // stride + 1, 0) if size else 0)
    return tuple(out)


def same_padding(xs: Sequence[int], ws: Sequence[int], strides: Sequence[int], lower: bool) -> Any:
    """Padding with which ceil(n / stride) windows of (dilated) sizes `ws` cover `xs`; the odd element is
    put after, or before if `lower`."""
    out = []
    for n, size, stride in zip(xs, ws, strides, strict=True):
        total = max((math.ceil(n / stride) - 1) * stride + size - n, 0)
        half = (total + 1) // 2 if lower else total // 2
        out.append((half, total - half))
    return tuple(out)


def padding_of(
    name: str, padding: Any, xs: Sequence[int], ws: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """'SAME', 'SAME_LOWER', 'VALID' or pairs, as pairs. `xs` and `ws` are dilated sizes."""
    if not isinstance(padding, str):
        return tuple((int(low), int(high)) for low, high in padding)
    kind = padding.upper()
    if kind == "VALID":
        return ((0, 0),) * len(xs)
    if kind not in ("SAME", "SAME_LOWER"):
        raise ShapeError(op=name, problem=f"padding {padding!r} is none of SAME, SAME_LOWER, VALID and pairs")
    return same_padding(xs, ws, strides, kind == "SAME_LOWER")
