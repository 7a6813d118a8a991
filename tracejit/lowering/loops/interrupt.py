"""Ctrl-C in long native loops: they call out now and then, and Python then handles its signals.

A loop that may run for long looks every 2**n iterations, chosen so that the looks cost nothing that can be
measured and come several times in a tenth of a second. Loops known to be short don't look.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.loops.nodes import Block, For, While, blocks_of
from tracejit.lowering.loops.uses import trips
from tracejit.lowering.plan.context import work_of

_LONG = 100_000_000  # instructions below which a loop ends before anyone can press a key
BETWEEN = 10_000_000  # instructions between two looks


def make_interruptible(block: Block, inside: bool = False) -> bool:
    """Mark the loops in a program's statements that look for signals; whether there are any.

    How long an inner while loop takes nobody knows before. Each is charged for its iterations when it ends,
    and the loops around it look when enough has been charged since the last look.
    """
    found = False
    for s in block.stmts:
        if isinstance(s, For) and s.rare:
            continue
        if isinstance(s, (For, While)) and _has_while(s):
            s.ticks = max(_own_work(s), 1)
            found = True
        elif isinstance(s, While):
            s.poll = _interval(work_of(s.body)) if _may_be_long(s) else 0
            s.charge = work_of(s.body) if inside else 0
            found |= inside or s.poll > 0
        elif isinstance(s, For) and not s.vector and _may_be_long(s):
            s.poll = _interval(work_of(s.body))
            found = True
        for inner in blocks_of(s):
            found |= make_interruptible(inner, inside or isinstance(s, (For, While)))
    return found


def _has_while(s: Any) -> bool:
    return any(isinstance(t, While) or _has_while(t) for b in blocks_of(s) for t in b.stmts)


def _own_work(s: Any) -> int:
    """The work of an iteration without that of the while loops in it."""
    rest = [t for b in blocks_of(s) for t in b.stmts if not isinstance(t, While) and not _has_while(t)]
    return work_of(Block(rest))


def _may_be_long(node: For | While) -> bool:
    most = min(trips(node), node.most) if isinstance(node, For) else node.most
    return most * work_of(node.body) >= _LONG


def _interval(work: int) -> int:
    """The largest power of two of iterations that is not longer than the time between two looks."""
    return 1 << max(BETWEEN // max(work, 1), 1).bit_length() - 1
