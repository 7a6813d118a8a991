"""What is known of int64 numbers while they are recorded: the least and the largest that each can be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit.lowering.loops.nodes import I64, Const, Size

Range = tuple[int, int]
ANY: Range = (-(2**63), 2**63 - 1)
_LARGEST = 2**62


def hull(ranges: Iterable[Range | None]) -> Range | None:
    """The least that has all of them; None if one is not known."""
    known = list(ranges)
    if any(r is None for r in known):
        return None
    return min(r[0] for r in known), max(r[1] for r in known)  # type: ignore[index]


def range_of_number(x: Any) -> Range:
    """That of a constant or Python number, or of a register of which nothing but its dtype is known."""
    if type(x) is int:
        return x, x
    if type(x) is Size:  # in another program of the same text it is another number
        return (0, _LARGEST) if x.value >= 0 and x.dtype.kind == "i" else ANY
    dtype: np.dtype = x.dtype
    if dtype.kind not in "iu":
        return ANY
    if isinstance(x, Const):
        return x.value, x.value
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def range_of_inst(op: str, args: tuple[Any, ...], known: tuple[Range, ...]) -> Range:
    """That of an instruction's int64 result, whose operands are in `known`. Sums that may overflow are any number."""
    rule = _RULES.get(op)
    if rule is None or any(a.dtype != I64 for a in args[-2:] if op != "cast"):
        return ANY
    low, high = rule(*known)
    return (low, high) if ANY[0] <= low and high <= ANY[1] else ANY


def _product(x: Range, y: Range) -> Range:
    ends = [a * b for a in x for b in y]
    return min(ends), max(ends)


def _shifted(x: Range, n: Range) -> Range:
    """By 0 to 63 bits to the right, with the sign."""
    if n[0] < 0 or n[1] > 63:
        return ANY
    ends = [a >> b for a in x for b in n]
    return min(ends), max(ends)


_RULES = {
    "iadd": lambda x, y: (x[0] + y[0], x[1] + y[1]),
    "isub": lambda x, y: (x[0] - y[1], x[1] - y[0]),
    "imul": _product,
    "ashr": _shifted,
    "smin": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "smax": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "select": lambda _, x, y: (min(x[0], y[0]), max(x[1], y[1])),
    "cast": lambda x: x,
    "index": lambda _, size: (0, max(size[1] - 1, 0)),
}
