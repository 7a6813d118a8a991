"""Views: how a part of an array is read and replaced.

Everything basic indexing and transposition can express is one `Region` over
its parent; a region of a region is a region again, so a write through a chain
of them is one update of the base.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import DynamicExtentError
from tracejit.ir.avals import Dim, DimSize, Shape, aval_of
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.extents import Number
from tracejit.tracing import View, bind_update, current_trace

Shape_ = tuple[DimSize, ...]
#: One dimension of a basic index: ("at", i) | ("slice", start, extent, step) | ("new",) | ("all",)
Item = tuple[Any, ...]


class Identity:
    """Which object a view is, made under `trace`: two views of one part are two arrays, and a view of a whole array is
    another one than that."""

    __slots__ = ("trace",)

    def __init__(self) -> None:
        self.trace = current_trace()


class Region(View):
    """A box of the parent, strided, with axes permuted, dropped and inserted.

    Axis a of the parent (of size `base[a]`) is read at `starts[a] + k * steps[a]`, `k < sizes[a]`.
    Dimension d of the view is the parent's axis `axes[d]`, or new and of size 1 (None). Axes of
    the parent that are not among `axes` were indexed by an integer.
    """

    __slots__ = ("axes", "base", "sizes", "starts", "steps")

    def __init__(
        self, base: Shape, starts: Any, sizes: Any, steps: Any, axes: tuple[int | None, ...]
    ) -> None:
        self.base = base
        self.starts: tuple[Number, ...] = starts
        self.sizes: tuple[Number, ...] = sizes
        self.steps: tuple[int, ...] = steps
        self.axes = axes

    @staticmethod
    def whole(base: Shape) -> Region:
        n = len(base)
        return Region(base, (0,) * n, tuple(map(extents.of_dim, base)), (1,) * n, tuple(range(n)))

    @property
    def shape(self) -> Shape:
        """The view's shape; the Dims hold this trace's values, not yet variables of a jaxpr."""
        return tuple(
            1 if a is None else extents.to_dim(self.sizes[a], extents.capacity(self.base[a]))
            for a in self.axes
        )

    @property
    def is_static(self) -> bool:
        return all(type(s) is int for s in self.sizes)

    @property
    def skips_some(self) -> bool:
        """Whether steps and traced extents meet on an axis, which no one operation cuts out."""
        return any(type(n) is not int and abs(s) != 1 for n, s in zip(self.sizes, self.steps, strict=True))

    @property
    def is_whole(self) -> bool:
        """Whether every element of the parent is in the view, in whatever order."""
        return all(
            (type(d) is int and d == s) or extents.of_dim(d) is s
            for d, s in zip(self.base, self.sizes, strict=True)
        )

    @property
    def is_plain(self) -> bool:
        """Whether it is the parent itself."""
        straight = all(type(a) is int and a == 0 for a in self.starts) and all(a == 1 for a in self.steps)
        return straight and self.is_whole and self.axes == tuple(range(len(self.base)))

    def same(self, other: View) -> bool:
        return (
            isinstance(other, Region)
            and other.axes == self.axes
            and other.steps == self.steps
            and all(
                a is b or (type(a) is int and a == b) for a, b in zip(other.starts, self.starts, strict=True)
            )
            and all(
                a is b or (type(a) is int and a == b) for a, b in zip(other.sizes, self.sizes, strict=True)
            )
        )

    def moved(self, starts: list[Number]) -> Region:
        """A region of the same extents that starts elsewhere."""
        return Region(self.base, tuple(starts), self.sizes, self.steps, self.axes)

    def region(self, part: Region) -> Region:
        """The region of the parent that `part`, a region of this one, shows."""
        starts, sizes, steps = list(self.starts), list(self.sizes), list(self.steps)
        for d, a in enumerate(self.axes):
            if a is not None:
                starts[a] = extents.add(starts[a], extents.mul(part.starts[d], steps[a]))
                sizes[a], steps[a] = part.sizes[d], steps[a] * part.steps[d]
        axes = tuple(None if d is None else self.axes[d] for d in part.axes)
        return Region(self.base, tuple(starts), tuple(sizes), tuple(steps), axes)

    def permuted(self, order: tuple[int, ...]) -> Region:
        """The same elements with the view's dimensions in another order."""
        axes = tuple(self.axes[n] for n in order)
        return Region(self.base, self.starts, self.sizes, self.steps, axes)

    def indexed(self, items: list[Item]) -> Region | None:
        """The region of this region that `items` select, or None when it is not one."""
        starts, sizes, steps = list(self.starts), list(self.sizes), list(self.steps)
        axes: list[int | None] = []
        source = iter(self.axes)
        for item in items:
            if item[0] == "new":
                axes.append(None)
                continue
            a = next(source)
            if item[0] == "all":
                axes.append(a)
            elif a is None:
                if item[0] == "slice" and (type(item[2]) is not int or item[2] != 1):
                    return None
                axes += [None] if item[0] == "slice" else []
            elif item[0] == "at":
                starts[a] = extents.add(starts[a], extents.mul(item[1], steps[a]))
                sizes[a], steps[a] = 1, 1
            else:
                starts[a] = extents.add(starts[a], extents.mul(item[1], steps[a]))
                sizes[a], steps[a] = item[2], steps[a] * item[3]
                axes.append(a)
        return Region(self.base, tuple(starts), tuple(sizes), tuple(steps), tuple(axes))

    # ------------------------------------------------------------ reading

    def read(self, raw: Any) -> Any:
        low, flipped = self._lowest()
        x = self._cut(raw, low)
        x = ops.shape.rev(x, dimensions=flipped) if flipped else x
        kept = [a for a in self.axes if a is not None]
        dropped = tuple(a for a in range(len(self.base)) if a not in kept)
        x = ops.shape.squeeze(x, dimensions=dropped) if dropped else x
        order = sorted(kept)
        x = ops.shape.transpose(x, permutation=tuple(order.index(a) for a in kept))
        new = tuple(d for d, a in enumerate(self.axes) if a is None)
        return ops.shape.expand_dims(x, dimensions=new) if new else x

    def _lowest(self) -> tuple[list[Number], tuple[int, ...]]:
        """(the least position on every axis, the axes that run backwards)."""
        low, flipped = [], []
        for a, (start, size, step) in enumerate(zip(self.starts, self.sizes, self.steps, strict=True)):
            back = step < 0 and not (type(size) is int and size <= 1)
            low.append(extents.add(start, extents.mul(extents.add(size, -1), step)) if back else start)
            if back:
                flipped.append(a)
        return low, tuple(flipped)

    def _cut(self, raw: Any, low: list[Number]) -> Any:
        """The elements in ascending order, all axes kept."""
        if self.is_whole:
            return raw
        static = self._static_slice(low)
        if static is not None:
            return ops.slices.slice(raw, **static)
        strides = self._strides()
        spans = [self._span(a, strides[a]) for a in range(len(self.base))]
        dyn = [s for s in spans if type(s) is not int]
        bounds = tuple(
            extents.to_dim(s, extents.capacity(d)).bound  # type: ignore[union-attr]
            for s, d in zip(spans, self.base, strict=True)
            if type(s) is not int
        )
        sizes = tuple(s if type(s) is int else None for s in spans)
        x = ops.index.dynamic_slice(raw, *map(_operand, low), *dyn, sizes=sizes, bounds=bounds)
        if max(strides, default=1) == 1:
            return x
        limits = tuple(d if type(d) is int else None for d in aval_of(x).shape)
        return ops.slices.slice(x, start_indices=(0,) * len(limits), limit_indices=limits, strides=strides)

    def _strides(self) -> tuple[int, ...]:
        return tuple(
            1 if type(n) is int and n <= 1 else abs(s) for s, n in zip(self.steps, self.sizes, strict=True)
        )

    def _static_slice(self, low: list[Number]) -> dict[str, Any] | None:
        """Parameters of `slice` and `slice_update` where nothing but whole axes is traced."""
        starts, limits, strides = [], [], self._strides()
        for d, start, n, stride in zip(self.base, low, self.sizes, strides, strict=True):
            if type(start) is int and type(n) is int:
                starts.append(start if n else 0)
                limits.append(start + (n - 1) * stride + 1 if n else 0)
            elif isinstance(d, Dim) and d.var is n and start == 0 and stride == 1:
                starts.append(0)
                limits.append(None)
            else:
                return None
        return {"start_indices": tuple(starts), "limit_indices": tuple(limits), "strides": strides}

    def _span(self, a: int, stride: int) -> Number:
        """How many elements of axis `a` lie between the first and the last that are read."""
        size = self.sizes[a]
        if stride == 1:
            return size
        if type(size) is not int:
            raise DynamicExtentError(op="slice", problem="a step and a traced extent in one slice")
        return (size - 1) * stride + 1

    # ------------------------------------------------------------ writing

    def write(self, holder: list[Any], new: Any) -> Any:
        low, flipped = self._lowest()
        kept = [a for a in self.axes if a is not None]
        inserted = tuple(d for d, a in enumerate(self.axes) if a is None)
        x = ops.shape.squeeze(new, dimensions=inserted) if inserted else new
        x = ops.shape.transpose(x, permutation=tuple(kept.index(a) for a in sorted(kept)))
        dropped = tuple(a for a in range(len(self.base)) if a not in kept)
        x = ops.shape.expand_dims(x, dimensions=dropped) if dropped else x
        x = ops.shape.rev(x, dimensions=flipped) if flipped else x
        if self.is_whole:
            holder.pop()
            return x
        if self.is_static and 0 in self.sizes:
            return holder.pop()
        static = self._static_slice(low)
        if static is not None:
            return bind_update(ops.slices.slice_update_op, holder, x, **static)
        if max(self._strides()) > 1:
            return self._write_strided(holder, x, low)
        return bind_update(ops.index.dynamic_update_slice_op, holder, x, *map(_operand, low))

    def _write_strided(self, holder: list[Any], x: Any, low: list[Number]) -> Any:
        """Every `step`-th element from a traced start: the span is read, updated and written back."""
        strides = self._strides()
        spans = tuple(map(self._span, range(len(low)), strides))
        n = len(low)
        part = [Region(self.base, tuple(low), spans, (1,) * n, tuple(range(n)))._cut(holder[0], low)]
        inner = {"start_indices": (0,) * n, "limit_indices": spans, "strides": strides}
        merged = bind_update(ops.slices.slice_update_op, part, x, **inner)
        return bind_update(ops.index.dynamic_update_slice_op, holder, merged, *map(_operand, low))


