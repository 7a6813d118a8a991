"""The Jacobian by differences of the function along the directions that LGMRES asks for.

D. A. Knoll and D. E. Keyes, Jacobian-free Newton-Krylov methods (2004); A. H. Baker, E. R. Jessup and T. Manteuffel, A
technique for accelerating the convergence of restarted GMRES (2005). Steps before this one are tried first as
directions. See `stepping` for what an approximation is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.scipy.written.minima.points import either
from tracejit.scipy.written.roots.stepping import FINE, NO_DIFFERENCE, length, scaled


def begin(x: Any, y: Any, settings: Any) -> Any:
    """`settings` are (rdiff, the directions of GMRES, the steps that are kept)."""
    return np.zeros((settings[2], len(x)), dtype=y.dtype), np.int64(0)


def renew(memory: Any, y: Any, dx: Any, dy: Any, settings: Any) -> Any:
    """The directions are kept when they are found."""
    return memory


def solve(f: Any, memory: Any, x: Any, y: Any, tol: Any, settings: Any) -> Any:
    """One cycle of LGMRES, until the residual is `tol` times what it was."""
    rdiff, inner, outer = settings
    steps, count = memory
    width = rdiff * np.maximum(1.0, np.max(np.abs(x))) / np.maximum(1.0, np.max(np.abs(y)))
    size = length(y)
    start = scaled(1.0 / size, y)
    most = inner + outer
    eps = np.finfo(y.dtype).eps
    basis = np.zeros((most + 1, len(x)), dtype=y.dtype)
    basis[0] = start
    tried = np.zeros((most, len(x)), dtype=y.dtype)
    upper = np.zeros((most, most), dtype=y.dtype)
    turns = np.zeros((most, 2), dtype=y.dtype)
    right = np.zeros(most + 1, dtype=y.dtype)
    right[0] = 1.0
    used = np.int64(0)
    calls = np.int64(0)
    wrong = np.int64(FINE)
    going = True
    while going:
        z = basis[used]
        if used == count:
            z = start
        if outer > 0 and used < count:
            z = steps[used]
        long = length(z)
        part = width / either(long == 0, 1.0, long)
        w = scaled(1.0 / part, f(x + scaled(part, z)) - y)
        calls += np.int64(long != 0)
        if long == 0:
            w = np.zeros_like(z)
        elif not np.all(np.isfinite(w)) and np.all(np.isfinite(z)):
            wrong = np.int64(NO_DIFFERENCE)
        whole = length(w)
        column = np.zeros(most, dtype=y.dtype)
        for i in range(used + 1):
            h = np.vdot(basis[i], w)
            column[i] = h
            w = w - h * basis[i]
        left = length(w)
        if left > 1e-300:
            w = scaled(1.0 / left, w)
        basis[used + 1] = w
        tried[used] = z
        for i in range(used):
            above, below = column[i], column[i + 1]
            column[i] = turns[i, 0] * above + turns[i, 1] * below
            column[i + 1] = -np.conj(turns[i, 1]) * above + turns[i, 0] * below
        cosine, sine, top = _rotation(column[used], left)
        column[used] = top
        upper[:, used] = column
        turns[used, 0] = cosine
        turns[used, 1] = sine
        right[used + 1] = -np.conj(sine) * right[used]
        right[used] = cosine * right[used]
        residual = np.abs(right[used + 1])
        used += 1
        going = bool(
            wrong == FINE and used < inner + count and not residual < tol and left > eps * whole
        )  # values that are not finite end it, too
    parts = _triangular(upper, right[:most], used, eps) * np.asarray(size).astype(y.dtype)
    step = np.dot(parts, tried)
    if not np.all(np.isfinite(parts)):
        step = np.zeros_like(y)
    long = length(step)
    if outer > 0 and long > 0:
        steps, count = _kept(steps, count, scaled(1.0 / long, step))
    return step, (steps, count), calls, wrong


def _rotation(f: Any, g: Any) -> Any:
    """(cosine, sine, the length with the phase of f) of the rotation that takes g, which is not negative, away."""
    size = np.hypot(np.abs(f), g)
    safe = either(size == 0, 1.0, size)
    none = np.abs(f) == 0
    phase = either(none, 1.0, f / either(none, 1.0, np.abs(f)))
    cosine = either(size == 0, 1.0, np.abs(f) / safe)
    return cosine, phase * (g / safe), phase * size


def _triangular(upper: Any, right: Any, used: Any, eps: Any) -> Any:
    """The solution of the first `used` equations; the shortest one of the nearest ones, if they are singular."""
    known = np.arange(len(upper)) < used
    pivots = np.abs(np.diag(upper))
    b = np.where(known, right, 0)
    out = np.zeros_like(right)
    if np.min(np.where(known, pivots, np.inf)) > 1e-8 * np.max(np.abs(upper)):
        for i in range(used):
            k = used - 1 - i
            out[k] = (b[k] - np.dot(upper[k], out)) / upper[k, k]
    elif np.all(np.isfinite(upper)):
        left, sizes, turned = np.linalg.svd(upper)
        large = sizes > eps * sizes[0]
        inverse = np.where(large, 1 / np.where(large, sizes, 1), 0).astype(right.dtype)
        out = np.dot(np.conj(turned).T, inverse * np.dot(np.conj(left).T, b))
    else:
        out = np.full_like(right, np.nan)
    return out


def _kept(steps: Any, count: Any, step: Any) -> Any:
    """The last steps with one more."""
    full = count == len(steps)
    steps = np.where(full, np.concatenate((steps[1:], steps[:1])), steps)
    place = either(full, count - 1, count)
    steps[place] = step
    return steps, place + 1
