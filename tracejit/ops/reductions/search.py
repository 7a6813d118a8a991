"""Searching: the largest elements with their positions, and binary search in sorted vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.errors import DynamicExtentError, ShapeError, TypeRuleError
from tracejit.ir.avals import Aval, Dim, aval_of
from tracejit.ir.kernel import Opaque, Pull, Unsupported
from tracejit.ir.primitive import (
    NONLINEAR,
    ZERO_TANGENT,
)
from tracejit.ir.values import Zero, is_zero
from tracejit.ops.building.helpers import check_kind, move_batch_axis, plain, to_batch_axis
from tracejit.ops.kernels import scalar_order
from tracejit.tracing import bind

_I64 = np.dtype(np.int64)


def sort_key(x: Any) -> Any:
    """What NumPy orders with NaN last: bfloat16 has no such order of its own."""
    return x.astype(np.float32) if x.dtype == dtypes.bfloat16 else x


# ---------------------------------------------------------------- top_k


def _top_k_type(x: Aval, *, k: int) -> list[Aval]:
    check_kind("top_k", "biuf", x)
    if not x.ndim:
        raise ShapeError(op="top_k", problem="the operand has no axis")
    n = x.shape[-1]
    if isinstance(n, Dim):
        raise DynamicExtentError(
            op="top_k", problem=f"the last axis of {x} has a size that is a traced integer"
        )
    if not 0 <= k <= n:
        raise ShapeError(op="top_k", problem=f"k={k} elements of an axis of size {n}")
    out = x.with_shape((*x.shape[:-1], k))
    return [out, out.with_dtype(_I64)]


def _top_k_eval(x: Any, *, k: int) -> list[Any]:
    """A stable ascending sort of the reversed axis, read backwards: descending, the first of equals first."""
    n = x.shape[-1]
    order = np.argsort(sort_key(x[..., ::-1]), -1, stable=True)
    places = n - 1 - order[..., n - k :][..., ::-1]
    return [np.take_along_axis(x, places, -1), places]


def _top_k_jvp(primals: Any, tangents: Any, *, k: int) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    values, places = bind(top_k_op, x, k=k)
    none = Zero(aval_of(places).tangent())
    if is_zero(t):
        return [values, places], [Zero(aval_of(values).tangent()), none]
    axis = len(aval_of(x).shape) - 1
    picked = ops.gather.take_along_axis(t, places, axis, mode="promise_in_bounds", unique_indices=True)
    return [values, places], [picked, none]


def _top_k_batch(size: int, args: Any, dims: Any, *, k: int) -> tuple[list[Any], list[int]]:
    return bind(top_k_op, move_batch_axis(args[0], dims[0], 0), k=k), [0, 0]


top_k_op = plain(
    name="top_k",
    doc="the k largest along the last axis, descending, and where they were; NaN counts as largest",
    multi=True,
    type=_top_k_type,
    eval=_top_k_eval,
    jvp=_top_k_jvp,
    transpose=NONLINEAR,
    batch=_top_k_batch,
    kernel=Opaque(),
)


def top_k(x: Any, *, k: int) -> list[Any]:
    """The `k` largest elements along the last axis, largest first, and their positions (int64).

    Of equal ones the first comes first; NaN is above everything. Booleans, integers and floats.

    Raises ShapeError for k out of range, TypeRuleError for complex numbers.
    """
    _top_k_type(aval_of(x), k=k)  # evaluation alone would take a k out of range
    return bind(top_k_op, x, k=k)


# ---------------------------------------------------------------- searchsorted


def _search_type(a: Aval, v: Aval, *, side: str, batch_dims: int) -> Aval:
    if a.dtype != v.dtype:
        raise TypeRuleError(op="searchsorted", problem=f"looks for {v} in {a}; the dtypes differ")
    if a.ndim != batch_dims + 1 or v.ndim < batch_dims or a.shape[:-1] != v.shape[:batch_dims]:
        raise ShapeError(
            op="searchsorted", problem=f"{v} cannot be looked up in {a}, one vector a batch entry"
        )
    n = a.shape[-1]
    if isinstance(n, Dim) and n.bound is None:
        raise DynamicExtentError(op="searchsorted", problem=f"nothing bounds the length of {a}")
    if side not in ("left", "right"):
        raise TypeRuleError(op="searchsorted", problem=f"side is 'left' or 'right', not {side!r}")
    return v.with_dtype(_I64)


def _search_eval(a: Any, v: Any, *, side: str, batch_dims: int) -> Any:
    a, v = sort_key(np.asarray(a)), sort_key(np.asarray(v))
    if not batch_dims:
        found: Any = np.searchsorted(a, v, side)  # type: ignore[call-overload]
        return np.asarray(found).astype(_I64, copy=False)[()]
    n, lead = a.shape[-1], v.shape[:batch_dims]
    flat = v.reshape(*lead, -1)
    place = np.zeros(flat.shape, _I64)
    for step in _steps(n):
        at = place + step
        value = np.take_along_axis(a, np.minimum(at, n) - 1, -1)
        place = np.where((at <= n) & _goes_before(value, flat, side == "right"), at, place)
    return place.reshape(v.shape)


def _steps(n: int) -> list[int]:
    """Powers of two, falling, whose sums reach every place 0..n."""
    return [1 << b for b in reversed(range(n.bit_length()))]


def _goes_before(x: Any, v: Any, equal: bool) -> Any:
    """x < v (or x <= v) in NumPy's order of sorting: NaN last, complex numbers by parts."""
    if x.dtype.kind != "c":
        out = x <= v if equal else x < v
        return out | (np.isnan(v) & (equal | ~np.isnan(x))) if x.dtype.kind == "f" else out
    # Sorted are R + Rj, R + nan j, nan + Rj, nan + nan j; each part by the order of floats.
    kinds = [np.isnan(z.real) * 2 + np.isnan(z.imag) for z in (x, v)]
    parts = [(np.where(np.isnan(z.real), 0, z.real), np.where(np.isnan(z.imag), 0, z.imag)) for z in (x, v)]
    (a, b), (c, d) = parts
    last = b <= d if equal else b < d
    same = (a < c) | ((a == c) & last)
    return (kinds[0] < kinds[1]) | ((kinds[0] == kinds[1]) & same)


