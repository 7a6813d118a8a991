"""Linear equations with sparse matrices: SciPy's direct solver, and Krylov methods as loops of the program.

Derivatives of solutions are solutions of the same equations (`custom_linear_solve`), by whichever method. Sources:
Barrett et al., Templates for the Solution of Linear Systems (1994): conjugate gradients (figure 2.5), BiCGSTAB (2.10).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.callbacks.routines import library_call
from tracejit.control.custom.linear_solve import custom_linear_solve
from tracejit.errors import SolverOptionError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.sparse.forms import known
from tracejit.tracing import Box, call_user, is_tracing, to_raw, wrap

#: Name in scipy.sparse.linalg -> its traced form.
SOLVERS: dict[str, Callable[..., Any]] = {}


def _solver(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: SciPy's function of this name where nothing is traced, else `fn`."""
    name = fn.__name__

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            return getattr(scipy_module("sparse.linalg"), name)(*args, **kwargs)
        return fn(*args, **kwargs)

    SOLVERS[name] = call
    return call


# ---------------------------------------------------------------- direct


class _Direct:
    """SciPy's solver on a matrix of a known structure: `data` and the right side come when the program runs.

    `factored`: by factors that are kept until `data` is another, as those of `splu` are."""

    raises = (ValueError, RuntimeError, ArithmeticError)
    reason = "it has derivatives of its own"

    def __init__(self, matrix: Any, factored: bool, options: dict[str, Any], held: list[Any]) -> None:
        self.indices, self.indptr = known(matrix.indices), known(matrix.indptr)
        self.shape = tuple(matrix.shape)
        self.factored = factored
        self.options = options
        self.held = held  # (data, its factors), shared with the transposed solver
        self.transposed = False
        self.results: tuple[Aval, ...] = ()
        self.name = "scipy.sparse.linalg.splu" if factored else "scipy.sparse.linalg.spsolve"
        self.told = f"host call of {self.name}"

    def giving(self, result: Aval, transposed: bool) -> _Direct:
        """The same with a result of this type, of the transposed equations if so."""
        other = object.__new__(_Direct)
        other.__dict__.update(self.__dict__, results=(result,), transposed=transposed)
        return other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Direct) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> Any:
        parts = (id(self.indices), id(self.indptr), self.shape, self.factored, tuple(self.options.items()))
        return (*parts, id(self.held), self.transposed, self.results)

    def __call__(self, data: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        linalg = scipy_module("sparse.linalg")
        if self.factored:
            x = self._factors(data).solve(b, "T" if self.transposed else "N")
        else:
            a = self._matrix(data)
            x = linalg.spsolve(a.T.tocsc() if self.transposed else a, b, **self.options)
        return [np.ascontiguousarray(x, self.results[0].dtype).reshape(self.results[0].shape)]

    def _matrix(self, data: np.ndarray) -> Any:
        return scipy_module("sparse").csc_array((data, self.indices, self.indptr), shape=self.shape)

    def _factors(self, data: np.ndarray) -> Any:
        held = self.held[-1] if self.held else None
        if held is None or held[0].dtype != data.dtype or not np.array_equal(held[0], data):
            held = np.array(data), scipy_module("sparse.linalg").splu(self._matrix(data), **self.options)
            self.held[:] = [held]
        return held[1]


def _solved(matrix: Any, b: Any, direct: _Direct, transposed: bool = False) -> Any:
    """x of `matrix` x = b, (n,) or (n, k), in the common dtype."""
    b = tnp.asarray(b)
    dtype = np.promote_types(np.result_type(matrix.dtype, b.dtype), np.float32)
    b, data = b.astype(dtype), to_raw(tnp.asarray(matrix.data).astype(dtype))
    product = matrix.T if transposed else matrix

    def solve(turned: bool) -> Callable[[Any, Any], Any]:
        def by_host(_: Any, y: Any) -> Any:
            raw = to_raw(y)
            x, *info = map(wrap, library_call(direct.giving(aval_of(raw), turned), data, raw))
            return (x, *info) if info else x

        return by_host

    aux = isinstance(direct, _Iterative)
    solvers = solve(transposed), solve(not transposed)
    return custom_linear_solve(lambda v: product @ v, b, *solvers, has_aux=aux)


def _columns(a: Any) -> Any:
    """A sparse matrix in compressed columns, which is what SciPy's solver takes."""
    matrix = a.tocsc()
    matrix.sum_duplicates()
    return matrix


@_solver
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """x of A x = b for a sparse A (n, n) and a dense b (n,) or (n, k), as SciPy's SuperLU finds it.

    The solver is called while the program runs; derivatives, by the elements of A too, are solutions with A or its
    transpose."""
    if _is_sparse(b):
        return scipy_module("sparse.linalg").spsolve(A, b, permc_spec, use_umfpack)
    matrix, b = _columns(A), tnp.asarray(b)
    options = {"permc_spec": permc_spec, "use_umfpack": use_umfpack}
    if b.ndim == 2 and b.shape[1] == 1:
        b = b.reshape(-1)
    return _solved(matrix, b, _Direct(matrix, False, options, []))


class _Factors:
    """What stands for SciPy's SuperLU object: it solves equations."""

    def __init__(self, a: Any, options: dict[str, Any]) -> None:
        self._matrix = _columns(a)
        self._direct = _Direct(self._matrix, True, options, [])
        self.shape = tuple(a.shape)

    @property
    def nnz(self) -> int:
        """Not known: it depends on the elements. Raises AttributeError."""
        raise AttributeError("the number of elements of traced factors is not known")

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """x of A x = rhs, of A^T x = rhs ("T") or of A^H x = rhs ("H"), for rhs (n,) or (n, k)."""
        if trans == "H":
            return self.solve(tnp.conj(rhs), "T").conj()
        return _solved(self._matrix, rhs, self._direct, trans == "T")


@_solver
def splu(A: Any, **options: Any) -> Any:
    """The factors of a sparse A (n, n), which are found again only where the elements of A are others."""
    return _Factors(A, options)


@_solver
def factorized(A: Any) -> Callable[[Any], Any]:
    """A function that solves A x = b."""
    return _Factors(A, {}).solve


# ---------------------------------------------------------------- Krylov methods


def _is_sparse(x: Any) -> bool:
    return type(x) is not Box and hasattr(x, "tocsc")


def _product(a: Any) -> Callable[[Any], Any]:
    """The product with a matrix, sparse or dense, or a linear operator."""
    if a is None:
        return lambda v: v
    matvec = getattr(a, "matvec", None)
    return (lambda v: call_user(matvec, v)) if matvec is not None else (lambda v: a @ v)


def _adjoint(a: Any) -> Any:
    """The transpose, for the derivatives; None where an operator has none that could be asked for."""
    if a is None:
        return None
    rmatvec = getattr(a, "rmatvec", None)
    if rmatvec is None:
        return a.T
    return _Operator(lambda v: call_user(rmatvec, v.conj()).conj())


class _Operator:
    def __init__(self, matvec: Callable[[Any], Any]) -> None:
        self.matvec = matvec


class _System:
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
            def by_method(_: Any, b: Any) -> Any:
                size = tnp.sqrt(tnp.sum(tnp.abs(b) ** 2))
                tolerance = tnp.maximum(self.atol, self.rtol * size)
                x, steps, done = method(a, m, b, self.x0, tolerance, self.maxiter)
                return tnp.where(size == 0, b, x), tnp.where(done | (size == 0), 0, steps)

            return by_method

        back = None if symmetric else solve(_adjoint(self.a), _adjoint(self.m))
        x, info = custom_linear_solve(
            _product(self.a), self.b, solve(self.a, self.m), back, symmetric=symmetric, has_aux=True
        )
        return x, _as_int(info)


def _as_int(x: Any) -> Any:
    """An integer of Python's."""
    x = tnp.asarray(x)
    return int(x) if type(x) is not Box else wrap(to_raw(x), True)


def _norm(r: Any) -> Any:
    return tnp.sqrt(tnp.sum(tnp.abs(r) ** 2))


def _dot(x: Any, y: Any) -> Any:
    return tnp.sum(tnp.conj(x) * y)


def _conjugate_gradients(a: Any, m: Any, b: Any, x: Any, tolerance: Any, most: Any) -> Any:
    product, precondition = _product(a), _product(m)

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
    n, x, r, *_ = lax.while_loop(lambda s: (s[0] < most) & ~(_norm(s[2]) < tolerance), step, start)
    return x, n, n < most


def _stabilised(a: Any, m: Any, b: Any, x: Any, tolerance: Any, most: Any) -> Any:
    """BiCGSTAB. It stops where it breaks down, as SciPy's does."""
    product, precondition = _product(a), _product(m)
    least = np.finfo(b.dtype).eps ** 2

    def goes_on(state: Any) -> Any:
        n, _, r, *_, end = state
        return (n < most) & ~(_norm(r) < tolerance) & (end == 0)

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
        early = _norm(half) < tolerance
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


@_solver
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
    _refuse_callback("cg", callback)
    return _System(A, b, x0, rtol, atol, maxiter, M).solve(_conjugate_gradients, symmetric=_is_real(A, b))


@_solver
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
    _refuse_callback("bicgstab", callback)
    return _System(A, b, x0, rtol, atol, maxiter, M).solve(_stabilised, symmetric=False)


def _is_real(a: Any, b: Any) -> bool:
    """Whether the equations are real, so that a Hermitian matrix is symmetric."""
    return all(np.dtype(getattr(x, "dtype", None) or float).kind != "c" for x in (a, tnp.asarray(b)))


def _refuse_callback(name: str, callback: Any) -> None:
    if callback is not None:
        name = f"scipy.sparse.linalg.{name}"
        raise SolverOptionError(function=name, problem="`callback`", remedy="leave it away")


# ---------------------------------------------------------------- SciPy's own


class _Iterative(_Direct):
    """SciPy's own Krylov method, named `method`, which gives (x, info)."""

    def __init__(self, matrix: Any, method: str, options: dict[str, Any]) -> None:
        super().__init__(matrix, False, options, [])
        self.method = method
        self.name = f"scipy.sparse.linalg.{method}"
        self.told = f"host call of {self.name}"

    def giving(self, result: Aval, transposed: bool) -> _Direct:
        """The same with an x of this type."""
        out = object.__new__(_Iterative)
        out.__dict__.update(
            self.__dict__, results=(result, Aval((), np.dtype(np.int64))), transposed=transposed
        )
        return out

    def _key(self) -> Any:
        return self.method, super()._key()

    def __call__(self, data: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        a = self._matrix(data)
        solver = getattr(scipy_module("sparse.linalg"), self.method)
        x, info = solver(a.T if self.transposed else a, b, **self.options)
        return [np.ascontiguousarray(x, self.results[0].dtype), np.asarray(info, np.int64)]


def _by_scipy(name: str) -> None:
    def call(A: Any, b: Any, x0: Any = None, **options: Any) -> Any:
        held = {"x0": x0, **{k: options.pop(k, None) for k in ("M", "callback")}}
        for keyword, given in held.items():
            if given is not None:
                raise SolverOptionError(
                    function=f"scipy.sparse.linalg.{name}", problem=f"`{keyword}`", remedy="leave it away"
                )
        if not _is_sparse(A):
            problem = "what is no sparse array"
            raise SolverOptionError(
                function=f"scipy.sparse.linalg.{name}", problem=problem, remedy="use cg or bicgstab"
            )
        matrix = _columns(A)
        b = tnp.asarray(b)
        x, info = _solved(matrix, b.reshape(-1), _Iterative(matrix, name, options))
        return x, _as_int(info)

    call.__name__ = name
    call.__doc__ = f"(x, info) of A x = b for a sparse A (n, n), by SciPy's own `{name}`, with derivatives."
    _solver(call)


for _name in ("bicg", "cgs", "gcrotmk", "gmres", "lgmres", "qmr", "tfqmr"):
    _by_scipy(_name)
