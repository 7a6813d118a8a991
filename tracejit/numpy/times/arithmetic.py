"""NumPy's ufuncs of times, as its loops compute them: NaT of NaT, and of what has no answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import UnsupportedFunctionError
from tracejit.ir.avals import aval_of
from tracejit.numpy.times.units import NAT, bits, instead, is_nat, of_bits, otherwise, rounded, truncated

_I64, _F64 = dtypes.int64, dtypes.float64
_ZERO = np.int64(0)


def applied(name: str, loop: tuple[np.dtype, ...], raws: list[Any]) -> Any:
    """What the ufunc of this name gives, whose loop takes and gives these dtypes."""
    kinds = "".join(d.kind for d in loop[: len(raws)])
    rule = _RULES.get(name)
    if rule is None:
        raise UnsupportedFunctionError(name=f"numpy.{name} of dates and times")
    known = [bits(r) if k in "mM" else r for r, k in zip(raws, kinds, strict=True)]
    found = rule(kinds, *known)
    results = found if type(found) is tuple else (found,)
    made = [of_bits(r, d) if d.kind in "mMi" else r for r, d in zip(results, loop[len(raws) :], strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def _missing(a: Any, b: Any) -> Any:
    return ops.compare.or_(is_nat(a), is_nat(b))


def _sum(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda kinds, a, b: otherwise(_missing(a, b), op(a, b))


def _real(n: Any) -> Any:
    return ops.create.convert(n, _F64)


def _multiply(kinds: str, a: Any, b: Any) -> Any:
    time, other = (a, b) if kinds[0] == "m" else (b, a)
    if "f" in kinds:
        found = rounded(ops.arithmetic.mul(_real(time), other))
    else:
        found = ops.arithmetic.mul(time, other)
    return otherwise(is_nat(time), found)


def _divide(kinds: str, a: Any, b: Any) -> Any:
    c = ops.compare
    if kinds == "mm":
        return instead(np.float64(np.nan), _missing(a, b), ops.arithmetic.div(_real(a), _real(b)))
    if kinds[1] == "f":
        return otherwise(is_nat(a), rounded(ops.arithmetic.div(_real(a), b)))
    return otherwise(c.or_(is_nat(a), c.eq(b, _ZERO)), truncated(a, b))


def _floor_divide(kinds: str, a: Any, b: Any) -> Any:
    c = ops.compare
    if kinds != "mm":  # by numbers, NumPy divides towards zero here too
        return _divide(kinds, a, b)
    return instead(_ZERO, c.or_(_missing(a, b), c.eq(b, _ZERO)), ops.arithmetic.floor_divide(a, b))


def _remainder(kinds: str, a: Any, b: Any) -> Any:
    none = ops.compare.or_(_missing(a, b), ops.compare.eq(b, _ZERO))
    return otherwise(none, ops.arithmetic.remainder(a, b))


def _compare(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda kinds, a, b: ops.compare.and_(ops.compare.not_(_missing(a, b)), op(a, b))


def _not_equal(kinds: str, a: Any, b: Any) -> Any:
    return ops.compare.or_(_missing(a, b), ops.compare.ne(a, b))


def _maximum(kinds: str, a: Any, b: Any) -> Any:
    return otherwise(_missing(a, b), ops.arithmetic.maximum(a, b))


def _minimum(kinds: str, a: Any, b: Any) -> Any:
    return ops.arithmetic.minimum(a, b)  # NaT is the smallest


def _fmin(kinds: str, a: Any, b: Any) -> Any:
    c = ops.compare
    shape = aval_of(a).shape or aval_of(b).shape
    a, b = (ops.shape.broadcast_to(x, shape) if shape and not aval_of(x).shape else x for x in (a, b))
    return c.select(is_nat(a), b, c.select(is_nat(b), a, ops.arithmetic.minimum(a, b)))


_RULES: dict[str, Callable[..., Any]] = {
    "add": _sum(ops.arithmetic.add),
    "subtract": _sum(ops.arithmetic.sub),
    "multiply": _multiply,
    "divide": _divide,
    "true_divide": _divide,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "mod": _remainder,
    "divmod": lambda kinds, a, b: (_floor_divide(kinds, a, b), _remainder(kinds, a, b)),
    "negative": lambda kinds, a: ops.arithmetic.neg(a),
    "positive": lambda kinds, a: a,
    "absolute": lambda kinds, a: ops.arithmetic.abs(a),
    "sign": lambda kinds, a: ops.arithmetic.sign(a),
    "minimum": _minimum,
    "maximum": _maximum,
    "fmin": _fmin,
    "fmax": lambda kinds, a, b: ops.arithmetic.maximum(a, b),
    "equal": _compare(ops.compare.eq),
    "not_equal": _not_equal,
    "less": _compare(ops.compare.lt),
    "less_equal": _compare(ops.compare.le),
    "greater": _compare(ops.compare.gt),
    "greater_equal": _compare(ops.compare.ge),
    "isnat": lambda kinds, a: is_nat(a),
    "isnan": lambda kinds, a: is_nat(a),
    "isfinite": lambda kinds, a: ops.compare.ne(a, NAT),
    "isinf": lambda kinds, a: ops.compare.and_(is_nat(a), ops.compare.ne(a, NAT)),
}
