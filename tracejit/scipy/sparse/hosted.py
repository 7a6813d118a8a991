"""Linear equations with sparse matrices by SciPy's own code, called while the program runs: SuperLU, Krylov methods.

Derivatives of solutions are solutions of the same equations (`custom_linear_solve`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.control.callbacks.routines import library_call
from tracejit.control.custom.linear_solve import custom_linear_solve
from tracejit.errors import SolverOptionError
from tracejit.ir.avals import Aval, aval_of
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.sparse.forms import known
from tracejit.scipy.sparse.solving import as_int, is_sparse, solver
from tracejit.tracing import to_raw, wrap


class Direct:
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

    def giving(self, result: Aval, transposed: bool) -> Direct:
        """The same with a result of this type, of the transposed equations if so."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, results=(result,), transposed=transposed)
        return other

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._key() == self._key()

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

    def _found(self, data: np.ndarray) -> Any:
        return scipy_module("sparse.linalg").splu(self._matrix(data), **self.options)

    def _factors(self, data: np.ndarray) -> Any:
        held = self.held[-1] if self.held else None
        if held is None or held[0].dtype != data.dtype or not np.array_equal(held[0], data):
            held = np.array(data), self._found(data)
            self.held[:] = [held]
        return held[1]


def _solved(matrix: Any, b: Any, direct: Direct, transposed: bool = False) -> Any:
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


def columns(a: Any) -> Any:
    """A sparse matrix in compressed columns, which is what SciPy's solver takes."""
    matrix = a.tocsc()
    matrix.sum_duplicates()
    return matrix


@solver
def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """x of A x = b for a sparse A (n, n) and a dense b (n,) or (n, k), as SciPy's SuperLU finds it.

    The solver is called while the program runs; derivatives, by the elements of A too, are solutions with A or its
    transpose."""
    if is_sparse(b):
        return scipy_module("sparse.linalg").spsolve(A, b, permc_spec, use_umfpack)
    matrix, b = columns(A), tnp.asarray(b)
    options = {"permc_spec": permc_spec, "use_umfpack": use_umfpack}
    if b.ndim == 2 and b.shape[1] == 1:
        b = b.reshape(-1)
    return _solved(matrix, b, Direct(matrix, False, options, []))


class _Factors:
    """What stands for SciPy's SuperLU object: it solves equations."""

    def __init__(self, a: Any, options: dict[str, Any]) -> None:
        self._matrix = columns(a)
        self._direct = Direct(self._matrix, True, options, [])
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


@solver
def splu(A: Any, **options: Any) -> Any:
    """The factors of a sparse A (n, n), which are found again only where the elements of A are others."""
    return _Factors(A, options)


@solver
def factorized(A: Any) -> Callable[[Any], Any]:
    """A function that solves A x = b."""
    return _Factors(A, {}).solve


# ---------------------------------------------------------------- Krylov methods


class _Iterative(Direct):
    """SciPy's own Krylov method, named `method`, which gives (x, info)."""

    def __init__(self, matrix: Any, method: str, options: dict[str, Any]) -> None:
        super().__init__(matrix, False, options, [])
        self.method = method
        self.name = f"scipy.sparse.linalg.{method}"
        self.told = f"host call of {self.name}"

    def giving(self, result: Aval, transposed: bool) -> Direct:
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
        if not is_sparse(A):
            problem = "what is no sparse array"
            raise SolverOptionError(
                function=f"scipy.sparse.linalg.{name}", problem=problem, remedy="use cg or bicgstab"
            )
        matrix = columns(A)
        b = tnp.asarray(b)
        x, info = _solved(matrix, b.reshape(-1), _Iterative(matrix, name, options))
        return x, as_int(info)

    call.__name__ = name
    call.__doc__ = f"(x, info) of A x = b for a sparse A (n, n), by SciPy's own `{name}`, with derivatives."
    solver(call)


for _name in ("bicg", "cgs", "gcrotmk", "lgmres", "qmr", "tfqmr"):
    _by_scipy(_name)
