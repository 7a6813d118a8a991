"""SciPy's older names for splines, which are triples (t, c, k): FITPACK's functions as formulas in the B-spline basis.

Without smoothing, knots and coefficients are those of `make_interp_spline`; smoothing splines choose their knots by the
values, and are calls of FITPACK.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.likeness import as_array, floats, increasing, refuse, require
from tracejit.scipy.interpolating.splines import BSpline, basis, knots_of, slope_of, value_at
from tracejit.tracing import box, to_raw


def _hosted(name: str, *args: Any, **kwargs: Any) -> Any:
    """The call of SciPy's function by the program."""
    return calls.of(getattr(scipy_module("interpolate"), name))(*args, **kwargs)


def _parts(tck: Any) -> tuple[Any, Any, int]:
    t, c, k = tck
    return tnp.asarray(t).astype(float), c, operator.index(k)


def _is_parametric(c: Any) -> bool:
    return isinstance(c, (list, tuple)) and len(c) > 0 and np.ndim(c[0]) > 0


def within_knots(t: Any, k: int, x: Any, ext: Any) -> tuple[Any, Any]:
    """The points at which to take the spline, and which of them count, for FITPACK's `ext`; None for all."""
    low, high = t[k], t[t.size - k - 1]
    if ext == 0:
        return x, None
    inside = (x >= low) & (x <= high)
    if ext == 2:
        require(tnp.all(inside), "A point is outside of the knots.")
    return tnp.clip(x, low, high), inside if ext == 1 else None


def at_points(t: Any, c: Any, k: int, x: Any, der: int, ext: Any) -> Any:
    """The `der`-th derivatives at points of any shape, as an array."""
    points = tnp.asarray(x).astype(float)
    # FITPACK continues derivatives where it keeps values.
    flat, counts = within_knots(t, k, points.reshape(-1), 0 if ext == 3 and der else ext)
    c = floats(c)[: t.size - k - 1]
    for _ in range(der):
        t, c, k = slope_of(t, c, k)
    out = value_at(t, c, k, flat)
    out = out if counts is None else tnp.where(counts, out, 0.0)
    return as_array(out.reshape(points.shape))


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """The values, or the `der`-th derivatives, of a spline at `x`. Outside of the knots it is continued (`ext` 0), zero
    (1), an error (2) or the value at the end (3)."""
    if isinstance(tck, BSpline):
        if ext not in (0, 1, 3):
            raise ValueError(f"Extrapolation mode {ext} is not supported by splev.")
        return _of_object(tck, x, der, ext)
    t, c, k = _parts(tck)
    if not 0 <= der <= k:
        raise ValueError(f"0<=der={der}<=k={k} must hold")
    if ext not in (0, 1, 2, 3):
        raise ValueError(f"ext = {ext} not in (0, 1, 2, 3) ")
    if _is_parametric(c):
        return [splev(x, (t, one, k), der, ext) for one in c]
    if not tnp.size(x):
        raise ValueError("Invalid input data")
    return at_points(t, c, k, x, der, ext)


def _of_object(spline: Any, x: Any, der: int, ext: int) -> Any:
    if spline.c.ndim > 1:
        raise ValueError(
            "Calling splev() with BSpline objects with c.ndim > 1 is not allowed. Use BSpline.__call__(x)"
        )
    if ext != 0:
        raise ValueError(f"Extrapolation mode {ext} is not supported by splev.")
    return spline(x, der, extrapolate=True)


