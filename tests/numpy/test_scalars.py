"""NumPy's scalar types as functions, against NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import FallbackWarning

TYPES = [
    np.bool_,
    np.int8,
    np.uint16,
    np.int64,
    np.float16,
    np.float32,
    np.float64,
    np.complex64,
    np.complex128,
]
VALUES = [
    *(
        True,
        3,
        -3,
        2.7,
        1j,
        np.int64(300),
        np.int8(-1),
        np.float32(2.7),
        np.float64(-0.0),
        np.complex128(1 + 2j),
    ),
    *(
        np.arange(3),
        np.arange(3.0),
        np.ones((1, 2), np.float32),
        np.array(2.5),
        np.ones(2, complex),
        np.ones(1),
    ),
]


@pytest.mark.sample(2)
@pytest.mark.filterwarnings("ignore::tracejit.errors.FallbackWarning")
@pytest.mark.parametrize("cls", TYPES)
def test_conversions(cls: type[np.generic]) -> None:
    """Natively, or by Python where NumPy raises or warns."""
    f = tj.jit(lambda x: cls(x), fallback=True)
    for x in VALUES:
        found = []
        for g in (cls, f):
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    found.append(g(x))
                except (OverflowError, ValueError, TypeError) as e:
                    found.append(type(e))
            kinds = {w.category for w in warned} - {FallbackWarning}
            if kinds:
                found[-1] = kinds
        theirs, ours = found
        assert type(ours) is type(theirs), (x, ours, theirs)
        assert np.array_equal(np.asarray(ours), np.asarray(theirs), equal_nan=False) or ours == theirs, x
        assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)


def test_derivatives() -> None:
    def f(x: Any) -> Any:
        return np.float64(x[0]) * np.float64(x).sum()

    assert tj.jit(tj.grad(f))(np.arange(1.0, 4)).tolist() == [7.0, 1.0, 1.0]


def test_integers_that_are_pythons_must_fit() -> None:
    def f(x: Any, n: int) -> Any:
        k = 0
        for v in x:
            if v > 0:
                k += n
        return np.int8(k), np.uint8(k), np.int32(k)

    compiled, x = tj.jit(f), np.ones(3)
    assert [(type(v), v) for v in compiled(x, 3)] == [(type(v), v) for v in f(x, 3)]
    with tj.config.override(fallback=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in (-1, 100):
            with pytest.raises(OverflowError, match="out of bounds"):
                compiled(x, n)


def test_writes_into_scalars_are_into_copies() -> None:
    def f(x: Any) -> Any:
        return x.fill(2), x.put(0, 2), np.put(x, [0], [2]), x

    assert tj.jit(f, fallback=False)(np.int64(3)) == f(np.int64(3)) == (None, None, None, 3)
    with pytest.raises(IndexError):
        tj.jit(lambda x: x.put(1, 2), fallback=True)(np.int64(3))
