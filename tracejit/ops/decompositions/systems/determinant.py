"""Determinants, their logarithms and cofactors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.ir.avals import Aval
from tracejit.ir.values import is_zero
from tracejit.ops.building.dims import dims_of
from tracejit.ops.building.values import check_kind, dtype_of
from tracejit.ops.decompositions import common as c
from tracejit.ops.decompositions import small
from tracejit.ops.decompositions.factors.lu import lu
from tracejit.ops.decompositions.factors.svd import svd
from tracejit.ops.decompositions.systems.solve import inv
from tracejit.tracing import bind


def _inner(x: Any, y: Any) -> Any:
    """Sums of the elementwise products of matrices."""
    n = len(dims_of(x))
    return ops.reduce.reduce_sum(ops.arithmetic.mul(x, y), axes=(n - 2, n - 1))


# ---------------------------------------------------------------- slogdet


def _slogdet_type(a: Aval) -> list[Aval]:
    c.check_matrix("slogdet", a, square=True)
    return [Aval(a.shape[:-2], a.dtype), Aval(a.shape[:-2], c.real_of(a.dtype))]


def _slogdet_eval(a: Any) -> list[Any]:
    sign, logabs = np.linalg.slogdet(a)
    return [sign, logabs]


def _slogdet_formula(a: Any) -> list[Any] | None:
    if not small.is_small(a):
        return _by_routine(a) if c.is_called(a) else None
    sign, diagonal = _factors(a)
    return [sign, _sum_of_logs(diagonal)]


def _by_routine(a: Any) -> list[Any]:
    """From the factors, as NumPy does it: 0 and -inf for singular matrices."""
    packed, pivots, _ = lu(a)
    *lead, n = dims_of(pivots)
    last, u = (len(lead),), c.line(packed)
    places = ops.broadcast.broadcast_to(ops.create.iota(shape=(n,), dtype=c.I32), (*lead, n))
    odd = ops.compare.ne(ops.compare.ne(pivots, places), ops.compare.lt(u, 0.0))
    count = ops.reduce.reduce_sum(ops.create.convert_element_type(odd, dtype=c.I64), axes=last)
    is_odd = ops.compare.ne(ops.compare.and_(count, np.int64(1)), np.int64(0))
    is_zero_ = ops.reduce.reduce_or(ops.compare.eq(u, 0.0), axes=last)
    one = dtype_of(a).type(1)
    sign = ops.compare.select(is_zero_, dtype_of(a).type(0), ops.compare.select(is_odd, -one, one))
    logs = ops.reduce.reduce_sum(ops.transcendental.log(ops.arithmetic.abs(u)), axes=last)
    return [sign, ops.compare.select(is_zero_, -np.inf, logs)]


def _factors(a: Any) -> tuple[Any, list[Any]]:
    """The sign of the determinants of small matrices, 0 for singular ones, and the magnitudes on U's diagonal."""
    rows, pivots, _ = small.eliminate(a)
    sign = ops.shape.broadcast_to(dtype_of(a).type(1), dims_of(a)[:-2])
    for i, pivot in enumerate(pivots):
        odd = ops.compare.ne(ops.compare.ne(pivot, np.int32(i)), ops.compare.lt(rows[i][i], 0.0))
        sign = ops.compare.select(odd, ops.arithmetic.neg(sign), sign)
    sign = ops.compare.select(small.any_zero(rows), 0.0, sign)
    return sign, [ops.arithmetic.abs(row[i]) for i, row in enumerate(rows)]


def _sum_of_logs(diagonal: list[Any]) -> Any:
    """As NumPy does it; -inf where there is a zero."""
    zero = functools.reduce(ops.compare.or_, [ops.compare.eq(u, 0.0) for u in diagonal])
    total = functools.reduce(ops.arithmetic.add, map(ops.transcendental.log, diagonal))
    return ops.compare.select(zero, -np.inf, total)