def splrep(
    x: Any, y: Any, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, task: int = 0, s: Any = None,
    t: Any = None, full_output: Any = 0, per: Any = 0, quiet: Any = 1,
) -> Any:  # fmt: skip
    """The spline through (x, y) as (t, c, k), or with the inner knots `t` the one with the least squares. With a
    smoothing `s`, FITPACK is called."""
    plain = xb is None and xe is None and not full_output and not per and task in (0, -1)
    exact = (s is None and w is None) or (type(s) in (int, float) and s == 0)
    if not plain or not (exact or t is not None):
        own = {"w": w, "xb": xb, "xe": xe, "k": k, "task": task, "s": s, "t": t}
        out = _hosted("splrep", x, y, **own, full_output=full_output, per=per, quiet=quiet)
        return out if full_output else (out[0], out[1], operator.index(k))
    k = operator.index(k)
    if not 1 <= k <= 5:
        raise TypeError(f"Given degree of the spline (k={k}) is not supported. (1<=k<=5)")
    x, y = increasing(x, "Error on input data"), tnp.asarray(y).astype(float)
    if x.size <= k:
        raise TypeError("m > k must hold")
    if x.shape != y.shape:
        raise TypeError(
            f"Lengths of the first three arguments (x,y,w) must be equal, not {x.shape} and {y.shape}"
        )
    if t is None:
        knots = knots_of(x, k)
        c = tnp.linalg.solve(basis(knots, k, x), y)
    else:
        inner = tnp.asarray(t).astype(float)
        knots = tnp.concatenate([x[0] * tnp.ones(k + 1), inner, x[-1] * tnp.ones(k + 1)])
        c = _least(knots, k, x, y, w)
    return knots, tnp.concatenate([c, tnp.zeros(k + 1)]), k


def _least(t: Any, k: int, x: Any, y: Any, w: Any) -> Any:
    """The coefficients with the least sum of the weighted squares."""
    matrix = basis(t, k, x)
    if w is not None:
        weights = tnp.asarray(w).astype(float)[:, None]
        matrix, y = matrix * weights, y * weights.reshape(-1, *[1] * (y.ndim - 1))
    q, r = tnp.linalg.qr(matrix)
    return tnp.linalg.solve(r, q.T @ y)


def make_lsq_spline(
    x: Any, y: Any, t: Any, k: int = 3, w: Any = None, axis: int = 0, check_finite: bool = True, *,
    method: str = "qr",
) -> Any:  # fmt: skip
    """The spline of degree `k` with the knots `t` that has the least sum of squares of `w` times its distances from
    (x, y)."""
    if method not in ("qr", "norm-eq"):
        raise ValueError(f"Unknown method = {method!r}.")
    k, x, y, t = operator.index(k), tnp.asarray(x).astype(float), floats(y), tnp.asarray(t).astype(float)
    axis = operator.index(axis) % y.ndim
    y = tnp.moveaxis(y, axis, 0)
    if x.ndim != 1 or x.size != y.shape[0]:
        raise ValueError(f"Shapes of x {x.shape} and y {y.shape} are incompatible")
    require(tnp.all(x[1:] >= x[:-1]), "Expect x to be a 1D non-decreasing sequence.")
    require(tnp.all(t[1:] >= t[:-1]), "Expect t to be a 1D strictly increasing sequence.")
    require((x[0] >= t[k]) & (x[-1] <= t[t.size - k - 1]), "Out of bounds w/ x.")
    c = _least(t, k, x, y.reshape(x.size, -1), w)
    return BSpline.made(t=t, c=c.reshape(-1, *y.shape[1:]), k=k, extrapolate=True, axis=axis)


def _integral(t: Any, c: Any, k: int, a: Any, b: Any) -> Any:
    """From a to b, as the spline that is zero outside of its knots has it."""
    low, high = t[k], t[t.size - k - 1]
    spline = BSpline.made(t=t, c=floats(c), k=k, extrapolate=True, axis=0)
    a, b = (tnp.clip(tnp.asarray(v).astype(float), low, high) for v in (a, b))
    return box(to_raw(spline.integrate(a, b)), True)


def splint(a: Any, b: Any, tck: Any, full_output: Any = 0) -> Any:
    """The integral of a spline from `a` to `b`, which is zero outside of the knots."""
    if full_output or isinstance(tck, BSpline):
        refuse("splint", "full_output, or an object BSpline", "use its method `integrate`")
    t, c, k = _parts(tck)
    if _is_parametric(c):
        return [_integral(t, one, k, a, b) for one in c]
    return _integral(t, c, k, a, b)


