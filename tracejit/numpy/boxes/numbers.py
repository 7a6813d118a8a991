"""Python's numbers: where their arithmetic does otherwise than NumPy's.

What stands for Python's numbers (`Box.weak`) is computed as NumPy computes it, in 64 bits. Where Python would raise or
give something else (a division by zero, a root that is complex, an integer that does not fit), a check ends the
program with one of the errors of `errors.numbers`. Checks that can't fail, by the ranges of their operands, are
not recorded: so the arithmetic of positions and sizes has none.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import (
    NumberDivisionError,
    NumberDomainError,
    NumberError,
    NumberRangeError,
    TracejitError,
)
from tracejit.interpreters.stage import StageTrace, bounds_of
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Var
from tracejit.ir.values import Value
from tracejit.records import record
from tracejit.tracing import Box, caller, to_raw

co, ar = ops.compare, ops.arithmetic
_I64, _F64 = dtypes.int64, dtypes.float64
_PYTHON = frozenset((bool, int, float, complex))
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_EXACT = 1 << 53  # integers below are exact as floats
#: What a product of three roundings gives for numbers that fit in 64 bits is surely below this.
_FAR = 2.0**63 - 2.0**20
_OPERATORS: dict[str, Callable[..., Any]] = {
    "divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod, "divmod": divmod,
    "power": operator.pow, "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge, "left_shift": operator.lshift, "right_shift": operator.rshift,
    "invert": operator.invert, "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
}  # fmt: skip
_SAMPLES: dict[str, Any] = {"b": True, "i": 1, "f": 1.0, "c": 1j}


def is_python(x: Any) -> bool:
    """Whether `x` is one of Python's numbers, or a box that stands for one."""
    return x.weak is True if type(x) is Box else type(x) in _PYTHON


def is_far(x: Any) -> bool:
    """Whether `x` is one of Python's integers that 64 bits don't hold."""
    return type(x) is int and not _LEAST <= x <= _MOST


@record(frozen=True)
class OneOfFailures:
    """Makes the exception of a check of several things; its index is the number of what was wrong, from 1 on."""

    failures: tuple[NumberFailure, ...]
    lanes: bool = True

    def printed(self, show: Callable[[Any], str]) -> str:
        return f"one_of({', '.join(map(show, self.failures))})"

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        return self.failures[details[0] - 1](details, where)


@record(frozen=True)
class NumberFailure:
    """Makes the exception of a check of Python's numbers. `lanes`: also of those of a vmap, whose results are arrays:
    there it is all the same whether a number is Python's or NumPy's."""

    error: type[TracejitError]
    message: str
    lanes: bool = True

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        return self.error(message=self.message, where=where)


def fail_if(bad: Any, error: type[TracejitError], message: str, lanes: bool = True) -> None:
    """Fail where the raw boolean `bad` holds: at once if it is known, else when the program runs."""
    if isinstance(bad, Value) or bad:
        bad = ops.create.convert(bad, _I64) if isinstance(bad, Value) else _I64.type(bad)
        ops.index_check.check_index(bad, size=1, axis=0, failure=NumberFailure(error, message, lanes))


def leave_if(bad: Any, what: str, lanes: bool = True) -> None:
    """Fail where only Python has the result."""
    fail_if(bad, NumberError, what, lanes)


def pythons_unless_any(turning: Any, what: str) -> None:
    """Leave the call to Python, which has `what`, unless a raw boolean in `turning` holds; nothing where Python could
    not do it over, as where something is differentiated."""
    if caller.does_over() and isinstance(turning, Value) and isinstance(turning.trace, StageTrace):
        some = ops.reduce.reduce_or(turning, axes=tuple(range(aval_of(turning).ndim)))
        leave_if(ops.compare.not_(some), what, lanes=False)


# ---------------------------------------------------------------- what may be


def limits(x: Any) -> tuple[int, int]:
    """The range of an integer or truth value."""
    if aval_of(x).dtype.kind == "b":
        return 0, 1
    return bounds_of(x) or (_LEAST, _MOST)


