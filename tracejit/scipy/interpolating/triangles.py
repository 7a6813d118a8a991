"""Interpolation of values at scattered points: which points count is asked of SciPy when the program runs, what they
give is a formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.ir.avals import Aval
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.hosting.likeness import Like, floats, refuse

_I64 = np.dtype(np.int64)


def _points(x: Any, dims: int | None = None) -> Any:
    """Points along all axes but the last one, from an array or a tuple of coordinates."""
    if isinstance(x, tuple) and len(x) == 1:
        x = x[0]
    if isinstance(x, tuple):
        return tnp.stack(tnp.broadcast_arrays(*[tnp.asarray(v).astype(float) for v in x]), axis=-1)
    x = tnp.asarray(x).astype(float)
    if x.ndim == 1:
        x = x[:, None] if dims is None or dims == 1 else x.reshape(-1, dims)
    return x


class Scattered(metaclass=Like):
    """Values (n, ...) at points (n, dims)."""

    def _set(self, points: Any, values: Any, rescale: Any) -> None:
        if rescale:
            refuse(type(self).__name__, "`rescale`")
        self.points, self.values = _points(points), floats(values)
        if self.points.shape[0] != self.values.shape[0]:
            raise ValueError("different number of values and points")

    def __call__(self, *args: Any, **options: Any) -> Any:
        """The values at points, given as an array or by their coordinates."""
        if options:
            refuse(type(self).__name__, f"the option `{min(options)}`")
        dims = self.points.shape[1]
        at = _points(args[0] if len(args) == 1 else args, dims)
        if at.shape[-1] != dims:
            raise ValueError("number of dimensions in xi does not match x")
        out = self._at(at.reshape(-1, dims))
        return out.reshape(*at.shape[:-1], *self.values.shape[1:])

    def _at(self, at: Any) -> Any:
        raise NotImplementedError

    def _asked(self, host: Any, results: list[Aval], at: Any) -> list[Any]:
        """What `host(points, at)` gives when the program runs, which has no derivative."""
        given = lax.stop_gradient((self.points, at))
        return solving.host_call(lambda _, p, x: host(p, x), [], results, *given)


class NearestNDInterpolator(Scattered):
    """The value at the nearest point."""

    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
        self._set(x, y, rescale)
        self._options = dict(tree_options or {})

    def _at(self, at: Any) -> Any:
        def host(points: Any, at: Any) -> Any:
            return [scipy_module("spatial").cKDTree(points, **self._options).query(at)[1]]

        (index,) = self._asked(host, [Aval((at.shape[0],), _I64)], at)
        return self.values[index]


class LinearNDInterpolator(Scattered):
    """Linear in the triangles between the points; `fill_value` outside."""

    def __init__(self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False) -> None:
        self._set(points, values, rescale)
        self.fill_value = fill_value

    def _at(self, at: Any) -> Any:
        m, dims = at.shape

        def host(points: Any, at: Any) -> Any:
            mesh = scipy_module("spatial").Delaunay(points)
            found = mesh.find_simplex(at)
            return mesh.simplices[found], found >= 0

        results = [Aval((m, dims + 1), _I64), Aval((m,), np.dtype(bool))]
        corners, inside = self._asked(host, results, at)
        p = self.points[corners]
        edges = tnp.swapaxes(p[:, :-1] - p[:, -1:], 1, 2)
        weights = tnp.linalg.solve(edges, (at - p[:, -1])[:, :, None])[:, :, 0]
        last = self.values[corners[:, -1]]
        tail = [1] * (self.values.ndim - 1)
        moved = self.values[corners[:, :-1]] - last[:, None]
        out = last + tnp.sum(weights.reshape(m, dims, *tail) * moved, axis=1)
        return tnp.where(inside.reshape(m, *tail), out, self.fill_value)