def splder(tck: Any, n: int = 1) -> Any:
    """The `n`-th derivative of a spline, in the same form."""
    if isinstance(tck, BSpline):
        return tck.derivative(n)
    if n < 0:
        return splantider(tck, -n)
    t, c, k = _parts(tck)
    c = tnp.asarray(c).astype(float)
    if n > k:
        raise ValueError(f"Order of derivative (n = {n!r}) must be <= order of spline (k = {k!r})")
    for _ in range(n):
        width = t[k + 1 : -1] - t[1 : -k - 1]
        require(
            tnp.all(width != 0), f"The spline has internal repeated knots and is not differentiable {n} times"
        )
        c = tnp.concatenate([(c[1 : -1 - k] - c[: -2 - k]) * k / width, tnp.zeros(k)])
        t, k = t[1:-1], k - 1
    return t, c, k


def splantider(tck: Any, n: int = 1) -> Any:
    """The `n`-th antiderivative of a spline, in the same form."""
    if isinstance(tck, BSpline):
        refuse("splantider", "an object BSpline", "give (t, c, k)")
    if n < 0:
        return splder(tck, -n)
    t, c, k = _parts(tck)
    c = tnp.asarray(c).astype(float)
    for _ in range(n):
        width = t[k + 1 :] - t[: -k - 1]
        sums = tnp.cumsum(c[: -k - 1] * width) / (k + 1)
        c = tnp.concatenate([tnp.zeros(1), sums, sums[-1] * tnp.ones(k + 2)])
        t, k = tnp.concatenate([t[:1], t, t[-1:]]), k + 1
    return t, c, k


def spalde(x: Any, tck: Any) -> Any:
    """All derivatives of a spline at `x`, from the value on."""
    if isinstance(tck, BSpline):
        raise TypeError("spalde does not accept BSpline instances.")
    t, c, k = _parts(tck)
    if _is_parametric(c):
        return [spalde(x, (t, one, k)) for one in c]
    points = tnp.atleast_1d(tnp.asarray(x).astype(float))
    if points.size > 1:
        return [spalde(points[i], tck) for i in range(points.size)]
    inside = (points >= t[k]) & (points <= t[t.size - k - 1])
    require(tnp.all(inside), "Invalid input data. A point is outside of the knots.")
    return tnp.concatenate([at_points(t, c, k, points, d, 0) for d in range(k + 1)])


# ---------------------------------------------------------------- surfaces


def on_grid(tck: Any, x: Any, y: Any, dx: int, dy: int) -> Any:
    """The values of a surface for vectors x and y, shape (len(x), len(y)). Outside of the knots it is constant."""
    tx, ty, c, kx, ky = tck
    tx, ty = (tnp.asarray(t).astype(float) for t in (tx, ty))
    nx, ny = tx.size - kx - 1, ty.size - ky - 1
    c = tnp.asarray(c).astype(float).reshape(nx, ny)
    rows, columns = side(tx, kx, x, dx), side(ty, ky, y, dy)
    return rows @ c @ columns.T


def side(t: Any, k: int, x: Any, der: int) -> Any:
    """The derivatives of the basis at `x`, shape (len(x), n)."""
    at, _ = within_knots(t, k, x, 3)
    c = tnp.eye(t.size - k - 1)
    for _ in range(der):
        t, c, k = slope_of(t, c, k)
    return value_at(t, c, k, at)


def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """The values, or derivatives, of the surface (tx, ty, c, kx, ky) on the grid of `x` and `y`."""
    kx, ky = tck[3:]
    if not 0 <= dx < kx:
        raise ValueError(f"0 <= dx = {dx} < kx = {kx} must hold")
    if not 0 <= dy < ky:
        raise ValueError(f"0 <= dy = {dy} < ky = {ky} must hold")
    x, y = (tnp.atleast_1d(tnp.asarray(v).astype(float)) for v in (x, y))
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError("First two entries should be rank-1 arrays.")
    require(tnp.all(x[1:] >= x[:-1]) & tnp.all(y[1:] >= y[:-1]), "Invalid input data")
    z = on_grid(tck, x, y, dx, dy)
    return z if x.size > 1 else z[0] if y.size > 1 else z[0, 0]
