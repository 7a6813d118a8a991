"""Least squares with sparse matrices by SciPy's `lsqr` and `lsmr`, which are called while the program runs.

Derivatives are those of the minimum, or of the shortest solution where there are more unknowns than equations, of a
matrix of full rank; their equations are solved by conjugate gradients.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.control.custom.implicit import custom_root
from tracejit.control.custom.linear_solve import custom_linear_solve
from tracejit.errors import SolverOptionError
from tracejit.ir.avals import Aval
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.sparse.forms import known
from tracejit.scipy.sparse.krylov import _conjugate_gradients
from tracejit.scipy.sparse.solving import as_int, is_sparse, solver
from tracejit.tracing import to_raw, wrap

_F64 = np.dtype(float)
#: Of the results after x: how many whole numbers, then how many others, and which of all these are NumPy's floats.
_RESULTS = {"lsqr": (2, 6, (6,)), "lsmr": (2, 5, (3, 5, 6))}


def columns_of(name: str, a: Any) -> tuple[Any, Callable[[np.ndarray], Any]]:
    """A real sparse or dense matrix as (its elements, a function of known elements that gives the matrix)."""
    if is_sparse(a):
        matrix = a.tocsc()
        matrix.sum_duplicates()
        where, shape = (known(matrix.indices), known(matrix.indptr)), tuple(matrix.shape)
        data = tnp.asarray(matrix.data)

        def made(d: np.ndarray) -> Any:
            return scipy_module("sparse").csc_array((d, *where), shape=shape)

    elif hasattr(a, "shape") and not hasattr(a, "matvec"):
        data = tnp.asarray(a)

        def made(d: np.ndarray) -> Any:
            return d

    else:
        raise SolverOptionError(
            function=f"scipy.sparse.linalg.{name}", problem="an operator", remedy="give a matrix"
        )
    if data.dtype.kind not in "iuf" or data.dtype == np.float32:
        problem, remedy = f"a matrix of {data.dtype}", "give one of float64"
        raise SolverOptionError(function=f"scipy.sparse.linalg.{name}", problem=problem, remedy=remedy)
    return data.astype(float), made


def _by_gradients(product: Callable[[Any], Any], y: Any) -> Any:
    """x with product(x) = y, for a symmetric and positive definite product."""

    class Operator:
        matvec = staticmethod(product)

    def solve(_: Any, y: Any) -> Any:
        size = tnp.sqrt(tnp.sum(y * y))
        x, *_ = _conjugate_gradients(Operator, None, y, tnp.zeros_like(y), 1e-14 * size, 20 * y.size)
        return tnp.where(size == 0, y, x)

    return custom_linear_solve(product, y, solve, symmetric=True)


def _least(name: str) -> None:
    whole, others, numpys = _RESULTS[name]

    def call(A: Any, b: Any, damp: Any = 0.0, *args: Any, **options: Any) -> Any:
        taken = list(inspect.signature(getattr(scipy_module("sparse.linalg"), name)).parameters)[3:]
        if len(args) > len(taken):
            raise TypeError(f"{name}() takes at most {len(taken) + 3} arguments")
        options = dict(**dict(zip(taken, args, strict=False)), **options)
        for option in ("show", "calc_var"):
            if options.pop(option, False):
                raise SolverOptionError(
                    function=f"scipy.sparse.linalg.{name}", problem=option, remedy="leave it away"
                )
        data, made = columns_of(name, A)
        b = tnp.asarray(b).astype(float).reshape(-1)
        m, n = A.shape
        damp = tnp.asarray(damp).astype(float)
        start = options.pop("x0", None)
        guess = tnp.zeros(n) if start is None else tnp.asarray(start).astype(float)

        def host(_: Any, d: Any, b: Any, damp: Any, guess: Any) -> Any:
            more = {} if start is None else {"x0": guess}
            out = getattr(scipy_module("sparse.linalg"), name)(made(d), b, float(damp), **options, **more)
            return out[: 1 + whole + others]

        types = [Aval((n,), _F64), *[solving.COUNT] * whole, *[solving.NUMBER] * others]

        def solve(_: Any, __: Any) -> Any:
            x, *rest = solving.host_call(host, [], types, data, b, damp, guess)
            return x, rest

        def conditions(x: Any) -> Any:
            if m < n and not _is_damped(damp):
                return x - A.T @ _by_gradients(lambda v: A @ (A.T @ v), b)
            return A.T @ (A @ x - b) + damp * damp * x

        def tangent(g: Any, y: Any) -> Any:
            return y if m < n and not _is_damped(damp) else _by_gradients(g, y)

        x, rest = custom_root(conditions, tnp.zeros(n), solve, tangent, has_aux=True)
        told = [as_int(r) if i < whole else wrap(to_raw(r), i not in numpys) for i, r in enumerate(rest)]
        return (x, *told, tnp.zeros(n)) if name == "lsqr" else (x, *told)

    call.__name__ = name
    call.__doc__ = (
        f"What SciPy's `{name}` gives for min |A x - b|, A a sparse or dense matrix, with derivatives of x."
    )
    solver(call)


def _is_damped(damp: Any) -> bool:
    """Whether there surely is a damping; a traced one counts as that."""
    raw = to_raw(damp)
    return not isinstance(raw, (np.ndarray, np.generic, float)) or float(raw) != 0


for _name in _RESULTS:
    _least(_name)
