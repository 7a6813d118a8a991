"""Loops that compute several vectors at once, because their chains are long."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.lowering.linking.processor import vector_bits
from tracejit.lowering.llvm import interleave
from tracejit.lowering.llvm.text import Module
from tracejit.lowering.loops.builder import Builder

F64 = np.dtype(np.float64)
WIDE = Module(vector_bits=512)
NARROW = Module(vector_bits=256)


def long_chain(x: Any) -> Any:
    return np.exp(np.log(x) / np.sqrt(x) - 1 / (1 + np.exp(-x))) / x


def loop(count: int, body: Callable[[Any, Any], Any]) -> Any:
    k = Builder("test")
    with k.loop(0, count, vector=True) as i:
        body(k, k.cast(i, F64))
    return k.block.stmts[-1]


def repeated(name: str, times: int) -> Callable[[Any, Any], Any]:
    def body(k: Any, x: Any) -> Any:
        for _ in range(times):
            x = k.math(name, x)
        return x

    return body


def beside(times: int) -> Callable[[Any, Any], Any]:
    """Many short chains."""
    return lambda k, x: [k.math("exp", x * (n + 1.0)) for n in range(times)]


@pytest.mark.parametrize(
    ("body", "count", "wide", "narrow"),
    [
        (repeated("exp", 1), 1000, 0, 0),
        (repeated("tanh", 1), 1000, 2, 2),
        (repeated("exp", 3), 1000, 4, 2),
        (repeated("exp", 3), 100, 0, 0),
        (repeated("exp", 15), 1000, 2, 2),
        (repeated("exp", 50), 1000, 0, 0),
        (beside(8), 1000, 0, 0),
    ],
)
def test_long_chains_that_are_few_instructions(body: Any, count: int, wide: int, narrow: int) -> None:
    node = loop(count, body)
    assert interleave.vectors_at_once(node, WIDE) == wide
    assert interleave.vectors_at_once(node, NARROW) == narrow


def test_functions_out_of_line_are_no_chain() -> None:
    node = loop(1000, repeated("exp", 3))
    module = Module(vector_bits=512, outlined={"tj.exp.f64": 512})
    assert interleave.vectors_at_once(node, module) == 0


def test_the_loop_of_a_program() -> None:
    text = tj.jit(long_chain).lower(np.ones(1000)).compile().as_text("llvm")
    widths = Counter(map(int, re.findall(r"call <(\d+) x double> @llvm\.sqrt", text)))
    assert widths[max(widths)] >= (4 if vector_bits() >= 512 else 2)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_position_has_the_same_bits(dtype: Any) -> None:
    """In whole iterations, in single vectors and alone, whatever is left over."""
    x = np.linspace(0.1, 5, 397).astype(dtype)
    f = tj.jit(long_chain)
    want = f(x)
    np.testing.assert_allclose(want, long_chain(x.astype(np.float64)), rtol=20 * np.finfo(dtype).eps)
    for n in [0, 1, 7, 15, 16, 31, 33, 63, 64, 127, 255, 256, 257, 300, 396]:
        np.testing.assert_array_equal(f(x[:n]), want[:n])
        np.testing.assert_array_equal(f(x[397 - n :]), want[397 - n :])
