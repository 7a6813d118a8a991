"""Accumulators: positions of extremes, found in two passes over a block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.lowering.running import check, nodes
from tracejit.lowering.loops.nodes import If, Inst
from tracejit.ops.elementwise.arithmetic import mul
from tracejit.ops.elementwise.transcendental import sin
from tracejit.ops.reductions.reduce import argmax, argmin, reduce_sum

LONG = 3000  # several blocks, the last one not full


def rows(dtype: str) -> np.ndarray:
    """Rows whose extremes are ties, zeros of both signs, infinities and NaN, in any block."""
    x = np.random.default_rng(0).standard_normal((16, LONG)).astype(dtype)
    x[0] = 0.0
    x[1] = -np.inf
    x[2] = np.inf
    x[3] = np.nan
    x[4, 2999] = x[5, 0] = x[6, 1500] = np.nan
    x[7, [10, 1030, 2999]] = 9.0
    x[8, [1024, 1025]] = -9.0
    x[9, ::2], x[9, 1::2] = -0.0, 0.0
    x[10, 1023] = x[10, 2048] = np.inf
    x[11, [1024, 2047]] = -np.inf
    x[12] = np.arange(LONG)
    x[13] = -np.arange(LONG)
    x[14, 1200:1300] = np.nan
    x[14, 2000] = np.inf
    return x


MORE = pytest.mark.exhaustive


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("find", "dtype"),
    [
        (argmax, "float32"),
        (argmin, "float64"),
        pytest.param(argmax, "float64", marks=MORE),
        pytest.param(argmin, "float32", marks=MORE),
    ],
)
def test_first_positions_of_extremes(find, dtype):
    x = rows(dtype)
    low = check(lambda x: find(x, axes=(1,)), x)
    extremes = [
        s for s in nodes(low.program.body) if isinstance(s, Inst) and s.op in ("fmaximum", "fminimum")
    ]
    assert extremes and any(isinstance(s, If) for s in nodes(low.program.body))
    for k, n in enumerate((65, 1025)):  # other rows for each: the check interprets every step
        check(lambda x: find(x, axes=(1,)), np.ascontiguousarray(x[k::5, :n]))
        check(lambda x: find(x, axes=(1,)), x[k::5][::-1, LONG - n :][:, ::-1])


@pytest.mark.sample(2)
@pytest.mark.parametrize("find", [argmax, pytest.param(argmin, marks=MORE)])
@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 2), (0, 2)])
def test_positions_in_several_axes(find, axes):
    x = np.random.default_rng(1).integers(-9, 9, (4, 5, 700)).astype(np.float64)
    check(lambda x: find(x, axes=axes), x)
    check(lambda x: [find(x, axes=axes), reduce_sum(x, axes=axes), find(sin(x), axes=axes)], x)


def test_positions_in_an_array_that_is_overwritten():
    def f(x: Any) -> Any:
        return [mul(x, 2.0), argmax(x, axes=(0,))]

    check(f, np.random.default_rng(2).standard_normal(LONG), aliases={0: 0})
