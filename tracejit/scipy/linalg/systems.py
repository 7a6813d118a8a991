"""`scipy.linalg`'s equations, inverses and determinants."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ArgumentError, MatrixShapeError
from tracejit.numpy import linalg
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as tnp
from tracejit.numpy.functions.algebra.matrices import common_dtype, matrices, matrix, small, stacked
from tracejit.numpy.functions.algebra.systems import solve_stacked
from tracejit.numpy.functions.arrays.shaping import box_of
from tracejit.numpy.operands import dtype_of, raw, shape_of
from tracejit.ops.decompositions import common as c
from tracejit.ops.decompositions.small import refuse as refuse_matrix
from tracejit.scipy.linalg.calling import leave_if_ill, of_scipy
from tracejit.scipy.linalg.patterns import banded
from tracejit.tracing import caller, wrap

_d = ops.decompositions
_TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def _right_sides(name: str, *xs: Any) -> tuple[list[Any], bool]:
    """Raw operands, the last one with a column axis and broadcast; and whether that axis is new."""
    *ms, b = matrices(name, *xs)
    vector = len(shape_of(b)) == 1
    b = ops.shape.expand_dims(b, (1,)) if vector else b
    return stacked(name, *ms, b), vector


def _solution(x: Any, vector: bool) -> Any:
    return wrap(ops.shape.squeeze(x, dimensions=(len(shape_of(x)) - 1,)) if vector else x)


@of_scipy
def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """x with op(a) x = b for a triangular `a`. Raises LinAlgError where its diagonal has a zero."""
    (x, y), vector = _right_sides("solve_triangular", a, b)
    return _solution(_triangular(x, y, _TRANS[trans], lower, unit_diagonal, True), vector)


def _triangular(a: Any, b: Any, trans: int, lower: bool, unit: bool = False, check: bool = False) -> Any:
    return _d.triangular.triangular_solve(
        a,
        b,
        left_side=True,
        lower=lower,
        transpose_a=trans != 0,
        conjugate_a=trans == 2,
        unit_diagonal=unit,
        check=check,
    )


@of_scipy
def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with a x = b, given `cho_factor(a)`."""
    factor, lower = c_and_lower
    lower = bool(np.all(lower))  # of a stack, one for each matrix
    (x, y), vector = _right_sides("cho_solve", factor, b)
    return _solution(_by_cholesky(x, y, lower), vector)


def _by_cholesky(factor: Any, b: Any, lower: bool) -> Any:
    first, second = (0, 2) if lower else (2, 0)
    return _triangular(factor, _triangular(factor, b, first, lower), second, lower)


