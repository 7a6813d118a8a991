"""Derivatives of scatters, right with repeated places too."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import Aval, Dim, Shape
from tracejit.ir.values import Overwrite, Zero, is_linear, is_zero
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.helpers import instantiate
from tracejit.ops.building.values import dtype_of
from tracejit.tracing import bind

_I64 = np.dtype(np.int64)


def read(x: Any, indices: Any, updates: Any, params: Any) -> Any:
    """`x` where each element of the updates goes (0 for dropped ones)."""
    dn = params["dimension_numbers"].as_gather()
    sizes = ops.scatter.window_sizes(dn, len(dims_of(x)), dims_of(updates))
    sizes = tuple(None if isinstance(s, Dim) else s for s in sizes)
    unique = params["unique_indices"]
    return ops.gather.gather(
        x,
        indices,
        dimension_numbers=dn,
        slice_sizes=sizes,
        mode=params["mode"],
        fill_value=0,
        unique_indices=unique,
    )


def _one_window(indices: Any) -> bool:
    return all(d == 1 for d in dims_of(indices)[:-1])


def _unique(indices: Any, params: Any) -> bool:
    return params["unique_indices"] or _one_window(indices)


def set_transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    aval = updates.aval if is_linear(updates) else Aval(dims_of(updates), dtype_of(ct))
    ct_x = ct_u = None
    if is_linear(updates):
        ct_u = ops.create.copy(read(ct, indices, updates, params))  # the update below may overwrite ct
        if not _unique(indices, params):
            last = _is_last(dims_of(ct), indices, aval.shape, params)
            ct_u = ops.compare.select(last, ct_u, ops.broadcast.zeros(aval))
    if is_linear(x):
        ct_x = Overwrite(ops.scatter.scatter_op, (indices, ops.broadcast.zeros(aval)), params)
    return [ct_x, None, ct_u]


def _is_last(x_shape: Shape, indices: Any, updates_shape: Shape, params: Any) -> Any:
    """For each element of the updates: is it the last one written to its place?"""
    ids = _numbers(updates_shape)
    owner = bind(ops.scatter.scatter_op, ops.broadcast.zeros(Aval(x_shape, _I64)), indices, ids, **params)
    return ops.compare.eq(read(owner, indices, ids, params), ids)


def _numbers(shape: Shape) -> Any:
    """1, 2, … in C order (increasing numbers, where `shape` has dynamic sizes)."""
    total: Any = ops.broadcast.broadcast_to(np.int64(1), shape)
    step = 1
    for n in reversed(range(len(shape))):
        d = shape[n]
        dyn, size, bound = ([d.var], None, (d.bound,)) if isinstance(d, Dim) else ([], d, ())
        line = ops.create.iota(*dyn, shape=(size,), dtype=_I64, dimension=0, bounds=bound)
        line = ops.shape.expand_dims(line, tuple(range(1, len(shape) - n)))
        total = ops.arithmetic.add(
            total, ops.broadcast.broadcast_to(ops.arithmetic.mul(line, np.int64(step)), shape)
        )
        step *= (d.bound or 1) if isinstance(d, Dim) else d
    return total


def add_transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    ct_u = read(ct, indices, updates, params) if is_linear(updates) else None
    return [ct if is_linear(x) else None, None, ct_u]


def mul_transpose(ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
    """Linear in `x` only: what the updates contribute goes through scatter_add."""
    return [bind(ops.scatter.scatter_mul_op, ct, indices, updates, **params), None, None]


def mul_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    x, indices, u = primals
    tx, _, tu = tangents
    out = bind(ops.scatter.scatter_mul_op, x, indices, u, **params)
    coefficient = None if is_zero(tu) else _other_factors(x, indices, u, params)
    t = tx if is_zero(tx) else bind(ops.scatter.scatter_mul_op, tx, indices, u, **params)
    if coefficient is not None:
        step = ops.arithmetic.mul(coefficient, tu)
        t = bind(ops.scatter.scatter_add_op, instantiate(t), indices, step, **params)
    return out, t


def _other_factors(x: Any, indices: Any, u: Any, params: Any) -> Any:
    """For each update, the product of everything else that is multiplied into its place.

    It is the product of all that is not zero divided by the update; where one other factor is zero,
    times that one, as a sum over the zeros of the place, so that its own derivative is right.
    """
    if _unique(indices, params):
        return read(x, indices, u, params)
    select, eq = ops.compare.select, ops.compare.eq
    zero, one = dtype_of(u).type(0), dtype_of(u).type(1)
    is_0 = eq(u, zero)
    factor = select(is_0, one, u)
    product = read(bind(ops.scatter.scatter_mul_op, x, indices, factor, **params), indices, u, params)
    count = ops.broadcast.zeros(Aval(dims_of(x), _I64))
    number = ops.create.convert_element_type(is_0, dtype=_I64)
    count = read(bind(ops.scatter.scatter_add_op, count, indices, number, **params), indices, u, params)
    others = ops.arithmetic.sub(count, number)
    rest = ops.arithmetic.div(product, factor)
    zeros = select(is_0, u, zero)
    total = bind(
        ops.scatter.scatter_add_op,
        ops.broadcast.zeros(Aval(dims_of(x), dtype_of(u))),
        indices,
        zeros,
        **params,
    )
    other_zero = ops.arithmetic.sub(read(total, indices, u, params), zeros)
    with_one = select(eq(others, np.int64(1)), ops.arithmetic.mul(rest, other_zero), zero)
    return select(eq(others, np.int64(0)), rest, with_one)


def extremum_jvp(name: str) -> Any:
    """The jvp rule of scatter_min and scatter_max: equal values share the derivative."""

    def jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
        x, indices, u = primals
        tx, _, tu = tangents
        out = bind(getattr(ops.scatter, f"{name}_op"), x, indices, u, **params)
        if is_zero(tx) and is_zero(tu):
            return out, Zero(tx.aval)
        zero = dtype_of(x).type(0)
        from_x, from_u = _same(x, out), _same(u, read(out, indices, u, params))
        add = ops.scatter.scatter_add_op
        ones = (ops.create.convert_element_type(m, dtype=dtype_of(x)) for m in (from_x, from_u))
        total = bind(add, next(ones), indices, next(ones), **params)
        tx, tu = instantiate(tx), instantiate(tu)
        picked = (ops.compare.select(from_x, tx, zero), ops.compare.select(from_u, tu, zero))
        return out, ops.arithmetic.div(bind(add, picked[0], indices, picked[1], **params), total)

    return jvp


def _same(x: Any, y: Any) -> Any:
    return ops.compare.or_(ops.compare.eq(x, y), ops.compare.isnan(x))
