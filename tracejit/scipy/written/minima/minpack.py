"""MINPACK's searches with Jacobians: roots by Powell's hybrid method, least squares by Levenberg and Marquardt's.

M. J. D. Powell, A hybrid method for nonlinear equations (1970); J. J. Moré, The Levenberg-Marquardt algorithm:
implementation and theory (1978); J. J. Moré, B. S. Garbow and K. E. Hillstrom, User guide for MINPACK-1 (1980): `hybrj`
and `lmder`, each operation in its order (see `rotations`).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tracejit.scipy.written.minima.rotations import (
    added,
    factored,
    length,
    lengths,
    orthogonal,
    reflected,
    rotation,
    turned,
    updated,
)

_EPS = float(np.finfo(float).eps)
_DWARF = float(np.finfo(float).tiny)


def hybrid(f: Any, jacobian: Any, x: Any, scale: Any, options: Any) -> Any:
    """A root: (x, values, counts of values and Jacobians, MINPACK's code). `options` are (xtol, maxfev, factor, whether
    the scale was given)."""
    xtol, most, factor, scaled = options
    n = len(x)
    y = f(x)
    size = length(y)
    values = np.int64(1)
    matrices = np.int64(0)
    steps = np.int64(1)
    wins = np.int64(0)
    losses = np.int64(0)
    slow = np.int64(0)
    slow_matrices = np.int64(0)
    radius = np.float64(0.0)
    long = np.float64(0.0)
    code = np.int64(0)
    while code == 0:
        fresh = np.int64(1)
        j = jacobian(x)
        matrices += 1
        columns = lengths(j)
        a, diagonal, _ = factored(j, columns, False)
        if steps == 1:
            if not scaled:
                scale = np.where(columns == 0, 1.0, columns)
            long = length(scale * x)
            radius = factor * long
            if radius == 0:
                radius = np.float64(factor)
        b = reflected(a, y)
        r = np.where(np.arange(n)[:, None] < np.arange(n)[None, :], a, 0.0) + np.diag(diagonal)
        q = orthogonal(a)
        if not scaled:
            scale = np.maximum(scale, columns)
        going = True
        while going:
            p = -_dogleg(r, scale, b, radius)
            new = x + p
            step = length(scale * p)
            if steps == 1:
                radius = np.minimum(radius, step)
            z = f(new)
            values += 1
            next_size = length(z)
            gain = np.float64(-1.0)
            if next_size < size:
                gain = 1.0 - (next_size / size) ** 2
            model = b + added((r * p[None, :]).T)
            ahead = length(model)
            expected = np.float64(0.0)
            if ahead < size:
                expected = 1.0 - (ahead / size) ** 2
            ratio = np.float64(0.0)
            if expected > 0:
                ratio = gain / expected
            if ratio < 0.1:
                wins = np.int64(0)
                losses += 1
                radius = 0.5 * radius
            else:
                losses = np.int64(0)
                wins += 1
                if ratio >= 0.5 or wins > 1:
                    radius = np.maximum(radius, step / 0.5)
                if np.abs(ratio - 1.0) <= 0.1:
                    radius = step / 0.5
            if ratio >= 1e-4:
                x, y = new, z
                long = length(scale * x)
                size = next_size
                steps += 1
            slow = np.int64(0) if gain >= 0.001 else slow + 1
            slow_matrices = np.int64(0) if gain >= 0.1 else slow_matrices + fresh
            if radius <= xtol * long or size == 0:
                code = np.int64(1)
            else:
                if values >= most:
                    code = np.int64(2)
                if 0.1 * np.maximum(0.1 * radius, step) <= _EPS * long:
                    code = np.int64(3)
                if slow_matrices == 5:
                    code = np.int64(4)
                if slow == 10:
                    code = np.int64(5)
            going = bool(code == 0 and losses != 2)
            if going:
                there = added(q * z[:, None])
                if ratio >= 1e-4:
                    b = there
                r, v, w = updated(r, scale * ((scale * p) / step), (there - model) / step)
                q = turned(q, v, w)
                b = turned(b[None, :], v, w)[0]
                fresh = np.int64(0)
    return x, y, values, matrices, code


def _dogleg(r: Any, scale: Any, b: Any, radius: Any) -> Any:
    """Powell's step: the solution of R p = b, or a combination of it with the scaled gradient, of length `radius`."""
    n = len(b)
    p = np.zeros(n)
    for i in range(n):
        k = n - 1 - i
        pivot = r[k, k]
        if pivot == 0:
            pivot = _EPS * np.max(np.abs(r[:, k]))
            if pivot == 0:
                pivot = np.float64(_EPS)
        p[k] = (b[k] - added(r[k] * p)) / pivot
    whole = length(scale * p)
    if whole <= radius:
        return p
    g = added(b[:, None] * r) / scale
    slope = length(g)
    short = np.float64(0.0)
    part = radius / whole
    if slope != 0:
        g = (g / slope) / scale
        bend = length(added((r * g[None, :]).T))
        short = (slope / bend) / bend
        part = np.float64(0.0)
        if short < radius:
            size = length(b)
            t = (size / slope) * (size / whole) * (short / radius)
            root = np.sqrt(
                (t - radius / whole) ** 2 + (1.0 - (radius / whole) ** 2) * (1.0 - (short / radius) ** 2)
            )
            t = t - (radius / whole) * (short / radius) ** 2 + root
            part = ((radius / whole) * (1.0 - (short / radius) ** 2)) / t
    return (1.0 - part) * np.minimum(short, radius) * g + part * p


