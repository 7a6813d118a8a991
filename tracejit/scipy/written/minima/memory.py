"""The limited memory of L-BFGS-B: matrices of the last steps and of the changes of the gradient along them.

R. H. Byrd, J. Nocedal and R. B. Schnabel, Representations of quasi-Newton matrices and their use in limited memory
methods (1994). The Hessian is theta 1 - W M W' with W = (Y', theta S'); M is never formed, but solved for. Of the m
rows of each array the first `col` are in use.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit.scipy.written.minima.points import either
from tracejit.scipy.written.minima.triangles import factored, lower_solved, upper_solved


class Memory(NamedTuple):
    """Steps and changes of the gradient, the oldest first; S Y' below its diagonal and S S' above; the triangle J' of
    M; theta; how many are in use, how many there were, and whether the last step is one of them."""

    s: Any
    y: Any
    sy: Any
    ss: Any
    triangle: Any
    theta: Any
    col: Any
    updates: Any
    fresh: Any


class Inner(NamedTuple):
    """Products in which only some unknowns count: Y Y' of the free ones, S S' of the others, and S Y': of the free ones
    on and above the diagonal, of the others below. Then the factors of the matrix K that is made of them."""

    yy: Any
    ss: Any
    sy: Any
    upper: Any
    mixed: Any
    lower: Any


def nothing(m: int, n: int) -> tuple[Memory, Inner]:
    """No steps yet."""
    s, y = np.zeros((2, m, n))
    sy, ss, triangle = np.zeros((3, m, m))
    zero = np.int64(0)
    memory = Memory(s, y, sy, ss, triangle, np.float64(1.0), zero, zero, np.False_)
    return memory, Inner(*np.zeros((6, m, m)))


def forgotten(memory: Memory, all_of_it: Any) -> Memory:
    """The memory, or the same arrays with no steps in use."""
    s, y, sy, ss, triangle, theta, col, updates, fresh = memory
    return Memory(
        np.where(all_of_it, 0.0, s),
        np.where(all_of_it, 0.0, y),
        np.array(sy),
        np.array(ss),
        np.array(triangle),
        either(all_of_it, 1.0, theta),
        either(all_of_it, 0, col),
        either(all_of_it, 0, updates),
        fresh & ~np.bool_(all_of_it),
    )


def stored(memory: Memory) -> tuple[Any, Any, Any]:
    """Steps and changes with a newer one in the place of the oldest, as SciPy stores them, and how many there are."""
    m = len(memory.s)
    place = (np.arange(m) - np.maximum(memory.updates - m, 0)) % m
    return memory.s[place], memory.y[place], memory.col


def _shifted(a: Any) -> Any:
    """A square matrix without its first row and column; what takes their place is of no use."""
    next_ = (np.arange(len(a)) + 1) % len(a)
    return a[next_[:, None], next_[None, :]]


def remembered(memory: Memory, s: Any, y: Any, sizes: Any) -> tuple[Memory, Any]:
    """The memory with one step more, and whether M is no longer positive definite. `sizes` are the products s s', s y'
    and y y'."""
    steps, changes, sy, ss, _, _, _, updates, _ = memory
    m = len(steps)
    long, product, bend = sizes
    updates = updates + 1
    if updates > m:
        after = (np.arange(m) + 1) % m
        steps, changes = steps[after], changes[after]
        sy, ss = _shifted(sy), _shifted(ss)
    col = np.minimum(updates, m)
    last = col - 1
    steps, changes, sy, ss = np.array(steps), np.array(changes), np.array(sy), np.array(ss)
    steps[last] = s
    changes[last] = y
    sy[last] = np.dot(changes, s)
    ss[:, last] = np.dot(steps, s)
    sy[last, last] = product
    ss[last, last] = long
    theta = bend / product
    lower, diagonal = _parts(sy, col)
    known = np.arange(m) < col
    whole = np.where(known[:, None] & known[None, :], theta * ss + np.dot(lower / diagonal, lower.T), 0.0)
    triangle, failed = factored(whole, col)
    return Memory(steps, changes, sy, ss, triangle, theta, col, updates, np.True_), bool(failed != 0)


