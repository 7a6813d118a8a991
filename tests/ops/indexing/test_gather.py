from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops import windows_reference as reference
from tests.ops.derivatives import check_derivatives, vjp, vmap
from tests.ops.records import check_batch, check_record, same
from tracejit import errors
from tracejit.interpreters.vmap import batch_flat
from tracejit.ir.avals import Aval, Dim
from tracejit.ops.indexing import gather, scatter
from tracejit.ops.indexing.gather import GatherDimensionNumbers as Numbers
from tracejit.ops.shapes import shape

RNG = np.random.default_rng(3)
F64, I64 = np.dtype(np.float64), np.dtype(np.int64)

# operand shape, indices shape, dimension numbers, window
CASES: list[tuple[Any, Any, Numbers, Any]] = [
    ((5,), (4, 1), Numbers((), (0,), (0,)), (1,)),
    ((5,), (4, 1), Numbers((1,), (), (0,)), (2,)),
    ((5, 3), (4, 1), Numbers((1,), (0,), (0,)), (1, 3)),
    ((5, 3), (2, 2, 1), Numbers((0,), (1,), (1,)), (4, 1)),
    ((5, 3), (4, 2), Numbers((), (0, 1), (0, 1)), (1, 1)),
    ((5, 3), (4, 2), Numbers((), (0, 1), (1, 0)), (1, 1)),
    ((5, 3, 4), (2, 3, 2), Numbers((1,), (0, 2), (0, 2)), (1, 3, 1)),
    ((5, 3, 4), (2, 2), Numbers((0, 2), (1,), (2, 1)), (2, 1, 3)),
    ((5, 3, 4), (2, 1), Numbers((1, 2), (0,), (2,)), (1, 2, 2)),
    ((3, 5), (3, 4, 1), Numbers((), (1,), (1,), (0,), (0,)), (1, 1)),
    ((5, 3, 2), (3, 4, 2, 1), Numbers((), (0,), (0,), (1, 2), (0, 2)), (1, 1, 1)),
    ((3, 5, 4), (2, 3, 1), Numbers((1, 2), (), (1,), (0,), (1,)), (1, 2, 3)),
    ((5, 3), (1, 2), Numbers((1, 2), (), (0, 1)), (2, 2)),
    ((5, 3), (2,), Numbers((0,), (1,), (0, 1)), (2, 1)),
    ((5, 3), (4, 0), Numbers((1, 2), (), ()), (2, 3)),
    ((5, 3), (0, 1), Numbers((1,), (0,), (0,)), (1, 3)),
    ((5, 3), (4, 1), Numbers((1,), (0,), (0,)), (1, 0)),
]


def arguments(shape: Any, indices_shape: Any, mode: str) -> tuple[np.ndarray, np.ndarray]:
    low, high = (-3, 8) if mode != "promise_in_bounds" else (0, 2)
    return RNG.standard_normal(shape), RNG.integers(low, high, indices_shape)


def params_of(dn: Numbers, sizes: Any, mode: str) -> dict[str, Any]:
    rest = {"fill_value": None, "unique_indices": False}
    return {"dimension_numbers": dn, "slice_sizes": sizes, "mode": mode, **rest}


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}-{c[3]}")
def test_gather(case: Any, mode: str) -> None:
    shape, indices_shape, dn, sizes = case
    x, i = arguments(shape, indices_shape, mode)
    if mode == "promise_in_bounds":
        i = np.minimum(i, np.array([shape[d] - sizes[d] for d in dn.start_index_map], int))
    params = params_of(dn, sizes, mode)
    out = check_record(gather.gather_op, [x, i], params, reference.gather(x, i, dn, sizes, mode))
    check_batch(gather.gather_op, [x, i], params)
    call = {"dimension_numbers": dn, "slice_sizes": sizes, "mode": mode}
    if out.size:
        check_derivatives(lambda x: gather.gather(x, i, fill_value=0.5, **call), [x], RNG)


@pytest.mark.parametrize(
    "dtype, fill",
    [
        (np.float32, np.nan), (np.int16, -(2**15)), (np.uint8, 255), (np.bool_, True), (np.complex64, np.nan),
        (np.float16, np.nan),
    ],
)  # fmt: skip
def test_fill_values(dtype: Any, fill: Any) -> None:
    x = np.ones(3, dtype)
    out = gather.take(x, np.array([0, 5, -1]), 0, mode="fill")
    same(out, np.array([1, fill, fill], dtype))
    same(gather.take(x, np.array([0, 5]), 0, mode="fill", fill_value=0), np.array([1, 0], dtype))
    dn = Numbers((), (0,), (0,))
    check_record(gather.gather_op, [x, np.array([[0], [5], [-1]])], params_of(dn, (1,), "fill"), out)


