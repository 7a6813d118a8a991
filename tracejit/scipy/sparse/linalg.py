"""`jax.scipy.sparse.linalg`: linear equations whose matrix is a function of trees, solved by Krylov methods.

Programs for SciPy call `scipy.sparse.linalg` itself, which is traced too (`krylov`, `hosted`). Source of GMRES: Saad
and Schultz, GMRES: a generalized minimal residual algorithm (1986).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.custom.linear_solve import custom_linear_solve
from tracejit.docstrings import complete as _complete
from tracejit.flatten_util import ravel_pytree
from tracejit.scipy.sparse.krylov import _conjugate_gradients, _stabilised, norm
from tracejit.tracing import call_user

__all__ = ["bicgstab", "cg", "gmres"]

#: method(product, preconditioner, b, x, tolerance, steps) -> (x, ...)
Method = Callable[..., Any]


class _Linear:
    """A linear function of vectors, as the methods take operators."""

    def __init__(self, matvec: Callable[[Any], Any]) -> None:
        self.matvec = matvec


def _linear(a: Any, unravel: Callable[[Any], Any]) -> _Linear | None:
    """A matrix, or a function of trees, on vectors."""
    if a is None:
        return None
    if not callable(a):
        return _Linear(lambda v: a @ v)
    return _Linear(lambda v: ravel_pytree(call_user(a, unravel(v)))[0])


def _solution(
    method: Method, A: Any, b: Any, x0: Any, tol: Any, atol: Any, maxiter: Any, M: Any, symmetric: bool
) -> tuple[Any, None]:
    vector, unravel = ravel_pytree(b)
    vector = vector if vector.dtype.kind in "fc" else vector.astype(float)
    start = tnp.zeros_like(vector) if x0 is None else ravel_pytree(x0)[0].astype(vector.dtype)
    product, m = _linear(A, unravel), _linear(M, unravel)
    steps = 10 * vector.shape[0] if maxiter is None else maxiter

    def solve(matvec: Callable[[Any], Any], right: Any) -> Any:
        size = norm(right)
        tolerance = tnp.maximum(atol, tol * size)
        x, *_ = method(_Linear(matvec), m, right, start, tolerance, steps)
        return tnp.where(size == 0, right, x)

    x = custom_linear_solve(product.matvec, vector, solve, solve, symmetric=symmetric)  # type: ignore[union-attr]
    return unravel(x), None


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """(x, None) with A(x) = b by conjugate gradients, for a Hermitian and positive definite A.

    The steps end where the residual is below max(tol |b|, atol), or after `maxiter`. Derivatives of x solve the same
    kind of equations, whatever the number of steps.
    """
    real = ravel_pytree(b)[0].dtype.kind != "c"
    return _solution(_conjugate_gradients, A, b, x0, tol, atol, maxiter, M, real)


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """(x, None) with A(x) = b by BiCGSTAB, for any A. See `cg` for when it ends."""
    return _solution(_stabilised, A, b, x0, tol, atol, maxiter, M, False)


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: float = 1e-5,
    atol: float = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, None]:
    """(x, None) with A(x) = b by GMRES, for any A: the best of `restart` directions, again and again.

    It ends as `cg` does, `maxiter` being a number of restarts. `solve_method` is taken for JAX's sake.
    """
    size = ravel_pytree(b)[0].shape[0]
    return _solution(
        functools.partial(_restarted, min(restart, size)), A, b, x0, tol, atol, maxiter, M, False
    )


def _restarted(directions: int, a: Any, m: Any, b: Any, x: Any, tolerance: Any, most: Any) -> Any:
    precondition = (lambda v: v) if m is None else m.matvec

    def goes_on(state: Any) -> Any:
        n, _, r = state
        return (n < most) & (norm(r) > tolerance)

    def step(state: Any) -> Any:
        n, x, r = state
        x = x + _correction(directions, lambda v: precondition(a.matvec(v)), precondition(r))
        return n + 1, x, b - a.matvec(x)

    return lax.while_loop(goes_on, step, (0, x, b - a.matvec(x)))[1:]


def _correction(directions: int, product: Callable[[Any], Any], r: Any) -> Any:
    """The combination of r, A r, A² r ... whose product is nearest to r, by Arnoldi's method."""
    size = norm(r)
    tiny = np.finfo(r.dtype).tiny
    basis = tnp.at(tnp.zeros((directions + 1, r.shape[0]), r.dtype))[0].set(r / tnp.maximum(size, tiny))
    products = tnp.zeros((directions + 1, directions), r.dtype)

    def arnoldi(k: Any, state: Any) -> Any:
        basis, products = state
        v = product(basis[k])
        before = tnp.linalg.norm(v)
        h = tnp.zeros(directions + 1, r.dtype)
        for _ in range(2):  # the second time removes what rounding left
            new = tnp.conj(basis) @ v
            v, h = v - new @ basis, h + new
        left = tnp.linalg.norm(v)
        ended = left <= 4 * np.finfo(r.dtype).eps * before  # the directions span the solution
        v = tnp.where(ended, 0, v / tnp.where(ended, 1, left))
        h = tnp.at(h)[k + 1].set(tnp.where(ended, 0, left).astype(r.dtype))
        return tnp.at(basis)[k + 1].set(v), tnp.at(products)[:, k].set(h)

    basis, products = lax.fori_loop(0, directions, arnoldi, (basis, products))
    right = tnp.at(tnp.zeros(directions + 1, r.dtype))[0].set(size.astype(r.dtype))
    weights = tnp.linalg.lstsq(products, right, rcond=None)[0]
    return weights @ basis[:-1]


_complete(__name__)
