"""Exceptions of users that compiled code raises: checks, with a traced number that the message shows.

The check carries the bits of the one number that the texts among the exception's arguments show, once or several times.
Of other values an exception has what stands for them; it says so (`refusals.hide`), and Python does the call over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import dtypes, ops, tree
from tracejit.control.regions.staging import convert
from tracejit.errors import refusals
from tracejit.frontend.text.deferred import Text, described
from tracejit.ir.avals import Aval
from tracejit.ir.values import Value
from tracejit.ops.indexing.index_check import fail_where
from tracejit.tracing import Box, current_trace

_I64 = dtypes.int64


def fail_if(pred: Any, error: Exception) -> None:
    """Raise `error` when the program runs, if the raw boolean `pred` holds then."""
    texts = [a for a in error.args if type(a) is Text]
    numbers = [x for text in texts for x in text.values if not x.aval.shape]
    value = _deliverable(numbers[0]) if numbers else None
    if value is None or any(_deliverable(x) is not value for x in numbers):
        fail_where(pred, Raise(error))
        return
    kind = np.dtype(np.float64) if dtypes.is_inexact(value.aval.dtype) else _I64
    bits = ops.create.bitcast(convert(value, kind), dtype=_I64)
    fail_where(pred, Raise(error, value, kind), bits)


def _deliverable(x: Box) -> Value | None:
    """A traced number that a message shows, if the program that checks knows it."""
    value = x.read()
    if not isinstance(value, Value) or value.trace is None or not value.trace.live:
        return None
    inside = value.trace.level <= current_trace().level and value.aval.dtype.kind in "bif"
    return value if inside else None


class _Number(NamedTuple):
    """In the text of an exception, one of its values: whether the check carries it."""

    aval: Aval
    shown: bool


class Raise:
    """The failure of a check that raises a user's exception. `shown`: the number that the check carries, as the bits of
    a number of dtype `kind`."""

    def __init__(self, error: Exception, shown: Value | None = None, kind: np.dtype = _I64) -> None:
        self.error: Exception = error.with_traceback(None)
        self.error.__context__ = None
        self.kind = kind
        self.dtype = None if shown is None else shown.aval.dtype
        self.args = [_without_values(a, shown) for a in error.args]
        self.hides = any(map(_has_values, (*self.args, *vars(error).values(), error.__cause__)))
        for name, x in vars(error).items():
            vars(error)[name] = described(x)
        self.error.args = tuple(map(described, error.args))

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        error = _copied(self.error)
        if self.dtype is not None:
            number = self.dtype.type(np.int64(details[0]).view(self.kind))
            error.args = tuple(described(a, lambda v: number if v.shown else None) for a in self.args)
        if self.hides:
            refusals.hide(error)
        return error


def _without_values(x: Any, shown: Value | None) -> Any:
    """A text that keeps no traced value alive."""
    if type(x) is not Text:
        return x
    return Text(x.recipe, [_Number(v.aval, not v.aval.shape and shown is not None) for v in x.values])


def _has_values(x: Any) -> bool:
    """Whether an argument of an exception has traced values that the check does not carry."""
    if isinstance(x, BaseException):
        return any(map(_has_values, (*x.args, x.__cause__)))
    if type(x) is Text:
        return not all(type(v) is _Number and v.shown for v in x.values)
    return any(type(leaf) is Box for leaf in tree.leaves(x, is_leaf=lambda v: type(v) is Box))


def _copied(error: Exception) -> Exception:
    """The same exception once more. It is not made by calling its class, which may take anything; but what is
    written in C of it keeps things of its own, made from the arguments."""
    cls = type(error)
    base = next(b for b in cls.__mro__ if not b.__flags__ & (1 << 9))  # not made by a class statement
    new = base.__new__(cls, *error.args)
    base.__init__(new, *error.args)
    vars(new).update({k: x for k, x in vars(error).items() if k not in refusals.MARKS})
    new.__cause__, new.__suppress_context__ = error.__cause__, error.__suppress_context__
    return new


def is_programs(e: BaseException) -> bool:
    """Whether the program raised what is no Exception: neither the user at the keyboard nor tracejit."""
    if hasattr(e, "_tj_thrown") or isinstance(e, (SystemExit, GeneratorExit)):
        return True
    return isinstance(e, KeyboardInterrupt) and bool(e.args)
