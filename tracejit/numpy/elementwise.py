"""What every ufunc computes, on raw operands of one dtype, by primitives.

`TABLE`: NumPy's ufunc name -> function of raw values. A line is a primitive or
a short formula; formulas keep NumPy's edge values and have safe derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.values import Value
from tracejit.numpy.operands import cast, dtype_of, filled, shape_of
from tracejit.ops.elementwise import arithmetic as ar
from tracejit.ops.elementwise import compare as co
from tracejit.ops.elementwise import floats as fl
from tracejit.ops.elementwise import integers as it
from tracejit.ops.elementwise import inverse as inv
from tracejit.ops.elementwise import transcendental as tr
from tracejit.ops.shapes.broadcast import broadcast_to

_BOOL = np.dtype(bool)
_LOG2_E, _LOG10_E = 1.4426950408889634, 0.4342944819032518


def _by_kind(boolean: Callable[..., Any], other: Callable[..., Any]) -> Callable[..., Any]:
    """`boolean` for booleans, `other` for everything else."""
    return lambda x, *rest: boolean(x, *rest) if dtype_of(x) == _BOOL else other(x, *rest)


def truth(x: Any) -> Any:
    d = dtype_of(x)
    return x if d == _BOOL else co.ne(x, d.type(0))


def _logical(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: op(*map(truth, xs))


def _is_complex(x: Any) -> bool:
    return dtype_of(x).kind == "c"


def _is_float(x: Any) -> bool:
    return dtype_of(x).kind not in "biuc"


def _const(x: Any, value: Any) -> Any:
    return dtype_of(x).type(value)


def _compare(op: Callable[..., Any]) -> Callable[..., Any]:
    """A comparison; of int64 with uint64 (NumPy has a loop for it) by sign, then as unsigned numbers."""

    def fn(x: Any, y: Any) -> Any:
        if dtype_of(x) == dtype_of(y):
            return op(x, y)
        signed, smaller = (x, True) if dtype_of(x).kind == "i" else (y, False)
        ordered = op(*map(np.int64, (-1, 0) if smaller else (0, -1)))
        below = co.lt(signed, _const(signed, 0))
        unsigned = np.dtype(np.uint64)
        return co.select(below, ordered, op(cast(x, unsigned), cast(y, unsigned)))

    return fn


def _complex_ln(fn: Callable[..., Any], factor: float) -> Callable[..., Any]:
    """Logarithms to another base: the primitive for reals, log times a real number for complex numbers."""

    def of(x: Any) -> Any:
        if not _is_complex(x):
            return fn(x)
        z = tr.log(x)  # each part by itself: as complex numbers, inf * 0 would be NaN
        re, im = ar.real(z), ar.imag(z)
        return ar.complex(ar.mul(re, _const(re, factor)), ar.mul(im, _const(im, factor)))

    return of


def _round_real(op: Callable[..., Any]) -> Callable[..., Any]:
    """floor, ceil, trunc: the identity on integers, as in NumPy 2."""
    return lambda x: op(x) if _is_float(x) else x


def _test_inexact(op: Callable[..., Any], otherwise: bool) -> Callable[..., Any]:
    """isnan, isinf, isfinite: constant on integers and booleans."""

    def fn(x: Any) -> Any:
        if dtype_of(x).kind in "biu":
            return filled(otherwise, _BOOL, shape_of(x))
        return op(x)

    return fn


def _scale(top: float, bottom: float) -> Callable[..., Any]:
    """x * (top / bottom), the factor in x's precision; half precision in float32, as NumPy computes it."""

    def of(x: Any) -> Any:
        d = dtype_of(x)
        if d.itemsize == 2:
            return cast(of(cast(x, np.dtype(np.float32))), d)
        return ar.mul(x, d.type(top) / d.type(bottom))

    return of


def _positive(x: Any) -> Any:
    return x


def _conj(x: Any) -> Any:
    return ar.conj(x) if _is_complex(x) else x


def _abs(x: Any) -> Any:
    return x if dtype_of(x).kind in "bu" else ar.abs(x)


def _lexicographic(op: Callable[..., Any], wins: Callable[..., Any]) -> Callable[..., Any]:
    """fmax, fmin; of complex numbers, in their lexicographic order."""

    def of(x: Any, y: Any) -> Any:
        if not _is_complex(x):
            return op(x, y)
        first = co.or_(co.isnan(y), wins(x, y))
        return co.select(co.and_(first, co.not_(co.isnan(x))), x, y)

    return of


def power(x: Any, y: Any) -> Any:
    """x ** y."""
    return ar.pow(x, y)


def power_of_one(x: Any, y: Any) -> Any:
    """x ** y where `y` is one number for all of `x`. If that is one half, NumPy's loops for float32 and float64 take
    the square root, which is NaN of -inf and keeps the sign of zero."""
    d = dtype_of(x)
    if d.name not in ("float32", "float64"):
        return ar.pow(x, y)
    if not isinstance(y, Value) and np.ndim(y) == 0:
        return tr.sqrt(x) if y == 0.5 else ar.pow(x, y)
    apart = co.or_(co.eq(x, d.type(0)), co.eq(x, d.type(-np.inf)))
    half = co.eq(y, d.type(0.5))
    if shape_of(apart) and not shape_of(half):
        half = broadcast_to(half, shape_of(apart))
    return co.select(co.and_(apart, half), tr.sqrt(x), ar.pow(x, y))


