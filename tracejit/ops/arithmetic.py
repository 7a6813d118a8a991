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
from tracejit.ir.primitive import LINEAR, ZERO_TANGENT
from tracejit.ir.values import Zero
from tracejit.ops import identities as ids
from tracejit.ops import scalar, scalar_order
from tracejit.ops.compare import eq, gt, isnan, lt, select
from tracejit.ops.complexes import complex, conj, imag, real
from tracejit.ops.helpers import dtype_of, each_linear, kind, lift, linear_in, pointwise
from tracejit.ops.powers import integer_pow, pow
from tracejit.ops.scale import scale, unscale

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
    kernel=scalar.sign,
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


def _share(wins: Any, x: Any, y: Any) -> Any:
    """1 where `x` is the result, 1/2 where both are, 0 elsewhere."""
    one, half, zero = (lift(v, x) for v in (1.0, 0.5, 0.0))
    return select(wins(x, y), one, select(eq(x, y), half, zero))


def _share_ignoring_nan(wins: Any, x: Any, y: Any) -> Any:
    return select(isnan(y), lift(1.0, x), _share(wins, x, y))


def _extremum(
    name: str, doc: str, fn: Any, kinds: str, kernel: Any, share: Any, wins: Any, bounds: Any
) -> Any:
    return pointwise(
        name,
        doc,
        fn,
        kinds=kinds,
        kernel=kernel,
        derivatives=(
            lambda t, ans, x, y: scale(share(wins, x, y), t),
            lambda t, ans, x, y: scale(share(wins, y, x), t),
        ),
        simplify=(ids.same_operands,),
        bounds=bounds,
        inplace=True,
    )


maximum = _extremum(
    "maximum",
    "the larger, NaN if one is",
    np.maximum,
    "biufc",
    scalar_order.maximum,
    _share,
    gt,
    ids.max_bounds,
)
minimum = _extremum(
    "minimum",
    "the smaller, NaN if one is",
    np.minimum,
    "biufc",
    scalar_order.minimum,
    _share,
    lt,
    ids.min_bounds,
)
fmax = _extremum(
    "fmax",
    "the larger, ignoring NaN",
    np.fmax,
    "biuf",
    scalar_order.ignoring_nan(scalar_order.maximum),
    _share_ignoring_nan,
    gt,
    ids.max_bounds,
)
fmin = _extremum(
    "fmin",
    "the smaller, ignoring NaN",
    np.fmin,
    "biuf",
    scalar_order.ignoring_nan(scalar_order.minimum),
    _share_ignoring_nan,
    lt,
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
