"""L-BFGS-B: minima with bounds, by gradients and a limited memory of them, with the steps of SciPy's.

C. Zhu, R. H. Byrd, P. Lu and J. Nocedal, Algorithm 778: L-BFGS-B (1997), version 3.0. `memory` has the matrices,
`cauchy` the two parts of a step, `steps` what the line search is made of.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit.scipy.written.minima.cauchy import (
    Box,
    box,
    cauchy,
    inside,
    minimized,
    projected,
    rooms,
    steepest,
)
from tracejit.scipy.written.minima.memory import (
    Inner,
    counted,
    forgotten,
    kernel,
    nothing,
    remembered,
    stored,
)
from tracejit.scipy.written.minima.points import either, first, moved, sloped, valued
from tracejit.scipy.written.minima.reports import told
from tracejit.scipy.written.minima.steps import safeguarded

_EPS = float(np.finfo(float).eps)


class Search(NamedTuple):
    """What a line search knows: whether there is a minimum between, whether it is in its second stage, the value and
    the slope where it began and its width and the one before; both ends (step, value, slope); the limits of the next
    step."""

    bracketed: Any
    second: Any
    f0: Any
    g0: Any
    width: Any
    before: Any
    best: Any
    other: Any
    limits: Any


def _began(f: Any, g: Any, step: Any, most: Any) -> Search:
    zero = np.float64(0.0)
    end = zero, f, g
    return Search(np.False_, np.False_, f, g, most, most / 0.5, end, end, (zero, step + 4.0 * step))


def _chosen(condition: Any, a: Search, b: Search) -> Search:
    """One of two, number by number."""
    pairs = zip(a[:6], b[:6], strict=True)
    ends = zip(a[6:], b[6:], strict=True)
    return Search(
        *(either(condition, x, y) for x, y in pairs),
        *(tuple(either(condition, x, y) for x, y in zip(e, f, strict=True)) for e, f in ends),
    )


def _narrowed(known: Search, step: Any, f: Any, g: Any, most: Any) -> tuple[Search, Any]:
    """One step of DCSRCH: what is known after the value f and the slope g at `step`, and the next step."""
    (a, fa, ga), (b, fb, gb), (low, high) = known.best, known.other, known.limits
    test = 1e-3 * known.g0
    less = either(~known.second & (f <= fa) & (f > known.f0 + step * test), test, 0.0)
    a, fa, ga, b, fb, gb, step, bracketed = safeguarded(
        (a, fa - a * less, ga - less),
        (b, fb - b * less, gb - less),
        (step, f - step * less, g - less),
        known.bracketed,
        (low, high),
    )
    fa, ga, fb, gb = fa + a * less, ga + less, fb + b * less, gb + less
    size = np.abs(b - a)
    step = either(bracketed & (size >= 0.66 * known.before), a + 0.5 * (b - a), step)
    before, width = either(bracketed, known.width, known.before), either(bracketed, size, known.width)
    low = either(bracketed, np.minimum(a, b), step + 1.1 * (step - a))
    high = either(bracketed, np.maximum(a, b), step + 4.0 * (step - a))
    step = np.fmin(np.fmax(step, 0.0), most)
    stuck = (step <= low) | (step >= high) | (high - low <= 0.1 * high)
    step = either(bracketed & stuck, a, step)
    return known._replace(
        bracketed=bracketed,
        width=width,
        before=before,
        best=(a, fa, ga),
        other=(b, fb, gb),
        limits=(low, high),
    ), step


def _search(both: Any, at: Any, start: Any, b: Box, steps: Any, most_tries: Any, known: Search) -> Any:
    """From x towards z: (whether a step was found, the step, the point, the slopes there and at x, what the search
    knew). `start` are (x, value, gradient, z); `known` is of the search before, which SciPy goes on with if the first
    step is too long by a rounding error."""
    x, f0, g0, z = start
    d = z - x
    most = np.fmin(1e10, np.min(rooms(b, x, d)))
    most = either(b.some & (steps == 0), 1.0, most)
    step = either((steps == 0) & ~b.all, np.fmin(1.0 / np.sqrt(np.dot(d, d)), most), 1.0)
    slope = np.dot(g0, d)
    known = _chosen((step < 0) | (step > most) | (most < 0), known, _began(f0, slope, step, most))
    g = slope
    found = False
    tries = np.int64(0)
    going = bool(~(slope >= 0.0))
    while going:
        tries += 1
        new = np.where(step == 1.0, z, inside(b, step * d + x))
        at = sloped(valued(moved(both, at, new)))
        f = at[1]
        g = np.dot(at[2], d)
        test = 1e-3 * known.g0
        line = known.f0 + step * test
        second = known.second | ((f <= line) & (g >= 0.0))
        known = known._replace(second=second)
        low, high = known.limits
        ends = known.bracketed & ((step <= low) | (step >= high) | (high - low <= 0.1 * high))
        ends = (
            ends | ((step == most) & (f <= line) & (g <= test)) | ((step == 0.0) & ((f > line) | (g >= test)))
        )
        found = bool(ends | ((f <= line) & (np.abs(g) <= 0.9 * -known.g0)))
        if found:
            break
        known, step = _narrowed(known, step, f, g, most)
        going = bool(tries < most_tries)
    return found, step, at, g, slope, known


def _towards(b: Box, bounded: Any, state: Any, steps: Any) -> Any:
    """Where the next step goes to: (the point, the products in the free unknowns, which are free, whether a matrix is
    not positive definite). `state` are (x, gradient, memory, products, which unknowns were free)."""
    x, g, memory, inner, free = state
    bad = False
    if bounded:
        none = np.zeros(len(memory.s))
        z, cp, cq = x, none, none
        entering = leaving = np.zeros(len(x), dtype=bool)
        if b.some or memory.col == 0:
            before = free
            z, cp, cq, free = cauchy(b, memory, x, g)
            counts = b.some & (steps > 0)
            entering, leaving = counts & free & ~before, counts & before & ~free
        if np.any(free) and memory.col > 0:
            if memory.fresh or np.any(entering | leaving):
                inner = counted(memory, inner, free, entering, leaving)
                inner, bad = kernel(memory, inner)
            if not bad:
                z = minimized(b, memory, inner, (x, g), (z, cp, cq, free))
    elif memory.col == 0:
        z = steepest(x, g)
    else:
        z = x
        never = np.zeros(len(x), dtype=bool)
        if memory.fresh:
            inner = counted(memory, inner, free, never, never)
            inner, bad = kernel(memory, inner)
        if not bad:
            none = np.zeros(len(memory.s))
            z = minimized(b, memory, inner, (x, g), (x, none, none, free))
    return z, inner, free, bad


def lbfgsb(both: Any, x: Any, low: Any, high: Any, options: Any, tell: Any = None) -> Any:
    """The minimum: (x, value that was computed last, gradient, counts of values and gradients, steps, code, and
    the steps and changes in the order in which SciPy stores them, with their number).

    `options` are (the size of the memory, ftol, gtol, the most steps, calls and tries of a line search, whether there
    are bounds). The code is 1 for a small gradient, 2 for little progress, 3 and 4 after too many steps or calls, 5
    where no step was found. After each step there is `told(tell, x, value)`, if there is a `tell`."""
    m, ftol, gtol, most, most_calls, most_tries, bounded = options
    b = box(low, high)
    at = first(both, x)
    f, g = at[1], at[2]
    memory, inner = nothing(m, len(x))
    free = np.ones(len(x), dtype=bool)
    zero = np.float64(0.0)
    known = _began(zero, zero, zero, zero)
    steps = np.int64(0)
    code = np.int64(projected(b, x, g) <= gtol)
    while code == 0:
        z, inner, free, bad = _towards(b, bounded, (x, g, memory, inner, free), steps)
        if not bad:
            found, step, at, slope, before, known = _search(
                both, at, (x, f, g, z), b, steps, most_tries, known
            )
            bad = not found
            if bad and memory.col == 0:
                code = np.int64(5)
            if found:
                d, changes = z - x, at[2] - g
                old, x, f, g = f, at[0], at[1], at[2]
                steps += 1
                if tell is not None:
                    told(tell, x, f)
                if steps >= most:
                    code = np.int64(3)
                elif at[5] > most_calls:
                    code = np.int64(4)
                elif projected(b, x, g) <= gtol:
                    code = np.int64(1)
                elif old - f <= ftol * np.fmax(np.fmax(np.abs(old), np.abs(f)), 1.0):
                    code = np.int64(2)
                else:
                    product = (slope - before) * step
                    sizes = step * step * np.dot(d, d), product, np.dot(changes, changes)
                    if product <= _EPS * (-before * step):
                        memory = memory._replace(fresh=np.False_)
                    else:
                        memory, bad = remembered(memory, step * d, changes, sizes)
        memory, inner = forgotten(memory, bad), Inner(*map(np.array, inner))
    return x, at[1], g, at[5], at[6], steps, code, *stored(memory)
