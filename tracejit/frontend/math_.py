"""The module `math` as traced code sees it: NumPy's functions for traced numbers, Python's own for others.

Like Python's, they compute in double precision and give Python's numbers. Where Python raises (the root of
a negative number), compiled code gives NumPy's value: nan or inf.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, numpy
from tracejit.control.staging import convert
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT
from tracejit.scipy import special
from tracejit.tracing import Box, box, to_raw

_SAME = (
    *("sqrt", "exp", "exp2", "expm1", "log2", "log10", "log1p", "cbrt", "fabs", "copysign", "fmod"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "degrees", "radians", "isnan", "isinf", "isfinite"),
)
_RENAMED = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "pow": "power",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}


def _number(x: Any) -> Any:
    """An argument in double precision; an array of one element is a number."""
    if type(x) is not Box:
        return x
    raw = to_raw(x.reshape(()) if x.aval.shape else x)
    return box(convert(raw, dtypes.float64), weak=True)


def _traced(name: str, form: Callable[..., Any]) -> Any:
    """`math.name` that also takes traced numbers."""
    plain = getattr(math, name)

    @functools.wraps(plain)
    def function(*args: Any) -> Any:
        if not any(type(x) is Box for x in args):
            return plain(*args)
        out = form(*map(_number, args))
        return box(to_raw(out), weak=True)

    return function


def _log(x: Any, base: Any = None) -> Any:
    return numpy.log(x) if base is None else numpy.log(x) / numpy.log(base)


def _hypot(*xs: Any) -> Any:
    return functools.reduce(numpy.hypot, xs[1:], numpy.abs(xs[0]))


def _integer(name: str) -> Callable[[Any], Any]:
    return lambda x: box(convert(to_raw(getattr(numpy, name)(x)), dtypes.int64), weak=True)


def _exact(name: str) -> Any:
    """`gcd` and the like, of integers."""
    plain, form = getattr(math, name), NUMPY_TO_TRACEJIT[getattr(np, name)]

    @functools.wraps(plain)
    def function(*args: Any) -> Any:
        if not any(type(x) is Box for x in args):
            return plain(*args)
        return functools.reduce(form, args)

    return function


def _forms() -> dict[str, Any]:
    found = {name: getattr(numpy, name) for name in _SAME if hasattr(numpy, name) and hasattr(math, name)}
    found |= {name: getattr(numpy, other) for name, other in _RENAMED.items()}
    found |= {"log": _log, "hypot": _hypot}
    found |= {name: _integer(name) for name in ("floor", "ceil", "trunc")}
    found |= {"erf": special.erf, "erfc": special.erfc, "gamma": special.gamma, "lgamma": special.gammaln}
    return {name: _traced(name, form) for name, form in found.items()}


namespace = types.SimpleNamespace(**_forms(), gcd=_exact("gcd"), lcm=_exact("lcm"))
