"""`scipy.spatial.distance` for traced values: distances of pairs of vectors, in most of SciPy's metrics."""

from __future__ import annotations

import math as _math
from collections.abc import Callable
from typing import Any

import numpy as _np

from tracejit import lax as _lax
from tracejit import numpy as _tnp
from tracejit.errors import ArgumentError as _ArgumentError
from tracejit.errors import UnfollowedError as _UnfollowedError
from tracejit.ir.avals import Aval as _Aval
from tracejit.numpy.operands import raw as _raw
from tracejit.ops._lazy import scipy_module as _scipy_module
from tracejit.scipy import solving as _solving
from tracejit.scipy.lazily import Part as _Part
from tracejit.tracing import Box as _Box
from tracejit.tracing import wrap as _wrap

_part = _Part("scipy.spatial.distance", lambda: _scipy_module("spatial.distance"))


def _norm(d: Any) -> Any:
    return _tnp.linalg.norm(d, axis=-1)


def _cosine(u: Any, v: Any) -> Any:
    return 1 - (u * v).sum(axis=-1) / (_norm(u) * _norm(v))


def _correlation(u: Any, v: Any) -> Any:
    return _cosine(u - u.mean(axis=-1, keepdims=True), v - v.mean(axis=-1, keepdims=True))


def _canberra(u: Any, v: Any) -> Any:
    total = abs(u) + abs(v)
    empty = total == 0
    return _tnp.where(empty, 0.0, abs(u - v) / _tnp.where(empty, 1.0, total)).sum(axis=-1)


def _minkowski(u: Any, v: Any, p: Any = 2, w: Any = None) -> Any:
    if p == 2 and w is None:
        return _norm(u - v)
    d = abs(u - v) ** p
    return (d if w is None else d * w).sum(axis=-1) ** (1 / p)


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    d = u - v
    return _tnp.sqrt(((d @ VI) * d).sum(axis=-1))


#: Metric -> the distance of vectors along the last axes.
_METRICS: dict[str, Callable[..., Any]] = {
    "euclidean": lambda u, v: _norm(u - v),
    "sqeuclidean": lambda u, v: _tnp.square(u - v).sum(axis=-1),
    "seuclidean": lambda u, v, V: _tnp.sqrt((_tnp.square(u - v) / V).sum(axis=-1)),
    "cityblock": lambda u, v: abs(u - v).sum(axis=-1),
    "chebyshev": lambda u, v: abs(u - v).max(axis=-1),
    "minkowski": _minkowski,
    "cosine": _cosine,
    "correlation": _correlation,
    "canberra": _canberra,
    "braycurtis": lambda u, v: abs(u - v).sum(axis=-1) / abs(u + v).sum(axis=-1),
    "mahalanobis": _mahalanobis,
}
_NEEDED = {"seuclidean": "V", "mahalanobis": "VI"}


def _distances(name: str, u: Any, v: Any, metric: Any, options: dict[str, Any]) -> Any:
    if callable(metric):
        raise _ArgumentError(name=name, problem="metrics that are functions have no traced form; use vmap")
    key = str(metric).lower()
    if key not in _METRICS:
        problem = f"metric {metric!r} has no traced form; there are {', '.join(_METRICS)}"
        raise _ArgumentError(name=name, problem=problem)
    if key in _NEEDED and _NEEDED[key] not in options:
        raise _ArgumentError(name=name, problem=f"{metric} needs {_NEEDED[key]}= for traced values")
    return _METRICS[key](u, v, **options)


def _points(name: str, x: Any) -> Any:
    points = _wrap(_raw(x)).astype(float)
    if points.ndim != 2:
        raise _ArgumentError(name=name, problem="the points must be rows of a 2-dimensional array")
    return points


@_part.function
def cdist(XA: Any, XB: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distances of all rows of XA (m, d) to all rows of XB (n, d): an array (m, n)."""
    a, b = _points("cdist", XA), _points("cdist", XB)
    if a.shape[1] != b.shape[1]:
        problem = "XA and XB must have the same number of columns"
        raise _ArgumentError(name="cdist", problem=problem)
    result = _distances("cdist", a[:, None], b[None], metric, kwargs)
    if out is None:
        return result
    out[...] = result
    return out


@_part.function
def pdist(X: Any, metric: Any = "euclidean", *, out: Any = None, **kwargs: Any) -> Any:
    """The distances of the rows i < j of X (m, d): a vector of m (m - 1)/2 elements, as `squareform` reads it."""
    x = _points("pdist", X)
    first, second = _np.triu_indices(x.shape[0], 1)
    result = _distances("pdist", x[first], x[second], metric, kwargs)
    if out is None:
        return result
    out[...] = result
    return out


@_part.function
def squareform(X: Any, force: str = "no", checks: bool = True) -> Any:
    """The symmetric matrix of a vector of distances, or the vector of a matrix. Values are not checked."""
    x = _wrap(_raw(X))
    if force not in ("no", "tomatrix", "tovector") or {1: "tovector", 2: "tomatrix"}.get(x.ndim) == force:
        raise _ArgumentError(name="squareform", problem=f"force={force!r} of {x.ndim} dimensions")
    if x.ndim == 2:
        if x.shape[0] != x.shape[1]:
            raise _ArgumentError(name="squareform", problem="the matrix argument must be square")
        return x[_np.triu_indices(x.shape[0], 1)]
    n = (1 + _math.isqrt(1 + 8 * x.shape[0])) // 2
    if x.ndim != 1 or n * (n - 1) // 2 != x.shape[0]:
        raise _ArgumentError(name="squareform", problem="not the length of a vector of distances")
    first, second = _np.triu_indices(n, 1)
    places = _np.zeros((n, n), int)
    places[first, second] = places[second, first] = _np.arange(len(first))
    if n == 1:
        return _wrap(_np.zeros((1, 1), x.dtype))
    return _tnp.where(_np.eye(n, dtype=bool), _np.zeros((), x.dtype), x[places])


@_part.function
def directed_hausdorff(u: Any, v: Any, rng: Any = 0) -> tuple[Any, Any, Any]:
    """How far the point of `u` is from `v` that is farthest from its nearest one, and these two, which SciPy finds: of
    several such points it gives the first one in an order that it draws."""
    if type(rng) is not int:
        raise _UnfollowedError(what="`directed_hausdorff`", reason="it draws from a generator")
    u, v = (_tnp.asarray(x).astype(float) for x in (u, v))
    if u.ndim != 2 or v.ndim != 2 or u.shape[1] != v.shape[1]:
        raise ValueError("u and v need to have the same number of columns")

    def host(_: Any, u: Any, v: Any) -> Any:
        return _scipy_module("spatial.distance").directed_hausdorff(u, v, rng)

    given = _lax.stop_gradient((u, v))
    types = [_Aval((), _np.dtype(kind)) for kind in (float, int, int)]
    far, i, j = _solving.host_call(host, [], types, *given)
    own = _norm(u[i] - v[j])
    far = far + (own - _lax.stop_gradient(own))  # SciPy's bits, and the derivative of our own
    far, i, j = (_wrap(_raw(x), weak=True) if isinstance(x, _Box) else x for x in (far, i, j))
    return far, i, j


__all__ = ["cdist", "directed_hausdorff", "pdist", "squareform"]

__getattr__, __dir__ = _part.others(__all__)
