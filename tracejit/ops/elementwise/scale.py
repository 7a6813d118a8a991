"""Products in which zero wins: what derivative rules multiply with.

`where(x > 0, sqrt(x), 0)` sends a zero cotangent to sqrt's derivative at 0,
which is infinite, and 0 * inf is NaN. A linear map takes zero to zero, and a
coefficient of zero means "does not depend on", so here zero times anything is
zero. Such products do not depend on their order, so forward and reverse mode
agree. For finite numbers they are * and /, but for the sign of a zero.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Literal
from tracejit.ir.primitive import BILINEAR
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building import identities as ids
from tracejit.ops.building.helpers import each_linear, linear_in, pointwise
from tracejit.ops.kernels import scalar


def _quietly(ufunc: np.ufunc, zero: Any) -> Any:
    """`ufunc` without warnings, 0 instead of NaN where `zero(x, y)`."""

    def evaluate(x: Any, y: Any) -> Any:
        with np.errstate(all="ignore"):
            out = ufunc(x, y)
        bad = out != out
        if np.count_nonzero(bad):
            return np.where(bad & zero(x, y), out.dtype.type(0), out)[()]
        return out

    return evaluate


_multiply = _quietly(np.multiply, lambda c, t: (c == 0) | (t == 0))


def _evaluate_scale(c: Any, t: Any) -> Any:
    if type(c) is np.float64 and type(t) is np.float64:  # Python's floats multiply without warnings
        out = float.__mul__(c, t)
        if out == out:
            return np.float64(out)
    return _multiply(c, t)


def _scale_kernel(k: Any, c: Any, t: Any) -> Any:
    out = k.mul(c, t)
    # Masks of vectors are joined by a conjunction of comparisons at no cost.
    return k.select(k.and_(k.ne(c, 0), k.ne(t, 0)), out, k.const(0, out.dtype))


def _unscale_kernel(k: Any, t: Any, d: Any) -> Any:
    return k.select(k.eq(t, 0), t, scalar.div(k, t, d))


def quotient_series(k: int, out: Any, n: Any, d: Any) -> Any:
    """Of q = n / d: q_k = (n_k - sum over i < k of q_i d_{k-i}) / d_0, since q d = n."""
    add, sub, mul = ops.arithmetic.add, ops.arithmetic.sub, ops.arithmetic.mul
    pairs = [(out(i), d(k - i)) for i in range(k)]
    terms = [mul(a, b) for a, b in pairs if not is_zero(a) and not is_zero(b)]
    rest = functools.reduce(add, terms) if terms else None
    top = n(k)
    if is_zero(top):
        return Zero(aval_of(out(0)).tangent()) if rest is None else ops.arithmetic.neg(unscale(rest, d(0)))
    return unscale(top if rest is None else sub(top, rest), d(0))


def _is_usual(atom: Any) -> bool:
    return isinstance(atom, Literal) and bool(np.isfinite(atom.value)) and atom.value != 0


def _by_a_number(eqn: Any) -> Any:
    """By a known number that is finite and not zero it is a product: a zero comes of a zero only."""
    return ("op", ops.arithmetic.mul.op, eqn.invars, {}) if any(map(_is_usual, eqn.invars)) else None


def _over_a_number(eqn: Any) -> Any:
    """Over such a number it is a quotient. Not of complex numbers, where 0 / d may be NaN for tiny d."""
    usual = _is_usual(eqn.invars[1]) and eqn.invars[1].aval.dtype.kind == "f"
    return ("op", ops.arithmetic.div.op, eqn.invars, {}) if usual else None


scale = pointwise(
    "scale",
    "c * t, and 0 where one of them is 0",
    _evaluate_scale,
    kinds="fc",
    kernel=_scale_kernel,
    derivatives=(lambda dc, ans, c, t: scale(dc, t), lambda dt, ans, c, t: scale(c, dt)),
    transpose=each_linear(lambda ct, c, t: scale(ct, t), lambda ct, c, t: scale(c, ct)),
    simplify=(*ids.both_sides(1, "f"), _by_a_number),
    cost=2,
    series=BILINEAR,
)

unscale = pointwise(
    "unscale",
    "t / d, and 0 where t is 0",
    _quietly(np.divide, lambda t, d: t == 0),
    kinds="fc",
    kernel=_unscale_kernel,
    derivatives=(
        lambda dt, ans, t, d: unscale(dt, d),
        lambda dd, ans, t, d: ops.arithmetic.neg(scale(unscale(ans, d), dd)),
    ),
    transpose=linear_in(0, lambda ct, t, d: unscale(ct, d)),
    simplify=(ids.neutral(1, 1, "f"), _over_a_number),
    cost=5,
    series=quotient_series,
)
