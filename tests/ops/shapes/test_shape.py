from __future__ import annotations

import numpy as np
import pytest

from tests.ops.derivatives import check_derivatives
from tests.ops.records import check_batch, check_record
from tracejit import errors
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.check import OperandRef
from tracejit.ir.values import Linear
from tracejit.ops.shapes import shape, slices
from tracejit.ops.shapes.broadcast import broadcast_in_dim_op

X = np.arange(24.0).reshape(2, 3, 4)
RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "start, to",
    [
        ((2, 3, 4), (6, 4)),
        ((2, 3, 4), (24,)),
        ((2, 3, 4), (4, 3, 2)),
        ((2, 3, 4), (2, 1, 12, 1)),
        ((24,), (2, 2, 6)),
        ((1, 1), ()),
        ((), (1, 1)),
        ((0, 3), (3, 0)),
        ((1, 6, 1), (3, 2)),
    ],
)
def test_reshape(start: tuple[int, ...], to: tuple[int, ...]) -> None:
    x = np.arange(float(np.prod(start))).reshape(start)
    check_record(shape.reshape_op, [x], {"shape": to, "bounds": ()}, x.reshape(to))
    check_batch(shape.reshape_op, [x], {"shape": to, "bounds": ()})


def test_reshape_refuses() -> None:
    with pytest.raises(errors.ShapeError, match="24 elements"):
        shape.reshape_op.type(Aval((2, 3, 4), X.dtype), shape=(5, 5), bounds=())
    with pytest.raises(errors.DynamicExtentError):
        shape.reshape(Linear(Aval((Dim(object(), 3),), X.dtype)), shape=(3,))
    assert shape.reshape(X, shape=X.shape) is X


@pytest.mark.parametrize("permutation", [(2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0)])
def test_transpose(permutation: tuple[int, ...]) -> None:
    check_record(shape.transpose_op, [X], {"permutation": permutation}, X.transpose(permutation))
    check_batch(shape.transpose_op, [X], {"permutation": permutation})
    check_derivatives(lambda x: shape.transpose(x, permutation=permutation), [X], RNG)


def test_transpose_conveniences() -> None:
    assert shape.transpose(X, permutation=(0, 1, 2)) is X
    np.testing.assert_array_equal(shape.moveaxis(X, -1, 0), np.moveaxis(X, -1, 0))
    np.testing.assert_array_equal(shape.swapaxes(X, 0, -1), np.swapaxes(X, 0, -1))
    with pytest.raises(errors.AxisError):
        shape.transpose_op.type(Aval(X.shape, X.dtype), permutation=(0, 1, 3))
    with pytest.raises(errors.ShapeError, match="twice"):
        shape.transpose_op.type(Aval(X.shape, X.dtype), permutation=(0, 1, 1))


@pytest.mark.parametrize(
    "start, to, axes",
    [
        ((3,), (2, 3), (1,)),
        ((2,), (2, 3), (0,)),
        ((2, 1), (2, 3), (0, 1)),
        ((), (2, 3), ()),
        ((1,), (40, 50), (1,)),
    ],
)
def test_broadcast_in_dim(start: tuple[int, ...], to: tuple[int, ...], axes: tuple[int, ...]) -> None:
    x = RNG.standard_normal(start)
    params = {"shape": to, "broadcast_dimensions": axes, "bounds": ()}
    inner = np.ones(len(to), int)
    inner[list(axes)] = start
    check_record(broadcast_in_dim_op, [x], params, np.broadcast_to(x.reshape(inner), to).copy())
    check_batch(broadcast_in_dim_op, [x], params)
    check_derivatives(lambda x: shape.broadcast_in_dim(x, shape=to, broadcast_dimensions=axes), [x], RNG)


def test_broadcast_dynamic() -> None:
    params = {"shape": (None, 2), "broadcast_dimensions": (1,), "bounds": (9,)}
    out = broadcast_in_dim_op.eval(np.arange(2.0), np.int64(3), **params)
    np.testing.assert_array_equal(out, np.broadcast_to(np.arange(2.0), (3, 2)))
    n = Aval((), np.dtype(np.int64))
    aval = broadcast_in_dim_op.type(Aval((2,), X.dtype), n, **params)
    assert aval.shape[1] == 2 and aval.shape[0].bound == 9 and isinstance(aval.shape[0].var, OperandRef)
    check_batch(broadcast_in_dim_op, [np.arange(2.0), np.int64(3)], params, fixed=(1,))
    with pytest.raises(errors.DynamicExtentError):
        broadcast_in_dim_op.batch(3, (np.arange(2.0), np.arange(3)), (None, 0), **params)


