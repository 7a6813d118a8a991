"""Overlapping windows: reading and adding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import tracejit as tj
from tracejit import ops
from tracejit.errors import AxisError, ShapeError, TypeRuleError
from tracejit.ir.avals import aval_of
from tracejit.ops.convolution.sliding import Windows, sliding_windows, sliding_windows_add
from tracejit.test_util import check_grads
from tracejit.tracing import to_raw, wrap


def reading(windows: Windows) -> Any:
    return lambda x: wrap(sliding_windows(to_raw(x), windows))


def reference(x: np.ndarray, w: Windows) -> np.ndarray:
    """NumPy's windows, of which every `stride`th is taken, and every `dilation`th element of each."""
    reach = [(n - 1) * d + 1 for n, d in zip(w.sizes, w.dilation, strict=True)]
    view = sliding_window_view(x, reach, w.axes) if w.axes else x
    some = [slice(None)] * x.ndim
    for axis, stride in zip(w.axes, w.strides, strict=True):
        some[axis] = slice(None, None, stride)
    return view[(*some, *(slice(None, None, d) for d in w.dilation))]


@settings(max_examples=25)
@given(st.data())
def test_values_and_derivatives(data: Any) -> None:
    shape = tuple(data.draw(st.lists(st.integers(5, 8), min_size=1, max_size=3)))
    axes = tuple(data.draw(st.permutations(range(len(shape)))))[: data.draw(st.integers(1, 2))]
    draw = lambda high: tuple(data.draw(st.integers(1, high)) for _ in axes)
    windows = Windows(axes, draw(3), draw(3), draw(2))
    x = np.random.default_rng(0).normal(size=shape)
    want = reference(x, windows)
    np.testing.assert_array_equal(sliding_windows(x, windows), want)
    np.testing.assert_array_equal(tj.jit(reading(windows))(x), want)
    u = np.random.default_rng(1).normal(size=want.shape)
    add = lambda x, u: wrap(sliding_windows_add(to_raw(x), to_raw(u), windows))
    pulled = tj.vjp(reading(windows), x)[1](u)[0]
    np.testing.assert_allclose(add(np.zeros(shape), u), pulled, atol=1e-14)
    np.testing.assert_allclose(tj.jit(add)(np.zeros(shape), u), pulled, atol=1e-14)
    np.testing.assert_allclose(np.sum(pulled * x), np.sum(want * u), atol=1e-11)


def test_second_order() -> None:
    windows = Windows((1,), (3,), (1,), (2,))
    check_grads(lambda x: np.sin(reading(windows)(x)), (np.linspace(0, 1, 14).reshape(2, 7),), order=2)


def test_adding_in_place_keeps_the_callers_arrays() -> None:
    x, u = np.zeros(4), np.ones((2, 3))
    windows = Windows((0,), (3,), (1,), (1,))
    f = tj.jit(lambda x, u: wrap(sliding_windows_add(to_raw(x), to_raw(u), windows)))
    assert f(x, u).tolist() == [1, 2, 2, 1] and not x.any()


def test_errors() -> None:
    x = np.ones((3, 4))
    for bad, error in (
        (Windows((2,), (1,), (1,), (1,)), AxisError),
        (Windows((0, 0), (1, 1), (1, 1), (1, 1)), ShapeError),
        (Windows((0,), (2,), (0,), (1,)), ShapeError),
    ):
        with pytest.raises(error):
            tj.jit(reading(bad))(x)
    with pytest.raises(TypeRuleError):
        ops.sliding.sliding_windows_add_op.type(
            *(aval_of(a) for a in (x, x)), windows=Windows((0,), (2,), (1,), (1,))
        )
