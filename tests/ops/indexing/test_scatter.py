from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops import windows_reference as reference
from tests.ops.derivatives import check_derivatives, check_first, jvp, vjp
from tests.ops.indexing.test_gather import CASES, arguments
from tests.ops.records import check_batch, check_record, same
from tracejit import errors
from tracejit.ir.avals import Aval
from tracejit.ops.indexing import scatter
from tracejit.ops.indexing.scatter import ScatterDimensionNumbers as Numbers

RNG = np.random.default_rng(4)
F64, I64 = np.dtype(np.float64), np.dtype(np.int64)
POINTS = Numbers((), (0,), (0,))
ROWS = Numbers((1,), (0,), (0,))

FAMILY: dict[str, tuple[Any, Any]] = {
    "scatter": (scatter.scatter, lambda old, new: new),
    "scatter_add": (scatter.scatter_add, np.add),
    "scatter_mul": (scatter.scatter_mul, np.multiply),
    "scatter_min": (scatter.scatter_min, np.minimum),
    "scatter_max": (scatter.scatter_max, np.maximum),
}


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}-{c[3]}")
@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.sample(8)
def test_scatter(name: str, case: Any, mode: str) -> None:
    fn, combine = FAMILY[name]
    shape, indices_shape, gn, sizes = case
    x, i = arguments(shape, indices_shape, mode)
    if mode == "promise_in_bounds":
        i = np.minimum(i, np.array([shape[d] - sizes[d] for d in gn.start_index_map], int))
    u = RNG.standard_normal(reference.gather(x, i, gn, sizes, "clip").shape)
    dn = Numbers.of_gather(gn)
    params = {"dimension_numbers": dn, "mode": mode, "unique_indices": False}
    want = reference.scatter(x, i, u, gn, sizes, mode, combine)
    check_record(fn.op, [x, i, u], params, want, exact=False)
    check_batch(fn.op, [x, i, u], params, exact=False)
    if u.size and x.size:
        run = lambda x, u: fn(x, i, u, dimension_numbers=dn, mode=mode)
        (check_derivatives if name in ("scatter", "scatter_add") else check_first)(run, [x, u], RNG, 1e-5)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint32, np.float16, np.float32, np.complex128])
@pytest.mark.parametrize("name", FAMILY)
def test_dtypes(name: str, dtype: Any) -> None:
    fn, combine = FAMILY[name]
    x = RNG.integers(0, 3, (4, 2)).astype(dtype)
    u = RNG.integers(0, 3, (3, 2)).astype(dtype)
    i = np.array([[1], [3], [1]])
    want = reference.scatter(x, i, u, ROWS.as_gather(), (1, 2), "clip", combine)
    params = {"dimension_numbers": ROWS, "mode": "clip", "unique_indices": False}
    check_record(fn.op, [x, i, u], params, want)


def test_the_last_of_repeated_writes_stays() -> None:
    i = RNG.integers(0, 5, (2000, 1))
    u = np.arange(2000.0)
    out = scatter.scatter(np.zeros(5), i, u, dimension_numbers=POINTS, mode="clip")
    same(out, np.array([np.flatnonzero(i[:, 0] == n)[-1] for n in range(5)], float))
    # the same in two dimensions, with indices and updates in Fortran order
    i2 = np.asfortranarray(RNG.integers(0, 2, (30, 40, 2)))
    u2 = np.asfortranarray(np.arange(1200.0).reshape(30, 40))
    dn = Numbers((), (0, 1), (0, 1))
    out = scatter.scatter(np.zeros((2, 2)), i2, u2, dimension_numbers=dn, mode="clip")
    want = np.zeros((2, 2))
    for n in np.ndindex(30, 40):
        want[tuple(i2[n])] = u2[n]
    same(out, want)


def test_only_the_last_writer_gets_the_cotangent() -> None:
    i = np.array([[1], [0], [1]])
    run = lambda x, u: scatter.scatter(x, i, u, dimension_numbers=POINTS, mode="clip")
    ct_x, ct_u = vjp(run, [np.zeros(3), np.ones(3)], np.array([10.0, 20.0, 30.0]))
    same(ct_u, np.array([0.0, 10.0, 20.0]))
    same(ct_x, np.array([0.0, 0.0, 30.0]))


