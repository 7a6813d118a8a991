"""Traced masks: how many elements they select, and where these lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.interpreters.stage import StageTrace
from tracejit.interpreters.vmap import BatchTracer
from tracejit.ir.avals import Dim
from tracejit.ir.jaxpr import Literal, Var
from tracejit.ir.values import Value
from tracejit.numpy.boxes import extents
from tracejit.numpy.operands import cast, dtype_of, elements, filled, shape_of
from tracejit.tracing import current_trace, use_trace

_I64 = dtypes.int64


def spread(mask: Any, first: int, shape: Any) -> Any:
    """The mask over dimensions `first` … as one of `shape`."""
    rank, ndim = len(shape_of(mask)), len(shape)
    new = tuple(d for d in range(ndim) if not first <= d < first + rank)
    return ops.shape.broadcast_to(ops.shape.expand_dims(mask, new) if new else mask, shape)


def same_value(a: Any, b: Any, depth: int = 8) -> bool:
    """Whether two raw values are known to be equal, so that `y[x > 0] = x[x > 0]` is understood:
    the same value, equal arrays, or the same operations recorded twice."""
    if a is b:
        return True
    if not isinstance(a, Value) and not isinstance(b, Value):
        return dtype_of(a) == dtype_of(b) and np.array_equal(a, b)
    if type(a) is not type(b) or a.aval != b.aval or a.trace is not b.trace or not depth:
        return False
    if isinstance(a, BatchTracer) and isinstance(b, BatchTracer):
        return a.dim == b.dim and same_value(a.value, b.value, depth)
    if isinstance(a, Var) and isinstance(b, Var) and isinstance(a.trace, StageTrace):
        return _same_equation(a, b, depth)
    return False


def _same_equation(a: Var, b: Var, depth: int) -> bool:
    made = {v: e for e in a.trace.eqns for v in e.outvars if v is a or v is b}
    if len(made) < 2:
        return False
    e, f = made[a], made[b]
    return (
        e.op is f.op
        and not e.op.multi
        and not e.effects
        and e.params == f.params
        and all(_same_atom(x, y, depth - 1) for x, y in zip(e.invars, f.invars, strict=True))
    )


def _same_atom(a: Any, b: Any, depth: int) -> bool:
    if type(a) is Literal or type(b) is Literal:
        return type(a) is type(b) and a.value == b.value and a.aval == b.aval
    return same_value(a, b, depth)


class Mask:
    """A raw boolean value, and what is known of it in one trace: made once, so that extents compare."""

    __slots__ = ("_made", "count", "trace", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.trace = current_trace()
        total = ops.reduce.reduce_sum(cast(value, _I64), axes=tuple(range(len(shape_of(value)))))
        if self.bound is not None:  # which others cannot know of a sum
            total = ops.compare.clamp(total, np.int64(0), np.int64(self.bound))
        self.count = total
        self._made: dict[str, Any] = {}

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self._made:
            with use_trace(self.trace):
                self._made[name] = make()
        return self._made[name]

    @property
    def bound(self) -> int | None:
        """The number of elements there are, if it is known."""
        bounds = [extents.capacity(d) for d in shape_of(self.value)]
        return None if None in bounds else int(np.prod(bounds, dtype=int))  # type: ignore[arg-type]

    @property
    def dim(self) -> Dim:
        """The number of selected elements as a dimension."""
        return Dim(extents.here(self.count), self.bound)

    def flat(self, x: Any, first: int = 0) -> Any:
        """The mask's dimensions of a raw value (those from `first` on) as one."""
        rank, shape = len(shape_of(self.value)), shape_of(x)
        if rank == 1:
            return x
        size = elements("a mask", shape_of(self.value))
        return ops.shape.reshape(x, shape=(*shape[:first], size, *shape[first + rank :]))

    def counts(self) -> Any:
        """How many elements are selected up to each one, flat."""
        numbers = cast(self.flat(self.value), _I64)
        return ops.cumulative.cumsum(numbers, axis=0, reverse=False)

    def ranks(self) -> Any:
        """Which of the selected elements each one is, in the mask's shape (not less than 0)."""
        return self._once("ranks", self._ranks)

    def _ranks(self) -> Any:
        at = ops.arithmetic.maximum(ops.arithmetic.sub(self.counts(), np.int64(1)), np.int64(0))
        shape = shape_of(self.value)
        return at if len(shape) == 1 else ops.shape.reshape(at, shape=shape)  # type: ignore[arg-type]

    def places(self) -> Any:
        """The flat places of the selected elements, in order: a vector of `dim`."""
        return self._once("places", self._places)

    def _places(self) -> Any:
        # Every element writes its number to the place after those selected before it: what is not selected is
        # overwritten by the next one that is, so that there is no branch to predict.
        counts = self.counts()
        before = ops.arithmetic.sub(counts, cast(self.flat(self.value), _I64))
        (size,) = shape_of(counts)
        at = ops.scatter.scatter(
            filled(0, _I64, (size,)),
            ops.shape.expand_dims(before, (1,)),
            iota((size,), 0),
            dimension_numbers=ops.scatter.ScatterDimensionNumbers((), (0,), (0,)),
            mode="promise_in_bounds",
        )
        return ops.index.dynamic_slice(at, np.int64(0), self.count, sizes=(None,), bounds=(self.dim.bound,))


def iota(shape: Any, axis: int) -> Any:
    """The coordinate along `axis` of each element."""
    size = shape[axis]
    if type(size) is int:
        column = ops.create.iota(shape=(size,), dtype=_I64, dimension=0)
    else:
        column = ops.create.iota(size.var, shape=(None,), dtype=_I64, dimension=0, bounds=(size.bound,))
    after = tuple(range(1, len(shape) - axis))
    return ops.shape.broadcast_to(ops.shape.expand_dims(column, after) if after else column, shape)


def mask_of(value: Any) -> Mask:
    """The mask of a raw boolean value, the same one for equal values."""
    made = current_trace().__dict__.setdefault("_masks", [])
    for mask in made:
        if same_value(mask.value, value):
            return mask
    made.append(Mask(value))
    return made[-1]
