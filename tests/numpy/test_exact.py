"""Correctly rounded sums against Python's fractions; derivatives against differences."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs import corpus_measures
from tests.programs.observe import Maker, verdict

FUNCTIONS = {
    n: getattr(statistics, n)
    for n in ("mean", "stdev", "pstdev", "variance", "pvariance", "harmonic_mean", "fmean")
} | {"fsum": math.fsum}


def _samples(size: int) -> Any:
    rng = np.random.default_rng(size)
    x = rng.normal(size=size)
    half = size // 2
    return {
        "plain": x,
        "all sizes": x * 10.0 ** rng.integers(-30, 30, size),
        "halves": rng.integers(-5, 6, size) * 0.5,
        "far away": 1e8 + x * 1e-3,
        "cancelled": np.concatenate([x[:half], -x[: size - half]]),
        "alike": np.repeat(x[0], size),
        "signed zeros": np.where(x > 0, 0.0, -0.0),
        "small": x * 1e-300,
        "large": x * 1e300,
    }


@pytest.mark.sample(14)
@pytest.mark.parametrize("size", [2, 5, 16, 33])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_to_the_last_bit(name: str, size: int) -> None:
    f = FUNCTIONS[name]
    of_array = tj.jit(lambda x: f(x), fallback=True)
    of_list = tj.jit(lambda x: f(x.tolist()), fallback=True)
    for how, x in _samples(size).items():
        if name == "harmonic_mean":
            x = np.abs(x) + 0.125
        for compiled, given in ((of_array, x), (of_list, x.tolist())):
            try:
                plain = f(given)
            except OverflowError:
                continue
            out = compiled(x)
            assert type(out) is type(plain), how
            assert out == plain and math.copysign(1, out) == math.copysign(1, plain), (how, out, plain)


def test_python_is_seldom_asked() -> None:
    """A program without Python to ask says when it would."""
    rng = np.random.default_rng(0)
    f = tj.jit(lambda x: (statistics.mean(x), statistics.stdev(x), math.fsum(x)), fallback=False)
    for _ in range(200):
        f(rng.normal(size=50))
    with pytest.raises(tj.errors.NumberError):
        f(np.array([1.0, np.inf, *range(48)]))


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", [*FUNCTIONS, "geometric_mean", "median"])
def test_derivatives(name: str) -> None:
    f = getattr(statistics, name, math.fsum)
    x = np.random.default_rng(1).normal(size=7) + 4
    steps = 1e-6 * np.eye(7)
    differences = [(f(x + h) - f(x - h)) / 2e-6 for h in steps]
    for g in (tj.grad(lambda x: f(x)), tj.jit(tj.grad(lambda x: f(x)))):
        assert np.allclose(g(x), differences, rtol=1e-6, atol=1e-8)


def test_of_rows_at_once() -> None:
    x = np.random.default_rng(2).normal(size=(4, 6))
    for f in (statistics.mean, statistics.stdev):
        assert np.array_equal(tj.jit(tj.vmap(lambda r, f=f: f(r)))(x), [f(r) for r in x])


def test_second_derivatives() -> None:
    h = tj.jit(tj.hessian(lambda x: statistics.variance(x)))(np.arange(5.0))
    assert np.allclose(h, (np.eye(5) - 1 / 5) * 2 / 4)


@pytest.mark.sample(6)
@pytest.mark.parametrize("maker", corpus_measures.NATIVE, ids=lambda m: m.__name__)
def test_what_should_be_native_is(maker: Maker) -> None:
    assert verdict(maker) == ("native", "")
