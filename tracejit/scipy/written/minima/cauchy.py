"""Where a step of L-BFGS-B goes: along the projected gradient first, then in the subspace of the unknowns left free.

R. H. Byrd, P. Lu, J. Nocedal and C. Zhu, A limited memory algorithm for bound constrained optimization (1995), sections
4 and 5; J. L. Morales and J. Nocedal, Remark on algorithm 778 (2011), for the projection of the second part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit.scipy.written.minima.memory import Inner, Memory, middle, solved
from tracejit.scipy.written.minima.points import either

_EPS = float(np.finfo(float).eps)


class Box(NamedTuple):
    """Bounds, which of them there are, whether there is any, and whether there are all."""

    low: Any
    high: Any
    has_low: Any
    has_high: Any
    some: Any
    all: Any


def box(low: Any, high: Any) -> Box:
    """The box between bounds; infinite ones are none."""
    has_low, has_high = ~np.isinf(low), ~np.isinf(high)
    return Box(low, high, has_low, has_high, np.any(has_low | has_high), np.all(has_low & has_high))


def inside(b: Box, x: Any) -> Any:
    """The nearest point of the box."""
    x = np.where(b.has_low, np.fmax(x, b.low), x)
    return np.where(b.has_high, np.fmin(x, b.high), x)


def rooms(b: Box, x: Any, d: Any) -> Any:
    """How far along d each unknown may go; infinitely where there is no bound ahead."""
    down, up = b.has_low & (d < 0), b.has_high & (d > 0)
    gap = np.where(down, b.low - x, b.high - x)
    there = np.where(down, gap >= 0, gap <= 0)
    return np.where(down | up, np.where(there, 0.0, gap / d), np.inf)


def projected(b: Box, x: Any, g: Any) -> Any:
    """The largest element of the projected gradient; NaN if there is one in the gradient."""
    up = np.where(b.has_high, np.fmax(x - b.high, g), g)
    down = np.where(b.has_low, np.fmin(x - b.low, g), g)
    return np.max(np.abs(np.where(np.isnan(g), g, np.where(g < 0, up, down))))


def steepest(x: Any, g: Any) -> Any:
    """The Cauchy point where there are neither bounds nor a memory."""
    slope = -np.dot(g, g)
    length = -slope / -slope
    return x - either(length <= 0.0, 0.0, length) * g


def cauchy(b: Box, memory: Memory, x: Any, g: Any) -> Any:
    """The first minimum of the model along the projected gradient: (the point, the two parts of W' (point - x), which
    unknowns are free there)."""
    s, y, theta, some = memory.s, memory.y, memory.theta, memory.col > 0
    n = len(x)
    d, ends, fixed = _directions(b, x, g)
    slope = -np.dot(d, d)
    p, q = np.dot(y, d), theta * np.dot(s, d)
    cp, cq = np.zeros(len(s)), np.zeros(len(s))
    bend = -theta * slope
    least = _EPS * bend
    if some:
        u, v = middle(memory, p, q)
        bend = bend - (np.dot(u, p) + np.dot(v, q))
    length = -slope / bend
    whole = np.float64(0.0)
    point = np.array(x)
    times = np.full(n, np.inf)
    order = np.zeros(n, dtype=np.int64)
    last = np.int64(-1)
    first = np.int64(0)
    unbounded = np.any((d != 0) & np.isinf(ends))
    for i in range(n):
        if ends[i] != np.inf:
            last += 1
            times[last] = ends[i]
            order[last] = i
            if ends[i] < times[first]:
                first = last
    left = last
    before = np.float64(0.0)
    going = bool(last >= 0)
    while going:
        if left == last:
            now, k = times[first], order[first]
        else:
            if left == last - 1:
                times[first], order[first] = times[last], order[last]
                times, order = _heaped(times, order, left)
            times, order = _popped(times, order, left)
            now, k = times[left], order[left]
        gap = now - before
        if length < gap:
            break
        before = now
        whole = whole + gap
        left -= 1
        step = d[k]
        d[k] = 0.0
        end = either(step > 0, b.high[k], b.low[k])
        point[k] = end
        fixed[k] = True
        slope = slope + gap * bend + step**2 - theta * step * (end - x[k])
        bend = bend - theta * step**2
        if some:
            cp, cq = cp + gap * p, cq + gap * q
            row, column = y[:, k], theta * s[:, k]
            u, v = middle(memory, row, column)
            slope = slope + step * (np.dot(cp, u) + np.dot(cq, v))
            along = np.dot(p, u) + np.dot(q, v)
            own = np.dot(row, u) + np.dot(column, v)
            bend = bend + step * 2.0 * along - step**2 * own
            p, q = p - step * row, q - step * column
        bend = np.fmax(least, bend)
        length = either((left >= 0) | unbounded, -slope / bend, 0.0)
        going = bool(left >= 0)
    length = either(length <= 0.0, 0.0, length)
    whole = whole + length
    return point + whole * d, cp + length * p, cq + length * q, ~fixed


def _directions(b: Box, x: Any, g: Any) -> Any:
    """The projected gradient downhill, when each unknown reaches its bound, and which of them can't move."""
    d = -g
    above, below = x - b.low, b.high - x
    at_low, at_high = b.has_low & (above <= 0), b.has_high & (below <= 0)
    always = b.has_low & b.has_high & (b.high - b.low <= 0)
    fixed = always | np.where(at_low, d <= 0, at_high & (d >= 0))
    d = np.where(fixed, 0.0, d)
    down, up = b.has_low & (d < 0), b.has_high & (d > 0)
    ends = np.where(down, above / -d, np.where(up, below / d, np.inf))
    return d, ends, fixed