def _operand(n: Number) -> Any:
    return np.int64(n) if type(n) is int else n


class Strided(View):
    """Elements of one axis of the parent at `start + k * step`, `k < size`, where no `Region` has them: the step is
    traced, or it is not 1 and the size is."""

    __slots__ = ("axis", "base", "size", "start", "step")

    def __init__(self, base: Shape, axis: int, start: Number, size: Number, step: Number) -> None:
        self.base, self.axis, self.start, self.size, self.step = base, axis, start, size, step

    @property
    def numbers(self) -> tuple[Number, Number, Number]:
        """What the program may compute of it."""
        return self.start, self.size, self.step

    @property
    def shape(self) -> Shape:
        """The view's shape, as that of a Region."""
        size = extents.to_dim(self.size, extents.capacity(self.base[self.axis]))
        return (*self.base[: self.axis], size, *self.base[self.axis + 1 :])

    def same(self, other: View) -> bool:
        return (
            isinstance(other, Strided)
            and other.axis == self.axis
            and all(
                a is b or (type(a) is int and a == b)
                for a, b in zip(self.numbers, other.numbers, strict=True)
            )
        )

    def _places(self) -> Any:
        size = self.shape[self.axis]
        dyn, sizes, bounds = ops.dims.split_dynamic((size,))
        k = ops.create.iota(*dyn, shape=sizes, dtype=np.int64, dimension=0, bounds=bounds)
        return ops.arithmetic.add(
            ops.arithmetic.mul(k, extents.operand(self.step)), extents.operand(self.start)
        )

    def read(self, raw: Any) -> Any:
        return ops.gather.take(raw, self._places(), self.axis, mode="promise_in_bounds")

    def write(self, holder: list[Any], new: Any) -> Any:
        others = tuple(n for n in range(len(self.base)) if n != self.axis)
        numbers = ops.scatter.ScatterDimensionNumbers(others, (self.axis,), (self.axis,))
        return bind_update(
            ops.scatter.scatter_op, holder, ops.shape.expand_dims(self._places(), (1,)), new,
            dimension_numbers=numbers, mode="promise_in_bounds", unique_indices=True,
        )  # fmt: skip


