"""What handlers see of errors that tracing finds: NumPy's own exceptions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tracejit.errors import FallbackWarning

A, S = np.arange(3.0), np.ones((2, 2))
#: Found by NumPy's shapes alone: no reason to leave the function to Python.
NATIVE: list[Callable[[Any], Any]] = [
    lambda x: x + np.ones(4),
    lambda x: np.add(x, np.ones(4)),
    lambda x: np.dot(S, x),
    lambda x: np.concatenate([x, S]),
    lambda x: np.stack([x, np.ones(4)]),
    lambda x: x.copy().__setitem__(slice(0, 2), np.ones(3)),
    lambda x: x[1.0],
    lambda x: x[0, 1],
    lambda x: np.einsum("ij,j", S, x),
    lambda x: np.broadcast_to(x, (2, 4)),
    lambda x: np.broadcast_to(x, (2, 3)).__setitem__(0, 1),
    lambda x: np.where(x > 0, x, np.ones(5)),
    lambda x: np.mean(x, axis=1),
    lambda x: np.linalg.solve(S, x),
    lambda x: np.vstack([x, np.ones(2)]),
    lambda x: x[7],
    lambda x: x.copy().__setitem__(-4, x[0]),
    lambda x: np.outer(x, x)[1, [0, 3]],
]
OTHERS: list[Callable[[Any], Any]] = [
    lambda x: S @ x,
    lambda x: np.ones(4) * x,
    lambda x: x.reshape(2, 2),
    lambda x: x.sum(axis=2),
    lambda x: np.linalg.inv(np.outer(x, np.ones(2))),
    lambda x: np.cross(x, np.ones(4)),
    lambda x: np.split(x, 2),
    lambda x: x[:0].max(),
    lambda x: float(x),
    lambda x: np.take(x, 9),
    lambda x: np.outer(x, x)[int(x[0]) + 3, 3],
]


def _told(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        try:
            return call(x)
        except (ValueError, IndexError, TypeError) as e:
            return type(e).__name__, str(e), type(e.__cause__).__name__, e.args, x * 2

    return f


@pytest.mark.parametrize("call", NATIVE)
def test_handlers_see_what_numpy_says(call: Any) -> None:
    f = _told(call)
    assert repr(tj.jit(f, fallback=False)(A + 0)) == repr(f(A + 0))


@pytest.mark.parametrize("call", OTHERS)
def test_nothing_else_is_said(call: Any) -> None:
    f = _told(call)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        assert repr(tj.jit(f, fallback=True)(A + 0)) == repr(f(A + 0))
