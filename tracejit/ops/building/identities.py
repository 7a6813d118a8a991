"""Identities for the simplify slot, and ranges of integers for the bounds slot.

An identity is `f(eqn) -> Atom, ('op', op, invars, params) or None`, where
`eqn.maker(n)` is the equation that made operand n. Only those are stated whose
two sides have the same bits for every operand, NaN, infinities and -0 included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.ir.jaxpr import Eqn, Literal

Range = tuple[int, int] | None

# ---------------------------------------------------------------- identities


def literal(atom: Any, value: Any) -> bool:
    """True if `atom` is the constant `value`, the sign of zero included."""
    if not isinstance(atom, Literal) or atom.value != value:
        return False
    return value != 0 or atom.aval.dtype.kind in "biu" or bool(np.signbit(atom.value) == np.signbit(value))


def neutral(n: int, value: Any, kinds: str) -> Callable[[Eqn], Any]:
    """x op value -> x, where operand `n` is the constant and x's dtype is of one of `kinds`."""

    def rule(eqn: Eqn) -> Any:
        a, x = eqn.invars[n], eqn.invars[1 - n]
        same = x.aval == eqn.outvars[0].aval and x.aval.dtype.kind in kinds
        return x if same and literal(a, value) else None

    return rule


def both_sides(value: Any, kinds: str) -> tuple[Callable[[Eqn], Any], ...]:
    """`neutral` on either side of a commutative op."""
    return neutral(1, value, kinds), neutral(0, value, kinds)


def int_times_zero(eqn: Eqn) -> Any:
    """x * 0 -> 0 for 0-d integers."""
    aval = eqn.outvars[0].aval
    if aval.dtype.kind in "iu" and not aval.shape:
        return next((a for a in eqn.invars if literal(a, 0)), None)
    return None


def int_minus_itself(eqn: Eqn) -> Any:
    """x - x -> 0 for 0-d integers."""
    aval = eqn.outvars[0].aval
    same = eqn.invars[0] is eqn.invars[1] and aval.dtype.kind in "iu" and not aval.shape
    return Literal(aval.dtype.type(0)) if same else None


def same_operands(eqn: Eqn) -> Any:
    """f(x, x) -> x."""
    return eqn.invars[0] if eqn.invars[0] is eqn.invars[1] else None


def unchanged(test: Callable[[Eqn], bool]) -> Callable[[Eqn], Any]:
    """f(x) -> x where `test(eqn)` and the types agree."""

    def rule(eqn: Eqn) -> Any:
        x = eqn.invars[0]
        return x if x.aval == eqn.outvars[0].aval and test(eqn) else None

    return rule


def through(op: str, n: int, then: Callable[[Any, Any], Any], operand: int = 0) -> Callable[[Eqn], Any]:
    """`then(eqn, inner)` where operand `n` was made by `op`; `inner` is that op's `operand`."""

    def rule(eqn: Any) -> Any:
        made = eqn.maker(n)
        return None if made is None or made.op.name != op else then(eqn, made.invars[operand])

    return rule


def if_type(eqn: Any, x: Any) -> Any:
    """`x` if it has the result's type."""
    return x if x.aval == eqn.outvars[0].aval else None


def undoes(op: str) -> Callable[[Eqn], Any]:
    """f(op(x)) -> x."""
    return through(op, 0, if_type)


def idempotent(op: str) -> Callable[[Eqn], Any]:
    """op(op(x)) -> op(x)."""
    return through(op, 0, lambda eqn, _: if_type(eqn, eqn.invars[0]))


def by_power_of_two(get_mul: Callable[[], Any]) -> Callable[[Eqn], Any]:
    """x / 2**n -> x * 2**-n: both are the rounded exact quotient. Not for large ones: they may be sizes, and
    programs that differ in sizes are to stay alike (`lowering.loops.extents`)."""

    def rule(eqn: Any) -> Any:
        x, y = eqn.invars
        if not isinstance(y, Literal) or y.aval.dtype not in (np.float32, np.float64):
            return None
        fraction, exponent = np.frexp(y.value)
        exact = np.abs(fraction) == 0.5 and -100 < exponent < 7
        return ("op", get_mul(), (x, Literal(y.aval.dtype.type(1) / y.value)), {}) if exact else None

    return rule


def select_known(eqn: Eqn) -> Any:
    """select with a constant predicate, or with equal branches."""
    pred, x, y = eqn.invars
    chosen = x if x is y or literal(pred, True) else y if literal(pred, False) else None
    return chosen if chosen is not None and chosen.aval == eqn.outvars[0].aval else None


# ---------------------------------------------------------------- ranges of 0-d integers


def bounds(fn: Callable[..., Range]) -> Callable[..., Range]:
    """A bounds rule from `fn(*(lo, hi))`; None where an operand's range is unknown."""

    def rule(operands: Any, **params: Any) -> Range:
        return None if any(r is None for r in operands) else fn(*operands, **params)

    return rule


add_bounds = bounds(lambda x, y: (x[0] + y[0], x[1] + y[1]))
sub_bounds = bounds(lambda x, y: (x[0] - y[1], x[1] - y[0]))
neg_bounds = bounds(lambda x: (-x[1], -x[0]))
max_bounds = bounds(lambda x, y: (max(x[0], y[0]), max(x[1], y[1])))
min_bounds = bounds(lambda x, y: (min(x[0], y[0]), min(x[1], y[1])))
same_bounds = bounds(lambda x, **params: x)


