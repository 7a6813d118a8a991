"""JAX's names for the operations that go element by element.

Operands have equal shapes and dtypes, or are 0-d; Python scalars adopt the
dtype of the others. (The functions of tracejit.numpy broadcast and promote.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops, tree
from tracejit.lax.wrapping import public, raw
from tracejit.ops import arithmetic as a
from tracejit.ops import compare as c
from tracejit.ops import create
from tracejit.ops import transcendental as t
from tracejit.tracing import to_raw, wrap

abs = public(a.abs)
add = public(a.add)
sub = public(a.sub)
mul = public(a.mul)
div = public(a.div)
neg = public(a.neg)
sign = public(a.sign)
pow = public(a.pow)
rem = public(a.fmod)
max = public(a.maximum)
min = public(a.minimum)
square = public(a.square)
reciprocal = public(a.reciprocal)
floor = public(a.floor)
ceil = public(a.ceil)
real = public(a.real)
imag = public(a.imag)
conj = public(a.conj)
complex = public(a.complex)

eq, ne, lt, le, gt, ge = (public(f) for f in (c.eq, c.ne, c.lt, c.le, c.gt, c.ge))
bitwise_and, bitwise_or, bitwise_xor, bitwise_not = (public(f) for f in (c.and_, c.or_, c.xor, c.not_))
shift_left, shift_right_arithmetic = public(c.shift_left), public(c.shift_right)
is_finite = public(c.isfinite)

exp, exp2, log, log1p, expm1 = (public(f) for f in (t.exp, t.exp2, t.log, t.log1p, t.expm1))
sin, cos, tan, tanh, sinh, cosh = (public(f) for f in (t.sin, t.cos, t.tan, t.tanh, t.sinh, t.cosh))
asin, acos, atan, atan2 = (public(f) for f in (t.arcsin, t.arccos, t.arctan, t.arctan2))
sqrt, cbrt, erf, logistic = (public(f) for f in (t.sqrt, t.cbrt, t.erf, t.logistic))

_stop_gradient = public(create.stop_gradient)


@public
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return a.reciprocal(t.sqrt(x))


@public
def erfc(x: Any) -> Any:
    """1 - erf(x)."""
    return a.sub(1, t.erf(x))


@public
def round(x: Any, rounding_method: Any = None) -> Any:
    """To the nearest integer, halfway cases to even ones."""
    return a.rint(x)


def integer_pow(x: Any, y: int) -> Any:
    """`x ** y` for a constant integer y."""
    return wrap(a.integer_pow(raw(x), n=int(y)))


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where `pred` holds, else `on_false`."""
    return wrap(c.select(raw(pred), raw(on_true), raw(on_false)))


def select_n(which: Any, *cases: Any) -> Any:
    """`cases[which]` element by element; `which` is boolean for two cases, else an integer."""
    index = raw(which)
    values = [raw(x) for x in cases]
    if ops.helpers.dtype_of(index) == np.bool_:
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
