"""Hashes and check sums of traced bytes."""

from __future__ import annotations

import hashlib
import zlib

import numpy as np
import pytest

import tracejit as tj

X = np.linspace(0, 1, 5)


@pytest.mark.parametrize("name", ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"])
def test_hashes(name: str) -> None:
    def f(x):
        h = getattr(hashlib, name)(b"before", usedforsecurity=False)
        other = h.copy()
        h.update(x.tobytes())
        return h.hexdigest(), h.digest(), h.name, h.digest_size, other.hexdigest(), isinstance(h, type(other))

    jitted = tj.jit(f, fallback=False)
    for x in (X, X + 1):
        assert jitted(x) == f(x)
    assert jitted.trace_count == 1


def test_a_bytearray_is_hashed_as_it_is_then() -> None:
    def f(b, k):
        h = hashlib.sha256(b)
        b[0] = k
        h.update(b)
        return h.hexdigest()

    assert tj.jit(f, fallback=False)(bytearray(b"abc"), 3) == f(bytearray(b"abc"), 3)


def test_what_a_loop_adds_is_pythons() -> None:
    def f(x):
        h = hashlib.md5()
        for k in range(300):
            if x[k % 5] > 0.5:
                h.update(b"more")
        return h.hexdigest()

    with pytest.warns(tj.errors.FallbackWarning):
        jitted = tj.jit(f, fallback=True)
        assert [jitted(x) for x in (X + 1, X - 1)] == [f(x) for x in (X + 1, X - 1)]


def test_text_is_no_bytes() -> None:
    with pytest.raises(TypeError, match=r"encoded|buffer"):
        tj.jit(lambda x: hashlib.md5("text").hexdigest(), fallback=False)(X)  # type: ignore[arg-type]


def test_a_check_sum_steers() -> None:
    def f(x):
        return "odd" if zlib.crc32(x.tobytes()) % 2 else "even"

    jitted = tj.jit(f, fallback=False)
    assert [jitted(X + k) for k in range(6)] == [f(X + k) for k in range(6)]
