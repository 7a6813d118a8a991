"""Nelder and Mead's simplex method, with the steps of SciPy's.

J. A. Nelder and R. Mead, A simplex method for function minimization (1965); F. Gao and L. Han (2012) for coefficients
that depend on the number of unknowns.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tracejit.ops._lazy import scipy_module
from tracejit.scipy.written.minima.reports import told


def around(x: Any, low: Any, high: Any, bounded: bool) -> Any:
    """The simplex in which SciPy begins, from a point."""
    n = len(x)
    if bounded:
        x = np.clip(x, low, high)
    corners = np.empty((n + 1, n))
    corners[0] = x
    for k in range(n):
        y = np.array(x)
        y[k] = 1.05 * y[k] if y[k] != 0 else 0.00025
        corners[k + 1] = y
    return inside(corners, low, high) if bounded else corners


def warned(x: Any, low: Any, high: Any) -> None:
    """SciPy's warning of a point that is not between the bounds."""
    if np.any(low > x) or np.any(x > high):
        category = scipy_module("optimize").OptimizeWarning
        warnings.warn("Initial guess is not within the specified bounds", category, stacklevel=3)


def inside(corners: Any, low: Any, high: Any) -> Any:
    """A simplex whose corners are reflected at the upper bounds, and are not below the lower ones."""
    return np.clip(np.where(corners > high, 2 * high - corners, corners), low, high)


def nelder_mead(f: Any, corners: Any, low: Any, high: Any, options: Any, tell: Any = None) -> Any:
    """The minimum from a simplex: (corners, values, steps, calls, status). `options` are (xatol, fatol, the most steps
    and calls, whether the coefficients depend on the number of unknowns, whether there are bounds).
    After each step there is `told(tell, x, value)`, if there is a `tell`."""
    xatol, fatol, most, most_calls, adaptive, bounded = options
    n = corners.shape[1]
    dim = float(n)
    chi, psi, sigma = (1 + 2 / dim, 0.75 - 1 / (2 * dim), 1 - 1 / dim) if adaptive else (2, 0.5, 0.5)
    values = np.full(n + 1, np.inf)
    calls = np.int64(0)
    for k in range(n + 1):
        if calls < most_calls:
            values[k] = f(corners[k])
            calls += 1
    order = np.argsort(values)
    corners, values = corners[order], values[order]
    order = np.argsort(values)
    corners, values = corners[order], values[order]
    steps = np.int64(1)
    while calls < most_calls and steps < most:
        near = np.max(np.abs(corners[1:] - corners[0])) <= xatol
        if near and np.max(np.abs(values[0] - values[1:])) <= fatol:
            break
        middle = np.sum(corners[:-1], axis=0) / n
        last = np.array(corners[n])
        x = 2 * middle - last
        if bounded:
            x = np.clip(x, low, high)
        y = f(x)
        calls += 1
        whole = True
        shrinks = False
        if y < values[0] or not y < values[n - 1]:
            outside = y < values[n]
            # Beyond the reflected point, or between it or the worst corner and the middle.
            if y < values[0]:
                other = (1 + chi) * middle - chi * last
            elif outside:
                other = (1 + psi) * middle - psi * last
            else:
                other = (1 - psi) * middle + psi * last
            if bounded:
                other = np.clip(other, low, high)
            if calls < most_calls:
                z = f(other)
                calls += 1
                if y < values[0]:
                    better = z < y
                    corners[n] = other if better else x
                    values[n] = z if better else y
                elif z <= y if outside else z < values[n]:
                    corners[n] = other
                    values[n] = z
                else:
                    shrinks = True
            else:
                whole = False
        else:
            corners[n] = x
            values[n] = y
        if shrinks:
            k = 1
            while k < n + 1 and whole:
                moved = corners[0] + sigma * (corners[k] - corners[0])
                if bounded:
                    moved = np.clip(moved, low, high)
                corners[k] = moved
                if calls < most_calls:
                    values[k] = f(moved)
                    calls += 1
                    k += 1
                else:
                    whole = False
        if whole:
            steps += 1
        order = np.argsort(values)
        corners, values = corners[order], values[order]
        if tell is not None:
            told(tell, corners[0], values[0])
    status = np.int64(0)
    if calls >= most_calls:
        status = np.int64(1)
    elif steps >= most:
        status = np.int64(2)
    return corners, values, steps, calls, status