def test_huge_unsigned_index() -> None:
    x, i = np.arange(3.0), np.array([[2**64 - 1], [1]], np.uint64)
    dn = Numbers((), (0,), (0,))
    check_record(gather.gather_op, [x, i], params_of(dn, (1,), "clip"), np.array([2.0, 1.0]))
    check_record(gather.gather_op, [x, i], params_of(dn, (1,), "fill"), np.array([np.nan, 1.0]))


def test_take() -> None:
    x = RNG.standard_normal((3, 4, 5))
    i = np.array([[2, 0], [1, 1]])
    for axis in (0, 1, 2, -1):
        same(gather.take(x, i, axis), np.take(x, i, axis))
        j = RNG.integers(
            0, 3, np.delete([3, 4, 5], axis).tolist()[: axis % 3] + [6] + [3, 4, 5][axis % 3 + 1 :]
        )
        same(gather.take_along_axis(x, j, axis), np.take_along_axis(x, j, axis))
    same(gather.take(x, np.int64(1), 1), x[:, 1])
    same(gather.take(np.empty((0, 3)), np.zeros(0, int), 0), np.empty((0, 3)))
    same(gather.take(np.empty((0, 3)), np.zeros(1, int), 0, mode="fill"), np.full((1, 3), np.nan))


def test_repeated_reads_add_up() -> None:
    ct = vjp(lambda x: gather.take(x, np.array([1, 1, 2]), 0), [np.arange(4.0)], np.ones(3))[0]
    same(ct, np.array([0.0, 2.0, 1.0, 0.0]))


def test_nested_vmap() -> None:
    x, i = RNG.standard_normal((2, 3, 4)), RNG.integers(0, 4, (2, 3, 5))
    pick = lambda x, i: [gather.take(x, i, 0)]

    def inner(x: Any, i: Any) -> Any:
        (out,), (dim,) = batch_flat(pick, 3, [x, i], [0, 0])
        return shape.moveaxis(out, dim, 0)

    same(vmap(inner, [x, i], [0, 0], 2), np.take_along_axis(x, i, 2))


def test_dynamic_windows() -> None:
    d = Dim(object(), 6)
    x, i = Aval((4, d), F64), Aval((3, 1), I64)
    params = params_of(Numbers((1,), (0,), (0,)), (1, None), "clip")
    assert gather.gather_op.type(x, i, **params).shape == (3, d)
    with pytest.raises(errors.DynamicExtentError):
        gather.gather_op.type(x, i, **{**params, "slice_sizes": (1, 2)})
    with pytest.raises(errors.DynamicExtentError):
        gather.gather_op.type(x, i, **params_of(Numbers((1, 2), (), (0,)), (None, None), "clip"))


@pytest.mark.parametrize(
    "dn, sizes, match",
    [
        (Numbers((1,), (0,), (0,)), (1, 4), "window of 4"),
        (Numbers((1,), (0,), (0,)), (2, 3), "window of 2"),
        (Numbers((1,), (0,), (0, 1)), (1, 3), "last axis"),
        (Numbers((), (0,), (0,)), (1, 3), "window axes"),
        (Numbers((1,), (0,), (0,), (1,), (0,)), (1, 1), "batch axes|window axes"),
        (Numbers((1,), (0,), (0,)), (1,), "window"),
        (Numbers((1,), (2,), (0,)), (1, 3), "axis 2"),
    ],
)
def test_gather_refuses(dn: Numbers, sizes: Any, match: str) -> None:
    with pytest.raises((errors.ShapeError, errors.AxisError), match=match):
        gather.gather_op.type(Aval((5, 3), F64), Aval((4, 1), I64), **params_of(dn, sizes, "clip"))


def test_gather_refuses_dtypes_and_modes() -> None:
    x, params = Aval((5, 3), F64), params_of(Numbers((1,), (0,), (0,)), (1, 3), "clip")
    with pytest.raises(errors.TypeRuleError, match="integers"):
        gather.gather_op.type(x, Aval((4, 1), F64), **params)
    with pytest.raises(errors.TypeRuleError, match="mode"):
        gather.gather_op.type(x, Aval((4, 1), I64), **{**params, "mode": "wrap"})


def test_numbers_mirror() -> None:
    for _, _, dn, _ in CASES:
        assert scatter.ScatterDimensionNumbers.of_gather(dn).as_gather() == dn
