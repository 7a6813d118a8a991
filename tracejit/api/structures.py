"""Structured arrays that a run has made, in results and in what the journal stores: the arrays, and columns as fields
of them."""

from __future__ import annotations

import functools
from typing import Any, Protocol

from tracejit import frontend, tree
from tracejit.frontend.raw.numbers import judge_lent
from tracejit.lazily import LazyModule
from tracejit.numpy.operands import FIELDS, is_subclassed
from tracejit.tracing import Box, new_array

_structured: Any = LazyModule("tracejit.numpy.structured")


class Writer(Protocol):
    """What writes the lines of a store (`stored._Writer`)."""

    session: frontend.Session

    def value(self, x: Any, what: str) -> str:
        """The expression of a value."""
        ...

    def new(self, expression: str) -> str:
        """A variable for an expression."""
        ...

    def const(self, value: Any) -> str:
        """The name of a global that holds `value`."""
        ...


def are_in(out: Any, session: frontend.Session) -> bool:
    """Whether a result has a structured array, or a column of one, that the run has made."""
    if not FIELDS:
        return False
    leaves = tree.leaves(out, _structured.is_structured)
    return any(_structured.is_new(x, session.outside) for x in leaves)


def column(writer: Writer, x: Any, what: str) -> str | None:
    """The expression of an array that is a column of a structured one; None for others. Raises UnfollowedError for one
    that sees the memory of a bytearray."""
    judge_lent(x, what)
    found = FIELDS.get(x.storage) if FIELDS else None
    if found is None or id(x.storage) in writer.session.outside:
        return None
    _structured.judge_choice(x)
    array, name, dtype = found[0](), *found[1:]
    if x.chain:
        raise _structured.unfollowed()
    if array is not None:
        return writer.new(f"{writer.value(array, what)}[{name!r}]")
    made = functools.partial(_structured.in_gaps, dtype, name)
    return writer.new(f"{writer.const(made)}({writer.value(_alone(x), what)})")


def array(writer: Writer, x: Any, what: str) -> str | None:
    """The expression of a structured array that is none of outside; None for other values."""
    if not is_subclassed(x) or not _structured.is_structured(x):
        return None
    outside = writer.session.outside
    seen = _structured.seen_in(x, outside)
    if seen is not None:
        return writer.new(f"{writer.const(seen[1])}({writer.value(seen[0], what)})")
    made, boxes = _structured.whole(x, outside)
    columns = [b if id(b.storage) in outside else _alone(b) for b in boxes]
    return writer.new(f"{writer.const(made)}({', '.join([writer.value(c, what) for c in columns])})")


def _alone(x: Box) -> Box:
    """The values of a column, in an array of their own."""
    return new_array(x.read())
