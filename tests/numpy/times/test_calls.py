"""NumPy's functions of times, and programs with dates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.numpy.times.checking import check, times

DAYS = np.array(["2020-01-01", "2019-12-31", "NaT", "1968-02-29", "2400-07-15"], "M8[D]")
FIRST = np.datetime64("2020-01-01")
DAY, HOUR = np.timedelta64(1, "D"), np.timedelta64(1, "h")


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", ["M8[s]", "m8[s]"])
@pytest.mark.parametrize("far", [False, True])
def test_functions_of_one_array(dtype: str, far: bool) -> None:
    x = times(7, dtype, 24, far)
    for f in (np.min, np.max, np.argmin, np.argmax, np.sort, np.ptp, np.diff, np.ediff1d):
        check(lambda x, f=f: f(x), x)
    for f in (np.min, np.max, np.argmin, np.argmax, np.sort, np.diff):
        check(lambda x, f=f: (f(x, axis=0), f(x, axis=1)), x.reshape(4, 6))
    check(lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True), x)
    check(lambda x: np.argsort(x, kind="stable"), x)


def test_sums_and_means_of_spans() -> None:
    for x in (times(8, "m8[s]", 24, False), np.arange(-9, 9).astype("m8[h]")):
        for f in (np.sum, np.mean, np.cumsum, np.median):
            check(lambda x, f=f: f(x), x)
        check(lambda x: (x.sum(axis=0), x.mean(axis=1), x.cumsum(axis=1)), x.reshape(-1, 6))
    big = np.array([2**62, 2**62, 5], "m8[s]")  # NumPy's sum passes NaT
    assert np.isnat(tj.jit(np.sum, fallback=True)(big))


def _moved(x: Any) -> Any:
    return (
        *(
            np.where(np.isnat(x), FIRST, x),
            np.concatenate([x, x.astype("M8[h]")]),
            np.stack([x, x]).T,
            np.roll(x, 1),
        ),
        *(np.append(x, FIRST), x[::-1], x[~np.isnat(x)], np.repeat(x, 2), np.flip(x), np.take(x, [0, 1])),
        *(np.zeros_like(x), np.full(3, x[0]), np.zeros(2, "M8[D]"), np.delete(x, 1), x[:, None] - x[None, :]),
    )


def _written(x: Any) -> Any:
    y = x.copy()
    y[1], y[2:] = FIRST, y[2:] + DAY
    x[0] = np.datetime64("1999-09-09T05")
    x.view("i8")[1] = 7
    x += DAY
    return x, y


def _ranges(a: Any, n: Any) -> Any:
    return np.arange(a, a + 5), np.arange(a, a + 2, HOUR * 12), np.datetime64(a, "h"), np.timedelta64(n, "D")


def _looped(x: Any, n: Any) -> Any:
    last, spans, later = x[0], np.timedelta64(0, "h"), []
    while last < FIRST + 9:
        last = last + DAY
        later.append(last)
    for k in range(n):
        spans = spans + np.timedelta64(k, "h")
    return later, spans, sum(1 if d > FIRST else 0 for d in x), max(later), FIRST in later


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (_moved, (DAYS,)),
        (_ranges, (FIRST, 3)),
        (_looped, (DAYS, 40)),
        (lambda x: (x.astype("M8[M]").astype(int) % 12 + 1, (x.astype("i8") - 4) % 7), (DAYS,)),
        (lambda x: (x - FIRST) / DAY, (DAYS,)),
        (
            lambda x, y: (np.searchsorted(np.sort(x), y), np.clip(x, FIRST - 9, FIRST)),
            (DAYS, DAYS[:2].astype("M8[h]")),
        ),
        (lambda x: f"{x[0]} {x[1] - x[0]}", (DAYS,)),
        (lambda x: x[0] if x[0] > x[1] else x[1], (DAYS,)),
        (lambda x: tj.vmap(lambda d: (d - FIRST) / DAY)(x), (DAYS,)),
        (lambda x: (x + 1, x.T + 1), (np.asfortranarray(np.arange(6).reshape(2, 3)).astype("M8[D]"),)),
    ],
)
def test_programs(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(f, *args)


def test_what_is_written_into_an_argument() -> None:
    ours, theirs = DAYS.copy(), DAYS.copy()
    got, want = tj.jit(_written, fallback=False)(ours), _written(theirs)
    assert got[0] is ours
    assert all(a.tobytes() == b.tobytes() for a, b in zip(got, want, strict=True))


def test_units_are_part_of_the_signature() -> None:
    f = tj.jit(lambda x: x + DAY, fallback=False)
    for unit in ("D", "h", "ns", "D", "h"):
        for x in (np.datetime64("2020-01-01", unit), np.array(["2020-01-01"], f"M8[{unit}]")):
            assert repr(f(x)) == repr(x + DAY)


@dataclasses.dataclass
class _Clock:
    now: Any
    spent: Any

    def step(self, span: Any) -> Any:
        self.now = self.now + span
        self.spent += span
        return self.now


def test_state_of_dates() -> None:
    ours, theirs = (_Clock(FIRST, np.timedelta64(0, "h")) for _ in range(2))
    step = tj.jit(_Clock.step, fallback=False)
    for k in range(3):
        assert repr(step(ours, np.timedelta64(k, "h"))) == repr(theirs.step(np.timedelta64(k, "h")))
    assert repr(ours) == repr(theirs)


_holidays = np.array(["2020-12-25", "2021-01-01"], "M8[D]")


def test_captured_dates_are_read_at_every_call() -> None:
    def f(n: Any) -> Any:
        return _holidays[n] - FIRST

    g = tj.jit(f, fallback=False)
    for n in (0, 1):
        assert g(n) == f(n)
    _holidays[0] += DAY
    assert g(0) == f(0)


@pytest.mark.parametrize(
    "f",
    [
        *(lambda x: x.tolist(), lambda x: x[0].item(), lambda x: x.astype(str), lambda x: np.isin(x, x[:2])),
        *(lambda x: np.nanmin(x), lambda x: x[0] == "a", lambda x: np.nonzero(x), lambda x: print(x[0])),
    ],
)
def test_what_is_left_to_python(f: Callable[..., Any]) -> None:
    with pytest.warns(tj.errors.FallbackWarning):
        got = tj.jit(f, fallback=True)(DAYS)
    assert repr(f(DAYS)) == repr(got)


def test_derivatives_hold_dates_fixed() -> None:
    slope = tj.jit(tj.grad(lambda rate, x: rate**2 * ((x - FIRST) / DAY)), fallback=False)
    assert slope(3.0, FIRST + 4) == 24.0
    with pytest.raises(tj.errors.NonFloatInputError):
        tj.grad(lambda x: x)(FIRST)
