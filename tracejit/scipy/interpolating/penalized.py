"""Cubic splines that minimise `sum(w * (y - f(x))**2) + lam * integral(f''**2)` (Green and Silverman, Nonparametric
Regression and Generalized Linear Models, 1994).

With g the second derivatives at the inner points, `q` the second divided differences and `r` their inner products,
`(r + lam q' w^-1 q) g = q' y` and `f = y - lam w^-1 q g`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.control.custom.implicit import custom_root
from tracejit.ir.avals import Aval
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.ops._lazy import scipy_module
from tracejit.scipy import solving
from tracejit.scipy.hosting.likeness import floats, increasing, require
from tracejit.scipy.interpolating.splines import BSpline
from tracejit.tracing import to_raw


def make_smoothing_spline(x: Any, y: Any, w: Any = None, lam: Any = None, *, axis: int = 0) -> Any:
    """The smoothing spline with the parameter `lam`, by default the one with the least error of generalized
    cross-validation, which SciPy finds."""
    x, y = increasing(x, "``x`` should be an ascending array"), floats(y)
    axis = axis % y.ndim
    if x.size != y.shape[axis]:
        raise ValueError(f"``x`` should be 1D and {x.shape = } == {y.shape = }")
    n = x.size
    if n <= 4:
        raise ValueError("``x`` and ``y`` length must be at least 5")
    w = tnp.ones(n) if w is None else tnp.asarray(w).astype(float)
    require(tnp.all(w > 0), "Invalid vector of weights")
    require(tnp.all(tnp.isfinite(y)), "array must not contain infs or NaNs")
    y = tnp.moveaxis(y, axis, 0)
    rows = y.reshape(n, -1)
    q, r = _forms(x)
    if lam is None:
        if rows.shape[1] > 1:
            parts = [_by_validation(x, rows[:, j], w, q, r) for j in range(rows.shape[1])]
            lam = tnp.stack(parts)
        else:
            lam = _by_validation(x, rows[:, 0], w, q, r)
    lam = tnp.asarray(lam).astype(float)
    require(tnp.all(lam >= 0), "Regularization parameter should be non-negative")
    if lam.ndim == 0:
        bent = _bent(q, r, w, lam, rows)
    else:
        bent = tnp.stack([_bent(q, r, w, lam[j], rows[:, j]) for j in range(rows.shape[1])], axis=1)
    f = rows - lam * (q @ bent) / w[:, None]
    t, c = _in_basis(x, f, bent)
    return BSpline.made(t=t, c=c.reshape(-1, *y.shape[1:]), k=3, extrapolate=True, axis=axis)


def _forms(x: Any) -> tuple[Any, Any]:
    """The matrices q (n, n - 2) and r (n - 2, n - 2)."""
    n, h = x.size, tnp.diff(x)
    one = np.eye(n)
    q = one[:, :-2] / h[:-1] - one[:, 1:-1] * (1 / h[:-1] + 1 / h[1:]) + one[:, 2:] / h[1:]
    side = np.eye(n - 2, k=1)[:, 1:] * h[1:-1] / 6
    side = tnp.concatenate([tnp.zeros((n - 2, 1)), side], axis=1)
    return q, tnp.diag((h[:-1] + h[1:]) / 3) + side + side.T


def _bent(q: Any, r: Any, w: Any, lam: Any, y: Any) -> Any:
    return tnp.linalg.solve(r + lam * (q.T @ (q / w[:, None])), q.T @ y)


def _by_validation(x: Any, y: Any, w: Any, q: Any, r: Any) -> Any:
    """The parameter that SciPy finds; its derivative is that of the zero of the slope of the error."""

    def host(_: Any, x: Any, y: Any, w: Any) -> list[Any]:
        try:
            f = scipy_module("interpolate").make_smoothing_spline(x, y, w)
        except Exception:
            return [0.0, True]
        h = np.diff(x)
        slopes = f(x, 2)[1:-1]
        pull = np.zeros(len(x))  # what `lam` multiplies in w (y - f)
        pull[:-2] += slopes / h[:-1]
        pull[1:-1] -= slopes * (1 / h[:-1] + 1 / h[1:])
        pull[2:] += slopes / h[1:]
        size = pull @ pull
        return [(w * (y - f(x))) @ pull / size if size else 0.0, False]

    results = [Aval((), np.dtype(float)), Aval((), np.dtype(bool))]
    found, failed = solving.host_call(host, [], results, *lax.stop_gradient((x, y, w)))
    leave_if(to_raw(failed), "an error of SciPy's about a smoothing spline")

    def error(lam: Any) -> Any:
        matrix = r + lam * (q.T @ (q / w[:, None]))
        rest = q @ tnp.linalg.solve(matrix, q.T @ y) / w
        size = tnp.trace(tnp.linalg.solve(matrix, q.T @ (q / w[:, None])))
        return tnp.log(tnp.sum(rest * rest)) - 2 * tnp.log(size)

    slope = solving.gradient(error)
    # Where the search ended at a bound, the parameter does not move.
    inside = (found > 1e-4) & (found < x.size - 1e-4)
    return custom_root(
        lambda p: tnp.where(inside, slope(p), p), found, lambda _, p: p, lambda g, v: v / g(tnp.ones_like(v))
    )


def _in_basis(x: Any, f: Any, bent: Any) -> tuple[Any, Any]:
    """Knots and coefficients of the natural spline with values `f` and second derivatives `bent` at the inner points.
    A coefficient is the polar form of the polynomial in an interval at three neighbouring knots."""
    n = x.size
    t = tnp.concatenate([x[:1], x[:1], x[:1], x, x[-1:], x[-1:], x[-1:]])
    zero = tnp.zeros((1, f.shape[1]))
    second = tnp.concatenate([zero, bent, zero])
    h = tnp.diff(x)[:, None]
    first = tnp.diff(f, axis=0) / h - h * (2 * second[:-1] + second[1:]) / 6
    third = tnp.diff(second, axis=0) / h / 6
    j = np.arange(n + 2)
    i = np.clip(j - 2, 0, n - 2)
    u, v, s = ((t[j + m] - x[i])[:, None] for m in (1, 2, 3))
    c = f[i] + first[i] * (u + v + s) / 3 + second[i] / 2 * (u * v + u * s + v * s) / 3 + third[i] * u * v * s
    return t, c
