"""Identities: they apply, and both sides have the same bits at every edge value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.samples import edges, pairs, same
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import Aval
from tracejit.ops.building.identities import floor_divide_bounds, power_bounds, shift_right_bounds
from tracejit.ops.creation import create as cr
from tracejit.ops.elementwise import arithmetic as ar
from tracejit.ops.elementwise import compare as co
from tracejit.passes.simplify import simplify

F8, I4, C16, BOOL = (np.dtype(d) for d in ("f8", "i4", "c16", "?"))


def simplified(fn: Any, *avals: Aval) -> tuple[Any, Any]:
    jaxpr, consts = stage(lambda *xs: [fn(*xs)], list(avals), "f")
    assert not consts
    return jaxpr, simplify(jaxpr)


def used(jaxpr: Any) -> list[str]:
    """The ops that the result depends on."""
    needed, names = set(jaxpr.outs), []
    for e in reversed(jaxpr.eqns):
        if any(v in needed for v in e.outvars):
            needed.update(e.invars)
            names.append(e.op.name)
    return names[::-1]


# function, dtype, the ops that remain
UNARY = [
    (lambda x: ar.add(x, -0.0), F8, []),
    (lambda x: ar.add(x, 0.0), F8, ["add"]),
    (lambda x: ar.add(0, x), I4, []),
    (lambda x: ar.sub(x, 0.0), F8, []),
    (lambda x: ar.sub(x, -0.0), F8, ["sub"]),
    (lambda x: ar.mul(x, 1.0), F8, []),
    (lambda x: ar.mul(1, x), I4, []),
    (lambda x: ar.mul(x, 1.0), C16, ["mul"]),
    (lambda x: ar.div(x, 1.0), F8, []),
    (lambda x: ar.div(x, 8.0), F8, ["mul"]),
    (lambda x: ar.div(x, 3.0), F8, ["div"]),
    (lambda x: ar.neg(ar.neg(x)), F8, []),
    (lambda x: ar.abs(ar.abs(x)), F8, ["abs"]),
    (lambda x: ar.floor(ar.floor(x)), F8, ["floor"]),
    (lambda x: ar.maximum(x, x), F8, []),
    (lambda x: ar.floor_divide(x, 1), I4, []),
    (lambda x: ar.integer_pow(x, n=1), F8, []),
    (lambda x: ar.pow(x, 1.0), F8, []),
    (lambda x: ar.pow(x, 0.0), F8, ["pow"]),
    (lambda x: ar.pow(x, 0.5), F8, ["pow"]),
    (lambda x: co.not_(co.not_(x)), BOOL, []),
    (lambda x: co.and_(x, True), BOOL, []),
    (lambda x: co.or_(x, 0), I4, []),
    (lambda x: co.select(True, x, 0.0), F8, []),
    (lambda x: co.select(False, 0.0, x), F8, []),
    (lambda x: co.select(co.gt(x, 0.0), x, x), F8, []),
    (lambda x: ar.conj(ar.conj(x)), C16, []),
    (lambda x: cr.copy(x), F8, []),
    (lambda x: cr.convert_element_type(cr.convert_element_type(x, dtype="i8"), dtype="i4"), I4, []),
    (
        lambda x: cr.convert_element_type(cr.convert_element_type(x, dtype="i2"), dtype="i4"),
        I4,
        ["convert_element_type"] * 2,
    ),
]  # fmt: skip


@pytest.mark.parametrize("n", range(len(UNARY)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_one_operand(n: int) -> None:
    fn, dtype, ops = UNARY[n]
    x = edges(dtype)
    before, after = simplified(fn, Aval(x.shape, dtype))
    assert used(after) == ops
    same(eval_jaxpr(after, [x])[0], eval_jaxpr(before, [x])[0])


@pytest.mark.parametrize(
    ("fn", "ops"),
    [
        (lambda x, y: ar.add(x, ar.neg(y)), ["sub"]),
        (lambda x, y: ar.sub(x, ar.neg(y)), ["add"]),
        (lambda x, y: ar.real(ar.complex(x, y)), []),
        (lambda x, y: ar.imag(ar.complex(x, y)), []),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_two_operands(fn: Any, ops: list[str]) -> None:
    x, y = pairs(F8)
    before, after = simplified(fn, Aval(x.shape, F8), Aval(y.shape, F8))
    assert used(after) == ops
    same(eval_jaxpr(after, [x, y])[0], eval_jaxpr(before, [x, y])[0])


def test_small_powers_become_products() -> None:
    x = np.linspace(-3.0, 3.0, 7)
    before, after = simplified(lambda v: ar.pow(v, 3.0), Aval(x.shape, F8))
    assert used(after) == ["integer_pow"]
    same(eval_jaxpr(after, [x])[0], eval_jaxpr(before, [x])[0], 1)


def test_a_scalar_is_not_the_full_result() -> None:
    _, after = simplified(
        lambda x, y: ar.mul(x, co.select(co.gt(y, 0.0), 1.0, 1.0)), Aval((), F8), Aval((3,), F8)
    )
    assert used(after)[-1] == "mul"  # x * ones(3) has a shape that x lacks


def test_zero_dimensional_integers() -> None:
    scalar = Aval((), I4)
    assert used(simplified(lambda x: ar.mul(x, 0), scalar)[1]) == []
    assert used(simplified(lambda x: ar.sub(x, x), scalar)[1]) == []


def test_ranges_of_powers_hold_every_power():
    ends = (-2, -1, 0, 1, 2)
    for a, b in ((a, b) for a in ends for b in ends if a <= b):
        for m, n in ((0, 0), (0, 1), (0, 3), (2, 2), (3, 3), (2, 3), (65, 65), (64, 65), (0, 70)):
            low, high = power_bounds(((a, b), (m, n)))
            found = [x**y for x in range(a, b + 1) for y in range(m, n + 1)]
            fits = -(2**63) <= low and high < 2**63  # else nothing is known
            assert not fits or (low <= min(found) and max(found) <= high)


def test_ranges_of_quotients_hold_every_quotient():
    ends = (-7, -2, -1, 0, 1, 2, 7)
    spans = [(a, b) for a in ends for b in ends if a <= b]
    for (a, b), (m, n) in ((x, y) for x in spans for y in spans):
        known = floor_divide_bounds(((a, b), (m, n)))
        if m <= 0:
            assert known is None  # a quotient by zero has no range
        else:
            found = [x // y for x in range(a, b + 1) for y in range(m, n + 1)]
            assert known == (min(found), max(found))


def test_ranges_of_shifts_hold_every_shift():
    ends = (-9, -1, 0, 1, 9)
    spans = [(a, b) for a in ends for b in ends if a <= b]
    for (a, b), (m, n) in ((x, y) for x in spans for y in spans):
        known = shift_right_bounds(((a, b), (m, n)))
        found = [int(np.right_shift(x, y)) for x in range(a, b + 1) for y in range(max(m, 0), n + 1)]
        assert known == (None if m < 0 else (min(found), max(found)))
