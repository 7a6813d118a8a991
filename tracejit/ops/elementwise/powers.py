"""Powers. x**0 is 1 everywhere and its derivative 0; d(x**y)/dy is 0 at x = 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Literal
from tracejit.ir.values import Zero
from tracejit.ops.building import identities as ids
from tracejit.ops.building.helpers import dtype_of, kind, lift, pointwise
from tracejit.ops.elementwise.compare import eq, gt, lt, select
from tracejit.ops.elementwise.scale import scale
from tracejit.ops.kernels import scalar, scalar_complex


def _pow_in_base(t: Any, ans: Any, x: Any, y: Any) -> Any:
    """y x**(y-1) t, 0 where y is 0."""
    mul, sub = ops.arithmetic.mul, ops.arithmetic.sub
    nothing = eq(y, 0)
    slope = mul(y, pow(x, select(nothing, lift(1, y), sub(y, 1))))
    return scale(select(nothing, lift(0, y), slope), t)


def _pow_in_exponent(t: Any, ans: Any, x: Any, y: Any) -> Any:
    """x**y log(x) t, 0 where x is 0, NaN where x < 0."""
    log, mul = ops.transcendental.log, ops.arithmetic.mul
    one = lift(1, x)
    if kind(dtype_of(x)) == "c":
        safe = select(eq(x, 0), one, x)
    else:  # log without warnings
        safe = select(gt(x, 0), x, select(lt(x, 0), lift(np.nan, x), one))
    return scale(select(eq(x, 0), lift(0, x), mul(ans, log(safe))), t)


def _small_power(eqn: Any) -> Any:
    """x**y of floats for a small whole constant y -> x, x * x, products."""
    y = eqn.invars[1]
    if (
        not isinstance(y, Literal)
        or y.aval.dtype.kind != "f"
        or y.value not in range(-32, 33)
        or y.value == 0
    ):
        return None
    return ("op", integer_pow.op, (eqn.invars[0],), {"n": int(y.value)}) if _is_full(eqn) else None


def _is_full(eqn: Any) -> bool:
    return eqn.invars[0].aval == eqn.outvars[0].aval


pow = pointwise(
    "pow",
    "x ** y",
    np.power,
    kinds="iufc",
    kernel=lambda k, x, y: (scalar_complex if scalar.kind(x) == "c" else scalar).power(k, x, y),
    derivatives=(_pow_in_base, _pow_in_exponent),
    simplify=(_small_power,),
    bounds=ids.power_bounds,
    cost=40,
)


def _integer_pow_tangent(t: Any, ans: Any, x: Any, *, n: int) -> Any:
    """n x**(n-1) t."""
    if n in (0, 1):
        return Zero(aval_of(x).tangent()) if n == 0 else t
    return scale(ops.arithmetic.mul(x if n == 2 else integer_pow(x, n=n - 1), n), t)


integer_pow = pointwise(
    "integer_pow",
    "x ** n for an int n",
    lambda x, *, n: x**n,
    kinds="iufc",
    kernel=scalar.integer_pow,
    derivatives=(_integer_pow_tangent,),
    simplify=(ids.unchanged(lambda e: e.params["n"] == 1),),
    bounds=ids.integer_pow_bounds,
    cost=4,
)