def _heaped(times: Any, order: Any, n: Any) -> tuple[Any, Any]:
    """The elements up to n as a heap, as SciPy orders it: which of equal ones comes first matters."""
    for k in range(1, n + 1):
        time, index = times[k], order[k]
        i = k
        going = True
        while going:
            parent = (i + 1) // 2 - 1
            going = bool(i > 0 and time < times[parent])
            if going:
                times[i], order[i] = times[parent], order[parent]
                i = parent
        times[i], order[i] = time, index
    return times, order


def _popped(times: Any, order: Any, n: Any) -> tuple[Any, Any]:
    """The heap of the elements up to n without its least one, which is the element n then."""
    if n > 0:
        first, place = times[0], order[0]
        time, index = times[n], order[n]
        i = np.int64(0)
        going = True
        while going:
            child = 2 * i + 1
            if child < n and times[child + 1] < times[child]:
                child = child + 1
            going = bool(child <= n and times[child] < time)
            if going:
                times[i], order[i] = times[child], order[child]
                i = child
        times[i], order[i] = time, index
        times[n], order[n] = first, place
    return times, order


def minimized(b: Box, memory: Memory, inner: Inner, at: Any, start: Any) -> Any:
    """The minimum of the model in the free unknowns, from the Cauchy point, projected on the box. `at` are x and its
    gradient, `start` what `cauchy` gives."""
    s, y, theta, col = memory.s, memory.y, memory.theta, memory.col
    (x, g), (z, cp, cq, free) = at, start
    u, v = middle(memory, cp, cq)
    r = -theta * (z - x) - g + (np.dot(u, y) + theta * np.dot(v, s))
    r = np.where(free, r, 0.0)
    p, q = solved(inner, np.dot(y, r), theta * np.dot(s, r), col)
    d = np.where(free, (r + (np.dot(p, y) / theta + np.dot(q, s))) * (1.0 / theta), 0.0)
    new = np.where(free, inside(b, z + d), z)
    ends = free & ((b.has_low & (new == b.low)) | (b.has_high & (new == b.high)))
    if np.any(ends) and np.dot(new - x, g) > 0:
        # The projected step leads up: as much of the step as fits into the box.
        part = np.where(free, rooms(b, z, d), np.inf)
        part = np.where(part < 1.0, part, 1.0)
        k = np.argmin(part)
        reached = (np.arange(len(x)) == k) & (part[k] < 1.0)
        new = np.where(reached & (d > 0), b.high, np.where(reached & (d < 0), b.low, z))
        new = new + part[k] * np.where(reached, 0.0, d)
    return new
