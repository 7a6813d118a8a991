"""`numpy.linalg` on traced values: NumPy's values, shapes, dtypes and errors, and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit as tj
from tests.numpy.running import check, eager, staged
from tracejit import errors
from tracejit import numpy as tnp
from tracejit.test_util import check_grads

RNG = np.random.default_rng(3)
la = np.linalg


def normal(*shape: int, dtype: Any = np.float64) -> Any:
    x = RNG.standard_normal(shape)
    x = x + np.copysign(0.01, x)  # away from 0, where norms have corners
    return (x + 1j * RNG.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def definite(*shape: int, dtype: Any = np.float64) -> Any:
    x = normal(*shape, dtype=dtype)
    return (x @ x.conj().swapaxes(-1, -2) + np.diag(np.arange(1.0, shape[-1] + 1))).astype(dtype)


A, B, S = normal(3, 3), normal(2, 3, 3), definite(3, 3)
C = normal(3, 3, dtype=complex)

CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cholesky": (la.cholesky, (S,)),
    "cholesky stack": (la.cholesky, (definite(2, 3, 3),)),
    "cholesky upper": (lambda a: la.cholesky(a, upper=True), (S,)),
    "cholesky reads a triangle": (la.cholesky, (np.tril(S) + np.triu(A, 1) * 7,)),
    "cholesky upper reads the other": (lambda a: la.cholesky(a, upper=True), (np.triu(S) + np.tril(A, -1),)),
    "cholesky integer": (la.cholesky, (np.array([[4, 2], [2, 3]]),)),
    "cholesky complex": (la.cholesky, (definite(3, 3, dtype=np.complex64),)),
    "qr": (la.qr, (normal(4, 2),)),
    "qr complete": (lambda a: la.qr(a, "complete"), (normal(4, 2),)),
    "qr r": (lambda a: la.qr(a, mode="r"), (normal(2, 4),)),
    "qr raw": (lambda a: la.qr(a, mode="raw"), (normal(4, 2),)),
    "qr stack": (la.qr, (normal(2, 3, 4),)),
    "eigh": (lambda a: la.eigh(a)[0], (S,)),
    "eigh upper": (lambda a: la.eigh(a, "U").eigenvalues, (A,)),
    "eigh vectors": (lambda a: abs(la.eigh(a).eigenvectors), (S,)),
    "eigvalsh": (la.eigvalsh, (B,)),
    "eigvalsh upper": (lambda a: la.eigvalsh(a, UPLO="u"), (B,)),
    "eig": (lambda a: la.eig(a)[0], (C,)),
    "eig vectors": (lambda a: abs(la.eig(a).eigenvectors), (C,)),
    "eigvals": (la.eigvals, (C,)),
    "svd": (lambda a: la.svd(a).S, (normal(4, 2),)),
    "svd shapes": (lambda a: [abs(x) for x in la.svd(a, full_matrices=False)], (normal(2, 4),)),
    "svd full": (lambda a: [abs(x) for x in la.svd(a)[1:]], (normal(4, 2),)),
    "svd values": (lambda a: la.svd(a, compute_uv=False), (normal(2, 4, 3),)),
    "svd hermitian": (lambda a: [abs(x) for x in la.svd(a, hermitian=True)], (A + A.T,)),
    "svd hermitian values": (lambda a: la.svd(a, compute_uv=False, hermitian=True), (A + A.T,)),
    "svdvals": (la.svdvals, (normal(2, 4),)),
    "inv": (la.inv, (B,)),
    "inv integer": (la.inv, (np.array([[2, 1], [1, 1]]),)),
    "inv single": (la.inv, (S.astype(np.float32),)),
    "inv empty": (la.inv, (np.zeros((0, 0)),)),
    "solve vector": (la.solve, (A, normal(3))),
    "solve matrix": (la.solve, (A, normal(3, 2))),
    "solve stack, vector": (la.solve, (B, normal(3))),
    "solve stack, stack": (la.solve, (B, normal(2, 3, 1))),
    "solve one, stack": (la.solve, (A, normal(2, 3, 1))),
    "solve broadcast": (la.solve, (normal(2, 1, 3, 3), normal(4, 3, 2))),
    "solve mixed": (la.solve, (A.astype(np.float32), np.arange(3))),
    "solve complex": (la.solve, (A, C)),
    "solve singles": (la.solve, (S.astype(np.float32), C.astype(np.complex64))),
    "solve empty": (la.solve, (np.zeros((0, 0)), np.zeros(0))),
    "solve no columns": (la.solve, (A, np.zeros((3, 0)))),
    "det": (la.det, (B,)),
    "det complex": (la.det, (C,)),
    "det empty": (la.det, (np.zeros((2, 0, 0)),)),
    "det integer": (la.det, (np.array([[1, 2], [3, 4]]),)),
    "slogdet": (la.slogdet, (B,)),
    "slogdet complex": (la.slogdet, (C,)),
    "slogdet singular": (la.slogdet, (np.zeros((2, 2)),)),
    "pinv": (la.pinv, (normal(4, 2),)),
    "pinv stack": (la.pinv, (normal(2, 2, 4),)),
    "pinv deficient": (la.pinv, (np.outer(np.arange(1.0, 4), np.arange(1.0, 3)),)),
    "pinv rcond": (lambda a: la.pinv(a, 0.5), (normal(4, 3),)),
    "pinv rtol": (lambda a: la.pinv(a, rtol=0.5), (normal(4, 3),)),
    "pinv hermitian": (lambda a: la.pinv(a, hermitian=True), (S,)),
    "pinv empty": (la.pinv, (np.zeros((0, 3)),)),
    "lstsq": (la.lstsq, (normal(5, 3), normal(5, 2))),
    "lstsq vector": (la.lstsq, (normal(5, 3), normal(5))),
    "lstsq wide": (lambda a, b: la.lstsq(a, b, rcond=-1), (normal(2, 4), normal(2))),
    "matrix_rank": (la.matrix_rank, (B,)),
    "matrix_rank deficient": (la.matrix_rank, (np.ones((3, 3)),)),
    "matrix_rank tol": (lambda a: la.matrix_rank(a, 1.0), (B,)),
    "matrix_rank rtol": (lambda a: la.matrix_rank(a, rtol=0.5), (B,)),
    "matrix_rank hermitian": (lambda a: la.matrix_rank(a, hermitian=True), (S,)),
    "matrix_rank vector": (la.matrix_rank, (np.ones(3),)),
    **{
        f"cond {p}": (lambda a, p=p: la.cond(a, p), (B,))
        for p in (None, 1, -1, 2, -2, np.inf, -np.inf, "fro")
    },
    "cond tall": (lambda a: la.cond(a, 2), (normal(5, 3),)),
    "cond singular": (lambda a: la.cond(a, 1), (np.zeros((2, 2)),)),
    "matrix_power": (lambda a: la.matrix_power(a, 5), (B,)),
    "matrix_power negative": (lambda a: la.matrix_power(a, -3), (S,)),
    "matrix_power zero": (lambda a: la.matrix_power(a, 0), (B,)),
    "multi_dot": (lambda *a: la.multi_dot(a), (normal(3, 9), normal(9, 2), normal(2, 7), normal(7, 4))),
    "multi_dot vectors": (lambda *a: la.multi_dot(a), (normal(3), normal(3, 2), normal(2))),
    "multi_dot vector": (lambda *a: la.multi_dot(a), (normal(3), normal(3, 2))),
    "tensorinv": (la.tensorinv, (normal(4, 6, 8, 3),)),
    "tensorinv 1": (lambda a: la.tensorinv(a, ind=1), (normal(6, 2, 3),)),
    "tensorsolve": (la.tensorsolve, (normal(2, 3, 6), normal(2, 3))),
    "tensorsolve axes": (lambda a, b: la.tensorsolve(a, b, axes=(0, 2)), (normal(2, 6, 3), normal(6))),
    "trace": (la.trace, (B,)),
    "trace offset": (lambda a: la.trace(a, offset=1, dtype=np.complex128), (normal(2, 3, 4),)),
    "diagonal": (lambda a: la.diagonal(a, offset=-1), (normal(2, 3, 4),)),
    "outer": (la.outer, (normal(2), normal(3))),
    "cross": (la.cross, (normal(2, 3), normal(2, 3))),
    "cross axis": (lambda a, b: la.cross(a, b, axis=0), (normal(3, 2), normal(3, 2))),
    "matmul": (la.matmul, (B, A)),
    "tensordot": (lambda a, b: la.tensordot(a, b, axes=1), (B, A)),
    "matrix_transpose": (la.matrix_transpose, (normal(2, 3, 4),)),
    "vecdot": (la.vecdot, (C, C[::-1])),
    "vecdot axis": (lambda a, b: la.vecdot(a, b, axis=0), (A, A)),
    "np.trace": (np.trace, (normal(3, 3, 2),)),
    "np.vecdot": (np.vecdot, (C, normal(3))),
    "np.einsum": (lambda a, b: np.einsum("bij,jk->bik", a, b), (B, A)),
}
ORDERS = (None, 0, 0.5, 1, -1, 2, -2, 3, -3, 2.5, np.inf, -np.inf)
MATRIX_ORDERS = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
for o in ORDERS:
    for name, v in (("real", normal(4)), ("complex", normal(4, dtype=complex)), ("int", np.array([3, -4]))):
        CALLS[f"norm {o} {name}"] = (lambda a, o=o: la.norm(a, o), (v,))
    CALLS[f"norm {o} axis"] = (lambda a, o=o: la.norm(a, o, axis=1, keepdims=True), (normal(2, 3, 4),))
    CALLS[f"vector_norm {o}"] = (lambda a, o=2 if o is None else o: la.vector_norm(a, ord=o), (B,))
    CALLS[f"vector_norm {o} axes"] = (
        lambda a, o=2 if o is None else o: la.vector_norm(a, ord=o, axis=(0, 2), keepdims=True),
        (B,),
    )
for o in MATRIX_ORDERS:
    CALLS[f"norm matrix {o}"] = (lambda a, o=o: la.norm(a, o), (normal(3, 4),))
    CALLS[f"norm matrix {o} axes"] = (lambda a, o=o: la.norm(a, o, (2, 0)), (normal(2, 3, 4),))
    CALLS[f"norm matrix {o} keepdims"] = (lambda a, o=o: la.norm(a, o, (0, 1), True), (normal(2, 3, 4),))
    CALLS[f"matrix_norm {o}"] = (
        lambda a, o="fro" if o is None else o: la.matrix_norm(a, ord=o, keepdims=True),
        (normal(2, 3, 4),),
    )
#: Without derivative here.
CONSTANT = ("qr complete", "qr raw", "svd", "svd full")
CALLS["norm half"] = (la.norm, (np.array([1, 2], np.float16),))
CALLS["norm of all"] = (la.norm, (B,))


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name: str) -> None:
    fn, args = CALLS[name]
    ways = (staged,) if name in CONSTANT else (eager, staged)
    check(fn, *args, rtol=1e-4 if "single" in name else 1e-9, ways=ways)


@pytest.mark.parametrize("name", [n for n in CALLS if "raw" not in n])
@pytest.mark.sample(12)
def test_compiled_and_batched(name: str) -> None:
    """Under jit and vmap, with plain NumPy's names."""
    fn, args = CALLS[name]
    with np.errstate(all="ignore"):
        want = tj.tree.leaves(fn(*args))
        close(tj.tree.leaves(tj.jit(fn)(*args)), want)
        batch = [np.stack([a, a]) for a in args]
        for got in (tj.vmap(fn)(*batch), tj.jit(tj.vmap(fn))(*batch)):
            close(tj.tree.leaves(got), [np.stack([w, w]) for w in want])


