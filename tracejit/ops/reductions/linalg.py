"""Matrix products of all kinds: dot_general."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ShapeError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.kernel import Contract
from tracejit.ir.primitive import BILINEAR, FROM_JVP, NO_BOUNDS, NO_EFFECTS, NO_INPLACE, Op, with_series
from tracejit.ir.values import Zero, is_linear, is_zero
from tracejit.ops.building.dims import check_axes
from tracejit.ops.building.helpers import shift_axes
from tracejit.ops.building.values import common_dtype, ndim_of
from tracejit.ops.shapes.moves import product_of_transposed
from tracejit.ops.shapes.shape import inverse
from tracejit.tracing import bind

Axes = tuple[int, ...]
Numbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]


def free_axes(ndim: int, contracted: Axes, batched: Axes) -> Axes:
    """The axes that are neither contracted nor batched, in order."""
    return tuple(n for n in range(ndim) if n not in contracted and n not in batched)


def _type(x: Aval, y: Aval, *, dimension_numbers: Numbers) -> Aval:
    (xc, yc), (xb, yb) = dimension_numbers
    for axes, a in (((*xc, *xb), x), ((*yc, *yb), y)):
        check_axes("dot_general", axes, a.ndim)
    for kind, p, q in (("contracted", xc, yc), ("batched", xb, yb)):
        if [x.shape[a] for a in p] != [y.shape[b] for b in q]:
            raise ShapeError(
                op="dot_general", problem=f"the {kind} axes {p} of {x} and {q} of {y} differ in size"
            )
    batch = tuple(x.shape[a] for a in xb)
    x_free = tuple(x.shape[a] for a in free_axes(x.ndim, xc, xb))
    y_free = tuple(y.shape[a] for a in free_axes(y.ndim, yc, yb))
    return Aval((*batch, *x_free, *y_free), common_dtype("dot_general", (x, y)))


def _eval(x: Any, y: Any, *, dimension_numbers: Numbers) -> Any:
    (xc, yc), (xb, yb) = dimension_numbers
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim <= 2 and y.ndim <= 2 and len(xc) == 1 and not xb:
        left, right = (x if xc[0] == x.ndim - 1 else x.T), (y if yc[0] == 0 else y.T)
        return np.matmul(left, right).astype(x.dtype, copy=False)
    xf, yf = free_axes(x.ndim, xc, xb), free_axes(y.ndim, yc, yb)
    shape = [x.shape[a] for a in (*xb, *xf)] + [y.shape[b] for b in yf]
    if not xc:
        ones = (1,) * len(yf)
        left = x.transpose(*xb, *xf).reshape([x.shape[a] for a in (*xb, *xf)] + [*ones])
        right = y.transpose(*yb, *yf).reshape(
            [y.shape[a] for a in yb] + [1] * len(xf) + [y.shape[b] for b in yf]
        )
        return np.multiply(left, right)
    left = _merged(x.transpose(*xb, *xf, *xc), len(xb), len(xf))
    right = _merged(y.transpose(*yb, *yc, *yf), len(yb), len(yc))
    if not xb and not xf:
        left = left[0]
    if not yb and not yf:
        right = right[:, 0]
    return np.reshape(np.matmul(left, right), shape).astype(x.dtype, copy=False)  # bfloat16 gives float32


def _merged(a: Any, batch: int, rows: int) -> Any:
    """`a` with axes (batch…, all rows in one, the others in one)."""
    if a.ndim == batch + 2 and rows == 1:
        return a
    split = batch + rows
    return a.reshape(*a.shape[:batch], math.prod(a.shape[batch:split]), math.prod(a.shape[split:]))


def _jvp(primals: Any, tangents: Any, *, dimension_numbers: Numbers) -> tuple[Any, Any]:
    (x, y), (tx, ty) = primals, tangents
    out = bind(dot_general_op, x, y, dimension_numbers=dimension_numbers)
    terms = [] if is_zero(tx) else [bind(dot_general_op, tx, y, dimension_numbers=dimension_numbers)]
    terms += [] if is_zero(ty) else [bind(dot_general_op, x, ty, dimension_numbers=dimension_numbers)]
    if not terms:
        return out, Zero(aval_of(out).tangent())
    return out, terms[0] if len(terms) == 1 else ops.arithmetic.add(*terms)


def _transpose(ct: Any, x: Any, y: Any, *, dimension_numbers: Numbers) -> list[Any]:
    (xc, yc), (xb, yb) = dimension_numbers
    if is_linear(x):
        free = ndim_of(y) - len(yc) - len(yb)
        return [_transpose_left(ct, x.aval.ndim, y, dimension_numbers, trailing=True, free=free), None]
    swapped = ((yc, xc), (yb, xb))
    free = ndim_of(x) - len(xc) - len(xb)
    return [None, _transpose_left(ct, y.aval.ndim, x, swapped, trailing=False, free=free)]


def _transpose_left(ct: Any, ndim: int, y: Any, numbers: Numbers, trailing: bool, free: int) -> Any:
    """The cotangent of an operand of `ndim` axes against the other one, `y`, whose `free` axes
    are the last of `ct`'s (`trailing`), or the first after the batch."""
    (xc, yc), (xb, yb) = numbers
    lead = len(xb)
    ct_ndim = ndim_of(ct)
    first = ct_ndim - free if trailing else lead
    ct_free = tuple(range(first, first + free))
    y_ndim = ndim_of(y)
    y_free = free_axes(y_ndim, yc, yb)
    batch = tuple(range(lead))
    out = bind(dot_general_op, ct, y, dimension_numbers=((ct_free, y_free), (batch, yb)))
    # `out` has the axes (batch, free ones of x, contracted ones in the order of y)
    contracted = [xc[n] for n in sorted(range(len(yc)), key=lambda n: yc[n])]
    order = (*xb, *free_axes(ndim, xc, xb), *contracted)
    return ops.shape.transpose(out, permutation=inverse(order))


