"""Matrix factorizations: values, dtypes, stacks, failures. Their rules are in tests/cases/decompositions.py."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.linalg

import tracejit as tj
from tracejit import errors, ops
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import aval_of
from tracejit.ir.primitive import Op
from tracejit.ops.decompositions import small, triangular
from tracejit.ops.decompositions.factors import cholesky, householder, lu, qr, svd
from tracejit.ops.decompositions.spectra import eig, eigh, schur, tridiagonal
from tracejit.ops.decompositions.stacks import eliminate
from tracejit.ops.decompositions.systems import determinant, exponential, pinv, solve, sylvester
from tracejit.test_util import check_grads
from tracejit.tracing import to_raw, wrap

RNG = np.random.default_rng(11)
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]
SQUARE = [(0, 0), (1, 1), (3, 3), (2, 3, 3), (0, 2, 2), (5, 2, 2, 2), (2, 0, 0)]
RECTANGLES = [*SQUARE, (4, 2), (2, 4), (2, 3, 2), (0, 3), (3, 0), (7, 2, 3)]


def random(shape: Any, dtype: Any) -> Any:
    x = RNG.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RNG.standard_normal(shape)
    return x.astype(dtype)


def definite(shape: Any, dtype: Any) -> Any:
    x = random(shape, dtype)
    return (x @ x.conj().swapaxes(-1, -2) + 2 * np.eye(shape[-1])).astype(dtype)


def H(x: Any) -> Any:
    return x.conj().swapaxes(-1, -2)


def run(fn: Any, *args: Any) -> list[Any]:
    """Eagerly, with the type that the record says, and the same compiled."""
    out = fn(*args)
    outs = list(out) if isinstance(out, (list, tuple)) else [out]
    listed = lambda *xs: list(fn(*xs)) if isinstance(out, (list, tuple)) else [fn(*xs)]
    jaxpr, _ = stage(listed, [aval_of(a) for a in args])
    assert jaxpr.out_avals == [aval_of(o) for o in outs]
    compiled = tj.jit(lambda *xs: [wrap(o) for o in listed(*(to_raw(x) for x in xs))])(*args)
    written_out = np.ndim(args[0]) > 1 and small.is_small(args[0])  # so not LAPACK's own order of operations
    for a, b in zip(compiled, outs, strict=True):
        if written_out and np.dtype(b.dtype).kind == "f":
            eps = np.finfo(b.dtype).eps
            np.testing.assert_allclose(a, b, rtol=256 * eps, atol=256 * eps * np.max(np.abs(b), initial=0))
        else:
            np.testing.assert_array_equal(a, b)
    return outs


def close(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    tol = 1e-3 if {a.dtype.char, b.dtype.char} & set("fF") else 1e-9
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


@pytest.mark.sample(7)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARE, ids=str)
def test_square_factorizations(shape: Any, dtype: Any) -> None:
    a, b = definite(shape, dtype), random(shape, dtype)
    (low,) = run(cholesky.cholesky, a)
    close(low @ H(low), a)
    w, v = run(eigh.eigh, a)
    close(v * w[..., None, :] @ H(v), a)
    close(run(eigh.eigvalsh, a)[0], w)
    w, v = run(eig.eig, b)
    close(b @ v, v * w[..., None, :])
    close(np.sort(run(eig.eigvals, b)[0].real), np.sort(w.real))
    t, z = run(schur.schur, b)
    close(z @ t @ H(z), b)
    close(run(solve.inv, a)[0], np.linalg.inv(a))
    close(run(determinant.det, b)[0], np.linalg.det(b))
    for x, y in zip(run(determinant.slogdet, b), np.linalg.slogdet(b), strict=True):
        close(x, y)
    close(run(exponential.expm, b)[0], scipy.linalg.expm(b))
    root = run(sylvester.sqrtm, a)[0]
    close(root @ root, a)


@pytest.mark.sample(11)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", RECTANGLES, ids=str)
def test_rectangular_factorizations(shape: Any, dtype: Any) -> None:
    a = random(shape, dtype)
    for full in (True, False):
        q, r = run(lambda x, f=full: qr.qr(x, full_matrices=f), a)
        close(q @ r, a)
        close(H(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*shape[:-2], *q.shape[-1:] * 2)))
        u, s, vh = run(lambda x, f=full: svd.svd(x, full_matrices=f), a)
        k = s.shape[-1]
        close(u[..., :k] * s[..., None, :] @ vh[..., :k, :], a)
    close(run(svd.svdvals, a)[0], s)
    packed, pivots, order = run(lu.lu, a)
    m, n = shape[-2:]
    low = np.tril(packed, -1)[..., : min(m, n)] + np.eye(m, min(m, n), dtype=dtype)
    up = np.triu(packed)[..., : min(m, n), :]
    close(low @ up, np.take_along_axis(a, order[..., None].astype(int), -2))
    same = run(lambda p: lu.lu_pivots_to_permutation(p, permutation_size=m), pivots)[0]
    np.testing.assert_array_equal(same, order)
    zero = np.zeros(shape[:-2], low.real.dtype)
    if a.size:
        close(run(pinv.pinv, a, zero)[0], np.linalg.pinv(a, zero))
    h, tau = run(householder.geqrf, a)
    if m >= n and a.size:
        q = run(householder.householder_product, h, tau)[0]
        close(q @ np.triu(h)[..., :n, :], a)


@pytest.mark.parametrize("shape", [(6, 3, 3), (9, 5, 2), (7, 2, 5), (5, 4, 4)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_stacks_are_eliminated_as_lapack_does(shape: Any, dtype: Any) -> None:
    a = random(shape, dtype)
    packed, pivots = eliminate(a)
    getrf = scipy.linalg.get_lapack_funcs("getrf", dtype=np.dtype(dtype))
    for n in range(shape[0]):
        want = getrf(a[n])
        np.testing.assert_array_equal(pivots[n], want[1])
        close(packed[n], want[0])


def test_a_singular_matrix_in_a_stack() -> None:
    a = np.stack([np.eye(2), np.zeros((2, 2)), np.array([[0.0, 1], [0, 2]])])
    packed, _, _ = lu.lu(a)
    np.testing.assert_array_equal(np.diagonal(packed, 0, 1, 2).prod(-1), [1, 0, 0])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", [(), (2,), (9,)], ids=str)
@pytest.mark.parametrize("flags", range(32))
@pytest.mark.sample(13)
def test_triangular_solve(flags: int, lead: Any, dtype: Any) -> None:
    names = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
    p = {name: bool(flags >> n & 1) for n, name in enumerate(names)}
    a = random((*lead, 3, 3), dtype) + 3 * np.eye(3, dtype=dtype)
    b = random((*lead, 3, 2) if p["left_side"] else (*lead, 2, 3), dtype)
    (x,) = run(lambda a, b: triangular.triangular_solve(a, b, **p), a, b)
    m = np.tril(a) if p["lower"] else np.triu(a)
    if p["unit_diagonal"]:
        m = m - m * np.eye(3) + np.eye(3)
    m = m.swapaxes(-1, -2) if p["transpose_a"] else m
    m = m.conj() if p["conjugate_a"] else m
    close(m @ x if p["left_side"] else x @ m, b)


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lead", [(), (2,), (9,), (0,)], ids=str)
@pytest.mark.parametrize("transpose", [False, True])
def test_solve(lead: Any, dtype: Any, transpose: bool) -> None:
    a, b = random((*lead, 3, 3), dtype), random((*lead, 3, 2), dtype)
    (x,) = run(lambda a, b: solve.solve_with(*solve.factors(a), b, transpose_a=transpose), a, b)
    close((a.swapaxes(-1, -2) if transpose else a) @ x, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_structured_systems(dtype: Any) -> None:
    low, d, high, b = (random((2, 4), dtype) for _ in range(4))
    d = d + 4
    (x,) = run(tridiagonal.tridiagonal_solve, low, d, high, b[..., None])
    for n in range(2):
        full = np.diag(d[n]) + np.diag(low[n, 1:], -1) + np.diag(high[n, :-1], 1)
        close(full @ x[n, :, 0], b[n])
    a, c, q = definite((3, 3), dtype), definite((2, 2), dtype), random((3, 2), dtype)
    (x,) = run(sylvester.sylvester, a, c, q)
    close(a @ x + x @ c, q)
    h, taus = run(schur.hessenberg, random((2, 4, 4), dtype))
    assert h.shape == (2, 4, 4) and taus.shape == (2, 3)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e6])
def test_expm_frechet(scale: float) -> None:
    a, e = RNG.standard_normal((2, 4, 4))
    (x,) = run(exponential.expm_frechet, a, e * scale)
    want = scipy.linalg.expm_frechet(a, e * scale, compute_expm=False)
    np.testing.assert_allclose(x, want, rtol=1e-10, atol=1e-12 * scale)


@pytest.mark.parametrize(
    "a", [np.zeros((3, 3)), np.arange(9.0).reshape(3, 3), np.diag([1.0, 0, 0]), np.eye(3)]
)
def test_cofactors_of_any_rank(a: Any) -> None:
    want = np.array(
        [
            [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(3)]
            for i in range(3)
        ]
    )
    got = ops.decompositions.determinant.cofactor_op.eval(a)
    np.testing.assert_allclose(got, want, atol=1e-12)
    check_grads(lambda x: wrap(determinant.det(to_raw(x))), (a,), order=2, atol=1e-4, rtol=1e-4)


DIFFERENTIABLE = {
    "cholesky": cholesky.cholesky,
    "inv": solve.inv,
    "solve": lambda a: solve.solve(a, a),
    "det": determinant.det,
    "slogdet": determinant.slogdet,
    "eigh": eigh.eigh,
    "eigvalsh": eigh.eigvalsh,
    "eig": eig.eig,
    "eigvals": eig.eigvals,
    "expm": exponential.expm,
    "sqrtm": sylvester.sqrtm,
    "triangular": lambda a: triangular.triangular_solve(a, a, left_side=True),
    "qr": lambda a: qr.qr(a, full_matrices=False),
    "svd": lambda a: svd.svd(a, full_matrices=False),
    "svdvals": svd.svdvals,
    "lu": lambda a: lu.lu(a)[0],
}


@pytest.mark.sample(5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_have_the_dtype(name: str, dtype: Any) -> None:
    """In every precision, and of empty matrices."""
    more = [(0, 3), (3, 0), (4, 2), (2, 4)] if name in ("qr", "svd", "svdvals", "lu") else []
    for shape in [(0, 0), (1, 1), (2, 0, 0), (3, 3), (0, 2, 2), *more]:
        x = definite(shape, dtype) if shape[-1] == shape[-2] else random(shape, dtype)

        def fn(a: Any) -> list[Any]:
            out = DIFFERENTIABLE[name](to_raw(a))
            return [wrap(o) for o in (out if isinstance(out, list) else [out])]

        outs, tangents = tj.jvp(fn, (x,), (x,))
        for o, t in zip(outs, tangents, strict=True):
            assert o.dtype == t.dtype and o.shape == t.shape and np.isfinite(t).all()
        (ct,) = tj.vjp(fn, x)[1]([np.ones_like(o) for o in outs])
        assert ct.dtype == x.dtype and ct.shape == x.shape and np.isfinite(ct).all()


# ---------------------------------------------------------------- failures


def test_without_check_failures_are_nan() -> None:
    bad = np.stack([np.eye(2), -np.eye(2)])
    low = cholesky.cholesky(bad)
    np.testing.assert_array_equal(low[0], np.eye(2))
    assert np.isnan(low[1]).all()
    x = solve.inv(np.stack([np.eye(2), np.zeros((2, 2))]))
    assert np.isfinite(x[0]).all() and np.isnan(x[1]).all()
    with np.errstate(all="ignore"):
        assert not np.isfinite(solve.solve(np.zeros((2, 2)), np.ones((2, 1)))).any()
    nan = np.full((2, 2), np.nan)
    for fn in (eig.eig, eig.eigvals, svd.svd, svd.svdvals, eigh.eigh, eigh.eigvalsh):
        with np.errstate(all="ignore"):
            outs = fn(nan)
        assert all(np.isnan(o).all() for o in (outs if isinstance(outs, list) else [outs])), fn.__name__


@pytest.mark.parametrize("n", [2, 12], ids=["written out", "by LAPACK"])
@pytest.mark.parametrize("lead", [(), (2,), (2, 3)], ids=str)
def test_inverses_of_stacks_with_singular_matrices(lead: Any, n: int) -> None:
    a = random((*lead, n, n), float) + 3 * np.eye(n)
    for singular in (False, True):
        if singular:
            a[(-1,) * len(lead)] = np.outer(np.arange(n), np.ones(n))
        want = np.full_like(a, np.nan)
        for at in np.ndindex(*lead):
            if not singular or at != tuple(k - 1 for k in lead):
                want[at] = np.linalg.inv(a[at])
        for got in (solve.inv(a), tj.jit(lambda x: wrap(solve.inv(to_raw(x))))(a)):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_singular_values_of_infinite_matrices_come_to_an_end() -> None:
    """LAPACK goes on for ever with this matrix."""
    endless = np.array([[np.inf, 1, 0], [0, 1, 0], [0, 0, 1]])
    stack = np.stack([np.eye(3), endless])
    for fn in (lambda x: svd.svd(x)[1], svd.svdvals):
        s = fn(stack)
        assert s[0].tolist() == [1, 1, 1] and np.isnan(s[1]).all()
    for fn in (np.linalg.svdvals, np.linalg.pinv, lambda x: np.linalg.norm(x, 2)):
        with pytest.raises(np.linalg.LinAlgError):
            tj.jit(fn)(endless)
    with np.errstate(all="ignore"):
        assert tj.grad(np.linalg.det)(endless).shape == tj.hessian(np.linalg.det)(endless).shape[:2] == (3, 3)


@pytest.mark.parametrize("where", ["one", "all"])
def test_derivatives_are_nan_where_numpy_gives_nan(where: str) -> None:
    a = (
        np.array([[2.0, np.nan, 0.1], [0.3, 3.0, 0.2], [0.1, 0.4, 1.5]])
        if where == "one"
        else np.full((3, 3), np.nan)
    )
    functions = {
        "inv": np.linalg.inv,
        "solve": lambda a: np.linalg.solve(a, np.ones(3)),
        "det": np.linalg.det,
        "slogdet": lambda a: np.linalg.slogdet(a)[1],
        "qr": lambda a: np.linalg.qr(a)[1],
        "matrix_power": lambda a: np.linalg.matrix_power(a, -2),
    }
    for name, f in functions.items():
        with np.errstate(all="ignore"):
            assert np.isnan(f(a)).any(), name
            assert np.isnan(tj.jvp(f, (a,), (np.ones((3, 3)),))[1]).any(), name
            assert np.isnan(tj.jit(tj.grad(lambda a, f=f: np.sum(f(a))))(a)).any(), name


def test_with_check_they_raise_compiled_code_too() -> None:
    for fn, a in [
        (lambda x: cholesky.cholesky(x, check=True), -np.eye(2)),
        (lambda x: solve.inv(x, check=True), np.zeros((2, 2))),
        (lambda x: solve.solve(x, x, check=True), np.zeros((2, 2))),
        (lambda x: eig.eig(x, check=True)[0], np.full((2, 2), np.nan)),
    ]:
        with pytest.raises(np.linalg.LinAlgError):
            fn(a)
        compiled = tj.jit(lambda x, fn=fn: wrap(fn(to_raw(x))))
        with pytest.raises(np.linalg.LinAlgError):
            compiled(a)
        unused = tj.jit(lambda x, fn=fn: (wrap(fn(to_raw(x))), x + 1)[1])
        with pytest.raises(np.linalg.LinAlgError):
            unused(a)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.int64, np.bool_])
def test_other_dtypes_are_refused(dtype: Any) -> None:
    x = np.eye(2).astype(dtype)
    for fn in (cholesky.cholesky, lu.lu, qr.qr, svd.svd, eig.eig, eigh.eigh, solve.inv, exponential.expm):
        with pytest.raises(errors.MatrixDtypeError):
            tj.eval_shape(lambda x, fn=fn: (fn(to_raw(x)), x)[1], x)


def test_shapes_are_checked() -> None:
    for fn in (cholesky.cholesky, eig.eig, eigh.eigh, solve.inv, schur.schur, determinant.det):
        for x in (np.ones((2, 3)), np.ones(3)):
            with pytest.raises(errors.MatrixShapeError):
                tj.eval_shape(lambda x, fn=fn: (fn(to_raw(x)), x)[1], x)
    with pytest.raises(errors.ShapeError):
        tj.jit(lambda a, b: wrap(triangular.triangular_solve(to_raw(a), to_raw(b))))(
            np.eye(3), np.ones((2, 2))
        )


def test_what_has_no_derivative_says_so() -> None:
    a = RNG.standard_normal((3, 2))
    for fn in (qr.qr, householder.geqrf):
        with pytest.raises(errors.NotDifferentiableError):
            tj.jvp(lambda x, fn=fn: wrap(fn(to_raw(x))[0]), (a,), (a,))
    with pytest.raises(errors.NotDifferentiableError):
        tj.jvp(lambda x: wrap(schur.schur(to_raw(x))[0]), (a[:2],), (a[:2],))


def test_determinants_of_what_is_not_finite() -> None:
    a = np.stack([np.eye(2), np.full((2, 2), np.nan), np.diag([np.inf, 1])])
    with np.errstate(all="ignore"):
        grad = tj.grad(lambda x: wrap(determinant.det(to_raw(x))).sum())(a)
    np.testing.assert_array_equal(grad[0], np.eye(2))
    assert np.isnan(grad[1]).all()


# ---------------------------------------------------------------- batching


def count(fn: Any, op: Op, *args: Any) -> int:
    text = str(tj.make_jaxpr(fn)(*args))
    return text.count(f" {op.name}[") + text.count(f" {op.name} ")


def test_one_matrix_for_all_examples_stays_one() -> None:
    a, b = RNG.standard_normal((3, 3)) + 3 * np.eye(3), RNG.standard_normal((5, 3, 2))
    tri = lambda b: wrap(triangular.triangular_solve(a, to_raw(b), left_side=True, lower=True))
    right = lambda b: wrap(triangular.triangular_solve(a, to_raw(b.T), lower=True))
    for fn in (tri, right, lambda b: wrap(solve.solve(a, to_raw(b)))):
        np.testing.assert_allclose(tj.vmap(fn)(b), np.stack([fn(x) for x in b]), rtol=1e-12)
        jaxpr = str(tj.make_jaxpr(tj.vmap(fn))(b))
        assert "f64[5,3,3]" not in jaxpr


def test_a_dynamic_extent() -> None:
    a = definite((4, 4), np.float64)

    def step(i: Any, total: Any) -> Any:
        return total + np.linalg.cholesky(a[:i, :i]).sum() + np.linalg.slogdet(a[:i, :i])[1]

    got = tj.jit(lambda: tj.lax.fori_loop(1, 5, step, 0.0))()
    want = sum(step(i, 0.0) for i in range(1, 5))
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize(
    "fn",
    [
        lambda m: np.linalg.inv(m).sum(),
        lambda m: np.linalg.solve(m, m[0]).sum(),
        lambda m: np.linalg.slogdet(m)[1],
        lambda m: np.linalg.cholesky(m).sum(),
        lambda m: np.linalg.eigvalsh(m).max(),
        lambda m: (np.linalg.eigh(m)[1] ** 2 @ np.linalg.eigh(m)[0]).sum(),
        lambda m: np.linalg.svd(m, full_matrices=False)[1].sum(),
        lambda m: np.linalg.qr(m)[1].sum(),
        lambda m: np.linalg.norm(m, 2),
    ],
)
def test_derivatives_with_a_dynamic_extent(fn: Any) -> None:
    a = definite((4, 4), np.float64)

    def total(x: Any) -> Any:
        return tj.lax.fori_loop(1, 5, lambda i, t: t + fn(x[:i, :i]), 0.0)

    def unrolled(x: Any) -> Any:
        return sum(fn(x[:i, :i]) for i in range(1, 5))

    close(tj.jit(total)(a), unrolled(a))
    close(tj.jit(tj.grad(total))(a), tj.grad(unrolled)(a))
