"""The steps of a plan in words, for `explain` and `as_text("plan")`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.lowering.cuda.graphs import Graph
from tracejit.lowering.cuda.libs import operations
from tracejit.lowering.cuda.nodes import Control, Host, Kernel, Library

_KINDS = {
    "threads": "a thread for each of {} iterations",
    "lanes": "a thread for each of {} lanes",
    "warps": "a warp for each of {} rows",
    "rows": "a block for each of {} rows",
    "block": "one block",
}


def describe(steps: list[Any], libraries: Sequence[Any], depth: int = 0) -> list[str]:
    """Steps in words, a line each."""
    lines, pad = [], "  " * depth
    for s in steps:
        if isinstance(s, Kernel):
            of_lanes = s.loop is not None and s.loop.lanes
            what = _KINDS["lanes" if of_lanes else "warps" if s.warps else s.kind].format(s.size)
            lines.append(f"{pad}kernel {s.name}: {what}, {s.launched} threads a block")
        elif isinstance(s, Library):
            lines.append(f"{pad}library: {operations.describe(libraries[s.number])}")
        elif isinstance(s, Host):
            lines.append(f"{pad}the host: {s.name}")
        elif isinstance(s, Control):
            what = type(s.node).__name__.lower()
            lines.append(f"{pad}the host's {what}:")
            lines += describe([*s.first, *s.second], libraries, depth + 1)
        elif isinstance(s, Graph):
            lines.append(f"{pad}a graph, where an earlier run had the same addresses, of:")
            lines += describe(s.steps, libraries, depth + 1)
    return lines
