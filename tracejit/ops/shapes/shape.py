"""Views: reshape, transpose, squeeze and expand_dims, rev. Broadcasting and slices are in their own files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import DynamicExtentError, ShapeError
from tracejit.ir.avals import Aval, Dim, Shape
from tracejit.ir.kernel import Permute, Pull
from tracejit.ir.primitive import FROM_JVP, LINEAR, NO_EFFECTS, NO_INPLACE, Op, Rule
from tracejit.ir.values import Value
from tracejit.ops.building.dims import (  # fmt: skip
    broadcast_shapes,
    check_axes,
    dims_of,
    dynamic_shape,
    normalize_axis,
    split_dynamic,
)
from tracejit.ops.building.helpers import batch_is_last, move_batch_axis, shift_axes, view
from tracejit.ops.building.identities import same_bounds
from tracejit.ops.shapes.broadcast import broadcast_in_dim, broadcast_to
from tracejit.ops.shapes.moves import no_permutation, permute_twice, relabel_twice, reverse_twice, same_type
from tracejit.ops.shapes.slices import slice
from tracejit.tracing import bind

__all__ = [
    "broadcast_in_dim", "broadcast_shapes", "broadcast_to", "expand_dims", "moveaxis", "reshape", "rev",
    "slice", "squeeze", "swapaxes", "transpose",
]  # fmt: skip

_I64 = np.dtype(np.int64)


def _relabel(name: str, doc: str, *, type: Rule, eval: Rule, transpose: Rule, batch: Rule, pull: Rule) -> Op:
    """Register a view that keeps the elements in their C order."""
    return Op(
        name=name,
        doc=doc,
        multi=False,
        type=type,
        eval=eval,
        inplace=NO_INPLACE,
        jvp=LINEAR,
        linearize=FROM_JVP,
        transpose=transpose,
        batch=batch,
        simplify=(same_type, relabel_twice),
        effects=NO_EFFECTS,
        bounds=same_bounds,
        kernel=Pull(pull, alias=True),
    )


# ---------------------------------------------------------------- reshape


def _reshape_type(x: Aval, *dyn: Aval, shape: tuple[Any, ...], bounds: tuple[Any, ...]) -> Aval:
    """Whether dynamic shapes hold as many elements is known to who binds it."""
    out = dynamic_shape("reshape", shape, bounds, len(dyn), 1)
    if x.is_static and not dyn and (math.prod(shape) != x.size or any(d < 0 for d in shape)):
        raise ShapeError(op="reshape", problem=f"{x} has {x.size} elements, the shape {shape} does not")
    return Aval(out, x.dtype)


def _reshape_eval(x: Any, *dyn: Any, shape: Any, bounds: Any) -> Any:
    sizes = map(int, dyn)
    return np.reshape(x, tuple(next(sizes) if d is None else d for d in shape))


def _reshape_transpose(ct: Any, x: Any, *dyn: Any, shape: Any, bounds: Any) -> list[Any]:
    return [reshape(ct, shape=x.aval.shape, trusted=True), *(None for _ in dyn)]


def _reshape_batch(size: Any, args: Any, dims: Any, *, shape: Any, bounds: Any) -> tuple[Any, int]:
    x, *dyn = args
    if any(d is not None for d in dims[1:]):
        raise DynamicExtentError(op="reshape", problem="the size differs between the examples of a vmap")
    given = (Dim(n, b) if isinstance(n, Value) else int(n) for n, b in zip(dyn, bounds, strict=True))
    shape = tuple(next(given) if d is None else d for d in shape)
    if batch_is_last(args[:1], dims[:1]):
        return reshape(x, shape=(*shape, size), trusted=True), len(shape)
    return reshape(move_batch_axis(x, dims[0], 0), shape=(size, *shape), trusted=True), 0


def _equal_blocks(a: Sequence[int], b: Sequence[int]) -> list[tuple[range, range]]:
    """Shortest runs of dimensions of `a` and `b` that hold equally many elements (no zeros)."""
    out, i, j = [], 0, 0
    while i < len(a) or j < len(b):
        i0, j0 = i, j
        m = a[i] if i < len(a) else 1
        n = b[j] if j < len(b) else 1
        i, j = min(i + 1, len(a)), min(j + 1, len(b))
        while m != n:
            if m < n:
                m, i = m * a[i], i + 1
            else:
                n, j = n * b[j], j + 1
        out.append((range(i0, i), range(j0, j)))
    return out


def _segments(a: Sequence[Any], b: Sequence[Any]) -> list[tuple[range, range]] | None:
    """The blocks of two shapes whose dynamic dimensions stand beside each other, in the same order, with equally many
    elements between them; None for others."""
    holes_a, holes_b = ([n for n, d in enumerate(s) if type(d) is not int] for s in (a, b))
    if [a[n] for n in holes_a] != [b[n] for n in holes_b]:
        return None
    out: list[tuple[range, range]] = []
    i = j = 0
    for m, n in zip([*holes_a, len(a)], [*holes_b, len(b)], strict=True):
        if math.prod(a[i:m]) != math.prod(b[j:n]) or 0 in a[i:m]:
            return None
        blocks = _equal_blocks(a[i:m], b[j:n])
        out += [(range(p.start + i, p.stop + i), range(q.start + j, q.stop + j)) for p, q in blocks]
        out.append((range(m, min(m + 1, len(a))), range(n, min(n + 1, len(b)))))
        i, j = m + 1, n + 1
    return out


def _reshape_pull(k: Any, idx: Any, operands: Any, out: Any, *, shape: Any, bounds: Any) -> Any:
    x = operands[0]
    source, target = x.aval.shape, out.aval.shape
    index = [k.const(0, _I64)] * len(source)
    blocks = [] if 0 in source else _segments(source, target)
    if blocks is None:
        blocks = [(range(len(source)), range(len(target)))]
    for axes, out_axes in blocks:
        position: Any = k.const(0, _I64)
        for n in out_axes:
            if target[n] != 1:
                position = k.add(k.mul(position, out.extent(n)), idx[n])
        left = [n for n in axes if source[n] != 1]
        for n in reversed(left):
            index[n] = position if n == left[0] else k.int_op("urem", position, x.extent(n))
            position = position if n == left[0] else k.int_op("udiv", position, x.extent(n))
    return x[tuple(index)]


reshape_op = _relabel(
    "reshape",
    "the same elements in C order, in another shape",
    type=_reshape_type,
    eval=_reshape_eval,
    transpose=_reshape_transpose,
    batch=_reshape_batch,
    pull=_reshape_pull,
)


def reshape(x: Any, *, shape: Shape, trusted: bool = False) -> Any:
    """The elements of `x` in C order, in another `shape` (no -1). With `trusted` the caller knows that traced sizes
    hold as many elements; otherwise they stand in both shapes, with equally many elements between them.

    Raises DynamicExtentError for other traced sizes."""
    shape, have = tuple(shape), dims_of(x)
    if have == shape:
        return x
    dyn, sizes, bounds = split_dynamic(shape)
    if not trusted and not all(type(d) is int for d in (*have, *shape)) and _segments(have, shape) is None:
        problem = f"{have} to {shape}: sizes are traced, and nothing says that they hold as many elements"
        raise DynamicExtentError(op="reshape", problem=problem)
    return bind(reshape_op, x, *dyn, shape=sizes, bounds=bounds)


# ---------------------------------------------------------------- transpose


def _transpose_type(x: Aval, *, permutation: tuple[int, ...]) -> Aval:
    check_axes("transpose", permutation, x.ndim)
    if len(permutation) != x.ndim:
        raise ShapeError(op="transpose", problem=f"permutation {permutation} does not fit {x}")
    return Aval(tuple(x.shape[p] for p in permutation), x.dtype)


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes `permutation`."""
    out = [0] * len(permutation)
    for n, p in enumerate(permutation):
        out[p] = n
    return tuple(out)


