"""Times as integers and back, and in other units: days as months by the calendar, hours as minutes by their ratio."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import NumberError, TypeRuleError, UnsupportedFunctionError
from tracejit.ir.avals import aval_of
from tracejit.ops.indexing.index_check import fail_where
from tracejit.records import record

#: What stands for "not a time": it is smaller than all times.
NAT = np.int64(np.iinfo(np.int64).min)
_I64 = dtypes.int64
_CALENDAR = {"Y": 12, "M": 1}
_DAY = 86400 * 10**18
#: What a unit lasts, in attoseconds.
_LENGTHS = {
    "W": 7 * _DAY,
    "D": _DAY,
    "h": _DAY // 24,
    "m": _DAY // 1440,
    "s": 10**18,
    "ms": 10**15,
    "us": 10**12,
}
_LENGTHS |= {"ns": 10**9, "ps": 10**6, "fs": 1000, "as": 1}
#: Days from 1 March of year 0 to 1970, from there to 2000, and in 400 years, after which the calendar repeats itself.
_TO_1970, _TO_2000, _ERA = 719468, 10957, 146097
#: Years and months up to this many have days that 64 bits hold, whatever their unit.
_FAR = 2**53


@record(frozen=True)
class _Far:
    """The failure of a year whose days 64 bits do not hold."""

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        return NumberError(
            message="the first day of a year or month for which 64 bits are too few", where=where
        )


def bits(x: Any) -> Any:
    """Times as the integers that they are."""
    return x.view(_I64) if isinstance(x, (np.ndarray, np.generic)) else ops.create.bitcast(x, dtype=_I64)


def of_bits(n: Any, dtype: np.dtype) -> Any:
    """Integers as times."""
    return n.view(dtype) if isinstance(n, (np.ndarray, np.generic)) else ops.create.bitcast(n, dtype=dtype)


def is_nat(n: Any) -> Any:
    """Whether the integers stand for no times."""
    return ops.compare.eq(n, NAT)


def cast(x: Any, dtype: np.dtype) -> Any:
    """A raw value of times as `dtype`, or as times of `dtype`: what `astype` gives."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.astype(dtype)
    source = aval_of(x).dtype
    if source.kind in "mM" and dtype.kind in "mM":
        np.zeros(0, source).astype(dtype)  # raises where a factor is too large
        return of_bits(_between(bits(x), source, dtype), dtype)
    if source.kind == "c" or dtype.kind == "c":
        raise UnsupportedFunctionError(name=f"a cast from {source} to {dtype}")
    if source.kind in "mM":
        return ops.create.convert(bits(x), dtype)
    if not dtypes.is_float(source):
        return of_bits(ops.create.convert(x, _I64), dtype)
    return of_bits(rounded(ops.create.convert(x, dtypes.float64)), dtype)


def fitted(x: Any, dtype: np.dtype) -> Any:
    """Times in another unit, or integers as times: what happens where nobody asked for another dtype.

    Raises:
        TypeRuleError: numbers would be made of times, or times of other numbers.
    """
    source = aval_of(x).dtype
    if dtype.kind not in "mM" or not (source.kind in "biu" or source.kind == dtype.kind):
        raise TypeRuleError(op="astype", problem=f"{source} does not become {dtype} by itself")
    return cast(x, dtype)


def rounded(x: Any) -> Any:
    """Floats as integers of times, towards zero; NaT for what is no number, or is too large."""
    c = ops.compare
    fits = c.and_(c.ge(x, np.float64(-(2.0**63))), c.lt(x, np.float64(2.0**63)))
    return c.select(fits, ops.create.convert(x, _I64), _like(NAT, x))


def _like(number: Any, x: Any) -> Any:
    shape = aval_of(x).shape
    return ops.shape.broadcast_to(number, shape) if shape else number


def instead(number: Any, where: Any, n: Any) -> Any:
    """`n` with one number in the places `where` holds."""
    return ops.compare.select(where, _like(number, n), n)


def otherwise(missing: Any, n: Any) -> Any:
    """The integers `n`, NaT where `missing` holds."""
    return instead(NAT, missing, n)


def _between(n: Any, source: np.dtype, target: np.dtype) -> Any:
    """Integers of times in the units of `source` in those of `target`."""
    (unit, count), (unit_to, count_to) = dtypes.unit_of(source), dtypes.unit_of(target)
    if source.kind != target.kind and (unit, count) != (unit_to, count_to):
        raise UnsupportedFunctionError(name=f"a cast from {source} to {target}")
    if (unit, count) == (unit_to, count_to):
        return n
    if source.kind == "M" and unit in _CALENDAR and unit_to in _CALENDAR:
        months = _times(_times(n, count), _CALENDAR[unit] if unit_to == "M" else 1)
        found = floor(floor(months, 12) if (unit, unit_to) == ("M", "Y") else months, count_to)
    elif (unit in _CALENDAR) == (unit_to in _CALENDAR):
        lengths = _CALENDAR if unit in _CALENDAR else _LENGTHS
        ratio = Fraction(lengths[unit] * count, lengths[unit_to] * count_to)
        found = _scaled(n, ratio.numerator, ratio.denominator)
    elif source.kind == "m":  # NumPy takes months and years to be as long as they are on average
        raise UnsupportedFunctionError(name=f"a cast from {source} to {target}")
    elif unit in _CALENDAR:
        found = _of_days(_first_day(_times(n, count), unit), unit_to, count_to)
    else:
        found = floor(_calendar(_days(_times(n, count), unit), unit_to), count_to)
    return otherwise(is_nat(n), found)


