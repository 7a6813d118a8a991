"""Where NumPy warns of imaginary parts that are lost, as often as it does."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj

Z = np.array([1 + 2j, 3 - 1j, 0.5j])
LOSING: dict[str, Callable[..., Any]] = {
    "items": lambda z: np.zeros(3).__setitem__(slice(None), z),
    "an item": lambda z: np.zeros(3).__setitem__(0, z[1]),
    "items by a list": lambda z: np.zeros(3).__setitem__([0, 1], z[:2]),
    "items by a mask": lambda z: np.zeros(3).__setitem__(np.array([True, False, True]), z[:2]),
    "out": lambda z: np.add(z, z, out=np.zeros(3), casting="unsafe"),
    "copyto": lambda z: np.copyto(np.zeros(3), z, casting="unsafe"),
    "put": lambda z: np.put(np.zeros(3), [0], z[1]),
    "fill": lambda z: np.zeros(3).fill(z[1]),
    "astype": lambda z: z.astype("f4"),
    "astype of integers": lambda z: z.astype(int),
    "array": lambda z: np.array(z, float),
    "full": lambda z: np.full(2, z[0], float),
    "full_like": lambda z: np.full_like(np.zeros(3), z[0]),
    "insert": lambda z: np.insert(np.zeros(3), 1, z[0]),
    "sum": lambda z: np.sum(z, dtype=float),
    "along an axis": lambda z: np.put_along_axis(np.zeros(3), np.array([0, 1, 2]), z, 0),
}
WAYS: dict[str, Callable[..., Any]] = {
    "compiled": lambda f: tj.jit(f),
    "beside a derivative": lambda f: lambda z: tj.grad(lambda t: (f(z), t)[1])(1.0),
    "in a derivative": lambda f: lambda z: tj.grad(lambda t: (f(z * t), t)[1])(1.0),
    "in a compiled derivative": lambda f: tj.jit(lambda z: tj.grad(lambda t: (f(z * t), t)[1])(1.0)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LOSING)
def test_lost_parts_are_told_as_often_as_numpy_does(name: str, way: str) -> None:
    assert _told(WAYS[way](LOSING[name])) == _told(LOSING[name]) == 1


def _told(f: Callable[..., Any]) -> int:
    """How often it is told."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f(Z)
    return sum(issubclass(w.category, np.exceptions.ComplexWarning) for w in found)
