"""Norms of vectors and matrices. At 0, where they have a corner, derivatives are 0, which is a subgradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ArgumentError
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as tnp
from tracejit.numpy.dispatch import implements
from tracejit.numpy.functions.algebra.factorizations import svdvals
from tracejit.numpy.functions.arrays.shaping import box_of, expand_dims, moveaxis, reshape
from tracejit.numpy.functions.statistics.reductions import axes_of, max_, min_, sum_


@implements(np.linalg.norm, arrays=False)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Vector norms of any order; Frobenius, nuclear, 1, -1, 2, -2, inf and -inf norms of matrices."""
    a = box_of(x)
    a = a if dtypes.is_inexact(a.dtype) else a.astype(np.float64)
    if axis is None and (
        ord is None
        or (ord in ("f", "fro") and a.ndim == 2)
        or (a.ndim == 1 and ord == 2 and type(ord) is int)
    ):
        return _two_norm(a, tuple(range(a.ndim)), keepdims)
    axes = axes_of("norm", axis if axis is None or isinstance(axis, tuple) else int(axis), a.ndim)
    if len(axes) == 1:
        return _vector_norm(a, ord, axes, keepdims)
    if len(axes) != 2:
        raise ArgumentError(name="norm", problem="Improper number of dimensions to norm.")
    return _matrix_norm(a, ord, axes, keepdims)


def _magnitudes(a: Any) -> Any:
    return tnp[np.abs](a)


def _squares(a: Any) -> Any:
    return a.real * a.real + a.imag * a.imag if a.dtype.kind == "c" else a * a


def _rooted(total: Any, root: Any) -> Any:
    """`root(total)`, whose derivative is infinite at 0: there it is 0."""
    total = box_of(total)
    nothing = total == 0
    one = total.dtype.type(1)
    return tnp[np.where](nothing, total.dtype.type(0), root(tnp[np.where](nothing, one, total)))


def _two_norm(a: Any, axes: Any, keepdims: bool) -> Any:
    return _rooted(sum_(_squares(a), axes, keepdims=keepdims), tnp[np.sqrt])


def _vector_norm(a: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ArgumentError(name="norm", problem=f"Invalid norm order '{ord}' for vectors")
    if ord is None or ord == 2:
        return _two_norm(a, axes, keepdims)
    if ord == np.inf:
        return max_(_magnitudes(a), axes, keepdims=keepdims)
    if ord == -np.inf:
        return min_(_magnitudes(a), axes, keepdims=keepdims)
    if ord == 0:
        real = dtypes.real_part_dtype(a.dtype)
        return sum_((a != 0).astype(real), axes, keepdims=keepdims)
    size = _magnitudes(a)
    if ord == 1:
        return sum_(size, axes, keepdims=keepdims)
    total = box_of(sum_(_powers(size, ord), axes, keepdims=keepdims))
    exponent = np.reciprocal(np.asarray(ord, total.dtype))[()]
    return _rooted(total, lambda t: t**exponent) if ord > 0 else total**exponent


def _powers(size: Any, ord: Any) -> Any:
    """size ** ord, with derivative 0 where the size is 0 and the order is below 1."""
    return _rooted(size, lambda s: s**ord) if 0 < ord < 1 else size**ord


def _matrix_norm(a: Any, ord: Any, axes: Any, keepdims: bool) -> Any:
    if ord is None or ord in ("f", "fro"):
        return _two_norm(a, axes, keepdims)
    if ord in (2, -2, "nuc"):
        s = svdvals(moveaxis(a, axes, (-2, -1)))
        best = sum_(s, -1) if ord == "nuc" else max_(s, -1, initial=0) if ord == 2 else min_(s, -1)
        return expand_dims(best, tuple(sorted(axes))) if keepdims else best
    if ord in (1, -1, np.inf, -np.inf):
        rows, columns = axes if abs(ord) == 1 else axes[::-1]
        sums = sum_(_magnitudes(a), rows, keepdims=True)
        best = box_of((max_ if ord > 0 else min_)(sums, columns, keepdims=True))
        return best if keepdims else tnp[np.squeeze](best, axes)
    raise ArgumentError(name="norm", problem="Invalid norm order for matrices.")


@implements(np.linalg.matrix_norm, arrays=False)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Norms of matrices in the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm, arrays=False)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Norms of vectors along axes, all of them by default."""
    a = box_of(x)
    axes = axes_of("vector_norm", axis, a.ndim)
    rest = tuple(d for n, d in enumerate(a.shape) if n not in axes)
    flat = reshape(moveaxis(a, axes, tuple(range(len(axes)))), (-1, *rest))
    out = norm(flat, ord, 0)
    return expand_dims(out, tuple(sorted(axes))) if keepdims else out
