"""Operations between the lanes of a vmap, by the name of its axis: psum, pmax, all_gather and so on.

A vmap level of another name maps over a collective as over any op; the level
with the name replaces it by an ordinary operation along the batch axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit import ops, tree
from tracejit.control.regions.axes import bound_axis
from tracejit.errors import UnboundAxisError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.kernel import NoKernel
from tracejit.ir.primitive import (
    LINEAR,
    NONLINEAR,
    ZERO_TANGENT,
    Op,
)
from tracejit.ir.values import is_zero
from tracejit.ops.building import helpers
from tracejit.tracing import bind, to_raw, wrap

_KERNEL = NoKernel("vmap replaces it")


def _unbound(name: str) -> Callable[..., Any]:
    def evaluate(*_: Any, axis_name: Any, **__: Any) -> Any:
        raise UnboundAxisError(op=name, name=axis_name)

    return evaluate


def _collective(
    name: str, doc: str, *, type: Any, meaning: Any, jvp: Any, transpose: Any, shift: Any = None
) -> Op:
    """A collective. `meaning(size, args, dims, **params) -> (out, dim)` is what it means at its own level;
    `shift(params) -> params` adapts it to another level's batch axis, at 0."""

    def batch(size: Any, args: Any, dims: Any, *, matched: bool, **params: Any) -> Any:
        if matched:
            return meaning(size, args, dims, **params)
        moved = helpers.batch_axes_first(args, dims)
        return bind(op, *moved, **(shift(params) if shift else params)), 0

    op = helpers.plain(
        name=name,
        doc=doc,
        type=type,
        eval=_unbound(name),
        jvp=jvp,
        transpose=transpose,
        batch=batch,
        kernel=_KERNEL,
    )
    return op


def _same(x: Aval, **_: Any) -> Aval:
    return x


def _front(x: Any, dim: int | None, size: Any) -> Any:
    return helpers.to_batch_axis(x, dim, 0, size)


# ---------------------------------------------------------------- psum


def _psum(size: Any, args: Any, dims: Any, *, axis_name: Any) -> tuple[Any, None]:
    (x,), (dim,) = args, dims
    if dim is None:
        return ops.arithmetic.mul(x, helpers.dtype_of(x).type(size)), None
    return ops.reduce.reduce_sum(x, axes=(dim,)), None


psum_op = _collective(
    "psum",
    "the sum over the lanes of a vmap axis",
    type=_same,
    meaning=_psum,
    jvp=LINEAR,
    # Every lane's output is the sum of all inputs, so every input gets all lanes' cotangents.
    transpose=lambda ct, x, *, axis_name: [bind(psum_op, ct, axis_name=axis_name)],
)


# ---------------------------------------------------------------- pmax and pmin


def _extreme(name: str, reduce: Callable[[], Any]) -> Op:
    def meaning(size: Any, args: Any, dims: Any, *, axis_name: Any) -> tuple[Any, None]:
        (x,), (dim,) = args, dims
        return (x if dim is None else reduce()(x, axes=(dim,))), None

    def jvp(primals: Any, tangents: Any, *, axis_name: Any) -> tuple[Any, Any]:
        (x,), (t,) = primals, tangents
        out = bind(op, x, axis_name=axis_name)
        if is_zero(t):
            return out, t
        # The lanes that attain the extreme share the derivative, as reductions do.
        hit = ops.create.convert_element_type(ops.compare.eq(x, out), dtype=helpers.dtype_of(t))
        share = ops.arithmetic.div(hit, bind(psum_op, hit, axis_name=axis_name))
        return out, bind(psum_op, ops.arithmetic.mul(t, share), axis_name=axis_name)

    op = _collective(
        name,
        f"the {'maximum' if name == 'pmax' else 'minimum'} over the lanes of a vmap axis",
        type=_same,
        meaning=meaning,
        jvp=jvp,
        transpose=NONLINEAR,
    )
    return op


pmax_op = _extreme("pmax", lambda: ops.reduce.reduce_max)
pmin_op = _extreme("pmin", lambda: ops.reduce.reduce_min)


# ---------------------------------------------------------------- all_gather


def _gather_type(x: Aval, *, axis_name: Any, axis: int, count: int) -> Aval:
    return x.with_shape((*x.shape[:axis], count, *x.shape[axis:]))


def _gather_meaning(size: Any, args: Any, dims: Any, *, axis_name: Any, axis: int, count: int) -> Any:
    (x,), (dim,) = args, dims
    return helpers.to_batch_axis(x, dim, axis, size), None


def _gather_transpose(ct: Any, x: Any, *, axis_name: Any, axis: int, count: int) -> list[Any]:
    """The sum over all lanes of what they did with this lane's part."""
    total = bind(psum_op, ct, axis_name=axis_name)
    index = bind(axis_index_op, axis_name=axis_name)
    ndim = len(aval_of(ct).shape)
    starts = [index if n == axis else np.int64(0) for n in range(ndim)]
    sizes = tuple(1 if n == axis else s for n, s in enumerate(aval_of(ct).shape))
    part = ops.index.dynamic_slice(total, *starts, sizes=sizes)
    return [ops.shape.squeeze(part, dimensions=(axis,))]