def _transpose_batch(size: int, args: Any, dims: Any, *, permutation: tuple[int, ...]) -> tuple[Any, int]:
    (d,) = dims
    if batch_is_last(args, dims):
        return transpose(args[0], permutation=(*permutation, d)), d
    return transpose(args[0], permutation=(d, *shift_axes(permutation, d))), 0


transpose_op = view(
    "transpose",
    "axes in another order",
    type=_transpose_type,
    eval=lambda x, *, permutation: np.transpose(x, permutation),
    simplify=(no_permutation, permute_twice),
    transpose=lambda ct, x, *, permutation: [transpose(ct, permutation=inverse(permutation))],
    batch=_transpose_batch,
    pull=Permute(
        lambda k, idx, operands, out, *, permutation: operands[0][tuple(idx[n] for n in inverse(permutation))]
    ),
)


def transpose(x: Any, *, permutation: Sequence[int]) -> Any:
    """`x` with axis n of the result being axis `permutation[n]` of `x`."""
    permutation = tuple(permutation)
    if permutation == tuple(range(len(dims_of(x)))):
        return x
    return bind(transpose_op, x, permutation=permutation)


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """`np.moveaxis` for one axis."""
    n = len(dims_of(x))
    return move_batch_axis(
        x, normalize_axis("moveaxis", source, n), normalize_axis("moveaxis", destination, n)
    )


def swapaxes(x: Any, a: int, b: int) -> Any:
    """`np.swapaxes`."""
    order = list(range(len(dims_of(x))))
    order[a], order[b] = order[b], order[a]
    return transpose(x, permutation=order)


