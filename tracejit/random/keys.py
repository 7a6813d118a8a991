"""Keys, and the bits drawn with them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import RandomKeyError, ShapeError
from tracejit.ir.avals import aval_of
from tracejit.ir.values import Value
from tracejit.tracing import to_raw, wrap

Shape = int | Sequence[int]

_U32 = np.dtype(np.uint32)
_U64 = np.dtype(np.uint64)
_FOLDED = np.uint64(0xFFFF_FFFF_0000_0000)


def key(seed: Any) -> Any:
    """A key from an integer: an array of two uint32 words, the high and the low half of `seed`.

    The same seed gives the same numbers everywhere: on any machine, under any transformation.

    Raises:
        RandomKeyError: `seed` is not an integer of no dimensions.
    """
    if not isinstance(seed, np.ndarray) and hasattr(seed, "__index__") and not hasattr(seed, "aval"):
        number = operator.index(seed) & 0xFFFF_FFFF_FFFF_FFFF
        return wrap(np.array([number >> 32, number & 0xFFFF_FFFF], _U32))
    raw = to_raw(seed)
    aval = aval_of(raw)
    if aval.shape or aval.dtype.kind not in "iu":
        raise RandomKeyError(problem=f"a seed is an integer of no dimensions, not {aval}")
    words = ops.create.convert_element_type(raw, dtype=_U64)
    high = _as_u32(ops.compare.shift_right(words, 32))
    return wrap(_stack([high, _as_u32(words)]))


PRNGKey = key


def key_data(key: Any) -> Any:
    """The words of a key, uint32 of shape (..., 2): keys are their words here."""
    return key


def wrap_key_data(key_bits_array: Any, *, impl: str | None = None) -> Any:
    """A key from its words, uint32 of shape (..., 2)."""
    if impl not in (None, "threefry2x32"):
        raise RandomKeyError(problem=f"there is no generator {impl!r}, only 'threefry2x32'")
    return key_bits_array


def key_impl(keys: Any) -> str:
    """The name of the generator: 'threefry2x32'."""
    return "threefry2x32"


def clone(key: Any) -> Any:
    """The key itself: keys may be used again, and give the same numbers again."""
    return key


def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """New independent keys from a key: uint32 of shape (*num, 2)."""
    shape = as_shape(num)
    words = random_words(key, shape)
    high, low = halves(words)
    last = len(shape)
    return wrap(
        ops.concat.concatenate(
            ops.shape.expand_dims(high, (last,)), ops.shape.expand_dims(low, (last,)), dimension=last
        )
    )


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer, such as the number of a step.

    Raises:
        RandomKeyError: `data` is not an integer of no dimensions.
    """
    raw = to_raw(data)
    aval = aval_of(raw)
    if aval.shape or aval.dtype.kind not in "iub":
        raise RandomKeyError(problem=f"fold_in takes an integer of no dimensions, not {aval}")
    low = _as_u32(raw) if isinstance(raw, Value) else _U32.type(int(raw) & 0xFFFF_FFFF)
    # The last positions, which no draw and no split reaches: fold_in(key, n) is not split(key)[n].
    counter = ops.compare.or_(ops.create.convert_element_type(low, dtype=_U64), _FOLDED)
    high, low = halves(ops.random.threefry2x32(*words_of(key), counter))
    return wrap(_stack([high, low]))


def bits(key: Any, shape: Shape = (), dtype: Any = np.uint32) -> Any:
    """Uniformly distributed unsigned integers of `shape` and `dtype` (uint8 to uint64)."""
    return wrap(random_bits(key, as_shape(shape), dtypes.canonical(dtype)))


# ---------------------------------------------------------------- raw values


def random_bits(key: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Raw unsigned integers: one word of the counter's cipher an element, folded for narrow dtypes."""
    if dtype.kind != "u":
        raise RandomKeyError(problem=f"bits are unsigned integers, not {dtype}")
    words = random_words(key, shape)
    if dtype == _U64:
        return words
    high, low = halves(words)
    folded = ops.compare.xor(high, low)
    return folded if dtype == _U32 else ops.create.convert_element_type(folded, dtype=dtype)


def random_words(key: Any, shape: tuple[int, ...]) -> Any:
    """uint64 of `shape`: each element enciphers its own position."""
    counter = ops.create.iota(shape=(math.prod(shape),), dtype=_U64)
    counter = ops.shape.reshape(counter, shape=shape)
    return ops.random.threefry2x32(*words_of(key), counter)


def words_of(key: Any) -> tuple[Any, Any]:
    """The two 0-d words of one key.

    Raises:
        RandomKeyError: it is not one key.
    """
    raw = to_raw(key, "a key")
    aval = aval_of(raw)
    if aval.shape != (2,) or aval.dtype != _U32:
        more = ": map over a stack of keys with vmap" if aval.shape[-1:] == (2,) else ""
        raise RandomKeyError(problem=f"a key is uint32[2], as random.key(seed) makes it, not {aval}{more}")
    if not isinstance(raw, Value):
        return raw[0], raw[1]
    first, second = (
        ops.shape.squeeze(ops.slices.slice(raw, start_indices=(n,), limit_indices=(n + 1,)), dimensions=(0,))
        for n in (0, 1)
    )
    return first, second


def halves(words: Any) -> tuple[Any, Any]:
    """The high and low uint32 of uint64 words."""
    return _as_u32(ops.compare.shift_right(words, 32)), _as_u32(words)


def _as_u32(x: Any) -> Any:
    return ops.create.convert_element_type(x, dtype=_U32)


def _stack(scalars: list[Any]) -> Any:
    return ops.concat.concatenate(*[ops.shape.reshape(x, shape=(1,)) for x in scalars], dimension=0)


def as_shape(shape: Shape) -> tuple[int, ...]:
    """A shape given as an int or a sequence of ints.

    Raises:
        ShapeError: a negative size.
    """
    sizes = (shape,) if hasattr(shape, "__index__") else shape
    out = tuple(operator.index(n) for n in sizes)  # type: ignore[union-attr, arg-type]
    if any(n < 0 for n in out):
        raise ShapeError(op="random", problem=f"negative dimensions are not allowed: {out}")
    return out
