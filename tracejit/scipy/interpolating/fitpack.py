"""SciPy's older names for splines, which are triples (t, c, k): FITPACK's functions as formulas in the B-spline basis.

Without smoothing, knots and coefficients are those of `make_interp_spline`; `smoothing` has the others.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.ops._lazy import scipy_module
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.likeness import as_array, floats, increasing, refuse, require
from tracejit.scipy.interpolating.smoothing import check_curve, smoothed
from tracejit.scipy.interpolating.splines import (
    BSpline,
    basis,
    inserted,
    knots_of,
    make_interp_spline,
    slope_of,
    value_at,
)
from tracejit.scipy.interpolating.zeros import zeros_of
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
    """The spline through (x, y) as (t, c, k), with the inner knots `t` the one with the least squares, or with a
    smoothing `s` the smooth one whose weighted squares sum up to it."""
    if full_output or per or task not in (0, -1):
        own = {"w": w, "xb": xb, "xe": xe, "k": k, "task": task, "s": s, "t": t}
        out = _hosted("splrep", x, y, **own, full_output=full_output, per=per, quiet=quiet)
        return out if full_output else (out[0], out[1], operator.index(k))
    k = operator.index(k)
    if not 1 <= k <= 5:
        raise TypeError(f"Given degree of the spline (k={k}) is not supported. (1<=k<=5)")
    x, y = tnp.asarray(x).astype(float), tnp.asarray(y).astype(float)
    if x.size <= k:
        raise TypeError("m > k must hold")
    if x.ndim != 1 or x.shape != y.shape or (w is not None and tnp.shape(w) != x.shape):
        raise TypeError(
            f"Lengths of the first three arguments (x,y,w) must be equal, not {x.shape} and {y.shape}"
        )
    low, high = (x[0] if xb is None else tnp.asarray(xb)), (x[-1] if xe is None else tnp.asarray(xe))
    if s is None:
        s = 0.0 if w is None else x.size - np.sqrt(2 * x.size)
    if t is None and not (type(s) in (int, float) and s == 0):
        made = smoothed("splrep", x, y[:, None], w, (low, high), k, s)
        return made.knots(), made.coefficients(k + 1)[:, 0], k
    x = increasing(x, "Error on input data")
    require((low <= x[0]) & (high >= x[-1]), "Error on input data")
    inner = knots_of(x, k)[k + 1 : -k - 1] if t is None else tnp.asarray(t).astype(float)
    knots = tnp.concatenate([low * tnp.ones(k + 1), inner, high * tnp.ones(k + 1)])
    c = tnp.linalg.solve(basis(knots, k, x), y) if t is None else _least(knots, k, x, y, w)
    return knots, tnp.concatenate([c, tnp.zeros(k + 1)]), k


def make_splrep(
    x: Any, y: Any, *, w: Any = None, xb: Any = None, xe: Any = None, k: int = 3, s: Any = 0, t: Any = None,
    nest: Any = None, bc_type: Any = None,
) -> Any:  # fmt: skip
    """The smooth spline of degree `k` whose weighted squares of distances from (x, y) sum up to `s`."""
    _check_options("make_splrep", t, nest, bc_type)
    x, y, k = tnp.asarray(x).astype(float), tnp.asarray(y).astype(float), operator.index(k)
    if type(s) in (int, float) and s == 0:
        if w is not None:
            raise ValueError("s==0 is for interpolation only")
        return make_interp_spline(x, y, k)
    check_curve(x, y, w, k)
    ends = (x[0] if xb is None else xb), (x[-1] if xe is None else xe)
    made = smoothed("make_splrep", x, y[:, None], w, ends, k, s)
    c = made.coefficients()[:, 0]
    return BSpline.made(t=made.knots(), c=c, k=k, extrapolate=True, axis=0)


def _check_options(name: str, t: Any, nest: Any, bc_type: Any) -> None:
    if t is not None or nest is not None or bc_type is not None:
        refuse(name, "knots, `nest` or `bc_type`")


def _curve(x: Any, u: Any, dtype: Any = None) -> tuple[Any, Any]:
    """The points of a curve, shape (points, dimensions), and its parameters: by default the share of its length, as
    computed in `dtype` (None: that of `x`)."""
    points = tnp.stack([tnp.asarray(v, dtype) for v in x], axis=1)
    if u is not None:
        return points.astype(float), tnp.asarray(u, float)
    along = tnp.cumsum(tnp.sqrt(tnp.sum(tnp.diff(points, axis=0) ** 2, axis=1)))
    return points.astype(float), tnp.concatenate([tnp.zeros(1), along / along[-1]])


def make_splprep(
    x: Any, *, w: Any = None, u: Any = None, ub: Any = None, ue: Any = None, k: int = 3, s: Any = 0,
    t: Any = None, nest: Any = None, bc_type: Any = None,
) -> Any:  # fmt: skip
    """A smooth spline curve near the points whose coordinates are in `x`, and the parameters of the points."""
    _check_options("make_splprep", t, nest, bc_type)
    k = operator.index(k)
    points, u = _curve(x, u)
    if type(s) in (int, float) and s == 0:
        if w is not None:
            raise ValueError("s==0 is for interpolation only")
        return make_interp_spline(u, points.T, k, axis=1), u
    check_curve(u, points[:, 0], w, k)
    made = smoothed(
        "make_splprep", u, points, w, (u[0] if ub is None else ub, u[-1] if ue is None else ue), k, s
    )
    c = made.coefficients()
    return BSpline.made(t=made.knots(), c=c, k=k, extrapolate=True, axis=1), u


def splprep(
    x: Any, w: Any = None, u: Any = None, ub: Any = None, ue: Any = None, k: int = 3, task: int = 0, s: Any = None,
    t: Any = None, full_output: Any = 0, nest: Any = None, per: Any = 0, quiet: Any = 1,
) -> Any:  # fmt: skip
    """A smooth spline curve near the points whose coordinates are in `x`, as ([t, c, k], u)."""
    if task or t is not None or full_output or nest is not None or per:
        refuse("splprep", "`task`, `t`, `nest`, `per` or `full_output`")
    k = operator.index(k)
    if not 1 <= k <= 5:
        raise TypeError(f"1 <= k= {k} <=5 must hold")
    given = u is not None
    points, u = _curve(x, u, float)
    m, dims = points.shape
    if m <= k:
        raise TypeError("m > k must hold")
    ends = (u[0] if ub is None or not given else ub), (u[-1] if ue is None or not given else ue)
    s = m - np.sqrt(2 * m) if s is None else s
    if type(s) in (int, float) and s == 0:
        inner = knots_of(u, k)[k + 1 : -k - 1]
        knots = tnp.concatenate([ends[0] * tnp.ones(k + 1), inner, ends[1] * tnp.ones(k + 1)])
        c = tnp.linalg.solve(basis(knots, k, u), points)
    else:
        made = smoothed("splprep", u, points, w, ends, k, s)
        knots, c = made.knots(), made.coefficients()
    return [knots, [tnp.array(c[:, j]) for j in range(dims)], k], u


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


def insert(x: Any, tck: Any, m: int = 1, per: Any = 0) -> Any:
    """The same spline with the knot `x` as well, `m` times."""
    if per:
        refuse("insert", "a periodic spline")
    if isinstance(tck, BSpline):
        return tck.insert_knot(x, m)
    t, c, k = _parts(tck)
    if _is_parametric(c):
        made = [insert(x, (t, one, k), m) for one in c]
        return made[0][0], [one for _, one, _ in made], k
    x, c = tnp.asarray(x).astype(float), tnp.asarray(c).astype(float)
    require((x >= t[k]) & (x <= t[t.size - k - 1]), "Invalid input data")
    for _ in range(m):
        t, c = inserted(t, c[: t.size - k - 1], k, x)
        c = tnp.concatenate([c, tnp.zeros(k + 1)])
    return t, c, k


def sproot(tck: Any, mest: int = 10) -> Any:
    """Where a cubic spline is zero, in order; at most `mest` places."""
    t, c, k = _parts(tck)
    if k != 3:
        raise ValueError("sproot works only for cubic (k=3) splines")
    if _is_parametric(c):
        return [sproot((t, one, k), mest) for one in c]
    c = tnp.asarray(c).astype(float)

    def find(t: Any, c: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return scipy_module("interpolate").sproot((t, c, 3), mest)

    told = "what SciPy tells about the zeros of a spline that it does not find"
    return zeros_of(lambda x: at_points(t, c, k, x, 0, 0), find, mest, told, t, c)
