"""Eigenvalues and singular values of sparse matrices by SciPy's ARPACK, and exponentials as a loop of the program.

ARPACK is called while the program runs. The derivative of an eigenvalue is v^T dA v. That of its vector solves the
equations (A - w) dv - v dw = -dA v, v^T dv = 0 by a dense matrix: they have a solution where the eigenvalue is simple.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.custom.jvp import custom_jvp
from tracejit.errors import SolverOptionError
from tracejit.ir.avals import Aval
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.sparse.forms import known
from tracejit.scipy.sparse.hosted import spsolve
from tracejit.scipy.sparse.solving import is_sparse, solver
from tracejit.scipy.sparse.squares import columns_of

_F64 = np.dtype(float)


def refuse(name: str, problem: str, remedy: str = "leave it away") -> None:
    raise SolverOptionError(function=f"scipy.sparse.linalg.{name}", problem=problem, remedy=remedy)


def first_vector(v0: Any) -> list[Any]:
    """ARPACK's first vector as an operand of the program, or none; results have no derivative by it."""
    return [] if v0 is None else [lax.stop_gradient(tnp.asarray(v0).astype(float))]


def dense_of(a: Any) -> Callable[[Any], Any]:
    """The dense matrix of given elements in the order of `columns_of`."""
    if not is_sparse(a):
        return lambda d: d
    matrix = a.tocsc()
    matrix.sum_duplicates()
    n = matrix.shape[1]
    columns = np.repeat(np.arange(n), np.diff(known(matrix.indptr)))
    rows, shape = np.asarray(known(matrix.indices)), tuple(matrix.shape)
    return lambda d: tnp.at(tnp.zeros(shape))[rows, columns].add(d)


def _moved(a: Any, da: Any, w: Any, z: Any) -> Any:
    """The tangents of the eigenvectors `z` (k, n) of the symmetric matrix `a` with eigenvalues `w`."""
    n = a.shape[0]

    def one(c: Any, pair: Any) -> Any:
        value, v = pair
        border = tnp.concatenate([a - value * tnp.eye(n), -v[:, None]], axis=1)
        last = tnp.concatenate([v, tnp.zeros(1)])[None]
        right = tnp.concatenate([-(da @ v), tnp.zeros(1)])
        return c, tnp.linalg.solve(tnp.concatenate([border, last]), right)[:n]

    return lax.scan(one, None, (w, z))[1]


@solver
def eigsh(
    A: Any, k: int = 6, M: Any = None, sigma: Any = None, which: str = "LM", v0: Any = None, ncv: Any = None,
    maxiter: Any = None, tol: Any = 0, return_eigenvectors: bool = True, Minv: Any = None, OPinv: Any = None,
    mode: str = "normal", rng: Any = None,
) -> Any:  # fmt: skip
    """`k` eigenvalues, and their vectors, of a symmetric sparse or dense matrix, by SciPy's ARPACK."""
    for option, given in {"M": M, "Minv": Minv, "OPinv": OPinv}.items():
        if given is not None:
            refuse("eigsh", f"the option `{option}`")
    data, made = columns_of("eigsh", A)
    dense, n = dense_of(A), A.shape[0]
    settings = {
        "sigma": sigma,
        "which": which,
        "ncv": ncv,
        "maxiter": maxiter,
        "tol": tol,
        "mode": mode,
        "rng": rng,
    }

    started = first_vector(v0)

    def host(_: Any, d: Any, *first: Any) -> Any:
        given = settings | {"v0": first[0] if first else None}
        w, v = scipy_module("sparse.linalg").eigsh(made(d), k, **given)
        if return_eigenvectors:
            return w, v.T
        # Without vectors ARPACK gives the values in an order of its own.
        alone = scipy_module("sparse.linalg").eigsh(
            made(d), k, return_eigenvectors=False, **given | {"rng": None if rng is None else 0}
        )
        order = np.argsort(w)[np.argsort(np.argsort(alone))]
        return w[order], v.T[order]

    @custom_jvp
    def pairs(d: Any) -> Any:
        return tuple(solving.host_call(host, [], [Aval((k,), _F64), Aval((k, n), _F64)], d, *started))

    @pairs.defjvp
    def _slopes(primals: Any, tangents: Any) -> Any:
        w, z = pairs(*primals)
        a, da = dense(primals[0]), dense(tangents[0])
        return (w, z), (tnp.sum(z * (z @ da.T), axis=1), _moved(a, da, w, z))

    w, z = pairs(data)
    return (w, z.T) if return_eigenvectors else w