def warned(code: Any, texts: Any, first: Any) -> None:
    """The text for a code, if it is not less than the first one that has a text, as a warning."""
    for k in range(len(texts)):
        if code == first + k:
            warnings.warn(texts[k], RuntimeWarning, stacklevel=3)


# ---------------------------------------------------------------- least squares


def marquardt(f: Any, jacobian: Any, x: Any, scale: Any, options: Any) -> Any:
    """Least squares: (x, values, counts of values and Jacobians, MINPACK's code). `options` are (ftol, xtol, gtol,
    maxfev, factor, whether the scale was given)."""
    ftol, xtol, gtol, most, factor, scaled = options
    n = len(x)
    y = f(x)
    size = length(y)
    values = np.int64(1)
    matrices = np.int64(0)
    steps = np.int64(1)
    damping = np.float64(0.0)
    radius = np.float64(0.0)
    long = np.float64(0.0)
    code = np.int64(0)
    while code == 0:
        j = jacobian(x)
        matrices += 1
        columns = lengths(j)
        a, diagonal, order = factored(j, columns, True)
        b = reflected(a, y)[:n]
        r = np.where(np.arange(n)[:, None] < np.arange(n)[None, :], a[:n], 0.0) + np.diag(diagonal)
        if steps == 1:
            if not scaled:
                scale = np.where(columns == 0, 1.0, columns)
            long = length(scale * x)
            radius = factor * long
            if radius == 0:
                radius = np.float64(factor)
        slope = np.float64(0.0)
        if size != 0:
            own = columns[order]
            cosines = np.abs(added((b / size)[:, None] * r) / np.where(own == 0, 1.0, own))
            slope = np.max(np.where(own == 0, 0.0, cosines))
        if slope <= gtol:
            code = np.int64(4)
        if not scaled:
            scale = np.maximum(scale, columns)
        going = bool(code == 0)
        while going:
            step_, damping = _damped(r, order, scale, b, radius, damping)
            p = -step_
            new = x + p
            step = length(scale * p)
            if steps == 1:
                radius = np.minimum(radius, step)
            z = f(new)
            values += 1
            next_size = length(z)
            gain = np.float64(-1.0)
            if 0.1 * next_size < size:
                gain = 1.0 - (next_size / size) ** 2
            linear = (length(added((r * p[order][None, :]).T)) / size) ** 2
            penalty = ((np.sqrt(damping) * step) / size) ** 2
            expected = linear + penalty / 0.5
            falling = -(linear + penalty)
            ratio = np.float64(0.0)
            if expected != 0:
                ratio = gain / expected
            if ratio <= 0.25:
                t = np.float64(0.5)
                if gain < 0:
                    t = 0.5 * falling / (falling + 0.5 * gain)
                if 0.1 * next_size >= size or t < 0.1:
                    t = np.float64(0.1)
                radius = t * np.minimum(radius, step / 0.1)
                damping = damping / t
            elif damping == 0 or ratio >= 0.75:
                radius = step / 0.5
                damping = 0.5 * damping
            if ratio >= 1e-4:
                x, y = new, z
                long = length(scale * x)
                size = next_size
                steps += 1
            flat = np.abs(gain) <= ftol and expected <= ftol and 0.5 * ratio <= 1.0
            if flat:
                code = np.int64(1)
            if radius <= xtol * long:
                code = np.int64(2) + np.int64(flat)
            if code == 0:
                if values >= most:
                    code = np.int64(5)
                if np.abs(gain) <= _EPS and expected <= _EPS and 0.5 * ratio <= 1.0:
                    code = np.int64(6)
                if radius <= _EPS * long:
                    code = np.int64(7)
                if slope <= _EPS:
                    code = np.int64(8)
            going = bool(code == 0 and ratio < 1e-4)
    return x, y, values, matrices, code


