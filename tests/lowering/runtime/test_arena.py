"""Scratch blocks are used again, and what is kept is bounded."""

from __future__ import annotations

import threading

import numpy as np

import tracejit as tj
from tracejit.lowering.runtime.arena import ARENA, Arena


def test_a_block_is_used_again() -> None:
    arena = Arena()
    block = arena.take(1000)
    arena.give(block)
    assert arena.take(900) is block
    assert arena.kept == 0


def test_a_block_is_not_much_larger_than_asked_for() -> None:
    arena = Arena()
    arena.give(arena.take(100_000))
    assert arena.take(1000).size == 1000 and arena.kept == 100_000


def test_what_is_kept_is_bounded() -> None:
    arena = Arena(limit=1000)
    blocks = [arena.take(300) for _ in range(10)]
    for b in blocks:
        arena.give(b)
    assert arena.kept == 900 and arena.take(300) is blocks[-1]


def test_the_last_block_is_kept_however_large() -> None:
    arena = Arena(limit=10)
    first, second = arena.take(100), arena.take(200)
    arena.give(first)
    arena.give(second)
    assert arena.kept == 200 and arena.take(200) is second


def test_threads_never_share_a_block() -> None:
    arena, wrong = Arena(), []

    def work(n: int) -> None:
        for _ in range(300):
            block = arena.take(512)
            block[:] = n
            if not np.all(block == n):
                wrong.append(n)
            arena.give(block)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_programs_share_what_is_kept() -> None:
    a = np.ones((200, 200))
    for n in range(5):
        f = tj.jit(lambda a, n=n: (a @ a) @ (a + n) @ a)
        np.testing.assert_allclose(f(a), (a @ a) @ (a + n) @ a)
    assert ARENA.kept <= ARENA.limit


def test_recursion_through_callbacks_has_blocks_of_its_own() -> None:
    a = np.eye(150)
    inner = tj.jit(lambda a: (a @ a) @ a)

    def outer(a):
        b = a @ a
        c = tj.pure_callback(inner, tj.ShapeDtypeStruct(a.shape, a.dtype), a)
        return b @ c

    np.testing.assert_array_equal(tj.jit(outer)(2 * a), 4 * 8 * a)
