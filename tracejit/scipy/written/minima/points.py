"""The last point at which a function of several numbers was evaluated, as SciPy's solvers remember it.

SciPy counts the evaluations of a function and of its gradient, but not those at the point that was the last one. Here
both are computed together; `at` is (x, value, gradient, whether the value was counted, whether the gradient was, counts
of both). There are no branches: they take long to compile.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def first(both: Any, x: Any) -> Any:
    """The first point; both are counted."""
    f, g = both(x)
    one = np.int64(1)
    return x, f, g, one, one, one, one


def moved(both: Any, at: Any, x: Any) -> Any:
    """The point x, of which nothing is counted yet if it is another one."""
    f, g = both(x)
    same = np.int64(np.all(at[0] == x))
    return x, f, g, at[3] * same, at[4] * same, at[5], at[6]


def valued(at: Any) -> Any:
    """The same point, whose value was asked for."""
    x, f, g, value, gradient, values, gradients = at
    return x, f, g, np.int64(1), gradient, values + 1 - value, gradients


def sloped(at: Any) -> Any:
    """The same point, whose gradient was asked for."""
    x, f, g, value, gradient, values, gradients = at
    return x, f, g, value, np.int64(1), values, gradients + 1 - gradient


def either(condition: Any, a: Any, b: Any) -> Any:
    """One of two numbers, both of which are computed."""
    return np.where(condition, a, b)[()]
