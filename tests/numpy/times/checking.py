"""Functions of times under jit beside NumPy's own results, without Python to fall back to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tracejit as tj

#: Integers that times are: NaT, what is next to it, ends of years and units, and what does not fit after a cast.
ODD = [
    0,
    1,
    -1,
    2,
    7,
    -7,
    59,
    60,
    364,
    365,
    366,
    10957,
    11016,
    -719468,
    146097,
    -146097,
    2**40,
    -(2**40),
    2**62,
]
ODD += [-(2**62), 2**63 - 1, -(2**63) + 1, -(2**63), -(2**63)]


def times(seed: int, dtype: str, count: int = 40, far: bool = True) -> np.ndarray:
    """Times of all sizes, NaT among them."""
    rng = np.random.default_rng(seed)
    near = rng.integers(-(10**6), 10**6, count)
    numbers = np.choose(
        rng.integers(0, 3, count), [rng.integers(-(2**63), 2**63 - 1, count), near, rng.choice(ODD, count)]
    )
    if not far:
        numbers = np.where(rng.random(count) < 0.2, -(2**63), near)
    return numbers.view(dtype)


def alike(want: Any, got: Any) -> bool:
    """Whether results have the same types, dtypes and elements."""
    if isinstance(want, (tuple, list)):
        return type(want) is type(got) and len(want) == len(got) and all(map(alike, want, got))
    if type(want) is not type(got) or getattr(want, "dtype", None) != getattr(got, "dtype", None):
        return False
    if not isinstance(want, (np.ndarray, np.generic)):
        return want == got
    if want.dtype.kind == "f":
        return np.array_equal(want, got, equal_nan=True)
    return want.dtype.char == got.dtype.char and want.shape == got.shape and want.tobytes() == got.tobytes()


def check(f: Callable[..., Any], *args: Any) -> None:
    """Compare a function of times with itself under jit; what NumPy refuses is refused."""
    with np.errstate(all="ignore"):
        try:
            want = f(*args)
        except (TypeError, OverflowError) as error:
            try:
                got = tj.jit(f, fallback=False)(*args)
            except (TypeError, OverflowError, NotImplementedError):
                return
            raise AssertionError(f"{got} instead of {error}") from None
        got = tj.jit(f, fallback=False)(*args)
    assert alike(want, got), (want, got)