def close(got: Any, want: Any) -> None:
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert g.shape == w.shape and g.dtype == w.dtype
        tol = 1e-2 if w.dtype.char == "e" else 1e-4 if w.dtype.char in "fF" else 1e-9
        np.testing.assert_allclose(g, w, rtol=tol, atol=tol)


def test_every_name_of_numpy_is_here() -> None:
    assert set(np.linalg.__all__) <= set(tnp.linalg.__all__)
    for name in np.linalg.__all__:
        fn = getattr(np.linalg, name)
        assert name == "LinAlgError" or tnp.NUMPY_TO_TRACEJIT[fn] is getattr(tnp.linalg, name), name


def test_results_are_named_tuples() -> None:
    for name, fields in {
        "eigh": ("eigenvalues", "eigenvectors"),
        "eig": ("eigenvalues", "eigenvectors"),
        "qr": ("Q", "R"),
        "svd": ("U", "S", "Vh"),
        "slogdet": ("sign", "logabsdet"),
    }.items():
        got = tj.jit(getattr(np.linalg, name))(S)
        assert type(got) is type(getattr(np.linalg, name)(S)) and got._fields == fields


def test_eigenvalues_are_complex_where_python_can_not_take_over() -> None:
    """As NumPy's are from 2.5 on; before, they are real where all imaginary parts are 0."""
    assert tj.jit(np.linalg.eigvals, fallback=False)(S).dtype == np.complex128
    assert tj.jit(np.linalg.eig, fallback=False)(S.astype(np.float32)).eigenvectors.dtype == np.complex64


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize("dtype", [np.float16])
def test_half_precision_is_refused_as_in_numpy(dtype: Any) -> None:
    x = np.eye(2, dtype=dtype)
    for fn in (la.inv, la.cholesky, la.svd, la.eigh, la.qr, la.det, la.eig):
        for call in (fn, tj.jit(fn)):
            with pytest.raises(TypeError, match=r"(float|f)16 is unsupported in linalg"):
                call(x)


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (la.inv, (np.ones((2, 3)),)),
        (la.inv, (np.ones(3),)),
        (la.cholesky, (-np.eye(2),)),
        (lambda a: la.cholesky(a, upper=True), (np.ones(3),)),
        (la.solve, (np.zeros((2, 2)), np.ones(2))),
        (la.inv, (np.zeros((2, 2)),)),
        (la.eig, (np.full((2, 2), np.inf),)),
        (la.lstsq, (np.ones((2, 2, 2)), np.ones(2))),
        (la.cond, (np.zeros((0, 0)),)),
        (la.matrix_power, (np.ones((2, 3)), 2)),
        (lambda a: la.multi_dot([a, a, a]), (np.ones((2, 2, 2)),)),
        (lambda a: la.tensorsolve(a, a[0]), (np.ones((2, 3)),)),
    ],
)
def test_linalg_errors(fn: Any, args: Any) -> None:
    with pytest.raises(np.linalg.LinAlgError):
        fn(*args)
    with pytest.raises(np.linalg.LinAlgError):
        tj.jit(fn, static_argnums=tuple(n for n, a in enumerate(args) if type(a) is int))(*args)


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (lambda a: la.eigh(a, "X"), (S,)),
        (lambda a: la.norm(a, "fro"), (np.ones(3),)),
        (lambda a: la.norm(a, 7), (S,)),
        (lambda a: la.norm(a, 2), (B,)),
        (lambda a: la.qr(a, "wrong"), (S,)),
        (lambda a: la.pinv(a, 1e-3, rtol=1e-3), (S,)),
        (lambda a: la.matrix_rank(a, 1e-3, rtol=1e-3), (S,)),
        (lambda a: la.tensorinv(a, 0), (S,)),
        (lambda a: la.multi_dot([a]), (S,)),
        (lambda a: la.outer(a, a), (S,)),
        (lambda a: la.cross(a, a), (np.ones(2),)),
        (la.solve, (A, np.ones(2))),
    ],
)
def test_value_errors(fn: Any, args: Any) -> None:
    with pytest.raises(ValueError):
        fn(*args)
    with pytest.raises(ValueError):
        tj.jit(fn)(*args)


