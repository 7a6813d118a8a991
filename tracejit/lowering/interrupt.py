"""Ctrl-C in long native loops: they call out now and then, and Python then handles its signals.

A loop that may run for long looks every 2**n iterations, chosen so that the looks cost nothing that can be
measured and come several times in a tenth of a second. Loops known to be short don't look.
"""

from __future__ import annotations

from tracejit.lowering.context import work_of
from tracejit.lowering.loopir import Block, Const, For, While

_LONG = 100_000_000  # instructions below which a loop ends before anyone can press a key
_BETWEEN = 10_000_000  # instructions between two looks


def make_interruptible(block: Block) -> bool:
    """Mark the loops in a program's statements that look for signals; whether there are any."""
    found = False
    for s in block.stmts:
        if isinstance(s, While) or (isinstance(s, For) and not s.vector and _may_be_long(s)):
            s.poll = _interval(work_of(s.body))
            found = True
        for name in ("head", "body", "then", "orelse"):
            inner = getattr(s, name, None)
            found |= isinstance(inner, Block) and make_interruptible(inner)
    return found


def _may_be_long(node: For) -> bool:
    if isinstance(node.start, Const) and isinstance(node.stop, Const):
        return (node.stop.value - node.start.value) * work_of(node.body) >= _LONG
    return True


def _interval(work: int) -> int:
    """The largest power of two of iterations that is not longer than the time between two looks."""
    return 1 << max(_BETWEEN // max(work, 1), 1).bit_length() - 1
