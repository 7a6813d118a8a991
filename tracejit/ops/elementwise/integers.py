"""Integers: common divisors and counts of bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.primitive import ZERO_TANGENT
from tracejit.ops.building import identities as ids
from tracejit.ops.building.helpers import pointwise
from tracejit.ops.kernels import scalar_bits

_UINT8 = np.dtype(np.uint8)


def _of_integers(name: str, doc: str, fn: Any, kernel: Any, arity: int = 1, **options: Any) -> Any:
    return pointwise(
        name, doc, fn, kinds="iu", kernel=kernel, derivatives=ZERO_TANGENT, arity=arity, **options
    )


gcd = _of_integers("gcd", "the greatest common divisor", np.gcd, scalar_bits.gcd, 2, cost=200)
lcm = _of_integers("lcm", "the least common multiple", np.lcm, scalar_bits.lcm, 2, cost=220)


def _unsigned(x: Any) -> Any:
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def _clz_eval(x: Any) -> Any:
    """The width less the number of bits of x; frexp of halves of it, which are exact, counts those."""
    width = 8 * x.dtype.itemsize
    u = _unsigned(x).astype(np.uint64)
    high = (u >> np.uint64(32)).astype(np.float64)
    low = (u & np.uint64(0xFFFFFFFF)).astype(np.float64)
    length = np.where(high > 0, np.frexp(high)[1] + 32, np.frexp(low)[1])
    return (width - length).astype(x.dtype)[()]


def _ctz_eval(x: Any) -> Any:
    """The bits below the lowest one, counted."""
    u = _unsigned(x)
    one = u.dtype.type(1)
    with np.errstate(over="ignore"):
        return np.bitwise_count(~u & (u - one)).astype(x.dtype)


def _shift_right_logical_eval(x: Any, n: Any) -> Any:
    out = np.right_shift(_unsigned(x), _unsigned(n)).astype(x.dtype)
    return out[()]


bitwise_count = _of_integers(
    "bitwise_count",
    "the number of bits set in |x|, as uint8",
    np.bitwise_count,
    scalar_bits.count_bits("popcount", True, _UINT8),
    result=lambda d: _UINT8,
)
population_count = _of_integers(
    "population_count",
    "the number of bits set",
    lambda x: np.bitwise_count(_unsigned(x)).astype(x.dtype),
    scalar_bits.count_bits("popcount", False, None),
)
clz = _of_integers(
    "clz",
    "the number of zeros above the highest bit set",
    _clz_eval,
    scalar_bits.count_bits("clz", False, None),
)
ctz = _of_integers(
    "ctz",
    "the number of zeros below the lowest bit set",
    _ctz_eval,
    scalar_bits.count_bits("ctz", False, None),
)
shift_right_logical = _of_integers(
    "shift_right_logical",
    "x >> n with zeros shifted in, 0 for counts of the width or more",
    _shift_right_logical_eval,
    scalar_bits.shift_right_logical,
    2,
    simplify=(ids.neutral(1, 0, "iu"),),
)
