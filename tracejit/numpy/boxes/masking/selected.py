"""x[mask] with a traced mask: the selected elements, whose number the program finds out when it runs.

What it gives is a box of traced extent, whose storage keeps the elements in place, in an array of the
full shape, until something needs them side by side. So elementwise functions, reductions and writing back
under the same mask move nothing, and work where the number differs between the examples of a `vmap`;
everything else takes the compacted array, as it takes `x[:n]`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import DynamicExtentError, TracedMaskError
from tracejit.errors.refusals import attempt
from tracejit.interpreters.vmap import BatchTracer
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.masking.masks import Mask, iota, mask_of, same_value, spread
from tracejit.numpy.boxes.memory import order_of_strides, strides_in
from tracejit.numpy.operands import cast, dtype_of, raw, shape_of
from tracejit.tracing import Box, Storage, Trace, box, current_trace, use_trace, wrap


class Selected(Storage):
    """The elements of `full` where the mask over its dimensions `first` … holds.

    `full` is None once something was written; `along` is the axis whose coordinates these are, if
    they come from `np.nonzero`. `value` compacts.
    """

    __slots__ = ("_value", "along", "first", "full", "is_safe", "mask")

    def __init__(self, full: Any, first: int, mask: Mask, along: int | None = None) -> None:
        super().__init__(None, current_trace())
        self.full, self.first, self.mask, self.along = full, first, mask, along
        self.is_safe = False

    @property
    def value(self) -> Any:  # type: ignore[override]
        if self._value is None and self.full is not None:
            with use_trace(self.trace):
                self._value = self._compacted()
        return self._value

    @value.setter
    def value(self, new: Any) -> None:
        self._value, self.full, self.along = new, None, None

    @property
    def held(self) -> Any:
        return self.full if self._value is None else self._value

    def leave(self, ended: Trace, owner: Trace) -> None:
        if self._value is None:  # its mask is one of the trace that ends
            self.value = self._compacted()
        super().leave(ended, owner)

    def _compacted(self) -> Any:
        try:
            with attempt(DynamicExtentError):
                flat = self.mask.flat(self.full, self.first)
                return ops.gather.take(flat, self.mask.places(), self.first, mode="promise_in_bounds")
        except DynamicExtentError as e:
            if not isinstance(self.mask.value, BatchTracer):
                raise
            raise TracedMaskError() from e

    def replaced(self, full: Any) -> None:
        """Write all elements, which lie in place in the raw array `full`."""
        full = cast(full, dtype_of(self.full))
        self.value = None
        self.full, self.is_safe = full, False
        self.cache.clear()
        self.version += 1

    @property
    def ndim(self) -> int:
        return len(shape_of(self.full)) - len(shape_of(self.mask.value)) + 1

    @property
    def is_column(self) -> bool:
        """Whether these are coordinates beside others, as `np.nonzero` gives them."""
        return self.along is not None and len(shape_of(self.mask.value)) > 1

    @property
    def axes(self) -> tuple[int, ...]:
        """The dimensions of `full` that the mask covers."""
        return tuple(range(self.first, self.first + len(shape_of(self.mask.value))))

    def where(self) -> Any:
        """The mask in the shape of `full`."""
        return spread(self.mask.value, self.first, shape_of(self.full))

    def filled(self, value: Any) -> Any:
        """`full` with `value` where the mask does not hold."""
        return ops.compare.select(self.where(), self.full, dtype_of(self.full).type(value))

    def safe(self) -> Any:
        """`full` with ones elsewhere, where functions are defined: nothing raises there, warns or is NaN."""
        return self.full if self.is_safe else self.filled(1)

    def like(self, other: Selected | None) -> bool:
        """Whether the other selection is by the same mask over the same dimensions."""
        return (
            other is not None
            and other.first == self.first
            and other.ndim == self.ndim
            and same_value(other.mask.value, self.mask.value)
        )


def boxed(
    full: Any, first: int, mask: Mask, along: int | None = None, order: tuple[int, ...] | None = None
) -> Box:
    """A box of the selected elements of a raw array; `order`: its axes in memory, where it is not that of such a
    selection."""
    storage = Selected(full, first, mask, along)
    shape = shape_of(full)
    rank = len(shape_of(mask.value))
    if order is not None or first:  # NumPy moves what is selected by an array first, and back in the end
        wide = (*shape[:first], mask.dim, *shape[first + rank :])
        storage.layout = strides_in(wide, order or (first, *(n for n in range(len(wide)) if n != first)))
    return Box(storage, (), Aval((*shape[:first], mask.dim, *shape[first + rank :]), dtype_of(full)))


def select(part: Any, first: int, value: Any) -> Box:
    """`part[:, …, value]` for a raw boolean value over the dimensions `first` …"""
    shape, mask = shape_of(value), mask_of(value)
    if 0 in shape:
        old = shape_of(part)
        return box(ops.shape.reshape(part, shape=(*old[:first], 0, *old[first + len(shape) :])))
    wide = spread(value, first, shape_of(part))
    out = boxed(ops.compare.select(wide, part, dtypes.element(dtype_of(part), 1)), first, mask)
    out.storage.is_safe = True  # type: ignore[attr-defined]
    return out


def nonzero(value: Any) -> tuple[Box, ...]:
    """The coordinates where a raw boolean value holds, an array an axis."""
    shape, mask = shape_of(value), mask_of(value)
    return tuple(boxed(iota(shape, d), 0, mask, along=d) for d in range(len(shape)))


def argwhere(value: Any) -> Box:
    """The coordinates where a raw boolean value holds, a row an element."""
    shape = shape_of(value)
    columns = [ops.shape.expand_dims(iota(shape, d), (len(shape),)) for d in range(len(shape))]
    rows = ops.concat.concatenate(*columns, dimension=len(shape)) if len(shape) > 1 else columns[0]
    return boxed(rows, 0, mask_of(value), order=(1, 0))


def selection(x: Any) -> Selected | None:
    """The selection that `x` is, if its elements still lie in place."""
    if type(x) is Box and type(x.storage) is Selected and not x.chain and x.storage.full is not None:
        return x.storage
    return None


# ---------------------------------------------------------------- elementwise functions


def elementwise(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """`fn` of values of which some are selections by one mask, or None where their elements must move."""
    for a in args:
        s = selection(a)
        if s is not None:
            break
    else:
        return None
    operands = [_operand(a, s) for a in args]
    if any(o is None for o in operands):
        return None
    out = fn(*operands)
    order = order_of_strides(s.layout)
    if type(out) is tuple:
        return tuple(boxed(raw(o), s.first, s.mask, order=order) for o in out)
    return boxed(raw(out), s.first, s.mask, order=order)


def _operand(x: Any, s: Selected) -> Any:
    """A value as an operand beside `s.full`; None if it does not fit without moving elements."""
    own = selection(x)
    if own is not None:
        return wrap(own.safe()) if s.like(own) else None
    if type(x) not in (Box, np.ndarray, list, tuple):
        return x
    value = raw(x)
    return x if not shape_of(value) else _aligned(value, s)


def _aligned(value: Any, s: Selected) -> Any:
    have, rank = shape_of(value), len(s.axes)
    after = len(shape_of(s.full)) - s.first - rank
    if len(have) <= after:
        return wrap(value)
    spot = len(have) - after - 1
    if len(have) > s.ndim or have[spot] != 1:
        return None
    return wrap(widened(value, spot, rank))


def widened(value: Any, spot: int, rank: int) -> Any:
    """A dimension of size 1 as `rank` of them."""
    return ops.shape.expand_dims(value, tuple(range(spot, spot + rank - 1))) if rank > 1 else value