def is_strided(item: Item) -> bool:
    """Whether a dimension of a basic index is a `Strided` view."""
    return item[0] == "slice" and (
        type(item[3]) is not int or (type(item[2]) is not int and abs(item[3]) != 1)
    )


def views_of(chain: tuple[View, ...], shape: Shape, items: list[Item]) -> tuple[View, ...]:
    """The chain of the view `x[items]` of a view with `chain` and `shape`."""
    plain = [("all",) if is_strided(item) else item for item in items]
    region = chain[-1].indexed(plain) if chain and type(chain[-1]) is Region else None
    if region is not None and not region.skips_some:
        chain = (*chain[:-1], region)
    else:
        region = Region.whole(shape).indexed(plain)
        assert region is not None
        chain = (*chain, region)
    shape, axis = region.shape, 0
    for item in items:
        if is_strided(item):
            chain = (*chain, Strided(shape, axis, *item[1:]))
            shape = chain[-1].shape
        axis += item[0] != "at"
    return chain


def joined(chain: tuple[View, ...], more: tuple[View, ...]) -> tuple[View, ...]:
    """The chain of the view `more` of what `chain` shows; regions of regions are regions, as far as they can be."""
    if not chain or not more or type(chain[-1]) is not Region or type(more[0]) is not Region:
        return (*chain, *more)
    region = chain[-1].region(more[0])
    if region.skips_some:
        return (*chain, *more)
    if region.is_plain:
        return joined(chain[:-1], more[1:])
    return (*chain[:-1], region, *more[1:])


