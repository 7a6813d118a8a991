"""`tracejit.lax.linalg`: JAX's names for matrix factorizations.

Matrices are in the last two axes, leading axes are stacks of them; dtypes are float32, float64, complex64 and
complex128, without promotion. As in JAX, what cannot be computed is NaN here; `numpy.linalg` raises.
"""

from __future__ import annotations

from typing import Any

from tracejit import ops
from tracejit.docstrings import complete as _complete
from tracejit.errors import ArgumentError
from tracejit.ir.avals import aval_of
from tracejit.ops.building.dims import dims_of
from tracejit.ops.decompositions import common as c
from tracejit.tracing import to_raw, wrap

_d = ops.decompositions

__all__ = [
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal_solve",
]


def _hermitian_part(name: str, x: Any, wanted: bool) -> Any:
    c.check_matrix(name, aval_of(x), square=True)
    return ops.arithmetic.mul(ops.arithmetic.add(x, c.mH(x)), 0.5) if wanted else x


def cholesky(a: Any, *, symmetrize_input: bool = True) -> Any:
    """Lower triangles L with (a + aᴴ) / 2 = L Lᴴ; NaN where that is not positive definite.

    Without `symmetrize_input` only the lower triangle of `a` is read.
    """
    return wrap(_d.cholesky.cholesky(_hermitian_part("cholesky", to_raw(a), symmetrize_input)))


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper triangle R' with R'ᵀ R' = Rᵀ R + w wᵀ."""
    r, w = to_raw(r_matrix), to_raw(w_vector)
    column = ops.shape.expand_dims(w, (len(dims_of(w)),))
    total = ops.arithmetic.add(c.matmul(c.mT(r), r), c.matmul(column, c.mT(column)))
    return wrap(c.mT(_d.cholesky.cholesky(total)))


def eig(x: Any, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True) -> Any:
    """[w, left vectors, right vectors], complex, without those that are not asked for.

    Left ones fulfil vᴴ x = w vᴴ. All have length 1, and a real largest element.
    """
    a = to_raw(x)
    if not (compute_left_eigenvectors or compute_right_eigenvectors):
        return [wrap(_d.eig.eigvals(a))]
    w, right = _d.eig.eig(a)
    out = [w] + ([_left(right)] if compute_left_eigenvectors else [])
    return [wrap(o) for o in out + ([right] if compute_right_eigenvectors else [])]


def _left(right: Any) -> Any:
    """The columns of V⁻ᴴ, normalised."""
    v = c.mH(_d.solve.inv(right))
    n = len(dims_of(v))
    size = ops.arithmetic.abs(v)
    first = ops.shape.expand_dims(ops.reduce.argmax(size, axes=(n - 2,)), (n - 2,))
    at = ops.gather.take_along_axis(v, first, n - 2, mode="promise_in_bounds", unique_indices=True)
    length = ops.transcendental.sqrt(ops.reduce.reduce_sum(ops.arithmetic.square(size), axes=(n - 2,)))
    length = ops.shape.expand_dims(length, (n - 2,))
    factor = ops.arithmetic.div(c.conj(at), c.to_complex(ops.arithmetic.mul(ops.arithmetic.abs(at), length)))
    return ops.arithmetic.mul(v, ops.shape.broadcast_to(factor, dims_of(v)))


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: Any = None,
) -> tuple[Any, Any]:
    """(v, w): eigenvectors and ascending eigenvalues of (x + xᴴ) / 2, or of one triangle of x."""
    if subset_by_index not in (None, (0, dims_of(to_raw(x))[-1])):
        raise ArgumentError(name="eigh", problem="subset_by_index must be None or all of them")
    w, v = _d.eigh.eigh(_hermitian_part("eigh", to_raw(x), symmetrize_input), lower=lower)
    return wrap(v), wrap(w)


def hessenberg(a: Any) -> tuple[Any, Any]:
    """(packed form, taus): the Hessenberg form, the reflectors below it, and their factors."""
    packed, taus = _d.schur.hessenberg(to_raw(a))
    return wrap(packed), wrap(taus)


def householder_product(a: Any, taus: Any) -> Any:
    """The product of reflectors in the columns of `a` with the factors `taus`."""
    return wrap(_d.householder.householder_product(to_raw(a), to_raw(taus)))


def lu(x: Any) -> tuple[Any, Any, Any]:
    """(packed factors, pivots, permutation): x[permutation] = L U."""
    packed, pivots, permutation = _d.lu.lu(to_raw(x))
    return wrap(packed), wrap(pivots), wrap(permutation)


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The permutation that `lu`'s row interchanges make together."""
    return wrap(_d.lu.lu_pivots_to_permutation(to_raw(pivots), permutation_size=permutation_size))


def qr(x: Any, *, pivoting: bool = False, full_matrices: bool = True) -> tuple[Any, Any]:
    """(q, r), q square with `full_matrices`, else with min(m, n) columns."""
    if pivoting:
        raise ArgumentError(name="qr", problem="pivoting=True is not available")
    q, r = _d.qr.qr(to_raw(x), full_matrices=full_matrices)
    return wrap(q), wrap(r)


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Any = None,
) -> tuple[Any, ...]:
    """(t, z) with x = z t zᴴ, or (t,); without derivative."""
    if sort_eig_vals or select_callable is not None:
        raise ArgumentError(name="schur", problem="eigenvalues cannot be sorted")
    t, z = _d.schur.schur(to_raw(x))
    return (wrap(t), wrap(z)) if compute_schur_vectors else (wrap(t),)


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: Any = None,
    algorithm: Any = None,
) -> Any:
    """(u, s, vh), or s alone."""
    if subset_by_index is not None:
        raise ArgumentError(name="svd", problem="subset_by_index must be None")
    if not compute_uv:
        return wrap(_d.svd.svdvals(to_raw(x)))
    u, s, vh = _d.svd.svd(to_raw(x), full_matrices=full_matrices)
    return wrap(u), wrap(s), wrap(vh)


def symmetric_product(
    a_matrix: Any,
    c_matrix: Any,
    *,
    alpha: float = 1.0,
    beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:
    """alpha a aᵀ + beta c; of `c` the lower triangle counts with `symmetrize_output`."""
    a, b = to_raw(a_matrix), to_raw(c_matrix)
    product = ops.arithmetic.mul(c.matmul(a, c.mT(a)), alpha)
    out = ops.arithmetic.add(product, ops.arithmetic.mul(b, beta))
    if symmetrize_output:
        out = ops.arithmetic.add(c.tril(out), c.mT(c.tril(out, -1)))
    return wrap(out)


def triangular_solve(
    a: Any,
    b: Any,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """x with op(a) x = b (`left_side`) or x op(a) = b; `b` may be a vector, or a stack of them."""
    x, y = to_raw(a), to_raw(b)
    vector = len(dims_of(y)) == len(dims_of(x)) - 1
    axis = len(dims_of(y)) - (0 if left_side else 1)
    y = ops.shape.expand_dims(y, (axis,)) if vector else y
    out = _d.triangular.triangular_solve(
        x,
        y,
        left_side=left_side,
        lower=lower,
        transpose_a=transpose_a,
        conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )
    return wrap(ops.shape.squeeze(out, dimensions=(axis,)) if vector else out)


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any) -> Any:
    """x with T x = b: the diagonals below (from its second element), at and above (but its last element)."""
    return wrap(_d.tridiagonal.tridiagonal_solve(*(to_raw(v) for v in (dl, d, du, b))))


_complete(__name__)
