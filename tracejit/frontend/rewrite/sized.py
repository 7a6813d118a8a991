"""Integers of functions that Numba compiled: what Python computes of known ones must fit 64 bits, as in Numba's code,
which goes on with what is left of a greater one. Traced ones are looked at when the program runs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from tracejit.errors import UnfollowedError
from tracejit.frontend.rewrite.names import NAMES
from tracejit.tracing import STATE

_APPLY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "pow": operator.pow,
    "lshift": operator.lshift,
}


def sized(name: str, a: Any, b: Any) -> Any:
    """`a + b` and the like. Raises UnfollowedError for Python's integers of more than 64 bits in Numba's code."""
    if type(a) is not int or type(b) is not int or not (STATE.numbers or NAMES.one_type):
        return _APPLY[name](a, b)
    if name in ("pow", "lshift") and b > 64 and abs(a) > 1:
        raise _left()
    found = _APPLY[name](a, b)
    if type(found) is int and not (_fits(found) and _fits(a) and _fits(b)):
        raise _left()
    return found


def added(name: str, a: Any, b: Any) -> Any:
    """`b`, for `a += b` and the like, which is looked at likewise."""
    if type(a) is int and type(b) is int:
        sized(name, a, b)
    return b


def _fits(n: int) -> bool:
    return -(2**63) <= n < 2**63


def _left() -> UnfollowedError:
    return UnfollowedError(what="a function that Numba compiled", reason="an integer in it leaves 64 bits")
