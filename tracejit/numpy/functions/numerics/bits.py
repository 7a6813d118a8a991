"""Booleans as the bits of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ArgumentError, ArgumentTypeError
from tracejit.numpy.dispatch import implements
from tracejit.numpy.elementwise import truth
from tracejit.numpy.functions.arrays.shaping import moveaxis, ravel
from tracejit.numpy.functions.statistics.reductions import axis_of
from tracejit.numpy.operands import cast, dtype_of, filled, raw, shape_of
from tracejit.tracing import wrap

_U8 = np.dtype(np.uint8)


def _places(name: str, bitorder: str) -> np.ndarray:
    """The shift of each bit of a byte, in the order in which they are written."""
    if bitorder not in ("big", "little"):
        raise ArgumentError(name=name, problem="'order' must be either 'little' or 'big'")
    return np.arange(7, -1, -1).astype(np.uint8) if bitorder == "big" else np.arange(8, dtype=np.uint8)


def _last(name: str, a: Any, axis: Any) -> tuple[Any, int]:
    """The raw value with `axis` last (flattened for None), and which it was."""
    x = ravel(a) if axis is None else wrap(raw(a))
    n = 0 if axis is None else axis_of(name, axis, len(shape_of(raw(x))))
    return raw(moveaxis(x, n, -1)), n


@implements(np.packbits, "packbits")
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    """Eight elements (whether they are not zero) as the bits of one byte; zeros fill the last."""
    shifts = _places("packbits", bitorder)
    if dtype_of(raw(a)).kind not in "biu":
        raise ArgumentTypeError(
            name="packbits", problem="expected an input array of integer or boolean data type"
        )
    x, n = _last("packbits", a, axis)
    bits = cast(truth(x), _U8)
    *lead, size = shape_of(bits)
    missing = -size % 8
    config = ((0, 0, 0),) * len(lead) + ((0, missing, 0),)
    bits = ops.concat.pad(bits, np.uint8(0), padding_config=config) if missing else bits
    bits = ops.shape.reshape(bits, shape=(*lead, (size + missing) // 8, 8))
    moved = ops.compare.shift_left(bits, ops.shape.broadcast_to(shifts, shape_of(bits)))
    out = ops.reduce.reduce_or(moved, axes=(len(lead) + 1,))
    return moveaxis(wrap(out), -1, n)


@implements(np.unpackbits, "unpackbits")
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    """The bits of bytes as elements 0 and 1; the first `count` of them (negative: without the last)."""
    shifts = _places("unpackbits", bitorder)
    if dtype_of(raw(a)) != _U8:
        raise ArgumentTypeError(
            name="unpackbits", problem="expected an input array of unsigned byte data type"
        )
    x, n = _last("unpackbits", a, axis)
    *lead, size = shape_of(x)
    wide = ops.shape.broadcast_to(ops.shape.expand_dims(x, (len(lead) + 1,)), (*lead, size, 8))
    places = ops.shape.broadcast_to(shifts, shape_of(wide))
    bits = ops.compare.and_(ops.compare.shift_right(wide, places), filled(1, _U8, shape_of(wide)))
    out = ops.shape.reshape(bits, shape=(*lead, 8 * size))
    wanted = 8 * size if count is None else int(count) if count >= 0 else 8 * size + int(count)
    if wanted < 0:
        raise ArgumentError(name="unpackbits", problem=f"-count {count} larger than number of elements")
    if wanted > 8 * size:
        config = ((0, 0, 0),) * len(lead) + ((0, wanted - 8 * size, 0),)
        out = ops.concat.pad(out, np.uint8(0), padding_config=config)
    elif wanted < 8 * size:
        out = ops.shape.slice(out, start_indices=(0,) * (len(lead) + 1), limit_indices=(*lead, wanted))
    return moveaxis(wrap(out), -1, n)
