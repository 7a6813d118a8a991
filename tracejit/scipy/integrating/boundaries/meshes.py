"""The curves of `solve_bvp` on its meshes: cubics on the intervals, residuals, and finer meshes. Nodes past those in
use are copies of the last one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import lax, tree
from tracejit import numpy as tnp
from tracejit.errors import SolverOptionError
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.integrating.pieces import known
from tracejit.scipy.interpolating.piecewise import PPoly


def cubics(x: Any, y: Any, f: Any) -> Any:
    """The coefficients (4, m - 1, n) of the cubics with states `y` and slopes `f` at the nodes."""
    h = x[1:] - x[:-1]
    none = h == 0
    h = tnp.where(none, 1.0, h)
    slope = (y[:, 1:] - y[:, :-1]) / h
    t = tnp.where(none, 0.0, (f[:, :-1] + f[:, 1:] - 2 * slope) / h)
    second = tnp.where(none, 0.0, (slope - f[:, :-1]) / h - t)
    return tnp.swapaxes(tnp.stack([t / h, second, f[:, :-1], y[:, :-1]]), 1, 2)


def _at(c: Any, s: Any) -> Any:
    """The cubics at the distances `s` from the beginnings of their intervals."""
    s = s[:, None]
    return (((c[0] * s + c[1]) * s + c[2]) * s + c[3]).T


def _slopes_at(c: Any, s: Any) -> Any:
    s = s[:, None]
    return ((3 * c[0] * s + 2 * c[1]) * s + c[2]).T


def residuals(slopes: Any, c: Any, x: Any, p: Any, values: Any) -> Any:
    """The root of the mean square of the relative residual in each interval, by Lobatto's rule of five points."""
    h = x[1:] - x[:-1]
    middle = x[:-1] + 0.5 * h
    part = 0.5 * h * (3 / 7) ** 0.5
    total = 32 / 45 * _squares(1.5 * values.inner / tnp.where(h == 0, 1.0, h), values.f_middle)
    for place in (middle + part, middle - part):
        f = slopes(place, _at(c, place - x[:-1]), p)
        total = total + 49 / 90 * _squares(_slopes_at(c, place - x[:-1]) - f, f)
    return (0.5 * total) ** 0.5


def _squares(r: Any, f: Any) -> Any:
    return tnp.sum((r / (1 + tnp.abs(f))) ** 2, axis=0)


def finer(x: Any, where: Any, c: Any, new: Any, count: Any) -> tuple[Any, Any, Any, Any]:
    """The mesh with `new` nodes (none, one or two) in each interval, and the states there: x, where, y, and the number
    of intervals."""
    room = x.size
    before = tnp.concatenate([tnp.zeros(1, new.dtype), tnp.cumsum(new)])
    place = np.arange(room) + before  # of the old nodes
    j = np.arange(room)
    i = tnp.clip(tnp.searchsorted(place, j, "right") - 1, 0, room - 2)
    i = tnp.minimum(i, count - 1)
    step, parts = j - place[i], new[i] + 1
    more = count + before[-1]

    def at(v: Any) -> Any:
        low, high = v[i], v[i + 1]
        thirds = tnp.where(step == 1, (2 * low + high) / 3, (low + 2 * high) / 3)
        inside = tnp.where(parts == 2, 0.5 * (low + high), thirds)
        return tnp.where(step == 0, low, tnp.where(j >= more, v[count], inside))

    places = at(x)
    y = _at(c[:, i], places - x[i])
    return places, at(where), y, more


class Curve:
    """What SciPy's `PPoly` is to traced code: the solution as a function. Outside it becomes SciPy's object."""

    axis = 1
    extrapolate = True

    def __init__(self, c: Any, x: Any, count: Any) -> None:
        self._c, self._x, self._count = c, x, count

    def _made(self) -> Any:
        return _Padded.made(c=self._c, x=self._x, extrapolate=True, axis=1, count=self._count)

    def __call__(self, x: Any, nu: Any = 0, extrapolate: Any = None) -> Any:
        """The states, or their derivatives, at `x`."""
        return self._made()(x, nu, extrapolate)

    def derivative(self, nu: int = 1) -> Any:
        """The curve of the derivative."""
        return self._of(self._made().derivative(nu))

    def antiderivative(self, nu: int = 1) -> Any:
        """The curve of the integral."""
        return self._of(self._made().antiderivative(nu))

    def _of(self, made: Any) -> Any:
        return Curve(made.c, self._x, self._count)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`."""
        f = self._of(self._made().antiderivative())._made()
        f.axis = 0
        return f(b, extrapolate=extrapolate) - f(a, extrapolate=extrapolate)

    @property
    def x(self) -> Any:
        return self._x[: self._count + 1]

    @property
    def c(self) -> Any:
        return self._c[:, : self._count]

    def __getattr__(self, name: str) -> Any:
        if name in ("roots", "solve", "extend", "construct_fast", "from_spline", "from_bernstein_basis"):
            raise SolverOptionError(function="solve_bvp", problem=f"`sol.{name}`", remedy="use its values")
        raise AttributeError(f"'PPoly' object has no attribute {name!r}")


class _Padded(PPoly):
    """A piecewise polynomial of whose intervals the first `count` are in use."""

    count: Any

    def _at(self, t: Any, nu: int) -> Any:
        x, t0 = lax.stop_gradient(self.x), lax.stop_gradient(t)
        i = tnp.clip(tnp.searchsorted(x, t0, "right") - 1, 0, self.count - 1)
        return self.in_intervals(t, nu, i)


def _parts(f: Curve) -> tuple[Any, Any]:
    return (f._c, f._x, f._count), None


def _rebuilt(_: Any, parts: Any) -> Any:
    if not all(map(known, parts)) or np.ndim(parts[2]):
        return Curve(*parts)
    c, x, count = parts
    return scipy_module("interpolate").PPoly.construct_fast(
        c[:, : int(count)].copy(), x[: int(count) + 1].copy(), True, 1
    )


tree.register(Curve, _parts, _rebuilt)
