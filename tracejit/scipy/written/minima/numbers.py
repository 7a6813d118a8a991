"""Minima of functions of one number: Brent's method, the golden section, and their search for a bracket.

R. P. Brent, Algorithms for Minimization without Derivatives (1973), chapter 5; W. H. Press and others, Numerical
Recipes, chapter 10. What a search gives for a bracket that is none is told by `valid`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tracejit.ops._lazy import scipy_module

_GOLD = 1.618034
_TINY = 1e-21


def bracket(f: Any, xa: Any, xb: Any, grow_limit: Any, most: Any) -> Any:
    """Three points around a minimum, downhill from two; (points, values, calls, whether there is a minimum between,
    whether the steps were enough)."""
    xa, xb = np.float64(xa), np.float64(xb)
    fa, fb = f(xa), f(xb)
    if fa < fb:
        xa, xb = xb, xa
        fa, fb = fb, fa
    xc = xb + _GOLD * (xb - xa)
    fc = f(xc)
    calls = np.int64(3)
    steps = np.int64(0)
    enough = True
    going = fc < fb
    while going:
        near = (xb - xa) * (fb - fc)
        far = (xb - xc) * (fb - fa)
        bend = far - near
        w = xb - ((xb - xc) * far - (xb - xa) * near) / (2.0 * _TINY if np.abs(bend) < _TINY else 2.0 * bend)
        limit = xb + grow_limit * (xc - xb)
        if steps > most:
            enough = False
            break
        steps += 1
        fw = np.float64(0.0)
        known = False
        if (w - xc) * (xb - w) > 0.0:
            fw = f(w)
            calls += 1
            if fw < fc:
                xa, xb = xb, w
                fa, fb = fb, fw
                break
            if fw > fb:
                xc = w
                fc = fw
                break
            w = xc + _GOLD * (xc - xb)
        elif (w - limit) * (limit - xc) >= 0.0:
            w = limit
        elif (w - limit) * (xc - w) > 0.0:
            fw = f(w)
            calls += 1
            if fw < fc:
                xb, xc = xc, w
                fb, fc = fc, fw
                w = xc + _GOLD * (xc - xb)
            else:
                known = True
        else:
            w = xc + _GOLD * (xc - xb)
        if not known:
            fw = f(w)
            calls += 1
        xa, xb, xc = xb, xc, w
        fa, fb, fc = fb, fc, fw
        going = fc < fb
    return xa, xb, xc, fa, fb, fc, calls, enough


def given(f: Any, xa: Any, xb: Any, xc: Any) -> Any:
    """Three points in their order with their values; whether there is such an order, and a minimum between."""
    if xa > xc:
        xa, xc = xc, xa
    fa, fb, fc = f(xa), f(xb), f(xc)
    return xa, xb, xc, fa, fb, fc, xa < xb and xb < xc, fb < fa and fb < fc


def best(xa: Any, xb: Any, xc: Any, fa: Any, fb: Any, fc: Any) -> Any:
    """The point of the least value; NaN if there is one among them."""
    if np.isnan(xa + xb + xc + fa + fb + fc):
        return np.float64(np.nan)
    if fa <= fb and fa <= fc:
        return xa
    return xb if fb <= fc else xc


def _parabola(x: Any, w: Any, v: Any, fx: Any, fw: Any, fv: Any) -> tuple[Any, Any]:
    """The lowest point of the parabola through three points is at x + p / q; q is not negative."""
    r = (x - w) * (fx - fv)
    q = (x - v) * (fx - fw)
    p = (x - v) * q - (x - w) * r
    q = 2.0 * (q - r)
    if q > 0.0:
        p = -p
    return p, np.abs(q)


def brent(f: Any, xa: Any, xb: Any, xc: Any, fb: Any, tol: Any, most: Any) -> Any:
    """Brent's method between xa and xc, from xb: (x, value, steps, calls)."""
    x, w, v = xb, xb, xb
    fx, fw, fv = fb, fb, fb
    a, b = np.minimum(xa, xc), np.maximum(xa, xc)
    before = np.float64(0.0)
    size = np.float64(0.0)
    steps = np.int64(0)
    while steps < most:
        least = tol * np.abs(x) + 1.0e-11
        middle = 0.5 * (a + b)
        if np.abs(x - middle) < 2.0 * least - 0.5 * (b - a):
            break
        golden = True
        if np.abs(before) > least:
            p, q = _parabola(x, w, v, fx, fw, fv)
            old = before
            before = size
            if p > q * (a - x) and p < q * (b - x) and np.abs(p) < np.abs(0.5 * q * old):
                golden = False
                size = p * 1.0 / q
                u = x + size
                if u - a < 2.0 * least or b - u < 2.0 * least:
                    size = least if middle - x >= 0 else -least
        if golden:
            before = a - x if x >= middle else b - x
            size = 0.3819660 * before
        if np.abs(size) < least:
            u = x + least if size >= 0 else x - least
        else:
            u = x + size
        fu = f(u)
        if fu > fx:
            if u < x:
                a = u
            else:
                b = u
            if fu <= fw or w == x:
                v, w = w, u
                fv, fw = fw, fu
            elif fu <= fv or (v == x) | (v == w):
                v = u
                fv = fu
        else:
            if u >= x:
                a = x
            else:
                b = x
            v, w, x = w, x, u
            fv, fw, fx = fw, fx, fu
        steps += 1
    return x, fx, steps, steps