# ---------------------------------------------------------------- derivatives

SMOOTH = [
    n
    for n, (fn, args) in CALLS.items()
    if all(np.asarray(a).dtype == np.float64 and a.size for a in args)
    and not any(w in n for w in ("rank", "raw", "singular", "deficient", "vectors", "complete", "norm 0 "))
    and n not in (*CONSTANT, "pinv rcond", "pinv rtol", "pinv hermitian", "vector_norm 0", "vector_norm 0 axes")
]  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.sample(2)
def test_derivatives(name: str) -> None:
    fn, args = CALLS[name]

    def floats(*xs: Any) -> list[Any]:
        outs = tj.tree.leaves(fn(*xs))
        return [o for o in outs if o.dtype.kind in "fc" and o.size]

    check_grads(floats, args, order=1, atol=1e-4, rtol=1e-4)


def gaussian(cov: Any, x: Any) -> Any:
    _, logdet = np.linalg.slogdet(cov)
    return -0.5 * (logdet + x @ np.linalg.solve(cov, x))


def test_hessian_of_a_gaussian() -> None:
    x = normal(3)
    check_grads(gaussian, (S, x), order=2, atol=1e-4, rtol=1e-4)
    hess = tj.hessian(gaussian)(S, x)
    np.testing.assert_allclose(tj.jit(tj.hessian(gaussian))(S, x), hess, rtol=1e-9, atol=1e-12)
    inverse = np.linalg.inv(S)
    y = inverse @ x
    np.testing.assert_allclose(tj.grad(gaussian, 1)(S, x), -y, rtol=1e-10)
    np.testing.assert_allclose(
        tj.grad(gaussian)(S, x), -0.5 * (inverse.T - np.outer(inverse.T @ x, y)), rtol=1e-9
    )


