"""Cases of matrix factorizations. Eigenvectors and singular vectors may turn: the cases are of functions
that don't see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases.makers import Case, Maker, by_name, case, fixed, normal
from tracejit import ops
from tracejit.ops import decompositions as d
from tracejit.ops.building.dims import dims_of
from tracejit.ops.decompositions import common as c


def spd(*shape: int) -> Maker:
    """Positive definite matrices with separated eigenvalues."""

    def make(rng: np.random.Generator) -> Any:
        x = rng.standard_normal(shape)
        return x @ x.swapaxes(-1, -2) * 0.3 + np.diag(np.arange(1.0, shape[-1] + 1))

    return make


def regular(*shape: int) -> Maker:
    """Well conditioned matrices with separated eigenvalues and singular values."""

    def make(rng: np.random.Generator) -> Any:
        lines = np.arange(2.0, 2.0 + 1.3 * min(shape[-2:]), 1.3)
        return 0.4 * rng.standard_normal(shape) + np.eye(*shape[-2:]) * np.resize(lines, shape[-1])

    return make


def pair(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` of a complex matrix, given as two real ones; complex results as two real ones."""

    def call(x: Any, y: Any, *rest: Any) -> list[Any]:
        outs = fn(ops.complexes.complex(x, ops.arithmetic.mul(y, 0.3)), *rest)
        parts = []
        for o in outs if isinstance(outs, (list, tuple)) else [outs]:
            parts += [c.real(o)] + ([ops.complexes.imag(o)] if c.is_complex(o) else [])
        return parts

    return call


def hermitian(fn: Callable[..., Any]) -> Callable[..., Any]:
    return lambda z: fn(ops.arithmetic.mul(ops.arithmetic.add(z, c.mH(z)), 0.5))


def _projectors(v: Any) -> Any:
    """v₀ v₀ᴴ: the same for every phase of the vectors."""
    n = len(dims_of(v))
    first = ops.shape.slice(v, start_indices=(0,) * n, limit_indices=(*dims_of(v)[:-1], 1))
    return c.matmul(first, c.mH(first))


def _eigh(a: Any, **params: Any) -> list[Any]:
    w, v = d.eigh.eigh(a, **params)
    return [w, _projectors(v)]


def _svd(a: Any, **params: Any) -> list[Any]:
    u, s, vh = d.svd.svd(a, **params)
    return [s, _projectors(u), _projectors(c.mH(vh)), _first_term(u, vh)]


def _first_term(u: Any, vh: Any) -> Any:
    n = len(dims_of(u))
    one = ops.shape.slice(u, start_indices=(0,) * n, limit_indices=(*dims_of(u)[:-1], 1))
    row = ops.shape.slice(vh, start_indices=(0,) * n, limit_indices=(*dims_of(vh)[:-2], 1, dims_of(vh)[-1]))
    return c.matmul(one, row)


def _eig(a: Any) -> list[Any]:
    w, v = d.eig.eig(a)
    order = ops.sort.argsort(c.real(w), axis=-1)
    w = ops.gather.take_along_axis(w, order, len(dims_of(w)) - 1)
    return [c.real(w), ops.complexes.real(_weighted(v))]


def _weighted(v: Any) -> Any:
    """Sums over all vectors of |v|⁴: no order, no phase, but their length."""
    size = ops.arithmetic.square(ops.arithmetic.abs(v))
    n = len(dims_of(v))
    return c.to_complex(ops.reduce.reduce_sum(ops.arithmetic.square(size), axes=(n - 1,)))


def _lu(a: Any) -> list[Any]:
    packed, _, permutation = d.lu.lu(a)
    return [packed, permutation]


def _triangular(**params: Any) -> Callable[..., Any]:
    return lambda a, b: d.triangular.triangular_solve(a, b, **params)


def _zeros_like_lead(a: Any) -> Any:
    n = len(dims_of(a))
    return ops.reduce.reduce_sum(ops.arithmetic.mul(a, 0.0), axes=(n - 2, n - 1))


