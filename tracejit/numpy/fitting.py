"""What fits where it is stored: numbers of Python in dtypes, arrays in the place of one number.

NumPy casts arrays whatever is lost, but raises for Python's numbers, and for scalars that become elements of signed
integers. Here it is asked what it thinks of shapes and known values; traced ones are checked when the program runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.ir.avals import aval_of, capacity
from tracejit.ops.indexing.index_check import fail_where
from tracejit.records import record
from tracejit.tracing import Box, caller

_I64, _F64 = dtypes.int64, dtypes.float64


def converted(value: Any, dtype: np.dtype) -> Any:
    """A known value as an element of an array of `dtype`, or NumPy's own exception."""
    cell = np.empty((), dtype)
    cell[()] = value
    return cell[()]


def judge_shape(take: Callable[[Any], Any], x: Box) -> None:
    """Raises what `take`, which needs one number, raises for an array of the shape of `x`."""
    if x.aval.shape:
        take(np.broadcast_to(np.zeros((), x.aval.dtype), capacity(x.aval.shape)))


@record(frozen=True)
class Unfit:
    """The failure of a number that `dtype` does not hold: what NumPy raises for it. `source`: its own dtype."""

    source: np.dtype
    dtype: np.dtype

    def printed(self, show: Callable[[Any], str]) -> str:
        """The failure in a printed file."""
        return f"unfit({self.source.name!r}, {self.dtype.name!r})"

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        value = np.int64(details[0]).view(self.source).item()
        try:
            converted(value, self.dtype)
        except (OverflowError, ValueError) as error:
            return error.with_traceback(None)
        return OverflowError(f"Python integer {value} out of bounds for {self.dtype}")


def judge_number(x: Any, dtype: np.dtype) -> None:
    """Raise, when the program runs, where a number (a raw value) does not fit the dtype it is stored in."""
    source = aval_of(x).dtype
    if source.kind == "c" and dtype.kind in "iuf":
        converted(1j, dtype)  # raises
    if dtype.kind not in "iu" or source.kind == "b":
        return
    info, c = np.iinfo(dtype), ops.compare
    if dtypes.is_float(source):
        x = ops.create.convert(x, _F64)
        above = c.ge(x, float(info.min)) if info.bits == 64 and info.min else c.gt(x, float(info.min - 1))
        fail_where(
            c.not_(c.and_(above, c.lt(x, float(info.max + 1)))),
            Unfit(_F64, dtype),
            ops.create.bitcast(x, dtype=_I64),
        )
    elif not np.can_cast(source, dtype):
        own = np.iinfo(source)
        out = [c.lt(x, source.type(info.min))] if own.min < info.min else []
        out += [c.gt(x, source.type(info.max))] if own.max > info.max else []
        wide = np.dtype(np.uint64) if source == np.uint64 else _I64
        bits = ops.create.convert(x, _I64)
        fail_where(out[0] if len(out) == 1 else c.or_(*out), Unfit(wide, dtype), bits)


def judge_scalar(x: Any, dtype: np.dtype) -> None:
    """The same for a scalar of NumPy that becomes an element: only those in signed integers are judged."""
    if dtype.kind == "i" and aval_of(x).dtype.kind != "c":
        judge_number(x, dtype)


def judge_loss(source: np.dtype, dtype: np.dtype) -> None:
    """Warn as NumPy does where complex numbers are cast to real ones."""
    if source.kind == "c" and dtype.kind in "iuf":
        message = "Casting complex values to real discards the imaginary part"
        caller.warn(message, np.exceptions.ComplexWarning)


def stored(x: Any, dtype: np.dtype) -> Any:
    """A box's raw value as it becomes an element of a list's or array's, in that dtype."""
    value = x.read()
    if x.weak:
        judge_number(value, dtype)
    elif x.scalar:
        judge_scalar(value, dtype)
    judge_loss(x.aval.dtype, dtype)
    return value if x.aval.dtype == dtype else ops.create.convert(value, dtype)
