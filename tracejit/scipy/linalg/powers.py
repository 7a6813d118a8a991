"""Logarithms, signs and powers of matrices: SciPy's values, with derivatives by formulas of square roots.

Such a derivative is linear in the direction, so that it has a transpose and derivatives of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import dtypes, ops
from tracejit import numpy as tnp
from tracejit.control.callbacks.ops import pure_callback
from tracejit.control.custom.public import custom_jvp
from tracejit.errors import ArgumentError
from tracejit.interpreters.autodiff.jvp import jvp_flat
from tracejit.numpy import linalg
from tracejit.numpy.functions.algebra.matrices import matrix
from tracejit.numpy.operands import dtype_of, raw, shape_of
from tracejit.ops import _lazy
from tracejit.ops.building.helpers import instantiate
from tracejit.ops.decompositions import common as c
from tracejit.scipy.linalg.calling import leave, of_scipy, of_scipy_in_order, refuse
from tracejit.tracing import to_raw, wrap

_d = ops.decompositions
#: How many square roots are taken before a logarithm: of numbers up to 1e16 they are within 0.15 of 1.
_ROOTS = 8
_NODES, _WEIGHTS = ((x + s) / 2 for x, s in zip(np.polynomial.legendre.leggauss(8), (1, 0), strict=True))


def _root(x: Any) -> Any:
    return wrap(_d.sylvester.sqrtm(to_raw(x)))


def _log(x: Any) -> Any:
    """The integral of e (1 + u e)⁻¹ over u from 0 to 1, for 1 + e that is near 1 (Higham 2008, 11.1)."""
    one = np.eye(x.shape[-1])
    for _ in range(_ROOTS):
        x = _root(x)
    e = x - one
    parts = [w * linalg.solve(one + u * e, e) for u, w in zip(_NODES, _WEIGHTS, strict=True)]
    return 2.0**_ROOTS * sum(parts[1:], parts[0])


def _power(x: Any, t: Any) -> Any:
    return wrap(_d.exponential.expm(to_raw(t * _log(x))))


def _sign(x: Any) -> Any:
    return linalg.solve(_root(x @ x), x)


def _by_formula(name: str, formula: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function of complex matrices (and numbers), whose derivative is that of a formula. SciPy estimates norms
    by vectors that it draws from `numpy.random`, whose state is put back."""

    def solved(real: Any, x: Any, *more: Any) -> Any:
        def call(of_reals: Any, m: Any, *numbers: Any) -> np.ndarray:
            given = np.real(m) if of_reals else np.asarray(m)
            state = np.random.get_state()
            try:
                found = getattr(_lazy.scipy_linalg(), name)(given, *(n.item() for n in numbers))
            finally:
                np.random.set_state(state)
            return np.asarray(found, complex)

        like = np.empty(x.shape, complex)
        return pure_callback(call, like, real, x, *more, vmap_method="sequential")

    rule = custom_jvp(solved)

    @rule.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        def flat(*raws: Any) -> list[Any]:
            return [to_raw(formula(*map(wrap, raws)))]

        out = rule(*primals)
        _, slopes = jvp_flat(flat, list(map(to_raw, primals[1:])), list(map(to_raw, tangents[1:])))
        return out, wrap(instantiate(slopes[0]))

    return rule


_LOG = _by_formula("logm", _log)
_SIGN = _by_formula("signm", _sign)
_POWER = _by_formula("fractional_matrix_power", _power)


def _applied(rule: Any, name: str, a: Any, *more: Any) -> Any:
    """What SciPy gives as a complex matrix. Without a derivative it is Python's, if Python can take over: SciPy's is
    real where it finds that, and it draws from `numpy.random`."""
    x = matrix(name, a)
    if dtype_of(x) in (np.float32, np.complex64) or 0 in shape_of(x):
        raise ArgumentError(name=name, problem="single precision and empty matrices have no traced form")
    leave(name, x, "SciPy estimates norms by draws from numpy.random")
    real = np.bool_(dtype_of(x).kind != "c")
    return rule(real, wrap(c.to_complex(x)), *more)


@of_scipy_in_order
def logm(A: Any, disp: Any = None) -> Any:
    """The matrix logarithm: complex, also where SciPy finds that it is real, if Python doesn't take over."""
    refuse("logm", disp=disp)
    return _applied(_LOG, "logm", A)


@of_scipy
def signm(A: Any, disp: Any = None) -> Any:
    """The matrix sign, whose eigenvalues are 1 and -1: complex, also where SciPy finds that it is real, if Python
    doesn't take over."""
    refuse("signm", disp=disp)
    return _applied(_SIGN, "signm", A)


@of_scipy_in_order
def fractional_matrix_power(A: Any, t: Any) -> Any:
    """A to the power t: complex, also where SciPy finds that it is real, if Python doesn't take over."""
    if isinstance(t, (int, float, np.integer, np.floating)) and t == int(t):
        return linalg.matrix_power(wrap(raw(A)), int(t))
    if dtypes.is_complex(tnp.asarray(t).dtype):
        raise TypeError("the power of a matrix is a real number")
    return _applied(_POWER, "fractional_matrix_power", A, tnp.asarray(t).astype(float))
