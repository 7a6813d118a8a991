"""`numpy.linalg`'s equations, inverses, determinants and what is computed with them."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ArgumentError, ArgumentTypeError, DynamicExtentError, MatrixShapeError, ShapeError
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT, implements
from tracejit.numpy.functions.algebra import products
from tracejit.numpy.functions.algebra.factorizations import svd, svdvals
from tracejit.numpy.functions.algebra.matrices import matrices, matrix, result_class, small
from tracejit.numpy.functions.algebra.products import dot
from tracejit.numpy.functions.arrays.shaping import box_of, reshape, transpose
from tracejit.numpy.operands import broadcast_shapes, cast, dtype_of, elements, raw, shape_of
from tracejit.ops.decompositions.common import real_of
from tracejit.tracing import box, wrap

_d = ops.decompositions
tnp = NUMPY_TO_TRACEJIT


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """x with a x = b: `b` is a vector if it has one dimension, else a stack of matrices.

    Raises LinAlgError where a matrix is singular, compiled code too.
    """
    x, y = matrices("solve", a, b)
    if len(shape_of(y)) == 1:
        y = ops.shape.expand_dims(y, (1,))
        y = ops.shape.broadcast_to(y, (*shape_of(x)[:-2], *shape_of(y)))
        out = solve_stacked(x, y)
        return wrap(ops.shape.squeeze(out, dimensions=(len(shape_of(out)) - 1,)))
    return wrap(solve_stacked(x, y))


def solve_stacked(x: Any, y: Any) -> Any:
    """The raw solution for raw matrices whose leading axes broadcast. A matrix for many right-hand sides is
    factorized once."""
    lead, more = shape_of(x)[:-2], shape_of(y)[:-2]
    if len(shape_of(x)) < 2:
        raise MatrixShapeError(op="solve", problem=f"{len(shape_of(x))}-dimensional array given")
    factors = _d.solve.factors(x)
    if lead == more:
        return _d.solve.solve_with(*factors, y, check=True)
    lead = broadcast_shapes("solve", [lead, more])
    a, packed, y = (ops.shape.broadcast_to(v, (*lead, *shape_of(v)[-2:])) for v in (*factors[:2], y))
    order = ops.shape.broadcast_to(factors[2], (*lead, shape_of(x)[-1]))
    return _d.solve.solve_with(a, packed, order, y, check=True)


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    """Inverses. Raises LinAlgError where a matrix is singular, compiled code too."""
    return wrap(_d.solve.inv(matrix("inv", a), check=True))


@implements(np.linalg.det)
def det(a: Any) -> Any:
    """Determinants, with derivatives at singular matrices too."""
    return wrap(_d.determinant.det(matrix("det", a)))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """A SlogdetResult: the signs and the logarithms of the absolute values of determinants."""
    sign, logabs = _d.determinant.slogdet(matrix("slogdet", a))
    return result_class("slogdet")(wrap(sign), wrap(logabs))


def _limits(limit: Any, a: Any) -> Any:
    """A relative limit as raw reals, one for each matrix."""
    d = real_of(dtype_of(a))
    return ops.shape.broadcast_to(cast(raw(limit), d), shape_of(a)[:-2])


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:  # type: ignore[attr-defined]
    """Pseudo-inverses; singular values up to `rcond` times the largest count as 0."""
    x = matrix("pinv", a)
    if rcond is None:
        if rtol is np._NoValue:
            rcond = 1e-15
        else:
            rcond = max(shape_of(x)[-2:]) * small(dtype_of(x)) if rtol is None else rtol
    elif rtol is not np._NoValue:
        raise ArgumentError(name="pinv", problem="`rtol` and `rcond` can't be both set.")
    return wrap(_d.pinv.pinv(x, _limits(rcond, x), hermitian=hermitian))


def _static_rows(x: Any) -> Any:
    """`x` with rows of zeros up to the bound of their number, where it is traced: they leave least squares as
    they are."""
    rows = shape_of(x)[0]
    if type(rows) is int:
        return x
    if rows.bound is None:
        raise DynamicExtentError(op="lstsq", problem="the number of rows has no bound")
    return ops.gather.take(x, np.arange(rows.bound), 0, mode="fill", fill_value=0)


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """(x, residuals, rank, singular values) of the least-squares problem of one matrix.

    Residuals are those of full column rank: NaN where the rank is less, where NumPy gives an empty array.
    The number of rows may be traced, and is its bound for the default of `rcond` and the number of singular values.
    """
    x, y = matrices("lstsq", a, b)
    if len(shape_of(x)) != 2:
        raise MatrixShapeError(op="lstsq", problem=f"{len(shape_of(x))}-dimensional array given, not 2")
    if shape_of(y)[0] != shape_of(x)[0]:
        raise MatrixShapeError(op="lstsq", problem="incompatible dimensions")
    x, y = _static_rows(x), _static_rows(y)
    m, n = shape_of(x)
    if type(n) is not int:
        raise DynamicExtentError(op="lstsq", problem="the number of columns is a traced integer")
    limit = rcond
    if rcond is None or (type(rcond) is int and rcond == -1):
        limit = small(dtype_of(x)) * (1 if rcond == -1 else max(m, n))
    s = svdvals(wrap(x))
    best = tnp[np.max](s, initial=0)
    rank = tnp[np.sum](s > limit * best).astype(np.int32)
    p, z = box_of(wrap(_d.pinv.pinv(x, _limits(limit, x)))), box_of(wrap(y))
    out = dot(p, z)
    if m <= n:
        return out, np.zeros(0, s.dtype), rank, s
    rest = tnp[np.sum](tnp[np.abs](z - dot(wrap(x), out)) ** 2, 0, keepdims=z.ndim == 1)
    rest = tnp[np.where](rank == n, rest, dtype_of(raw(rest)).type(np.nan))
    return out, rest, rank, s


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The number of singular values above `tol`, or above `rtol` times the largest."""
    if rtol is not None and tol is not None:
        raise ArgumentError(name="matrix_rank", problem="`tol` and `rtol` can't be both set.")
    x = box_of(A)
    if x.ndim < 2:
        return box(cast(raw(tnp[np.any](x != 0)), np.dtype(np.int64)), weak=True)  # one of Python's
    s = svd(x, compute_uv=False, hermitian=hermitian)
    if tol is None:
        rtol = max(x.shape[-2:]) * small(s.dtype) if rtol is None else _column(rtol)
        tol = tnp[np.max](s, -1, keepdims=True, initial=0) * rtol
    else:
        tol = _column(tol)
    return tnp[np.count_nonzero](s > tol, axis=-1)