def _slogdet_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """d log det A = tr(A⁻¹ dA) (Giles 2008, 2.2.4); its imaginary part turns the sign."""
    (a,), (t,) = primals, tangents
    sign, _ = outs = bind(slogdet_op, a)
    if is_zero(t):
        return outs, c.zeros_like_outputs(outs)
    change = _inner(c.mT(inv(a)), t)
    if not c.is_complex(a):
        return outs, [c.zeros_like_outputs(sign), change]
    turn = ops.complexes.complex(0, ops.complexes.imag(change))
    return outs, [ops.arithmetic.mul(sign, turn), ops.complexes.real(change)]


slogdet_op = c.factorization(
    "slogdet",
    "the sign and the logarithm of the absolute value of determinants",
    type=_slogdet_type,
    eval=_slogdet_eval,
    jvp=_slogdet_jvp,
    formula=_slogdet_formula,
)


def slogdet(a: Any) -> list[Any]:
    """[sign, log |det a|] of (..., n, n); 0 and -inf for singular matrices."""
    return bind(slogdet_op, a)


# ---------------------------------------------------------------- det


def _det_type(a: Aval) -> Aval:
    c.check_matrix("det", a, square=True)
    return Aval(a.shape[:-2], a.dtype)


def _det_formula(a: Any) -> Any:
    """The product of U's diagonal; by logarithms, as NumPy does it, where it leaves the normal numbers midway."""
    if not small.is_small(a):
        if not c.is_called(a):
            return None
        sign, logs = _by_routine(a)
        return ops.arithmetic.mul(sign, ops.transcendental.exp(logs))
    sign, diagonal = _factors(a)
    info = np.finfo(dtype_of(a))
    product, inside = diagonal[0], []
    for u in diagonal[1:]:
        product = ops.arithmetic.mul(product, u)
        low, high = ops.compare.ge(product, float(info.tiny)), ops.compare.le(product, float(info.max))
        inside.append(ops.compare.and_(low, high))
    if inside:
        by_logs = ops.transcendental.exp(_sum_of_logs(diagonal))
        product = ops.compare.select(functools.reduce(ops.compare.and_, inside), product, by_logs)
    return ops.arithmetic.mul(sign, product)


def _det_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """d det A = sum of cofactors times dA (Jacobi), which is right for singular matrices too."""
    (a,), (t,) = primals, tangents
    out = bind(det_op, a)
    return out, c.zeros_like_outputs(out) if is_zero(t) else _inner(bind(cofactor_op, a), t)


det_op = c.factorization(
    "det",
    "determinants",
    type=_det_type,
    eval=lambda a: np.linalg.det(a),
    jvp=_det_jvp,
    multi=False,
    formula=_det_formula,
)


def det(a: Any) -> Any:
    """Determinants of (..., n, n)."""
    return bind(det_op, a)


# ---------------------------------------------------------------- cofactors


def _cofactor_type(a: Aval) -> Aval:
    c.check_matrix("cofactor", a, square=True)
    return a


def _cofactor_eval(a: Any) -> Any:
    if not a.size:
        return a.copy()
    finite = np.isfinite(a).all((-2, -1), keepdims=True)
    if not finite.all():
        return np.where(finite, _cofactor_eval(np.where(finite, a, a.dtype.type(0))), a.dtype.type(np.nan))
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return _cofactors_by_svd(a)
    size = np.abs(a).sum((-2, -1)) * np.abs(inverse).sum((-2, -1))
    with np.errstate(all="ignore"):
        if not (size < np.finfo(a.dtype).eps ** -0.5).all():  # half of the digits would be lost
            return _cofactors_by_svd(a)
    return np.linalg.det(a)[..., None, None] * inverse.swapaxes(-1, -2)


def products_without(s: Any, count: int) -> Any:
    """Products of all elements of each vector but one (count 1), or but two different ones (count 2)."""
    n = s.shape[-1]
    if count == 1:
        wide = np.broadcast_to(s[..., None, :], (*s.shape, n)).copy()
        wide[..., np.arange(n), np.arange(n)] = 1
        return wide.prod(-1)
    return np.stack([_without(s, i) for i in range(n)], -2)


