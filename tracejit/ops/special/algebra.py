"""Formulas of derivatives in plain notation: raw values with operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.ops.building.values import dtype_of, lift
from tracejit.ops.elementwise import arithmetic, compare, powers


class Term:
    """A raw value with operators. `whole`: it is an integer, which functions of SciPy with a form for integers are
    given as one; it stays one when an integer is added."""

    __slots__ = ("raw", "whole")

    def __init__(self, raw: Any, whole: bool = False) -> None:
        self.raw = raw
        self.whole = whole

    def _with(self, fn: Callable[..., Any], other: Any, swapped: bool = False, whole: bool = False) -> Term:
        x, y = self.raw, lift(other.raw if isinstance(other, Term) else other, self.raw)
        return Term(fn(y, x) if swapped else fn(x, y), whole and self.whole)

    def __add__(self, y: Any) -> Term:
        return self._with(arithmetic.add, y, whole=type(y) is int)

    def __radd__(self, y: Any) -> Term:
        return self._with(arithmetic.add, y, True)

    def __sub__(self, y: Any) -> Term:
        return self._with(arithmetic.sub, y, whole=type(y) is int)

    def __rsub__(self, y: Any) -> Term:
        return self._with(arithmetic.sub, y, True)

    def __mul__(self, y: Any) -> Term:
        return self._with(arithmetic.mul, y)

    def __rmul__(self, y: Any) -> Term:
        return self._with(arithmetic.mul, y, True)

    def __truediv__(self, y: Any) -> Term:
        return self._with(arithmetic.div, y)

    def __rtruediv__(self, y: Any) -> Term:
        return self._with(arithmetic.div, y, True)

    def __pow__(self, y: Any) -> Term:
        return self._with(powers.pow, y)

    def __neg__(self) -> Term:
        return Term(arithmetic.neg(self.raw), self.whole)

    def is_complex(self) -> bool:
        return dtype_of(self.raw).kind == "c"


def of(fn: Callable[..., Any]) -> Callable[..., Term]:
    """A function of raw values as one of terms."""

    def call(*xs: Term) -> Term:
        return Term(fn(*(x.raw for x in xs)))

    return call


def where(x: Term, comparison: str, y: Any, yes: Any, no: Any) -> Term:
    """`yes` where `x` compares so with `y` ("lt", "eq", "ge" …), else `no`; at least one of them is a term."""
    mask = getattr(compare, comparison)(x.raw, lift(y.raw if isinstance(y, Term) else y, x.raw))
    whole = all(v.whole if isinstance(v, Term) else type(v) is int for v in (yes, no))
    yes, no = (v.raw if isinstance(v, Term) else lift(v, x.raw) for v in (yes, no))
    return Term(compare.select(mask, yes, no), whole)
