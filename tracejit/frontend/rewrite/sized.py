"""Python's integers of which only the low bits are read: sums, products and shifts before a mask or modulus.

    h = (h * 0x85EBCA6B) & 0xFFFFFFFF

The product may have more than 64 bits, but what is read of it depends on the low bits of its operands only. So the
program computes it modulo 2**64, where otherwise it would look whether it fits, and leave the call to Python. What
stands for such a number in the meantime goes from one operator of the expression to the next: nobody else sees it.
Where something else is read of it, it is computed as it is written.

Integers of functions that Numba compiled: what Python computes of known ones must fit 64 bits, as in Numba's code,
which goes on with what is left of a greater one. Traced ones are looked at when the program runs."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import UnfollowedError
from tracejit.frontend.rewrite.hooks import texts
from tracejit.frontend.rewrite.names import NAMES
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.jaxpr import Var
from tracejit.ir.values import Value
from tracejit.numpy.boxes.numbers import limits
from tracejit.numpy.boxes.unsure import is_unsure
from tracejit.tracing import STATE, Box, box, current_trace

_SIZED: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "pow": operator.pow,
    "lshift": operator.lshift,
}


def sized(name: str, a: Any, b: Any) -> Any:
    """`a + b` and the like. Raises UnfollowedError for Python's integers of more than 64 bits in Numba's code."""
    if type(a) is not int or type(b) is not int or not (STATE.numbers or NAMES.one_type):
        return _SIZED[name](a, b)
    if name in ("pow", "lshift") and b > 64 and abs(a) > 1:
        raise _left()
    found = _SIZED[name](a, b)
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


# ---------------------------------------------------------------- low bits

_I64, _U64 = np.dtype(np.int64), np.dtype(np.uint64)
_APPLY: dict[str, Callable[..., Any]] = {
    **{name: functools.partial(sized, name) for name in ("add", "sub", "mul", "lshift")},
    **{name: getattr(operator, name) for name in ("and_", "or_", "xor", "neg", "invert")},
    "mod": texts.mod,
}
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "sub": operator.isub,
    "mul": operator.imul,
    "lshift": operator.ilshift,
    "and_": operator.iand,
    "or_": operator.ior,
    "xor": operator.ixor,
    "mod": operator.imod,
}
_MODULO: dict[str, Callable[..., Any]] = {
    "add": ops.arithmetic.add,
    "sub": ops.arithmetic.sub,
    "mul": ops.arithmetic.mul,
    "and_": ops.compare.and_,
    "or_": ops.compare.or_,
    "xor": ops.compare.xor,
    "neg": lambda x: ops.arithmetic.sub(np.uint64(0), x),
    "invert": ops.compare.not_,
    "lshift": ops.compare.shift_left,
}


class Modular:
    """The number that an operator gives, of which the program has computed nothing so far."""

    __slots__ = ("name", "operands")

    def __init__(self, name: str, operands: tuple[Any, ...]) -> None:
        self.name, self.operands = name, operands

    def whole(self) -> Any:
        """The number itself."""
        return _APPLY[self.name](*map(_whole, self.operands))

    def low(self) -> Any:
        """Its low 64 bits."""
        return _MODULO[self.name](*map(_low, self.operands))


def modular(name: str, *operands: Any) -> Any:
    """What an operator gives in an expression of which only the low bits are read."""
    if _is_modular(name, operands):
        return Modular(name, operands)
    return _APPLY[name](*map(_whole, operands))


def modular_in(name: str, a: Any, b: Any) -> Any:
    """What `a *= b` and the like leave in a name of which only the low bits are read."""
    return (
        Modular(name, (a, b))
        if _is_modular(name, (a, b))
        else _IN_PLACE[name](a, _looked_at(name, a, _whole(b)))
    )


def _looked_at(name: str, a: Any, b: Any) -> Any:
    return added(name, a, b) if name in _SIZED else b


def low_bits_in(x: Any, y: Any, name: str) -> Any:
    """What `x &= y` or `x %= y` leave, where `x` may be such a number."""
    return low_bits(x, y, name) if type(x) is Modular else _IN_PLACE[name](x, y)


def low_bits(x: Any, y: Any, name: str) -> Any:
    """`x & y` or `x % y`, where `x` or `y` may be such a number."""
    for n, mask in ((x, y), (y, x)) if name == "and_" else ((x, y),):
        most = _mask(name, mask) if type(n) is Modular else None
        if most is not None:
            least = mask - 1 if name == "mod" else mask
            raw = ops.create.convert(ops.compare.and_(n.low(), _low(least)), _I64)
            if isinstance(raw, Var):
                raw.bounds = 0, most
            return box(raw, weak=True)
    return _APPLY[name](_whole(x), _whole(y))


def _is_modular(name: str, operands: tuple[Any, ...]) -> bool:
    """Whether the result is one of Python's integers that depends on traced ones."""
    if STATE.numbers is not None or NAMES.one_type or not all(map(_is_integer, operands)):
        return False
    if name == "lshift" and not _is_between(operands[1], 0, 1 << 62):
        return False
    return any(type(x) is not int for x in operands)


def _is_integer(x: Any) -> bool:
    if type(x) in (int, Modular):
        return True
    if type(x) is not Box or x.aval.shape or x.aval.dtype != _I64 or is_unsure(x) or x.weak is not True:
        return False
    return isinstance(x.read(), Value) and isinstance(current_trace(), StageTrace)


def _is_between(x: Any, least: int, most: int) -> bool:
    if type(x) is Modular:
        return False
    low, high = (x, x) if type(x) is int else limits(x.read())
    return least <= low and high <= most


def _mask(name: str, x: Any) -> int | None:
    """The largest number that is left of any, if that is surely one of 63 bits."""
    if name == "mod":
        return x - 1 if type(x) is int and 0 < x <= 1 << 63 and x & (x - 1) == 0 else None
    if type(x) is Modular or not _is_integer(x) or not _is_between(x, 0, (1 << 63) - 1):
        return None
    return x if type(x) is int else limits(x.read())[1]


def _whole(x: Any) -> Any:
    return x.whole() if type(x) is Modular else x


def _low(x: Any) -> Any:
    """The low 64 bits of one of Python's integers, or how far one is shifted."""
    if type(x) is Modular:
        return x.low()
    return np.uint64(x % (1 << 64)) if type(x) is int else ops.create.convert(x.read(), _U64)
