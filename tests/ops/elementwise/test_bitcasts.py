"""Reading bits as another dtype: JAX's bitcast_convert_type and NumPy's view, all pairs of dtypes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.ops.samples import BF16
from tracejit import lax
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.test_util import check_grads

DTYPES = [*map(np.dtype, "bhiqBHIQefdFD"), BF16]
PAIRS = list(itertools.permutations([np.int8, np.float16, np.uint32, np.float64], 2))
BYTES = np.random.default_rng(0).integers(0, 127, (3, 32)).astype(np.uint8)


@pytest.mark.sample(4)
@pytest.mark.parametrize("old", DTYPES, ids=str)
def test_view_is_numpys(old: np.dtype) -> None:
    x = BYTES.view(old)
    views = lambda v: [v.view(d) for d in DTYPES]
    for got in (
        tj.jit(views)(x),
        tj.vmap(views)(x),
        tj.jit(tj.vmap(views, in_axes=1, out_axes=1))(x[:, None]),
    ):
        for g, w in zip(got, views(x), strict=True):
            assert g.dtype == w.dtype and g.reshape(w.shape).tobytes() == w.tobytes()


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_bitcast_convert_type(old: Any, new: Any) -> None:
    old, new = np.dtype(old), np.dtype(new)
    x = BYTES.view(old)
    if old.itemsize < new.itemsize:
        x = x.reshape(3, -1, new.itemsize // old.itemsize)
        want = x.view(new)[..., 0]
    else:
        want = x.view(new).reshape(*x.shape, -1) if old.itemsize > new.itemsize else x.view(new)
    f = lambda v: lax.bitcast_convert_type(v, new)
    for got in (
        f(x),
        tj.jit(f)(x),
        tj.vmap(f)(x),
        tj.jit(lambda v: f(v * 1) if old.kind != "f" else f(v))(x),
    ):
        assert got.dtype == new and got.shape == want.shape and got.tobytes() == want.tobytes()


def test_booleans_and_scalars() -> None:
    assert tj.jit(lambda x: x.view(np.uint8))(np.array([True, False])).tolist() == [1, 0]
    assert tj.jit(lambda x: x.view(np.int64))(np.float64(1.0)) == 0x3FF0000000000000
    assert tj.jit(lambda x: lax.bitcast_convert_type(x, np.uint32))(np.float64(1.0)).tolist() == [
        0,
        0x3FF00000,
    ]
    x = BYTES[0, :8].copy()
    assert tj.jit(lambda v: lax.bitcast_convert_type(v, np.float64))(x).shape == ()


def test_views_of_complex_numbers_have_derivatives() -> None:
    z = np.array([1.5 - 2j, 0.25 + 1j])
    check_grads(lambda v: v.view(np.float64), (z,), order=2)
    check_grads(lambda v: v.view(np.complex128), (np.arange(4.0),), order=2)
    assert tj.grad(lambda v: lax.bitcast_convert_type(v, np.int64) * 2.0 + v)(1.0) == 1.0


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ShapeError, match="last axis"):
        tj.jit(lambda x: x.view(np.float64))(np.zeros(3, np.float32))
    with pytest.raises(ShapeError, match="0d"):
        tj.jit(lambda x: x.view(np.float32))(np.float64(1))
    with pytest.raises(ShapeError, match="2 elements"):
        tj.jit(lambda x: lax.bitcast_convert_type(x, np.float64))(np.zeros((2, 3), np.float32))
    with pytest.raises(TypeRuleError, match="real dtype"):
        tj.jit(lambda x: lax.bitcast_convert_type(x, np.complex128))(np.zeros((2, 2)))
