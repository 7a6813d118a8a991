"""General systems of equations and inverses, on the factors of `lu`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import ops
from tracejit.errors import ShapeError
from tracejit.ir.avals import Aval
from tracejit.ir.values import is_zero
from tracejit.ops import _lazy
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.helpers import to_batch_axis
from tracejit.ops.decompositions import common as c
from tracejit.ops.decompositions import small
from tracejit.ops.decompositions.factors.lu import lu, take_rows
from tracejit.ops.decompositions.stacks import substitute
from tracejit.ops.decompositions.triangular import batch_right_sides, triangular_solve
from tracejit.tracing import bind


def _type(a: Aval, packed: Aval, permutation: Aval, b: Aval, *, transpose_a: bool, check: bool) -> Aval:
    c.check_matrix("solve", a, square=True)
    c.check_matrix("solve", b)
    c.check_same("solve", a, packed, b)
    if b.shape[-2] != a.shape[-1] or permutation.shape != a.shape[:-1]:
        raise ShapeError(op="solve", problem=f"{b} does not fit the matrix {a}")
    return b


def raise_if_singular(packed: Any) -> None:
    """NumPy's error, for factors with a zero on U's diagonal."""
    if not np.diagonal(packed, 0, -2, -1).all():
        raise np.linalg.LinAlgError("Singular matrix")


def _eval(a: Any, packed: Any, permutation: Any, b: Any, *, transpose_a: bool, check: bool) -> Any:
    if check:
        raise_if_singular(packed)
    if not b.size:
        return b.copy()
    lanes = b.size // (b.shape[-1] * b.shape[-2])
    if lanes > 1 and lanes >= a.shape[-1]:
        return _stacked(packed, permutation[..., None], b, transpose_a)
    trsm = _lazy.blas("trsm", b.dtype)
    # C order read as Fortran's is the transpose: a right-hand problem with the other triangle.
    low = {"side": 1, "lower": 0, "diag": 1, "trans_a": transpose_a}
    up = {"side": 1, "lower": 1, "diag": 0, "trans_a": transpose_a}

    def one(f: Any, p: Any, y: Any) -> list[Any]:
        if transpose_a:
            x = trsm(1, f.T, trsm(1, f.T, y.T, **up), **low).T
            out = np.empty_like(x)
            out[p] = x
            return [out]
        return [trsm(1, f.T, trsm(1, f.T, y[p].T, **low), **up).T]

    return c.per_matrix(one, [(b.shape, b.dtype)], packed, permutation, b, cores=(2, 1, 2))[0]


def _stacked(packed: Any, order: Any, b: Any, transpose_a: bool) -> Any:
    if not transpose_a:
        y = substitute(packed, np.take_along_axis(b, order, -2), True, True)
        return substitute(packed, y, False, False)
    turned = packed.swapaxes(-1, -2)
    y = substitute(turned, substitute(turned, b, True, False), False, True)
    out = np.empty_like(y)
    np.put_along_axis(out, np.broadcast_to(order, out.shape), y, -2)
    return out


def _formula(a: Any, packed: Any, permutation: Any, b: Any, *, transpose_a: bool, check: bool) -> Any:
    dims = dims_of(b)
    if any(type(d) is not int or not d for d in dims):
        return None
    if not small.is_small(a):
        return _by_routines(packed, permutation, b, transpose_a, check) if c.is_called(a) else None
    rows, order, x = small.elements(packed), small.vector(permutation), small.right_sides(b)
    if check:
        small.refuse(small.any_zero(rows), "Singular matrix")
    if transpose_a:
        turned = small.transposed(rows)
        x = small.substitute(turned, x, lower=True, unit=False)
        x = small.placed(order, small.substitute(turned, x, lower=False, unit=True))
    else:
        x = small.substitute(rows, small.chosen(order, x), lower=True, unit=True)
        x = small.substitute(rows, x, lower=False, unit=False)
    return small.assembled(x, dims, len(dims) - 2)


def _is_singular(packed: Any) -> Any:
    """Whether there is a zero on U's diagonal, for each of the matrices."""
    return ops.reduce.reduce_or(ops.compare.eq(c.line(packed), 0.0), axes=(len(dims_of(packed)) - 2,))


def _by_routines(packed: Any, permutation: Any, b: Any, transpose_a: bool, check: bool) -> Any:
    """Two triangular systems."""
    if check:
        small.refuse(_is_singular(packed), "Singular matrix")
    up = {"left_side": True, "lower": False, "transpose_a": transpose_a}
    low = {"left_side": True, "lower": True, "transpose_a": transpose_a, "unit_diagonal": True}
    if not transpose_a:
        return triangular_solve(packed, triangular_solve(packed, take_rows(b, permutation), **low), **up)
    x = triangular_solve(packed, triangular_solve(packed, b, **up), **low)
    return take_rows(x, ops.sort.argsort(permutation, axis=-1, stable=False))