# ---------------------------------------------------------------- squeeze, expand_dims


def _squeeze_type(x: Aval, *, dimensions: tuple[int, ...]) -> Aval:
    check_axes("squeeze", dimensions, x.ndim)
    for d in dimensions:
        if x.shape[d] != 1:
            raise ShapeError(op="squeeze", problem=f"axis {d} of {x} has not size 1")
    return Aval(tuple(s for n, s in enumerate(x.shape) if n not in dimensions), x.dtype)


def _squeeze_batch(size: int, args: Any, dims: Any, *, dimensions: tuple[int, ...]) -> tuple[Any, int]:
    (d,) = dims
    axes = shift_axes(dimensions, d)
    return squeeze(args[0], dimensions=axes), d - sum(a < d for a in axes)


def _squeeze_pull(k: Any, idx: Any, operands: Any, out: Any, *, dimensions: tuple[int, ...]) -> Any:
    left = iter(idx)
    ndim = operands[0].aval.ndim
    return operands[0][tuple(k.const(0, _I64) if n in dimensions else next(left) for n in range(ndim))]


squeeze_op = _relabel(
    "squeeze",
    "without some axes of size 1",
    type=_squeeze_type,
    eval=lambda x, *, dimensions: np.squeeze(x, dimensions),
    transpose=lambda ct, x, *, dimensions: [expand_dims(ct, dimensions)],
    batch=_squeeze_batch,
    pull=_squeeze_pull,
)


def squeeze(x: Any, *, dimensions: Sequence[int]) -> Any:
    """`x` without the axes `dimensions`, which have size 1."""
    axes = tuple(sorted(dimensions))
    return bind(squeeze_op, x, dimensions=axes) if axes else x


def _expand_type(x: Aval, *, dimensions: tuple[int, ...]) -> Aval:
    check_axes("expand_dims", dimensions, x.ndim + len(dimensions))
    sizes = iter(x.shape)
    ndim = x.ndim + len(dimensions)
    return Aval(tuple(1 if n in dimensions else next(sizes) for n in range(ndim)), x.dtype)


def _expand_batch(size: int, args: Any, dims: Any, *, dimensions: tuple[int, ...]) -> tuple[Any, int]:
    (d,) = dims
    if batch_is_last(args, dims):
        return expand_dims(args[0], dimensions), d + len(dimensions)
    x = move_batch_axis(args[0], d, 0)
    return expand_dims(x, tuple(n + 1 for n in dimensions)), 0


def _expand_pull(k: Any, idx: Any, operands: Any, out: Any, *, dimensions: tuple[int, ...]) -> Any:
    return operands[0][tuple(i for n, i in enumerate(idx) if n not in dimensions)]


expand_dims_op = _relabel(
    "expand_dims",
    "with new axes of size 1",
    type=_expand_type,
    eval=lambda x, *, dimensions: np.expand_dims(x, dimensions),
    transpose=lambda ct, x, *, dimensions: [squeeze(ct, dimensions=dimensions)],
    batch=_expand_batch,
    pull=_expand_pull,
)


def expand_dims(x: Any, dimensions: Sequence[int]) -> Any:
    """`x` with axes of size 1 inserted, so that the result has them at `dimensions`."""
    axes = tuple(sorted(dimensions))
    return bind(expand_dims_op, x, dimensions=axes) if axes else x


# ---------------------------------------------------------------- rev


def _rev_type(x: Aval, *, dimensions: tuple[int, ...]) -> Aval:
    check_axes("rev", dimensions, x.ndim)
    return x


def _rev_batch(size: int, args: Any, dims: Any, *, dimensions: tuple[int, ...]) -> tuple[Any, int]:
    return rev(args[0], dimensions=shift_axes(dimensions, dims[0])), dims[0]


def _rev_pull(k: Any, idx: Any, operands: Any, out: Any, *, dimensions: tuple[int, ...]) -> Any:
    x = operands[0]
    return x[tuple(k.sub(k.sub(x.extent(n), 1), i) if n in dimensions else i for n, i in enumerate(idx))]


rev_op = view(
    "rev",
    "some axes backwards",
    type=_rev_type,
    eval=lambda x, *, dimensions: np.flip(x, dimensions),
    simplify=(reverse_twice,),
    transpose=lambda ct, x, *, dimensions: [rev(ct, dimensions=dimensions)],
    batch=_rev_batch,
    pull=_rev_pull,
)


def rev(x: Any, *, dimensions: Sequence[int]) -> Any:
    """`x` with the order of elements along `dimensions` reversed."""
    axes = tuple(sorted(dimensions))
    return bind(rev_op, x, dimensions=axes) if axes else x
