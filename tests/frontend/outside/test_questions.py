"""Code that runs as it is, and asks what values are: it is refused when it begins to run, and no sooner."""

from __future__ import annotations

import cProfile
import enum
import sys
import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit as tj
from tracejit.config import config
from tracejit.errors import FallbackWarning, UnfollowedError

X = np.arange(3.0)


def is_float(v: Any) -> bool:
    return type(v) is float


@dataclass
class Length:
    value: Any

    def __add__(self, other: Any) -> Any:
        return self.value + other if isinstance(self.value, float) else self.value - other

    def __mul__(self, other: Any) -> Any:
        return self.value * other if is_float(self.value) else -self.value * other

    def times(self, other: Any) -> Any:
        return self.value * other if type(self.value) is float else -self.value * other

    @property
    def twice(self) -> Any:
        return 2 * self.value if type(self.value) is float else 0 * self.value


class Pair(NamedTuple):
    a: Any

    def __neg__(self) -> Any:
        return -self.a if hasattr(self.a, "__len__") else self.a


class Mode(enum.Enum):
    FAST = 1

    def of(self, v: Any) -> Any:
        return 2 * v if (v > 0) is True else 3 * v


class Shared:
    def __init__(self) -> None:
        self.length = Length(2.0)
        self.data = X


PROGRAMS = [
    lambda x: Length(x) + 1.0,
    lambda x: Length(x) * 2.0,
    lambda x: Length(x).times(2.0),
    lambda x: Length(x).twice,
    lambda x: -Pair(x),
    lambda x: Mode.FAST.of(x),
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_jitted_and_derived_they_give_what_python_gives(f: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        with config.override(fallback=True):
            assert tj.jit(f)(2.0) == f(2.0)
    for g in (tj.value_and_grad(f), tj.jit(tj.value_and_grad(f), fallback=False)):
        try:
            value, slope = g(2.0)
        except UnfollowedError:
            continue
        assert value == f(2.0)
        assert np.isclose(slope, (f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6)
    assert sys.getprofile() is None


@pytest.mark.parametrize("n", [0, 2, 3, 5])
def test_ordinary_methods_are_followed(n: int) -> None:
    """By a program, where a derivative outside of jit would have Python run them."""
    value, _ = tj.value_and_grad(PROGRAMS[n])(2.0)
    assert value == PROGRAMS[n](2.0)
    assert tj.jit(PROGRAMS[n], fallback=False)(2.0) == value


@pytest.mark.parametrize("n", [1, 4])
def test_special_methods_are_refused(n: int) -> None:
    with pytest.raises(UnfollowedError, match="Python runs this code as it is"):
        tj.grad(PROGRAMS[n])(2.0)
    with pytest.raises(UnfollowedError, match="Python runs this code as it is"):
        tj.jit(PROGRAMS[n], fallback=False)(2.0)


def test_code_that_meets_no_traced_value_runs() -> None:
    shared = Shared()

    def f(x: Any) -> Any:
        return x * (shared.length * 3.0) + shared.data.sum()

    assert tj.grad(f)(1.0) == 6.0
    assert tj.jit(lambda x: x * (Length(2.0) * 3.0), fallback=False)(1.0) == 6.0


def test_the_users_handler_catches_no_refusal() -> None:
    def f(x: Any) -> Any:
        try:
            return Length(x) * 2.0
        except Exception:
            return 100.0 * x

    with pytest.raises(UnfollowedError):
        tj.grad(f)(2.0)
    with pytest.raises(UnfollowedError):
        tj.jit(f, fallback=False)(2.0)


def test_a_profiler_is_left_alone() -> None:
    profile = cProfile.Profile()
    profile.enable()
    try:
        with pytest.raises(UnfollowedError):
            tj.grad(PROGRAMS[1])(2.0)
        assert tj.grad(lambda x: x * x)(2.0) == 4.0
    finally:
        profile.disable()
    assert any(row.code == PROGRAMS[1].__code__ or "grad" in str(row.code) for row in profile.getstats())


def test_a_replaced_method_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    f = PROGRAMS[0]
    assert tj.value_and_grad(f)(2.0) == (3.0, 1.0)
    monkeypatch.setattr(
        Length, "__add__", lambda self, other: 7.0 if is_float(self.value) else 8.0 * self.value
    )
    with pytest.raises(UnfollowedError):
        tj.grad(f)(2.0)
