"""Interpolation by one polynomial (barycentric weights), and by radial basis functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.ir.avals import Aval
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.hosting.likeness import Like, floats, placed, refuse, require
from tracejit.scipy.linalg.calling import leave
from tracejit.tracing import to_raw


class BarycentricInterpolator(metaclass=Like):
    """The polynomial through (xi, yi)."""

    def __init__(self, xi: Any, yi: Any = None, axis: int = 0, *, wi: Any = None, rng: Any = None) -> None:
        if yi is None:
            refuse("BarycentricInterpolator", "no `yi`", "give the values")
        self.xi, yi = tnp.asarray(xi).astype(float), floats(yi)
        if rng is None:
            leave(
                "BarycentricInterpolator", to_raw(yi), "SciPy draws the order of the points from numpy.random"
            )
        self.axis = axis % yi.ndim
        self.yi = tnp.moveaxis(yi, self.axis, 0)
        if self.yi.shape[0] != self.xi.size:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")

    def __call__(self, x: Any) -> Any:
        """The values at `x`, by Lagrange's formula, whose derivatives hold at the points too."""
        at, n = tnp.asarray(x).astype(float), self.xi.size
        same = np.eye(n, dtype=bool)
        gaps = tnp.where(same, 1.0, self.xi[:, None] - self.xi[None, :])
        distances = at.reshape(-1, 1, 1) - self.xi[None, None, :]
        basis = tnp.prod(tnp.where(same, 1.0, distances / gaps), axis=-1)
        out = tnp.tensordot(basis, self.yi, 1)
        return placed(out.reshape(*at.shape, *self.yi.shape[1:]), at.ndim, self.axis)


class KroghInterpolator(metaclass=Like):
    """The polynomial through (xi, yi), in Newton's form. The points must be different."""

    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        self.xi, yi = tnp.asarray(xi).astype(float), floats(yi)
        self.axis = axis % yi.ndim
        self.yi = tnp.moveaxis(yi, self.axis, 0)
        n = self.xi.size
        if self.yi.shape[0] != n:
            raise ValueError("x and y arrays must be equal in length along interpolation axis.")
        require(
            tnp.all(self.xi[1:] != self.xi[:-1]),
            "Equal points, which stand for derivatives, in KroghInterpolator.",
        )
        differences = self.yi
        c = [differences[0]]
        for k in range(1, n):
            gaps = (self.xi[k:] - self.xi[:-k]).reshape(-1, *[1] * (self.yi.ndim - 1))
            differences = (differences[1:] - differences[:-1]) / gaps
            c.append(differences[0])
        self.c = tnp.stack(c)

    def __call__(self, x: Any) -> Any:
        """The values at `x`."""
        return self.derivative(x, 0)

    def derivative(self, x: Any, der: int = 1) -> Any:
        """The `der`-th derivatives at `x`."""
        return self._rows(x, der + 1)[der]

    def derivatives(self, x: Any, der: Any = None) -> Any:
        """The value and the derivatives below `der` at `x`, all of them where it is None."""
        return tnp.stack(self._rows(x, self.xi.size if der is None else int(der)))

    def _rows(self, x: Any, count: int) -> list[Any]:
        at, n = tnp.asarray(x).astype(float), self.xi.size
        tail = self.yi.shape[1:]
        p = at.reshape(-1, *[1] * len(tail))
        rows = [tnp.zeros((at.size, *tail), self.c.dtype)] * count
        for k in range(n - 1, -1, -1):  # Horner's scheme, and its derivatives by the product rule
            gap = p - self.xi[k]
            rows = [(row * gap + (j * rows[j - 1] if j else self.c[k])) for j, row in enumerate(rows)]
        return [placed(r.reshape(*at.shape, *tail), at.ndim, self.axis) for r in rows]


def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """The values, or derivatives, at `x` of the polynomial through (xi, yi)."""
    p = KroghInterpolator(xi, yi, axis)
    if isinstance(der, int):
        return p(x) if der == 0 else p.derivative(x, der)
    return p.derivatives(x, max(der) + 1)[np.asarray(der)]


def barycentric_interpolate(xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, rng: Any = None) -> Any:
    """The values at `x` of the polynomial through (xi, yi)."""
    if der != 0 or rng is not None:
        refuse("barycentric_interpolate", "derivatives, or an order at random", "call krogh_interpolate")
    return BarycentricInterpolator(xi, yi, axis=axis)(x)


def _root(s: Any) -> Any:
    """The square root, whose slope at 0 is taken as 0."""
    there = s > 0
    return tnp.where(there, tnp.sqrt(tnp.where(there, s, 1.0)), 0.0)


def _plate(s: Any) -> Any:
    there = s > 0
    return tnp.where(there, 0.5 * s * tnp.log(tnp.where(there, s, 1.0)), 0.0)


#: Name -> (the function of the square of the scaled distance, the least degree of polynomials).
_KERNELS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "linear": (lambda s: -_root(s), 0),
    "thin_plate_spline": (_plate, 1),
    "cubic": (lambda s: s * _root(s), 1),
    "quintic": (lambda s: -s * s * _root(s), 2),
    "multiquadric": (lambda s: -tnp.sqrt(s + 1), 0),
    "inverse_multiquadric": (lambda s: 1 / tnp.sqrt(s + 1), -1),
    "inverse_quadratic": (lambda s: 1 / (s + 1), -1),
    "gaussian": (lambda s: tnp.exp(-s), -1),
}
_WITHOUT_SCALE = ("linear", "thin_plate_spline", "cubic", "quintic")


