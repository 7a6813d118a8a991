"""What NumPy warns of known values is warned by the program at each call, from the same line, as the filters let it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj

N = 3


def in_a_row(x: Any) -> Any:
    return x * np.mean([]), np.nanmean([np.nan]), np.var([1.0], ddof=1)


def in_a_loop(x: Any) -> Any:
    s = x[0] * 0
    for i in range(x.shape[0]):
        if x[i] > 1:
            s = s + np.polyfit([1, 1, 1], [1, 2, 3], 2)[0]
    return s


def twice_the_same_line(x: Any) -> Any:
    for _ in range(2):
        x = x + np.array([1 + 2j]).astype(float)
    return x, np.median([])


def among_what_it_warns_itself(x: Any) -> Any:
    warnings.warn(f"{x[0]}", UserWarning, stacklevel=1)
    m = np.nanmax([np.nan])
    warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=1)
    return x + m


def without_dimensions_left(x: Any) -> Any:
    return np.mean(x[:0]), np.nanmean(x[:0]), np.var(x[:1], ddof=1)


def _warned(f: Any, xs: Any, action: Any) -> list[Any]:
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter(action)
        vars(warnings)["onceregistry"].clear()
        found = []
        for x in xs:
            f(x)
            found.append([(str(w.message), w.category, w.filename, w.lineno) for w in caught])
            caught.clear()
    return found


@pytest.mark.parametrize("action", ["always", "default", "once", "module", "ignore"])
@pytest.mark.parametrize(
    "f", [in_a_row, in_a_loop, twice_the_same_line, among_what_it_warns_itself, without_dimensions_left]
)
def test_the_same_warnings_at_the_same_lines(f: Any, action: Any) -> None:
    xs = [np.arange(N) + k for k in (0.5, 1.5, -4.0)]
    assert _warned(tj.jit(f, fallback=False), xs, action) == _warned(f, xs, action)
