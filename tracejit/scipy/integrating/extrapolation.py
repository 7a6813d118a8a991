"""Limits of sequences by Wynn's epsilon algorithm (1956), as QUADPACK uses it (Piessens et al. 1983, DQELG).

In come sums, one at a time, and out goes what they tend to, by the last diagonal of the table and the one before.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tracejit import lax
from tracejit import numpy as tnp

_EPS = float(np.finfo(float).eps)
#: Columns of the table: an even number. Later ones hold nothing but errors of rounding.
COLUMNS = 20
#: The difference of two columns, times what they tend to, below which the table is not followed any further.
_IRREGULAR = 1e-4
#: So many limits are compared with each other.
_COMPARED = 3


class Table(NamedTuple):
    """The last diagonal, of which `count` columns are there, and the limits that were found last, of `found`; that of
    two sums is not counted."""

    diagonal: Any
    count: Any
    limits: Any
    found: Any


def begun(first: Any) -> Table:
    """The table of one sum."""
    diagonal = tnp.concatenate([tnp.reshape(first, (1,)), tnp.zeros(COLUMNS)])
    return Table(diagonal, np.int64(1), tnp.zeros(_COMPARED), np.int64(-1))


def extended(table: Table, total: Any) -> tuple[Table, Any, Any]:
    """The table with one sum more, the limit, and how far it may be off: infinity until there are enough to compare."""
    old = table.diagonal
    new = [total]
    best, error = total, tnp.abs(lax.stop_gradient(total - old[0]))
    live: Any = np.True_
    for c in range(0, COLUMNS, 2):
        gap = new[c] - old[c]
        moved = tnp.abs(lax.stop_gradient(gap))
        moves = moved > _EPS * tnp.abs(lax.stop_gradient(new[c]))
        # A column that does not move any more is the limit.
        arrived = live & (c < table.count) & ~moves
        best, error = tnp.where(arrived, new[c], best), tnp.where(arrived, moved, error)
        live = live & moves & (c < table.count)
        odd = 1 / tnp.where(live, gap, 1.0) + (old[c - 1] if c else 0.0)
        slope = odd - old[c + 1]
        regular = tnp.abs(lax.stop_gradient(slope * old[c])) > _IRREGULAR
        live = live & (c + 1 < table.count) & regular
        even = old[c] + 1 / tnp.where(live, slope, 1.0)
        off = moved + tnp.abs(lax.stop_gradient(even - new[c]))
        better = live & (off < error)
        best, error = tnp.where(better, even, best), tnp.where(better, off, error)
        new += [odd, even]
    before = lax.stop_gradient(table.limits)
    limit = lax.stop_gradient(best)
    spread = tnp.maximum(tnp.sum(tnp.abs(limit - before)), 5 * _EPS * tnp.abs(limit))
    spread = tnp.where((table.found >= _COMPARED) & tnp.isfinite(limit), spread, np.inf)
    limits = tnp.concatenate([before[1:], tnp.reshape(limit, (1,))])
    count = tnp.minimum(table.count + 1, COLUMNS)
    return Table(tnp.stack(new), count, limits, table.found + 1), best, spread
