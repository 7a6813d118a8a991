"""Triangular systems of equations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ShapeError
from tracejit.ir.avals import Aval
from tracejit.ir.values import is_linear, is_zero
from tracejit.ops import _lazy
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.helpers import move_batch_axis, to_batch_axis
from tracejit.ops.decompositions import common as c
from tracejit.ops.decompositions import small
from tracejit.ops.decompositions.stacks import substitute
from tracejit.tracing import bind


def _type(a: Aval, b: Aval, *, left_side: bool, **_: bool) -> Aval:
    c.check_matrix("triangular_solve", a, square=True)
    c.check_matrix("triangular_solve", b)
    c.check_same("triangular_solve", a, b)
    if b.shape[-2 if left_side else -1] != a.shape[-1]:
        raise ShapeError(op="triangular_solve", problem=f"{b} does not fit the matrix {a}")
    return b


def _eval(a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
          unit_diagonal: bool, check: bool) -> Any:  # fmt: skip
    if check and not unit_diagonal:
        _raise_if_singular(a)
    a = a.conj() if conjugate_a and a.dtype.kind == "c" else a
    if b.size == 0:
        return b.copy()
    lanes = b.size // (b.shape[-1] * b.shape[-2])
    if c.is_many(lanes, a.shape[-1]):
        return _stacked(a, b, left_side, lower, transpose_a, unit_diagonal)
    trsm = _lazy.blas("trsm", a.dtype)

    def one(x: Any, y: Any) -> list[Any]:
        # All transposed, so that C order is Fortran's and nothing need be copied.
        return [trsm(1, x.T, y.T, side=left_side, lower=not lower, trans_a=transpose_a, diag=unit_diagonal).T]

    return c.per_matrix(one, [(b.shape, b.dtype)], a, b, cores=(2, 2))[0]


def _raise_if_singular(a: Any) -> None:
    """SciPy's error, for a zero on the diagonal."""
    zeros = (np.diagonal(a, 0, -2, -1) == 0).reshape(-1, a.shape[-1]).any(0) if a.size else np.zeros(0, bool)
    if zeros.any():
        first = int(np.argmax(zeros))
        raise np.linalg.LinAlgError(f"singular matrix: resolution failed at diagonal {first}")


def _stacked(a: Any, b: Any, left_side: bool, lower: bool, transpose_a: bool, unit: bool) -> Any:
    """Every step for all lanes at once."""
    flip = transpose_a if left_side else not transpose_a
    matrix = a.swapaxes(-1, -2) if flip else a
    right = b if left_side else b.swapaxes(-1, -2)
    out = substitute(matrix, right, lower != flip, unit)
    return np.ascontiguousarray(out if left_side else out.swapaxes(-1, -2))


def _formula(a: Any, b: Any, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool,
             unit_diagonal: bool, check: bool) -> Any:  # fmt: skip
    """Substitution. `check` is left to `eval`: SciPy's error tells where the zero is."""
    if not small.is_small(a) or any(type(d) is not int or not d for d in dims_of(b)):
        return None
    if check and not unit_diagonal:
        return None
    rows, right = small.elements(a), b if left_side else c.mT(b)
    flip = transpose_a if left_side else not transpose_a
    rows = small.transposed(rows) if flip else rows
    x = small.substitute(rows, small.right_sides(right), lower=lower != flip, unit=unit_diagonal)
    shape = dims_of(right)
    out = small.assembled(x, shape, len(shape) - 2)
    return out if left_side else c.mT(out)


def _routine(k: Any, ins: Any, outs: Any, avals: Any, *, left_side: bool, lower: bool, transpose_a: bool,
             conjugate_a: bool, unit_diagonal: bool, check: bool) -> bool:  # fmt: skip
    """BLAS's trsm of each pair of real matrices, in the place of the result. `check` is left to `eval`."""
    a, b = avals
    n, (rows, columns), lanes = a.shape[-1], b.shape[-2:], math.prod(b.shape[:-2])
    if a.dtype.name not in c.LETTERS or a.shape[:-2] != b.shape[:-2] or (check and not unit_diagonal):
        return False
    if not b.size or c.is_many(lanes, n):
        return False
    # All transposed, so that C order is Fortran's.
    flags = (
        "R" if left_side else "L",
        "U" if lower else "L",
        "T" if transpose_a else "N",
        "U" if unit_diagonal else "N",
    )
    target = k.external(f"blas:{c.LETTERS[a.dtype.name]}trsm", f"void({','.join(['ptr'] * 11)})")
    letters = [c.place(k, x) for x in flags]
    work = (
        c.work_of_call(n * rows * columns) if min(rows, columns) < 8 else 0
    )  # OpenBLAS has threads from 8 on
    sizes = c.place(k, columns), c.place(k, rows), k.slot(k.const(1, a.dtype))
    steps = c.place(k, n), c.place(k, columns)
    with k.loop(0, b.size, vector=True, independent=True) as i:
        k.store(outs[0], i, k.load(ins[1], i))
    with k.loop(0, lanes) as lane:
        matrix, place = (ins[0], k.mul(lane, n * n)), (outs[0], k.mul(lane, rows * columns))
        k.call(target, (*letters, *sizes, matrix, steps[0], place, steps[1]), work=work)
    return True