def _without(s: Any, i: int) -> Any:
    rest = s.copy()
    rest[..., i] = 1
    out = products_without(rest, 1)
    out[..., i] = 0
    return out


def _cofactors_by_svd(a: Any) -> Any:
    """From A = U S Vᴴ: conj(det U det Vᴴ is a phase) times conj(U) cof(S) conj(V)ᵀ."""
    u, s, vh = np.linalg.svd(a)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    middle = products_without(s, 1)[..., None, :]
    return phase[..., None, None] * np.matmul(u.conj() * middle, vh.conj()).astype(a.dtype)


def _cofactor_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The derivative in the coordinates of the singular vectors, where it is a matter of products of all
    singular values but two. It needs no inverse, so it is right for every rank."""
    (a,), (t,) = primals, tangents
    out = bind(cofactor_op, a)
    if is_zero(t):
        return out, c.zeros_like_outputs(out)
    u, s, vh = svd(a, full_matrices=False)
    phase = ops.arithmetic.mul(det(u), det(vh))
    pairs = bind(pair_products_op, s)
    if c.is_complex(a):
        pairs = c.to_complex(pairs)
    shape = dims_of(a)
    inner = c.matmul(c.matmul(c.mH(u), t), c.mH(vh))
    swapped = ops.arithmetic.neg(ops.arithmetic.mul(pairs, c.mT(inner)))  # off the diagonal: - P_ij E_ji
    along = ops.reduce.reduce_sum(
        ops.arithmetic.mul(pairs, c.columns(c.diagonal(inner), shape)), axes=(len(shape) - 1,)
    )
    change = c.select(c.mask(a, "eq"), c.columns(along, shape), swapped)
    change = c.matmul(c.matmul(c.conj(u), change), c.conj(vh))
    n = len(shape)
    factor = ops.shape.broadcast_to(ops.shape.expand_dims(phase, (n - 2, n - 1)), shape)
    return out, ops.arithmetic.mul(factor, change)


cofactor_op = c.factorization(
    "cofactor",
    "the matrix of cofactors: the derivative of the determinant",
    type=_cofactor_type,
    eval=_cofactor_eval,
    jvp=_cofactor_jvp,
    multi=False,
)


# ---------------------------------------------------------------- products of all but two


def _pairs_type(s: Aval) -> Aval:
    check_kind("pair_products", "fc", s)
    return Aval((*s.shape, s.shape[-1]), s.dtype)


def _pairs_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """P_ij(s) does not depend on s_i and s_j; its derivative by s_k is the product of all but three, taken
    by a division that is skipped where s_k is 0 (there, third derivatives of determinants lack a term)."""
    (s,), (t,) = primals, tangents
    out = bind(pair_products_op, s)
    if is_zero(t):
        return out, c.zeros_like_outputs(out)
    zero = ops.compare.eq(s, 0.0)
    ratio = ops.arithmetic.mul(c.select(zero, 0.0, ops.arithmetic.reciprocal(c.select(zero, 1.0, s))), t)
    shape = dims_of(out)
    total = ops.reduce.reduce_sum(ratio, axes=(len(shape) - 2,))
    total = ops.shape.broadcast_to(ops.shape.expand_dims(total, (len(shape) - 2, len(shape) - 1)), shape)
    others = ops.arithmetic.sub(ops.arithmetic.sub(total, c.columns(ratio, shape)), c.rows(ratio, shape))
    return out, ops.arithmetic.mul(out, others)


pair_products_op = c.factorization(
    "pair_products",
    "products of all elements of vectors but two different ones, 0 on the diagonal",
    type=_pairs_type,
    eval=lambda s: products_without(s, 2) if s.size else np.zeros((*s.shape, s.shape[-1]), s.dtype),
    jvp=_pairs_jvp,
    multi=False,
)