def constant(fn: Callable[..., Any], *makers: Maker) -> Case:
    """A case of an op that has no derivative, behind stop_gradient."""
    return case(lambda *xs: fn(*(ops.create.stop_gradient(x) for x in xs)), *makers, smooth=False)


TRIANGULAR = [
    case(_triangular(left_side=left, lower=low, transpose_a=t, unit_diagonal=u), regular(3, 3), normal(*b))
    for left, low, t, u, b in [
        (True, True, False, False, (3, 2)),
        (True, False, False, True, (3, 1)),
        (True, True, True, False, (3, 2)),
        (False, False, False, False, (2, 3)),
        (False, True, True, True, (2, 3)),
    ]
]
COMPLEX = (regular(3, 3), normal(3, 3))

CASES: dict[str, list[Case]] = {
    "cholesky": [
        case(d.cholesky.cholesky, spd(3, 3)),
        case(lambda a: d.cholesky.cholesky(a, check=True), spd(2, 2, 2)),
        case(pair(hermitian(d.cholesky.cholesky)), spd(3, 3), normal(3, 3)),
    ],
    "triangular_solve": [
        *TRIANGULAR,
        case(_triangular(left_side=True), regular(2, 3, 3), normal(2, 3, 2)),
        case(
            pair(
                lambda z, b: _triangular(left_side=True, transpose_a=True, conjugate_a=True)(
                    z, c.to_complex(b)
                )
            ),
            *COMPLEX,
            normal(3, 2),
        ),
    ],
    "qr": [
        case(lambda a: d.qr.qr(a, full_matrices=False), regular(*shape), tolerance=1e-4)
        for shape in [(4, 2), (3, 3), (2, 4), (2, 3, 2)]
    ]
    + [
        case(lambda a: d.qr.qr(a), regular(3, 3)),
        case(pair(lambda z: d.qr.qr(z, full_matrices=False)), regular(4, 3), normal(4, 3)),
        case(pair(lambda z: d.qr.qr(z, full_matrices=False)), *COMPLEX),
    ],
    "eigh": [
        case(_eigh, spd(3, 3)),
        case(lambda a: _eigh(a, lower=False), spd(2, 2, 2)),
        case(pair(hermitian(_eigh)), spd(3, 3), normal(3, 3)),
    ],
    "eigvalsh": [
        case(d.eigh.eigvalsh, spd(3, 3)),
        case(pair(hermitian(d.eigh.eigvalsh)), spd(3, 3), normal(3, 3)),
    ],
    "eig": [case(_eig, regular(3, 3)), case(pair(_eig), *COMPLEX)],
    "eigvals": [
        case(lambda a: ops.sort.sort(c.real(d.eig.eigvals(a)))[0], regular(3, 3)),
        case(pair(lambda z: ops.sort.sort(c.real(d.eig.eigvals(z)))[0]), *COMPLEX),
    ],
    "svd": [
        *[
            case(lambda a: _svd(a, full_matrices=False), regular(*shape))
            for shape in [(4, 2), (3, 3), (2, 4), (2, 3, 2)]
        ],
        *[case(_svd, regular(*shape)) for shape in [(3, 3), (4, 3), (2, 3)]],
        case(pair(lambda z: _svd(z, full_matrices=False)), regular(4, 3), normal(4, 3)),
        case(pair(lambda z: _svd(z, full_matrices=False)), *COMPLEX),
        case(pair(_svd), regular(2, 3), normal(2, 3)),
    ],
    "svdvals": [
        case(d.svd.svdvals, regular(3, 4)),
        case(pair(d.svd.svdvals), *COMPLEX),
    ],
    "lu": [
        *[case(_lu, regular(*shape)) for shape in [(3, 3), (4, 2), (2, 4), (2, 3, 3)]],
        case(pair(lambda z: d.lu.lu(z)[0]), *COMPLEX),
    ],
    "lu_pivots_to_permutation": [
        case(by_name("lu_pivots_to_permutation", permutation_size=4), fixed([2, 3, 2])),
    ],
    "solve": [
        case(d.solve.solve, regular(3, 3), normal(3, 2)),
        case(lambda a, b: d.solve.solve(a, b, check=True), regular(2, 3, 3), normal(2, 3, 1)),
        case(
            lambda a, b: d.solve.solve_with(*d.solve.factors(a), b, transpose_a=True),
            regular(3, 3),
            normal(3, 2),
        ),
        case(pair(lambda z, b: d.solve.solve(z, c.to_complex(b))), *COMPLEX, normal(3, 2)),
    ],
    "inv": [
        case(d.solve.inv, regular(3, 3)),
        case(lambda a: d.solve.inv(a, check=True), regular(2, 2, 2)),
        case(pair(d.solve.inv), *COMPLEX),
    ],
    "slogdet": [case(d.determinant.slogdet, regular(3, 3)), case(pair(d.determinant.slogdet), *COMPLEX)],
    "det": [
        case(d.determinant.det, regular(3, 3)),
        case(d.determinant.det, regular(2, 4, 4)),
        case(d.determinant.det, fixed([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])),
        case(pair(d.determinant.det), *COMPLEX),
    ],
    "cofactor": [
        case(by_name("cofactor"), regular(3, 3)),
        case(pair(by_name("cofactor")), *COMPLEX),
    ],
    "pair_products": [case(by_name("pair_products"), normal(4))],
    "expm": [case(d.exponential.expm, normal(3, 3)), case(pair(d.exponential.expm), *COMPLEX)],
    "expm_frechet": [
        case(d.exponential.expm_frechet, normal(3, 3), normal(3, 3)),
        case(d.exponential.expm_frechet, normal(2, 2, 2), normal(2, 2, 2)),
    ],
    "sylvester": [
        case(d.sylvester.sylvester, spd(3, 3), spd(2, 2), normal(3, 2)),
        case(pair(lambda z, q: d.sylvester.sylvester(z, z, c.to_complex(q))), *COMPLEX, normal(3, 3)),
    ],
    "sqrtm": [
        case(lambda a: c.real(d.sylvester.sqrtm(a)), spd(3, 3)),
        case(pair(d.sylvester.sqrtm), *COMPLEX),
    ],
    "pinv": [
        *[
            case(lambda a: d.pinv.pinv(a, _zeros_like_lead(a)), regular(*shape))
            for shape in [(3, 3), (4, 2), (2, 4), (2, 3, 2)]
        ],
        case(lambda a: d.pinv.pinv(a, np.float64(1e-9), hermitian=True), spd(3, 3)),
        case(pair(lambda z: d.pinv.pinv(z, np.float64(1e-9))), regular(4, 3), normal(4, 3)),
    ],
    "potrf": [constant(d.cholesky.potrf, spd(*shape)) for shape in [(3, 3), (2, 5, 5)]],
    "geqrf": [constant(d.householder.geqrf, normal(*shape)) for shape in [(4, 2), (2, 4), (2, 3, 3)]],
    "householder_product": [
        constant(lambda a: d.householder.householder_product(*d.householder.geqrf(a)), normal(*shape))
        for shape in [(4, 2), (2, 3, 3)]
    ],
    "schur": [constant(d.schur.schur, normal(*shape)) for shape in [(3, 3), (2, 3, 3)]],
    "hessenberg": [constant(d.schur.hessenberg, normal(*shape)) for shape in [(4, 4), (2, 3, 3), (1, 1)]],
    "tridiagonal_solve": [
        case(d.tridiagonal.tridiagonal_solve, normal(4), fixed([4.0, -5, 6, 5]), normal(4), normal(4, 2)),
        case(
            d.tridiagonal.tridiagonal_solve,
            normal(2, 3),
            fixed([[4.0, -5, 6], [7, 8, 9]]),
            normal(2, 3),
            normal(2, 3, 1),
        ),
    ],
}
