"""Exceptions of users that compiled code raises: checks, with a traced number that the message shows.

`f"negative: {x}"` is `"negative: Traced<f64[]#7>"` while it is traced; the check carries the bits of the one number
that a message shows, once or several times, and its text takes the place of `Traced<f64[]#7>` when the check fails.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.control.regions.staging import convert
from tracejit.errors import TracedTextError, refusals
from tracejit.ir.values import Value
from tracejit.numpy.boxes.conversions import shown_number
from tracejit.ops.indexing.index_check import fail_where
from tracejit.tracing import current_trace

_SHOWN = re.compile(r"Traced<([^<>#]*)#(\d+)>")
_I64 = dtypes.int64


def fail_if(pred: Any, error: Exception) -> None:
    """Raise `error` when the program runs, if the raw boolean `pred` holds then."""
    numbers = {int(m[1]) for a in error.args if isinstance(a, str) for m in _SHOWN.findall(a)}
    texts = [a for a in error.args if isinstance(a, str)]
    refusals.withdraw(lambda e: isinstance(e, TracedTextError) and any(e.shown in text for text in texts))
    found = {n: _deliverable(n) for n in numbers}
    value = next(iter(found.values()), None)
    if value is None or any(v is not value for v in found.values()):
        fail_where(pred, Raise(error))
        return
    kind = np.dtype(np.float64) if dtypes.is_inexact(value.aval.dtype) else _I64
    bits = ops.create.bitcast(convert(value, kind), dtype=_I64)
    fail_where(pred, Raise(error, (kind, value.aval.dtype)), bits)


def _deliverable(number: int) -> Value | None:
    """A traced number that a message shows, if the program that checks knows it."""
    x, _ = shown_number(number)
    value = None if x is None else x.read()
    if not isinstance(value, Value) or value.trace is None or not value.trace.live:
        return None
    inside = value.trace.level <= current_trace().level and value.aval.dtype.kind in "bif"
    return value if inside else None


class Raise:
    """The failure of a check that raises a user's exception. `shown`: the dtype whose bits the check carries,
    and the number's own."""

    def __init__(self, error: Exception, shown: tuple[np.dtype, np.dtype] | None = None) -> None:
        self.error: Exception = error.with_traceback(None)
        self.error.__context__ = None
        self.shown = shown
        numbers = [int(m[1]) for a in error.args if isinstance(a, str) for m in _SHOWN.findall(a)]
        self.formats = {n: shown_number(n)[1] for n in numbers}

    def __call__(self, details: tuple[int, ...], where: str | None = None) -> Exception:
        error = _copied(self.error)
        bits = np.int64(details[0])
        value = None if self.shown is None else self.shown[1].type(bits.view(self.shown[0])).item()

        def text(m: re.Match[str]) -> str:
            return f"Traced<{m[1]}>" if self.shown is None else format(value, self.formats[int(m[2])])

        error.args = tuple(_SHOWN.sub(text, a) if isinstance(a, str) else a for a in error.args)
        return error


def _copied(error: Exception) -> Exception:
    """The same exception once more. It is not made by calling its class, which may take anything; but what is
    written in C of it keeps things of its own, made from the arguments."""
    cls = type(error)
    base = next(b for b in cls.__mro__ if not b.__flags__ & (1 << 9))  # not made by a class statement
    new = base.__new__(cls, *error.args)
    base.__init__(new, *error.args)
    vars(new).update({k: x for k, x in vars(error).items() if k != "_tj_raised"})
    new.__cause__, new.__suppress_context__ = error.__cause__, error.__suppress_context__
    return new
