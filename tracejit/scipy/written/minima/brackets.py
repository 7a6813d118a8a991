"""Algorithm 748: roots of functions of one number in an interval, with the steps of SciPy's `toms748`.

G. E. Alefeld, F. A. Potra and Y. Shi, Algorithm 748: enclosing zeros of continuous functions (1995).
"""

from __future__ import annotations

from typing import Any

import numpy as np

_EPS = float(np.finfo(float).eps)


def toms748(f: Any, a: Any, b: Any, k: Any, xtol: Any, rtol: Any, most: Any) -> Any:
    """(root, steps, calls, whether it converged, whether the signs at the ends differ, whether values are finite)."""
    fa, fb = f(a), f(b)
    finite = bool(np.isfinite(fa) and (fa == 0 or np.isfinite(fb)))
    differ = bool(fa == 0 or fb == 0 or np.sign(fa) * np.sign(fb) <= 0)
    calls = np.int64(1) if fa == 0 else np.int64(2)
    root = a if fa == 0 else b
    converged = bool(finite and (fa == 0 or fb == 0))
    steps = np.int64(0)
    d, fd, e, fe = a, fa, a, 0.0 * a
    going = bool(finite and differ and not converged)
    if going:
        c = _secant(a, b, fa, fb)
        if not (a < c and c < b):
            c = (a + b) / 2.0
        fc = f(c)
        calls += 1
        if fc == 0 or not np.isfinite(fc):
            root, going = c, False
            converged, finite = bool(fc == 0), bool(fc == 0)
        else:
            a, b, fa, fb, d, fd = _narrowed(a, b, fa, fb, c, fc)
            steps = np.int64(1)
    while going:
        steps += 1
        width = b - a
        c = np.float64(np.nan)
        tries = 2
        while going and tries < k + 2:
            inner = _interpolated(a, b, d, e, fa, fb, fd, fe)
            if a < inner and inner < b:
                c = inner
            if np.isnan(c):
                c = _newton(a, b, fa, fb, d, fd, tries)
            fc = f(c)
            calls += 1
            if fc == 0 or not np.isfinite(fc):
                root, going = c, False
                converged, finite = bool(fc == 0), bool(fc == 0)
            else:
                e, fe = d, fd
                a, b, fa, fb, d, fd = _narrowed(a, b, fa, fb, c, fc)
            tries += 1
        if going:
            c = _doubled(a, b, fa, fb, xtol, rtol)
            fc = f(c)
            calls += 1
            if fc == 0 or not np.isfinite(fc):
                root, going = c, False
                converged, finite = bool(fc == 0), bool(fc == 0)
            else:
                e, fe = d, fd
                a, b, fa, fb, d, fd = _narrowed(a, b, fa, fb, c, fc)
        if going and b - a > 0.5 * width:
            c = (a + b) / 2.0
            fc = f(c)
            calls += 1
            if fc == 0 or not np.isfinite(fc):
                root, going = c, False
                converged, finite = bool(fc == 0), bool(fc == 0)
            else:
                e, fe = d, fd
                a, b, fa, fb, d, fd = _narrowed(a, b, fa, fb, c, fc)
        if going:
            root = (a + b) / 2.0
            if np.abs(a - b) <= xtol + rtol * np.abs(b):
                converged, going = True, False
            elif steps >= most:
                going = False
    return root, steps, calls, converged, differ, finite


def _secant(a: Any, b: Any, fa: Any, fb: Any) -> Any:
    if np.abs(fb) > np.abs(fa):
        c = (-fa / fb * b + a) / (1 - fa / fb)
    else:
        c = (-fb / fa * a + b) / (1 - fb / fa)
    return np.float64(np.nan) if fa == fb else c


def _narrowed(a: Any, b: Any, fa: Any, fb: Any, c: Any, fc: Any) -> Any:
    """The interval with c as an end, and the end that is left."""
    if np.sign(fa) * np.sign(fc) > 0:
        return c, b, fc, fb, a, fa
    return a, c, fa, fc, b, fb


def _interpolated(a: Any, b: Any, d: Any, e: Any, fa: Any, fb: Any, fd: Any, fe: Any) -> Any:
    """The inverse cubic through four points at zero, by Neville's scheme; NaN where values are too near each other."""
    x, y = (fa, fb, fd, fe), (a, b, d, e)
    good = True
    for i in range(4):
        good = good & (x[i] != 0) & np.isfinite(x[i])
        for j in range(i + 1, 4):
            good = good & ~(np.abs(x[i] - x[j]) <= 32 * _EPS)
    out = y[3]
    q, r = list(y), list(y)
    corrections = np.float64(0.0)
    for k in range(1, 4):
        news = []
        for i in range(k, 4):
            alpha = r[i] - q[i - 1]
            gap = x[i - k] - x[i]
            news.append((x[i] / gap * alpha, x[i - k] / gap * alpha))
        for i in range(k, 4):
            q[i], r[i] = news[i - k]
        corrections = corrections + q[3]
    out = corrections + y[3]
    return out if good else np.float64(np.nan)


def _newton(a: Any, b: Any, fa: Any, fb: Any, d: Any, fd: Any, steps: Any) -> Any:
    """Steps of Newton's method for the parabola through three points."""
    slope = (fb - fa) / (b - a)
    bend = ((fd - fb) / (d - b) - slope) / (d - a)
    if bend == 0:
        r = a - fa / slope
    else:
        r = a if np.sign(bend) * np.sign(fa) > 0 else b
        i = 0
        while i < steps:
            value = (bend * (r - b) + slope) * (r - a) + fa
            new = r - value / (slope + bend * (2 * r - a - b))
            if a < new and new < b:
                r = new
                i += 1
            else:
                if not (a < r and r < b):
                    r = (a + b) / 2.0
                i = steps
    return r


def _doubled(a: Any, b: Any, fa: Any, fb: Any, xtol: Any, rtol: Any) -> Any:
    """A secant step of twice its length from the better end, safeguarded."""
    first = np.abs(fa) < np.abs(fb)
    u, other, fu, far = (a, b, fa, fb) if first else (b, a, fb, fa)
    c = u - 2 * fu / ((fb - fa) / (b - a))
    middle = (a + b) / 2.0
    if np.abs(c - u) > 0.5 * (b - a):
        c = middle
    elif np.abs(c - u) <= _EPS * np.abs(u):
        if np.frexp(fu)[1] < np.frexp(far)[1] - 50:
            c = (31 * u + other) / 32
        else:
            way = np.float64(1.0) if first else np.float64(-1.0)
            c = u + (way * np.abs(c) * rtol + way * xtol)
        if not (a < c and c < b):
            c = middle
    return c
