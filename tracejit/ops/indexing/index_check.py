"""Bounds checks of indices, with NumPy's wrapping of negative ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import IndexOutOfRangeError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.kernel import Pointwise
from tracejit.ir.primitive import FROM_JVP, NO_INPLACE, NONLINEAR, ZERO_TANGENT, Op
from tracejit.ops.building.helpers import align_pointwise
from tracejit.ops.building.values import lift
from tracejit.ops.shapes.moves import index_known_inside
from tracejit.records import record
from tracejit.tracing import bind

_I64 = np.dtype(np.int64)


@record(frozen=True)
class IndexFailure:
    """Makes the exception of a failed check from its details: the index, and the size if it is dynamic."""

    axis: int
    size: int | None

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        size = self.size if self.size is not None else details[1]
        return IndexOutOfRangeError(index=details[0], axis=self.axis, size=size, where=where)


@record(frozen=True)
class Raising:
    """Makes an exception of Python or NumPy from a failed check. `{}` in its message is the number that the check
    carries, `shown` the dtype whose bits that are."""

    kind: type[Exception]
    message: str
    shown: np.dtype | None = None

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        value = None if self.shown is None else np.int64(details[0]).view(self.shown).item()
        return self.kind(self.message.format(value))


def _type(i: Aval, *sizes: Aval, size: int | None, axis: int, failure: Any) -> Aval:
    if not dtypes.is_integer(i.dtype):
        raise TypeRuleError(op="check_index", problem=f"indices are integers, not {i}")
    if len(sizes) != (size is None):
        raise TypeRuleError(
            op="check_index", problem="needs one operand more exactly if the size is not static"
        )
    shape = i.shape
    for s in sizes:
        if not dtypes.is_integer(s.dtype) or (shape and s.shape not in ((), shape)):
            raise ShapeError(op="check_index", problem=f"the size {s} does not fit the indices {i}")
        shape = shape or s.shape
    return Aval(shape, _I64)


def _eval(i: Any, *sizes: Any, size: int | None, axis: int, failure: Any) -> Any:
    n = sizes[0] if size is None else size
    if np.ndim(i) == 0 and np.ndim(n) == 0:
        value, bound = int(i), int(n)
        if -bound <= value < bound:
            return np.int64(value + bound if value < 0 else value)
        raise failure((value, bound), None)
    bad = (i < -np.asarray(n, _I64)) | (i >= n)
    if np.any(bad):
        first = np.unravel_index(np.argmax(bad), bad.shape)
        index, size = (int(np.broadcast_to(x, bad.shape)[first]) for x in (i, n))
        raise failure((index, size), None)
    i = np.asarray(i, _I64)
    return np.where(i < 0, i + n, i)


def _kernel(k: Any, i: Any, *sizes: Any, size: int | None, axis: int, failure: Any) -> Any:
    signed = np.dtype(i.dtype).kind == "i"
    if i.dtype == np.uint64:
        i = k.int_op("umin", i, k.const(2**63 - 1, i.dtype))
    i = k.cast(i, _I64)
    n = k.cast(sizes[0], _I64) if size is None else k.const(size, _I64)
    return k.index(i, n, k.fail_code, signed)


def _batch(count: int, args: Any, dims: Any, /, **params: Any) -> tuple[Any, int | None]:
    if not getattr(params["failure"], "lanes", True):
        return np.int64(0), None
    out, dim = align_pointwise(count, args, dims)
    return bind(check_index_op, *out, **params), dim


def _bounds(ranges: Any, *, size: int | None, axis: int, failure: Any) -> Any:
    n = size if size is not None else ranges[1] and ranges[1][1]
    if not n:
        return None
    inside = ranges[0] is not None and ranges[0][0] >= 0
    return (ranges[0][0], min(ranges[0][1], n - 1)) if inside else (0, n - 1)


check_index_op = Op(
    name="check_index",
    doc="an index with negative values wrapped; raises when it is out of range",
    multi=False,
    type=_type,
    eval=_eval,
    inplace=NO_INPLACE,
    jvp=ZERO_TANGENT,
    linearize=FROM_JVP,
    transpose=NONLINEAR,
    batch=_batch,
    simplify=(index_known_inside,),
    effects=lambda params: frozenset({"error"}),
    bounds=_bounds,
    kernel=Pointwise(_kernel),
)


def check_index(
    i: Any, *, size: Any, axis: int, failure: Callable[[tuple[int, ...], str | None], Exception] | None = None
) -> Any:
    """Integers `i` (any shape) as int64 in [0, size): negative ones count from the end.

    `size` is an int, a Dim or a 0-d integer. Raises what `failure(details, where)`
    gives (an IndexOutOfRangeError by default; `details` is (index, size)).
    """
    size = size.var if isinstance(size, Dim) else size
    static = int(size) if isinstance(size, (int, np.integer)) else None
    rest = () if static is not None else (size,)
    failure = failure or IndexFailure(axis, static)
    return bind(check_index_op, lift(i, _I64), *rest, size=static, axis=axis, failure=failure)


def fail_where(
    bad: Any, failure: Callable[[tuple[int, ...], str | None], Exception], number: Any = None
) -> None:
    """Raise what `failure` gives when the program runs, if the raw boolean `bad` holds anywhere. `number`: int64 of
    the shape of `bad` (or the bits of a float), of which the first where it holds is in the failure's details."""
    if number is not None:
        inside = ops.compare.select(bad, np.int64(0), np.int64(1))  # nothing is inside of [0, 0)
        check_index(ops.compare.select(bad, number, np.int64(0)), size=inside, axis=0, failure=failure)
        return
    shape = aval_of(bad).shape
    bad = ops.reduce.reduce_or(bad, axes=tuple(range(len(shape)))) if shape else bad
    check_index(ops.create.convert_element_type(bad, dtype=_I64), size=1, axis=0, failure=failure)
