from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.ops.derivatives import check_derivatives
from tests.ops.records import check_batch, check_record
from tracejit import errors
from tracejit.ir.avals import Aval, Dim
from tracejit.ops.reductions import linalg

RNG = np.random.default_rng(5)
F64 = np.dtype(np.float64)

# shapes, dimension numbers, einsum
CASES: list[tuple[Any, Any, Any, str]] = [
    ((3, 4), (4, 5), (((1,), (0,)), ((), ())), "ij,jk->ik"),
    ((4, 3), (5, 4), (((0,), (1,)), ((), ())), "ji,kj->ik"),
    ((4,), (4,), (((0,), (0,)), ((), ())), "j,j->"),
    ((4,), (4, 5), (((0,), (0,)), ((), ())), "j,jk->k"),
    ((3, 4), (4,), (((1,), (0,)), ((), ())), "ij,j->i"),
    ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,))), "bij,bjk->bik"),
    ((3, 4, 2), (5, 2, 4), (((1,), (2,)), ((2,), (1,))), "ijb,kbj->bik"),
    ((2, 3, 4, 5), (5, 6, 4), (((2, 3), (2, 0)), ((), ())), "abij,jci->abc"),
    ((2, 3, 4, 5), (3, 5, 2, 6), (((3,), (1,)), ((1, 0), (0, 2))), "baij,ajbk->abik"),
    ((3,), (4,), (((), ()), ((), ())), "i,j->ij"),
    ((2, 3), (2, 4), (((), ()), ((0,), (0,))), "bi,bj->bij"),
    ((2, 3), (2, 3), (((), ()), ((0, 1), (0, 1))), "bi,bi->bi"),
    ((2, 4), (2, 4), (((1,), (1,)), ((0,), (0,))), "bj,bj->b"),
    ((), (3,), (((), ()), ((), ())), ",i->i"),
    ((2, 0), (0, 3), (((1,), (0,)), ((), ())), "ij,jk->ik"),
    ((0, 2), (2, 3), (((1,), (0,)), ((), ())), "ij,jk->ik"),
    ((2, 3, 4, 5), (5, 4), (((3, 2), (0, 1)), ((), ())), "abij,ji->ab"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[3])
def test_dot_general(case: Any) -> None:
    a, b, numbers, formula = case
    x, y = RNG.standard_normal(a), RNG.standard_normal(b)
    params = {"dimension_numbers": numbers}
    out = check_record(linalg.dot_general_op, [x, y], params, np.einsum(formula, x, y), exact=False)
    check_batch(linalg.dot_general_op, [x, y], params, exact=False)
    if out.size and x.size:
        check_derivatives(lambda x, y: linalg.dot_general(x, y, **params), [x, y], RNG)


@pytest.mark.parametrize(
    "dtype",
    [np.bool_, np.int8, np.uint64, np.float16, np.float32, np.complex64, np.complex128, ml_dtypes.bfloat16],
)
def test_dtypes(dtype: Any) -> None:
    x, y = RNG.integers(0, 3, (3, 4)).astype(dtype), RNG.integers(0, 3, (4, 5)).astype(dtype)
    params = {"dimension_numbers": (((1,), (0,)), ((), ()))}
    check_record(linalg.dot_general_op, [x, y], params, np.matmul(x, y).astype(dtype))
    params = {"dimension_numbers": (((), ()), ((), ()))}
    check_record(linalg.dot_general_op, [x[0], y[0]], params, np.multiply.outer(x[0], y[0]).astype(dtype))


def test_complex_products_are_not_conjugated() -> None:
    x, y = (RNG.standard_normal(s) + 1j * RNG.standard_normal(s) for s in ((3, 4), (4, 2)))
    check_derivatives(
        lambda x, y: linalg.dot_general(x, y, dimension_numbers=(((1,), (0,)), ((), ()))), [x, y], RNG
    )


def test_types() -> None:
    op, d = linalg.dot_general_op, Dim(object(), 5)
    x, y = Aval((3, d), F64), Aval((d, 4), F64)
    numbers = (((1,), (0,)), ((), ()))
    assert op.type(x, y, dimension_numbers=numbers).shape == (3, 4)
    assert op.type(x, y, dimension_numbers=(((), ()), ((), ()))).shape == (3, d, d, 4)
    with pytest.raises(errors.ShapeError, match="differ in size"):
        op.type(x, Aval((5, 4), F64), dimension_numbers=numbers)
    with pytest.raises(errors.AxisError):
        op.type(x, y, dimension_numbers=(((2,), (0,)), ((), ())))
    with pytest.raises(errors.ShapeError, match="twice"):
        op.type(x, y, dimension_numbers=(((1,), (0,)), ((1,), (0,))))
    with pytest.raises(errors.TypeRuleError, match="dtypes"):
        op.type(x, y.with_dtype(np.dtype(np.float32)), dimension_numbers=numbers)
