"""Plans for derivatives within a budget of memory: what is kept, and what is computed again.

In come the two halves of a linearized function and a number of bytes, out goes the set of values that are kept. Read
`planner` (the search, which measures real programs), then `graph` (the model of what is alive when), `integer` and
`greedy` (who choose), `again` and `late` (the programs that follow from a choice). What loops keep is chosen first:
`binomial` (schedules), `sweeps` (the derivative of a loop with a schedule), `spilled` (that of one whose number of
steps only a run knows), `blocks` (programs with such loops).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracejit.lazily import parts

if TYPE_CHECKING:
    from tracejit.control.plans import (
        again,
        binomial,
        blocks,
        graph,
        greedy,
        integer,
        late,
        planner,
        spilled,
        sweeps,
        weights,
    )

__all__ = [
    "again",
    "binomial",
    "blocks",
    "graph",
    "greedy",
    "integer",
    "late",
    "planner",
    "spilled",
    "sweeps",
    "weights",
]
__getattr__, __dir__ = parts(__name__, __all__)
