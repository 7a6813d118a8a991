"""Eigenvalues of general sparse matrices by SciPy's ARPACK and incomplete factors by SuperLU, which programs call.

The derivative of an eigenvalue and of its vector solve the equations (A - w) dv - v dw = -dA v, v^H dv = 0 by a dense
matrix, which have a solution where the eigenvalue is simple. An incomplete factorisation has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.callbacks.routines import library_call
from tracejit.control.custom.jvp import custom_jvp
from tracejit.ir.avals import Aval, aval_of
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.sparse.hosted import Direct, columns
from tracejit.scipy.sparse.solving import solver
from tracejit.scipy.sparse.spectra import dense_of, first_vector, refuse
from tracejit.scipy.sparse.squares import columns_of
from tracejit.tracing import to_raw, wrap

_C128 = np.dtype(complex)


@solver
def eigs(
    A: Any, k: int = 6, M: Any = None, sigma: Any = None, which: str = "LM", v0: Any = None, ncv: Any = None,
    maxiter: Any = None, tol: Any = 0, return_eigenvectors: bool = True, Minv: Any = None, OPinv: Any = None,
    OPpart: Any = None, rng: Any = None,
) -> Any:  # fmt: skip
    """`k` eigenvalues, and their vectors, of a real sparse or dense matrix, by SciPy's ARPACK."""
    for option, given in {"M": M, "Minv": Minv, "OPinv": OPinv}.items():
        if given is not None:
            refuse("eigs", f"the option `{option}`")
    data, made = columns_of("eigs", A)
    dense, n = dense_of(A), A.shape[0]
    settings = {"which": which, "ncv": ncv, "maxiter": maxiter, "tol": tol, "sigma": sigma, "OPpart": OPpart}
    settings["rng"] = rng
    started = first_vector(v0)

    def host(_: Any, d: Any, *v: Any) -> Any:
        w, vectors = scipy_module("sparse.linalg").eigs(made(d), k, v0=v[0] if v else None, **settings)
        if return_eigenvectors:
            return w, vectors.T
        alone = scipy_module("sparse.linalg").eigs(
            made(d), k, v0=v[0] if v else None, return_eigenvectors=False, **settings
        )
        order = [int(np.argmin(np.abs(w - x))) for x in alone]  # without vectors the order is another one
        return alone, vectors.T[order]

    @custom_jvp
    def pairs(d: Any) -> Any:
        types = [Aval((k,), _C128), Aval((k, n), _C128)]
        return tuple(solving.host_call(host, [], types, d, *started))

    @pairs.defjvp
    def _slopes(primals: Any, tangents: Any) -> Any:
        w, z = pairs(*primals)
        a, da = dense(primals[0]), dense(tangents[0])

        def one(c: Any, pair: Any) -> Any:
            value, v = pair
            border = tnp.concatenate([a - value * tnp.eye(n), -v[:, None]], axis=1)
            last = tnp.concatenate([tnp.conj(v), tnp.zeros(1)])[None]
            right = tnp.concatenate([-(da @ v), tnp.zeros(1)])
            moved = tnp.linalg.solve(tnp.concatenate([border, last]), right)
            return c, (moved[n], moved[:n])

        return (w, z), lax.scan(one, None, (w, z))[1]

    w, z = pairs(data)
    return (w, z.T) if return_eigenvectors else w


class _Incomplete(Direct):
    """The solution with incomplete factors, which are kept until the elements are others."""

    reason = (
        "it is of an approximation that changes in jumps (spsolve and splu have derivatives; a preconditioner needs "
        "none, if LinearOperator is told its dtype)"
    )

    def _found(self, data: np.ndarray) -> Any:
        return scipy_module("sparse.linalg").spilu(self._matrix(data), **self.options)


class _Approximation:
    """What stands for the SuperLU object of `spilu`."""

    def __init__(self, a: Any, options: dict[str, Any]) -> None:
        self._matrix = columns(a)
        self._direct = _Incomplete(self._matrix, True, options, [])
        self._direct.name, self._direct.told = (
            "scipy.sparse.linalg.spilu",
            "host call of scipy.sparse.linalg.spilu",
        )
        self.shape = tuple(a.shape)

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """x of L U x = rhs, or of its transpose ("T", "H"), for rhs (n,) or (n, k)."""
        if trans == "H":
            return self.solve(tnp.conj(rhs), "T").conj()
        b = tnp.asarray(rhs)
        kind = np.promote_types(np.result_type(self._matrix.dtype, b.dtype), np.float32)
        raw, data = to_raw(b.astype(kind)), to_raw(tnp.asarray(self._matrix.data).astype(kind))
        (x,) = library_call(self._direct.giving(aval_of(raw), trans == "T"), data, raw)
        return wrap(x)


@solver
def spilu(A: Any, **options: Any) -> Any:
    """Incomplete factors of a sparse A (n, n), for preconditioners; they have no derivative."""
    return _Approximation(A, options)