def _jvp(primals: Any, tangents: Any, **params: bool) -> tuple[Any, Any]:
    """dx = A⁻¹ (db - dA x), dA in the triangle (M. Giles, Collected matrix derivative results, 2008, 2.3.1)."""
    (a, b), (ta, tb) = primals, tangents
    x = bind(triangular_solve_op, a, b, **params)
    if not c.varies(tangents):
        return x, c.zeros_like_outputs(x)
    right = None if is_zero(tb) else tb
    if not is_zero(ta):
        change = ops.arithmetic.neg(_product(_triangle(ta, **params), x, **params))
        right = change if right is None else ops.arithmetic.add(right, change)
    return x, bind(triangular_solve_op, a, right, **{**params, "check": False})


def _triangle(t: Any, *, lower: bool, unit_diagonal: bool, **_: bool) -> Any:
    """The part of a tangent that the solver reads."""
    return c.tril(t, -int(unit_diagonal)) if lower else c.triu(t, int(unit_diagonal))


def _product(a: Any, x: Any, *, left_side: bool, transpose_a: bool, conjugate_a: bool, **_: bool) -> Any:
    a = c.mT(a) if transpose_a else a
    a = c.conj(a) if conjugate_a else a
    return c.matmul(a, x) if left_side else c.matmul(x, a)


def _transpose(ct: Any, a: Any, b: Any, **params: bool) -> list[Any]:
    assert not is_linear(a), "the matrix of triangular_solve is not linear"
    flipped = {**params, "transpose_a": not params["transpose_a"], "check": False}
    return [None, bind(triangular_solve_op, a, ct, **flipped)]


def _batch(size: Any, args: Any, dims: Any, **params: bool) -> tuple[Any, int]:
    (a, b), (da, db) = args, dims
    if da is None and all(type(d) is int for d in (*dims_of(b), size)):
        return batch_right_sides(
            b, db, params["left_side"], lambda y: bind(triangular_solve_op, a, y, **params)
        )
    a, b = to_batch_axis(a, da, 0, size), to_batch_axis(b, db, 0, size)
    return bind(triangular_solve_op, a, b, **params), 0


def batch_right_sides(b: Any, dim: int, left_side: bool, solve: Any) -> tuple[Any, int]:
    """One matrix, many right-hand sides: those of all examples are columns (rows) of one array."""
    where = len(dims_of(b)) - (2 if left_side else 3)
    x = move_batch_axis(b, dim, where)  # (..., n, size, k) or (..., size, k, n)
    shape = dims_of(x)
    merged = (*shape[:where], shape[where] * shape[where + 1], *shape[where + 2 :])
    return ops.shape.reshape(solve(ops.shape.reshape(x, shape=merged)), shape=shape), where


triangular_solve_op = c.factorization(
    "triangular_solve",
    "the solution of op(a) x = b or x op(a) = b with a triangular",
    type=_type,
    eval=_eval,
    jvp=_jvp,
    multi=False,
    transpose=_transpose,
    batch=_batch,
    effects=c.check_effects,
    formula=_formula,
    routine=_routine,
    on_device="triangular solve",
)


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
    check: bool = False,
) -> Any:
    """x with op(a) x = b (`left_side`) or x op(a) = b, for stacks of triangular (..., n, n) matrices.

    op(a) is a, transposed and conjugated as asked; elements outside of the triangle, and with
    `unit_diagonal` those on the diagonal, are not read. Division by a zero diagonal gives inf and NaN, or with `check`
    SciPy's LinAlgError.
    """
    return bind(
        triangular_solve_op,
        a,
        b,
        left_side=bool(left_side),
        lower=bool(lower),
        transpose_a=bool(transpose_a),
        conjugate_a=bool(conjugate_a),
        unit_diagonal=bool(unit_diagonal),
        check=check,
    )