def test_gaussians_under_vmap() -> None:
    covs, xs = definite(4, 3, 3), normal(4, 3)
    want = np.stack([tj.grad(gaussian)(c, x) for c, x in zip(covs, xs, strict=True)])
    np.testing.assert_allclose(tj.jit(tj.vmap(tj.grad(gaussian)))(covs, xs), want, rtol=1e-9)
    one = tj.jit(tj.vmap(tj.grad(gaussian, 1), (None, 0)))(covs[0], xs)
    np.testing.assert_allclose(one, -np.linalg.solve(covs[0], xs[..., None])[..., 0], rtol=1e-9)


def test_cholesky_and_triangles_give_the_same_gradient() -> None:
    def by_cholesky(cov: Any, x: Any) -> Any:
        low = np.linalg.cholesky(cov)
        z = np.linalg.solve(low, x)
        return -np.log(np.diagonal(low)).sum() - 0.5 * z @ z

    x = normal(3)
    got, want = tj.grad(by_cholesky)(S, x), tj.grad(gaussian)(S, x)
    assert (np.triu(got, 1) == 0).all()  # only the lower triangle is read
    np.testing.assert_allclose(got, np.tril(want) + np.triu(want, 1).T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("a", [np.eye(3), np.diag([1.0, 1, 2]), np.zeros((3, 3))])
def test_repeated_eigenvalues(a: Any) -> None:
    """Symmetric functions of the values have derivatives, whatever the vectors do."""
    np.testing.assert_allclose(tj.grad(lambda x: np.linalg.eigvalsh(x).sum())(a), np.eye(3), atol=1e-12)
    np.testing.assert_allclose(tj.grad(lambda x: np.linalg.eigh(x)[0].sum())(a), np.eye(3), atol=1e-12)
    squares = tj.grad(lambda x: (np.linalg.eigvalsh(x) ** 2).sum())(a)
    np.testing.assert_allclose(squares, 2 * a, atol=1e-12)
    for fn in (np.linalg.eigh, np.linalg.svd):
        for g in tj.jacrev(lambda x, fn=fn: [abs(o) for o in fn(x)])(a):
            assert np.isfinite(g).all()
    trace = tj.grad(lambda x: np.linalg.eigvals(x).real.sum())(a)
    np.testing.assert_allclose(trace, np.eye(3), atol=1e-12)


def test_nuclear_norm_of_repeated_singular_values() -> None:
    q = np.linalg.qr(A)[0]
    np.testing.assert_allclose(tj.grad(lambda x: np.linalg.norm(x, "nuc"))(q), q, atol=1e-12)
    np.testing.assert_allclose(tj.grad(lambda x: np.linalg.svdvals(x).sum())(q), q, atol=1e-12)


@pytest.mark.parametrize("o", [None, 2, 3, 1.5, 0.5])
def test_norms_at_zero_have_a_subgradient(o: Any) -> None:
    for x in (np.zeros(3), np.array([0.0, 0, 2])):
        for f in (tj.grad(lambda v: np.linalg.norm(v, o)), tj.jit(tj.grad(lambda v: np.linalg.norm(v, o)))):
            g = f(x)
            assert np.isfinite(g).all()
            np.testing.assert_allclose(g[:2], 0)
    if o is None:
        np.testing.assert_array_equal(tj.grad(np.linalg.norm)(np.zeros((2, 2))), 0)
        forward = tj.jvp(np.linalg.norm, (np.zeros(3),), (np.ones(3),))[1]
        assert forward == 0


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_determinants_of_any_rank(rank: int) -> None:
    a = normal(3, rank) @ normal(rank, 3)
    check_grads(np.linalg.det, (a,), order=2, atol=1e-4, rtol=1e-4)


def test_eig_of_a_general_matrix() -> None:
    a = np.array([[1.0, 2.0, 0.3], [-2.0, 0.5, 1.0], [0.1, 0.4, -1.5]])  # a complex pair and a real one

    def reconstructed(x: Any) -> Any:
        w, v = np.linalg.eig(x)
        return (np.sin(w)[None, :] * v @ np.linalg.inv(v)).real

    check_grads(reconstructed, (a,), order=2, atol=1e-4, rtol=1e-4)
    check_grads(lambda x: abs(np.linalg.eigvals(x)), (a,), order=2, atol=1e-4, rtol=1e-4)
    check_grads(lambda x: np.linalg.eig(x)[1], (a,), order=2, atol=1e-4, rtol=1e-4)  # LAPACK's scale too


def test_a_wide_qr_and_a_gauge() -> None:
    for shape in ((2, 4), (4, 4), (4, 2)):
        check_grads(np.linalg.qr, (normal(*shape),), order=2, atol=1e-3, rtol=1e-3)


def test_least_squares_to_second_order() -> None:
    a, b = normal(5, 3), normal(5)
    check_grads(lambda a, b: np.linalg.lstsq(a, b)[0], (a, b), order=2, atol=1e-3, rtol=1e-3)
    check_grads(np.linalg.pinv, (normal(2, 3),), order=2, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0)])
def test_matrices_without_elements(shape: Any) -> None:
    x = np.zeros(shape)
    for fn in (la.inv, la.det, la.cholesky, la.svd, la.slogdet, la.eigvalsh, la.qr):
        got, want = tj.jit(fn)(x), fn(x)
        for g, w in zip(tj.tree.leaves(got), tj.tree.leaves(want), strict=True):
            assert (g.shape, g.dtype) == (w.shape, w.dtype)
            np.testing.assert_array_equal(g, w)


def test_unsupported_derivatives_say_so() -> None:
    with pytest.raises(errors.NotDifferentiableError):
        tj.grad(lambda a: np.linalg.qr(a, "complete")[0].sum())(normal(3, 2))


def test_a_loop_of_solves() -> None:
    def relax(a: Any, x: Any) -> Any:
        return tj.lax.fori_loop(0, 4, lambda i, y: np.linalg.solve(a, y) + x, x).sum()

    x = normal(3)
    check_grads(relax, (S, x), order=1, atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(tj.jit(tj.grad(relax))(S, x), tj.grad(relax)(S, x), rtol=1e-10)