def _batch(size: int, args: Any, dims: Any, *, dimension_numbers: Numbers) -> tuple[Any, int]:
    (xc, yc), (xb, yb) = dimension_numbers
    dx, dy = dims
    if dx is not None:
        xc, xb = shift_axes(xc, dx), shift_axes(xb, dx)
    if dy is not None:
        yc, yb = shift_axes(yc, dy), shift_axes(yb, dy)
    if dx is not None and dy is not None:
        numbers = ((xc, yc), ((dx, *xb), (dy, *yb)))
        return bind(dot_general_op, *args, dimension_numbers=numbers), 0
    out = bind(dot_general_op, *args, dimension_numbers=((xc, yc), (xb, yb)))
    x_free = free_axes(ndim_of(args[0]), xc, xb)
    if dx is not None:
        return out, len(xb) + x_free.index(dx)
    y_free = free_axes(ndim_of(args[1]), yc, yb)
    return out, len(xb) + len(x_free) + y_free.index(dy)


dot_general_op = Op(
    name="dot_general",
    doc="sums of products over contracted axes, walking along batch axes",
    multi=False,
    type=_type,
    eval=_eval,
    inplace=NO_INPLACE,
    jvp=with_series(_jvp, BILINEAR),
    linearize=FROM_JVP,
    transpose=_transpose,
    batch=_batch,
    simplify=(product_of_transposed,),
    effects=NO_EFFECTS,
    bounds=NO_BOUNDS,
    kernel=Contract(permute=ops.shape.transpose_op),
)


def dot_general(x: Any, y: Any, *, dimension_numbers: Sequence[Sequence[Sequence[int]]]) -> Any:
    """The product of `x` and `y` (of one dtype): `dimension_numbers` is ((x contracted, y contracted),
    (x batched, y batched)); the result has the axes (batch, free ones of x, free ones of y)."""
    (xc, yc), (xb, yb) = dimension_numbers
    numbers = ((tuple(xc), tuple(yc)), (tuple(xb), tuple(yb)))
    return bind(dot_general_op, x, y, dimension_numbers=numbers)