def is_one(x: Any, y: Any) -> bool:
    """Whether NumPy takes the exponent `y` for one number, when it raises `x` to it."""
    of, by = shape_of(x), shape_of(y)
    return not by or (len(of) > 0 and of != by and all(type(d) is int and d == 1 for d in by))


def root_of_number(x: Any) -> Any:
    """x ** 0.5 of a number, Python's or NumPy's: 0 of -0 and inf of -inf, otherwise the square root."""
    d = dtype_of(x)
    return co.select(co.eq(x, d.type(-np.inf)), d.type(np.inf), ar.add(tr.sqrt(x), d.type(0)))


TABLE: dict[str, Callable[..., Any]] = {
    "add": _by_kind(co.or_, ar.add),
    "subtract": ar.sub,
    "multiply": _by_kind(co.and_, ar.mul),
    "divide": ar.div,
    "true_divide": ar.div,
    "floor_divide": ar.floor_divide,
    "remainder": ar.remainder,
    "mod": ar.remainder,
    "fmod": ar.fmod,
    "divmod": fl.divmod,
    "modf": fl.modf,
    "power": power,
    "pow": power,
    "float_power": ar.pow,
    "negative": ar.neg,
    "positive": _positive,
    "absolute": _abs,
    "abs": _abs,
    "fabs": _abs,
    "sign": ar.sign,
    "reciprocal": ar.reciprocal,
    "square": ar.square,
    "sqrt": tr.sqrt,
    "cbrt": tr.cbrt,
    "exp": tr.exp,
    "exp2": tr.exp2,
    "expm1": tr.expm1,
    "log": tr.log,
    "log2": _complex_ln(tr.log2, _LOG2_E),
    "log10": _complex_ln(tr.log10, _LOG10_E),
    "log1p": tr.log1p,
    "sin": tr.sin,
    "cos": tr.cos,
    "tan": tr.tan,
    "arcsin": tr.arcsin,
    "asin": tr.arcsin,
    "arccos": tr.arccos,
    "acos": tr.arccos,
    "arctan": tr.arctan,
    "atan": tr.arctan,
    "arctan2": tr.arctan2,
    "atan2": tr.arctan2,
    "sinh": tr.sinh,
    "cosh": tr.cosh,
    "tanh": tr.tanh,
    "arcsinh": inv.arcsinh,
    "asinh": inv.arcsinh,
    "arccosh": inv.arccosh,
    "acosh": inv.arccosh,
    "arctanh": inv.arctanh,
    "atanh": inv.arctanh,
    "hypot": inv.hypot,
    "logaddexp": inv.logaddexp,
    "logaddexp2": inv.logaddexp2,
    "maximum": _by_kind(co.or_, ar.maximum),
    "minimum": _by_kind(co.and_, ar.minimum),
    "fmax": _by_kind(co.or_, _lexicographic(ar.fmax, co.ge)),
    "fmin": _by_kind(co.and_, _lexicographic(ar.fmin, co.le)),
    "floor": _round_real(ar.floor),
    "ceil": _round_real(ar.ceil),
    "trunc": _round_real(ar.trunc),
    "rint": ar.rint,
    "conjugate": _conj,
    "conj": _conj,
    "copysign": ar.copysign,
    "heaviside": inv.heaviside,
    "deg2rad": _scale(np.pi, 180),
    "radians": _scale(np.pi, 180),
    "rad2deg": _scale(180, np.pi),
    "degrees": _scale(180, np.pi),
    "equal": _compare(co.eq),
    "not_equal": _compare(co.ne),
    "less": _compare(co.lt),
    "less_equal": _compare(co.le),
    "greater": _compare(co.gt),
    "greater_equal": _compare(co.ge),
    "logical_and": _logical(co.and_),
    "logical_or": _logical(co.or_),
    "logical_xor": _logical(co.xor),
    "logical_not": _logical(co.not_),
    "bitwise_and": co.and_,
    "bitwise_or": co.or_,
    "bitwise_xor": co.xor,
    "invert": co.not_,
    "bitwise_not": co.not_,
    "bitwise_invert": co.not_,
    "left_shift": co.shift_left,
    "bitwise_left_shift": co.shift_left,
    "right_shift": co.shift_right,
    "bitwise_right_shift": co.shift_right,
    "isnan": _test_inexact(co.isnan, False),
    "isnat": co.isnan,  # of times only, which have rules of their own
    "isinf": _test_inexact(co.isinf, False),
    "isfinite": _test_inexact(co.isfinite, True),
    "signbit": co.signbit,
    "gcd": it.gcd,
    "lcm": it.lcm,
    "ldexp": fl.ldexp,
    "frexp": fl.frexp,
    "nextafter": fl.nextafter,
    "spacing": fl.spacing,
    "bitwise_count": it.bitwise_count,
}
