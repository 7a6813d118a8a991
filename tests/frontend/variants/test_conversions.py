"""NumPy's scalar types of values of several types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.bool_, np.complex128])
@pytest.mark.parametrize("other", [0, 2.5, True])
def test_each_type_is_converted(kind: Any, other: Any) -> None:
    def f(x: Any) -> Any:
        return kind(x if x > 1 else other)

    g = tj.jit(f, fallback=True)
    for x in (np.float64(3.5), np.float64(0.5), np.float64(-1.0)):
        assert g(x) == f(x) and type(g(x)) is type(f(x)), x


def test_what_python_refuses_it_raises() -> None:
    f = tj.jit(lambda x: np.float64("a" if x > 1 else x), fallback=True)
    assert f(0.5) == 0.5
    with pytest.raises(ValueError, match="could not convert"):
        f(2.5)