def _damped(r: Any, order: Any, scale: Any, b: Any, radius: Any, damping: Any) -> Any:
    """The step (R'R + t D D) p = R'b of about the length `radius`, and t: LMPAR."""
    n = len(b)
    own = scale[order]
    diagonal = np.diag(r)
    whole = np.cumsum(diagonal == 0) == 0
    # The equations before the first one that is singular.
    p = np.where(whole, b, 0.0)
    for i in range(n):
        k = n - 1 - i
        if whole[k]:
            p[k] = p[k] / r[k, k]
            p = np.where(np.arange(n) < k, p - r[:, k] * p[k], p)
    long = length(_back(own * p, order))
    gap = long - radius
    if gap > 0.1 * radius:
        least = np.float64(0.0)
        if np.all(whole):
            t = length(_under(r, own * ((own * p) / long)))
            least = ((gap / radius) / t) / t
        slope = length(added(b[:, None] * r) / own)
        most = slope / radius
        if most == 0:
            most = _DWARF / np.minimum(radius, 0.1)
        damping = np.minimum(np.maximum(damping, least), most)
        if damping == 0:
            damping = slope / long
        tries = np.int64(0)
        going = True
        while going:
            tries += 1
            if damping == 0:
                damping = np.maximum(_DWARF, 0.001 * most)
            lower, pivots, p = _regularized(r, np.sqrt(damping) * own, b)
            long = length(_back(own * p, order))
            before = gap
            gap = long - radius
            if np.abs(gap) <= 0.1 * radius or (least == 0 and gap <= before and before < 0) or tries == 10:
                going = False
            else:
                t = length(_forward(lower, pivots, own * ((own * p) / long)))
                more = ((gap / radius) / t) / t
                if gap > 0:
                    least = np.maximum(least, damping)
                if gap < 0:
                    most = np.minimum(most, damping)
                damping = np.maximum(least, damping + more)
    else:
        damping = np.float64(0.0)
    return _back(p, order), damping


def _back(p: Any, order: Any) -> Any:
    """The elements where they were before they were put in this order."""
    out = np.zeros(len(p))
    out[order] = p
    return out


def _under(r: Any, b: Any) -> Any:
    """p with R' p = b."""
    n = len(b)
    p = np.zeros(n)
    for k in range(n):
        p[k] = (b[k] - added(r[:, k] * p)) / r[k, k]
    return p


def _forward(lower: Any, pivots: Any, b: Any) -> Any:
    """p with S' p = b, column by column."""
    n = len(b)
    p = np.array(b)
    for k in range(n):
        p[k] = p[k] / pivots[k]
        p = np.where(np.arange(n) > k, p - lower[:, k] * p[k], p)
    return p


def _regularized(r: Any, d: Any, b: Any) -> Any:
    """QRSOLV: S' below its diagonal, this diagonal, and p with (R'R + D D) p = R'b, for S'S = R'R + D D."""
    n = len(b)
    down = np.arange(n)
    lower = np.array(r.T)
    own = np.diag(r)
    b = np.array(b)
    pivots = np.zeros(n)
    for j in range(n):
        if d[j] != 0:
            row = np.where(down == j, d, 0.0)
            rest = np.float64(0.0)
            for k in range(j, n):
                if row[k] != 0:
                    sine, cosine, _ = rotation(lower[k, k], row[k])
                    top = cosine * lower[k, k] + sine * row[k]
                    one = cosine * b[k] + sine * rest
                    rest = -sine * b[k] + cosine * rest
                    b[k] = one
                    column = np.array(lower[:, k])
                    lower[:, k] = np.where(down > k, cosine * column + sine * row, column)
                    row = np.where(down > k, -sine * column + cosine * row, row)
                    lower[k, k] = top
        pivots[j] = lower[j, j]
        lower[j, j] = own[j]
    whole = np.cumsum(pivots == 0) == 0
    p = np.where(whole, b, 0.0)
    for i in range(n):
        k = n - 1 - i
        if whole[k]:
            p[k] = (p[k] - added(np.where(down > k, lower[:, k] * p, 0.0))) / pivots[k]
    return lower, pivots, p
