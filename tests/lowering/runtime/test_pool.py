"""Blocks of memory that are kept between calls, by one thread and by many."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

import tracejit as tj
from tracejit import lax
from tracejit.lowering.runtime import pool


def blocks() -> Any:
    pool.clear()
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(pool.address())


def test_large_blocks_come_back() -> None:
    f = blocks()
    first = f(None, 1 << 20)
    ctypes.memset(first, 7, 1 << 20)
    assert f(first, 0) is None
    again = f(None, (1 << 20) - 100)
    assert again == first
    other = f(None, 1 << 20)
    assert other not in (None, again)
    f(again, 0)
    f(other, 0)


def test_blocks_that_are_much_too_large_stay_for_others() -> None:
    f = blocks()
    large = f(None, 1 << 23)
    f(large, 0)
    small = f(None, 1 << 17)
    assert small != large
    assert f(None, 1 << 23) == large
    f(small, 0)
    f(large, 0)


def test_more_blocks_than_are_kept() -> None:
    f = blocks()
    for _ in range(3):
        held = [f(None, 100_000 + 1000 * k) for k in range(20)]
        assert len(set(held)) == 20
        for p in held:
            ctypes.memset(p, 1, 100_000)
            f(p, 0)
    assert f(None, 0) is None


def test_no_memory() -> None:
    assert blocks()(None, 1 << 60) is None


def test_threads_never_share_a_block() -> None:
    f = blocks()
    wrong: list[int] = []

    def work(n: int) -> None:
        for k in range(3000):
            size = 70_000 + 1000 * (k % 7)
            p = f(None, size)
            ctypes.memset(p, n, 64)
            q = f(None, size)
            if bytes((ctypes.c_char * 64).from_address(p)) != bytes([n]) * 64:
                wrong.append(n)
            f(p, 0)
            f(q, 0)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_tapes_of_unknown_length() -> None:
    """Each call's tape is as long as it has to be, whatever block it gets."""

    def f(x: Any, n: Any) -> Any:
        return np.sum(lax.fori_loop(0, n, lambda i, c: np.sin(c) * 1.1, x))

    g = tj.jit(tj.grad(f))
    x = np.linspace(0.1, 1, 500)
    for n in (100, 30, 200, 100, 1, 0):
        want, c = np.ones(500), x
        for _ in range(n):
            want, c = want * np.cos(c) * 1.1, np.sin(c) * 1.1
        np.testing.assert_allclose(g(x, n), want, rtol=1e-9)
