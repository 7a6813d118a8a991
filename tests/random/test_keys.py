"""Keys: the cipher against published answers, and the same numbers under every transformation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import random
from tracejit.errors import RandomKeyError
from tracejit.ops.creation.random import threefry2x32

# Known answers of Threefry-2x32-20, from the test vectors that its authors publish.
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("key", "counter", "answer"), KNOWN)
def test_known_answers(key: Any, counter: Any, answer: Any) -> None:
    def word(pair: Any) -> Any:
        return np.uint64(pair[0] << 32 | pair[1])

    k0, k1 = map(np.uint32, key)
    assert threefry2x32(k0, k1, word(counter)) == word(answer)


def test_a_key_is_the_words_of_its_seed() -> None:
    assert random.key(5).tolist() == [0, 5]
    assert random.key(2**32 + 7).tolist() == [1, 7]
    assert random.key(-1).tolist() == [2**32 - 1, 2**32 - 1]
    assert random.key(0).dtype == np.uint32
    assert np.array_equal(tj.jit(random.key)(2**40 + 3), random.key(2**40 + 3))
    assert np.array_equal(tj.jit(random.key)(-3), random.key(-3))


def test_split_and_fold_in_make_different_keys() -> None:
    key = random.key(1)
    keys = [*random.split(key, 100), *(random.fold_in(key, n) for n in range(100)), key]
    assert len({tuple(k.tolist()) for k in keys}) == 201
    assert random.split(key, (2, 3)).shape == (2, 3, 2)
    assert np.array_equal(random.split(key, (2, 3)).reshape(6, 2), random.split(key, 6))


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8"])
def test_bits_have_the_dtype_and_are_even(dtype: str) -> None:
    x = random.bits(random.key(3), (20000,), dtype)
    assert x.dtype == np.dtype(dtype)
    for bit in range(x.itemsize * 8):
        share = np.mean((x >> np.dtype(dtype).type(bit)) & 1)
        assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(len(x))


def test_the_same_numbers_under_every_transformation() -> None:
    key = random.key(7)
    keys = random.split(key, 5)

    def draw(k: Any) -> Any:
        return random.bits(random.fold_in(k, 2), (3, 4), np.uint64)

    rows = np.stack([draw(k) for k in keys])
    assert np.array_equal(tj.jit(draw)(keys[0]), rows[0])
    assert np.array_equal(tj.vmap(draw)(keys), rows)
    assert np.array_equal(tj.jit(tj.vmap(draw))(keys), rows)
    assert np.array_equal(tj.lax.map(draw, keys), rows)


def test_a_row_does_not_depend_on_what_is_drawn_with_it() -> None:
    key = random.key(9)
    assert np.array_equal(random.bits(key, (10,)), random.bits(key, (100000,))[:10])


@pytest.mark.parametrize(
    "call",
    [
        lambda: random.key(1.5),
        lambda: random.key(np.arange(3)),
        lambda: random.bits(np.zeros(2)),
        lambda: random.bits(random.split(random.key(0), 3)),
        lambda: random.bits(random.key(0), (2,), np.int32),
        lambda: random.fold_in(random.key(0), 1.5),
        lambda: random.wrap_key_data(random.key(0), impl="mt19937"),
    ],
)
def test_wrong_keys_are_named(call: Any) -> None:
    with pytest.raises(RandomKeyError):
        call()
