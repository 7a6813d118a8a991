"""Members of enumerations by a traced value: `Kind(k)`."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.frontend.variants.node import MOST, Constant, Variant, of_rows
from tracejit.ir.values import Value
from tracejit.numpy.boxes.conversions import class_of
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.tracing import Box


def of_enumeration(cls: Any, *args: Any, **kwargs: Any) -> Any:
    """`cls(k)`: the member that has a value, which may be a traced integer."""
    k = args[0] if len(args) == 1 and not kwargs else None
    whole = type(k) is Box and class_of(k) in (int, np.int64) and isinstance(k.read(), Value)
    return _member(cls, k) if whole and _is_simple(cls) else cls(*args, **kwargs)


def _is_simple(cls: Any) -> bool:
    """Whether the members are found by their integers alone, and no other way."""
    own = cls.__new__ is not enum.Enum.__new__ or cls._missing_.__func__ is not enum.Enum._missing_.__func__  # type: ignore[attr-defined]
    plain = all(type(m.value) is int and abs(m.value) < 1 << 62 for m in cls)
    return not own and plain and 0 < len(cls) <= MOST and not issubclass(cls, enum.Flag)


def _member(cls: Any, number: Any) -> Variant:
    """The member of a traced integer; Python says what it is if there is none."""
    raw, found, index = number.read(), np.False_, np.int64(0)
    for n, member in enumerate(cls):
        is_it = ops.compare.eq(raw, np.int64(member.value))
        index, found = ops.compare.select(is_it, np.int64(n), index), ops.compare.or_(found, is_it)
    leave_if(ops.compare.not_(found), f"a number that is no value of `{cls.__name__}`")
    return of_rows(tuple([Constant(cls, m) for m in cls]), [index], False)