class Reshaped(View):
    """The parent's elements in C order in another shape."""

    __slots__ = ("parent", "shape")

    def __init__(self, parent: Shape, shape: Shape) -> None:
        self.parent = parent
        self.shape = shape

    def same(self, other: View) -> bool:
        return isinstance(other, Reshaped) and other.parent == self.parent and other.shape == self.shape

    def read(self, raw: Any) -> Any:
        return ops.shape.reshape(raw, shape=extents.shape_here(self.shape), trusted=True)

    def write(self, holder: list[Any], new: Any) -> Any:
        holder.pop()
        return ops.shape.reshape(new, shape=extents.shape_here(self.parent), trusted=True)


class _Part(View):
    __slots__ = ()

    def same(self, other: View) -> bool:
        return type(other) is type(self)


class RealPart(_Part):
    """`x.real` of a complex parent."""

    __slots__ = ()

    def read(self, raw: Any) -> Any:
        return ops.arithmetic.real(raw)

    def write(self, holder: list[Any], new: Any) -> Any:
        return ops.arithmetic.complex(new, ops.arithmetic.imag(holder.pop()))


class ImagPart(_Part):
    """`x.imag` of a complex parent."""

    __slots__ = ()

    def read(self, raw: Any) -> Any:
        return ops.arithmetic.imag(raw)

    def write(self, holder: list[Any], new: Any) -> Any:
        return ops.arithmetic.complex(ops.arithmetic.real(holder.pop()), new)
