"""Polynomials by their coefficients, highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import ArgumentError, ArgumentTypeError, DataDependentShapeError
from tracejit.ir.avals import aval_of
from tracejit.numpy.boxes import extents
from tracejit.numpy.boxes.masking.calls import require_some
from tracejit.numpy.boxes.numbers import pythons_unless_any
from tracejit.numpy.dispatch import NUMPY_TO_TRACEJIT as NP
from tracejit.numpy.dispatch import implements
from tracejit.numpy.empties import NO_RANK, warn_where
from tracejit.numpy.functions.algebra.products import dot, outer
from tracejit.numpy.functions.arrays.joining import concatenate, stack
from tracejit.numpy.functions.arrays.shaping import atleast_1d, box_of
from tracejit.numpy.functions.numerics.convolutions import convolve
from tracejit.numpy.operands import raw, result_type
from tracejit.numpy.ufuncs import TABLE


def _vector(p: Any) -> Any:
    return atleast_1d(box_of(p))


@implements(np.polyval, "polyval")
def polyval(p: Any, x: Any) -> Any:
    """The value at x by Horner's scheme."""
    p, x = box_of(p), box_of(x)
    y = NP[np.zeros_like](x)
    for c in p:
        y = y * x + c
    return y


@implements(np.vander, "vander")
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Powers of x as columns."""
    x = box_of(x)
    if x.ndim != 1:
        raise ArgumentError(name="vander", problem="x must be a one-dimensional array or sequence")
    n = x.shape[0] if N is None else int(N)
    x = x.astype(result_type(x, np.int64(0)))
    if n < 1:
        return NP[np.zeros]((x.shape[0], n), x.dtype)
    powers = [NP[np.ones_like](x), x][:n]
    for _ in range(n - 2):
        powers.append(powers[-1] * x)
    return stack(powers if increasing else powers[::-1], 1)


def _aligned(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Both with zeros in front of the shorter one."""
    a, b = _vector(a1), _vector(a2)
    n = max(a.shape[0], b.shape[0])
    wide = [p if p.shape[0] == n else concatenate([NP[np.zeros](n - p.shape[0], p.dtype), p]) for p in (a, b)]
    return wide[0], wide[1]


@implements(np.polyadd, "polyadd")
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    a, b = _aligned(a1, a2)
    return a + b


@implements(np.polysub, "polysub")
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    a, b = _aligned(a1, a2)
    return a - b


@implements(np.polymul, "polymul")
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials."""
    return convolve(_vector(a1), _vector(a2))


@implements(np.polydiv, "polydiv")
def polydiv(u: Any, v: Any, *, strip_zeros: bool = True) -> tuple[Any, Any]:
    """Quotient and remainder. `strip_zeros=False` keeps the remainder's leading zeros, and takes any values."""
    u, v = _vector(u) + 0.0, _vector(v) + 0.0
    dtype = result_type(u, v)
    m, n = u.shape[0] - 1, v.shape[0] - 1
    scale = 1.0 / v[0]
    rest, quotient = u.astype(dtype).copy(), []
    for k in range(m - n + 1):
        d = scale * rest[k]
        quotient.append(d)
        rest[k : k + n + 1] = rest[k : k + n + 1] - d * v
    q = stack(quotient) if quotient else NP[np.zeros](1, dtype)
    known = extents.known(raw(rest))
    if not strip_zeros:
        return q, rest
    if known is None:
        remedy = "call numpy.polydiv(u, v, strip_zeros=False), whose remainder keeps its leading zeros"
        raise DataDependentShapeError(name="numpy.polydiv", aval=str(aval_of(raw(rest))), remedy=remedy)
    cut = 0
    while cut < known.size - 1 and np.allclose(known[cut], 0, rtol=1e-14):
        cut += 1
    return q, rest[cut:]


@implements(np.polyder, "polyder")
def polyder(p: Any, m: Any = 1) -> Any:
    """The m-th derivative's coefficients."""
    m = int(m)
    if m < 0:
        raise ArgumentError(name="polyder", problem="order of derivative must be positive (see polyint)")
    p = box_of(p)
    if p.ndim != 1:
        raise ArgumentError(name="polyder", problem="a polynomial has one dimension")
    for _ in range(m):
        n = p.shape[0] - 1
        p = p[:-1] * np.arange(n, 0, -1)
    return p


@implements(np.polyint, "polyint")
def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """The m-th integral's coefficients; `k` are the constants of integration."""
    m = int(m)
    if m < 0:
        raise ArgumentError(name="polyint", problem="order of integral must be positive (see polyder)")
    constants = NP[np.zeros](m) if k is None else _vector(k)
    if constants.shape[0] == 1 and m > 1:
        constants = constants[0] * NP[np.ones](m)
    if constants.shape[0] < m:
        raise ArgumentError(name="polyint", problem="k must be a scalar or a rank-1 array of length 1 or >m")
    p = NP[np.asarray](p)
    for i in range(m):
        n = p.shape[0]
        p = concatenate([p / np.arange(n, 0, -1), constants[i : i + 1]])
    return p


