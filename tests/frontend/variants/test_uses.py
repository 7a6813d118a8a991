"""Values of one type or another: what is done with them gives what Python gives, whichever they are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.programs.observe import Described
from tracejit.errors import UnfollowedError

VALUES = [None, 1, 2.5, "ab", (1, 2.5), True, (3,), np.float64(0.5)]
USES: dict[str, Callable[[Any], Any]] = {
    "itself": lambda y: y,
    "is None": lambda y: (y is None, y is not None, None is y),
    "text": lambda y: (str(y), repr(y), f"<{y}>", print(y)),
    "truth": lambda y: ("yes" if y else "no", not y, y or 7, y and 7),
    "equal": lambda y: (y == 1, y != 2.5, y == "ab", y in [None, 3]),
    "add": lambda y: y + 1,
    "added": lambda y: 2.0 + y,
    "less": lambda y: (y < 2, 1 <= y),
    "index": lambda y: [5, 6, 7, 8][y],
    "slice": lambda y: [5, 6, 7, 8][:y],
    "item": lambda y: y[0],
    "length": lambda y: len(y),
    "parts": lambda y: [*y],
    "kind": lambda y: (isinstance(y, int), isinstance(y, (str, tuple)), type(y).__name__, type(y) is float),
    "members": lambda y: (hasattr(y, "real"), getattr(y, "imag", 4), hasattr(y, "upper")),
    "numbers": lambda y: (int(y), float(y), abs(y), -y, round(y)),
    "powers": lambda y: (y**2, y // 2, y % 2, y * 3),
    "NumPy": lambda y: (np.sqrt(y), np.add(y, 1), np.float64(2) * y),
    "sum": lambda y: np.sum(np.arange(6.0).reshape(2, 3), axis=y),
    "key": lambda y: {y: 1},
    "greatest": lambda y: (max(y, 2), min(3, y)),
    "pair": lambda y: (y, 1),
}
PAIRS = list(itertools.combinations(range(len(VALUES)), 2))


def _used(use: Any, a: Any, b: Any) -> Callable[[Any], Any]:
    def f(x):
        y = a if x > 0 else b
        try:
            return use(y)
        except (TypeError, ValueError, IndexError, AttributeError) as e:
            return type(e).__name__, str(e)

    return f


def _shown(x: Any) -> Any:
    return Described(x).found


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "name,pair", [(n, p) for k, p in enumerate(PAIRS) for n in itertools.islice(USES, k % 2, None, 2)]
)
def test_each_use(name: str, pair: tuple[int, int], capsys: Any) -> None:
    f = _used(USES[name], *(VALUES[n] for n in pair))
    g = tj.jit(f, fallback=True)
    for x in (1.0, -1.0):
        want = _shown(f(x)), capsys.readouterr().out
        assert (_shown(g(x)), capsys.readouterr().out) == want


def test_native_programs() -> None:
    def f(x):
        best = None
        for k in range(len(x)):
            if x[k] > 0.5 and (best is None or x[k] > best[1]):
                best = (k, x[k])
        return best

    g = tj.jit(f, fallback=False)
    for x in (np.zeros(30), np.linspace(0, 1, 30), np.sin(np.arange(30.0))):
        assert g(x) == f(x)


@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
def test_which_tuple_it_is_is_not_lost() -> None:
    def f(x):
        y = (1, x) if x > 0 else None
        return y, y

    with pytest.raises(UnfollowedError, match="two places"):
        tj.jit(f, fallback=False)(1.0)
    a, b = tj.jit(f, fallback=True)(1.0)
    assert a is b


def test_derivatives_go_through() -> None:
    def f(x):
        best = None
        for k in range(len(x)):
            if x[k] > 0.5:
                best = (k, x[k] ** 2)
        return x[0] if best is None else best[1]

    x = np.linspace(0, 1, 30)
    want = np.zeros(30)
    want[-1] = 2 * x[-1]
    np.testing.assert_allclose(tj.jit(tj.grad(f))(x), want)
    np.testing.assert_allclose(tj.grad(f)(x), want)


def test_lanes_have_one_type() -> None:
    def f(x):
        y = 1 if x > 0 else 2.5
        return y * 2.0

    assert tj.jit(f, fallback=False)(1.0) == 2.0
    np.testing.assert_allclose(tj.jit(tj.vmap(f))(np.array([1.0, -1.0])), [2.0, 5.0])
