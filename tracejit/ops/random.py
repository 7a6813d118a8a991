"""Random bits by counter: a hash of a key and a position, so that every lane and thread draws the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ir.kernel import Pointwise
from tracejit.ir.primitive import (
    FROM_JVP,
    NO_BOUNDS,
    NO_EFFECTS,
    NO_IDENTITIES,
    NO_INPLACE,
    NONLINEAR,
    ZERO_TANGENT,
    Op,
)
from tracejit.ops.helpers import batch_pointwise, common_shape, op_function

_U32 = np.dtype(np.uint32)
_U64 = np.dtype(np.uint64)

# The cipher's constants, from Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
# 1, 2, 3" (2011): rotations of the eight rounds that repeat, and the parity word of the key schedule.
_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_ROUNDS = 20


def _rounds(x0: Any, x1: Any, keys: Any, rotate: Any, number: Any) -> tuple[Any, Any]:
    """Threefry-2x32 with 20 rounds: two words enciphered under the schedule `keys`."""
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for n in range(_ROUNDS):
        x0 = x0 + x1
        x1 = rotate(x1, _ROTATIONS[n % 8]) ^ x0
        if n % 4 == 3:
            s = n // 4 + 1
            x0, x1 = x0 + keys[s % 3], x1 + (keys[(s + 1) % 3] + number(s))
    return x0, x1


def _eval(k0: Any, k1: Any, counter: Any) -> Any:
    def rotate(x: Any, n: int) -> Any:
        return (x << np.uint32(n)) | (x >> np.uint32(32 - n))

    with np.errstate(over="ignore"):
        counter = np.asarray(counter)
        hi, lo = (counter >> np.uint64(32)).astype(_U32), counter.astype(_U32)
        keys = (k0, k1, k0 ^ k1 ^ np.uint32(_PARITY))
        x0, x1 = _rounds(hi, lo, keys, rotate, np.uint32)
        return (x0.astype(_U64) << np.uint64(32)) | x1.astype(_U64)


def _kernel(k: Any, k0: Any, k1: Any, counter: Any) -> Any:
    def rotate(x: Any, n: int) -> Any:
        up = k.int_op("shl", x, k.const(n, _U32))
        return k.or_(up, k.int_op("lshr", x, k.const(32 - n, _U32)))

    def number(n: int) -> Any:
        return k.const(n, _U32)

    half = k.const(32, _U64)
    hi, lo = k.cast(k.int_op("lshr", counter, half), _U32), k.cast(counter, _U32)
    keys = (k0, k1, k.xor(k.xor(k0, k1), number(_PARITY)))
    x0, x1 = _rounds(hi, lo, keys, rotate, number)
    return k.or_(k.int_op("shl", k.cast(x0, _U64), half), k.cast(x1, _U64))


def _type(k0: Aval, k1: Aval, counter: Aval) -> Aval:
    if (k0.dtype, k1.dtype, counter.dtype) != (_U32, _U32, _U64):
        raise TypeRuleError(op="threefry2x32", problem="takes a key of two uint32 and counters of uint64")
    return Aval(common_shape("threefry2x32", (k0, k1, counter)), _U64)


_threefry2x32 = Op(
    name="threefry2x32",
    doc="64 random bits from a key of two words and a counter",
    multi=False,
    type=_type,
    eval=_eval,
    inplace=NO_INPLACE,
    jvp=ZERO_TANGENT,
    linearize=FROM_JVP,
    transpose=NONLINEAR,
    batch=batch_pointwise(lambda: _threefry2x32),
    simplify=NO_IDENTITIES,
    effects=NO_EFFECTS,
    bounds=NO_BOUNDS,
    kernel=Pointwise(_kernel, 80),
)

threefry2x32 = op_function(_threefry2x32)
