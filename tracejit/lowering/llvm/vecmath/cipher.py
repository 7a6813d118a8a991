"""Threefry-2x32 for random bits: a function of two words' bits, carried as float64 like all functions here.

It is a function of its own, rather than part of every kernel, since a loop that draws often would otherwise hold
thousands of integer additions, which LLVM's analysis of induction variables takes many seconds to look through.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_U32 = np.dtype(np.uint32)
_U64 = np.dtype(np.uint64)
_F64 = np.dtype(np.float64)

# Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_PARITY = 0x1BD11BDA
_ROUNDS = 20


def threefry(k: Any, key: Any, counter: Any) -> Any:
    """The counter enciphered under the key: each the bits of a float64, the high word in its upper half."""
    k0, k1 = _halves(k, k.bitcast(key, _U64))
    x0, x1 = _halves(k, k.bitcast(counter, _U64))
    keys = (k0, k1, k.xor(k.xor(k0, k1), k.const(_PARITY, _U32)))
    x0, x1 = x0 + keys[0], x1 + keys[1]
    for n in range(_ROUNDS):
        x0 = x0 + x1
        x1 = k.xor(_rotated(k, x1, _ROTATIONS[n % 8]), x0)
        if n % 4 == 3:
            s = n // 4 + 1
            x0, x1 = x0 + keys[s % 3], x1 + (keys[(s + 1) % 3] + k.const(s, _U32))
    joined = k.or_(k.int_op("shl", k.cast(x0, _U64), k.const(32, _U64)), k.cast(x1, _U64))
    return k.bitcast(joined, _F64)


def _halves(k: Any, x: Any) -> tuple[Any, Any]:
    return k.cast(k.int_op("lshr", x, k.const(32, _U64)), _U32), k.cast(x, _U32)


def _rotated(k: Any, x: Any, n: int) -> Any:
    up = k.int_op("shl", x, k.const(n, _U32))
    return k.or_(up, k.int_op("lshr", x, k.const(32 - n, _U32)))


FUNCTIONS = {"threefry2x32": (threefry, 2)}
