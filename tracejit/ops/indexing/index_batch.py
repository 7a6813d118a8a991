"""Windows that start elsewhere in each example of a vmap: the positions of a gather or scatter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import Dim, DimSize, Shape
from tracejit.ops.building.helpers import to_batch_axis
from tracejit.ops.indexing.gather import GatherDimensionNumbers
from tracejit.ops.shapes import concat
from tracejit.records import record

_I64 = np.dtype(np.int64)


@record(frozen=True)
class Examples:
    """Axes of the window: `moving` ones are not taken as a whole, `spread` ones have a traced size besides
    and are walked element by element (a gather's windows have static sizes)."""

    moving: tuple[int, ...]
    spread: tuple[int, ...]
    sizes: Shape

    @classmethod
    def of(cls, shape: Shape, sizes: Shape) -> Examples:
        """A window of `sizes` in an array of `shape`."""
        moving = tuple(n for n, (d, s) in enumerate(zip(shape, sizes, strict=True)) if d != s)
        return cls(moving, tuple(n for n in moving if isinstance(sizes[n], Dim)), sizes)

    def numbers(self, batched: bool) -> GatherDimensionNumbers:
        """The result has the axes (example, window…); so has the operand if it is `batched`."""
        ndim, lead = len(self.sizes), int(batched)
        return GatherDimensionNumbers(
            offset_dims=tuple(n + 1 for n in range(ndim) if n not in self.spread),
            collapsed_slice_dims=tuple(n + lead for n in self.spread),
            start_index_map=tuple(n + lead for n in self.moving),
            operand_batching_dims=(0,) * lead,
            start_indices_batching_dims=(0,) * lead,
        )

    def window(self, batched: bool) -> tuple[int | None, ...]:
        """The slice sizes of a gather; None for whole dynamic axes."""
        sizes = (
            1 if n in self.spread else None if isinstance(s, Dim) else s for n, s in enumerate(self.sizes)
        )
        return ((1,) if batched else ()) + tuple(sizes)

    def positions(self, size: int, shape: Shape, starts: Sequence[Any], dims: Sequence[Any]) -> Any:
        """The indices: (example, spread axes…, moving axis)."""
        full = (size, *(self.sizes[n] for n in self.spread))
        columns = []
        for n in self.moving:
            at = ops.create.convert_element_type(starts[n], dtype=_I64)
            at = to_batch_axis(at, dims[n], 0, size)
            if n in self.spread:
                at = _clamp(at, shape[n], self.sizes[n])
            at = ops.broadcast.broadcast_to(ops.shape.expand_dims(at, range(1, len(full))), full)
            if n in self.spread:
                at = ops.arithmetic.add(at, _walk(full, 1 + self.spread.index(n)))
            columns.append(ops.shape.expand_dims(at, (len(full),)))
        return concat.concatenate(*columns, dimension=len(full))


def _extent(d: DimSize) -> Any:
    return d.var if isinstance(d, Dim) else np.int64(d)


def _clamp(at: Any, extent: DimSize, size: DimSize) -> Any:
    last = ops.arithmetic.sub(_extent(extent), _extent(size))
    return ops.arithmetic.maximum(ops.arithmetic.minimum(at, last), np.int64(0))


def _walk(full: Shape, axis: int) -> Any:
    """0, 1, 2 … along a dynamic `axis` of an array of shape `full`."""
    d: Any = full[axis]
    line = ops.create.iota(d.var, shape=(None,), dtype=_I64, dimension=0, bounds=(d.bound,))
    return ops.broadcast.broadcast_to(ops.shape.expand_dims(line, range(1, len(full) - axis)), full)