def _const(x: Any) -> Any:
    """The value of a raw number that is known now, else None."""
    return None if isinstance(x, Value) else np.asarray(x)[()]


def _float(x: Any) -> Any:
    return ops.create.convert(x, _F64) if isinstance(x, Value) else _F64.type(x)


def _kind(x: Any) -> str:
    return aval_of(x).dtype.kind


def all_hold(*tests: Any) -> Any:
    """Whether all hold; those that are known to hold cost nothing."""
    left = [t for t in tests if isinstance(t, Value) or not t]
    return functools.reduce(co.and_, left) if left else np.True_


def is_zero(x: Any) -> Any:
    if _kind(x) in "bi":
        low, high = limits(x)
        if low > 0 or high < 0:
            return np.False_
    return co.eq(x, aval_of(x).dtype.type(0))


def _is_negative(x: Any) -> Any:
    if _kind(x) in "bi" and limits(x)[0] >= 0:
        return np.False_
    return co.lt(x, aval_of(x).dtype.type(0))


# ---------------------------------------------------------------- operators


@functools.cache
def _refusal(name: str, kinds: str) -> Exception | None:
    """What Python says of operands of these kinds: of complex numbers that are ordered, of floats that are shifted."""
    fn = _OPERATORS.get(name)
    try:
        if fn is not None:
            fn(*(_SAMPLES[k] for k in kinds))
    except TypeError as e:
        return e
    return None


@functools.cache
def _division_message(name: str, kinds: str) -> str:
    """What Python says of a division by zero of numbers of these kinds."""
    x, y = (_SAMPLES[k] for k in kinds)
    try:
        _OPERATORS[name](x, type(y)(0) if name != "power" else y)
    except ZeroDivisionError as e:
        return str(e)
    return "division by zero"


def raws(name: str, args: Sequence[Any]) -> list[Any]:
    """Operands of a Python operator as raw values of their own types, an integer beyond 64 bits among floats as one
    of them. (Integers are compared with such by `Ufunc.apply`.)"""
    far = [a for a in args if is_far(a)]
    if not far:
        return [to_raw(a) for a in args]
    rest = [to_raw(a) for a in args if not is_far(a)]
    compared = _BEFORE.get(name) is _comparison
    whole = all(_kind(r) in "bi" for r in rest)
    if (whole and not compared) or (compared and not whole and any(int(float(a)) != a for a in far)):
        raise NumberError(message="an integer beyond 64 bits")
    return [_F64.type(a) if is_far(a) else to_raw(a) for a in args]


def before(name: str, xs: Sequence[Any]) -> None:
    """The checks of a Python operator's operands, which are raw and of their own types."""
    kinds = "".join(map(_kind, xs))
    refusal = _refusal(name, kinds)
    if refusal is not None:
        raise type(refusal)(*refusal.args)
    rule = _BEFORE.get(name)
    if rule is not None:
        rule(name, kinds, *xs)


def _division(name: str, kinds: str, x: Any, y: Any) -> None:
    fail_if(is_zero(y), NumberDivisionError, _division_message(name, kinds))
    if set(kinds) > {"f", "c"} or "f" in kinds or "c" in kinds:
        return
    if name == "divide":
        for n in (x, y):
            _exact_as_float(n, "a quotient of integers beyond 2**53")
    elif limits(x)[0] == _LEAST and limits(y)[0] < 0:
        leave_if(all_hold(co.eq(x, _I64.type(_LEAST)), co.eq(y, _I64.type(-1))), "an integer beyond 64 bits")


def _exact_as_float(n: Any, what: str) -> None:
    low, high = limits(n)
    if low <= -_EXACT or high >= _EXACT:
        leave_if(co.ge(ar.abs(_float(n)), _F64.type(_EXACT)), what)


def _comparison(name: str, kinds: str, x: Any, y: Any) -> None:
    """An integer and a float are compared exactly by Python, as floats by NumPy."""
    if ("f" in kinds or "c" in kinds) and "i" in kinds:
        _exact_as_float(x if kinds[0] == "i" else y, "a comparison of an integer beyond 2**53")


