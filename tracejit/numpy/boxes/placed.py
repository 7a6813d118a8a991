"""Views that no region is: diagonals, the bits of elements as another dtype, and what NumPy makes read-only."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import aval_of
from tracejit.tracing import View, bind_update


class Placed(View):
    """Elements of the parent in any places: `fn` reads them of the raw parent, `places` is what NumPy's function
    makes of an array, each of its elements once at most."""

    __slots__ = ("fn", "places")
    sizes: Any = ()  # NumPy's function needs none

    def __init__(self, fn: Callable[[Any], Any], places: Callable[[np.ndarray], np.ndarray]) -> None:
        self.fn = fn
        self.places = places

    def read(self, raw: Any) -> Any:
        return self.fn(raw)

    def write(self, holder: list[Any], new: Any) -> Any:
        shape = aval_of(holder[0]).shape
        size = math.prod(shape)
        at = self.places(np.arange(size).reshape(shape)).ravel()
        values = ops.shape.reshape(new, shape=(math.prod(aval_of(new).shape),))  # type: ignore[arg-type]
        flat = [ops.shape.reshape(holder.pop(), shape=(size,))]
        numbers = ops.scatter.ScatterDimensionNumbers((), (0,), (0,))
        options = {"dimension_numbers": numbers, "mode": "promise_in_bounds", "unique_indices": True}
        written = bind_update(ops.scatter.scatter_op, flat, at[:, None], values, **options)
        return ops.shape.reshape(written, shape=shape)  # type: ignore[arg-type]


class Bits(View):
    """The parent's memory as another dtype."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype

    def same(self, other: View) -> bool:
        return type(other) is Bits and other.dtype == self.dtype

    def read(self, raw: Any) -> Any:
        return ops.bitcasts.view_as(raw, dtype=self.dtype)

    def write(self, holder: list[Any], new: Any) -> Any:
        return ops.bitcasts.view_as(new, dtype=aval_of(holder.pop()).dtype)

    def write_marked(self, holder: list[Any], new: Any, marks: Any) -> Any:
        """What `write` gives, but for elements without marks, which stay the numbers that they are, with derivatives.
        `marks`: an array like `new`, of ones where that is written and zeros elsewhere."""
        old = holder.pop()
        dtype = aval_of(old).dtype
        made = ops.bitcasts.view_as(new, dtype=dtype)
        if dtype.kind not in "fc":
            return made
        bits = np.dtype(f"i{dtype.itemsize}") if dtype.itemsize <= 8 else dtype
        written = ops.compare.ne(ops.bitcasts.view_as(marks, dtype=bits), bits.type(0))
        return ops.compare.select(written, made, old)


def has_bits(chain: Iterable[View]) -> bool:
    """Whether one of the views shows memory as another dtype."""
    return any(type(v) is Bits for v in chain)


def filled_like(raw: Any, number: int) -> Any:
    """A raw array like another one, of one number."""
    aval = aval_of(raw)
    return ops.shape.broadcast_to(aval.dtype.type(number), aval.shape)


class ReadOnly(View):
    """A view that NumPy makes read-only (or, if it `warns`, one that it lets write with a warning): a function of the
    parent's raw value. `places`: NumPy's own of an array and of `sizes`, numbers of the trace."""

    __slots__ = ("fn", "places", "sizes", "warns")
    writable = False

    def __init__(self, fn: Any, places: Any = None, warns: bool = False, sizes: Any = ()) -> None:
        self.fn, self.places, self.warns, self.sizes = fn, places, warns, sizes

    def read(self, raw: Any) -> Any:
        return self.fn(raw)