def clamp_bounds(operands: Any) -> Range:
    """min(max(x, lo), hi); nothing about x need be known."""
    x, lo, hi = operands
    if lo is None or hi is None:
        return None
    if x is None:
        return min(lo[0], hi[0]), hi[1]
    return min(max(x[0], lo[0]), hi[0]), min(max(x[1], lo[1]), hi[1])


@bounds
def mul_bounds(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int]:
    ends = [a * b for a in x for b in y]
    return min(ends), max(ends)


@bounds
def power_bounds(x: tuple[int, int], y: tuple[int, int]) -> tuple[int, int] | None:
    """x ** y of exponents that are not negative; far beyond any integer's range they count as 64."""
    if y[0] < 0:
        return None
    low, high = (min(n, 64) for n in y)
    most = max(abs(x[0]), abs(x[1]), 1) ** high  # 0 ** 0 is 1
    even = y[0] == y[1] and y[0] % 2 == 0
    return (x[0] ** low if x[0] > 0 else 0 if x[0] == 0 or even else -most), most


def integer_pow_bounds(operands: Any, *, n: int) -> Range:
    """x ** n."""
    return power_bounds((operands[0], (n, n)))


def shift_left_bounds(operands: Any) -> Range:
    """x * 2 ** n."""
    x, n = operands
    factor = power_bounds(((2, 2), n))
    return None if factor is None else mul_bounds((x, factor))


@bounds
def shift_right_bounds(x: tuple[int, int], n: tuple[int, int]) -> tuple[int, int] | None:
    """x // 2 ** n."""
    if n[0] < 0:
        return None
    ends = [a >> min(b, 64) for a in x for b in n]
    return min(ends), max(ends)


def select_bounds(operands: Any) -> Range:
    """Either branch; nothing is known about the predicate."""
    _, x, y = operands
    return None if x is None or y is None else (min(x[0], y[0]), max(x[1], y[1]))


def and_bounds(operands: Any) -> Range:
    """x & y is in 0 … y if y is not negative."""
    highs = [r[1] for r in operands if r is not None and r[0] >= 0]
    return (0, min(highs)) if highs else None


@bounds
def abs_bounds(x: tuple[int, int]) -> tuple[int, int]:
    return (0 if x[0] <= 0 <= x[1] else min(abs(x[0]), abs(x[1]))), max(abs(x[0]), abs(x[1]))


def remainder_bounds(operands: Any) -> Range:
    """x % y has y's sign and is smaller: nothing about x need be known (0 where y == 0)."""
    y = operands[1]
    return None if y is None else (min(0, y[0] + 1), max(0, y[1] - 1))


@bounds
def floor_divide_bounds(x: tuple[int, int], y: tuple[int, int]) -> Any:
    if y[0] <= 0:
        return None
    ends = [a // b for a in x for b in y]
    return min(ends), max(ends)


def convert_bounds(operands: Any, *, dtype: np.dtype) -> Range:
    r = operands[0]
    if r is None or dtype.kind not in "iu":
        return None
    info = np.iinfo(dtype)
    return r if info.min <= r[0] and r[1] <= info.max else None


# ---------------------------------------------------------------- what a boolean says of the numbers it is made of

#: Without end on one side: beyond any integer's range.
_FAR = 2**64


def _truth(_: Any) -> Range:
    return 0, 1


def no_bounds(_: Any) -> Range:
    """Nothing is known of an integer result."""
    return None


def saying(
    implied: Callable[[bool, Any], list[Range]], result: Callable[..., Range] = _truth
) -> Callable[..., Range]:
    """The bounds rule `result`, and what a boolean result says: `implied(result, ranges of operands) -> ranges`."""

    def rule(operands: Any) -> Range:
        return result(operands)

    rule.implied = implied  # type: ignore[attr-defined]
    return rule


def _less(x: Range, y: Range, apart: int) -> list[Range]:
    """x + apart <= y."""
    return [None if y is None else (-_FAR, y[1] - apart), None if x is None else (x[0] + apart, _FAR)]


def _more(x: Range, y: Range, apart: int) -> list[Range]:
    """x >= y + apart."""
    return _less(y, x, apart)[::-1]


less_says = saying(lambda result, r: _less(r[0], r[1], 1) if result else _more(r[0], r[1], 0))
at_most_says = saying(lambda result, r: _less(r[0], r[1], 0) if result else _more(r[0], r[1], 1))
more_says = saying(lambda result, r: _more(r[0], r[1], 1) if result else _less(r[0], r[1], 0))
at_least_says = saying(lambda result, r: _more(r[0], r[1], 0) if result else _less(r[0], r[1], 1))
equal_says = saying(lambda result, r: r[::-1] if result else [None, None])
unequal_says = saying(lambda result, r: [None, None] if result else r[::-1])
not_says = saying(lambda result, _: [(1 - result, 1 - result)], no_bounds)
both_say = saying(lambda result, _: [(1, 1), (1, 1)] if result else [None, None], and_bounds)
either_says = saying(lambda result, _: [None, None] if result else [(0, 0), (0, 0)], no_bounds)
