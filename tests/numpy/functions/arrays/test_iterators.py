"""nditer over traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import RefusedFunctionError

X = np.arange(3.0)


def total(x: Any) -> Any:
    it = np.nditer(x, flags=["multi_index"])
    s = 0.0
    for v in it:
        s = s + v * it.multi_index[0]
    return s


def doubled(x: Any) -> Any:
    y = x * 1
    with np.nditer(y, op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = 2 * v
    return y


def made(x: Any) -> Any:
    it = np.nditer([x, None, None], op_dtypes=[None, np.float32, None])
    for a, b, c in it:
        b[...] = a
        c[...] = a * a
    return it.operands[1] + it.operands[2]


def by_hand(x: Any) -> Any:
    it, s = np.nditer(np.outer(x, x + 1), flags=["f_index"]), 0.0
    while not it.finished:
        s = s + it[0] * it.index
        it.iternext()
    return s


def broadcast(x: Any) -> Any:
    return np.array([a * b for a, b in np.nditer([np.outer(x, x + 1), x])])


def in_memory_order(x: Any) -> Any:
    return np.array(list(np.nditer(np.outer(x, x + 1).T)))


def in_order(x: Any) -> Any:
    return np.array(list(np.nditer(np.outer(x, x + 1).T, order="C")))


@pytest.mark.parametrize("f", [total, doubled, made, by_hand, broadcast, in_memory_order, in_order])
def test_as_numpys(f: Any) -> None:
    for got in (tj.jit(f)(X), tj.jvp(f, (X,), (X,))[0]):
        np.testing.assert_array_equal(got, f(X))
        assert np.asarray(got).dtype == np.asarray(f(X)).dtype


def test_what_it_has_not_is_refused() -> None:
    def written(x: Any) -> Any:
        for v in np.nditer(x):
            v[...] = 1
        return x

    with pytest.raises(ValueError, match="read-only"):
        tj.jit(written)(X.copy())
    for f in (
        lambda x: [v.sum() for v in np.nditer(x, flags=["external_loop"])],
        lambda x: list(np.nditer(x[::-1])),
        lambda x: np.nditer(x).itviews,
    ):
        with pytest.raises(RefusedFunctionError):
            tj.jit(f)(X)
