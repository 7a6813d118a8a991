"""Members of enumerations by traced integers, and members that conditions choose."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

import tracejit as tj


class Kind(enum.Enum):
    LINEAR = 1
    SQUARE = 2
    NONE = 5


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Named(enum.Enum):
    FIRST = 1

    @classmethod
    def _missing_(cls, value: object) -> Any:
        return cls.FIRST


def test_members_by_value() -> None:
    def f(k: Any, x: Any) -> Any:
        m = Kind(k)
        return m, m.name, m.value * x, m is Kind.LINEAR, m == Kind.SQUARE, isinstance(m, Kind), f"{m}"

    def g(k: Any, x: Any) -> Any:
        m = Level(k)
        return m, m + 1, m * x, m < 2, m == 1

    for fn in (f, g):
        compiled = tj.jit(fn, fallback=False)
        for k in (1, 2):
            assert compiled(k, 1.5) == fn(k, 1.5)
            assert repr(compiled(k, 1.5)) == repr(fn(k, 1.5))


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("cls", [Kind, Named])
def test_values_that_are_none(cls: Any) -> None:
    def f(k: Any) -> Any:
        try:
            return cls(k)
        except ValueError as e:
            return str(e)

    compiled = tj.jit(f, fallback=True)
    for k in (1, 7, 2, 1):
        assert compiled(k) == f(k)


def test_members_that_conditions_choose() -> None:
    def f(x: Any) -> Any:
        return (Kind.LINEAR, x) if x > 0 else (Kind.NONE, x * 2)

    def g(x: Any) -> Any:
        state = Kind.LINEAR
        for i in range(len(x)):
            if state is Kind.LINEAR and x[i] > 0.5:
                state = Kind.SQUARE
            elif state is Kind.SQUARE and x[i] < -0.5:
                state = Kind.NONE
        return state

    compiled = tj.jit(f, fallback=False)
    assert [compiled(x) for x in (1.0, -1.0)] == [f(x) for x in (1.0, -1.0)]
    compiled = tj.jit(g, fallback=False)
    for x in (np.sin(np.arange(40.0)), np.ones(40), np.zeros(40)):
        assert compiled(x) is g(x)
