"""The module `math` as traced code sees it: NumPy's functions for traced numbers, Python's own for others.

Like Python's, they compute in double precision, give Python's numbers, and raise (`numpy.boxes.numbers`).
"""

from __future__ import annotations

import functools
import math
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, numpy, ops
from tracejit.control.regions.staging import convert
from tracejit.errors import NumberDivisionError, NumberDomainError, NumberError, NumberRangeError
from tracejit.ir.avals import aval_of, capacity
from tracejit.numpy import exact
from tracejit.numpy.boxes import numbers
from tracejit.numpy.boxes.conversions import class_name, class_of
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.numpy.fitting import judge_shape
from tracejit.numpy.lengths import padded
from tracejit.numpy.operands import has_box
from tracejit.numpy.ufuncs import int_like
from tracejit.scipy import special
from tracejit.tracing import Box, box, to_raw

_co, _ar = ops.compare, ops.arithmetic
_F64 = dtypes.float64

_SAME = (
    *("sqrt", "exp", "exp2", "expm1", "log2", "log10", "log1p", "cbrt", "fabs", "copysign", "fmod"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "degrees", "radians", "isnan", "isinf", "isfinite"),
)
_RENAMED = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "pow": "float_power",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}


#: Functions whose results are infinite because they are large; those of others have a pole there.
_GROWING = frozenset(("pow", "ldexp", "gamma"))
#: Which raise nothing.
_QUIET = frozenset(("copysign", "degrees", "fabs", "nextafter", "ulp", "isnan", "isinf", "isfinite", "erf", "erfc",
                    "hypot", "cbrt", "tanh", "atan", "atan2", "asinh", "radians"))  # fmt: skip


def _above(limit: float, size: Callable[[Any], Any] = lambda x: x) -> Callable[[Any], Any]:
    return lambda x: _co.gt(size(x), _F64.type(limit))


def _at_most(limit: float) -> Callable[[Any], Any]:
    return lambda x: _co.le(x, _F64.type(limit))


#: The numbers for which a function of one argument raises a domain error, and nothing else does: one comparison costs
#: less than looking at the result.
_OUTSIDE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("log", "log2", "log10"), _at_most(0)), "log1p": _at_most(-1),
    **dict.fromkeys(("sin", "cos", "tan"), _co.isinf), **dict.fromkeys(("asin", "acos"), _above(1, _ar.abs)),
    "sqrt": lambda x: _co.lt(x, _F64.type(0)), "acosh": lambda x: _co.lt(x, _F64.type(1)),
    "atanh": lambda x: _co.ge(_ar.abs(x), _F64.type(1)),
}  # fmt: skip


def _between(limit: float, size: Callable[[Any], Any] = lambda x: x) -> Callable[[Any], Any]:
    """Finite, and above a limit."""
    return lambda x: numbers.all_hold(_co.gt(size(x), _F64.type(limit)), _co.lt(size(x), _F64.type(math.inf)))


#: The numbers for which a function of one argument raises a range error, and nothing else does: those above the largest
#: one whose result, rounded, is finite.
_TOO_LARGE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("exp", "expm1"), _between(float.fromhex("0x1.62e42fefa39efp+9"))),
    **dict.fromkeys(("cosh", "sinh"), _between(float.fromhex("0x1.633ce8fb9f87dp+9"), _ar.abs)),
    "exp2": _between(math.nextafter(1024, 0)),
}


def _checked(name: str, xs: Sequence[Any], result: Any) -> None:
    """The checks of a function on raw floats: NaN of numbers is a domain error, infinity of finite ones a domain or a
    range error."""
    if name in _QUIET or aval_of(result).dtype.kind != "f":
        return
    if name in _OUTSIDE:
        numbers.fail_if(_OUTSIDE[name](xs[0]), NumberDomainError, "math domain error")
        return
    if name in _TOO_LARGE:
        numbers.fail_if(_TOO_LARGE[name](xs[0]), NumberRangeError, "math range error")
        return
    given = [_co.not_(_co.isnan(x)) for x in xs]
    lost = numbers.all_hold(_co.isnan(result), *given)
    numbers.fail_if(lost, NumberDomainError, "math domain error")
    if name in ("fmod", "remainder"):
        return
    infinite = numbers.all_hold(_co.isinf(result), *map(_co.isfinite, xs))
    if name == "pow":
        pole = numbers.all_hold(infinite, numbers.is_zero(xs[0]))
        numbers.fail_if(pole, NumberDomainError, "math domain error")
    if name in _GROWING:
        numbers.fail_if(infinite, NumberRangeError, "math range error")
    else:
        numbers.fail_if(infinite, NumberDomainError, "math domain error")


