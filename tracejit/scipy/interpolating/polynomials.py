"""Polynomials as objects of NumPy's: lagrange, pade, approximate_taylor_polynomial."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit import numpy as tnp
from tracejit.scipy.interpolating.scattered import KroghInterpolator
from tracejit.tracing import call_user


def lagrange(x: Any, w: Any) -> Any:
    """The polynomial through the points (x, w), as a `numpy.poly1d`. As in SciPy, it is of no use for many points."""
    x, w = (tnp.asarray(v) for v in (x, w))
    n = x.shape[0]
    rows = (w + 0 * x + 0.0)[:, None]
    zeros, own = tnp.zeros((n, 1)), np.eye(n, dtype=bool)
    for k in range(n):  # one more factor in each row but the k-th
        over = tnp.where(own[k], 1.0, x - x[k])[:, None]
        wide = tnp.concatenate([rows * (1.0 / over), zeros], 1)
        moved = tnp.concatenate([zeros, rows], 1)
        rows = tnp.where(own[k][:, None], moved, wide + moved * (-x[k] / over))
    return tnp.poly1d(tnp.sum(rows, 0)[1:])


def pade(an: Any, m: int, n: Any = None) -> tuple[Any, Any]:
    """The Padé approximation of a series with coefficients `an`: polynomials of degrees `n` and `m`, the second one for
    dividing by. Raises ValueError for degrees that need more coefficients."""
    an = tnp.asarray(an)
    n = an.shape[0] - 1 - m if n is None else n
    if n < 0:
        raise ValueError("Order of p <n> must be greater than 0.")
    if m + n > an.shape[0] - 1:
        raise ValueError("Order of q+p <m+n> must be smaller than len(an).")
    an = an[: m + n + 1]
    padded = tnp.concatenate([tnp.zeros(m, an.dtype), an])
    columns = [-padded[m - 1 - j : m - 1 - j + an.shape[0]] for j in range(m)]
    matrix = tnp.concatenate([np.eye(m + n + 1, n + 1, dtype=an.dtype), *(c[:, None] for c in columns)], 1)
    both = tnp.linalg.solve(matrix, an)
    below = tnp.concatenate([tnp.ones(1, both.dtype), both[n + 1 :]])
    return tnp.poly1d(both[: n + 1][::-1]), tnp.poly1d(below[::-1])


def approximate_taylor_polynomial(
    f: Callable[..., Any], x: Any, degree: int, scale: Any, order: Any = None
) -> Any:
    """The Taylor polynomial of `f` at `x`, by interpolation within `scale` of it."""
    n = (degree if order is None else order) + 1
    # SciPy's points: with both ends only where that lets one of them be `x`.
    places = scale * np.cos(np.linspace(0, np.pi, n, endpoint=bool(n % 1))) + x
    slopes = KroghInterpolator(places, call_user(f, places)).derivatives(x, der=degree + 1)
    factors = np.array([float(math.factorial(k)) for k in range(degree + 1)])
    return tnp.poly1d((slopes / factors)[::-1])
