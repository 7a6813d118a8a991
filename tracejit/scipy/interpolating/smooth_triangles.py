"""Clough and Tocher's interpolant: a smooth surface of cubic polynomials over triangles between points.

Each triangle is cut into three at its middle (P. Alfeld, A trivariate Clough-Tocher scheme, 1984). The slopes at the
points are those of SciPy, which makes the curves along all edges as straight as possible (G. Nielson, 1983) by
iteration, to a tolerance; their derivatives are those of the exact solution of these linear equations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.ir.avals import Aval
from tracejit.lax.segments import segment_sum
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.interpolating.triangles import Scattered

_I64, _F64, _BOOL = np.dtype(np.int64), np.dtype(np.float64), np.dtype(bool)


class _Mesh(NamedTuple):
    """What SciPy says of the points. Each edge is there twice, from `first` to `second`; others are not `there`."""

    corners: Any  # of the triangle in which each place lies
    inside: Any
    beside: Any  # the corners of the triangles beyond the edges, each opposite to the corner with its index
    bounded: Any  # whether there is such a triangle
    first: Any
    second: Any
    there: Any
    slopes: Any  # as SciPy's iteration finds them, the columns of values side by side


class CloughTocher2DInterpolator(Scattered):
    """Smooth in the plane: cubic polynomials in the triangles between the points; `fill_value` outside."""

    def __init__(
        self,
        points: Any,
        values: Any,
        fill_value: Any = np.nan,
        tol: float = 1e-06,
        maxiter: int = 400,
        rescale: bool = False,
    ) -> None:
        self._set(points, values, rescale)
        if self.points.shape[1] != 2:
            raise ValueError("this mode of interpolation available only for 2-D data")
        self.fill_value, self._iterations = fill_value, {"tol": float(tol), "maxiter": int(maxiter)}

    def _at(self, at: Any) -> Any:
        n, tail = self.points.shape[0], self.values.shape[1:]
        columns = self.values.reshape(n, -1)
        whole = columns.dtype.kind != "c"
        z = columns if whole else tnp.concatenate([columns.real, columns.imag], 1)
        mesh = self._mesh(z, at)
        slopes = self._slopes(z, mesh)
        out = _surface(self.points, z, slopes, mesh, at)
        if not whole:
            out = out[:, : columns.shape[1]] + 1j * out[:, columns.shape[1] :]
        out = tnp.where(mesh.inside[:, None], out, self.fill_value)
        return out.reshape(at.shape[0], *tail)

    def _mesh(self, z: Any, at: Any) -> _Mesh:
        (n, k), m = z.shape, at.shape[0]
        most = 6 * n  # a plane graph has less than three edges for each point

        def host(_: Any, points: Any, z: Any, at: Any) -> Any:
            mesh = scipy_module("spatial").Delaunay(points)
            found = mesh.find_simplex(at, bruteforce=False)
            starts, ends = mesh.vertex_neighbor_vertices
            first, second = np.zeros((2, most), _I64)
            first[: ends.size], second[: ends.size] = np.repeat(np.arange(n), np.diff(starts)), ends
            slopes = scipy_module("interpolate._interpnd").estimate_gradients_2d_global(
                mesh, z, **self._iterations
            )
            neighbours = mesh.neighbors[found]
            return (
                mesh.simplices[found],
                found >= 0,
                mesh.simplices[neighbours],
                neighbours >= 0,
                first,
                second,
                np.arange(most) < ends.size,
                slopes,
            )

        types = [((m, 3), _I64), ((m,), _BOOL), ((m, 3, 3), _I64), ((m, 3), _BOOL)]
        types += [((most,), _I64), ((most,), _I64), ((most,), _BOOL), ((n, k, 2), _F64)]
        given = lax.stop_gradient((self.points, z, at))
        return _Mesh(*solving.host_call(host, [], [Aval(*t) for t in types], *given))

    def _slopes(self, z: Any, mesh: _Mesh) -> Any:
        """The slopes (n, columns, 2), whose equations hold for each column alike."""
        n = self.points.shape[0]
        edge = self.points[mesh.second] - self.points[mesh.first]
        size = tnp.where(mesh.there, tnp.sqrt(tnp.sum(edge * edge, 1)), 1.0)
        weights = tnp.where(mesh.there, 1 / size**3, 0.0)[:, None, None]
        rise = z[mesh.second] - z[mesh.first]

        def conditions(slopes: Any) -> Any:
            """How the bending of the edges at each point changes with its slope: zero, where it is least."""
            near = tnp.sum(slopes[mesh.first] * edge[:, None], 2)
            far = tnp.sum(slopes[mesh.second] * edge[:, None], 2)
            bent = (4 * near + 2 * far - 6 * rise)[:, :, None] * edge[:, None] * weights
            return segment_sum(bent, mesh.first, n)

        def solved(g: Any, y: Any) -> Any:
            one = tnp.ones((n, y.shape[1], 2))
            basis = np.eye(2 * n).reshape(2 * n, n, 1, 2)
            _, columns = lax.scan(lambda c, d: (c, g(d * one)[:, 0].reshape(-1)), None, basis)
            right = tnp.swapaxes(y, 1, 2).reshape(2 * n, -1)
            return tnp.swapaxes(tnp.linalg.solve(columns.T, right).reshape(n, 2, -1), 1, 2)

        return solving.root_of(conditions, mesh.slopes, lambda x: (x, ()), solved)[0]


def _weights(p: Any, at: Any) -> Any:
    """Barycentric coordinates (m, 3) of places in the triangles with the corners `p` (m, 3, 2)."""
    one, two, place = p[:, 0] - p[:, 2], p[:, 1] - p[:, 2], at - p[:, 2]
    area = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
    a = (place[:, 0] * two[:, 1] - place[:, 1] * two[:, 0]) / area
    b = (one[:, 0] * place[:, 1] - one[:, 1] * place[:, 0]) / area
    return tnp.stack([a, b, 1 - a - b], 1)


def _surface(points: Any, z: Any, slopes: Any, mesh: _Mesh, at: Any) -> Any:
    """The values (m, columns): Bernstein's polynomials of the control points of the part in which each place lies."""
    p = points[mesh.corners]
    turn = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]  # a corner, the next one, and the one after it
    value = [z[mesh.corners[:, i]] for i in range(3)]

    def towards(i: int, j: int) -> Any:
        """The control point beside corner i on the edge to j."""
        step = (p[:, j] - p[:, i])[:, None]
        return value[i] + tnp.sum(slopes[mesh.corners[:, i]] * step, 2) / 3

    edge = {(i, j): towards(i, j) for i in range(3) for j in range(3) if i != j}
    inner = [(value[i] + edge[i, j] + edge[i, k]) / 3 for i, j, k in turn]
    across = [
        (
            _skew(p, points, mesh, i) * (value[k] - value[j] + 3 * (edge[j, k] - edge[k, j]))
            + (2 * edge[j, k] - value[j] - edge[k, j] + inner[j] + inner[k])
        )
        / 2
        for i, j, k in turn
    ]
    near = [(across[j] + across[k] + inner[i]) / 3 for i, j, k in turn]
    middle = sum(near) / 3
    weights = _weights(p, at)
    least = tnp.min(weights, 1)[:, None]
    b, rest = [weights[:, i : i + 1] - least for i in range(3)], 3 * least
    out: Any = rest**3 * middle
    for i, j, k in turn:
        out = out + b[i] ** 3 * value[i] + 3 * b[i] * rest**2 * near[i] + 6 * b[j] * b[k] * rest * across[i]
        out = out + 3 * b[i] ** 2 * (b[j] * edge[i, j] + b[k] * edge[i, k] + rest * inner[i])
    return out


def _skew(p: Any, points: Any, mesh: _Mesh, i: int) -> Any:
    """Where the line between the middles of a triangle and of its neighbour opposite to corner i crosses their edge,
    which keeps the surface the same in skewed coordinates; the middle of the edge at the border."""
    j, k = (i + 1) % 3, (i + 2) % 3
    inside = mesh.bounded[:, i]
    c = _weights(p, tnp.mean(points[mesh.beside[:, i]], 1))
    below = tnp.where(inside, 2 - 3 * c[:, k] - 3 * c[:, j], 1.0)
    return tnp.where(inside, (2 * c[:, k] + c[:, j] - 1) / below, -0.5)[:, None]
