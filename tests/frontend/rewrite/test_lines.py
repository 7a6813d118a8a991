"""What Python says of expressions that fail: the handler sees Python's exception and text."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj


def said(call: Any) -> Any:
    try:
        return "gave", call()
    except (TypeError, AttributeError, ValueError, IndexError) as e:
        return type(e).__name__, str(e)


def _assigned(x: Any) -> None:
    x.name = 1


def _stored(x: Any) -> None:
    x[0] = 1


def _deleted(x: Any) -> None:
    del x[0]


def _unset(x: Any) -> None:
    del x.real


def of_an_array(x: Any, n: Any) -> Any:
    return [
        said(lambda: _unset(x)),
        said(lambda: np.bincount(x)),
        said(lambda: float(x)),
        said(lambda: _assigned(x)),
        said(lambda: _deleted(x)),
        said(lambda: x + None),
        said(lambda: [1, n] ** n),
        said(lambda: np.clip(x, 2)),
        said(lambda: math.fsum(x.reshape(1, -1))),
    ]


def of_a_number(x: Any, n: Any) -> Any:
    return [
        said(lambda: len(n)),
        said(lambda: _stored(n)),
        said(lambda: _deleted(n)),
        said(lambda: _unset(n)),
        said(lambda: n.shape),
        said(lambda: n + None),
        said(lambda: float(None) + n),
        said(lambda: math.gcd([n], 2)),
        said(lambda: n()),
    ]


@pytest.mark.parametrize("f", [of_an_array, of_a_number])
def test_texts_are_pythons(f: Any) -> None:
    compiled = tj.jit(f, fallback=False)
    for x, n in ((np.ones(2), 3), (np.zeros(3), 4)):
        assert compiled(x, n) == f(x, n)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_what_depends_on_values_is_not_asked() -> None:
    def helper(x: Any) -> Any:
        return 1 if x else "a"

    def f(x: Any) -> Any:
        return said(lambda: math.log(x)), said(lambda: [5, 6][x]), said(lambda: math.sqrt(helper(x)))

    compiled = tj.jit(f, fallback=True)
    for x in (1, 0, -3, 7):
        assert compiled(x) == f(x)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_functions_of_the_users_are_not_called_again() -> None:
    calls: list[int] = []

    def counts(x: Any) -> Any:
        calls.append(1)
        return x + None

    def f(x: Any) -> Any:
        return said(lambda: float(counts(x)))

    compiled = tj.jit(f, fallback=True)
    for n in range(3):
        want = f(2.0)
        before = len(calls)
        assert compiled(2.0) == want and len(calls) == before + 1, n


LEFT: list[Any] = [3, 2, 1]
TAKEN: Any = map(int, ["1", "2", "x", "3"])
ASKED: list[int] = []


def _noted(v: Any) -> Any:
    ASKED.append(1)
    return v + "a"


def pops(x: Any) -> Any:
    try:
        return LEFT.pop() + "a"
    except Exception:
        return "a number"


def takes(x: Any) -> Any:
    out: list[Any] = [*itertools.islice(TAKEN, 1)]
    try:
        out.append([*itertools.islice(TAKEN, 2)])
    except Exception:
        out.append("failed")
    return out


def calls(x: Any) -> Any:
    try:
        return _noted(x)
    except Exception as e:
        return str(e)


def test_what_fails_is_not_computed_again_with_things_of_outside() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tj.errors.FallbackWarning)
        assert tj.jit(pops, fallback=True)(np.ones(2)) == "a number"
        assert tj.jit(takes, fallback=True)(np.ones(2)) == [1, "failed"]
        tj.jit(calls, fallback=True)(np.ones(2))
    assert LEFT == [3, 2] and [*TAKEN] == [3] and ASKED == [1]