def _number(x: Any) -> Any:
    """An argument in double precision."""
    if type(x) is not Box:
        if isinstance(x, (list, tuple, dict, set, str, bytes, type(None))):
            raise TypeError(f"must be real number, not {type(x).__name__}")
        return x
    judge_shape(float, x)
    if x.aval.dtype.kind == "c":
        float(x)  # type: ignore[arg-type] # raises: what is told of complex numbers is Python's
    raw = to_raw(x.reshape(()) if x.aval.shape else x)
    return box(convert(raw, dtypes.float64), weak=True)


def _traced(name: str, form: Callable[..., Any]) -> Any:
    """`math.name` that also takes traced numbers."""
    plain = getattr(math, name)

    @functools.wraps(plain)
    def function(*args: Any) -> Any:
        if not any(type(x) is Box for x in args):
            return plain(*args)
        given = [_number(x) for x in args]
        with np.errstate(all="ignore"):
            out = to_raw(form(*given))
        _checked(name, [convert(to_raw(x), dtypes.float64) for x in given], out)
        return box(out, weak=True)

    return function


def _log(x: Any, base: Any = None) -> Any:
    if base is None:
        return numpy.log(x)
    base = base if type(base) is Box else float(base)
    lower = numpy.log(base)
    _checked("log", [to_raw(base)], to_raw(lower))
    numbers.fail_if(to_raw(lower == 0), NumberDivisionError, "division by zero")
    return numpy.log(x) / lower


def _hypot(*xs: Any) -> Any:
    return functools.reduce(numpy.hypot, xs[1:], numpy.abs(xs[0]))


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    """Infinities are close to themselves only."""
    a, b = _number(a), _number(b)
    size = numpy.maximum(rel_tol * numpy.maximum(numpy.abs(a), numpy.abs(b)), abs_tol)
    finite = numpy.isfinite(a) & numpy.isfinite(b)
    return (a == b) | (finite & (numpy.abs(a - b) <= size))


def _dist(p: Any, q: Any) -> Any:
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return _hypot(*(_number(a) - _number(b) for a, b in zip(p, q, strict=True)))


def _fsum(xs: Any) -> Any:
    """The correctly rounded sum."""
    if type(xs) is Box:
        if not xs.aval.shape:
            iter(xs)  # raises
        if (
            xs.ndim == 1 and xs.aval.dtype.kind != "c"
        ):  # each row, and each complex number, is judged by itself
            values = xs.astype(float)
            if not xs.aval.is_static:  # zeros add nothing
                values = box(padded(to_raw(values), capacity(values.aval.shape)))
            return exact.fsum(values) if len(values) else 0.0
    values = [_number(x) for x in xs]
    return exact.fsum(numpy.array(values, float)) if values else 0.0


def _remainder(x: Any, y: Any) -> Any:
    """x - n y for the integer n nearest to x / y, exactly, as CPython's m_remainder."""
    a, b = numpy.abs(x), numpy.abs(y)
    m = numpy.fmod(a, b)
    c = b - m
    tie = m - 2.0 * numpy.fmod(0.5 * (a - m), b)
    return numpy.copysign(1.0, x) * numpy.where(m < c, m, numpy.where(m > c, -c, tie))


def _frexp(x: Any) -> Any:
    m, e = numpy.frexp(x)
    return m, box(convert(to_raw(e), dtypes.int64), weak=True)


def _ldexp(x: Any, i: Any) -> Any:
    x = _number(x)
    if not isinstance(i, int) and not (type(i) is Box and i.weak and i.aval.dtype.kind in "bi"):
        raise TypeError("Expected an int as second argument to ldexp.")
    out = numpy.ldexp(x, i)
    _checked("ldexp", [to_raw(x)], to_raw(out))
    return out


