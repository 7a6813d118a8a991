"""Parts of plans as graphs: what a part launches is recorded once, and launched as a whole in later runs with the same
addresses.

A recorded launch has its arguments as they were, so that a graph is of one set of addresses. Arrays that come and go
take each other's places in the pool of memory, and a call in a loop meets few sets. In a part the host does nothing but
launch: it calls no library but cuBLAS (CuPy's functions refuse to be recorded), has no step of the host, reads no
condition, and asks for no memory in between. A plan without any of these is one part.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.lowering.cuda.nodes import Control, Kernel, Library, Move
from tracejit.lowering.loops.nodes import For

#: Launches from which a graph is faster than they are, and that one has at most. A product is worth a graph on its own:
#: cuBLAS takes some 13 microseconds of the host's time to choose a kernel and launch it, a graph five.
FEWEST, _MOST = 6, 4096
_SETS = 8  # sets of addresses that are remembered
_PATIENCE = 64  # sets, one after another, of which none was met again before: then there are to be no graphs


def launches(steps: Sequence[Any]) -> float:
    """The launches and products of a run; infinity if it can't be recorded."""
    count: float = 0
    for s in steps:
        if isinstance(s, Kernel):
            count += math.inf if s.far else 1
        elif isinstance(s, Library):
            count += 1 if s.function.records else math.inf
        elif isinstance(s, Control) and isinstance(s.node, For) and s.span is not None:
            turns = max(s.span[1] - s.span[0], 0)
            count += turns * launches(s.first) if turns else 0
        elif not isinstance(s, Move):
            return math.inf
    return count


def with_graphs(steps: Sequence[Any], device: Any) -> list[Any]:
    """Steps, with the parts that are worth a graph in one each, in loops and branches of the host too."""
    found: list[Any] = []
    waiting: list[Any] = []

    def flush() -> None:
        graph = Graph(list(waiting), device)
        found.extend([graph] if graph.wanted else waiting)
        waiting.clear()

    for s in steps:
        if launches([s]) <= _MOST:
            if launches([*waiting, s]) > _MOST:
                flush()
            waiting.append(s)
            continue
        flush()
        if isinstance(s, Control):
            first, second = with_graphs(s.first, device), with_graphs(s.second, device)
            s = dataclasses.replace(s, first=first, second=second)  # the planner's own is as it was
        found.append(s)
    flush()
    return found


def _all(steps: Sequence[Any]) -> list[Any]:
    """Steps, and those inside of loops."""
    return [x for s in steps for x in (s, *(_all(s.first) if isinstance(s, Control) else ()))]


def given(s: Any) -> list[tuple[str, Any]]:
    """What a step is launched with."""
    if isinstance(s, Library):
        return [("buffer", b) for b in s.stmts[0].args]
    return s.params if isinstance(s, Kernel) else []


class Graph:
    """Steps that can be recorded, on a device. `wanted`: whether that is worth while."""

    def __init__(self, steps: list[Any], device: Any) -> None:
        self.steps, self.device = steps, device
        inside = _all(steps)
        mine = {s.node.var for s in inside if isinstance(s, Control)}
        named = dict.fromkeys(p for s in inside for p in given(s))
        #: What kernels and products are launched with, but for the variables of loops inside.
        self.given = [p for p in named if p[0] != "turn" or p[1] not in mine]
        turns = any(
            p[0] == "turn" for p in self.given
        )  # each turn of a loop of the host's would have a graph
        enough = launches(steps) >= FEWEST or any(isinstance(s, Library) for s in inside)
        self.wanted = enough and launches(steps) <= _MOST and not turns
        self._known: dict[tuple[int, ...], Any] = {}
        self._misses = 0

    def of(self, key: tuple[int, ...], act: Callable[[int], Any]) -> tuple[Callable[[int], None], Any] | None:
        """The function of a stream that launches what `act` launches with these addresses, and what `act` gave when it
        was recorded; None: `act` is to be run. What is met for the second time is recorded."""
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
            gave: list[Any] = []
            launch = self.device.recorded(lambda stream: gave.append(act(stream)))
            if launch is None:
                self.wanted = False
                return None
            made = self._known[key] = launch, gave[0]
        return made