def _search_batch(size: int, args: Any, dims: Any, *, side: str, batch_dims: int) -> tuple[Any, int]:
    (a, v), (da, dv) = args, dims
    if da is None and not batch_dims:  # one vector for all lanes
        return bind(searchsorted_op, a, v, side=side, batch_dims=0), dv
    a, v = to_batch_axis(a, da, 0, size), to_batch_axis(v, dv, 0, size)
    return bind(searchsorted_op, a, v, side=side, batch_dims=batch_dims + 1), 0


def _search_pull(k: Any, idx: Any, operands: Any, out: Any, *, side: str, batch_dims: int) -> Any:
    """Binary search without branches: the place grows by falling powers of two."""
    a, v = operands
    if v.aval.dtype.kind == "c":
        raise Unsupported("searchsorted of complex numbers")
    lead, want = tuple(idx[:batch_dims]), v[tuple(idx)]
    n, bound = a.extent(batch_dims), a.aval.shape[-1]
    bound = bound.bound if isinstance(bound, Dim) else bound
    place = k.const(0, _I64)
    if not bound:
        return place
    before = scalar_order.order("le" if side == "right" else "lt")
    inexact = dtypes.is_float(v.aval.dtype)
    for step in _steps(bound):
        at = k.add(place, step)
        inside = k.le(at, n)
        x = a[(*lead, k.sub(k.select(inside, at, k.const(1, _I64)), 1))]
        goes = before(k, x, want)
        if inexact:
            nan = k.isnan(want)
            goes = k.or_(goes, nan if side == "right" else k.and_(nan, k.not_(k.isnan(x))))
        place = k.select(k.and_(inside, goes), at, place)
    return place


searchsorted_op = plain(
    name="searchsorted",
    doc="where elements would be inserted into sorted vectors; NaN last",
    type=_search_type,
    eval=_search_eval,
    jvp=ZERO_TANGENT,
    transpose=NONLINEAR,
    batch=_search_batch,
    kernel=Pull(_search_pull),
)


def searchsorted(a: Any, v: Any, *, side: str = "left", batch_dims: int = 0) -> Any:
    """`np.searchsorted(a, v, side)` (int64) of equal dtypes; `a` is sorted as `np.sort` sorts.

    With `batch_dims` leading axes of both, each entry of `v` is looked up in its own vector.

    Raises ShapeError, TypeRuleError for operands that do not fit.
    """
    _search_type(aval_of(a), aval_of(v), side=side, batch_dims=batch_dims)
    return bind(searchsorted_op, a, v, side=side, batch_dims=batch_dims)
