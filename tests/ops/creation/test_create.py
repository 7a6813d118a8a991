"""iota, full, conversions and the identities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.ops.derivatives import check_derivatives, jvp, vjp, vmap
from tests.ops.running import run_pointwise
from tests.ops.samples import BF16, COMPLEXES, FLOATS, INTEGERS
from tracejit.errors import ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.check import OperandRef
from tracejit.ops.creation import create as cr

ALL = [np.bool_, *INTEGERS, *FLOATS, BF16, *COMPLEXES]
F8 = np.dtype("f8")


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, *COMPLEXES])
def test_iota(dtype: Any) -> None:
    out = cr.iota(shape=(2, 3), dtype=dtype, dimension=1)
    np.testing.assert_array_equal(out, [[0, 1, 2]] * 2)
    assert out.dtype == dtype
    np.testing.assert_array_equal(cr.iota(shape=(3,), dtype=dtype), [0, 1, 2])


def test_iota_of_dynamic_size() -> None:
    out = cr.iota(np.int64(4), shape=(None, 2), dtype=np.int64, dimension=0, bounds=(9,))
    np.testing.assert_array_equal(out, [[0, 0], [1, 1], [2, 2], [3, 3]])
    n = Aval((), np.dtype(np.int64))
    aval = cr.iota.op.type(n, shape=(None, 2), dtype=F8, dimension=0, bounds=(9,))
    assert isinstance(aval.shape[0], Dim) and aval.shape[0].bound == 9
    assert isinstance(aval.shape[0].var, OperandRef) and aval.shape[0].var.index == 0
    with pytest.raises(ShapeError, match="no dimension 2"):
        cr.iota.op.type(shape=(3, 4), dtype=F8, dimension=2, bounds=())


def test_full() -> None:
    np.testing.assert_array_equal(cr.full(np.float32(2), shape=(2, 3)), np.full((2, 3), 2, np.float32))
    assert cr.full(3, shape=()) == 3
    check_derivatives(lambda x: cr.full(x, shape=(2, 3)), [np.float64(1.5)], np.random.default_rng(0))
    lanes = vmap(lambda x: cr.full(x, shape=(2,)), [np.array([1.0, 2.0, 3.0])], (0,), 3)
    np.testing.assert_array_equal(lanes, [[1, 1], [2, 2], [3, 3]])
    with pytest.raises(ShapeError):
        cr.full.op.type(Aval((2,), F8), shape=(2,))


@pytest.mark.parametrize("old", ALL)
@pytest.mark.parametrize("new", ALL)
@pytest.mark.filterwarnings("ignore")
def test_conversions(old: Any, new: Any) -> None:
    x = np.array([0, 1, 2, 3]).astype(old)
    out = cr.convert_element_type(x, dtype=new)
    assert out.dtype == new
    np.testing.assert_array_equal(out, x.astype(new))
    if new is not BF16 and old is not BF16:
        np.testing.assert_array_equal(
            run_pointwise(cr.convert_element_type.op, x, dtype=np.dtype(new)), x.astype(new)
        )


@pytest.mark.parametrize("old", [np.float16, BF16, np.float32, np.float64], ids=str)
def test_two_conversions(old: Any) -> None:
    """One step where nothing is lost between them, two where something is."""
    others = [np.dtype(d) for d in (np.float16, BF16, np.float32, np.float64)]
    fn = lambda x: [x.astype(a).astype(b) for a in others for b in others]
    with np.errstate(all="ignore"):
        x = np.array([1 + 2.0**-9, 70000.0, 1e-40, -2.5]).astype(old)
        wants = fn(x)
    for got, want in zip(tj.jit(fn)(x), wants, strict=True):
        assert got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.filterwarnings("error")
def test_derivatives_of_conversions() -> None:
    x = np.array([1.5, -2.0])
    (ct,) = vjp(lambda v: cr.convert_element_type(v, dtype=np.float32), [x], np.ones(2, np.float32))
    assert ct.dtype == np.float64
    check_derivatives(
        lambda v: cr.convert_element_type(v, dtype=np.complex128), [x], np.random.default_rng(0)
    )
    check_derivatives(lambda v: cr.convert(v, F8), [x + 1j * x], np.random.default_rng(0))
    assert not jvp(lambda v: cr.convert_element_type(v, dtype=np.int64), [x], [x]).any()


def test_conversion_to_the_same_dtype_is_nothing() -> None:
    x = np.ones(3)
    assert cr.convert_element_type(x, dtype=float) is x
    assert cr.convert_element_type(2, dtype=np.int8).dtype == np.int8


def test_ranges_of_conversions() -> None:
    bounds = cr.convert_element_type.op.bounds
    assert bounds([(0, 100)], dtype=np.dtype(np.int8)) == (0, 100)
    assert bounds([(0, 200)], dtype=np.dtype(np.int8)) is None
    assert bounds([(0, 1)], dtype=F8) is None


def test_bitcast() -> None:
    x = np.array([1.0, -2.0], np.float32)
    np.testing.assert_array_equal(cr.bitcast(x, dtype=np.uint32), x.view(np.uint32))
    np.testing.assert_array_equal(run_pointwise(cr.bitcast.op, x, dtype=np.dtype("u4")), x.view(np.uint32))
    with pytest.raises(TypeRuleError, match="f32 and i64"):
        cr.bitcast.op.type(Aval((), np.dtype("f4")), dtype=np.dtype("i8"))


def test_copy_and_stop_gradient() -> None:
    x = np.ones(3)
    out = cr.copy(x)
    assert out is not x and not np.shares_memory(out, x)
    check_derivatives(cr.copy, [x], np.random.default_rng(0))
    assert not jvp(cr.stop_gradient, [x], [x]).any()
    np.testing.assert_array_equal(cr.stop_gradient(x), x)
