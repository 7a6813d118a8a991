"""Random programs of views and writes: boxes do what real ndarrays do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tracejit as tj
from tests.numpy.running import check
from tracejit.errors import DynamicExtentError, IndexOutOfRangeError

A = np.arange(24.0).reshape(2, 3, 4)
KINDS = [
    "index",
    "index",
    "T",
    "swap",
    "move",
    "reshape",
    "ravel",
    "squeeze",
    "write",
    "write",
    "add",
    "copy",
    "read",
]


def a_slice(rng: random.Random, n: int) -> slice:
    ends = [None, *range(-n - 1, n + 2)]
    return slice(rng.choice(ends), rng.choice(ends), rng.choice([None, 1, 1, 2, -1, -2, 3]))


def an_index(rng: random.Random, shape: tuple[int, ...]) -> tuple[Any, ...]:
    out: list[Any] = []
    for d in shape[: rng.randint(0, len(shape))]:
        if d == 0 or rng.random() < 0.6:
            out.append(a_slice(rng, d))
        else:
            out.append(rng.randint(-d, d - 1))
        if rng.random() < 0.15:
            out.append(None)
    return (*out, Ellipsis) if rng.random() < 0.2 else tuple(out)


def a_shape(rng: random.Random, size: int) -> tuple[int, ...]:
    return rng.choice([(size,), *((n, size // n) for n in range(1, size + 1) if size % n == 0)])


def is_scalar(x: Any) -> bool:
    return isinstance(x, np.generic) or getattr(x, "scalar", False)


def step(rng: random.Random, views: list[Any], outs: list[Any], n: int) -> None:
    """One random operation on one of the views."""
    v = rng.choice(views)
    kind = rng.choice(KINDS)
    if kind == "index":
        w = v[an_index(rng, v.shape)]
        (outs if is_scalar(w) else views).append(w)
    elif kind == "T":
        views.append(v.T)
    elif kind == "swap" and v.ndim > 1:
        views.append(v.swapaxes(0, -1))
    elif kind == "move" and v.ndim > 1:
        views.append(np.moveaxis(v, 0, -1))
    elif kind == "reshape":
        views.append(v.reshape(a_shape(rng, v.size)))
    elif kind == "ravel":
        views.append(v.ravel())
    elif kind == "squeeze":
        views.append(v.squeeze())
    elif kind == "write":
        v[an_index(rng, v.shape)] = n * 1.5
    elif kind == "add" and v.ndim:
        v += n
    elif kind == "copy":
        w = rng.choice(views)
        if w.shape == v.shape and v.ndim:
            v[...] = w * 2
    elif kind == "read":
        outs.append((v * 2).sum())


@given(st.integers(0, 2**32 - 1))
def test_random_views_and_writes(seed: int) -> None:
    def f(x: Any) -> Any:
        rng = random.Random(seed)
        views, outs = [x], []
        for n in range(8):
            step(rng, views, outs, n)
        return [*outs, *(w + 0 for w in views)]

    check(f, A)


def test_elements_of_parts_that_differ_in_size_among_lanes() -> None:
    """The parts have no array for all lanes; their elements and sizes have."""
    rows, counts = np.arange(10.0).reshape(5, 2), np.array([2, 4])

    def f(x: Any, n: Any) -> Any:
        part = np.swapaxes(x[:n], 0, 1)
        part[0, 0] = 7.0
        return part[:, -1] * part.shape[1] + part[0, 1] + x[0]

    over = lambda g: tj.jit(tj.vmap(g, in_axes=(None, 0)), fallback=False)
    np.testing.assert_array_equal(over(f)(rows, counts), [f(rows.copy(), n) for n in counts])
    np.testing.assert_array_equal(tj.vmap(f, in_axes=(None, 0))(rows, counts), over(f)(rows, counts))
    slope = over(tj.grad(lambda x, n: x[:n][-1, 0] ** 2))(rows, counts)
    want = np.zeros((2, 5, 2))
    want[0, 1, 0], want[1, 3, 0] = 2 * rows[1, 0], 2 * rows[3, 0]
    np.testing.assert_array_equal(slope, want)
    with pytest.raises(IndexOutOfRangeError, match="index 3 is out of bounds for axis 0 with size 2"):
        over(lambda x, n: x[:n][3])(rows, counts)
    with pytest.raises(DynamicExtentError, match="differs between the examples"):
        over(lambda x, n: x[:n].sum())(rows, counts)
