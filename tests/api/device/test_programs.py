"""What programs on a device give: dates, which devices have no arrays of, and views of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.lowering.cuda.lowering import SETTING

DAYS = np.array(["2024-01-01", "2024-03-01", "2024-02-29"], "M8[D]")
DAY = np.timedelta64(1, "D")


@pytest.fixture(autouse=True)
def devices() -> Iterator[None]:
    with tj.config.override(cuda=SETTING, fallback=False):
        yield


def reckoned(d: Any) -> Any:
    return np.diff(d), d + DAY, d.max() - d.min(), d > d[0]


def written(d: Any) -> Any:
    d[0] = d[1]
    return d - d.min()


def converted(d: Any) -> Any:
    return np.isnat(d), d.astype("M8[s]"), {"sorted": np.sort(d)}


def captured(d: Any) -> Any:
    return (d > DAYS).sum(), DAYS + DAY


@pytest.mark.parametrize("f", [reckoned, written, converted, captured])
@pytest.mark.parametrize("d", [DAYS, np.array(["NaT", "1969-12-31"] * 3, "M8[D]")[:3]], ids=["days", "NaT"])
def test_dates_are_numpys(f: Any, d: Any) -> None:
    there = tj.jit(f, device="cuda")
    for _ in range(2):  # the second call would go another way
        ours, plain = d.copy(), d.copy()
        got, want = (tj.tree.leaves(x) for x in (tj.device_get(there(ours)), f(plain)))
        for g, w in zip(got, want, strict=True):
            if w.dtype.kind in "mM":
                assert type(g) is type(w)
            assert g.dtype == w.dtype
            np.testing.assert_array_equal(g, w)
        np.testing.assert_array_equal(ours, plain)


def test_dates_beside_arrays_of_the_device() -> None:
    x = tj.device_put(np.ones(3), "cuda")
    y, last = tj.jit(lambda x, d: (x * 2, d.max()))(x, DAYS)
    assert type(y) is type(x) and last == DAYS.max() and type(last) is np.datetime64


@pytest.mark.parametrize("x", [np.float64(3), 3.0, np.array(3.0)])
def test_views_of_numbers(x: Any) -> None:
    there = tj.jit(lambda x: (np.broadcast_to(x, (2, 4)), np.reshape(x, (1, 1))), device="cuda")
    for _ in range(2):
        wide, one = tj.device_get(there(x))
        np.testing.assert_array_equal(wide, np.full((2, 4), 3.0), strict=True)
        np.testing.assert_array_equal(one, [[3.0]], strict=True)
