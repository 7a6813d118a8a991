from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.derivatives import check_derivatives
from tests.ops.records import check_batch, check_record, same
from tests.ops.running import Failed, Machine, Unsupported
from tracejit import errors
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.check import OperandRef
from tracejit.ir.values import AddInto, Linear
from tracejit.ops.indexing import index, index_check

RNG = np.random.default_rng(2)
X = RNG.standard_normal((4, 5))
F64, I64 = np.dtype(np.float64), np.dtype(np.int64)


def clamped(starts: Any, sizes: Any) -> tuple[slice, ...]:
    at = [min(max(int(b), 0), n - s) for b, s, n in zip(starts, sizes, X.shape, strict=True)]
    return tuple(slice(b, b + s) for b, s in zip(at, sizes, strict=True))


STARTS = [(0, 0), (1, 2), (-3, 4), (9, -9), (2, 2)]


@pytest.mark.parametrize("starts", STARTS)
@pytest.mark.parametrize("sizes", [(2, 3), (4, 1), (1, 5), (4, 5)])
def test_dynamic_slice(starts: tuple[int, int], sizes: tuple[int, int]) -> None:
    params = {"sizes": sizes, "bounds": ()}
    args = [X, np.int64(starts[0]), np.int32(starts[1])]
    check_record(index.dynamic_slice_op, args, params, X[clamped(starts, sizes)])
    check_batch(index.dynamic_slice_op, args, params)
    check_derivatives(lambda x: index.dynamic_slice(x, *starts, sizes=sizes), [X], RNG)


def test_unsigned_starts_do_not_wrap() -> None:
    args = [np.arange(5.0), np.uint64(2**64 - 1)]
    check_record(index.dynamic_slice_op, args, {"sizes": (2,), "bounds": ()}, np.array([3.0, 4.0]))


@pytest.mark.parametrize("starts", STARTS)
def test_updates(starts: tuple[int, int]) -> None:
    u = RNG.standard_normal((2, 3))
    args = [X, u, *map(np.int64, starts)]
    part = clamped(starts, u.shape)
    updated, added = X.copy(), X.copy()
    updated[part] = u
    added[part] += u
    check_record(index.dynamic_update_slice_op, args, {}, updated)
    check_record(index.dynamic_slice_add_op, args, {}, added)
    for op, fn in (
        (index.dynamic_update_slice_op, index.dynamic_update_slice),
        (index.dynamic_slice_add_op, index.dynamic_slice_add),
    ):
        check_batch(op, args, {})
        check_derivatives(lambda x, u, fn=fn: fn(x, u, *starts), [X, u], RNG)


def test_reading_transposes_into_an_update() -> None:
    x = Linear(Aval((4, 5), F64))
    ct, *rest = index.dynamic_slice_op.transpose(
        np.ones((2, 2)), x, np.int64(1), np.int64(1), sizes=(2, 2), bounds=()
    )
    assert isinstance(ct, AddInto) and ct.op is index.dynamic_slice_add_op and rest == [None, None]


def test_traced_sizes() -> None:
    params = {"sizes": (None, 2), "bounds": (4,)}
    i = Aval((), I64)
    aval = index.dynamic_slice_op.type(Aval((4, 5), F64), i, i, i, **params)
    assert aval.shape[1] == 2 and aval.shape[0].bound == 4
    assert isinstance(aval.shape[0].var, OperandRef) and aval.shape[0].var.index == 3
    args = [X, np.int64(1), np.int64(2), np.int64(3)]
    same(index.dynamic_slice_op.eval(*args, **params), X[1:4, 2:4])
    check_batch(index.dynamic_slice_op, args, params, fixed=(3,))
    with pytest.raises(errors.DynamicExtentError):
        index.dynamic_slice_op.batch(2, (X, 0, 0, np.arange(2)), (None, None, None, 0), **params)


