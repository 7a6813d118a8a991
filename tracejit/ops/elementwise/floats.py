"""The parts of floating-point numbers, their neighbours, and rounding to smaller formats.

Their derivatives take what is rounded away as constant: modf(x) moves its fraction with x, frexp(x) its
mantissa by 2**-exponent, and a neighbour of x moves as x does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import ArgumentError
from tracejit.ir.primitive import ZERO_TANGENT, binds
from tracejit.ops.building.helpers import linear_in, pointwise
from tracejit.ops.elementwise.arithmetic import floor_divide, neg, scale
from tracejit.ops.elementwise.several import several, with_integers
from tracejit.ops.kernels import scalar, scalar_bits

_INT32 = np.dtype(np.int32)


# ---------------------------------------------------------------- two parts

frexp = several(
    "frexp",
    "mantissa and exponent: x = m * 2**e",
    np.frexp,
    kinds="f",
    kernel=scalar_bits.frexp,
    results=lambda d: (d, _INT32),
    derivatives=((lambda t, outs, x: ldexp(t, neg(outs[1])),), (None,)),
    cost=8,
)

modf = several(
    "modf",
    "fraction and whole part",
    np.modf,
    kinds="f",
    kernel=scalar_bits.modf,
    results=lambda d: (d, d),
    derivatives=((lambda t, outs, x: t,), (None,)),
    cost=3,
)

divmod = several(
    "divmod",
    "floor(x / y) and x % y, from one remainder",
    np.divmod,
    kinds="iuf",
    kernel=scalar.divmod_,
    results=lambda d: (d, d),
    derivatives=(
        (None, None),
        (lambda t, outs, x, y: t, lambda t, outs, x, y: neg(scale(floor_divide(x, y), t))),
    ),
    cost=12,
)

# ---------------------------------------------------------------- powers of two


def _ldexp_eval(x: Any, n: Any) -> Any:
    """NumPy's loops take exponents of 32 and 64 bits."""
    n = n if n.itemsize >= 4 else n.astype(_INT32)
    return np.ldexp(x, n) if x.itemsize > 2 else np.ldexp(x.astype(np.float32), n).astype(x.dtype)


ldexp = with_integers(
    "ldexp",
    "x * 2**n for integers n",
    _ldexp_eval,
    kernel=scalar_bits.ldexp,
    derivative=lambda t, ans, x, n: ldexp(t, n),
    transpose=linear_in(0, lambda ct, x, n: ldexp(ct, n)),
    cost=10,
)

# ---------------------------------------------------------------- neighbours

nextafter = pointwise(
    "nextafter",
    "the next float after x towards y",
    np.nextafter,
    kinds="f",
    kernel=scalar_bits.nextafter,
    derivatives=(lambda t, ans, x, y: t, None),
    cost=6,
)

spacing = pointwise(
    "spacing",
    "the distance from x to the next float",
    np.spacing,
    kinds="f",
    kernel=scalar_bits.spacing,
    derivatives=ZERO_TANGENT,
    cost=4,
)

# ---------------------------------------------------------------- smaller formats


def _reduce_eval(x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    """The kernel's steps on arrays: round the bits to nearest even, then the ends of the exponent range."""
    form, width = scalar_bits.layout(x.dtype), x.dtype.itemsize
    unsigned = np.dtype(f"u{width}").type
    b = x.view(unsigned)
    with np.errstate(over="ignore"):
        if mantissa_bits < form.mantissa:
            cut = form.mantissa - mantissa_bits
            b = b + ((b >> unsigned(cut)) & unsigned(1)) + unsigned((1 << (cut - 1)) - 1)
            b = b & ~unsigned((1 << cut) - 1)
    if exponent_bits < form.exponent:
        reduced = (1 << (exponent_bits - 1)) - 1
        mask = unsigned(form.exponent_mask)
        sign, e = b & unsigned(1 << (8 * width - 1)), b & mask
        b = np.where(e > unsigned((form.bias + reduced) << form.mantissa), sign | mask, b)
        b = np.where(e <= unsigned((form.bias - reduced) << form.mantissa), sign, b)
    return np.where(np.isnan(x), x, b.view(x.dtype))[()]


_reduce_precision = pointwise(
    "reduce_precision",
    "x rounded to a format with fewer bits",
    _reduce_eval,
    kinds="f",
    kernel=scalar_bits.reduce_precision,
    derivatives=(lambda t, ans, x, **bits: _reduce_precision(t, **bits),),
    transpose=linear_in(0, lambda ct, x, **bits: _reduce_precision(ct, **bits)),
    cost=6,
)


@binds(_reduce_precision.op)
def reduce_precision(x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
    """`x` as a float of `1 + exponent_bits + mantissa_bits` bits would hold it, in its own dtype.

    Raises:
        ArgumentError: fewer than one exponent bit, or a negative number of mantissa bits.
    """
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ArgumentError(
            name="reduce_precision",
            problem=f"needs at least one exponent bit and no fewer than zero mantissa bits, "
            f"not {exponent_bits} and {mantissa_bits}",
        )
    return _reduce_precision(x, exponent_bits=int(exponent_bits), mantissa_bits=int(mantissa_bits))
