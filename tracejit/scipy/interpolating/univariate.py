"""`UnivariateSpline` and its kin, and splines of surfaces on a grid without smoothing."""

from __future__ import annotations

import operator
from typing import Any

from tracejit import numpy as tnp
from tracejit.scipy.hosting.likeness import Like, as_array, floats, increasing, refuse
from tracejit.scipy.interpolating import fitpack
from tracejit.scipy.interpolating.smoothing import check_curve, smoothed
from tracejit.scipy.interpolating.splines import basis, knots_of
from tracejit.tracing import box, to_raw

_EXTENSIONS = {"extrapolate": 0, "zeros": 1, "raise": 2, "const": 3}


class UnivariateSpline(metaclass=Like):
    """A spline of degree `k` near (x, y): smooth such that the squares of `w` times the distances sum up to `s`, which
    is the number of points by default; through the points if `s` is 0."""

    _eval_args: tuple[Any, Any, int]
    ext: int
    _smoothed: Any = None
    _data: Any = None
    _factors: tuple[Any, ...] = ()

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, s: Any = None,
        ext: Any = 0, check_finite: bool = False,
    ) -> None:  # fmt: skip
        if type(s) in (int, float) and s == 0:
            self._through(x, y, bbox, k, ext)
            return
        self._data = (tnp.asarray(x).astype(float), tnp.asarray(y).astype(float), w, bbox)
        self.ext = _extension(ext)
        self._smooth(operator.index(k), s)

    def _smooth(self, k: int, s: Any) -> None:
        x, y, w, bbox = self._data
        check_curve(x, y, w, k)
        if type(s) in (int, float) and s < 0:
            raise ValueError("s should be s >= 0.0")
        ends = tuple(x[i] if b is None else b for i, b in zip((0, -1), bbox, strict=True))
        size = x.size if s is None else s
        made = smoothed("UnivariateSpline", x, y[:, None], w, (ends[0], ends[1]), k, size, self._factors)
        self._smoothed, self._factors = made, (*self._factors, size)
        self._eval_args = made.t, made.c[:, 0], k

    def _through(self, x: Any, y: Any, bbox: Any, k: int, ext: Any, knots: Any = None, w: Any = None) -> None:
        k = operator.index(k)
        if not 1 <= k <= 5:
            raise ValueError("k should be 1 <= k <= 5")
        self.ext = _extension(ext)
        more = {} if knots is None else {"t": knots, "w": w}
        self._eval_args = fitpack.splrep(x, y, k=k, xb=bbox[0], xe=bbox[1], s=0, **more)
        self._data = (tnp.asarray(x).astype(float), tnp.asarray(y).astype(float), w, bbox)

    def __call__(self, x: Any, nu: int = 0, ext: Any = None) -> Any:
        """The values, or the `nu`-th derivatives, at `x`."""
        t, c, k = self._cut() if nu else self._eval_args
        return fitpack.at_points(t, c, k, x, nu, self.ext if ext is None else _extension(ext))

    def derivative(self, n: int = 1) -> Any:
        """The spline of the `n`-th derivative; where this one is constant outside of the knots, it is zero."""
        ext = 1 if self.ext == 3 else self.ext
        return UnivariateSpline.made(_eval_args=fitpack.splder(self._cut(), n), ext=ext)

    def antiderivative(self, n: int = 1) -> Any:
        """The spline of the `n`-th antiderivative."""
        return UnivariateSpline.made(_eval_args=fitpack.splantider(self._cut(), n), ext=self.ext)

    def integral(self, a: Any, b: Any) -> Any:
        """The integral from `a` to `b`, which is zero outside of the knots."""
        return fitpack.splint(a, b, self._eval_args)

    def derivatives(self, x: Any) -> Any:
        """All derivatives at the number `x`, from the value on."""
        return fitpack.spalde(x, self._cut())

    def _cut(self) -> tuple[Any, Any, int]:
        """Knots and coefficients, as many as there are."""
        made, k = self._smoothed, self._eval_args[2]
        return self._eval_args if made is None else (made.knots(), made.coefficients(k + 1)[:, 0], k)

    def get_knots(self) -> Any:
        """The knots, each end once."""
        t, _, k = self._cut()
        return t[k : t.size - k]

    def get_coeffs(self) -> Any:
        """The coefficients."""
        t, c, k = self._cut()
        return c[: t.size - k - 1]

    def get_residual(self) -> Any:
        """The sum of the squares of the weighted distances."""
        if self._data is None:
            return None
        x, y, w, _ = self._data
        distance = self(x, ext=0) - y
        return box(to_raw(tnp.sum((distance if w is None else distance * tnp.asarray(w)) ** 2)), True)

    def set_smoothing_factor(self, s: Any) -> None:
        """Make this spline anew with another `s`; FITPACK goes on from the knots that it has."""
        if self._smoothed is None:
            refuse("set_smoothing_factor", "a spline that was not a smoothing one", "make a new spline")
        self._smooth(self._eval_args[2], s)

    def roots(self) -> Any:
        """Where a cubic spline is zero, in order."""
        if self._eval_args[2] != 3:
            raise NotImplementedError("finding roots unsupported for non-cubic splines")
        return fitpack.sproot(self._cut(), 3 * max(self._eval_args[0].shape[0] - 7, 1))


