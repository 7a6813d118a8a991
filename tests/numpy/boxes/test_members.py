"""Attributes and conversions of traced arrays that would give a silently different answer are refused."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import LostDerivativeError, ShapeError


@pytest.mark.parametrize(
    "f",
    [
        lambda x: float(x[0]) * x[0],
        lambda x: x[0] * x[0].item(),
        lambda x: x[0] * x.tolist()[0],
    ],
)
def test_no_derivative_is_lost_in_a_python_number(f: Any) -> None:
    x = np.array([3.0, 1.0])
    assert tj.jvp(f, (x,), (np.ones(2),)) == (9.0, 6.0)
    assert tj.grad(f)(x).tolist() == [6.0, 0.0]
    np.testing.assert_allclose(tj.hessian(f)(x), [[2.0, 0.0], [0.0, 0.0]])
    kept = []
    tj.grad(lambda x: kept.append((float(x[0]), x[1].item(), x.tolist(), f"{float(x[0]):.1f}")) or f(x))(x)
    assert kept == [(3.0, 1.0, [3.0, 1.0], "3.0")]
    assert [type(v) for v in (*kept[0][:2], *kept[0][2])] == [float] * 4


def test_texts_of_numbers_lose_no_derivative() -> None:
    texts, form = [], "%.2f %s %d"

    def f(x: Any) -> Any:
        texts.append(form % (x, x, x))
        texts.append(f"{round(x, 1)} {round(float(x) * 1.005, 2)}")
        return x**2

    assert tj.grad(f)(2.5) == 5.0 and texts == ["2.50 2.5 2", "2.5 2.51"]


def test_code_of_c_gets_no_number_that_has_a_derivative() -> None:
    with pytest.raises(LostDerivativeError, match=r"test_members\.py"):
        tj.jvp(lambda x: x * len(struct.pack("d", x)), (1.0,), (1.0,))


def test_math_has_derivatives() -> None:
    x = np.array([0.3, 0.7])
    np.testing.assert_allclose(
        tj.grad(lambda x: x[0] * math.sin(x[0]))(x), [math.sin(0.3) + 0.3 * math.cos(0.3), 0]
    )


def test_values_without_a_derivative_are_python_numbers() -> None:
    def f(x: Any) -> Any:
        return float(lax.stop_gradient(x)) * x * int(x) * float(np.float64(2.0))

    assert tj.grad(f)(3.0) == 18.0


def test_the_shape_of_an_argument_cannot_be_set() -> None:
    def f(x: Any) -> Any:
        x.shape = (2, 2)
        return x

    with pytest.raises(ShapeError, match="reshape"):
        tj.jit(f)(np.ones(4))
    assert tj.jit(lambda x: f(x.copy()))(np.ones(4)).shape == (2, 2)