def _shift(name: str, kinds: str, x: Any, n: Any) -> None:
    fail_if(_is_negative(n), NumberDomainError, "negative shift count")
    if name == "left_shift" and limits(n)[1] > 62:
        leave_if(all_hold(co.gt(n, _I64.type(62)), co.ne(x, _I64.type(0))), "an integer beyond 64 bits")


def _power(name: str, kinds: str, x: Any, y: Any) -> None:
    if "f" not in kinds and "c" not in kinds:
        leave_if(_is_negative(y), "a negative power of an integer")
        return
    real = "c" not in kinds
    if real and (_const(y) is None or _const(y) < 0):
        zero = all_hold(is_zero(x), _is_negative(y))
        fail_if(zero, NumberDivisionError, "0.0 cannot be raised to a negative power")
    elif not real and _const(y) is None:
        leave_if(is_zero(x), "a complex power of zero")
    elif not real and (np.real(_const(y)) < 0 or np.imag(_const(y)) != 0):
        fail_if(is_zero(x), NumberDivisionError, "0.0 to a negative or complex power")
    if real and (_const(y) is None or _const(y) != np.floor(_const(y))):
        y = _float(y)
        whole = co.or_(co.eq(y, ar.floor(y)), co.not_(co.isfinite(y)))
        finite = co.ge(_float(x), _F64.type(-np.finfo(float).max))
        leave_if(all_hold(_is_negative(x), finite, co.not_(whole)), "a complex root")


def after(name: str, xs: Sequence[Any], result: Any) -> None:
    """The checks of a Python operator's result."""
    rule = _AFTER.get(name)
    if rule is not None:
        rule(*xs, result)


def _sum(sign: int) -> Callable[..., None]:
    """The check of x + y or x - y: by the other operand's range, if one of them is known to be small."""

    def rule(x: Any, y: Any, result: Any) -> None:
        if _kind(result) != "i" or (isinstance(result, Value) and bounds_of(result) is not None):
            return
        for n, (low, high), turned in ((x, limits(y), sign < 0), (y, limits(x), False)):
            if low > -(1 << 62) and high < 1 << 62 and (sign > 0 or n is x):
                low, high = (-high, -low) if turned else (low, high)
                _leave_outside(n, _LEAST - min(low, 0), _MOST - max(high, 0))
                return
        in_floats(x, y, result)

    in_floats = _in_floats(ar.add if sign > 0 else ar.sub)
    return rule


