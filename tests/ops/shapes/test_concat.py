from __future__ import annotations

import numpy as np
import pytest

from tests.ops.derivatives import check_derivatives
from tests.ops.records import check_batch, check_record
from tracejit import errors
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.values import Linear
from tracejit.ops.shapes import concat

RNG = np.random.default_rng(1)
F64 = np.dtype(np.float64)


@pytest.mark.parametrize("axis", [0, 1])
def test_concatenate(axis: int) -> None:
    shapes = [(2, 3), (2, 3), (1, 3)] if axis == 0 else [(2, 1), (2, 0), (2, 3)]
    xs = [RNG.standard_normal(s) for s in shapes]
    check_record(concat.concatenate_op, xs, {"dimension": axis}, np.concatenate(xs, axis))
    check_batch(concat.concatenate_op, xs, {"dimension": axis})
    check_derivatives(lambda *xs: concat.concatenate(*xs, dimension=axis), xs, RNG)


def test_concatenate_types() -> None:
    d = Dim(object(), 7)
    a, b = Aval((2, d), F64), Aval((3, d), F64)
    assert concat.concatenate_op.type(a, b, dimension=0).shape == (5, d)
    with pytest.raises(errors.DynamicExtentError):
        concat.concatenate_op.type(a, a, dimension=1)
    with pytest.raises(errors.ShapeError, match="differ"):
        concat.concatenate_op.type(Aval((2, 3), F64), Aval((2, 4), F64), dimension=0)
    with pytest.raises(errors.TypeRuleError):
        concat.concatenate_op.type(a, b.with_dtype(np.dtype(np.int64)), dimension=0)
    with pytest.raises(errors.AxisError):
        concat.concatenate_op.type(a, b, dimension=2)
    x = np.arange(3.0)
    assert concat.concatenate(x, dimension=0) is x


def pad_slowly(x: np.ndarray, fill: float, config: tuple[tuple[int, int, int], ...]) -> np.ndarray:
    for axis, (lo, hi, interior) in enumerate(config):
        x = np.moveaxis(x, axis, 0)
        rows = []
        for n, row in enumerate(x):
            rows += [np.full_like(row, fill)] * (interior if n else 0) + [row]
        empty = np.full_like(x[0], fill) if len(x) else np.full(x.shape[1:], fill)
        rows = [empty] * max(lo, 0) + rows + [empty] * max(hi, 0)
        rows = rows[max(-lo, 0) : len(rows) - max(-hi, 0)] if max(-lo, 0) + max(-hi, 0) < len(rows) else []
        x = np.stack(rows) if rows else np.empty((0, *x.shape[1:]))
        x = np.moveaxis(x, 0, axis)
    return x


CONFIGS = [
    ((1, 2, 0), (0, 0, 0)),
    ((0, 0, 2), (1, 0, 1)),
    ((-1, 2, 0), (0, -2, 0)),
    ((-2, -1, 2), (-1, 3, 1)),
    ((-3, 4, 0), (0, 0, 0)),
    ((5, -6, 1), (-1, -1, 0)),
    ((-4, -4, 0), (0, 0, 0)),
]


@pytest.mark.parametrize("config", CONFIGS)
def test_pad(config: tuple[tuple[int, int, int], ...]) -> None:
    x = RNG.standard_normal((3, 4))
    out = check_record(
        concat.pad_op, [x, np.float64(-5)], {"padding_config": config}, pad_slowly(x, -5.0, config)
    )
    check_batch(concat.pad_op, [x, np.float64(-5)], {"padding_config": config})
    if out.size:
        check_derivatives(lambda x, f: concat.pad(x, f, padding_config=config), [x, np.float64(2)], RNG)


def test_pad_nothing_to_spread() -> None:
    config = ((2, 1, 3),)
    check_record(concat.pad_op, [np.empty(0), np.float64(1)], {"padding_config": config}, np.ones(3))
    x = np.arange(3)
    assert concat.pad(x, 0, padding_config=((0, 0, 0),)) is x
    np.testing.assert_array_equal(concat.pad(x, 9, padding_config=((1, 0, 0),)), [9, 0, 1, 2])


def test_what_is_not_filled_does_not_reach_the_fill() -> None:
    fill, ct = Linear(Aval((), F64)), np.array([np.nan, 1.0, 2.0])
    _, ct_fill = concat.pad_op.transpose(ct, np.zeros(1), fill, padding_config=((0, 2, 0),))
    assert ct_fill == 3.0


def test_pad_types() -> None:
    d = Dim(object(), 7)
    x, fill = Aval((d, 2), F64), Aval((), F64)
    assert concat.pad_op.type(x, fill, padding_config=((0, 0, 0), (1, 1, 0))).shape == (d, 4)
    with pytest.raises(errors.DynamicExtentError):
        concat.pad_op.type(x, fill, padding_config=((1, 0, 0), (1, 1, 0)))
    with pytest.raises(errors.ShapeError):
        concat.pad_op.type(x, fill, padding_config=((0, 0, 0),))
    with pytest.raises(errors.ShapeError, match="negative interior"):
        concat.pad_op.type(x, fill, padding_config=((0, 0, 0), (0, 0, -1)))
    with pytest.raises(errors.TypeRuleError):
        concat.pad_op.type(x, fill.with_dtype(np.dtype(np.int64)), padding_config=((0, 0, 0), (1, 1, 0)))
