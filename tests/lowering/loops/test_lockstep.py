"""While loops of many lanes take their steps together: the same bits as lane by lane, the same failures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit import lax
from tracejit.errors import IndexOutOfRangeError

_RNG = np.random.default_rng(7)
_TABLE = _RNG.uniform(0.5, 1.5, 40)
#: Not a number of whole blocks.
N = 1037


def _newton(c: Any) -> Any:
    return lax.while_loop(lambda x: np.abs(x * x - c) > 1e-5 * c, lambda x: 0.5 * (x + c / x), c)


def _collatz(n: Any) -> Any:
    def step(s: Any) -> Any:
        return np.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1

    return lax.while_loop(lambda s: s[0] > 1, step, (n, 0))[1]


def _escape(c: Any) -> Any:
    def goes_on(s: Any) -> Any:
        return (s[0].real ** 2 + s[0].imag ** 2 < 4.0) & (s[1] < 50)

    return lax.while_loop(goes_on, lambda s: (s[0] * s[0] + c, s[1] + 1), (0 * c, 0))


def _looked_up(n: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * _TABLE[s[0]]), (0, 1.0))


def _with_functions(x: Any) -> Any:
    def step(s: Any) -> Any:
        return np.sin(s[0]) * np.exp(-s[0]), ~s[1], s[2] + np.float32(0.5)

    init = (x, x > 0, np.float32(0))
    x, sign, count = lax.while_loop(lambda s: (s[0] > 0.05) & (s[2] < 20), step, init)
    return x * np.where(sign, 1.0, -1.0) + np.sqrt(np.abs(x)), count


def _divided(a: Any) -> Any:
    return lax.while_loop(lambda s: s[1] > 0, lambda s: (s[1], s[0] % s[1]), (a, a // 3 + 7))[0]


#: The function of a lane, the lanes, whether they take their steps together.
LANES: dict[str, tuple[Callable[..., Any], Any, bool]] = {
    "newton": (_newton, _RNG.uniform(0.1, 1000, N), True),
    "newton f4": (_newton, _RNG.uniform(0.1, 1000, N).astype(np.float32), True),
    "collatz": (_collatz, _RNG.integers(-3, 1000, N), True),
    "collatz i4": (_collatz, _RNG.integers(0, 1000, N).astype(np.int32), True),
    "complex": (_escape, _RNG.uniform(-2, 1, N) + 1j * _RNG.uniform(-1, 1, N), True),
    "table": (_looked_up, _RNG.integers(-2, 41, N), True),
    "functions": (_with_functions, np.where(np.arange(N) % 50, _RNG.uniform(-1, 3, N), np.nan), True),
    "divided": (_divided, _RNG.integers(0, 1000, N), False),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", LANES)
def test_same_bits_as_one_by_one(name: str) -> None:
    f, lanes, together = LANES[name]
    g = tj.jit(tj.vmap(f))
    assert ("stack(" in g.lower(lanes).as_text("loops")) == together
    few = [g(part) for part in np.array_split(lanes, 8)]  # too few to be worth it
    assert "stack(" not in g.lower(lanes[:130]).as_text("loops")
    whole = g(lanes)
    for n, x in enumerate(whole if isinstance(whole, tuple) else (whole,)):
        parts = [y[n] if isinstance(whole, tuple) else y for y in few]
        np.testing.assert_array_equal(x, np.concatenate(parts))


def test_values() -> None:
    c = np.random.default_rng(0).uniform(1, 1000, 50_000)
    np.testing.assert_allclose(tj.jit(tj.vmap(_newton))(c), np.sqrt(c), rtol=1e-5)
    np.testing.assert_allclose(
        tj.jit(tj.vmap(tj.grad(_newton)))(c[:2000]), 0.5 / np.sqrt(c[:2000]), rtol=1e-3
    )

    def steps(n: int) -> int:
        count = 0
        while n > 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    n = np.arange(3000)
    np.testing.assert_array_equal(tj.jit(tj.vmap(_collatz))(n), [steps(int(k)) for k in n])


def test_failures_are_those_of_a_lane() -> None:
    f = tj.jit(tj.vmap(_looked_up))
    n = np.arange(N) % 41
    for lane in (0, 500, N - 1):
        wrong = n.copy()
        wrong[lane] = 41
        with pytest.raises(IndexOutOfRangeError, match="index 40 is out of bounds for axis 0 with size 40"):
            f(wrong)
    np.testing.assert_allclose(f(n)[1], [np.prod(_TABLE[:k]) for k in n], rtol=1e-13)


def test_what_ends_one_lane_ends_the_program() -> None:
    """A lane that would never end beside one that fails."""

    def lane(n: Any) -> Any:
        return lax.while_loop(lambda s: s[1] >= 0, lambda s: (s[0] + n, s[1] + _TABLE[s[0]]), (0, 0.0))[1]

    n = np.ones(N, int)
    with pytest.raises(IndexOutOfRangeError):
        tj.jit(tj.vmap(lane))(n)
