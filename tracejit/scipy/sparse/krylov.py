"""Krylov methods as loops of the program, on sparse or dense matrices and linear operators.

Derivatives of solutions are solutions of the same equations (`custom_linear_solve`). Source: Barrett et al., Templates
for the Solution of Linear Systems (1994): conjugate gradients (figure 2.5), BiCGSTAB (figure 2.10).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.custom.linear_solve import custom_linear_solve
from tracejit.errors import SolverOptionError
from tracejit.scipy.solving import ask
from tracejit.scipy.sparse.solving import as_int, solver


def product_with(a: Any) -> Callable[[Any], Any]:
    """The product with a matrix, sparse or dense, or a linear operator."""
    if a is None:
        return lambda v: v
    matvec = getattr(a, "matvec", None)
    return (lambda v: ask(matvec, v)) if matvec is not None else (lambda v: a @ v)


def _adjoint(a: Any) -> Any:
    """The transpose, for the derivatives; None where an operator has none."""
    if a is None or getattr(a, "_CustomLinearOperator__rmatvec_impl", _Operator) is None:
        return None
    rmatvec = getattr(a, "rmatvec", None)
    if rmatvec is None:
        return a.T
    return _Operator(lambda v: ask(rmatvec, v.conj()).conj())


class _Operator:
    def __init__(self, matvec: Callable[[Any], Any]) -> None:
        self.matvec = matvec


class System:
    """The equations A x = b with a first guess, tolerances and a preconditioner, as Krylov methods take them."""

    def __init__(self, a: Any, b: Any, x0: Any, rtol: float, atol: float, maxiter: Any, m: Any) -> None:
        b = tnp.asarray(b)
        b = b if b.dtype.kind in "fc" else b.astype(float)
        dtype = getattr(a, "dtype", None)
        dtype = b.dtype if dtype is None else np.promote_types(np.result_type(dtype, np.float32), b.dtype)
        n = b.size
        shape = tuple(a.shape)
        if shape != (n, n) or b.shape not in ((n,), (n, 1)):
            raise ValueError(f"shapes of A {shape} and b {b.shape} are incompatible")
        self.a, self.m = a, m
        self.b = b.reshape(-1).astype(dtype)
        self.x0 = tnp.zeros(n, dtype) if x0 is None else tnp.asarray(x0).reshape(-1).astype(dtype)
        self.rtol, self.atol = float(rtol), float(atol)
        self.maxiter = n * 10 if maxiter is None else maxiter

    def solve(self, method: Callable[..., Any], symmetric: bool) -> Any:
        """(x, info) by `method(a, m, b, x, tolerance, steps)`, which gives x and whether it has converged."""

        def solve(a: Any, m: Any) -> Callable[[Any, Any], Any]:
            def by_method(product: Callable[[Any], Any], b: Any) -> Any:
                size = norm(b)
                tolerance = tnp.maximum(self.atol, self.rtol * size)
                matrix = _Operator(product) if a is None else a
                x, steps, done = method(matrix, m, b, self.x0, tolerance, self.maxiter)
                return tnp.where(size == 0, b, x), tnp.where(done | (size == 0), 0, steps)

            return by_method

        back = None if symmetric else solve(_adjoint(self.a), _adjoint(self.m))
        x, info = custom_linear_solve(
            product_with(self.a), self.b, solve(self.a, self.m), back, symmetric=symmetric, has_aux=True
        )
        return x, as_int(info)


def norm(r: Any) -> Any:
    return tnp.sqrt(tnp.sum(tnp.abs(r) ** 2))


def _dot(x: Any, y: Any) -> Any:
    return tnp.sum(tnp.conj(x) * y)


def _conjugate_gradients(a: Any, m: Any, b: Any, x: Any, tolerance: Any, most: Any) -> Any:
    product, precondition = product_with(a), product_with(m)

    def step(state: Any) -> Any:
        n, x, r, p, before = state
        z = precondition(r)
        now = _dot(r, z)
        p = z + tnp.where(n > 0, now / tnp.where(n > 0, before, 1), 0) * p
        q = product(p)
        alpha = now / _dot(p, q)
        return n + 1, x + alpha * p, r - alpha * q, p, now

    r = b - product(x)
    start = (0, x, r, tnp.zeros_like(b), tnp.ones((), b.dtype))
    n, x, r, *_ = lax.while_loop(lambda s: (s[0] < most) & ~(norm(s[2]) < tolerance), step, start)
    return x, n, n < most


def _stabilised(a: Any, m: Any, b: Any, x: Any, tolerance: Any, most: Any) -> Any:
    """BiCGSTAB. It stops where it breaks down, as SciPy's does."""
    product, precondition = product_with(a), product_with(m)
    least = np.finfo(b.dtype).eps ** 2

    def goes_on(state: Any) -> Any:
        n, _, r, *_, end = state
        return (n < most) & ~(norm(r) < tolerance) & (end == 0)

    def step(state: Any) -> Any:
        n, x, r, p, v, before, alpha, omega, _ = state
        now = _dot(shadow, r)
        beta = tnp.where(n > 0, (now / before) * (alpha / omega), 0)
        p = tnp.where(n > 0, r + beta * (p - omega * v), r)
        hat = precondition(p)
        v = product(hat)
        turned = _dot(shadow, v)
        broken = tnp.where((n > 0) & (tnp.abs(omega) < least) | (turned == 0), -11, 0)
        broken = tnp.where(tnp.abs(now) < least, -10, broken)
        alpha = now / turned
        half, x_half = r - alpha * v, x + alpha * hat
        early = norm(half) < tolerance
        hat = precondition(half)
        t = product(hat)
        omega = _dot(t, half) / _dot(t, t)
        whole, x_whole = half - omega * t, x_half + omega * hat
        x = tnp.where(broken < 0, x, tnp.where(early, x_half, x_whole))
        r = tnp.where(broken < 0, r, tnp.where(early, half, whole))
        return n + 1, x, r, p, v, now, alpha, omega, tnp.where((broken == 0) & early, 1, broken)

    r = shadow = b - product(x)
    one, zero = tnp.ones((), b.dtype), tnp.zeros_like(b)
    n, x, r, *_, end = lax.while_loop(goes_on, step, (0, x, r, zero, zero, one, one, one, 0))
    return x, tnp.where(end < 0, end, n), (end == 1) | ((end == 0) & (n < most))


