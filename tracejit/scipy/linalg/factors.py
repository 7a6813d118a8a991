"""`scipy.linalg`'s factorizations and eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit.control.custom.public import custom_jvp
from tracejit.errors import ArgumentError
from tracejit.numpy import linalg
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as tnp
from tracejit.numpy.functions.algebra.factorizations import real_of_real
from tracejit.numpy.functions.algebra.matrices import matrices, matrix
from tracejit.numpy.operands import dtype_of, raw, shape_of
from tracejit.ops.decompositions import common as c
from tracejit.scipy.linalg.calling import of_scipy, refuse
from tracejit.scipy.linalg.turned import hessenberg_form, reflected, schur_form
from tracejit.tracing import to_raw, wrap

_d = ops.decompositions


@of_scipy
def cholesky(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """U with a = Uᴴ U, or (`lower`) L with a = L Lᴴ; the other triangle of `a` is not read.

    Raises LinAlgError where `a` is not positive definite.
    """
    return linalg.cholesky(a, upper=not lower)


@of_scipy
def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """(factor, lower) for `cho_solve`; as SciPy's, it has what `a` has in the other triangle."""
    x = matrix("cho_factor", a)
    low = _d.cholesky.cholesky(x if lower else c.mH(x), check=True)
    keep = c.mask(x, "ge" if lower else "le")
    return wrap(c.select(keep, low if lower else c.mH(low), x)), lower


@of_scipy
def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """(packed factors, row interchanges) for `lu_solve`."""
    packed, pivots, _ = _d.lu.lu(matrix("lu_factor", a))
    return wrap(packed), wrap(pivots)


@of_scipy
def lu(
    a: Any,
    permute_l: bool = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
    p_indices: bool = False,
) -> Any:
    """P, L, U with a = P L U; P L and U for `permute_l`; P as row numbers for `p_indices`."""
    packed, _, order = _d.lu.lu(matrix("lu", a))
    n = len(shape_of(packed))
    k = min(shape_of(packed)[-2:])
    low = ops.arithmetic.add(c.tril(packed, -1), c.eye_like(packed))
    low, up = wrap(low)[..., :, :k], wrap(c.triu(packed))[..., :k, :]
    back = ops.sort.argsort(order, axis=n - 2)
    if permute_l:
        return wrap(_d.lu.take_rows(raw(low), back)), up
    if p_indices:
        return wrap(ops.create.convert_element_type(back, dtype=np.int32)), low, up
    m = shape_of(packed)[-2]
    rows = np.arange(m)
    return (wrap(order)[..., None, :] == rows[:, None]).astype(c.real_of(dtype_of(packed))), low, up


