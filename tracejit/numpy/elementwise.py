"""What every ufunc computes, on raw operands of one dtype, by primitives.

`TABLE`: NumPy's ufunc name -> function of raw values. A line is a primitive or
a short formula; formulas keep NumPy's edge values and have safe derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.numpy.dispatch import cast, dtype_of, filled, shape_of
from tracejit.ops import arithmetic as ar
from tracejit.ops import compare as co
from tracejit.ops import transcendental as tr

_LN2 = 0.6931471805599453
_BOOL = np.dtype(bool)


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
    """A comparison; of int64 with uint64 (NumPy has a loop for it) by float64 unless equal in kind."""

    def fn(x: Any, y: Any) -> Any:
        if dtype_of(x) != dtype_of(y):
            x, y = cast(x, np.dtype(float)), cast(y, np.dtype(float))
        return op(x, y)

    return fn


def _square(x: Any) -> Any:
    return ar.square(x)


def _float_power(x: Any, y: Any) -> Any:
    return ar.pow(x, y)


def _power(x: Any, y: Any) -> Any:
    return ar.pow(x, y)


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    return ar.floor_divide(x, y), ar.remainder(x, y)


def _modf(x: Any) -> tuple[Any, Any]:
    whole = ar.trunc(x)
    rest = co.select(co.isinf(x), _const(x, 0), ar.sub(x, co.select(co.isinf(x), _const(x, 0), whole)))
    return ar.copysign(rest, x), whole


def _invert(x: Any) -> Any:
    return co.not_(x)


def _hypot(x: Any, y: Any) -> Any:
    """Scaled by a constant, so that neither squares overflow nor derivatives see the scale."""
    m = ops.create.stop_gradient(ar.maximum(ar.abs(x), ar.abs(y)))
    usable = co.and_(co.gt(m, _const(m, 0)), co.isfinite(m))
    m1 = co.select(usable, m, _const(m, 1))
    r = ar.mul(m1, tr.sqrt(ar.add(ar.square(ar.div(x, m1)), ar.square(ar.div(y, m1)))))
    inf = co.or_(co.isinf(x), co.isinf(y))
    return co.select(inf, _const(x, np.inf), r)


def _logaddexp(x: Any, y: Any, exp: Callable[..., Any], log1p: Callable[..., Any]) -> Any:
    m = ar.maximum(x, y)
    d = co.select(co.eq(x, y), _const(x, 0), ar.sub(x, y))  # inf - inf
    return ar.add(m, log1p(exp(ar.neg(ar.abs(d)))))


def _log1p2(x: Any) -> Any:
    return ar.mul(tr.log1p(x), _const(x, 1 / _LN2))


def _arcsinh(x: Any) -> Any:
    if _is_complex(x):
        return tr.log(ar.add(x, tr.sqrt(ar.add(ar.square(x), _const(x, 1)))))
    a = ar.abs(x)
    big = co.gt(a, _const(x, 1e8 if dtype_of(x).itemsize > 4 else 1e3))
    s = co.select(big, _const(x, 1), a)
    small_part = tr.log1p(
        ar.add(s, ar.div(ar.square(s), ar.add(_const(x, 1), tr.sqrt(ar.add(ar.square(s), _const(x, 1))))))
    )
    big_part = ar.add(tr.log(co.select(big, a, _const(x, 1))), _const(x, _LN2))
    return ar.copysign(co.select(big, big_part, small_part), x)


def _arccosh(x: Any) -> Any:
    if _is_complex(x):
        one = _const(x, 1)
        return tr.log(ar.add(x, ar.mul(tr.sqrt(ar.add(x, one)), tr.sqrt(ar.sub(x, one)))))
    big = co.gt(x, _const(x, 1e8 if dtype_of(x).itemsize > 4 else 1e3))
    t = ar.sub(co.select(big, _const(x, 2), x), _const(x, 1))
    small_part = tr.log1p(ar.add(t, tr.sqrt(ar.add(ar.mul(t, _const(x, 2)), ar.square(t)))))
    big_part = ar.add(tr.log(co.select(big, x, _const(x, 1))), _const(x, _LN2))
    return co.select(big, big_part, small_part)


def _arctanh(x: Any) -> Any:
    one, half = _const(x, 1), _const(x, 0.5)
    if _is_complex(x):
        return ar.mul(half, ar.sub(tr.log(ar.add(one, x)), tr.log(ar.sub(one, x))))
    return ar.mul(half, ar.sub(tr.log1p(x), tr.log1p(ar.neg(x))))


def _complex_ln(fn: Callable[..., Any], base: float) -> Callable[..., Any]:
    """Logarithms to another base: the primitive for reals, a quotient of logs for complex numbers."""
    return lambda x: ar.mul(tr.log(x), _const(x, 1 / np.log(base))) if _is_complex(x) else fn(x)


def _round_real(op: Callable[..., Any]) -> Callable[..., Any]:
    """floor, ceil, trunc: the identity on integers, as in NumPy 2."""
    return lambda x: op(x) if _is_float(x) else x


def _rint(x: Any) -> Any:
    return ar.complex(ar.rint(ar.real(x)), ar.rint(ar.imag(x))) if _is_complex(x) else ar.rint(x)


def _heaviside(x: Any, h: Any) -> Any:
    zero, one = _const(x, 0), _const(x, 1)
    at_zero = co.select(co.isnan(x), _const(x, np.nan), h)
    return co.select(co.lt(x, zero), zero, co.select(co.gt(x, zero), one, at_zero))


def _test_inexact(op: Callable[..., Any], otherwise: bool) -> Callable[..., Any]:
    """isnan, isinf, isfinite: constant on integers and booleans."""

    def fn(x: Any) -> Any:
        if dtype_of(x).kind in "biu":
            return filled(otherwise, _BOOL, shape_of(x))
        return op(x)

    return fn


def _signbit(x: Any) -> Any:
    return co.signbit(x)


def _gcd(x: Any, y: Any) -> Any:
    """Euclid with as many steps as the dtype can need would be long; binary dtypes need at most 93."""
    x, y = ar.abs(x), ar.abs(y)
    one, zero = _const(x, 1), _const(x, 0)
    for _ in range(93 if dtype_of(x).itemsize == 8 else 47):
        safe = co.select(co.eq(y, zero), one, y)
        x, y = co.select(co.eq(y, zero), x, y), co.select(co.eq(y, zero), zero, ar.remainder(x, safe))
    return x


def _lcm(x: Any, y: Any) -> Any:
    g = _gcd(x, y)
    safe = co.select(co.eq(g, _const(g, 0)), _const(g, 1), g)
    return ar.abs(ar.mul(ar.floor_divide(x, safe), y))


def _scale(factor: float) -> Callable[..., Any]:
    return lambda x: ar.mul(x, _const(x, factor))


def _positive(x: Any) -> Any:
    return x


def _conj(x: Any) -> Any:
    return ar.conj(x) if _is_complex(x) else x


def _abs(x: Any) -> Any:
    return x if dtype_of(x).kind in "bu" else ar.abs(x)


def _ldexp(x: Any, n: Any) -> Any:
    return ar.mul(x, tr.exp2(cast(n, dtype_of(x))))


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
    "divmod": _divmod,
    "modf": _modf,
    "power": _power,
    "pow": _power,
    "float_power": _float_power,
    "negative": ar.neg,
    "positive": _positive,
    "absolute": _abs,
    "abs": _abs,
    "fabs": _abs,
    "sign": ar.sign,
    "reciprocal": ar.reciprocal,
    "square": _square,
    "sqrt": tr.sqrt,
    "cbrt": tr.cbrt,
    "exp": tr.exp,
    "exp2": tr.exp2,
    "expm1": tr.expm1,
    "log": tr.log,
    "log2": _complex_ln(tr.log2, 2),
    "log10": _complex_ln(tr.log10, 10),
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
    "arcsinh": _arcsinh,
    "asinh": _arcsinh,
    "arccosh": _arccosh,
    "acosh": _arccosh,
    "arctanh": _arctanh,
    "atanh": _arctanh,
    "hypot": _hypot,
    "logaddexp": lambda x, y: _logaddexp(x, y, tr.exp, tr.log1p),
    "logaddexp2": lambda x, y: _logaddexp(x, y, tr.exp2, _log1p2),
    "maximum": _by_kind(co.or_, ar.maximum),
    "minimum": _by_kind(co.and_, ar.minimum),
    "fmax": _by_kind(co.or_, ar.fmax),
    "fmin": _by_kind(co.and_, ar.fmin),
    "floor": _round_real(ar.floor),
    "ceil": _round_real(ar.ceil),
    "trunc": _round_real(ar.trunc),
    "rint": _rint,
    "conjugate": _conj,
    "conj": _conj,
    "copysign": ar.copysign,
    "heaviside": _heaviside,
    "deg2rad": _scale(np.pi / 180),
    "radians": _scale(np.pi / 180),
    "rad2deg": _scale(180 / np.pi),
    "degrees": _scale(180 / np.pi),
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
    "invert": _invert,
    "bitwise_not": _invert,
    "bitwise_invert": _invert,
    "left_shift": co.shift_left,
    "bitwise_left_shift": co.shift_left,
    "right_shift": co.shift_right,
    "bitwise_right_shift": co.shift_right,
    "isnan": _test_inexact(co.isnan, False),
    "isinf": _test_inexact(co.isinf, False),
    "isfinite": _test_inexact(co.isfinite, True),
    "signbit": _signbit,
    "gcd": _gcd,
    "lcm": _lcm,
    "ldexp": _ldexp,
}
