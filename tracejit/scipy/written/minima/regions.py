"""Minima in trust regions: with truncated conjugate gradients, and nearly exact ones, with the steps of SciPy's.

J. Nocedal and S. J. Wright, Numerical Optimization, algorithms 4.1 and 7.2; A. R. Conn, N. I. M. Gould and P. L. Toint,
Trust-Region Methods (2000), section 7.3; J. J. Moré and D. C. Sorensen, Computing a trust region step (1983).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.scipy.written.minima.points import first, moved, sloped, valued
from tracejit.scipy.written.minima.reports import told
from tracejit.scipy.written.minima.triangles import factored, lower_solved, smallest, upper_solved

_EPS = float(np.finfo(float).eps)


def trusted(both: Any, bent: Any, times: Any, x: Any, options: Any, tell: Any = None) -> Any:
    """The minimum: (x, value, gradient, Hessian, counts of values, gradients and Hessians, steps, status).

    `bent(x)` is the Hessian, `times(x, H, p)` its product with p, and how often it was asked for. `options` are (the
    first radius, the largest one, eta, gtol, maxiter, whether steps are nearly exact, how many tries each has then,
    whether only products are known). The status 4 says that SciPy refuses what is not finite. After each step there is
    `told(tell, x, value)`, if there is a `tell`."""
    radius, largest, eta, gtol, most, exact, tries, products = options
    radius, largest = np.float64(radius), np.float64(largest)
    at = first(both, x)
    f, g, h = at[1], at[2], bent(x)
    asked = np.int64(1)
    current = True  # the Hessian of SciPy's last point is known
    size = np.sqrt(np.dot(g, g))
    known = True  # that of this point is
    low = np.float64(0.0)
    before = np.float64(-1.0)
    steps = np.int64(0)
    status = np.int64(0)
    if not np.isfinite(size) or (exact and not np.all(np.isfinite(h))):
        status = np.int64(4)
    going = bool(size >= gtol and status == 0)
    while going:
        if not known and not exact:
            h = bent(x)
            known = True
            if not current:
                asked += 1
                current = True
        if exact:
            p, edge, low, before, more = _nearly_exact(h, g, radius, low, before, tries)
        else:
            p, edge, more = _truncated(times, x, h, g, size, radius)
        if not np.all(np.isfinite(p)):
            status = np.int64(4)
            break
        hp, one = times(x, h, p)
        asked += more + one
        model = f + np.dot(g, p) + 0.5 * np.dot(p, hp)
        new = x + p
        same = np.all(new == at[0])
        at = valued(moved(both, at, new))
        current = bool(current and same)
        other = h
        if exact:
            other = bent(new)
            if not current:
                asked += 1
                current = True
        gain = f - model
        if gain <= 0:
            status = np.int64(2)
            break
        ratio = (f - at[1]) / gain
        if ratio < 0.25:
            radius = radius * 0.25
        elif ratio > 0.75 and edge:
            radius = min(2 * radius, largest)
        if ratio > eta:
            at = sloped(at)
            x, f, g = new, at[1], at[2]
            size = np.sqrt(np.dot(g, g))
            known = exact or products
            h = other
            low, before = np.float64(0.0), np.float64(-1.0)
            if not np.isfinite(size) or (exact and not np.all(np.isfinite(h))):
                status = np.int64(4)
                break
        steps += 1
        if tell is not None:
            told(tell, x, f)
        if size < gtol:
            break
        if steps >= most:
            status = np.int64(1)
            break
    if not known:
        h = bent(x)
    return x, f, g, h, at[5], at[6], asked, steps, status


def edges(z: Any, d: Any, radius: Any) -> Any:
    """The two t at which z + t d has the length `radius`, the lower one first."""
    a = np.dot(d, d)
    b = 2 * np.dot(z, d)
    c = np.dot(z, z) - radius**2
    part = b + np.copysign(np.sqrt(b * b - 4 * a * c), b)
    s, t = -part / (2 * a), -2 * c / part
    return (t, s) if t < s else (s, t)


def _truncated(times: Any, x: Any, h: Any, g: Any, size: Any, radius: Any) -> Any:
    """Steihaug's step, whether it is as long as may be, and how often the Hessian's product was asked for."""
    near = min(np.float64(0.5), np.sqrt(size)) * size
    z = np.zeros(len(g))
    r = g
    d = -r
    edge = False
    asked = np.int64(0)
    going = bool(not size < near)
    while going:
        hd, one = times(x, h, d)
        asked += one
        bend = np.dot(d, hd)
        length = np.dot(r, r)
        a = length / bend
        new = z + a * d
        if bend <= 0:
            s, t = edges(z, d, radius)
            hs, one = times(x, h, z + s * d)
            ht, two = times(x, h, z + t * d)
            asked += one + two
            u, v = z + s * d, z + t * d
            first = np.dot(g, u) + 0.5 * np.dot(u, hs) < np.dot(g, v) + 0.5 * np.dot(v, ht)
            z = u if first else v
            edge = True
            going = False
        elif np.sqrt(np.dot(new, new)) >= radius:
            t = edges(z, d, radius)[1]
            z = z + t * d
            edge = True
            going = False
        else:
            rest = r + a * hd
            left = np.dot(rest, rest)
            z = new
            if np.sqrt(left) < near or not np.isfinite(left):
                going = False
            d = -rest + left / length * d
            r = rest
    return z, edge, asked


def _nearly_exact(h: Any, g: Any, radius: Any, low: Any, before: Any, tries: Any) -> Any:
    """Moré and Sorensen's step p with (H + lambda 1) p = -g, whether it is as long as may be, the least lambda that is
    possible, and the radius. `low` and `before` are these of the last try at this point."""
    n = len(g)
    size = np.sqrt(np.dot(g, g))
    diagonal = np.diag(h)
    rows = np.sum(np.abs(h), axis=1)
    least = np.min(diagonal + np.abs(diagonal) - rows)
    most = np.max(diagonal - np.abs(diagonal) + rows)
    bound = np.max(rows)
    whole = np.sqrt(np.sum(h * h))
    high = max(np.float64(0.0), size / radius + min(-least, whole, bound))
    bottom = max(np.float64(0.0), -np.min(diagonal), size / radius - min(most, whole, bound))
    if radius < before:
        bottom = max(low, bottom)
    now = np.float64(0.0)
    if bottom != 0:
        now = max(np.sqrt(bottom * high), bottom + 0.01 * (high - bottom))
    edge = True
    p = np.full(n, np.nan)
    k = np.int64(0)
    while k < tries:
        shifted = h + now * np.eye(n)
        u, failed = factored(shifted)
        k += 1
        if failed == 0 and size > n * _EPS * bound:
            p = upper_solved(u, lower_solved(u, -g))
            length = np.sqrt(np.dot(p, p))
            if length <= radius and now == 0:
                edge = False
                break
            w = lower_solved(u, p)
            new = now + (length / np.sqrt(np.dot(w, w))) ** 2 * (length - radius) / radius
            if length < radius:
                sigma, z = smallest(u)
                s, t = edges(p, z, radius)
                step = t if np.abs(t) < np.abs(s) else s
                error = step**2 * sigma**2 / (np.dot(p, np.dot(shifted, p)) + now * radius**2)
                if error <= 0.2:
                    p = p + step * z
                    break
                high = now
                bottom = max(bottom, now - sigma**2)
                if factored(h + new * np.eye(n))[1] == 0:
                    now = new
                else:
                    bottom = max(bottom, new)
                    now = max(np.sqrt(np.abs(bottom * high)), bottom + 0.01 * (high - bottom))
            else:
                if np.abs(length - radius) / radius <= 0.1:
                    break
                bottom = now
                now = new
        elif failed == 0:
            if now == 0:
                p = np.zeros(n)
                edge = False
                break
            sigma, z = smallest(u)
            p = radius * z
            if radius**2 * sigma**2 <= 0.2 * now * radius**2:
                break
            high = now
            bottom = max(bottom, now - sigma**2)
            now = max(np.sqrt(bottom * high), bottom + 0.01 * (high - bottom))
        else:
            delta, length = _singular(shifted, u, failed)
            bottom = max(bottom, now + delta / length)
            now = max(np.sqrt(np.abs(bottom * high)), bottom + 0.01 * (high - bottom))
    return p, edge, bottom, radius, np.int64(0)


def _singular(a: Any, u: Any, failed: Any) -> Any:
    """What makes the leading matrix of `failed` rows singular on its last diagonal element, and the square of the
    length of a vector that it gives zero for then."""
    n = len(a)
    k = failed - 1
    above = np.arange(n) < k
    column = np.where(above, u[:, k], 0.0)
    # The rest of the triangle is that of the unit matrix, so that rows from k on stay zero.
    part = np.where(above[:, None] & above[None, :], u, np.eye(n))
    v = upper_solved(part, -column)
    return np.sum(column**2) - a[k, k], np.dot(v, v) + 1.0