@of_scipy
def qr(
    a: Any,
    overwrite_a: bool = False,
    lwork: Any = None,
    mode: str = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> Any:
    """Q, R of `mode` 'full' or 'economic'; (R,) of 'r'."""
    refuse("qr", pivoting=pivoting)
    if mode not in ("full", "r", "economic"):
        raise ArgumentError(name="qr", problem=f"mode={mode!r} is none of 'full', 'r', 'economic'")
    q, r = _d.qr.qr(matrix("qr", a), full_matrices=mode != "economic")
    return (wrap(r),) if mode == "r" else (wrap(q), wrap(r))


@of_scipy
def svd(
    a: Any,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:
    """u, s, vh, or s alone."""
    out = linalg.svd(a, full_matrices, compute_uv)
    return tuple(out) if compute_uv else out


@of_scipy
def svdvals(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """Singular values, descending."""
    return linalg.svdvals(a)


@of_scipy
def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    type: int = 1,
    check_finite: bool = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: str | None = None,
) -> Any:
    """Eigenvalues and eigenvectors of Hermitian `a`, or of a v = w b v with positive definite `b`."""
    refuse("eigh", subset_by_value=subset_by_value, type=None if type == 1 else type)

    def chosen(x: Any) -> Any:
        if subset_by_index is None:
            return wrap(x)
        part = wrap(x)[..., subset_by_index[0] : subset_by_index[1] + 1]
        return tnp[np.copy](part)  # put together anew, as SciPy's

    if b is None:
        x = matrix("eigh", a)
        if eigvals_only:
            return chosen(_d.eigh.eigvalsh(x, lower=lower, check=True))
        w, v = _d.eigh.eigh(x, lower=lower, check=True)
    else:
        x, y = matrices("eigh", a, b)
        w, v = _generalized(x, y, lower)
    return chosen(w) if eigvals_only else (chosen(w), chosen(v))


def _generalized(a: Any, b: Any, lower: bool) -> tuple[Any, Any]:
    """With b = L Lᴴ: the eigenvalues of L⁻¹ a L⁻ᴴ; its vectors are Lᴴ v."""
    low = _d.cholesky.cholesky(b if lower else c.mH(b), check=True)
    solve = _d.triangular.triangular_solve
    inner = solve(low, c.from_lower(a, lower), left_side=True, lower=True)
    inner = solve(low, inner, left_side=False, lower=True, transpose_a=True, conjugate_a=True)
    w, v = _d.eigh.eigh(inner, check=True)
    return w, solve(low, v, left_side=True, lower=True, transpose_a=True, conjugate_a=True)


@of_scipy
def eigvalsh(a: Any, b: Any = None, *, lower: bool = True, **options: Any) -> Any:
    """The eigenvalues that `eigh` gives."""
    return eigh(a, b, lower=lower, eigvals_only=True, **options)


@of_scipy
def eig(
    a: Any,
    b: Any = None,
    left: bool = False,
    right: bool = True,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> Any:
    """Eigenvalues, which are complex, and right eigenvectors, which are real where all eigenvalues are, if Python can
    take over."""
    refuse("eig", b=b, left=left, homogeneous_eigvals=homogeneous_eigvals)
    x = matrix("eig", a)
    if not right:
        return wrap(_d.eig.eigvals(x, check=True))
    values, vectors = _d.eig.eig(x, check=True)
    return wrap(values), wrap(real_of_real(x, values, vectors)[1])


@of_scipy
def eigvals(a: Any, b: Any = None, **options: Any) -> Any:
    """Eigenvalues, complex."""
    return eig(a, b, right=False, **options)


@of_scipy
def schur(
    a: Any,
    output: str = "real",
    lwork: Any = None,
    overwrite_a: bool = False,
    sort: Any = None,
    check_finite: bool = True,
) -> Any:
    """T, Z with a = Z T Zᴴ: the real form, or for `output` 'complex' the triangular one, which has no derivative."""
    refuse("schur", sort=sort)
    x = matrix("schur", a)
    if output not in ("complex", "c") and not dtypes.is_complex(dtype_of(x)):
        return schur_form(wrap(x))
    t, z = _d.schur.schur(c.to_complex(x))
    return wrap(t), wrap(z)


@of_scipy
def hessenberg(a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The Hessenberg form (without balancing), and Q with a = Q H Qᴴ for `calc_q`. No derivative of complex ones."""
    x = matrix("hessenberg", a)
    if 0 < shape_of(x)[-1] <= 2:  # which SciPy gives back as it is
        return _small_form(a, calc_q)
    if dtypes.is_complex(dtype_of(x)):
        packed, taus = _d.schur.hessenberg(x)
        form = wrap(c.triu(packed, -1))
        return (form, reflected(packed, taus)) if calc_q else form
    form, q = hessenberg_form(wrap(x))
    return (form, q) if calc_q else form


def _small_form(a: Any, calc_q: bool) -> Any:
    form = tnp[np.asarray](a)
    *stack, n, _ = form.shape
    form = tnp[np.copy](form) if stack else form
    return (form, tnp[np.tile](np.eye(n), (*stack, 1, 1) if stack else (1, 1))) if calc_q else form


@of_scipy
def polar(a: Any, side: str = "right") -> Any:
    """U and positive semidefinite P with a = U P, or for `side` 'left' a = P U."""
    if side not in ("right", "left"):
        raise ArgumentError(name="polar", problem="`side` must be either 'right' or 'left'")
    x = wrap(matrix("polar", a))
    u = unitary(x)
    p = u.mT.conj() @ x if side == "right" else x @ u.mT.conj()
    return u, (p + p.mT.conj()) / 2


@of_scipy
def orthogonal_procrustes(A: Any, B: Any, check_finite: bool = True) -> Any:
    """The unitary R for which A R is nearest to B, and the sum of the singular values of Bᵀ A."""
    a, b = (wrap(matrix("orthogonal_procrustes", x)) for x in (A, B))
    if a.ndim != 2:
        raise ValueError(f"expected ndim to be 2, but observed {a.ndim}")
    if a.shape != b.shape:
        raise ValueError(f"the shapes of A and B differ ({a.shape} vs {b.shape})")
    m = (b.T @ a.conj()).T
    r = unitary(m)
    return r, tnp[np.trace](r.mT.conj() @ m).real


@custom_jvp
def unitary(a: Any) -> Any:
    """The unitary matrix, or that of orthonormal columns or rows, which is nearest to each of the matrices `a`."""
    u, _, vh = linalg.svd(a, full_matrices=False)
    return tnp[np.matmul](u, vh)


@unitary.defjvp
def _(primals: Any, tangents: Any) -> Any:
    # Not by the slopes of the singular vectors, which matrices with equal singular values do not have.
    a, t = primals[0], tangents[0]
    out = unitary(a)
    wide = a.shape[-2] < a.shape[-1]
    u, a, t = (x.mT.conj() if wide else x for x in (out, a, t))
    p, along = u.mT.conj() @ a, u.mT.conj() @ t
    turn = wrap(_d.sylvester.sylvester(*map(to_raw, (p, p, along - along.mT.conj()))))
    slope = u @ turn
    if a.shape[-2] > a.shape[-1]:
        beside = t - u @ along
        slope = slope + linalg.solve(p.mT.conj(), beside.mT.conj()).mT.conj()
    return out, slope.mT.conj() if wide else slope
