"""Index operands as sums: of the lane, of variables of loops within their ranges, and of what is not known, times
constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from tracejit.lowering.loops.nodes import Const, Inst, Reg

#: The symbols of the lane, and of its quotient and remainder by the length of the inner of two loops; of the constant.
LANE, OUTER, INNER, ONE = "lane", "outer", "inner", "one"
#: A sum: symbol -> its factor.
Form = dict[Any, int]


def scaled(form: Form, by: int) -> Form:
    """A sum times a constant."""
    return {s: c * by for s, c in form.items() if c * by}


def added(a: Form, b: Form) -> Form:
    """Two sums as one."""
    found = a | {s: a.get(s, 0) + c for s, c in b.items()}
    return {s: c for s, c in found.items() if c}


class Forms:
    """The forms of operands. `number` gives the constant that an operand is for these shapes, or None."""

    def __init__(self, made: dict[Reg, Inst], number: Callable[[Any], int | None]) -> None:
        self.made, self.number = made, number
        self.known: dict[Reg, Form] = {}  # registers that are given forms: variables of loops over lanes
        self.inner = 1  # the length of the inner of two loops over lanes

    def of(self, x: Any) -> Form:
        """The form of an operand."""
        if isinstance(x, Const):
            return {ONE: int(x.value)} if x.value else {}
        if x not in self.known:
            self.known[x] = self._made(x)
        return self.known[x]

    def _made(self, x: Reg) -> Form:
        known = self.number(x)
        if known is not None:
            return {ONE: known} if known else {}
        s = self.made.get(x)
        if s is not None and s.op in ("iadd", "isub"):
            a, b = map(self.of, s.args)
            return added(a, b if s.op == "iadd" else scaled(b, -1))
        if s is not None and s.op in ("imul", "shl"):
            a, b = map(self.of, s.args)
            if set(a) <= {ONE} and s.op == "imul":
                a, b = b, a
            if set(b) <= {ONE}:
                by = b.get(ONE, 0)
                return scaled(a, 1 << by if s.op == "shl" else by)
        return {x: 1}

    def index(self, x: Any) -> Form | None:
        """The form of an index, with the lane where its quotient and remainder make it; None: they do not."""
        form = dict(self.of(x))
        outer, inner = form.pop(OUTER, 0), form.pop(INNER, 0)
        if outer != inner * self.inner:
            return None
        return added(form, {LANE: inner} if inner else {})


Range = tuple[int, int]


def bounds(form: Form, ranges: dict[Any, Range], period: int) -> Range | None:
    """The least and the largest that a sum may be beside the lane's part and multiples of `period` (0: none), the least
    of them within the first period; None: not known."""
    low = high = form.get(ONE, 0)
    for s, c in form.items():
        if s in (ONE, LANE) or (period and c % period == 0):
            continue
        if s not in ranges:
            return None
        ends = c * ranges[s][0], c * ranges[s][1]
        low, high = low + min(ends), high + max(ends)
    shift = low // period * period if period else 0
    return low - shift, high - shift


def owned(forms: Iterable[Form | None], lanes: int, ranges: dict[Any, Range]) -> bool:
    """Whether no two lanes touch the same element by indices of these forms.

    Lane i has the elements from i * width on, `width` of them, of each period: of all rows of an array (time, lane), of
    one row of an array (lane, time).
    """
    known = [f for f in forms if f is not None]
    widths = {f.get(LANE, 0) for f in known}
    if len(known) != len(list(forms)) or len(widths) != 1 or (width := widths.pop()) < 1:
        return False
    all_ = lanes * width
    period = math.gcd(*(c for f in known for s, c in f.items() if s not in (ONE, LANE) and abs(c) >= all_))
    if 0 < period < all_:
        return False
    found = [bounds(f, ranges, period) for f in known]
    if None in found:
        return False
    low, high = min(f[0] for f in found if f), max(f[1] for f in found if f)
    return high - low < width