@implements(np.poly, "poly")
def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with these roots, or a square matrix's characteristic one.

    Complex roots give complex coefficients, unless they are known to come in conjugate pairs, or Python takes over.
    """
    if not np.ndim(seq_of_zeros):
        raise ArgumentTypeError(name="poly", problem="a number is no sequence of roots")
    z = _vector(seq_of_zeros)
    of_real = z.ndim == 2 and z.dtype.kind != "c"  # whose complex eigenvalues come in pairs
    if z.ndim == 2 and z.shape[0] == z.shape[1] != 0:
        z = _linalg("poly", np.linalg.eigvals)(z)
    elif z.ndim != 1:
        raise ArgumentError(name="poly", problem="input must be 1d or non-empty square 2d array")
    z = z.astype(np.mintypecode(z.dtype.char) if z.dtype != dtypes.bfloat16 else np.float32)
    if z.shape[0] == 0:
        return 1.0
    a = NP[np.ones](1, z.dtype)
    for zero in z:
        a = convolve(a, stack([NP[np.ones_like](zero), -zero]))
    if of_real:
        return a.real.copy()
    if z.dtype.kind == "c":
        known = extents.known(raw(z))
        if known is not None and np.all(np.sort(known) == np.sort(known.conj())):
            return a.real.copy()
        if known is None:
            differ = NP[np.sort](z) != NP[np.sort](z.conj())
            pythons_unless_any(raw(differ), "coefficients as real numbers")
    return a


def _linalg(name: str, np_function: Any) -> Any:
    found = NP.get(np_function)
    if found is None:
        raise ArgumentTypeError(name=name, problem=f"numpy.linalg.{np_function.__name__} has no traced form")
    return found


@implements(np.roots, "roots")
def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The roots: eigenvalues of the companion matrix. Leading and trailing zeros must be known.

    `strip_zeros=False` promises that the first coefficient is not zero, and takes any values.
    """
    p = _vector(p)
    if p.ndim != 1:
        raise ArgumentError(name="roots", problem="input must be a rank-1 array")
    trailing = 0
    if strip_zeros:
        known = extents.known(raw(p))
        if known is None:
            remedy = "call numpy.roots(p, strip_zeros=False) if the first coefficient is not zero"
            raise DataDependentShapeError(name="numpy.roots", aval=str(aval_of(raw(p))), remedy=remedy)
        places = np.nonzero(known)[0]
        if not places.size:
            return NP[np.array]([])
        trailing = known.size - int(places[-1]) - 1
        p = p[int(places[0]) : int(places[-1]) + 1]
    p = p if dtypes.is_inexact(p.dtype) else p.astype(float)
    n = p.shape[0]
    if n < 2:
        return NP[np.zeros](trailing, p.dtype)
    rest = NP[np.eye](n - 2, n - 1, dtype=p.dtype)
    companion = concatenate([(-p[1:] / p[0])[None, :], rest], 0)
    out = _linalg("roots", np.linalg.eigvals)(companion)
    values = extents.known(raw(out))
    if values is not None and p.dtype.kind != "c" and not np.iscomplex(values).any():
        out = out.real  # as NumPy's eigvals, whose dtype depends on the values
    return concatenate([out, NP[np.zeros](trailing, out.dtype)]) if trailing else out


@implements(np.polyfit, "polyfit")
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The least-squares polynomial of a degree through points, by `numpy.linalg.lstsq`.

    Raises ArgumentError and ArgumentTypeError where NumPy raises ValueError and TypeError.
    """
    order = int(deg) + 1
    x, y = box_of(x) + 0.0, box_of(y) + 0.0
    if order < 1:
        raise ArgumentError(name="polyfit", problem="expected deg >= 0")
    if x.ndim != 1 or not 1 <= y.ndim <= 2 or x.aval.shape[0] != y.aval.shape[0] or x.aval.shape[0] == 0:
        raise ArgumentTypeError(name="polyfit", problem="expected non-empty x and y of the same length")
    require_some("polyfit", extents.of_dim(x.aval.shape[0]), problem="expected non-empty vector for x")
    rcond = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    left, right = vander(x, order), y
    if w is not None:
        weights = box_of(w) + 0.0
        left = left * weights[:, None]
        right = right * (weights[:, None] if y.ndim == 2 else weights)
    scale = TABLE["sqrt"]((left * left).sum(0))
    c, residuals, rank, s = _linalg("polyfit", np.linalg.lstsq)(left / scale, right, rcond)
    c = (c.T / scale).T
    if full:
        return c, residuals, rank, s, rcond
    warn_where(raw(rank != order), NO_RANK)
    if not cov:
        return c
    scaled = left / scale
    base = _linalg("polyfit", np.linalg.inv)(dot(scaled.T, scaled)) / outer(scale, scale)
    if cov == "unscaled":
        factor: Any = 1
    elif x.shape[0] <= order:
        raise ArgumentError(
            name="polyfit",
            problem="the number of data points must exceed order to scale the covariance matrix",
        )
    else:
        error = dot(scaled, (c.T * scale).T) - right
        factor = (error * error).sum(0) / (x.shape[0] - order)
        factor = factor if y.ndim == 2 else factor[None]
    return c, base * factor if y.ndim == 1 else base[:, :, None] * factor
