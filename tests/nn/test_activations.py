"""Activations against their formulas in NumPy and SciPy, with derivatives at corners and far away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special as sp

import tracejit as tj
from tracejit import dtypes, nn
from tracejit.test_util import check_grads

X = np.array([-800.0, -30.0, -6.5, -3.2, -1.3, -0.7, -1e-9, 0.0, 1e-9, 0.4, 0.9, 1.7, 3.4, 6.5, 30.0, 800.0])
SMOOTH = np.array([-6.5, -3.2, -1.3, -0.7, 0.4, 0.9, 1.7, 3.4, 6.5])

FORMULAS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "sigmoid": sp.expit,
    "softplus": lambda x: np.logaddexp(x, 0),
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "sparse_plus": lambda x: np.select([x <= -1, x < 1], [0 * x, (x + 1) ** 2 / 4], x),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
    "soft_sign": lambda x: x / (1 + np.abs(x)),
    "silu": lambda x: x * sp.expit(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "log_sigmoid": sp.log_expit,
    "leaky_relu": lambda x: np.where(x >= 0, x, 0.01 * x),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "selu": lambda x: (
        1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0)))
    ),
    "identity": lambda x: x,
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values(name: str) -> None:
    f = getattr(nn, name)
    want = FORMULAS[name](X)
    for run in (f, tj.jit(f), tj.vmap(f), tj.jit(tj.vmap(f))):
        np.testing.assert_allclose(run(X), want, rtol=1e-14, atol=1e-300)
    assert f(X.astype(np.float32)).dtype == np.float32
    assert tj.jit(f)(X.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("name", [*FORMULAS, "gelu"])
def test_derivatives(name: str) -> None:
    f = getattr(nn, name)
    check_grads(f, (SMOOTH,), order=2, atol=1e-5, rtol=1e-5)
    far = tj.jit(tj.vmap(tj.grad(f)))(X)
    assert np.all(np.isfinite(far))


def test_gelu_is_the_normal_distribution_function() -> None:
    np.testing.assert_allclose(nn.gelu(X, approximate=False), X * sp.ndtr(X), rtol=1e-12, atol=1e-300)
    assert np.max(np.abs(nn.gelu(SMOOTH) - SMOOTH * sp.ndtr(SMOOTH))) < 1e-3


def test_slopes_at_the_corners() -> None:
    assert tj.grad(nn.relu)(0.0) == 0
    assert tj.grad(nn.relu6)(0.0) == 0 and tj.grad(nn.relu6)(6.0) == 0
    assert tj.grad(nn.elu)(0.0) == 1


def test_glu_halves() -> None:
    x = np.linspace(-2, 2, 12).reshape(3, 4)
    np.testing.assert_allclose(nn.glu(x), x[:, :2] * sp.expit(x[:, 2:]), rtol=1e-14)
    with pytest.raises(ValueError, match="equal"):
        nn.glu(np.ones(3))


def test_relu_of_integers() -> None:
    assert nn.relu(np.arange(-2, 3)).tolist() == [0, 0, 0, 1, 2]


@pytest.mark.parametrize("name", sorted(FORMULAS))
@pytest.mark.parametrize("dtype", [dtypes.bfloat16, np.float16, np.float32])
def test_dtypes_are_kept(name: str, dtype: Any) -> None:
    f, x = getattr(nn, name), np.array([-2.0, 0.5, 3.0], dtype)
    assert f(x).dtype == tj.jit(f)(x).dtype == tj.grad(lambda x: f(x).sum())(x).dtype == dtype
    np.testing.assert_allclose(f(x).astype(float), FORMULAS[name](x.astype(float)), rtol=0.02, atol=1e-2)


@pytest.mark.parametrize("f", [nn.softplus, nn.log_sigmoid, nn.mish])
def test_second_derivatives_at_zero(f: Any) -> None:
    check_grads(f, (0.0,), order=3, atol=1e-4, rtol=1e-4)


def test_log1mexp() -> None:
    x = np.array([1e-20, 1e-3, 0.5, 0.7, 3.0, 50.0, 800.0])
    with mp.workdps(400):
        want = [float(mp.log(-mp.expm1(-mp.mpf(v)))) for v in x]
    np.testing.assert_allclose(nn.log1mexp(x), want, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(tj.jit(nn.log1mexp)(x), want, rtol=1e-14, atol=1e-300)
    slopes = tj.jit(tj.grad(lambda x: nn.log1mexp(x).sum()))(x)
    np.testing.assert_allclose(slopes, [float(1 / mp.expm1(mp.mpf(v))) for v in x], rtol=1e-13, atol=1e-300)
    assert nn.tanh(np.float32(0.5)) == np.tanh(np.float32(0.5))