def _jvp(primals: Any, tangents: Any, **params: bool) -> tuple[Any, Any]:
    """dx = A⁻¹ (db - dA x) (Giles 2008, 2.2.3 and 2.3.1), on the same factors."""
    (a, packed, permutation, _), (ta, _, _, tb) = primals, tangents
    x = bind(solve_op, *primals, **params)
    right = None if is_zero(tb) else tb
    if not is_zero(ta):
        moved = c.mT(ta) if params["transpose_a"] else ta
        change = ops.arithmetic.neg(c.matmul(moved, x))
        right = change if right is None else ops.arithmetic.add(right, change)
    if right is None:
        return x, c.zeros_like_outputs(x)
    unchecked = {**params, "check": False}
    return x, bind(solve_op, a, packed, permutation, right, **unchecked)


def _transpose(ct: Any, a: Any, packed: Any, permutation: Any, b: Any, **params: bool) -> list[Any]:
    flipped = {**params, "transpose_a": not params["transpose_a"], "check": False}
    return [None, None, None, bind(solve_op, a, packed, permutation, ct, **flipped)]


def _batch(size: Any, args: Any, dims: Any, **params: bool) -> tuple[Any, int]:
    *matrix, b = args
    if dims[:3] == (None,) * 3 and all(type(d) is int for d in (*dims_of(b), size)):
        return batch_right_sides(b, dims[3], True, lambda y: bind(solve_op, *matrix, y, **params))
    xs = [to_batch_axis(x, d, 0, size) for x, d in zip(args, dims, strict=True)]
    return bind(solve_op, *xs, **params), 0


solve_op = c.factorization(
    "solve",
    "the solution of a x = b from the factors of a; what varies is a and b",
    type=_type,
    eval=_eval,
    jvp=_jvp,
    multi=False,
    transpose=_transpose,
    batch=_batch,
    effects=c.check_effects,
    formula=_formula,
)


def factors(a: Any) -> tuple[Any, Any, Any]:
    """(a, LU, permutation): what `solve_with` needs. The factors are constants to derivatives, which
    follow `a` itself, so that no derivative factorizes anew."""
    packed, _, permutation = lu(ops.create.stop_gradient(a))
    return a, packed, permutation


def solve_with(
    a: Any, packed: Any, permutation: Any, b: Any, *, transpose_a: bool = False, check: bool = False
) -> Any:
    """x with a x = b (aᵀ x = b with `transpose_a`); `packed` and `permutation` must be those of `a`."""
    return bind(solve_op, a, packed, permutation, b, transpose_a=bool(transpose_a), check=check)


def solve(a: Any, b: Any, *, check: bool = False) -> Any:
    """x with a x = b, for stacks (..., n, n) and (..., n, k). A singular `a` gives inf and NaN, or with
    `check` NumPy's LinAlgError."""
    return solve_with(*factors(a), b, check=check)


# ---------------------------------------------------------------- inverse


def _inv_type(a: Aval, *, check: bool) -> Aval:
    c.check_matrix("inv", a, square=True)
    return a


def _inv_eval(a: Any, *, check: bool) -> Any:
    if check:
        return np.linalg.inv(a)
    return c.nan_where_failing(np.linalg.inv, a, np.linalg.LinAlgError)


def _inv_formula(a: Any, *, check: bool) -> Any:
    if not small.is_small(a):
        return _inv_by_routines(a, check) if c.is_called(a) else None
    rows, _, order = small.eliminate(a)
    singular = small.any_zero(rows)
    if check:
        small.refuse(singular, "Singular matrix")
    out = small.inverse(rows, order)
    out = out if check else small.nan_where(singular, out)
    return small.assembled(small.flat(out), dims_of(a), len(dims_of(a)) - 2)


def _inv_by_routines(a: Any, check: bool) -> Any:
    packed, _, permutation = lu(a)
    x = _by_routines(packed, permutation, c.eye_like(a), False, check)
    if check:
        return x
    singular = ops.shape.expand_dims(_is_singular(packed), (len(dims_of(a)) - 2, len(dims_of(a)) - 1))
    return ops.compare.select(ops.shape.broadcast_to(singular, dims_of(a)), np.nan, x)


def _inv_jvp(primals: Any, tangents: Any, *, check: bool) -> tuple[Any, Any]:
    """d(A⁻¹) = -A⁻¹ dA A⁻¹ (Giles 2008, 2.2.3)."""
    x = bind(inv_op, primals[0], check=check)
    (t,) = tangents
    if is_zero(t):
        return x, c.zeros_like_outputs(x)
    return x, c.matmul(c.matmul(ops.arithmetic.neg(x), t), x)


inv_op = c.factorization(
    "inv",
    "the inverse of square matrices",
    type=_inv_type,
    eval=_inv_eval,
    spelled=c.spelled("inv"),
    jvp=_inv_jvp,
    multi=False,
    effects=c.check_effects,
    formula=_inv_formula,
)


def inv(a: Any, *, check: bool = False) -> Any:
    """Inverses of (..., n, n). Where `a` is singular: NaN, or with `check` NumPy's LinAlgError."""
    return bind(inv_op, a, check=check)