def test_broadcast_to() -> None:
    assert shape.broadcast_to(X, X.shape) is X
    np.testing.assert_array_equal(shape.broadcast_to(X[0], (5, 3, 4)), np.broadcast_to(X[0], (5, 3, 4)))
    with pytest.raises(errors.ShapeError):
        shape.broadcast_to(X, (3, 4))
    with pytest.raises(errors.ShapeError):
        broadcast_in_dim_op.type(Aval((3,), X.dtype), shape=(2, 4), broadcast_dimensions=(1,), bounds=())


def test_broadcast_shapes() -> None:
    d = Dim(object(), 5)
    assert shape.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert shape.broadcast_shapes((d,), (4, 1), (1, d)) == (4, d)
    assert shape.broadcast_shapes() == ()
    for bad in ([(2,), (3,)], [(d,), (5,)], [(d,), (Dim(object(), 5),)]):
        with pytest.raises(errors.ShapeError):
            shape.broadcast_shapes(*bad)


def test_squeeze_and_expand() -> None:
    x = X.reshape(1, 2, 1, 12)
    check_record(shape.squeeze_op, [x], {"dimensions": (0, 2)}, x[0, :, 0])
    check_batch(shape.squeeze_op, [x], {"dimensions": (0, 2)})
    check_derivatives(lambda x: shape.squeeze(x, dimensions=(0,)), [x], RNG)
    check_record(shape.expand_dims_op, [X], {"dimensions": (0, 2)}, np.expand_dims(X, (0, 2)))
    check_batch(shape.expand_dims_op, [X], {"dimensions": (1, 4)})
    check_derivatives(lambda x: shape.expand_dims(x, (1,)), [X], RNG)
    assert shape.expand_dims(X, ()) is X and shape.squeeze(X, dimensions=()) is X
    with pytest.raises(errors.ShapeError, match="axis 1"):
        shape.squeeze_op.type(Aval((1, 2), X.dtype), dimensions=(1,))
    d = Dim(object(), 4)
    assert shape.expand_dims_op.type(Aval((d,), X.dtype), dimensions=(0,)).shape == (1, d)


def test_rev() -> None:
    check_record(shape.rev_op, [X], {"dimensions": (0, 2)}, X[::-1, :, ::-1])
    check_batch(shape.rev_op, [X], {"dimensions": (1,)})
    check_derivatives(lambda x: shape.rev(x, dimensions=(1,)), [X], RNG)


SLICES = [
    ((0, 1, 0), (2, 3, 4), (1, 1, 1)),
    ((1, 0, 1), (2, 3, 4), (1, 2, 2)),
    ((0, 0, 3), (2, None, 4), (2, 1, 1)),
    ((1, 1, 1), (1, 2, 3), (1, 1, 1)),
]


@pytest.mark.parametrize("start, limit, strides", SLICES)
def test_slices(start: tuple[int, ...], limit: tuple[int, ...], strides: tuple[int, ...]) -> None:
    params = {"start_indices": start, "limit_indices": limit, "strides": strides}
    part = tuple(map(slice, start, limit, strides))
    check_record(slices.slice_op, [X], params, X[part])
    check_batch(slices.slice_op, [X], params)
    u = -1 - np.arange(float(X[part].size)).reshape(X[part].shape)
    updated, added = X.copy(), X.copy()
    updated[part] = u
    added[part] += u
    check_record(slices.slice_update_op, [X, u], params, updated)
    check_record(slices.slice_add_op, [X, u], params, added)
    check_batch(slices.slice_update_op, [X, u], params)
    check_batch(slices.slice_add_op, [X, u], params)
    if u.size:
        check_derivatives(lambda x: shape.slice(x, **params), [X], RNG)
        check_derivatives(lambda x, u: slices.slice_update(x, u, **params), [X, u], RNG)
        check_derivatives(lambda x, u: slices.slice_add(x, u, **params), [X, u], RNG)


def test_slice_refuses() -> None:
    d = Dim(object(), 4)
    x = Aval((3, d), X.dtype)
    whole = {"start_indices": (1, 0), "limit_indices": (3, None), "strides": (1, 1)}
    assert slices.slice_op.type(x, **whole).shape == (2, d)
    with pytest.raises(errors.DynamicExtentError, match="axis 1"):
        slices.slice_op.type(x, **{**whole, "limit_indices": (3, 2)})
    with pytest.raises(errors.ShapeError, match="1:4:1"):
        slices.slice_op.type(x, **{**whole, "limit_indices": (4, None)})
    with pytest.raises(errors.TypeRuleError, match="dtypes"):
        slices.slice_update_op.type(x, Aval((2, d), np.dtype(np.float32)), **whole)
    with pytest.raises(errors.ShapeError, match="filled"):
        slices.slice_update_op.type(x, Aval((3, d), X.dtype), **whole)
    assert slices.slice(X, start_indices=(0, 0, 0), limit_indices=(2, None, 4)) is X
