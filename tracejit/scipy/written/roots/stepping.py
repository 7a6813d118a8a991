"""Inexact Newton steps with a line search, by an approximation of the Jacobian: SciPy's nonlinear solvers.

C. T. Kelley, Iterative Methods for Linear and Nonlinear Equations (1995), chapters 5 to 8. An approximation is
(begin, solve, renew, settings): `begin(x, y, settings)` gives its memory; `solve(f, memory, x, y, tol, settings)` gives
the step of Newton's method with its sign turned, the memory, the calls of f and a code (`FINE`, or what went wrong);
`renew(memory, y, dx, dy, settings)` gives the memory after a step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.scipy.written.minima.points import either, first
from tracejit.scipy.written.minima.steps import more_thuente

#: How a search may fail: with values that are not finite, a step of no length, a function that is not finite at the
#: points of a difference, steps that have another dtype than the point, or with values whose square is too large.
FINE, NOT_FINITE, NO_STEP, NO_DIFFERENCE, WIDER, TOO_LARGE = 0, 1, 2, 3, 4, 5


def length(v: Any) -> Any:
    """The Euclidean length of a vector, in float64."""
    sizes = np.abs(v).astype(np.float64)
    most = np.max(sizes)
    scale = either((most > 1e-140) & (most < 1e140) | (most == 0) | ~np.isfinite(most), 1.0, most)
    return np.sqrt(np.sum((sizes / scale) ** 2)) * scale


def largest(v: Any) -> Any:
    """The largest of the absolute values."""
    return np.max(np.abs(v))


def scaled(s: Any, v: Any) -> Any:
    """A number times a vector, in the dtype of the vector."""
    return np.asarray(s).astype(v.dtype) * v


def found(f: Any, approximation: Any, x: Any, norm: Any, options: Any, tell: Any = None) -> Any:
    """A root: (x, its values, calls, tests whether it is one, SciPy's status or 0 where there were not enough steps,
    what went wrong, the memory). `options` are (f_tol, f_rtol, x_tol, x_rtol, iter, maxiter, the line search)."""
    begin, solve, renew, settings = approximation
    limits, iterations, most, line = options[:4], options[4], options[5], options[6]
    y = f(x)
    calls = np.int64(1)
    p = np.full_like(x, np.inf)
    eta = np.float64(1e-3)
    before = norm(y)
    checks = np.int64(0)
    status = np.int64(0)
    wrong = np.int64(FINE)
    if not np.all(np.isfinite(y)):
        wrong = np.int64(NOT_FINITE)
    size = length(y)
    memory = begin(x, y, settings)
    while status == 0 and wrong == FINE and checks < most:
        checks += 1
        status = _status(norm, (y, x, p), before, limits, checks, iterations)
        if status == 0:
            step, memory, more, wrong = solve(f, memory, x, y, np.minimum(eta, eta * size), settings)
            p = -step
            calls += more
            if wrong == FINE and not np.all(np.isfinite(p)):
                wrong = np.int64(NOT_FINITE)
            if wrong == FINE and length(p) == 0:
                wrong = np.int64(NO_STEP)
            if wrong == FINE:
                new, z, more, wrong = _searched(f, x, p, size, line)
                calls += more
                if not (np.all(np.isfinite(z)) and np.all(np.isfinite(new))):
                    wrong = np.int64(NOT_FINITE)
                memory = renew(memory, z, new - x, z - y, settings)
                next_size = length(z)
                if np.isfinite(next_size) and np.isinf(next_size**2):
                    wrong = np.int64(TOO_LARGE)
                if tell is not None and wrong == FINE:
                    tell(new, z)
                ratio = 0.9 * next_size**2 / size**2
                kept = either(0.9 * eta**2 < 0.1, ratio, np.maximum(ratio, 0.9 * eta**2))
                eta = np.minimum(0.9999, kept)
                x, y, size = new, z, next_size
    return x, y, calls, checks, status, wrong, memory


def _status(norm: Any, at: Any, before: Any, limits: Any, checks: Any, iterations: Any) -> Any:
    """1 for a root, 2 after the last one of `iterations`, 0 where the search goes on."""
    f_tol, f_rtol, x_tol, x_rtol = limits
    size, place, step = norm(at[0]), norm(at[1]), norm(at[2])
    if iterations is not None:
        end = 2 * np.int64(checks > iterations)
    else:
        near = (size <= f_tol) & (size / f_rtol <= before) & (step <= x_tol) & (step / x_rtol <= place)
        end = np.int64(near)
    return either(size == 0, np.int64(1), end)


def _searched(f: Any, x: Any, p: Any, size: Any, line: Any) -> Any:
    """A step along p: (the point, its values, calls, what went wrong)."""
    if line == "wolfe":
        return _wolfe(f, x, p, size)
    start = size**2
    narrow = np.finfo(x.dtype).bits == 32
    s = np.float64(1.0)
    a, fa = s, start  # the step before the last one
    b, fb = s, start  # the last one
    z = x
    calls = np.int64(0)
    tries = np.int64(0)
    wrong = np.int64(FINE)
    last = np.float64(0.0)
    going = True
    ending = line is None
    while going:
        z = f(x + scaled(s, p))
        calls += np.int64(s != last)
        last = s
        value = _squared(z)
        if np.isinf(value) and np.all(np.isfinite(z)):
            wrong = np.int64(TOO_LARGE)
        if ending or value <= start - 1e-4 * s * start:
            going = False
        else:
            if tries == 0:
                b, fb = s, value
                s = start / 2.0 / (value - start + start)
            else:
                if tries > 1 and (b - s > b / 2.0 or 1 - s / b < 0.96):
                    s = b / 2.0
                a, fa, b, fb = b, fb, s, value
                if b > 1e-2:
                    s = _cubic(start, a, fa, b, fb)
                    if narrow:
                        wrong = np.int64(WIDER)
                else:  # the full step, and hope for the best
                    s = np.float64(1.0)
                    ending = True
            tries += 1
    return x + scaled(s, p), z, calls, wrong


def _squared(z: Any) -> Any:
    """The square of the length, which is infinite where a value is not finite."""
    fine = np.all(np.isfinite(z))
    return either(fine, length(np.where(np.isfinite(z), z, np.zeros_like(z))), np.inf) ** 2


def _cubic(start: Any, a: Any, fa: Any, b: Any, fb: Any) -> Any:
    """The minimum of the cubic through the values at 0, a and b, with the slope -start at 0."""
    near, far = fb - start + start * b, fa - start + start * a
    scale = a**2 * b**2 * (b - a)
    third = (a**2 * near - b**2 * far) / scale
    second = (-(a**3) * near + b**3 * far) / scale
    return (-second + np.sqrt(np.abs(second**2 + 3 * third * start))) / (3.0 * third)


def _wolfe(f: Any, x: Any, p: Any, size: Any) -> Any:
    """The same by Moré and Thuente's search, with slopes that are differences."""
    ratio = length(x) / length(p)

    def both(s: Any) -> Any:
        value = _squared(f(x + scaled(s, p)))
        apart = (np.abs(s) + ratio + 1) * 1e-8
        return value, (_squared(f(x + scaled(s + apart, p))) - value) / apart

    at = first(both, np.float64(0.0))
    limits = 1e-4, 0.9, np.float64(1e-2), np.float64(50.0), False
    found, s, at, tries = more_thuente(
        both, at, np.float64(0.0), np.float64(1.0), np.float64(1.0), (size**2, at[2]), limits, 1e-2
    )
    # The first value is known; slopes take a call each.
    calls = at[5] + tries
    s = either(found, s, 1.0)
    calls = calls + np.int64(s != at[0])
    new = x + scaled(s, p)
    return new, f(new), calls, np.int64(FINE)
