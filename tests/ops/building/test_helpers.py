"""The builders of records: what is derived from a NumPy function and a few formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.derivatives import check_derivatives, jvp, vmap
from tests.ops.running import run_pointwise
from tracejit.errors import AxisError, TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ir.primitive import REGISTRY, ZERO_TANGENT, Op, all_ops
from tracejit.ir.values import Linear, Zero
from tracejit.ops.building import helpers
from tracejit.ops.elementwise import arithmetic

F8 = np.dtype("f8")
FULL, SCALAR = Aval((2, 3), F8), Aval((), F8)


@pytest.fixture(scope="module")
def hypot() -> Any:
    """A user's op: sqrt(x^2 + y^2)."""
    mul, unscale = arithmetic.mul, arithmetic.unscale
    yield helpers.pointwise(
        "test_hypot",
        "the length of (x, y)",
        np.hypot,
        kinds="f",
        kernel=lambda k, x, y: k.float_op("sqrt", x * x + y * y),
        derivatives=(
            lambda t, ans, x, y: mul(unscale(x, ans), t),
            lambda t, ans, x, y: mul(unscale(y, ans), t),
        ),
    )
    del REGISTRY["test_hypot"]


def test_a_record_from_formulas(hypot: Any) -> None:
    x, y = np.array([3.0, 5.0]), np.array([4.0, 12.0])
    np.testing.assert_array_equal(hypot(x, y), [5.0, 13.0])
    np.testing.assert_array_equal(run_pointwise(hypot.op, x, y), [5.0, 13.0])
    check_derivatives(hypot, [x, y], np.random.default_rng(0), 1e-5)
    check_derivatives(hypot, [x, np.float64(4.0)], np.random.default_rng(0), 1e-5)
    np.testing.assert_array_equal(vmap(hypot, [x, y], (0, None), 2), np.hypot(x[:, None], y))
    assert hypot.__doc__ == "the length of (x, y)" and isinstance(hypot.op, Op)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(TypeError, match="already registered"):
        helpers.pointwise("add", "", np.add, kinds="f", kernel=lambda k, x: x, derivatives=ZERO_TANGENT)


def test_every_rule_is_stated() -> None:
    for op in all_ops():
        assert op.doc and op.type and op.eval and op.batch and op.kernel


def test_lift() -> None:
    assert helpers.lift(2, np.float32(1)).dtype == np.float32
    assert helpers.lift(2, F8) == 2.0
    assert helpers.lift(2, Aval((), np.dtype("i1"))).dtype == np.int8
    x = np.ones(3)
    assert helpers.lift(x, F8) is x
    with pytest.raises(OverflowError):
        helpers.lift(300, np.dtype("u1"))


def test_instantiate() -> None:
    zeros = helpers.instantiate(Zero(FULL))
    assert zeros.shape == (2, 3) and not zeros.any()
    assert helpers.instantiate(Zero(SCALAR)) == 0.0
    x = np.ones(3)
    assert helpers.instantiate(x) is x
    assert helpers.instantiate(Zero(Aval((2,), np.dtype("i8")).tangent())).shape == (2,)


def test_unbroadcast() -> None:
    ct = np.ones((2, 3))
    assert helpers.unbroadcast(ct, SCALAR) == 6.0
    assert helpers.unbroadcast(ct, FULL) is ct


def test_move_and_broadcast_batch_axes() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(helpers.move_batch_axis(x, 2, 0), np.moveaxis(x, 2, 0))
    np.testing.assert_array_equal(helpers.move_batch_axis(x, 0, 2), np.moveaxis(x, 0, 2))
    assert helpers.move_batch_axis(x, 1, 1) is x
    out = helpers.broadcast_batch(x, 1, 5)
    assert out.shape == (2, 5, 3, 4) and (out[:, 3] == x).all()
    assert helpers.to_batch_axis(x, None, 0, 5).shape == (5, 2, 3, 4)
    assert helpers.shift_axes((0, 2), 1) == (0, 3)


def test_each_linear_takes_the_linear_operands() -> None:
    rule = helpers.each_linear(lambda ct, x, y: ct, lambda ct, x, y: arithmetic.neg(ct))
    ct = np.ones((2, 3))
    a, b = rule(ct, np.float64(1.0), Linear(SCALAR))
    assert a is None and b == -6.0


def test_checks() -> None:
    with pytest.raises(AxisError):
        helpers.check_axis("op", 2, 2)
    with pytest.raises(TypeRuleError, match="takes floats, complex numbers, not i64"):
        helpers.check_kind("op", "fc", Aval((), np.dtype("i8")))


def test_a_tangent_in_a_scalar_operand_becomes_full() -> None:
    out = jvp(lambda x: arithmetic.add(x, np.zeros((2, 3))), [np.float64(1.0)], [np.float64(2.0)])
    np.testing.assert_array_equal(out, np.full((2, 3), 2.0))
