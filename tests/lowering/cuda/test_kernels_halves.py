"""float16 and bfloat16 on a device: two bytes in memory, computed with as float32, the bits of the CPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import lowered
from tracejit.lowering.cuda.kernels import ptx_of

RNG = np.random.default_rng(0)
DTYPES = [np.float16, ml_dtypes.bfloat16]


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def paths(x: Any) -> Any:
    c = np.zeros(x.shape[1], x.dtype)
    for row in x:
        c = c * x.dtype.type(0.9) + np.sin(row)
    return c


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", [lambda x: np.exp(x) * x + np.tanh(x), softmax, paths, lambda x: x.max(0)])
def test_halves_have_the_bits_of_the_cpu(f: Any, dtype: Any) -> None:
    x = RNG.normal(size=(11, 300)).astype(dtype)
    with tj.config.override(cuda="sanitize"):
        got = tj.device_get(tj.jit(f, device="cuda")(x))
    want = tj.jit(f)(x)
    assert got.dtype == want.dtype == dtype
    np.testing.assert_array_equal(got.astype(float), want.astype(float))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("cc", [(7, 5), (9, 0)])
def test_halves_are_rounded_after_each_operation(dtype: Any, cc: tuple[int, int]) -> None:
    x = RNG.normal(size=5000).astype(dtype)
    text = ptx_of(lowered(lambda x: x * x + x, x), cc)
    assert "ld.global.b16" in text and "st.global.b16" in text
    assert "f64" not in text and ".extern" not in text
    if dtype is np.float16:  # one operation, rounded once, is the same
        assert "mul.rn.f16" in text and "add.rn.f16" in text and "fma" not in text
    else:
        assert "mul.rn.f32" in text and "add.rn.f32" in text and "fma" not in text
