"""Arithmetic: one record an op, derivatives written as formulas.

Derivatives follow JAX: holomorphic functions have their complex derivative, and
transposing never conjugates. Coefficients come from primals only and multiply
the tangent, so that linear programs hold products and little else. Those that
can be infinite multiply through `scale`, in which zero times infinity is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.avals import aval_of
from tracejit.ir.primitive import BILINEAR, LINEAR, ZERO_TANGENT
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building import identities as ids
from tracejit.ops.building.helpers import (
    broadcast_like,
    dtype_of,
    each_linear,
    kind,
    lift,
    linear_in,
    pointwise,
)
from tracejit.ops.elementwise.compare import eq, gt, isnan, lt, or_, select
from tracejit.ops.elementwise.complexes import complex, conj, imag, real
from tracejit.ops.elementwise.powers import integer_pow, pow
from tracejit.ops.elementwise.scale import quotient_series, scale, unscale
from tracejit.ops.kernels import scalar, scalar_complex, scalar_order

__all__ = ["complex", "conj", "imag", "integer_pow", "pow", "real", "scale", "unscale"]  # of other files

# ---------------------------------------------------------------- + - * /

add = pointwise(
    "add",
    "x + y",
    np.add,
    kinds="biufc",
    kernel=scalar.add,
    derivatives=(lambda t, ans, x, y: t, lambda t, ans, x, y: t),
    transpose=each_linear(lambda ct, x, y: ct, lambda ct, x, y: ct),
    simplify=(
        *ids.both_sides(-0.0, "f"),
        *ids.both_sides(0, "biu"),
        ids.through("neg", 1, lambda e, y: ("op", sub.op, (e.invars[0], y), {})),
    ),
    bounds=ids.add_bounds,
    series=LINEAR,
    inplace=True,
)

sub = pointwise(
    "sub",
    "x - y",
    np.subtract,
    kinds="iufc",
    kernel=lambda k, x, y: k.sub(x, y),
    derivatives=(lambda t, ans, x, y: t, lambda t, ans, x, y: neg(t)),
    transpose=each_linear(lambda ct, x, y: ct, lambda ct, x, y: neg(ct)),
    simplify=(
        ids.neutral(1, 0.0, "iuf"),
        ids.int_minus_itself,
        ids.through("neg", 1, lambda e, y: ("op", add.op, (e.invars[0], y), {})),
    ),
    bounds=ids.sub_bounds,
    series=LINEAR,
    inplace=True,
)

mul = pointwise(
    "mul",
    "x * y",
    np.multiply,
    kinds="biufc",
    kernel=scalar.mul,
    derivatives=(lambda t, ans, x, y: mul(t, y), lambda t, ans, x, y: mul(x, t)),
    transpose=each_linear(lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(x, ct)),
    simplify=(*ids.both_sides(1, "biuf"), ids.int_times_zero),
    bounds=ids.mul_bounds,
    series=BILINEAR,
    inplace=True,
)

div = pointwise(
    "div",
    "x / y of floats or complex numbers",
    np.divide,
    kinds="fc",
    kernel=scalar.div,
    derivatives=(
        lambda t, ans, x, y: unscale(t, y),
        lambda t, ans, x, y: neg(scale(unscale(ans, y), t)),
    ),
    transpose=linear_in(0, lambda ct, x, y: unscale(ct, y)),
    simplify=(ids.neutral(1, 1, "f"), ids.by_power_of_two(lambda: mul.op)),
    series=quotient_series,
    cost=4,
    inplace=True,
)

neg = pointwise(
    "neg",
    "-x",
    np.negative,
    kinds="iufc",
    kernel=lambda k, x: k.neg(x),
    derivatives=LINEAR,
    transpose=linear_in(0, lambda ct, x: neg(ct)),
    simplify=(ids.undoes("neg"),),
    bounds=ids.neg_bounds,
)

# ---------------------------------------------------------------- abs, sign, squares


def _abs_tangent(t: Any, ans: Any, x: Any) -> Any:
    """sign(x) t, and Re(conj(x / |x|) t) of complex numbers; 0 at 0."""
    s = sign(x)
    return real(mul(conj(s), t)) if kind(dtype_of(x)) == "c" else scale(s, t)


def _sign_tangent(t: Any, ans: Any, x: Any) -> Any:
    """Zero; of complex s = x / |x|: (t - s Re(conj(s) t)) / |x|, 0 at 0."""
    if kind(dtype_of(x)) != "c":
        return Zero(aval_of(x).tangent())
    size = abs(x)
    inverse = unscale(select(eq(size, 0), lift(0, size), lift(1, size)), size)
    along = real(mul(conj(ans), t))
    return mul(complex(inverse, 0), sub(t, mul(ans, complex(along, 0))))


abs = pointwise(
    "abs",
    "|x|",
    np.abs,
    kinds="biufc",
    kernel=scalar.absolute,
    derivatives=(_abs_tangent,),
    result=scalar.real_dtype,
    simplify=(ids.idempotent("abs"),),
    bounds=ids.abs_bounds,
)

sign = pointwise(
    "sign",
    "-1, 0 or 1; x / |x| for complex numbers",
    np.sign,
    kinds="iufc",
    kernel=lambda k, x: (scalar_complex if scalar.kind(x) == "c" else scalar).sign(k, x),
    derivatives=(_sign_tangent,),
    simplify=(ids.idempotent("sign"),),
)

square = pointwise(
    "square",
    "x * x",
    np.square,
    kinds="iufc",
    kernel=lambda k, x: k.mul(x, x),
    derivatives=(lambda t, ans, x: scale(mul(x, 2), t),),
    bounds=lambda operands: ids.integer_pow_bounds(operands, n=2),
)

reciprocal = pointwise(
    "reciprocal",
    "1 / x",
    np.reciprocal,
    kinds="iufc",
    kernel=scalar.reciprocal,
    derivatives=(lambda t, ans, x: neg(scale(square(ans), t)),),
    cost=4,
)

# ---------------------------------------------------------------- division with remainder, rounding

remainder = pointwise(
    "remainder",
    "x % y, with the sign of y",
    np.remainder,
    kinds="iuf",
    kernel=scalar.remainder,
    derivatives=(lambda t, ans, x, y: t, lambda t, ans, x, y: neg(scale(floor_divide(x, y), t))),
    bounds=ids.remainder_bounds,
    cost=10,
)

fmod = pointwise(
    "fmod",
    "C's remainder, with the sign of x",
    np.fmod,
    kinds="iuf",
    kernel=scalar.fmod,
    derivatives=(lambda t, ans, x, y: t, lambda t, ans, x, y: scale(rint(unscale(sub(ans, x), y)), t)),
    cost=10,
)

floor_divide = pointwise(
    "floor_divide",
    "floor(x / y)",
    np.floor_divide,
    kinds="iuf",
    kernel=scalar.floor_divide,
    derivatives=ZERO_TANGENT,
    arity=2,
    simplify=(ids.neutral(1, 1, "iu"),),
    bounds=ids.floor_divide_bounds,
    cost=10,
)


def _rounding(name: str, doc: str, fn: Any, kinds: str = "f") -> Any:
    return pointwise(
        name,
        doc,
        fn,
        kinds=kinds,
        kernel=scalar.rounding(name),
        derivatives=ZERO_TANGENT,
        simplify=(ids.idempotent(name),),
    )


floor = _rounding("floor", "the largest integer <= x", np.floor)
ceil = _rounding("ceil", "the smallest integer >= x", np.ceil)
trunc = _rounding("trunc", "the integer part of x", np.trunc)
rint = _rounding("rint", "the nearest integer, ties to even", np.rint, "fc")

# ---------------------------------------------------------------- extrema


def _larger_or_number(x: Any, y: Any) -> Any:
    return or_(isnan(y), gt(x, y))


def _smaller_or_number(x: Any, y: Any) -> Any:
    return or_(isnan(y), lt(x, y))


def _extremum_jvp(get_op: Any, wins: Any) -> Any:
    """The winner's tangent, the mean of both at a tie. Two masks are all it keeps."""

    def jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
        out = get_op()(*primals)
        tx, ty = tangents
        if is_zero(tx) and is_zero(ty):
            return out, Zero(aval_of(out).tangent())
        x, y = primals
        first, tie = wins(x, y), eq(x, y)
        zero = lift(0, dtype_of(out))
        tx, ty = (zero if is_zero(t) else t for t in tangents)
        both = tx if ty is zero else ty if tx is zero else add(tx, ty)
        chosen = select(first, tx, select(tie, mul(both, 0.5), ty))
        return out, broadcast_like(chosen, aval_of(out).shape)

    return jvp


