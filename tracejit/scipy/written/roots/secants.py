"""Approximations of Jacobians by the steps that were taken: Broyden's methods, and mixing.

C. G. Broyden, A class of methods for solving nonlinear simultaneous equations (1965); V. Eyert, A comparative study on
methods for convergence acceleration of iterative vector sequences (1996); B. A. van der Rotten, A limited memory
Broyden method (2003). The first of a memory is `alpha`: -alpha is the first inverse. See `stepping` for what they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.scipy.written.minima.points import either
from tracejit.scipy.written.roots.stepping import FINE, length, scaled


def _first(x: Any, y: Any, alpha: Any) -> Any:
    """`alpha` as it is given, or one that fits the first point."""
    if alpha is not None:
        return np.float64(alpha)
    size = length(y)
    return either(size == 0, 1.0, 0.5 * np.maximum(length(x), 1.0) / either(size == 0, 1.0, size))


def _done(step: Any, memory: Any) -> Any:
    return step, memory, np.int64(0), np.int64(FINE)


# ---------------------------------------------------------------- Broyden's methods, by a matrix


def dense_begin(x: Any, y: Any, settings: Any) -> Any:
    """`settings` are (alpha, whether the method is Broyden's second one)."""
    alpha = _first(x, y, settings[0])
    return alpha, scaled(-alpha, np.eye(len(x), dtype=y.dtype))


def dense_solve(f: Any, memory: Any, x: Any, y: Any, tol: Any, settings: Any) -> Any:
    """By the matrix; by the first one if that is not finite."""
    alpha, h = memory
    step = np.dot(h, y)
    if not np.all(np.isfinite(step)):
        h = scaled(-alpha, np.eye(len(y), dtype=y.dtype))
        step = scaled(-alpha, y)
    return _done(step, (alpha, h))


def dense_renew(memory: Any, y: Any, dx: Any, dy: Any, settings: Any) -> Any:
    """With one product of vectors more."""
    alpha, h = memory
    c = dx - np.dot(h, dy)
    d = _divided(dy, np.dot(np.conj(h).T, dx), settings[1])
    return alpha, h + c[:, None] * np.conj(d)[None, :]


def _divided(dy: Any, v: Any, second: Any) -> Any:
    if second:
        return dy / np.asarray(length(dy) ** 2).astype(dy.dtype)
    return v / np.vdot(dy, v)


# ---------------------------------------------------------------- by the last steps


def ranked_begin(x: Any, y: Any, settings: Any) -> Any:
    """`settings` are (alpha, whether it is the second method, the rows that are kept, how they are reduced, and to how
    many)."""
    rows = np.zeros((settings[2], len(x)), dtype=y.dtype)
    return _first(x, y, settings[0]), rows, rows, np.int64(0)


def _product(alpha: Any, left: Any, right: Any, count: Any, v: Any) -> Any:
    """-alpha v and what the first rows add to it."""
    w = scaled(-alpha, v)
    for k in range(count):
        w = w + np.vdot(right[k], v) * left[k]
    return w


def ranked_solve(f: Any, memory: Any, x: Any, y: Any, tol: Any, settings: Any) -> Any:
    """By the products of vectors; without them if the step is not finite."""
    alpha, cs, ds, count = memory
    step = _product(alpha, cs, ds, count, y)
    if not np.all(np.isfinite(step)):
        count = np.int64(0)
        step = scaled(-alpha, y)
    return _done(step, (alpha, cs, ds, count))


def ranked_renew(memory: Any, y: Any, dx: Any, dy: Any, settings: Any) -> Any:
    """With one product more, of which there are as many as before if there is no more room."""
    alpha, cs, ds, count = memory
    second, rows, reduction, left = settings[1:]
    if reduction == "svd":
        if count == rows:
            cs, ds = _singular(cs, ds, count)
            count = np.int64(left)
    elif reduction == "simple":
        if count == rows:
            cs = np.concatenate((cs[1:], cs[:1]))
            ds = np.concatenate((ds[1:], ds[:1]))
            count = count - 1
    else:
        count = either(count == rows, np.int64(0), count)
    c = dx - _product(alpha, cs, ds, count, dy)
    d = _divided(dy, _product(alpha, ds, cs, count, dx), second)
    cs, ds = np.array(cs), np.array(ds)
    cs[count] = c
    ds[count] = d
    return alpha, cs, ds, count + 1


def _singular(cs: Any, ds: Any, count: Any) -> Any:
    """The rows by the singular values of their sum of products, the largest first."""
    known = (np.arange(len(cs)) < count)[:, None]
    c, d = np.where(known, cs, 0).T, np.where(known, ds, 0).T
    d, r = np.linalg.qr(d)
    c = np.dot(c, np.conj(r).T)
    _, _, turned = np.linalg.svd(c, full_matrices=False)
    return np.dot(np.conj(turned), c.T), np.dot(np.conj(turned), d.T)


# ---------------------------------------------------------------- mixing


def anderson_begin(x: Any, y: Any, settings: Any) -> Any:
    """`settings` are (alpha, w0, M). The last of the memory says whether a matrix was so ill-conditioned that SciPy may
    warn."""
    rows = np.zeros((settings[2], len(x)), dtype=y.dtype)
    return _first(x, y, settings[0]), rows, rows, np.int64(0), np.False_


def anderson_solve(f: Any, memory: Any, x: Any, y: Any, tol: Any, settings: Any) -> Any:
    """By the best combination of the last steps; by none of them if one has changed nothing."""
    alpha, xs, fs, count, ill = memory
    w0, rows = settings[1:]
    step = scaled(-alpha, y)
    known = np.arange(rows) < count
    a = np.dot(np.conj(fs), fs.T)
    own = np.real(np.diag(a))
    singular = np.any(known & (own == 0))
    use = known & ~singular
    a = a + np.diag(own * w0**2).astype(a.dtype)
    a = np.where(use[:, None] & use[None, :], a, np.eye(rows, dtype=a.dtype))
    part = np.linalg.solve(a, np.where(use, np.dot(np.conj(fs), y), 0))
    step = step + np.dot(part, xs + scaled(alpha, fs))
    condition = _largest_sum(a, use) * _largest_sum(np.linalg.inv(a), use)
    ill = ill | (condition * 4 * np.finfo(y.dtype).eps >= 1)
    return _done(step, (alpha, xs, fs, either(singular, np.int64(0), count), ill))


def _largest_sum(a: Any, use: Any) -> Any:
    """The norm of the part of a matrix that is used, by its columns."""
    return np.max(np.sum(np.where(use[:, None] & use[None, :], np.abs(a), 0), axis=0))


def anderson_renew(memory: Any, y: Any, dx: Any, dy: Any, settings: Any) -> Any:
    """With the last step."""
    alpha, xs, fs, count, ill = memory
    full = count == settings[2]
    xs = np.where(full, np.concatenate((xs[1:], xs[:1])), xs)
    fs = np.where(full, np.concatenate((fs[1:], fs[:1])), fs)
    place = either(full, count - 1, count)
    xs[place] = dx
    fs[place] = dy
    return alpha, xs, fs, place + 1, ill


def diagonal_begin(x: Any, y: Any, settings: Any) -> Any:
    """`settings` are (alpha,)."""
    return np.full_like(y, 1 / _first(x, y, settings[0]))


def diagonal_solve(f: Any, memory: Any, x: Any, y: Any, tol: Any, settings: Any) -> Any:
    """By the diagonal."""
    return _done(-y / memory, memory)


def diagonal_renew(memory: Any, y: Any, dx: Any, dy: Any, settings: Any) -> Any:
    """The diagonal of Broyden's matrix."""
    square = np.asarray(length(dx) ** 2).astype(dx.dtype)
    return memory - (dy + memory * dx) * dx / square


def linear_begin(x: Any, y: Any, settings: Any) -> Any:
    """`settings` are (alpha,)."""
    return _first(x, y, settings[0])


def linear_solve(f: Any, memory: Any, x: Any, y: Any, tol: Any, settings: Any) -> Any:
    """By `alpha`."""
    return _done(scaled(-memory, y), memory)


def linear_renew(memory: Any, y: Any, dx: Any, dy: Any, settings: Any) -> Any:
    """As before."""
    return memory


def exciting_begin(x: Any, y: Any, settings: Any) -> Any:
    """`settings` are (alpha, alphamax)."""
    alpha = _first(x, y, settings[0])
    return alpha, np.full_like(y, alpha), y


def exciting_solve(f: Any, memory: Any, x: Any, y: Any, tol: Any, settings: Any) -> Any:
    """By the diagonal."""
    return _done(-y * memory[1], memory)


def exciting_renew(memory: Any, y: Any, dx: Any, dy: Any, settings: Any) -> Any:
    """Larger where a value has kept its sign."""
    alpha, beta, before = memory
    own = np.asarray(alpha).astype(beta.dtype)
    beta = np.where(y * before > 0, beta + own, own)
    return alpha, np.clip(beta, 0, settings[1]), y
