"""JAX's names for the operations that go element by element.

Operands have equal shapes and dtypes, or are 0-d; Python scalars adopt the
dtype of the others. (The functions of tracejit.numpy broadcast and promote.)
"""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops, tree
from tracejit.errors import ArgumentError, TypeRuleError
from tracejit.lax.wrapping import public, raw
from tracejit.ops.building.helpers import dtype_of, kind, lift, shape_of
from tracejit.ops.creation import create
from tracejit.ops.elementwise import arithmetic as a
from tracejit.ops.elementwise import bitcasts, floats, integers, inverse
from tracejit.ops.elementwise import compare as c
from tracejit.ops.elementwise import transcendental as t
from tracejit.tracing import to_raw, wrap


class RoundingMethod(enum.IntEnum):
    """What `round` does with halfway cases."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _unary(fn: Callable[..., Any]) -> Callable[..., Any]:
    return public(fn, names="x")


def _binary(fn: Callable[..., Any]) -> Callable[..., Any]:
    return public(fn, names="x y")


def _tunable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`_unary(fn)`, taking JAX's `accuracy=`, which means nothing here: there is one accuracy, the best."""
    inner = _unary(fn)

    @functools.wraps(fn)
    def call(x: Any, *, accuracy: Any = None) -> Any:
        return inner(x)

    call.__signature__ = _TUNABLE  # type: ignore[attr-defined]
    return call


_TUNABLE = inspect.signature(lambda x, *, accuracy=None: x)

abs, neg, sign, square, reciprocal = (_unary(f) for f in (a.abs, a.neg, a.sign, a.square, a.reciprocal))
floor, ceil, real, imag = (_unary(f) for f in (a.floor, a.ceil, a.real, a.imag))
add, sub, mul, max, min = (_binary(f) for f in (a.add, a.sub, a.mul, a.maximum, a.minimum))
complex = _binary(a.complex)

eq, ne, lt, le, gt, ge = (_binary(f) for f in (c.eq, c.ne, c.lt, c.le, c.gt, c.ge))
bitwise_and, bitwise_or, bitwise_xor = (_binary(f) for f in (c.and_, c.or_, c.xor))
bitwise_not, is_finite = _unary(c.not_), _unary(c.isfinite)
shift_left, shift_right_arithmetic = _binary(c.shift_left), _binary(c.shift_right)

shift_right_logical = _binary(integers.shift_right_logical)
population_count, clz = _unary(integers.population_count), _unary(integers.clz)

exp, exp2, log, log1p, expm1 = (_tunable(f) for f in (t.exp, t.exp2, t.log, t.log1p, t.expm1))
sin, cos, tan, tanh = (_tunable(f) for f in (t.sin, t.cos, t.tan, t.tanh))
sqrt, cbrt, rsqrt, logistic = (_tunable(f) for f in (t.sqrt, t.cbrt, inverse.rsqrt, t.logistic))
sinh, cosh, erf = _unary(t.sinh), _unary(t.cosh), _unary(t.erf)
asin, acos, atan, atan2 = _unary(t.arcsin), _unary(t.arccos), _unary(t.arctan), _binary(t.arctan2)
asinh, acosh, atanh = (_unary(f) for f in (inverse.arcsinh, inverse.arccosh, inverse.arctanh))
nextafter = public(floats.nextafter, names="x1 x2")

_stop_gradient = public(create.stop_gradient)


def _is_integer(x: Any) -> bool:
    return type(x) is not float and kind(dtype_of(x)) in "iu"