all_gather_op = _collective(
    "all_gather",
    "the values of all lanes of a vmap axis along a new axis",
    type=_gather_type,
    meaning=_gather_meaning,
    jvp=LINEAR,
    transpose=_gather_transpose,
    shift=lambda params: {**params, "axis": params["axis"] + 1},
)


# ---------------------------------------------------------------- ppermute


def _permute_meaning(size: Any, args: Any, dims: Any, *, axis_name: Any, perm: Any) -> Any:
    x = _front(args[0], dims[0], size)
    source = np.full(size, size, np.int64)  # lanes that get nothing read the row of zeros
    for src, dst in perm:
        source[dst] = src
    row = ops.shape.broadcast_to(helpers.dtype_of(x).type(0), (1, *aval_of(x).shape[1:]))
    return ops.gather.take(ops.concat.concatenate(x, row, dimension=0), source, 0), 0


ppermute_op = _collective(
    "ppermute",
    "each lane's value sent to another lane of a vmap axis",
    type=_same,
    meaning=_permute_meaning,
    jvp=LINEAR,
    transpose=lambda ct, x, *, axis_name, perm: [
        bind(ppermute_op, ct, axis_name=axis_name, perm=tuple((d, s) for s, d in perm))
    ],
)


# ---------------------------------------------------------------- axis_index

axis_index_op = _collective(
    "axis_index",
    "the number of this lane along a vmap axis",
    type=lambda *, axis_name: Aval((), np.dtype(np.int64)),
    meaning=lambda size, args, dims, *, axis_name: (
        ops.create.iota(shape=(size,), dtype=np.dtype(np.int64), dimension=0),
        0,
    ),
    jvp=ZERO_TANGENT,
    transpose=NONLINEAR,
)


# ---------------------------------------------------------------- for users


def _each(op: Op, x: Any, axis_name: Any, **params: Any) -> Any:
    """`op` on every leaf, over one axis or several in turn."""
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)

    def leaf(value: Any) -> Any:
        out = to_raw(value)
        for name in names:
            axis_size(name, op.name)
            out = bind(op, out, axis_name=name, **params)
        return wrap(out)

    return tree.map(leaf, x)


def axis_size(axis_name: Any, op: str = "axis_size") -> Any:
    """The number of lanes of the vmap axis.

    Raises:
        UnboundAxisError: no surrounding vmap has that name.
    """
    trace = bound_axis(axis_name)
    if trace is None:
        raise UnboundAxisError(op=op, name=axis_name)
    return trace.size


def psum(x: Any, axis_name: Any) -> Any:
    """The sum over all lanes of the vmap with that axis name (or names); `x` may be a tree."""
    return _each(psum_op, x, axis_name)


def pmean(x: Any, axis_name: Any) -> Any:
    """The mean over all lanes."""
    names = axis_name if isinstance(axis_name, (tuple, list)) else (axis_name,)
    count = int(np.prod([axis_size(n, "pmean") for n in names]))

    def mean(total: Any) -> Any:
        raw = to_raw(total)
        return wrap(ops.arithmetic.div(raw, helpers.dtype_of(raw).type(count)))

    return tree.map(mean, psum(x, axis_name))


def pmax(x: Any, axis_name: Any) -> Any:
    """The maximum over all lanes."""
    return _each(pmax_op, x, axis_name)


def pmin(x: Any, axis_name: Any) -> Any:
    """The minimum over all lanes."""
    return _each(pmin_op, x, axis_name)


def all_gather(x: Any, axis_name: Any, *, axis: int = 0, tiled: bool = False) -> Any:
    """The values of all lanes along a new axis; along an existing one if `tiled`."""
    size = axis_size(axis_name, "all_gather")

    def leaf(value: Any) -> Any:
        raw = to_raw(value)
        ndim = len(aval_of(raw).shape)
        at = axis % (ndim if tiled else ndim + 1)
        out = bind(all_gather_op, raw, axis_name=axis_name, axis=at, count=size)
        if tiled:
            shape = list(aval_of(raw).shape)
            shape[at] = shape[at] * size
            out = ops.shape.reshape(out, shape=tuple(shape))
        return wrap(out)

    return tree.map(leaf, x)


def ppermute(x: Any, axis_name: Any, perm: Sequence[tuple[int, int]]) -> Any:
    """Each lane's value sent along the (source, destination) pairs; lanes without a source get zeros."""
    return _each(ppermute_op, x, axis_name, perm=tuple((int(s), int(d)) for s, d in perm))


def axis_index(axis_name: Any) -> Any:
    """The number of this lane."""
    axis_size(axis_name, "axis_index")
    return wrap(bind(axis_index_op, axis_name=axis_name))
