"""Of sums, products and shifts before a mask or a modulus only the low bits are computed: the results are Python's."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import NumberError

SEED = random.Random(7)


def _mixed(k, h):
    k = (k * 0xCC9E2D51) & 0xFFFFFFFF
    k = ((k << 15) | (k >> 17)) & 0xFFFFFFFF
    h = ((h ^ k) * 5 + 0xE6546B64) & 0xFFFFFFFF
    h ^= h >> 16
    return (h * 0x85EBCA6B) & 0xFFFFFFFF


def _powers(x, k):
    return (x * x * x * x) & 0xFFFFF, (-x) & 31, 0xFF & (x << 3), (~(x * x)) % 2**40, (x << (k & 127)) & 1023


def _operands(x, k):
    return ((x ^ (k * x)) * 3 | 5) & ((k * k) % 2**20), (x + (k - 7) * x) % (1 << 63), (x * x) & (k & 0xFF)


def _steps(seed, n):
    total = 0
    for _ in range(n):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**63
        total += seed >> 40
    return total, seed


def _state(seed, n):
    state = {"x": seed}
    for _ in range(n):
        state["x"] ^= (state["x"] << 13) & 0xFFFFFFFF
        state["x"] ^= state["x"] >> 17
        state["x"] ^= (state["x"] << 5) & 0xFFFFFFFF
    return state


@pytest.mark.parametrize("f", [_mixed, _powers, _operands], ids=lambda f: f.__name__)
def test_numbers(f: Callable[..., Any]) -> None:
    compiled = tj.jit(f, fallback=False)
    for _ in range(40):
        args = SEED.randrange(-(2**63), 2**63), SEED.randrange(2**62, 2**63)
        assert compiled(*args) == f(*args), args
        assert [type(x) for x in np.atleast_1d(compiled(1, 2))] == [type(x) for x in np.atleast_1d(f(1, 2))]
    assert compiled.trace_count == 1


@pytest.mark.parametrize("f", [_steps, _state], ids=lambda f: f.__name__)
def test_loops(f: Callable[..., Any]) -> None:
    compiled = tj.jit(f, fallback=False)
    for n in (0, 1, 70):
        seed = SEED.randrange(1, 2**32)
        assert compiled(seed, n) == f(seed, n)


def _by_statements(text, seed):
    h, x, far = 2166136261, seed, seed
    for b in text:
        h ^= int(b)
        h *= 0x85EBCA6B
        h &= 0xFFFFFFFF
        x ^= x << 13
        x &= 0xFFFFFFFF
        x ^= x >> 17
        x += x << 40
        x %= 2**32
        far -= far * 6364136223846793005 + 1
        far &= (1 << 62) - 1
        far += 7
        far %= 10
    return h, x, far


def test_statements_one_after_the_other() -> None:
    compiled = tj.jit(_by_statements, fallback=False)
    for seed in (1, 2**31 + 5, 12345):
        text = np.frombuffer(b"low bits of products" * 3, np.uint8)
        assert compiled(text, seed) == _by_statements(text, seed)


def test_statements_with_other_operands() -> None:
    def f(x, i, n):
        x += x
        x %= 4
        y = i
        y <<= 2
        y &= 5
        known = 3
        known *= 5
        known %= 4
        text = "%d and "
        text *= 1
        text %= 7
        far = n
        far *= n
        far %= 10

        def inner():
            return n

        n *= 3
        n &= 1023
        return x, y, known, text, far, inner(), n

    args = np.arange(4.0), np.arange(4), 2**31
    ours, theirs = [[a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)]
    got, want = tj.jit(f, fallback=False)(*ours), f(*theirs)
    for a, b in zip((*got, *ours), (*want, *theirs), strict=True):
        assert np.array_equal(a, b) and type(a) is type(b)
    with pytest.raises(NumberError):
        tj.jit(f, fallback=False)(*args[:2], 2**32)


def test_what_is_no_mask_is_computed_as_it_is_written() -> None:
    def f(x, m):
        return (x * x) % 10, (x * x + 1) % m, (x * 3) & -8, (x + 1) & 7

    compiled = tj.jit(f, fallback=False)
    assert compiled(12345, 7) == f(12345, 7)
    with pytest.raises(NumberError):
        tj.jit(lambda x: (x * x) % 10, fallback=False)(2**40)
    assert tj.jit(lambda x: (x * x) % 10, fallback=True)(2**30) == 6


def test_other_operands_are_their_own() -> None:
    seen = []

    class Ring:
        def __init__(self, n):
            self.n = n

        def __mul__(self, other):
            seen.append("*")
            return Ring(self.n * other)

        def __and__(self, mask):
            seen.append("&")
            return self.n & mask

    def f(x, i, ring):
        return (
            (x * 3) & 6,
            (x + x) % 4,
            ("%d " * 2 + "%d") % (1, 2, 3),
            (ring * 5) & 3,
            (i[0] * 2**20) & 7,
            (True + True) & i,
        )

    x, i, ring = np.arange(5), np.arange(5, dtype=np.int32), Ring(7)
    got, want = tj.jit(lambda x, i: f(x, i, ring), fallback=True)(x, i), f(x, i, ring)
    for a, b in zip(got, want, strict=True):
        assert np.array_equal(a, b) and type(a) is type(b)
    assert seen == ["*", "&"] * 2


def test_operands_are_computed_in_order_and_once() -> None:
    def f(x):
        seen = []

        def note(n):
            seen.append(n)
            return n + x

        return (note(1) * note(2) + note(3)) & (note(4) & 255), seen

    assert tj.jit(f, fallback=False)(2**40) == f(2**40)


def test_integers_of_numbas_functions_have_64_bits() -> None:
    @numba.njit
    def f(x):
        return (x * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFF

    compiled = tj.jit(lambda x: f(x), fallback=False)
    assert compiled(1) == f(1)
    with pytest.raises(NumberError):
        compiled(-5)


def test_lanes_and_derivatives() -> None:
    def f(x, k):
        return x * ((k * 2654435761) & 1023)

    assert tj.grad(lambda x: f(x, 5))(2.0) == f(1.0, 5)
    assert tj.jit(tj.grad(f))(2.0, 5) == f(1.0, 5)
    lanes = tj.vmap(lambda k: (k * 2654435761) & 1023)(np.arange(5))
    assert lanes.tolist() == [(k * 2654435761) & 1023 for k in range(5)]