def test_repeated_sums() -> None:
    i = RNG.integers(0, 7, (500, 1))
    u = RNG.standard_normal((500, 3))
    x = RNG.standard_normal((7, 3))
    want = x.copy()
    np.add.at(want, i[:, 0], u)
    same(scatter.scatter_add(x, i, u, dimension_numbers=ROWS, mode="clip"), want)
    fortran = np.asfortranarray(x)
    params = {"dimension_numbers": ROWS, "mode": "clip", "unique_indices": False}
    same(scatter.scatter_add_op.inplace(fortran, i, u, **params), want)


def test_products_of_repeated_and_zero_factors() -> None:
    i = np.array([[0], [0], [1], [1], [2], [2], [3]])
    u = np.array([2.0, 3.0, 0.0, 5.0, 0.0, 0.0, 7.0])
    x = np.array([1.5, 2.5, 3.5, 4.5, 5.5])
    run = lambda x, u: scatter.scatter_mul(x, i, u, dimension_numbers=POINTS, mode="clip")
    ct_x, ct_u = vjp(run, [x, u], np.ones(5))
    np.testing.assert_allclose(ct_x, [6, 0, 0, 7, 1])
    np.testing.assert_allclose(ct_u, [4.5, 3, 12.5, 0, 0, 0, 4.5])
    check_derivatives(run, [x, u + 0.5], RNG, 1e-5)


def test_one_product_differentiates_twice_at_zero() -> None:
    i = np.array([[1]])
    run = lambda x, u: scatter.scatter_mul(x, i, u, dimension_numbers=POINTS, mode="clip")
    check_derivatives(run, [np.array([1.0, 0.0]), np.array([0.0])], RNG)


def test_equal_extremes_share_the_derivative() -> None:
    i = np.array([[0], [0], [1]])
    run = lambda x, u: scatter.scatter_max(x, i, u, dimension_numbers=POINTS, mode="clip")
    primals = [np.array([1.0, 5.0, np.nan]), np.array([1.0, 0.0, 5.0])]
    out = jvp(run, primals, [np.array([1.0, 3.0, 7.0]), np.array([2.0, 100.0, 5.0])])
    same(out, np.array([1.5, 4.0, 7.0]))


def test_unique_indices() -> None:
    x, u, i = RNG.standard_normal((5, 2)), RNG.standard_normal((3, 2)), np.array([[4], [0], [2]])
    for fn, combine in FAMILY.values():
        want = reference.scatter(x, i, u, ROWS.as_gather(), (1, 2), "clip", combine)
        params = {"dimension_numbers": ROWS, "mode": "clip", "unique_indices": True}
        check_record(fn.op, [x, i, u], params, want)
        check_first(lambda x, u, fn=fn, p=params: fn(x, i, u, **p), [x, u], RNG)


def test_scatter_refuses() -> None:
    op, x, i = scatter.scatter_op, Aval((5, 3), F64), Aval((4, 1), I64)
    params = {"dimension_numbers": ROWS, "mode": "clip", "unique_indices": False}
    assert op.type(x, i, Aval((4, 2), F64), **params) == x
    with pytest.raises(errors.TypeRuleError, match="dtypes"):
        op.type(x, i, Aval((4, 3), I64), **params)
    with pytest.raises(errors.ShapeError, match="updates"):
        op.type(x, i, Aval((3, 3), F64), **params)
    with pytest.raises(errors.ShapeError, match="window of 4"):
        op.type(x, i, Aval((4, 4), F64), **params)


def test_complex_extremes_order_by_parts_and_keep_nan() -> None:
    x = np.array([1 + 5j, 1 + 5j, complex(np.nan, 0), 2, 2])
    u = np.array([1 + 4j, 2, 7, complex(0, np.nan), 3 - 1j])
    i = np.arange(5)[:, None]
    params = {"dimension_numbers": POINTS, "mode": "clip", "unique_indices": True}
    check_record(scatter.scatter_min_op, [x, i, u], params, np.minimum(x, u))
    check_record(scatter.scatter_max_op, [x, i, u], params, np.maximum(x, u))
