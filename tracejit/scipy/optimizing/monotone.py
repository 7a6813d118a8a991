"""Isotonic regression: the blocks are pooled in a loop, and their means differentiated with the blocks held fixed.

Source: Busing, Monotone regression: a simple and fast O(n) PAVA implementation (2022).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.errors import DynamicExtentError, SolverOptionError, refusals
from tracejit.numpy.boxes.numbers import leave_if
from tracejit.scipy.optimizing.results import complete, partial
from tracejit.tracing import to_raw, wrap

__all__ = ["isotonic_regression"]


def isotonic_regression(y: Any, *, weights: Any = None, increasing: bool = True) -> Any:
    """The increasing (or decreasing) values nearest to the vector `y`, by weighted squares: SciPy's result with `x`,
    the `weights` of its blocks, and where these begin (`blocks`). Derivatives are those with the blocks held fixed."""
    y = tnp.atleast_1d(y)
    if y.dtype.kind == "c":
        raise SolverOptionError(
            function="isotonic_regression", problem="complex numbers", remedy="give floats"
        )
    if y.ndim != 1:
        raise ValueError("Input arrays y and w must have one dimension of equal length.")
    y = y.astype(float)
    if weights is None:
        w = tnp.ones(y.shape)
    else:
        w = tnp.atleast_1d(weights)
        if w.shape != y.shape:
            raise ValueError("Input arrays y and w must have one dimension of equal length.")
        w = w.astype(float)
        leave_if(to_raw(tnp.any(w <= 0)), "an error of SciPy's about weights that are not positive")
    y, w = (y, w) if increasing else (y[::-1], w[::-1])
    starts, count = _blocks(lax.stop_gradient(y), lax.stop_gradient(w))
    n = y.shape[0]
    edges = tnp.where(tnp.arange(n + 1) < count, starts, n)  # of the blocks, and then the end
    block = tnp.cumsum(tnp.at(tnp.zeros(n + 1, np.int64))[edges].set(1))[:n] - 1
    total = tnp.at(tnp.zeros(n))[block].add(w)
    x = (tnp.at(tnp.zeros(n))[block].add(w * y) / tnp.where(tnp.arange(n) < count, total, 1))[block]
    try:
        with refusals.attempt(DynamicExtentError):
            total, edges = (wrap(to_raw(part)) for part in (total[:count], edges[: count + 1]))
    except DynamicExtentError:  # in a batch, whose examples have different numbers of blocks
        return partial("isotonic_regression", x=x if increasing else x[::-1])
    if not increasing:
        x, total, edges = x[::-1], total[::-1], n - edges[::-1]
    return complete(x=x, weights=total, blocks=edges.astype(np.intp))


def _blocks(y: Any, w: Any) -> tuple[Any, Any]:
    """The first places of the blocks in a vector of one more element than `y`, and how many blocks there are."""
    n = y.shape[0]

    def pools(means: Any, count: Any) -> Any:
        last = tnp.maximum(count - 1, 0)
        return (count > 1) & (means[tnp.maximum(last - 1, 0)] >= means[last])

    def step(state: Any) -> Any:
        i, count, means, sizes, starts = state
        pooled = pools(means, count)
        before, last = tnp.maximum(count - 2, 0), tnp.maximum(count - 1, 0)
        next_ = tnp.minimum(i, n - 1)
        size = sizes[before] + sizes[last]
        mean = (sizes[before] * means[before] + sizes[last] * means[last]) / size
        place = tnp.where(pooled, before, count)
        means = tnp.at(means)[place].set(tnp.where(pooled, mean, y[next_]))
        sizes = tnp.at(sizes)[place].set(tnp.where(pooled, size, w[next_]))
        starts = tnp.at(starts)[place].set(tnp.where(pooled, starts[place], i))
        return tnp.where(pooled, i, i + 1), place + 1, means, sizes, starts

    def goes_on(state: Any) -> Any:
        i, count, means, *_ = state
        return (i < n) | pools(means, count)

    start = (0, 0, tnp.zeros(n), tnp.ones(n), tnp.zeros(n + 1, np.int64))
    _, count, _, _, starts = lax.while_loop(goes_on, step, start)
    return starts, count