def test_slice_types() -> None:
    i = Aval((), I64)
    x = Aval((4, 5), F64)
    with pytest.raises(errors.ShapeError, match="1 start"):
        index.dynamic_slice_op.type(x, i, sizes=(1, 1), bounds=())
    with pytest.raises(errors.ShapeError, match="does not fit"):
        index.dynamic_slice_op.type(x, i, i, sizes=(5, 1), bounds=())
    with pytest.raises(errors.TypeRuleError, match="integers"):
        index.dynamic_slice_op.type(x, i, Aval((), F64), sizes=(1, 1), bounds=())
    with pytest.raises(errors.ShapeError):
        index.dynamic_update_slice_op.type(x, Aval((5, 5), F64), i, i)
    with pytest.raises(errors.TypeRuleError, match="dtypes"):
        index.dynamic_update_slice_op.type(x, Aval((1, 5), I64), i, i)
    d = Dim(object(), 3)
    assert index.dynamic_update_slice_op.type(x, Aval((d, 5), F64), i, i) == x


# ---------------------------------------------------------------- check_index

PARAMS: dict[str, Any] = {"size": 5, "axis": 1, "failure": index_check.IndexFailure(1, 5)}


@pytest.mark.parametrize(
    "i", [0, 4, -1, -5, np.array([[0, -5], [4, -2]]), np.array([3, 1], np.uint8), np.int8(-2)]
)
def test_check_index(i: Any) -> None:
    i = np.asarray(i)
    out = index.check_index(i, size=5, axis=0)
    same(out, np.where(i < 0, i.astype(int) + 5, i.astype(int)))
    assert index_check.check_index_op.type(Aval(i.shape, i.dtype), **PARAMS) == Aval(i.shape, I64)
    same(run_check(i, PARAMS), out)


def run_check(i: Any, params: Any, *sizes: Any) -> Any:
    """The kernel; raises what the failure makes."""
    machine = Machine()
    machine.k.fail_code = 7  # type: ignore[attr-defined]
    out = index_check.check_index_op.kernel.fn(
        machine.k, machine.input(np.asarray(i)), *(machine.input(np.asarray(s)) for s in sizes), **params
    )
    try:
        return machine.value(out)
    except Failed as e:
        raise params["failure"](e.details, "there") from None


@pytest.mark.parametrize("i", [5, -6, np.array([0, 7, 9]), np.uint64(2**64 - 1), np.array([-128], np.int8)])
def test_check_index_raises(i: Any) -> None:
    with pytest.raises(errors.IndexOutOfRangeError) as eager:
        index.check_index(np.asarray(i), size=5, axis=1)
    with pytest.raises(errors.IndexOutOfRangeError, match="axis 1 with size 5"):
        run_check(i, PARAMS)
    assert "axis 1 with size 5" in str(eager.value)


def test_check_index_dynamic() -> None:
    params = {"size": None, "axis": 0, "failure": index_check.IndexFailure(0, None)}
    i = np.array([1, -1])
    same(index_check.check_index_op.eval(i, np.int64(4), **params), np.array([1, 3]))
    same(run_check(i, params, np.int64(4)), np.array([1, 3]))
    for run in (index_check.check_index_op.eval, lambda *a, **k: run_check(a[0], k, a[1])):
        with pytest.raises(errors.IndexOutOfRangeError, match=r"index -3 .* size 2"):
            run(np.array([0, -3]), np.int64(2), **params)
    sizes = np.array([2, 3])  # of one index, such as the lengths of lanes
    for one in (index_check.check_index_op.eval, lambda *a, **k: run_check(a[0], k, a[1])):
        same(one(np.int64(-1), sizes, **params), np.array([1, 2]))
        with pytest.raises(errors.IndexOutOfRangeError, match=r"index 2 .* size 2"):
            one(np.int64(2), sizes, **params)
    assert index_check.check_index_op.type(Aval((), I64), Aval((2,), I64), **params) == Aval((2,), I64)
    check_batch(index_check.check_index_op, [np.array([0, 1, 2]), np.int64(4)], params)
    check_batch(index_check.check_index_op, [np.int64(1), np.int64(4)], params)


def test_check_index_facts() -> None:
    op = index_check.check_index_op
    assert op.effects({}) == frozenset({"error"})
    assert op.bounds([None], **PARAMS) == (0, 4)
    assert op.bounds([(1, 9)], **PARAMS) == (1, 4)
    assert op.bounds([(-2, 2)], **PARAMS) == (0, 4)
    assert op.bounds([None, None], **{**PARAMS, "size": None}) is None
    with pytest.raises(errors.TypeRuleError):
        op.type(Aval((), F64), **PARAMS)
    assert index_check.IndexFailure(0, 3) == index_check.IndexFailure(0, 3)
    assert Unsupported is not None