def golden(f: Any, xa: Any, xb: Any, xc: Any, fb: Any, tol: Any, most: Any) -> Any:
    """The golden section: (x, value, steps, calls). The value `fb` is computed once more, as SciPy does it."""
    ratio = 0.61803399
    rest = 1.0 - ratio
    x0, x3 = xa, xc
    if np.abs(xc - xb) > np.abs(xb - xa):
        x1, x2 = xb, xb + rest * (xc - xb)
    else:
        x1, x2 = xb - rest * (xb - xa), xb
    f1, f2 = f(x1), f(x2)
    steps = np.int64(0)
    while steps < most and not np.abs(x3 - x0) <= tol * (np.abs(x1) + np.abs(x2)):
        if f2 < f1:
            x0, x1 = x1, x2
            x2 = ratio * x1 + rest * x3
            f1, f2 = f2, f(x2)
        else:
            x3, x2 = x2, x1
            x1 = ratio * x2 + rest * x0
            f2, f1 = f1, f(x1)
        steps += 1
    if f1 < f2:
        return x1, f1, steps, steps + 2
    return x2, f2, steps, steps + 2


def bounded(f: Any, low: Any, high: Any, tol: Any, most: Any) -> Any:
    """Brent's method between two bounds: (x, value, calls, SciPy's flag)."""
    root = np.sqrt(2.2e-16)
    part = 0.5 * (3.0 - np.sqrt(5.0))
    a, b = np.float64(low), np.float64(high)
    v = a + part * (b - a)
    w, x = v, v
    size = np.float64(0.0)
    before = np.float64(0.0)
    fx = f(x)
    calls = np.int64(1)
    fu = np.float64(np.inf)
    fv, fw = fx, fx
    middle = 0.5 * (a + b)
    least = root * np.abs(x) + tol / 3.0
    flag = np.int64(0)
    while np.abs(x - middle) > 2.0 * least - 0.5 * (b - a):
        section = True
        if np.abs(before) > least:
            p, q = _parabola(x, w, v, fx, fw, fv)
            r = before
            before = size
            if np.abs(p) < np.abs(0.5 * q * r) and p > q * (a - x) and p < q * (b - x):
                section = False
                size = (p + 0.0) / q
                u = x + size
                if u - a < 2.0 * least or b - u < 2.0 * least:
                    size = least * (np.sign(middle - x) + (middle == x))
        if section:
            before = a - x if x >= middle else b - x
            size = part * before
        u = x + (np.sign(size) + (size == 0)) * np.maximum(np.abs(size), least)
        fu = f(u)
        calls += 1
        if fu <= fx:
            if u >= x:
                a = x
            else:
                b = x
            v, w, x = w, x, u
            fv, fw, fx = fw, fx, fu
        else:
            if u < x:
                a = u
            else:
                b = u
            if fu <= fw or w == x:
                v, w = w, u
                fv, fw = fw, fu
            elif fu <= fv or (v == x) | (v == w):
                v = u
                fv = fu
        middle = 0.5 * (a + b)
        least = root * np.abs(x) + tol / 3.0
        if calls >= most:
            flag = np.int64(1)
            break
    if np.isnan(x) or np.isnan(fx) or np.isnan(fu):
        flag = np.int64(2)
    return x, fx, calls, flag


def report(flag: Any) -> None:
    """SciPy's warnings of a search between bounds."""
    if flag == 1:
        told = "\nMaximum number of function evaluations exceeded --- increase maxfun argument.\n"
        warnings.warn(told, _category(), stacklevel=3)
    if flag == 2:
        warnings.warn("\nNaN result encountered.", _category(), stacklevel=3)


def _category() -> type[Warning]:
    return scipy_module("optimize").OptimizeWarning
