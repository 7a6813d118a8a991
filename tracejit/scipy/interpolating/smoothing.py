"""Smoothing splines: FITPACK chooses knots by the values when the program runs; coefficients and their derivatives are
formulas for these knots (Dierckx, Curve and Surface Fitting with Splines, 1993).

The spline minimises `sum((w * (y - s(x)))**2) + q * sum(jumps of the k-th derivative at the knots, squared)`. FITPACK
finds q such that the first sum is the smoothing `s`; the derivative of q is that of the root.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.custom.implicit import custom_root
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_module
from tracejit.records import record
from tracejit.scipy import solving
from tracejit.scipy.interpolating.splines import basis
from tracejit.tracing import to_raw

_F64, _I64 = np.dtype(np.float64), np.dtype(np.int64)


@record(frozen=True)
class Smoothed:
    """A spline of degree `k`: `t` and `c` (len(t) - k - 1, curves) are as long as they may get, with the last knot
    again and zeros at their ends; `n` is how many coefficients there are. `fp` is the sum of squares."""

    t: Any
    c: Any
    k: int
    n: Any
    fp: Any

    def knots(self) -> Any:
        """The knots, without those that are only there for the shape."""
        return self.t[np.arange(self.t.size) < self.n + self.k + 1]

    def coefficients(self, more: int = 0) -> Any:
        """The coefficients, and `more` zeros."""
        c = tnp.concatenate([self.c, tnp.zeros((more, self.c.shape[1]))]) if more else self.c
        return c[np.arange(c.shape[0]) < self.n + more]


def smoothed(
    name: str, x: Any, y: Any, w: Any, ends: tuple[Any, Any], k: int, s: Any, before: Sequence[Any] = ()
) -> Smoothed:
    """The spline near the rows of `y` (len(x), curves) between `ends`, whose knots SciPy's function `name` finds.
    `before`: the smoothing of splines whose knots it begins with."""
    m, d = y.shape
    size = m + k + 1
    low, high = (tnp.asarray(e).astype(float) for e in ends)
    s = tnp.asarray(s).astype(float)
    w = tnp.ones(m) if w is None else tnp.asarray(w).astype(float)

    def host(_: Any, *given: Any) -> list[Any]:
        return _found(name, k, *given)

    results = [Aval((2, size), _I64), Aval((m, d), _F64), *[Aval((), _I64)] * 2]
    every = tnp.stack([tnp.asarray(v).astype(float) for v in (*before, s)])
    given = lax.stop_gradient((x, y, w, low, high, every))
    places, start, n, state = solving.host_call(host, [], results, *given)
    leave_if(to_raw(state > 0), "what SciPy tells about a smoothing spline that it could not find")
    pool = tnp.concatenate([low[None], high[None], x])
    t = (pool[places[0]] + pool[places[1]]) / 2
    a = basis(t, k, x) * w[:, None]
    b = _jumps(t, k, n)
    right = y * w[:, None]

    def squares(q: Any) -> Any:
        return tnp.sum((right - a @ _coefficients(a, b, right, q, n)) ** 2)

    # The first guess of q is exact: FITPACK's coefficients solve the equations for the q that it has found.
    fixed_a, fixed_b, fixed_right = lax.stop_gradient((a, b, right))
    bent = fixed_b.T @ (fixed_b @ start)
    pull = fixed_a.T @ (fixed_right - fixed_a @ start)
    size2 = tnp.sum(bent * bent)
    q = tnp.where(size2 > 0, tnp.sum(pull * bent) / tnp.where(size2 > 0, size2, 1.0), 0.0)
    scale = tnp.sum(fixed_a**2) / tnp.maximum(tnp.sum(fixed_b**2), 1e-300)
    free = (state < 0) | (q <= 1e-13 * scale)  # least squares alone, with which q has nothing to do
    q = tnp.where(free, 0.0, q)
    q = custom_root(
        lambda p: tnp.where(free, p, squares(p) - s), q, lambda _, p: p, lambda g, v: v / g(tnp.ones_like(v))
    )
    c = _coefficients(a, b, right, q, n)
    return Smoothed(t, c, k, n, tnp.sum((right - a @ c) ** 2))


def check_curve(x: Any, y: Any, w: Any, k: int) -> None:
    """Raises ValueError where no smoothing spline can be asked for."""
    if not 1 <= k <= 5:
        raise ValueError("k should be 1 <= k <= 5")
    if x.ndim != 1 or x.shape != y.shape or (w is not None and tnp.shape(w) != x.shape):
        raise ValueError("x, y, and w should have a same length")
    if x.size <= k:
        raise ValueError(f"there must be more than {k} points")


def _coefficients(a: Any, b: Any, right: Any, q: Any, n: Any) -> Any:
    """The least squares of `a c - right` and `sqrt(q) b c`; coefficients from `n` on are zero."""
    there = q > 0
    root = tnp.where(there, tnp.sqrt(tnp.where(there, q, 1.0)), 0.0)
    rest = tnp.where(np.arange(a.shape[1]) < n, 0.0, 1.0)
    matrix = tnp.concatenate([a, root * b, tnp.diag(rest)])
    zeros = tnp.zeros((matrix.shape[0] - right.shape[0], right.shape[1]))
    u, r = tnp.linalg.qr(matrix)
    return tnp.linalg.solve(r, u.T @ tnp.concatenate([right, zeros]))


def _jumps(t: Any, k: int, n: Any) -> Any:
    """The jump of the k-th derivative of each spline of the basis at each inner knot, but for a factor."""
    size = t.size - k - 1
    inner = np.arange(k + 1, size)  # numbers of knots
    there = (inner < n)[:, None]
    t = (t - t[0]) * (n - k) / (t[-1] - t[0])
    columns = inner[:, None] + np.arange(-k - 1, 1)  # the splines that have the knot
    gaps = t[inner][:, None, None] - t[columns[:, :, None] + np.arange(k + 2)]
    own = columns[:, :, None] + np.arange(k + 2) == inner[:, None, None]
    product = tnp.prod(tnp.where(own | ~there[:, :, None], 1.0, gaps), axis=-1)
    values = tnp.where(there, (t[columns + k + 1] - t[columns]) / product, 0.0)
    place = np.zeros((inner.size, k + 2, size))
    place[np.arange(inner.size)[:, None], np.arange(k + 2), columns] = 1.0
    return tnp.einsum("ij,ijl->il", values, place)


def _found(name: str, k: int, x: Any, y: Any, w: Any, low: Any, high: Any, s: Any) -> list[Any]:
    """For each knot, which two of (low, high, *x) it lies between; the coefficients; their number; FITPACK's state."""
    m, d = y.shape
    places, c = np.zeros((2, m + k + 1), np.int64), np.zeros((m, d))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            t, found, state = _HOSTS[name](x, y, w, float(low), float(high), k, *map(float, s))
            if not all(np.all(np.isfinite(v)) for v in (x, y, w, t, found)):
                return [places, c, m, 10]
        except Exception:  # Python does it again, and meets the error or the warning itself
            return [places, c, m, 10]
    n = len(t) - k - 1
    inner = t[k + 1 : n]
    after = np.searchsorted(x, inner)
    before = np.where(x[np.minimum(after, m - 1)] == inner, after, after - 1)
    places[:, n:] = 1
    places[0, k + 1 : n], places[1, k + 1 : n] = before + 2, after + 2
    c[:n] = found[:n]
    return [places, c, n, -2 if n == k + 1 and state == 0 else state]


