"""Which numbers are too large for the functions of `math` that grow."""

from __future__ import annotations

import math
from typing import Any

import pytest

import tracejit as tj

LARGEST = {
    "exp": 709.782712893384,
    "expm1": 709.782712893384,
    "cosh": 710.4758600739439,
    "sinh": 710.4758600739439,
    "exp2": math.nextafter(1024.0, 0.0),
}


def _of(f: Any, x: float) -> Any:
    try:
        return f(x)
    except OverflowError as error:
        return "math range error" if "math range error" in str(error) else error


@pytest.mark.parametrize("name", LARGEST)
def test_what_is_too_large(name: str) -> None:
    """As for Python, the last number whose result is finite and all infinite ones are not."""
    function, limit = getattr(math, name), LARGEST[name]
    f = tj.jit(lambda x: function(x), fallback=False)
    above = math.nextafter(limit, math.inf)
    for size in (limit, above, 1e308, math.inf, 0.5, math.nan):
        for x in (size, -size):
            got, want = _of(f, x), _of(function, x)
            assert (
                got == pytest.approx(want, rel=1e-15, nan_ok=True) if isinstance(want, float) else got == want
            ), x
    assert isinstance(_of(f, limit), float) and _of(f, above) == "math range error"
    assert f.trace_count == 1
