"""Plans as graphs: what a run launches is recorded once, and launched as a whole in later runs with the same addresses.

A recorded launch has its arguments as they were, so that a graph is of one set of addresses. Arrays that come and go
take each other's places in the pool of memory, and a call in a loop meets few sets. A plan can be recorded if the host
does nothing but launch: it calls no library, has no step of the host, reads no condition, and asks for no memory in
between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.lowering.cuda.nodes import Control, Kernel, Move
from tracejit.lowering.loops.nodes import For

#: Launches from which a graph is faster than they are, and that one has at most.
FEWEST, _MOST = 6, 4096
_SETS = 8  # sets of addresses that are remembered
_PATIENCE = 64  # sets, one after another, of which none was met again before: then there are to be no graphs


def launches(steps: Sequence[Any]) -> float:
    """The launches of a run; infinity if it can't be recorded."""
    count: float = 0
    for s in steps:
        if isinstance(s, Kernel):
            count += math.inf if s.far else 1
        elif isinstance(s, Control) and isinstance(s.node, For) and s.span is not None:
            turns = max(s.span[1] - s.span[0], 0)
            count += turns * launches(s.first) if turns else 0
        elif not isinstance(s, Move):
            return math.inf
    return count


class Graphs:
    """The graphs of a plan on a device. `wanted`: whether there may be any."""

    def __init__(self, steps: Sequence[Any], device: Any) -> None:
        self.device = device
        self.wanted = FEWEST <= launches(steps) <= _MOST
        self._known: dict[tuple[int, ...], Callable[[int], None] | None] = {}
        self._misses = 0

    def of(self, key: tuple[int, ...], act: Callable[[int], None]) -> Callable[[int], None] | None:
        """The function of a stream that launches what `act` launches with these addresses; None: `act` is to be run.
        What is met for the second time is recorded."""
        if key not in self._known:
            self._misses += 1
            if self._misses > _PATIENCE:
                self.wanted = False
                self._known.clear()
                return None
            if len(self._known) >= _SETS:
                self._known.pop(next(iter(self._known)), None)
            self._known[key] = None
            return None
        self._misses = 0
        made = self._known[key]
        if made is None:
            made = self.device.recorded(act)
            if made is None:
                self.wanted = False
                return None
            self._known[key] = made
        return made
