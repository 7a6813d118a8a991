"""Minima by gradients: BFGS, conjugate gradients, and Newton's method with conjugate gradients.

J. Nocedal and S. J. Wright, Numerical Optimization: algorithms 6.1 (BFGS), 5.4 (Polak and Ribière's choice, with a
test of descent) and 7.1. The line searches are those of `steps`. Each calls `told(tell, x, value)` after every step, if
there is a `tell`, and gives (x, value, gradient, counts of values and gradients, steps, status, and what else its
result has).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.scipy.written.minima.points import first, moved, sloped
from tracejit.scipy.written.minima.reports import told
from tracejit.scipy.written.minima.steps import search

_EPS = float(np.finfo(float).eps)


def size_of(v: Any, order: Any) -> Any:
    """The norm of a vector."""
    if order == np.inf:
        return np.max(np.abs(v))
    if order == -np.inf:
        return np.min(np.abs(v))
    return np.sum(np.abs(v) ** order) ** (1.0 / order)


def _any(g: Any, given: Any) -> Any:
    return np.True_


def _descends(new: Any, given: Any) -> Any:
    """Whether the direction after the one that was `given` leads down, or the gradient is small."""
    g, p, length, gtol, norm = given
    return (size_of(new, norm) <= gtol) | (
        np.dot(_turned(new, g, p, length), new) <= -0.01 * np.dot(new, new)
    )


def _ended(status: Any, steps: Any, most: Any, size: Any, x: Any, f: Any) -> Any:
    if status == 0:
        if steps >= most:
            status = np.int64(1)
        elif np.isnan(size) or np.isnan(f) or np.any(np.isnan(x)):
            status = np.int64(3)
    return status


def bfgs(both: Any, x: Any, inverse: Any, options: Any, tell: Any = None) -> Any:
    """BFGS; `options` are (gtol, norm, maxiter, xrtol, c1, c2). The last of its results is the inverse Hessian."""
    gtol, norm, most, xrtol, c1, c2 = options
    limits = c1, c2, np.float64(1e-100), np.float64(1e100), True
    at = first(both, x)
    f, g = at[1], at[2]
    before = f + np.sqrt(np.dot(g, g)) / 2
    size = size_of(g, norm)
    steps = np.int64(0)
    status = np.int64(0)
    going = bool(size > gtol and steps < most)
    while going:
        p = -np.dot(inverse, g)
        found, a, at = search(both, at, x, p, (f, g, before), limits, (_any, None))
        if not found:
            status = np.int64(2)
            break
        at = sloped(at)
        s = a * p
        y = at[2] - g
        x = x + s
        before = f
        f, g = at[1], at[2]
        steps += 1
        if tell is not None:
            told(tell, x, f)
        size = size_of(g, norm)
        if size <= gtol or a * np.sqrt(np.sum(p * p)) <= xrtol * (xrtol + np.sqrt(np.sum(x * x))):
            break
        if not np.isfinite(f):
            status = np.int64(2)
            break
        product = np.dot(y, s)
        rho = np.float64(1000.0) if product == 0.0 else 1.0 / product
        # (1 - rho s y') H (1 - rho y s') + rho s s', without products of matrices.
        hy = np.dot(inverse, y)
        yh = np.dot(y, inverse)
        mixed = s[:, None] * yh[None, :] + hy[:, None] * s[None, :]
        inverse = inverse - rho * mixed + (rho * rho * np.dot(y, hy) + rho) * (s[:, None] * s[None, :])
        going = bool(size > gtol and steps < most)
    return x, f, g, at[5], at[6], steps, _ended(status, steps, most, size, x, f), inverse


def conjugate(both: Any, x: Any, options: Any, tell: Any = None) -> Any:
    """Conjugate gradients; `options` are (gtol, norm, maxiter, c1, c2)."""
    gtol, norm, most, c1, c2 = options
    limits = c1, c2, np.float64(1e-100), np.float64(1e100), True
    at = first(both, x)
    f, g = at[1], at[2]
    before = f + np.sqrt(np.dot(g, g)) / 2
    size = size_of(g, norm)
    p = -g
    steps = np.int64(0)
    status = np.int64(0)
    while size > gtol and steps < most:
        length = np.dot(g, g)

        found, a, at = search(both, at, x, p, (f, g, before), limits, (_descends, (g, p, length, gtol, norm)))
        if not found:
            status = np.int64(2)
            break
        at = sloped(at)
        x = x + a * p
        p = _turned(at[2], g, p, length)
        before = f
        f, g = at[1], at[2]
        size = size_of(g, norm)
        steps += 1
        if tell is not None:
            told(tell, x, f)
    return x, f, g, at[5], at[6], steps, _ended(status, steps, most, size, x, f)


def _turned(new: Any, g: Any, p: Any, length: Any) -> Any:
    """The direction after p, at the gradient `new` after g; `length` is the square of that of g."""
    beta = np.dot(new - g, new) / length
    return -new + (beta if beta > 0 else np.float64(0.0)) * p


def newton(both: Any, curved: Any, x: Any, options: Any, tell: Any = None) -> Any:
    """Newton's method, with truncated conjugate gradients; `options` are (xtol, maxiter, c1, c2).

    `curved(at, x, p, matrix)` gives the Hessian times p, and the point; `curved(at, x, None, None)` the matrix that it
    gets; the last of the results counts its calls as SciPy does."""
    xtol, most, c1, c2 = options
    limits = c1, c2, np.float64(1e-8), np.float64(50.0), False
    n = len(x)
    at = first(both, x)
    f = at[1]
    before = np.float64(np.nan)
    moved_by = np.float64(np.finfo(float).max)
    steps = np.int64(0)
    curves = np.int64(0)
    status = np.int64(0)
    g = at[2]
    while status == 0 and moved_by > n * xtol:
        if steps >= most:
            status = np.int64(1)
            break
        at = sloped(moved(both, at, x))
        g = at[2]
        p, at, found, more = _truncated(both, curved, at, x, g)
        curves += more
        if not found:
            status = np.int64(4)  # SciPy's 3, with another message
            break
        good, a, at = search(both, at, x, p, (f, g, before), limits, (_any, None))
        if not good:
            status = np.int64(2)
            break
        x = x + a * p
        before = f
        f = at[1]
        steps += 1
        if tell is not None:
            told(tell, x, f)
        moved_by = np.sum(np.abs(a * p))
    if status == 0 and (np.isnan(f) or np.isnan(moved_by)):
        status = np.int64(3)
    return x, f, g, at[5], at[6], steps, status, curves


def _truncated(both: Any, curved: Any, at: Any, x: Any, g: Any) -> Any:
    """The direction, the point, whether there is one, and how often the Hessian was asked for."""
    n = len(x)
    b = -g
    size = np.sum(np.abs(b))
    near = min(np.float64(0.5), np.sqrt(size)) * size
    s = np.zeros(n)
    r = -b
    p = -r
    length = np.dot(r, r)
    matrix, curves = curved(at, x, None, None)[1:]
    tries = np.int64(0)
    found = False
    while tries < 20 * n:
        if np.sum(np.abs(r)) <= near:
            found = True
            break
        at, hp, more = curved(at, x, p, matrix)
        curves += more
        bend = np.dot(p, hp)
        if bend <= 3 * _EPS and not np.isnan(bend):
            found = True
            if bend < 0 and tries == 0:
                s = length / (-bend) * b
            break
        a = length / bend
        s = s + a * p
        r = r + a * hp
        new = np.dot(r, r)
        p = -r + new / length * p
        tries += 1
        length = new
    return s, at, found, curves
