"""Partial fractions of `scipy.signal`: `residue residuez invres invresz unique_roots`, where no poles coincide. How
many poles come together decides the forms of the results; such ones are left to Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.scipy.hosting.likeness import refuse
from tracejit.scipy.signals.systems import product
from tracejit.tracing import to_raw

__all__ = ["invres", "invresz", "residue", "residuez", "unique_roots"]
_TOGETHER = "poles that coincide, or coefficients that are zero, of partial fractions"
_KINDS = ("max", "maximum", "min", "minimum", "avg", "mean")


def _check_kind(rtype: str) -> None:
    if rtype not in _KINDS:
        raise ValueError(
            "`rtype` must be one of {'max', 'maximum', 'min', 'minimum', 'avg', 'mean'}",
        )


def _distances(p: Any) -> Any:
    """The distances between all pairs of different elements, infinite from each to itself."""
    return tnp.abs(p[:, None] - p) + np.diag(np.full(p.size, np.inf))


def unique_roots(p: Any, tol: Any = 1e-3, rtype: str = "min") -> tuple[Any, Any]:
    """The roots that differ by more than `tol`, and how many there are of each."""
    _check_kind(rtype)
    p = tnp.array(p)
    leave_if(to_raw(tnp.any(~(_distances(p) > tol))), _TOGETHER)
    p = p.astype(float) if rtype in ("avg", "mean") and not dtypes.is_inexact(p.dtype) else p
    return p, tnp.ones(p.shape, np.int64)


def _coefficients(b: Any, a: Any) -> tuple[Any, Any]:
    b, a = tnp.atleast_1d(b), tnp.atleast_1d(a)
    kind = complex if dtypes.is_complex(b.dtype) or dtypes.is_complex(a.dtype) else float
    b, a = b.astype(kind), a.astype(kind)
    if not a.size:
        raise ValueError("Denominator `a` is zero.")
    if not b.size:
        refuse("residue", "a numerator without coefficients", "write 0 for its fractions")
    return b, a


def _poles(a: Any, tol: Any) -> Any:
    """The zeros of the polynomial, by their sizes. Where all are real NumPy's results are, too."""
    p = tnp.roots(a, strip_zeros=False)
    alone = tnp.all(_distances(p) > tol)
    real = np.False_ if dtypes.is_complex(a.dtype) else tnp.all(p.imag == 0)
    leave_if(to_raw(~alone | real), _TOGETHER)
    return p[tnp.argsort(tnp.abs(p), stable=True)]


def _divided(b: Any, a: Any) -> tuple[Any, Any]:
    """The quotient and the remainder of polynomials, the highest power first."""
    n = b.size - a.size + 1
    if n < 1:
        return np.empty(0), b
    quotient = []
    for i in range(n):
        first = b[0] / a[0]
        quotient.append(first)
        b = tnp.concatenate([b[: a.size] - first * a, b[a.size :]])[1:]
        if i == n - 1 and not b.size:
            b = tnp.zeros(1, a.dtype)
    return tnp.stack(quotient), b


def _residues(p: Any, b: Any) -> Any:
    """Those of b(x) / ((x - p[0]) (x - p[1]) ...)."""
    others = p[:, None] - p + np.eye(p.size)
    return tnp.polyval(b, p) / tnp.prod(others, axis=1)


def residue(b: Any, a: Any, tol: Any = 1e-3, rtype: str = "avg") -> tuple[Any, Any, Any]:
    """Residues, poles and the polynomial of b(s) / a(s)."""
    _check_kind(rtype)
    b, a = _coefficients(b, a)
    leave_if(to_raw((a[0] == 0) | (b[0] == 0)), _TOGETHER)
    p = _poles(a, tol)
    k, rest = _divided(b, a)
    return _residues(p, rest) / a[0], p, k


def residuez(b: Any, a: Any, tol: Any = 1e-3, rtype: str = "avg") -> tuple[Any, Any, Any]:
    """The same of polynomials in 1/z."""
    _check_kind(rtype)
    b, a = _coefficients(b, a)
    leave_if(to_raw((a[0] == 0) | (a[-1] == 0) | (b[-1] == 0)), _TOGETHER)
    p = _poles(a, tol)
    k, rest = _divided(b[::-1], a[::-1])
    return _residues(1 / p, rest) * -p / a[-1], p, k[::-1]


def _fractions(r: Any, p: Any, k: Any, tol: Any, rtype: str) -> tuple[Any, Any, Any]:
    """The polynomial `k`, the sum of the fractions over their denominator, and that."""
    _check_kind(rtype)
    r, p, k = (tnp.atleast_1d(x) for x in (r, p, k))
    if not dtypes.is_inexact(p.dtype):
        refuse("invres", "poles that are integers", "give floats")
    leave_if(to_raw(tnp.any(~(tnp.abs(tnp.diff(p)) > tol))), _TOGETHER)
    total = tnp.zeros(p.size, tnp.result_type(r, p))
    for i in range(min(r.size, p.size)):
        total = total + r[i] * product(tnp.concatenate([p[:i], p[i + 1 :]]))
    return k, total, product(p)


def invres(r: Any, p: Any, k: Any, tol: Any = 1e-3, rtype: str = "avg") -> tuple[Any, Any]:
    """The coefficients b and a of b(s) / a(s), of its residues, poles and polynomial."""
    k, total, a = _fractions(r, p, k, tol, rtype)
    if not k.size:
        return total, a
    leave_if(to_raw(k[0] == 0), _TOGETHER)
    return tnp.convolve(k, a) + tnp.concatenate([tnp.zeros(k.size), total]), a


def invresz(r: Any, p: Any, k: Any, tol: Any = 1e-3, rtype: str = "avg") -> tuple[Any, Any]:
    """The same of polynomials in 1/z."""
    k, total, a = _fractions(r, p, k, tol, rtype)
    if not k.size:
        return total, a
    leave_if(to_raw((k[-1] == 0) | (a[-1] == 0)), _TOGETHER)
    return tnp.convolve(k, a) + tnp.concatenate([total, tnp.zeros(k.size)]), a
