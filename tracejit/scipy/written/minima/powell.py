"""Powell's method of conjugate directions, with the steps of SciPy's.

M. J. D. Powell, An efficient method for finding the minimum of a function of several variables without calculating
derivatives (1964); W. H. Press and others, Numerical Recipes, chapter 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.scipy.written.minima.numbers import best, bracket, brent
from tracejit.scipy.written.minima.reports import told


def _along(f: Any, x: Any, direction: Any, value: Any, tol: Any) -> Any:
    """The lowest point on a line: (value, point, the way there, calls, whether there were enough to find an end)."""
    calls = np.int64(0)
    enough = True

    def on(a: Any) -> Any:
        return f(x + a * direction)

    if np.any(direction):
        xa, xb, xc, fa, fb, fc, calls, enough = bracket(on, 0.0, 1.0, 110.0, 1000)
        lower = (fb < fc and fb <= fa) or (fb < fa and fb <= fc)
        between = (xa < xb and xb < xc) or (xc < xb and xb < xa)
        if lower and between and np.isfinite(xa) and np.isfinite(xb) and np.isfinite(xc):
            a, value, _, more = brent(on, xa, xb, xc, fb, tol, 500)
            calls += more
        else:
            a = best(xa, xb, xc, fa, fb, fc)
            value = np.minimum(fa, np.minimum(fb, fc))
        direction = a * direction
        x = x + direction
    return value, x, direction, calls, enough


def powell(f: Any, x: Any, directions: Any, options: Any, tell: Any = None) -> Any:
    """(x, value, directions, steps, calls, status); `options` are (xtol, ftol, the most steps and calls).
    After each step there is `told(tell, x, value)`, if there is a `tell`.

    The status 4 is that of a search that finds no end, which SciPy raises. SciPy stops at the call that is one too
    many. Here the search along a line in which it comes is done to its end, and left out."""
    xtol, ftol, most, most_calls = options
    all_calls = np.int64(min(most_calls, 2**62))  # which may be infinity
    tol = xtol * 100
    n = len(x)
    value = f(x)
    calls = np.int64(1)
    steps = np.int64(0)
    start = x
    going = True
    failed = False
    while going:
        first = value
        largest = np.int64(0)
        delta = np.float64(0.0)
        i = np.int64(0)
        while going and i < n:
            low, moved, _, more, enough = _along(f, x, directions[i], value, tol)
            if not enough:
                failed, going = True, False
            elif calls + more > most_calls:
                calls, going = all_calls, False
            else:
                calls += more
                if value - low > delta:
                    delta, largest = value - low, i
                value, x = low, moved
            i += 1
        if going:
            steps += 1
            if tell is not None:
                told(tell, x, value)
            near = 2.0 * (first - value) <= ftol * (np.abs(first) + np.abs(value)) + 1e-20
            none = np.isnan(first) and np.isnan(value)
            going = not (near or calls >= most_calls or steps >= most or none)
        if going:
            way = x - start
            start = x
            ahead = f(x + way)
            calls += 1
            gain = first - value - delta
            if first > ahead and (
                2.0 * (first + ahead - 2.0 * value) * (gain * gain)
                - delta * (first - ahead) * (first - ahead)
                < 0.0
            ):
                low, moved, way, more, enough = _along(f, x, way, value, tol)
                if not enough:
                    failed, going = True, False
                elif calls + more > most_calls:
                    calls, going = all_calls, False
                else:
                    calls += more
                    value, x = low, moved
                    if np.any(way):
                        directions[largest] = directions[n - 1]
                        directions[n - 1] = way
    status = np.int64(0)
    if failed:
        status = np.int64(4)
    elif calls >= most_calls:
        status = np.int64(1)
    elif steps >= most:
        status = np.int64(2)
    elif np.isnan(value) or np.any(np.isnan(x)):
        status = np.int64(3)
    return x, value, directions, steps, calls, status
