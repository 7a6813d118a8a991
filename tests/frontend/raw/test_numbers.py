"""Bytes, bytearrays and arrays of the module `array` in traced code."""

from __future__ import annotations

import array
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs import corpus_bytes
from tests.programs.observe import verdict

LEFT = (
    "a_buffer_gets_longer_while_it_is_seen",
    "an_array_of_a_buffer_is_kept",
    "bytes_are_compared_with_arrays",
    "bytes_are_added_to_arrays",
    "a_buffer_gets_longer_by_a_condition",
)
NATIVE = [m for n, m in vars(corpus_bytes).items() if getattr(m, "__module__", "") == corpus_bytes.__name__]


@pytest.mark.sample(4)
@pytest.mark.parametrize("maker", NATIVE, ids=lambda m: m.__name__)
def test_what_should_be_native_is(maker: Callable[[], Any]) -> None:
    assert verdict(maker)[0] == ("fallback" if maker.__name__ in LEFT else "native")


@pytest.mark.parametrize("code", "bBhHiIlqfd")
def test_numbers_of_all_types(code: str) -> None:
    """What is stored and read again is what Python stores, at the ends of the range too."""

    def f(a, k, v):
        a[k] = v
        return a[k], a[-1], len(a), type(a[0]).__name__

    limits = np.iinfo(code) if np.dtype(code).kind in "iu" else np.finfo(np.float32)
    jitted = tj.jit(f, fallback=False)
    for v in (
        1,
        int(limits.max) if code not in "fd" else 0.1,
        int(limits.min) if code not in "fd" else -1e30,
    ):
        mine, plain = array.array(code, [1, 2, 3]), array.array(code, [1, 2, 3])
        assert jitted(mine, 1, v) == f(plain, 1, v) and mine == plain


def test_numbers_that_do_not_fit_are_pythons_to_refuse() -> None:
    def put(b, v):
        b[0] = v

    jitted = tj.jit(put)
    for b, v, error in ((bytearray(1), 256, ValueError), (array.array("b", [0]), -129, OverflowError)):
        before = b[0]
        with pytest.raises(error), tj.config.override(fallback=True):
            jitted(b, v)
        assert b[0] == before


def test_no_array_keeps_a_bytearray_from_getting_longer() -> None:
    held = bytearray(b"abc")

    @tj.jit(fallback=False)
    def f(b, x):
        b[0] = x
        return np.frombuffer(held, np.uint8).sum() + b[0]

    gc.disable()  # what is left of tracing is garbage that waits
    try:
        b = bytearray(b"xyz")
        f(b, 3)
        b.append(1)
        held.extend(b"d" * 10_000)
        assert f(b, 4) == 97 + 98 + 99 + 100 * 10_000 + 4
    finally:
        gc.enable()


def test_one_trace_serves_all_buffers_of_a_length() -> None:
    @tj.jit(fallback=False)
    def f(b, k):
        b[k] += 1
        return b[k]

    found = [f(bytearray([n, n]), n % 2) for n in range(50)]
    assert found == list(range(1, 51)) and f.trace_count == 1


def test_objects_that_share_memory() -> None:
    """An array of NumPy's in the memory of a bytearray that is given too."""

    def f(b, a):
        a[0] = 7
        b[1] = b[0] + 1
        return a[1] * 2, b[0]

    def made():
        b = bytearray(4)
        return b, np.frombuffer(b, np.uint8)

    jitted = tj.jit(f)
    assert jitted(*made()) == f(*made()) == (16, 7)
    assert jitted(bytearray(4), np.zeros(4, np.uint8)) == (0, 0)


def test_bytes_are_no_keys() -> None:
    def f(x):
        seen = {}
        seen[x.tobytes()] = 1
        return len(seen)

    with pytest.warns(tj.errors.FallbackWarning, match="TJ221"):
        assert tj.jit(f, fallback=True)(np.ones(2)) == 1


def test_bytes_of_arrays_in_another_order() -> None:
    def f(x):
        return x.T.tobytes(), x[:, ::2].tobytes(), np.asfortranarray(x).tobytes()

    x = np.arange(12.0).reshape(3, 4)
    assert tj.jit(f, fallback=False)(x) == f(x)


def test_bytes_of_arrays_whose_length_is_traced_are_pythons() -> None:
    def f(x):
        return x[x > 1].tobytes()

    x = np.arange(4.0)
    with pytest.warns(tj.errors.FallbackWarning):
        assert tj.jit(f, fallback=True)(x) == f(x)