def _extremum(name: str, doc: str, fn: Any, kinds: str, kernel: Any, wins: Any, bounds: Any) -> Any:
    function = pointwise(
        name,
        doc,
        fn,
        kinds=kinds,
        kernel=kernel,
        derivatives=_extremum_jvp(lambda: function, wins),
        arity=2,
        simplify=(ids.same_operands,),
        bounds=bounds,
        inplace=True,
    )
    return function


maximum = _extremum(
    "maximum",
    "the larger, NaN if one is",
    np.maximum,
    "biufc",
    scalar_order.maximum,
    gt,
    ids.max_bounds,
)
minimum = _extremum(
    "minimum",
    "the smaller, NaN if one is",
    np.minimum,
    "biufc",
    scalar_order.minimum,
    lt,
    ids.min_bounds,
)
fmax = _extremum(
    "fmax",
    "the larger, ignoring NaN",
    np.fmax,
    "biuf",
    scalar_order.ignoring_nan(scalar_order.maximum),
    _larger_or_number,
    ids.max_bounds,
)
fmin = _extremum(
    "fmin",
    "the smaller, ignoring NaN",
    np.fmin,
    "biuf",
    scalar_order.ignoring_nan(scalar_order.minimum),
    _smaller_or_number,
    ids.min_bounds,
)

copysign = pointwise(
    "copysign",
    "|x| with the sign of y",
    np.copysign,
    kinds="f",
    kernel=lambda k, x, y: k.float_op("copysign", x, y),
    derivatives=(lambda t, ans, x, y: mul(mul(copysign(1.0, x), copysign(1.0, y)), t), None),
)
