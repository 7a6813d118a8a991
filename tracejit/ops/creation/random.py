"""Random bits by counter: a hash of a key and a position, so that every lane and thread draws the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ir.kernel import Pointwise
from tracejit.ir.primitive import (
    NONLINEAR,
    ZERO_TANGENT,
)
from tracejit.ops.building.helpers import batch_pointwise, common_shape, op_function, plain

_U32 = np.dtype(np.uint32)
_U64 = np.dtype(np.uint64)
_F64 = np.dtype(np.float64)

# The cipher's constants, from Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as
# 1, 2, 3" (2011): rotations of the eight rounds that repeat, and the parity word of the key schedule.
_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_ROUNDS = 20


def _eval(k0: Any, k1: Any, counter: Any) -> Any:
    def rotated(x: Any, n: int) -> Any:
        return (x << np.uint32(n)) | (x >> np.uint32(32 - n))

    with np.errstate(over="ignore"):
        counter = np.asarray(counter)
        keys = (k0, k1, k0 ^ k1 ^ np.uint32(_PARITY))
        x0 = (counter >> np.uint64(32)).astype(_U32) + k0
        x1 = counter.astype(_U32) + k1
        for n in range(_ROUNDS):
            x0 = x0 + x1
            x1 = rotated(x1, _ROTATIONS[n % 8]) ^ x0
            if n % 4 == 3:
                s = n // 4 + 1
                x0, x1 = x0 + keys[s % 3], x1 + (keys[(s + 1) % 3] + np.uint32(s))
        return (x0.astype(_U64) << np.uint64(32)) | x1.astype(_U64)


def _kernel(k: Any, k0: Any, k1: Any, counter: Any) -> Any:
    """The cipher is among the vector functions, which take floats: bits pass through them unchanged."""
    key = k.or_(k.int_op("shl", k.cast(k0, _U64), k.const(32, _U64)), k.cast(k1, _U64))
    words = k.math("threefry2x32", k.bitcast(key, _F64), k.bitcast(counter, _F64))
    return k.bitcast(words, _U64)


def _type(k0: Aval, k1: Aval, counter: Aval) -> Aval:
    if (k0.dtype, k1.dtype, counter.dtype) != (_U32, _U32, _U64):
        raise TypeRuleError(op="threefry2x32", problem="takes a key of two uint32 and counters of uint64")
    return Aval(common_shape("threefry2x32", (k0, k1, counter)), _U64)


_threefry2x32 = plain(
    name="threefry2x32",
    doc="64 random bits from a key of two words and a counter",
    type=_type,
    eval=_eval,
    jvp=ZERO_TANGENT,
    transpose=NONLINEAR,
    batch=batch_pointwise(lambda: _threefry2x32),
    kernel=Pointwise(_kernel, 80),
)

threefry2x32 = op_function(_threefry2x32)
