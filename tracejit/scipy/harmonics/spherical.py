"""Legendre functions and spherical harmonics for traced values, of degrees and orders that are integers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit import numpy as tnp
from tracejit.errors import SpecialFunctionError
from tracejit.numpy.operands import broadcast_operands, convert
from tracejit.ops import special as sp
from tracejit.scipy.registry import function
from tracejit.tracing import wrap


def _whole(name: str, x: Any) -> Any:
    n = tnp.asarray(x)
    if n.dtype.kind not in "biu":
        raise TypeError(f"ufunc {name!r} not supported for the input types: degrees and orders are integers")
    return n.astype(np.int64)


def _kind(*xs: Any) -> np.dtype:
    """Double precision: SciPy has no other for integers of 64 bits."""
    return np.dtype(complex if any(dtypes.is_complex(tnp.asarray(x).dtype) for x in xs) else float)


def _parts(name: str, whole: list[Any], x: Any, diff_n: int) -> list[Any]:
    """The value and as many derivatives by x."""
    if diff_n not in (0, 1, 2):
        raise SpecialFunctionError(
            name=name,
            problem=f"diff_n is 0, 1 or 2, not {diff_n!r}",
            remedy="differentiate the function with tracejit.grad",
        )
    kind = _kind(x)
    raws = broadcast_operands(name, [convert(v, kind) for v in (*whole, x)])
    made = [sp.by_name(f"_{name}", *raws, part=k, whole=len(whole)) for k in range(diff_n + 1)]
    return [wrap(v) for v in made]


@function
def legendre_p(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """Legendre's polynomials of degree `n`, and as many derivatives by `z` as `diff_n` says: along the first axis."""
    return tnp.stack(_parts("legendre_p", [_whole("legendre_p", n)], z, diff_n))


@function
def sph_legendre_p(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """Legendre functions of the cosine of `theta` in the norm of spherical harmonics, and their derivatives by it."""
    whole = [_whole("sph_legendre_p", v) for v in (n, m)]
    return tnp.stack(_parts("sph_legendre_p", whole, theta, diff_n))


@function
def assoc_legendre_p(
    n: Any, m: Any, z: Any, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    """Associated Legendre functions of degree `n` and order `m`, and their derivatives by `z`."""
    whole = [_whole("assoc_legendre_p", v) for v in (n, m, branch_cut)]
    return tnp.stack(_parts("assoc_legendre_p_norm" if norm else "assoc_legendre_p", whole, z, diff_n))


@function
def sph_harm_y(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """Spherical harmonics of degree `n` and order `m` at the polar angle `theta` and the azimuth `phi`; also their
    gradient (`diff_n` 1) and the matrix of second derivatives (2) by the angles."""
    degree, order = (_whole("sph_harm_y", v) for v in (n, m))
    kind = _kind(theta, phi)
    if kind.kind == "c":
        raise TypeError("ufunc 'sph_harm_y' not supported for the input types: angles are real")
    low = [v.astype(kind) for v in _parts("sph_legendre_p", [degree, order], theta, diff_n)]
    number = order.astype(kind)
    angle = number * tnp.asarray(phi).astype(kind)
    wave = tnp.cos(angle) + 1j * tnp.sin(angle)
    turn = 1j * number
    value = tnp.asarray(low[0] * wave)
    if diff_n == 0:
        return value
    shape = np.broadcast_shapes(value.shape)
    first = [low[1] * wave, turn * value]
    found = [value, tnp.stack([tnp.broadcast_to(v, shape) for v in first], axis=-1)]
    if diff_n == 2:
        mixed = turn * first[0]
        second = [[low[2] * wave, mixed], [mixed, turn * turn * value]]
        rows = [tnp.stack([tnp.broadcast_to(v, shape) for v in row], axis=-1) for row in second]
        found.append(tnp.stack(rows, axis=-2))
    return tuple(found)


# ---------------------------------------------------------------- all degrees and orders up to


def _number(name: str, n: Any, signed: bool = False) -> int:
    """Raises ValueError for what is none, or negative, unless it may be `signed`."""
    size = operator.index(n) if isinstance(n, (int, np.integer)) else -1
    if size < 0 and not (signed and isinstance(n, (int, np.integer))):
        raise ValueError(f"{name} must be a non-negative integer.")
    return size


def _grid(n: Any, m: Any, signed: bool, *angles: Any) -> tuple[Any, Any]:
    """All degrees up to n along the first axis, and the orders 0 to m and -m to -1 along the second."""
    top, wide = _number("n", n), abs(_number("m", m, signed))
    extra = (1,) * len(np.broadcast_shapes(*(tnp.shape(a) for a in angles)))
    orders = np.concatenate([np.arange(wide + 1), np.arange(-wide, 0)])
    return np.arange(top + 1).reshape(-1, 1, *extra), orders.reshape(1, -1, *extra)


@function
def legendre_p_all(n: Any, z: Any, *, diff_n: int = 0) -> Any:
    """`legendre_p` of all degrees up to `n`, along the second axis."""
    degrees = np.arange(_number("n", n) + 1).reshape(-1, *(1,) * tnp.ndim(z))
    return legendre_p(degrees, tnp.asarray(z), diff_n=diff_n)


@function
def sph_legendre_p_all(n: Any, m: Any, theta: Any, *, diff_n: int = 0) -> Any:
    """`sph_legendre_p` of all degrees up to `n` and orders up to `m`, the negative ones last."""
    return sph_legendre_p(*_grid(n, m, True, theta), tnp.asarray(theta), diff_n=diff_n)


@function
def assoc_legendre_p_all(
    n: Any, m: Any, z: Any, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0
) -> Any:
    """`assoc_legendre_p` of all degrees up to `n` and orders up to `m`, the negative ones last."""
    options = {"branch_cut": branch_cut, "norm": norm, "diff_n": diff_n}
    return assoc_legendre_p(*_grid(n, m, False, z, branch_cut), tnp.asarray(z), **options)


@function
def sph_harm_y_all(n: Any, m: Any, theta: Any, phi: Any, *, diff_n: int = 0) -> Any:
    """`sph_harm_y` of all degrees up to `n` and orders up to `m`, the negative ones last."""
    angles = tnp.asarray(theta), tnp.asarray(phi)
    return sph_harm_y(*_grid(n, m, True, *angles), *angles, diff_n=diff_n)
