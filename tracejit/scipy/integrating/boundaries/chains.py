"""Linear equations along a chain of nodes, with equations that couple its two ends, as collocation gives them:

    a[i] y[i] + b[i] y[i + 1] + q[i] p == r[i]           for the intervals i = 0 .. m - 2
    first y[0] + last y[m - 1] + free p == end

They are reduced from node to node by orthogonal matrices (Wright 1992), which is stable where solutions grow and decay.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp
from tracejit.scipy.integrating.implicit import factored, solved


class Chain(NamedTuple):
    """The matrices: `a b` (m - 1, n, n), `q` (m - 1, n, k), `first last` (n + k, n), `free` (n + k, k)."""

    a: Any
    b: Any
    q: Any
    first: Any
    last: Any
    free: Any


class Factors(NamedTuple):
    """Of each inner node: the orthogonal matrix, the inverse of what stands before it, and what stands before the next
    node, the first one and the parameters; the factors of the equations of the ends, and how far these are from having
    no solution (no number where the equations of a node have none)."""

    turns: Any
    inverses: Any
    rows: Any
    ends: Any
    sizes: Any
    rank: Any


def _row(x: Any, i: Any) -> Any:
    return lax.dynamic_index_in_dim(x, i, 0, False)


def _put(x: Any, value: Any, i: Any) -> Any:
    return lax.dynamic_update_index_in_dim(x, value, i, 0)


def none(room: int, n: int, k: int) -> Factors:
    """Factors of nothing, of these sizes."""
    size = 2 * n + k
    shapes = (room, 2 * n, 2 * n), (room, n, n), (room, n, size)
    turns, inverses, rows = map(tnp.zeros, shapes)
    return Factors(turns, inverses, rows, factored(tnp.eye(size)), tnp.ones(size), tnp.zeros(()))


def factor(chain: Chain, count: Any) -> Factors:
    """The factors of the equations of the first `count` intervals, and those of the ends."""
    room, n, _ = chain.a.shape
    k = chain.q.shape[2]
    width = 2 * n + k  # coefficients of the next node, the first one and the parameters

    def step(i: Any, state: Any) -> Any:
        (own, others), turns, inverses, rows = state
        a, b, q = _row(chain.a, i), _row(chain.b, i), _row(chain.q, i)
        lower = tnp.concatenate([a, b, tnp.zeros((n, n)), q], axis=1)
        whole = tnp.concatenate([tnp.concatenate([own, others], axis=1), lower])
        turned = _reduced(tnp.concatenate([whole, np.eye(2 * n)], axis=1), n)
        both, turn = turned[:, n : n + width], turned[:, n + width :]
        inverse = _inverse(turned[:n, :n])
        kept = tnp.concatenate([tnp.zeros((n, n)), both[n:, n:]], axis=1)
        made = _put(turns, turn, i), _put(inverses, inverse, i), _put(rows, both[:n], i)
        return (both[n:, :n], kept), *made

    others = tnp.concatenate([tnp.zeros((n, n)), chain.a[0], chain.q[0]], axis=1)
    start = (
        (chain.b[0], others),
        tnp.zeros((room, 2 * n, 2 * n)),
        tnp.zeros((room, n, n)),
        tnp.zeros((room, n, width)),
    )
    (own, others), turns, inverses, rows = lax.fori_loop(1, count, step, start)
    top = tnp.concatenate([others[:, n : 2 * n], own, others[:, 2 * n :]], axis=1)
    ends = tnp.concatenate([top, tnp.concatenate([chain.first, chain.last, chain.free], axis=1)])
    sizes = _sizes(ends)
    lu = factored(ends / sizes[:, None])
    diagonal = tnp.abs(tnp.diagonal(lu[0]))
    # Where one of them is no number the smallest is none.
    each = tnp.where(np.arange(room)[:, None] < count, tnp.sum(inverses, axis=(1, 2))[:, None], 0.0)
    rank = tnp.min(diagonal) + 0.0 * tnp.sum(each)
    return Factors(turns, inverses, rows, lu, sizes, rank)


def _sizes(ends: Any) -> Any:
    """The largest coefficient of each equation."""
    most = tnp.max(tnp.abs(ends), axis=1)
    return tnp.where(most == 0, 1.0, most)


def _reduced(x: Any, n: int) -> Any:
    """The rows with zeros under the diagonal of the first `n` columns, by Householder's reflections."""
    for j in range(n):
        column = tnp.where(np.arange(x.shape[0]) < j, 0.0, x[:, j])
        size = tnp.sqrt(tnp.sum(column**2))
        v = column + tnp.where(np.arange(x.shape[0]) == j, tnp.where(x[j, j] < 0, -size, size), 0.0)
        square = tnp.sum(v**2)
        x = x - tnp.outer(v, (v @ x) * tnp.where(square == 0, 0.0, 2.0 / tnp.where(square == 0, 1.0, square)))
    return x


def _inverse(upper: Any) -> Any:
    """The inverse of a triangular matrix, which has infinite elements where there is none."""
    n = upper.shape[0]
    rows: list[Any] = [None] * n
    eye = np.eye(n)
    for i in range(n - 1, -1, -1):
        row = tnp.asarray(eye[i])
        for j in range(i + 1, n):
            row = row - upper[i, j] * rows[j]
        rows[i] = row / upper[i, i]
    return tnp.stack(rows)


def solve(factors: Factors, r: Any, end: Any, count: Any) -> tuple[Any, Any]:
    """The nodes (m, n), and the parameters, for right-hand sides (m - 1, n) and (n + k,). Nodes past the intervals in
    use are like the last one in use."""
    room, n = r.shape

    def ahead(i: Any, state: Any) -> Any:
        kept, tops = state
        both = _row(factors.turns, i) @ tnp.concatenate([kept, _row(r, i)])
        return both[n:], _put(tops, both[:n], i)

    kept, tops = lax.fori_loop(1, count, ahead, (r[0], tnp.zeros((room, n))))
    right = tnp.concatenate([kept, end]) / factors.sizes
    found = solved(factors.ends, right)
    first, last, p = found[:n], found[n : 2 * n], found[2 * n :]
    rest = tnp.concatenate([first, p])

    def back(j: Any, state: Any) -> Any:
        after, y = state
        i = count - 1 - j
        row = _row(factors.rows, i)
        own = _row(factors.inverses, i) @ (_row(tops, i) - row[:, :n] @ after - row[:, n:] @ rest)
        return own, _put(y, own, i)

    y = tnp.broadcast_to(last, (room + 1, n))
    _, y = lax.fori_loop(0, count - 1, back, (last, y))
    return _put(y, first, 0), p