def _column(x: Any) -> Any:
    return box_of(x)[..., None] if np.ndim(x) or shape_of(raw(x)) else x


@implements(np.linalg.cond, arrays=False)
def cond(x: Any, p: Any = None) -> Any:
    """Condition numbers; infinite for singular matrices."""
    a = box_of(wrap(matrix("cond", x)))
    if 0 in a.shape[-2:]:
        raise MatrixShapeError(op="cond", problem="cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = svd(a, compute_uv=False)
        out = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        norm = tnp[np.linalg.norm]
        inverse = wrap(_d.solve.inv(raw(a), check=False))
        out = norm(a, p, (-2, -1)) * norm(inverse, p, (-2, -1))
    bad = tnp[np.any](tnp[np.isnan](a), (-2, -1))
    spoiled = tnp[np.isnan](out) & ~bad
    return tnp[np.where](spoiled, dtype_of(raw(out)).type(np.inf), out)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of the map that `a` is by tensordot over its first `ind` axes."""
    x = box_of(a)
    if ind <= 0:
        raise ArgumentError(name="tensorinv", problem="Invalid ind argument.")
    front, back = x.shape[:ind], x.shape[ind:]
    flat = reshape(x, (math.prod(back), -1))
    if not x.ndim:
        raise ArgumentTypeError(name="tensorinv", problem="reshape() takes exactly 1 argument (0 given)")
    return reshape(inv(flat), (*back, *front))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """x with tensordot(a, x, x.ndim) = b."""
    x, y = box_of(a), box_of(b)
    if axes is not None:
        order = [n for n in range(x.ndim) if n not in axes] + list(axes)
        x = transpose(x, order)
    rest = x.shape[-(x.ndim - y.ndim) :]
    size = math.prod(rest)
    if elements("tensorsolve", x.aval.shape) != size**2:
        raise MatrixShapeError(
            op="tensorsolve",
            problem="the input tensor a must satisfy prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:])",
        )
    return reshape(solve(reshape(x, (size, size)), reshape(y, (-1,))), rest)


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    """The product of n copies of square matrices, by repeated squaring; of the inverse for negative n."""
    a, n = box_of(a), operator.index(n)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise MatrixShapeError(
            op="matrix_power", problem=f"the last two dimensions of {a.shape} must be equal"
        )
    if n < 0:
        a, n = inv(a), -n
    out = None
    while n:
        out = (a if out is None else products.matmul(out, a)) if n & 1 else out
        n >>= 1
        a = products.matmul(a, a) if n else a
    return out if out is not None else a * 0 + np.eye(a.shape[-1], dtype=a.dtype)


# ---------------------------------------------------------------- products


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any) -> Any:
    """The product of several matrices (the first and last may be vectors), in the cheapest order."""
    xs = [box_of(x) for x in arrays]
    if len(xs) < 2:
        raise ArgumentError(name="multi_dot", problem="Expecting at least two arrays.")
    first, last = xs[0].ndim == 1, xs[-1].ndim == 1
    xs[0] = xs[0][None, :] if first else xs[0]
    xs[-1] = xs[-1][:, None] if last else xs[-1]
    if any(x.ndim != 2 for x in xs):
        raise MatrixShapeError(
            op="multi_dot", problem="the arrays between the first and the last must be matrices"
        )
    out = _in_order(xs, _best_splits([x.shape[0] for x in xs] + [xs[-1].shape[1]]), 0, len(xs) - 1)
    return out[0, 0] if first and last else reshape(out, (-1,)) if first or last else out


def _best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each run of matrices: the classic dynamic program over the number of multiplications."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            ]
            cost[i, j], split[i, j] = min(options)
    return split


def _in_order(xs: list[Any], split: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return xs[i]
    k = split[i, j]
    return dot(_in_order(xs, split, i, k), _in_order(xs, split, k + 1, j))


@implements(np.linalg.outer)
def outer(x1: Any, x2: Any, /) -> Any:
    """All products of elements of two vectors."""
    x, y = box_of(x1), box_of(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(
            op="outer", problem=f"input arrays must be one-dimensional, not {x.shape} and {y.shape}"
        )
    return tnp[np.outer](x, y)


@implements(np.linalg.cross)
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross product of 3-vectors."""
    x, y = box_of(x1), box_of(x2)
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise ShapeError(op="cross", problem=f"takes 3-dimensional vectors, not {x.shape} and {y.shape}")
    return tnp[np.cross](x, y, axis=axis)


@implements(np.linalg.matmul)
def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product."""
    return products.matmul(x1, x2)


@implements(np.linalg.tensordot)
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The product over several axes."""
    return tnp[np.tensordot](x1, x2, axes)


@implements(np.linalg.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Dot products along an axis, the first operand conjugated."""
    return tnp[np.vecdot](x1, x2, axis=axis)


@implements(np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    """The last two axes exchanged."""
    return tnp[np.matrix_transpose](x)