class InterpolatedUnivariateSpline(UnivariateSpline):
    """A spline through (x, y) of degree `k`."""

    def __init__(
        self, x: Any, y: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        self._through(x, y, bbox, k, ext)


class LSQUnivariateSpline(UnivariateSpline):
    """The spline of degree `k` with the inner knots `t` that has the least squares of `w` times the distances."""

    def __init__(
        self, x: Any, y: Any, t: Any, w: Any = None, bbox: Any = (None, None), k: int = 3, ext: Any = 0,
        check_finite: bool = False,
    ) -> None:  # fmt: skip
        self._through(x, y, bbox, k, ext, t, w)


def _extension(ext: Any) -> int:
    found = _EXTENSIONS.get(ext, ext)
    if found not in (0, 1, 2, 3):
        raise ValueError(f"Unknown extrapolation mode {ext}.")
    return found


class RectBivariateSpline(metaclass=Like):
    """The surface through the values z (len(x), len(y)) on a grid, of degrees `kx` and `ky`; it is constant outside."""

    tck: tuple[Any, Any, Any]
    degrees: tuple[int, int]

    def __init__(
        self, x: Any, y: Any, z: Any, bbox: Any = (None,) * 4, kx: int = 3, ky: int = 3, s: Any = 0,
        maxit: int = 20,
    ) -> None:  # fmt: skip
        if any(b is not None for b in bbox) or type(s) not in (int, float) or s != 0:
            refuse("RectBivariateSpline", "smoothing or `bbox`")
        x, y, z = (
            increasing(x, "x must be strictly increasing"),
            increasing(y, "y must be strictly increasing"),
            floats(z),
        )
        if z.shape != (x.size, y.size):
            raise ValueError(f"z of shape {z.shape} for {x.size} values of x and {y.size} of y")
        tx, ty = knots_of(x, kx), knots_of(y, ky)
        half = tnp.linalg.solve(basis(tx, kx, x), z)
        c = tnp.linalg.solve(basis(ty, ky, y), half.T).T
        self.tck, self.degrees = (tx, ty, c.reshape(-1)), (kx, ky)

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Any:
        """The values, or derivatives, on the grid of `x` and `y`, or for each pair of them."""
        full = (*self.tck, *self.degrees)
        x, y = (tnp.asarray(v).astype(float) for v in (x, y))
        if grid:
            if x.ndim > 1 or y.ndim > 1:
                raise ValueError("x and y must be vectors on a grid")
            return fitpack.on_grid(full, tnp.atleast_1d(x), tnp.atleast_1d(y), dx, dy)
        x, y = tnp.broadcast_arrays(x, y)
        tx, ty, c = self.tck
        kx, ky = self.degrees
        rows, columns = fitpack.side(tx, kx, x.reshape(-1), dx), fitpack.side(ty, ky, y.reshape(-1), dy)
        out = tnp.sum((rows @ c.reshape(rows.shape[1], columns.shape[1])) * columns, axis=1)
        return as_array(out.reshape(x.shape))

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """The values for each pair of `xi` and `yi`."""
        return self(xi, yi, dx, dy, grid=False)

    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        """The integral over a rectangle, which is zero outside of the grid."""
        tx, ty, c = self.tck
        kx, ky = self.degrees
        c = c.reshape(tx.size - kx - 1, ty.size - ky - 1)
        inner = [fitpack.splint(ya, yb, (ty, row, ky)) for row in c]
        return fitpack.splint(xa, xb, (tx, tnp.stack([tnp.asarray(v) for v in inner]), kx))

    def get_knots(self) -> Any:
        """The knots in both directions."""
        return self.tck[:2]

    def get_coeffs(self) -> Any:
        """The coefficients."""
        return self.tck[2]