def _parts(sy: Any, col: Any) -> tuple[Any, Any]:
    """S Y' below its diagonal, and the diagonal."""
    k = np.arange(len(sy))
    below = (k[:, None] > k[None, :]) & (k < col)[:, None]
    return np.where(below, sy, 0.0), np.where(k < col, np.diag(sy), 1.0)


def middle(memory: Memory, a: Any, b: Any) -> tuple[Any, Any]:
    """M (a, b)."""
    lower, diagonal = _parts(memory.sy, memory.col)
    q = b + np.dot(lower, a / diagonal)
    q = upper_solved(memory.triangle, lower_solved(memory.triangle, q, memory.col), memory.col)
    p = -(a / np.sqrt(diagonal)) / np.sqrt(diagonal)
    return p + np.dot(q, lower) / diagonal, q


def counted(memory: Memory, inner: Inner, free: Any, entering: Any, leaving: Any) -> Inner:
    """The products after a step, and after the unknowns that became free or not (as SciPy has it, the row of a step
    after which no unknown was free is never filled in)."""
    s, y, col = memory.s, memory.y, memory.col
    m = len(s)
    k = np.arange(m)
    yy, ss, sy = np.array(inner.yy), np.array(inner.ss), np.array(inner.sy)
    old = k < col
    if memory.fresh:
        if memory.updates > m:
            yy, ss, sy = _shifted(yy), _shifted(ss), _shifted(sy)
        last = col - 1
        old = k < last
        step, change = s[last], y[last]
        yy[last] = np.dot(y, np.where(free, change, 0.0))
        yy[:, last] = yy[last]
        ss[last] = np.dot(s, np.where(free, 0.0, step))
        ss[:, last] = ss[last]
        sy[last] = np.dot(y, np.where(free, 0.0, step))
        sy[:, last] = np.dot(s, np.where(free, change, 0.0))
    if np.any(entering | leaving):
        sign = np.where(entering, 1.0, np.where(leaving, -1.0, 0.0))
        both = old[:, None] & old[None, :]
        yy = yy + np.where(both, np.dot(y * sign, y.T), 0.0)
        ss = ss - np.where(both, np.dot(s * sign, s.T), 0.0)
        more = np.where(both, np.dot(s * sign, y.T), 0.0)
        sy = sy + np.where(k[:, None] <= k[None, :], more, -more)
    return inner._replace(yy=yy, ss=ss, sy=sy)


def kernel(memory: Memory, inner: Inner) -> tuple[Inner, Any]:
    """The factors of K, and whether it is not positive definite."""
    col, theta = memory.col, memory.theta
    k = np.arange(len(memory.s))
    known = (k < col)[:, None] & (k < col)[None, :]
    _, diagonal = _parts(memory.sy, col)
    first = np.where(known, inner.yy / theta + np.diag(diagonal), 0.0)
    mixed = np.where(known, np.where(k[:, None] < k[None, :], -inner.sy.T, inner.sy.T), 0.0)
    upper, failed = factored(first, col)
    bad = bool(failed != 0)
    lower = inner.lower
    if not bad:
        mixed = lower_solved(upper, mixed, col)
        lower, failed = factored(np.where(known, inner.ss * theta, 0.0) + np.dot(mixed.T, mixed), col)
        bad = bool(failed != 0)
    return inner._replace(upper=upper, mixed=mixed, lower=lower), bad


def solved(inner: Inner, a: Any, b: Any, col: Any) -> tuple[Any, Any]:
    """(p, q) with K (p, q) = (a, b)."""
    p = lower_solved(inner.upper, a, col)
    q = lower_solved(inner.lower, b - np.dot(p, inner.mixed), col)
    q = upper_solved(inner.lower, q, col)
    return upper_solved(inner.upper, -p - np.dot(inner.mixed, q), col), q