@solver
def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
) -> Any:
    """(x, info) of A x = b by conjugate gradients, A (n, n) being Hermitian and positive definite: a matrix, sparse or
    dense, or a linear operator. `info` is 0, or the number of steps where it has not converged in `maxiter`."""
    refuse_callback("cg", callback)
    return System(A, b, x0, rtol, atol, maxiter, M).solve(_conjugate_gradients, symmetric=_is_real(A, b))


@solver
def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: Any = None,
    M: Any = None,
    callback: Any = None,
) -> Any:
    """(x, info) of A x = b by BiCGSTAB, A (n, n) being a matrix, sparse or dense, or a linear operator. `info` is 0,
    the number of steps where it has not converged in `maxiter`, or negative where it has broken down."""
    refuse_callback("bicgstab", callback)
    return System(A, b, x0, rtol, atol, maxiter, M).solve(_stabilised, symmetric=False)


def _is_real(a: Any, b: Any) -> bool:
    """Whether the equations are real, so that a Hermitian matrix is symmetric."""
    return all(np.dtype(getattr(x, "dtype", None) or float).kind != "c" for x in (a, tnp.asarray(b)))


def refuse_callback(name: str, callback: Any) -> None:
    if callback is not None:
        name = f"scipy.sparse.linalg.{name}"
        raise SolverOptionError(function=name, problem="`callback`", remedy="leave it away")