@of_scipy
def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with op(a) x = b, given `lu_factor(a)`."""
    packed, pivots = lu_and_piv
    (x, y), vector = _right_sides("lu_solve", packed, b)
    order = _d.lu.lu_pivots_to_permutation(raw(pivots), permutation_size=shape_of(x)[-1])
    order = ops.shape.broadcast_to(order, shape_of(x)[:-1])
    if trans == 0:
        y = _triangular(x, _d.lu.take_rows(y, order), 0, True, True)
        return _solution(_triangular(x, y, 0, False), vector)
    y = _triangular(x, _triangular(x, y, trans, False), trans, True, True)
    back = ops.sort.argsort(order, axis=len(shape_of(order)) - 1)
    return _solution(_d.lu.take_rows(y, back), vector)


@of_scipy
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """x with a x = b (aᵀ x = b for `transposed`). `assume_a` says what of `a` is read and how it is solved:
    general (also by default: the structure of a traced matrix is not known), Hermitian, positive definite …

    Raises LinAlgError where `a` is singular.
    """
    (x, y), vector = _right_sides("solve", a, b)
    return _solution(_solve_as(assume_a or "general", x, y, lower, transposed), vector)


def _solve_as(kind: str, x: Any, y: Any, lower: bool, transposed: bool) -> Any:
    if shape_of(x)[-1] != shape_of(x)[-2]:
        raise ValueError(f"Expected square matrix, got a1.shape={tuple(shape_of(x))}")
    if kind in ("upper triangular", "lower triangular"):
        leave_if_ill(c.line(x))
        return _triangular(x, y, int(transposed), kind[0] == "l", check=True)
    if kind == "diagonal":
        leave_if_ill(c.line(x))
        return ops.arithmetic.div(y, c.rows(c.diagonal(x), shape_of(y)))
    if kind == "tridiagonal":
        return _by_diagonals(x, y, transposed)
    if kind in ("pos", "positive definite"):
        full = c.from_lower(x, lower)
        low = _d.cholesky.cholesky(c.mT(full) if transposed else full, check=True)
        leave_if_ill(ops.arithmetic.square(c.real(c.line(low))))
        return _by_cholesky(low, y, True)
    if kind in ("sym", "symmetric"):
        half = c.tril(x, -1) if lower else c.triu(x, 1)
        x = ops.arithmetic.add(ops.arithmetic.add(half, c.mT(half)), c.select(c.mask(x, "eq"), x))
    elif kind in ("her", "hermitian"):
        x = c.from_lower(x, lower)
    elif kind not in ("gen", "general", "banded"):
        raise ArgumentError(name="solve", problem=f"{kind} is not a recognized matrix structure")
    if transposed:
        x = c.mT(x)
    leave_if_ill(c.line(_d.solve.factors(x)[1]))
    return solve_stacked(x, y)


def _by_diagonals(x: Any, y: Any, transposed: bool) -> Any:
    """The solution for the three diagonals of a matrix, whatever else is in it."""
    n = shape_of(x)[-1]
    a = wrap(c.mT(x) if transposed else x)
    down, up = (tnp[np.diagonal](a, k, -2, -1) for k in (-1, 1))
    aside = [(0, 0)] * (a.ndim - 2)
    down, up = tnp[np.pad](down, [*aside, (1, 0)]), tnp[np.pad](up, [*aside, (0, 1)])
    return _tridiagonal(down, tnp[np.diagonal](a, 0, -2, -1), up, y) if n else y


@of_scipy
def solve_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """x with a x = b for a matrix of `l` diagonals below and `u` above, in the rows of `ab`.

    Tridiagonal systems in linear time, others as dense matrices.
    """
    low, high = l_and_u
    (rows, y), vector = _right_sides("solve_banded", ab, b)
    if shape_of(rows)[-2] != low + high + 1:
        raise MatrixShapeError(
            op="solve_banded", problem=f"ab has {shape_of(rows)[-2]} rows, not l + u + 1 = {low + high + 1}"
        )
    if (low, high) == (1, 1):
        ab = wrap(rows)
        up, down = tnp[np.roll](ab[..., 0, :], -1, -1), tnp[np.roll](ab[..., 2, :], 1, -1)
        return _solution(_tridiagonal(down, ab[..., 1, :], up, y), vector)
    return _solution(solve_stacked(raw(banded(wrap(rows), low, high)), y), vector)


def _tridiagonal(down: Any, middle: Any, up: Any, y: Any) -> Any:
    """The solution of the system with these diagonals. Raises LinAlgError where the matrix is singular."""
    x = _d.tridiagonal.tridiagonal_solve(raw(down), raw(middle), raw(up), y)
    given = functools.reduce(ops.compare.or_, (_some_nan(raw(v)) for v in (down, middle, up, y)))
    refuse_matrix(ops.compare.and_(_some_nan(x), ops.compare.not_(given)), "singular matrix")
    return x


def _some_nan(x: Any) -> Any:
    return ops.reduce.reduce_or(ops.compare.isnan(c.real(x)), axes=tuple(range(len(shape_of(x)))))


@of_scipy
def solveh_banded(
    ab: Any,
    b: Any,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> Any:
    """x with a x = b for a Hermitian positive definite banded matrix, one half of it in the rows of `ab`."""
    (rows, y), vector = _right_sides("solveh_banded", ab, b)
    width = shape_of(rows)[-2] - 1
    half = raw(banded(wrap(rows), width, 0) if lower else banded(wrap(rows), 0, width))
    low = _d.cholesky.cholesky(c.from_lower(half, lower), check=True)
    return _solution(_by_cholesky(low, y, True), vector)


@of_scipy
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """x with a x + x b = q."""
    return wrap(_d.sylvester.sylvester(*matrices("solve_sylvester", a, b, q)))


@of_scipy
def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True, **_: Any) -> Any:
    """The inverse. Raises LinAlgError where `a` is singular."""
    leave_if_ill(c.line(_d.solve.factors(matrix("inv", a))[1]))
    return linalg.inv(a)


@of_scipy
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinant: of single precision too, it is given in double precision."""
    out = raw(linalg.det(a))
    return wrap(ops.create.convert(out, np.dtype(np.result_type(dtype_of(out), np.float64))))


@of_scipy
def pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    """The pseudo-inverse; singular values up to atol + rtol times the largest count as 0."""
    x = matrix("pinv", a)
    s = linalg.svdvals(wrap(ops.create.stop_gradient(x)))
    top = tnp[np.max](s, -1, initial=0)
    rtol = (max(shape_of(x)[-2:]) * small(dtype_of(x)) if atol is None else 0.0) if rtol is None else rtol
    limit = (0.0 if atol is None else atol) + top * rtol
    share = tnp[np.where](top > 0, limit / tnp[np.where](top > 0, top, 1), 0)
    out = linalg.pinv(wrap(x), share)
    return (out, tnp[np.sum](s > limit[..., None], -1)) if return_rank else out


@of_scipy
def lstsq(
    a: Any,
    b: Any,
    cond: Any = None,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    lapack_driver: str | None = None,
) -> Any:
    """(x, residuals, rank, singular values), as `numpy.linalg.lstsq`; `cond` counts from machine precision. The rank
    is a Python integer."""
    kind = common_dtype("lstsq", raw(a), raw(b))
    x, rest, rank, s = linalg.lstsq(a, b, small(kind) if cond is None else cond)
    number = wrap(ops.create.convert_element_type(raw(rank), dtype=np.dtype(np.int64)), weak=True)
    if shape_of(raw(a))[0] <= shape_of(raw(a))[1]:
        return x, np.zeros(0, kind), number, s
    if caller.does_over():
        leave_if(raw(rank != shape_of(raw(a))[1]), "no residuals of a matrix that has not full rank")
    return x, (rest[0] if len(shape_of(raw(b))) == 1 else rest), number, s


@of_scipy
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """The norm of a vector or matrix; a Python number where SciPy has BLAS or LAPACK compute it."""
    x = box_of(a)
    found = linalg.norm(x, ord, axis, keepdims)
    if axis is not None or keepdims or not _is_pythons(x, ord):
        return found
    return wrap(ops.create.convert_element_type(raw(found), dtype=np.dtype(float)), weak=True)


def _is_pythons(x: Any, ord: Any) -> bool:
    """Whether SciPy gives a Python number as the norm of all elements."""
    if x.aval.dtype.char not in "fdFD" or 0 in x.aval.shape:
        return False
    if x.ndim == 1:
        return ord in (None, 2)
    flags = x.flags
    return x.ndim == 2 and ord in (1, np.inf) and flags.c_contiguous != flags.f_contiguous