def _pair(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands, a Python scalar with the other's dtype."""
    return lift(x, y), lift(y, x)


@public
def div(x: Any, y: Any) -> Any:
    """x / y; of integers the quotient towards zero, and -1 where y is 0, as XLA has it."""
    x, y = _pair(x, y)
    if not (_is_integer(x) and _is_integer(y)):
        return a.div(x, y)
    divisor, zero = _safe_divisor(x, y)
    quotient = a.floor_divide(a.sub(x, a.fmod(x, divisor)), divisor)
    if kind(dtype_of(x)) == "i":
        minus_one = _full(c.eq(y, -1), quotient)
        quotient = c.select(minus_one, _full(a.neg(x), quotient), quotient)
    lost = np.int64(-1).astype(dtype_of(quotient))
    return c.select(_full(zero, quotient), lost, quotient)


def _safe_divisor(x: Any, y: Any) -> tuple[Any, Any]:
    """(y, or 1 where dividing by it would trap or warn; where it is 0)."""
    zero = c.eq(y, 0)
    trouble = c.or_(zero, c.eq(y, -1)) if kind(dtype_of(y)) == "i" else zero
    return c.select(trouble, lift(1, y), y), zero


@public
def rem(x: Any, y: Any) -> Any:
    """The remainder with the sign of x; x itself for integers where y is 0."""
    x, y = _pair(x, y)
    if not (_is_integer(x) and _is_integer(y)):
        return a.fmod(x, y)
    divisor, zero = _safe_divisor(x, y)
    out = a.fmod(x, divisor)
    return c.select(_full(zero, out), _full(x, out), out)


def _full(x: Any, like: Any) -> Any:
    """A 0-d operand with the shape of `like`."""
    return x if shape_of(x) == shape_of(like) else ops.shape.broadcast_to(x, shape_of(like))


@public
def pow(x: Any, y: Any) -> Any:
    """x ** y; y may be an integer where x is not."""
    x, y = _pair(x, y)
    if dtypes.is_inexact(dtype_of(x)) and _is_integer(y):
        y = create.convert(y, dtype_of(x))
    return a.pow(x, y)


@public
def conj(x: Any) -> Any:
    """The complex conjugate; of real numbers as complex ones."""
    x = lift(x, np.dtype(float))
    return a.conj(x) if kind(dtype_of(x)) == "c" else a.conj(a.complex(x, 0))


@public
def reduce_precision(operand: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """`operand` rounded as a format of so many bits would hold it, in its own dtype."""
    return floats.reduce_precision(operand, exponent_bits=exponent_bits, mantissa_bits=mantissa_bits)


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of `operand` as `new_dtype`: with a new last axis for a narrower dtype, without for a wider.

    Raises:
        TypeRuleError: a complex dtype.
        ShapeError: the last axis does not hold one element of the wider dtype.
    """
    return wrap(bitcasts.bitcast_convert(to_raw(operand), dtype=new_dtype))


@public
def round(x: Any, rounding_method: Any = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """To the nearest integer; halfway cases away from zero, or to even ones with `TO_NEAREST_EVEN`.

    Raises:
        ArgumentError: an unknown method.
    """
    try:
        method = RoundingMethod(rounding_method)
    except ValueError:
        raise ArgumentError(name="round", problem=f"unknown rounding method {rounding_method!r}") from None
    if method is RoundingMethod.TO_NEAREST_EVEN:
        return a.rint(x)
    x = lift(x, np.dtype(float))
    finite = c.isfinite(x)
    safe = c.select(finite, x, lift(0, x))
    whole = a.trunc(safe)
    step = a.copysign(c.select(c.ge(a.abs(a.sub(safe, whole)), 0.5), lift(1, x), lift(0, x)), safe)
    return c.select(finite, a.add(whole, step), x)


def integer_pow(x: Any, y: int) -> Any:
    """`x ** y` for a constant integer y."""
    return wrap(a.integer_pow(raw(x), n=int(y)))


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where `pred` holds, else `on_false`."""
    if dtype_of(raw(pred)) != np.bool_:
        problem = f"the predicate is {dtype_of(raw(pred))}, not bool; lax.select_n picks by integers"
        raise TypeRuleError(op="select", problem=problem)
    return wrap(c.select(raw(pred), raw(on_true), raw(on_false)))


def select_n(which: Any, *cases: Any) -> Any:
    """`cases[which]` element by element; `which` is boolean for two cases, else an integer."""
    index = raw(which)
    values = [raw(x) for x in cases]
    if dtype_of(index).kind not in "biu":
        raise TypeRuleError(op="select_n", problem=f"which is {dtype_of(index)}, not bool or an integer")
    if dtype_of(index) == np.bool_:
        return wrap(c.select(index, values[1], values[0])) if len(values) == 2 else wrap(values[0])
    out = values[-1]
    for n in range(len(values) - 2, -1, -1):
        out = c.select(c.le(index, n), values[n], out)
    return wrap(out)


def clamp(min: Any, x: Any, max: Any) -> Any:
    """`x` limited to [min, max] (JAX's order of arguments)."""
    return wrap(c.clamp(raw(x), raw(min), raw(max)))


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """`operand` with another dtype."""
    return wrap(create.convert(to_raw(operand), dtypes.canonical(new_dtype)))


def stop_gradient(x: Any) -> Any:
    """The leaves of `x` as constants to differentiation."""
    return tree.map(_stop_gradient, x)