def _weakly(plain: Callable[..., Any], form: Callable[..., Any]) -> Any:
    """`plain` for Python's numbers, `form` where an argument is traced or holds traced numbers."""

    @functools.wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple(tuple(a) if isinstance(a, Iterator) else a for a in args)
        if not has_box(args) and not has_box(kwargs.values()):
            return plain(*args, **kwargs)
        out = form(*args, **kwargs)
        return (
            tuple(box(to_raw(o), weak=True) for o in out)
            if type(out) is tuple
            else box(to_raw(out), weak=True)
        )

    return function


def _integer(name: str) -> Callable[[Any], Any]:
    """`floor` and the like, which give Python's integers."""
    plain = getattr(math, name)

    @functools.wraps(plain)
    def function(x: Any) -> Any:
        if type(x) is not Box:
            return plain(x)
        if not hasattr(class_of(x), f"__{name}__"):
            _no_method(x, name)
        exact = x.weak and x.aval.dtype.kind in "bi"
        return (
            int_like(x) if exact else box(numbers.to_int(to_raw(getattr(numpy, name)(_number(x)))), weak=True)
        )

    return function


def _no_method(x: Box, name: str) -> None:
    """`floor` and `ceil` take what is a float, `trunc` does not."""
    if name == "trunc":
        raise TypeError(f"type {class_name(x)} doesn't define __trunc__ method")


def _exact(name: str) -> Any:
    """`gcd` and the like, of integers: numbers of Python's, whatever the arguments are."""
    plain, form = getattr(math, name), {"gcd": _gcd, "lcm": _lcm}[name]

    @functools.wraps(plain)
    def function(*args: Any) -> Any:
        if not any(type(x) is Box for x in args):
            return plain(*args)
        for x in args:
            if type(x) is Box and (x.aval.shape or x.aval.dtype.kind not in ("biu" if x.weak else "iu")):
                raise TypeError(f"{class_name(x)!r} object cannot be interpreted as an integer")
        return functools.reduce(form, map(_magnitude, args))

    return function


def _magnitude(x: Any) -> Any:
    """The absolute value of an integer, as a traced number of Python's. Left to Python where 64 bits don't hold it."""
    if type(x) is not Box:
        x = operator.index(x)
        if abs(x) >= 2**63:
            raise NumberError(message="an integer beyond 64 bits")
    whole: Any = box(numbers.to_int(to_raw(x)), weak=True)
    return abs(whole)


def _gcd(x: Any, y: Any) -> Any:
    return box(to_raw(NUMPY_TO_TRACEJIT[np.gcd](x, y)), weak=True)


def _lcm(x: Any, y: Any) -> Any:
    """The product is one of Python's numbers, which is checked."""
    common = box(to_raw(NUMPY_TO_TRACEJIT[np.maximum](_gcd(x, y), 1)), weak=True)
    return (x // common) * y


def _forms() -> dict[str, Any]:
    found = {name: getattr(numpy, name) for name in _SAME if hasattr(numpy, name) and hasattr(math, name)}
    found |= {name: getattr(numpy, other) for name, other in _RENAMED.items()}
    found |= {"log": _log, "hypot": _hypot}
    found |= {"erf": special.erf, "erfc": special.erfc, "gamma": special.gamma, "lgamma": special.gammaln}
    found |= {
        "remainder": _remainder,
        "nextafter": numpy.nextafter,
        "ulp": lambda x: numpy.spacing(numpy.abs(x)),
    }
    others = {
        "isclose": _isclose,
        "dist": _dist,
        "fsum": _fsum,
        "modf": lambda x: numpy.modf(_number(x)),
        "frexp": lambda x: _frexp(_number(x)),
        "ldexp": _ldexp,
    }
    more = {name: _weakly(getattr(math, name), form) for name, form in others.items()}
    more |= {name: _integer(name) for name in ("floor", "ceil", "trunc")}
    return {name: _traced(name, form) for name, form in found.items()} | more


namespace = types.SimpleNamespace(**_forms(), gcd=_exact("gcd"), lcm=_exact("lcm"))