class RBFInterpolator(metaclass=Like):
    """Radial basis functions and a polynomial through the values `d` at the points `y`, shape (points, dimensions).
    With `neighbors`, only the nearest of them count."""

    near: Any = None

    def __init__(
        self,
        y: Any,
        d: Any,
        neighbors: Any = None,
        smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: Any = None,
        degree: Any = None,
    ) -> None:
        if kernel.lower() not in _KERNELS:
            raise ValueError(f"`kernel` must be one of {set(_KERNELS)}.")
        self.function, least = _KERNELS[kernel.lower()]
        if epsilon is None and kernel.lower() not in _WITHOUT_SCALE:
            raise ValueError(f"`epsilon` must be specified if `kernel` is not one of {set(_WITHOUT_SCALE)}.")
        self.epsilon = 1.0 if epsilon is None else epsilon
        self.y, d = tnp.asarray(y).astype(float), floats(d)
        if self.y.ndim != 2:
            raise ValueError("`y` must be a 2-dimensional array.")
        n, dims = self.y.shape
        if d.shape[0] != n:
            raise ValueError(f"Expected the first axis of `d` to have length {n}.")
        if neighbors is not None:
            count = min(int(neighbors), n)
            smooth = tnp.broadcast_to(tnp.asarray(smoothing).astype(float), (n,))
            self.near = count, d, smooth, (kernel, epsilon, degree)
        degree = max(least, 0) if degree is None else int(degree)
        # Exponents of the monomials up to the degree.
        self.powers = [p for p in itertools.product(range(degree + 1), repeat=dims) if sum(p) <= degree]
        if len(self.powers) > n:
            raise ValueError(
                f"At least {len(self.powers)} data points are required when `degree` is {degree}."
            )
        if self.near is not None:
            if len(self.powers) > self.near[0]:
                raise ValueError(
                    f"At least {len(self.powers)} neighbors are required when `degree` is {degree}."
                )
            return
        low, high = tnp.min(self.y, axis=0), tnp.max(self.y, axis=0)
        half = (high - low) / 2
        self.shift, self.scale = (high + low) / 2, tnp.where(half == 0, 1.0, half)
        self.tail = d.shape[1:]
        m = len(self.powers)
        kernel_part = self._kernel(self.y) + tnp.eye(n) * tnp.broadcast_to(
            tnp.asarray(smoothing).astype(float), (n,)
        )
        p = self._monomials(self.y)
        matrix = tnp.concatenate(
            [tnp.concatenate([kernel_part, p], axis=1), tnp.concatenate([p.T, tnp.zeros((m, m))], axis=1)]
        )
        right = tnp.concatenate([d.reshape(n, -1), tnp.zeros((m, d.reshape(n, -1).shape[1]), d.dtype)])
        self.weights = tnp.linalg.solve(matrix, right)

    def _kernel(self, x: Any) -> Any:
        gaps = (x[:, None, :] - self.y[None, :, :]) * self.epsilon
        return self.function(tnp.sum(gaps * gaps, axis=-1))

    def _monomials(self, x: Any) -> Any:
        if not self.powers:
            return tnp.zeros((x.shape[0], 0))
        scaled = (x - self.shift) / self.scale
        columns = []
        for powers in self.powers:
            column = tnp.ones(x.shape[0])
            for axis, power in enumerate(powers):
                for _ in range(power):
                    column = column * scaled[:, axis]
            columns.append(column)
        return tnp.stack(columns, axis=1)

    def __call__(self, x: Any) -> Any:
        """The values at the points `x`, shape (points, dimensions)."""
        x = tnp.asarray(x).astype(float)
        if x.ndim != 2:
            raise ValueError("`x` must be a 2-dimensional array.")
        if x.shape[1] != self.y.shape[1]:
            raise ValueError(f"Expected the second axis of `x` to have length {self.y.shape[1]}.")
        if self.near is not None:
            return self._of_neighbours(x)
        rows = tnp.concatenate([self._kernel(x), self._monomials(x)], axis=1)
        return (rows @ self.weights).reshape(x.shape[0], *self.tail)

    def _of_neighbours(self, x: Any) -> Any:
        """For each point the interpolant of its nearest data."""
        count, d, smoothing, options = self.near

        def host(_: Any, y: Any, x: Any) -> list[Any]:
            return [scipy_module("spatial").KDTree(y).query(x, count)[1].reshape(len(x), count)]

        results = [Aval((x.shape[0], count), np.dtype(np.int64))]
        (places,) = solving.host_call(host, [], results, *lax.stop_gradient((self.y, x)))

        def one(_: Any, given: Any) -> tuple[Any, Any]:
            i, point = given
            made = RBFInterpolator(self.y[i], d[i], None, smoothing[i], *options)
            return None, made(point[None])[0]

        return lax.scan(one, None, (places, x))[1]
