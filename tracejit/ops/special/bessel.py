"""Bessel functions: of the orders 0 and 1, of all kinds; of real order."""

from __future__ import annotations

from typing import Any

from tracejit.ops.elementwise.arithmetic import abs, add, div, mul, neg, sign, square, sub
from tracejit.ops.elementwise.compare import gt, select
from tracejit.ops.elementwise.transcendental import exp
from tracejit.ops.special.building import by_vecmath, no_derivative, quotient, series, special, times

# I1(x)/x and J1(x)/x in powers of x**2.
_I1_SERIES = (1 / 2, 1 / 16, 1 / 384, 1 / 18432)
_J1_SERIES = (1 / 2, -1 / 16, 1 / 384, -1 / 18432)


bessel_i0e = special(
    "bessel_i0e",
    "exp(-|x|) I0(x)",
    "i0e",
    times(lambda ans, x: sub(bessel_i1e(x), mul(sign(x), ans))),
    kernel=by_vecmath("i0e"),
)


def _i1e_slope(ans: Any, x: Any) -> Any:
    """I0e - sign(x) I1e - I1e/x."""
    decay = bessel_i0e(x)
    near = mul(exp(neg(abs(x))), series(square(x), _I1_SERIES))
    return sub(sub(decay, mul(sign(x), ans)), quotient(ans, x, near))


bessel_i1e = special(
    "bessel_i1e",
    "exp(-|x|) I1(x)",
    "i1e",
    times(_i1e_slope),
    kernel=by_vecmath("i1e"),
)

bessel_i0 = special(
    "bessel_i0",
    "the modified Bessel function of order 0",
    "i0",
    times(lambda ans, x: bessel_i1(x)),
    kernel=by_vecmath("i0"),
)


def _i1_slope(ans: Any, x: Any) -> Any:
    """I0 - I1/x; where these leave the range, by what they are without exp(|x|)."""
    far = gt(abs(x), _FAR)
    y, z = select(far, 1.0, x), select(far, x, _FAR)
    near = sub(bessel_i0(y), quotient(bessel_i1(y), y, series(square(y), _I1_SERIES)))
    root = exp(mul(abs(z), 0.5))
    return select(far, mul(mul(root, sub(bessel_i0e(z), div(bessel_i1e(z), z))), root), near)


#: Where I0 and I1 are large, and far from the range of float64 still.
_FAR = 500.0

bessel_i1 = special(
    "bessel_i1",
    "the modified Bessel function of order 1",
    "i1",
    times(_i1_slope),
    kernel=by_vecmath("i1"),
)

bessel_j0 = special(
    "bessel_j0", "the Bessel function of order 0", "j0", times(lambda ans, x: neg(bessel_j1(x)))
)

bessel_j1 = special(
    "bessel_j1",
    "the Bessel function of order 1",
    "j1",
    times(lambda ans, x: sub(bessel_j0(x), quotient(ans, x, series(square(x), _J1_SERIES)))),
)


# ---------------------------------------------------------------- infinite at 0

bessel_y0 = special(
    "bessel_y0",
    "the Bessel function of the second kind of order 0",
    "y0",
    times(lambda ans, x: neg(bessel_y1(x))),
)

bessel_y1 = special(
    "bessel_y1",
    "the Bessel function of the second kind of order 1",
    "y1",
    times(lambda ans, x: sub(bessel_y0(x), div(ans, x))),
)

bessel_k0 = special(
    "bessel_k0", "the modified Bessel function K of order 0", "k0", times(lambda ans, x: neg(bessel_k1(x)))
)

bessel_k1 = special(
    "bessel_k1",
    "the modified Bessel function K of order 1",
    "k1",
    times(lambda ans, x: neg(add(bessel_k0(x), div(ans, x)))),
)

bessel_k0e = special("bessel_k0e", "exp(x) K0(x)", "k0e", times(lambda ans, x: sub(ans, bessel_k1e(x))))

bessel_k1e = special(
    "bessel_k1e",
    "exp(x) K1(x)",
    "k1e",
    times(lambda ans, x: sub(sub(ans, bessel_k0e(x)), div(ans, x))),
)

# ---------------------------------------------------------------- real orders


def _of_order(name: str, kind: str, left: float, right: float) -> Any:
    """A function whose derivative by x is left * f(v - 1, x) + right * f(v + 1, x)."""

    def slope(ans: Any, v: Any, x: Any) -> Any:
        return add(mul(op(sub(v, 1), x), left), mul(op(add(v, 1), x), right))

    doc = f"the {kind} of real order v"
    op = special(
        f"bessel_{name}", doc, name, no_derivative(f"bessel_{name}", "its order"), times(slope), cost=300
    )
    return op


bessel_jv = _of_order("jv", "Bessel function", 0.5, -0.5)
bessel_yv = _of_order("yv", "Bessel function of the second kind", 0.5, -0.5)
bessel_iv = _of_order("iv", "modified Bessel function I", 0.5, 0.5)
bessel_kv = _of_order("kv", "modified Bessel function K", -0.5, -0.5)