def _product(x: Any, y: Any, result: Any) -> None:
    """The check of x * y: by the range of one operand that is known to be small."""
    if _kind(result) != "i" or (isinstance(result, Value) and bounds_of(result) is not None):
        return
    for n, (low, high) in ((x, limits(y)), (y, limits(x))):
        most = max(-low, high)
        if most < 1 << 31:
            if most:
                _leave_outside(n, -(_MOST // most), _MOST // most)
                if isinstance(result, Var):  # known from here on: + 1 needs no check
                    result.bounds = -(_MOST // most) * most, _MOST // most * most
            return
    _in_floats(ar.mul)(x, y, result)


def _leave_outside(n: Any, least: int, most: int) -> None:
    low, high = limits(n)
    wrong = [co.lt(n, _I64.type(least))] if low < least else []
    wrong += [co.gt(n, _I64.type(most))] if high > most else []
    if wrong:
        leave_if(functools.reduce(co.or_, wrong), "an integer beyond 64 bits")


def _in_floats(fn: Callable[..., Any]) -> Callable[..., None]:
    """The check of integers: the same in floats is not near the end of 64 bits, or their ranges tell."""

    def rule(*operands: Any) -> None:
        *xs, result = operands
        if _kind(result) == "i" and (bounds_of(result) is None or not isinstance(result, Value)):
            with np.errstate(all="ignore"):
                size = ar.abs(fn(*map(_float, xs)))
                leave_if(co.not_(co.lt(size, _F64.type(_FAR))), "an integer beyond 64 bits")

    return rule


def _power_result(x: Any, y: Any, result: Any) -> None:
    if _kind(result) == "i":
        _in_floats(ar.pow)(x, y, result)
        return
    if _kind(result) == "c":
        lost = all_hold(co.not_(co.isfinite(result)), co.isfinite(_complex(x)), co.isfinite(_complex(y)))
        leave_if(lost, "a complex power that is not finite")
        return
    n = _const(y)
    if n is None or abs(n) > 1:
        lost = all_hold(
            co.isinf(result), co.isfinite(_float(x)), np.True_ if n is not None else co.isfinite(_float(y))
        )
        fail_if(lost, NumberRangeError, "(34, 'Numerical result out of range')")


def _complex(x: Any) -> Any:
    return ops.create.convert(x, np.dtype(complex)) if isinstance(x, Value) else np.complex128(x)


def _shifted(x: Any, n: Any, result: Any) -> None:
    known = _const(n)
    if known is None:
        _in_floats(lambda x, n: ar.mul(x, ar.pow(_F64.type(2), n)))(x, n, result)
    elif 0 <= known < 63 and _kind(result) == "i":
        _leave_outside(x, _LEAST >> int(known), _MOST >> int(known))


def _absolute_result(x: Any, result: Any) -> None:
    if _kind(x) == "c":
        fail_if(all_hold(co.isinf(result), co.isfinite(x)), NumberRangeError, "absolute value too large")
    else:
        _in_floats(lambda n: n)(x, result)


_BEFORE: dict[str, Any] = {
    **dict.fromkeys(("divide", "floor_divide", "remainder", "divmod"), _division),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"), _comparison),
    **dict.fromkeys(("left_shift", "right_shift"), _shift),
    "power": _power,
}
_AFTER: dict[str, Any] = {
    "add": _sum(1),
    "subtract": _sum(-1),
    "multiply": _product,
    "negative": _in_floats(lambda n: n),
    "absolute": _absolute_result,
    "left_shift": _shifted,
    "power": _power_result,
}


# ---------------------------------------------------------------- conversions


_NO_INTEGER = OneOfFailures((
    NumberFailure(NumberDomainError, "cannot convert float NaN to integer"),
    NumberFailure(NumberRangeError, "cannot convert float infinity to integer"),
))  # fmt: skip


def to_int(x: Any) -> Any:
    """`int(x)` of a raw number without dimensions."""
    if _kind(x) == "u":
        leave_if(
            co.gt(x, aval_of(x).dtype.type(min(_MOST, np.iinfo(aval_of(x).dtype).max))),
            "an integer beyond 64 bits",
        )
    elif _kind(x) not in "bi":
        wide = _float(x)
        which = co.select(co.isnan(wide), _I64.type(1), _I64.type(2))
        wrong = co.select(co.lt(ar.abs(wide), _F64.type(2.0**63)), _I64.type(0), which)
        if isinstance(wrong, Value) or wrong:  # one test for both
            ops.index_check.check_index(wrong, size=1, axis=0, failure=_NO_INTEGER)
    return ops.create.convert(x, _I64) if isinstance(x, Value) else np.asarray(x).astype(_I64)[()]


def rounded(x: Any, digits: int) -> Any:
    """`round(x, digits)` of a raw float: the float nearest to the decimal, exactly; left where a product that is
    rounded may be on the other side of a tie."""
    if digits == 0:
        return ar.rint(x)
    if abs(digits) > 22:
        raise NumberError(message=f"a decimal rounded to {digits} digits")
    power = _F64.type(10.0 ** abs(digits))
    scaled = ar.mul(x, power) if digits > 0 else ar.div(x, power)
    whole = ar.rint(scaled)
    off = ar.abs(ar.sub(ar.abs(ar.sub(scaled, whole)), _F64.type(0.5)))
    sure = all_hold(
        co.gt(off, ar.mul(ar.abs(scaled), _F64.type(2.0**-50))), co.lt(ar.abs(scaled), _F64.type(2.0**50))
    )
    leave_if(co.not_(sure), "a decimal rounding that is close to a tie")
    return ar.div(whole, power) if digits > 0 else ar.mul(whole, power)