# ---------------------------------------------------------------- integers


def plus(a: Any, b: Any) -> Any:
    return ops.arithmetic.add(a, np.int64(b) if type(b) is int else b)


def _times(a: Any, k: int) -> Any:
    return a if k == 1 else ops.arithmetic.mul(a, np.int64(k))


def floor(a: Any, k: int) -> Any:
    """a // k of a known positive number."""
    return a if k == 1 else ops.arithmetic.floor_divide(a, np.int64(k))


def truncated(a: Any, b: Any) -> Any:
    """The quotient of integers towards zero, as C has it; 0 of what is divided by zero."""
    c, ar = ops.compare, ops.arithmetic
    q = ar.floor_divide(a, b)
    inexact = c.ne(ar.mul(q, b), a)
    below = c.ne(c.lt(a, np.int64(0)), c.lt(b, np.int64(0)))
    up = c.and_(c.and_(inexact, below), c.ne(b, np.int64(0)))
    return plus(q, ops.create.convert(up, _I64))


def _scaled(n: Any, num: int, den: int) -> Any:
    """n * num / den, downwards; what does not fit in 64 bits as in C."""
    product = _times(n, num)
    if den == 1:
        return product
    below = ops.compare.lt(n, np.int64(0))
    return truncated(
        ops.compare.select(below, plus(product, 1 - den), product), _like(np.int64(den), product)
    )


# ---------------------------------------------------------------- the calendar


def _days(n: Any, unit: str) -> Any:
    """The days of times in units of a fixed length."""
    length = _LENGTHS[unit]
    return _times(n, length // _DAY) if length >= _DAY else floor(n, _DAY // length)


def _of_days(days: Any, unit: str, count: int) -> Any:
    """The beginnings of days in units of a fixed length."""
    length = _LENGTHS[unit]
    return floor(floor(days, length // _DAY) if length >= _DAY else _times(days, _DAY // length), count)


def _first_day(n: Any, unit: str) -> Any:
    """The first days of years or months, which are counted from 1970."""
    years = n if unit == "Y" else floor(n, 12)
    # A year begins with March here, so that the day that some years have more is their last.
    if unit == "Y":
        month: Any = _like(np.int64(10), n)
        year = plus(years, 1969)
    else:
        january = ops.arithmetic.sub(n, _times(years, 12))  # 0 for January
        early = ops.create.convert(ops.compare.lt(january, np.int64(2)), _I64)
        month = plus(plus(january, -2), _times(early, 12))
        year = ops.arithmetic.sub(plus(years, 1970), early)
    if not isinstance(n, (np.ndarray, np.generic)):
        far = ops.compare.gt(ops.arithmetic.abs(n), np.int64(_FAR))
        fail_where(ops.compare.and_(far, ops.compare.not_(is_nat(n))), _Far())
    era = floor(year, 400)
    within = ops.arithmetic.sub(year, _times(era, 400))
    day = floor(plus(_times(month, 153), 2), 5)  # 31 30 31 30 31 | 31 30 31 30 31 | 31 29
    leap = ops.arithmetic.sub(floor(within, 4), floor(within, 100))
    day = plus(day, plus(_times(within, 365), leap))
    return plus(plus(_times(era, _ERA), day), -_TO_1970)


def _calendar(days: Any, unit: str) -> Any:
    """The years or months in which days lie, counted from 1970."""
    sub = ops.arithmetic.sub
    days = plus(days, -_TO_2000)
    era = floor(days, _ERA)
    day = plus(sub(days, _times(era, _ERA)), _ERA - 60)  # from 1 March on
    later = floor(day, _ERA)
    era = plus(plus(era, later), 4)
    day = sub(day, _times(later, _ERA))
    # Without the days that leap years have more, each year has 365.
    leaps = plus(sub(floor(day, 36524), floor(day, 1460)), _times(floor(day, _ERA - 1), -1))
    year = floor(plus(day, leaps), 365)
    day = sub(day, plus(_times(year, 365), sub(floor(year, 4), floor(year, 100))))
    month = floor(plus(_times(day, 5), 2), 153)  # 0 for March
    late = ops.create.convert(ops.compare.ge(month, np.int64(10)), _I64)
    year = plus(plus(plus(year, _times(era, 400)), late), -1970)
    if unit == "Y":
        return year
    return plus(_times(year, 12), sub(plus(month, 2), _times(late, 12)))