@solver
def svds(
    A: Any, k: int = 6, ncv: Any = None, tol: Any = 0, which: str = "LM", v0: Any = None, maxiter: Any = None,
    return_singular_vectors: Any = True, solver: str = "arpack", rng: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """`k` singular values, and their vectors, of a sparse or dense matrix, by SciPy's solver."""
    if return_singular_vectors not in (True, False, "u", "vh"):
        raise ValueError("`return_singular_vectors` must be in (False, True, 'u', 'vh').")
    data, made = columns_of("svds", A)
    dense, (m, n) = dense_of(A), A.shape
    settings = {"ncv": ncv, "tol": tol, "which": which, "maxiter": maxiter, "solver": solver, "rng": rng}
    settings["options"] = options
    half = 0.5**0.5

    started = first_vector(v0)

    def host(_: Any, d: Any, *first: Any) -> Any:
        v0 = first[0] if first else None
        u, s, vh = scipy_module("sparse.linalg").svds(made(d), k, v0=v0, **settings)
        return s, np.concatenate([u.T, vh], axis=1) * half

    @custom_jvp
    def triples(d: Any) -> Any:
        return tuple(solving.host_call(host, [], [Aval((k,), _F64), Aval((k, m + n), _F64)], d, *started))

    @triples.defjvp
    def _slopes(primals: Any, tangents: Any) -> Any:
        """Singular values are eigenvalues of the symmetric matrix of A and its transpose beside the diagonal."""
        s, z = triples(*primals)
        a, da = (_symmetric(dense(d)) for d in (primals[0], tangents[0]))
        return (s, z), (tnp.sum(z * (z @ da.T), axis=1), _moved(a, da, s, z))

    s, z = triples(data)
    if return_singular_vectors is False:
        return s
    both = return_singular_vectors is True
    left = z[:, :m].T / half if both or return_singular_vectors == "u" else None
    return left, s, z[:, m:] / half if both or return_singular_vectors == "vh" else None


def _symmetric(a: Any) -> Any:
    m, n = a.shape
    upper = tnp.concatenate([tnp.zeros((m, m)), a], axis=1)
    return tnp.concatenate([upper, tnp.concatenate([a.T, tnp.zeros((n, n))], axis=1)])


# ---------------------------------------------------------------- exponentials

#: The degree of the series, and the norm of the matrix up to which one step of it is exact (Al-Mohy and Higham 2011).
_DEGREE, _REACH = 55, 9.9


@solver
def expm_multiply(
    A: Any, B: Any, start: Any = None, stop: Any = None, num: Any = None, endpoint: Any = None, traceA: Any = None
) -> Any:  # fmt: skip
    """exp(A) B, or exp(t A) B at `num` times t from `start` to `stop`: a loop over a Taylor series of A less its mean
    diagonal (Al-Mohy and Higham 2011)."""
    if not (is_sparse(A) or (hasattr(A, "shape") and not hasattr(A, "matvec"))):
        refuse("expm_multiply", "an operator", "give a matrix")
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError("expected A to be like a square matrix")
    B = tnp.asarray(B)
    if np.result_type(A.dtype, B.dtype) == np.float32:
        refuse("expm_multiply", "float32", "give arrays of float64")
    if A.shape[1] != B.shape[0]:
        raise ValueError(f"shapes of matrices A {A.shape} and B {B.shape} are incompatible")
    B = B.astype(np.result_type(A.dtype, B.dtype, float))
    n = A.shape[0]
    shift = tnp.sum(A.diagonal()) / n
    if start is stop is num is endpoint is None:
        return _exponential(A, B, shift, 1.0)
    if start is None or stop is None:
        raise ValueError("if 'start' or 'stop' is given, both must be")
    count = 50 if num is None else int(num)
    times = tnp.linspace(start, stop, count, endpoint=True if endpoint is None else endpoint)
    gaps = tnp.concatenate([times[:1], times[1:] - times[:-1]])

    def one(x: Any, gap: Any) -> Any:
        x = _exponential(A, x, shift, gap)
        return x, x

    return lax.scan(one, B, gaps)[1]


def _exponential(a: Any, b: Any, shift: Any, t: Any) -> Any:
    dense = abs(a)
    size = lax.stop_gradient(tnp.max(dense.sum(axis=0)) + tnp.abs(shift)) * tnp.abs(lax.stop_gradient(t))
    steps = tnp.maximum(tnp.ceil(size / _REACH), 1.0)
    scale = t / steps

    def step(_: Any, x: Any) -> Any:
        def term(j: Any, state: Any) -> Any:
            last, total = state
            last = (a @ last - shift * last) * (scale / (j + 1))
            return last, total + last

        return lax.fori_loop(0, _DEGREE, term, (x, x))[1] * tnp.exp(shift * scale)

    return lax.fori_loop(0, steps.astype(np.int64), step, b)


@solver
def spsolve_triangular(
    A: Any, b: Any, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:  # fmt: skip
    """x of A x = b for a triangular sparse A, as `spsolve` finds it."""
    if not is_sparse(A):
        refuse("spsolve_triangular", "what is no sparse array", "call spsolve")
    a = A.tocsc()
    columns = np.repeat(np.arange(a.shape[1]), np.diff(known(a.indptr)))
    rows = np.asarray(known(a.indices))
    if np.any(rows < columns if lower else rows > columns):
        raise ValueError(f"A is not triangular: {'lower' if lower else 'upper'}={lower}.")
    if unit_diagonal:
        A = _with_ones(a, rows, columns)
    x = spsolve(A, b)
    return x.reshape(tnp.asarray(b).shape)


def _with_ones(a: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
    """The matrix in compressed columns, which has its elements at these places, with ones on the diagonal."""
    n, others = a.shape[0], np.flatnonzero(rows != columns)
    rows = np.concatenate([rows[others], np.arange(n)])
    columns = np.concatenate([columns[others], np.arange(n)])
    order, out = np.lexsort((rows, columns)), a.copy()
    out.data = tnp.concatenate([a.data[others], tnp.ones(n, a.dtype)])[order]
    out.indices = rows[order].astype(np.int32)
    out.indptr = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=n))]).astype(np.int32)
    return out