def _splrep(x: Any, y: Any, w: Any, low: Any, high: Any, k: int, s: Any) -> tuple[Any, Any, int]:
    tck, _, state, _ = scipy_module("interpolate").splrep(x, y[:, 0], w, low, high, k, s=s, full_output=1)
    return tck[0], tck[1][:, None], state


def _univariate(
    x: Any, y: Any, w: Any, low: Any, high: Any, k: int, s: Any, *others: Any
) -> tuple[Any, Any, int]:
    """Not always `splrep`'s: FITPACK goes on with more knots after it ran out of room, and where the smoothing is set
    anew."""
    made = scipy_module("interpolate").UnivariateSpline(x, y[:, 0], w, (low, high), k, s)
    for other in others:
        made.set_smoothing_factor(other)
    return made._eval_args[0], made._eval_args[1][:, None], 0


def _splprep(x: Any, y: Any, w: Any, low: Any, high: Any, k: int, s: Any) -> tuple[Any, Any, int]:
    (tck, _), _, state, _ = scipy_module("interpolate").splprep(
        list(y.T), w=w, u=x, ub=low, ue=high, k=k, s=s, full_output=1
    )
    return tck[0], np.stack(tck[1], axis=1), state


def _make_splrep(x: Any, y: Any, w: Any, low: Any, high: Any, k: int, s: Any) -> tuple[Any, Any, int]:
    made = scipy_module("interpolate").make_splrep(x, y[:, 0], w=w, xb=low, xe=high, k=k, s=s)
    return made.t, made.c[:, None], 0


def _make_splprep(x: Any, y: Any, w: Any, low: Any, high: Any, k: int, s: Any) -> tuple[Any, Any, int]:
    made, _ = scipy_module("interpolate").make_splprep(list(y.T), w=w, u=x, ub=low, ue=high, k=k, s=s)
    return made.t, made.c.reshape(y.shape[1], -1).T if made.c.shape[0] != len(made.t) - k - 1 else made.c, 0


_HOSTS = {
    "UnivariateSpline": _univariate,
    "splrep": _splrep,
    "splprep": _splprep,
    "make_splrep": _make_splrep,
    "make_splprep": _make_splprep,
}
