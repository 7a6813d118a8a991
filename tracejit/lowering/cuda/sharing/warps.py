"""Rows that a warp takes rather than a block: threads wait for their warp only, whose lanes run together, and what they
have accumulated is added by one round of shuffles.

That is for many rows that are short. A softmax of 1000 doubles is bound by instructions as much as by memory: with
four warps a row, two rounds of shuffles for each reduction in each of them were a third of what was issued, and all
warps waited for the last one at five barriers. Alone, a warp runs one round, and the other rows of a processor go on
meanwhile. A row's own memory is shared memory here, which bounds the rows that are under way.
"""

from __future__ import annotations

from tracejit.lowering.cuda.facts import Facts
from tracejit.lowering.cuda.nodes import SHARED, WARP, Fragment, Kernel
from tracejit.lowering.cuda.sharing.taking import follows, taking
from tracejit.lowering.cuda.words import RESERVED
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import For

#: Iterations of a row's longest loop up to which a warp takes it, and rows from which on there are enough warps.
SHORT, MANY_ROWS = 2048, 2048
#: Warps of a block at most, and as few as it is worth while for: with less, too little is under way in a processor.
_MOST, _LEAST = 8, 2


def by_warps(kernel: Kernel, inside: list[Fragment], facts: Facts) -> None:
    """Let warps take the rows of a kernel, if they are short and many and have reductions in them."""
    if kernel.kept:
        if kernel.threads == WARP and kernel.size >= MANY_ROWS and not kernel.far:
            warps = min(SHARED // (8 * words_of_warp(kernel) + kernel.own), _MOST)
            kernel.warps = warps if warps >= _LEAST else 0
        return
    longest = max((facts.trips(f.shared) for f in inside if f.shared), default=0)
    if kernel.kind != "rows" or kernel.size < MANY_ROWS or longest > SHORT:
        return
    if not any(f.totals for f in inside) or kernel.far:
        return
    warps = min(SHARED // (8 * words_of_warp(kernel) + kernel.own), _MOST)
    if warps < _LEAST:
        return
    kernel.warps, kernel.threads = warps, WARP
    for f in inside:
        f.taking = taking(f, kernel, facts)


def suits_warps(s: For, facts: Facts) -> bool:
    """Whether warps are better for the iterations of a loop than threads: many rows with sums or extremes in them,
    whose elements follow one another, so that lanes read neighbours where threads would read a row each."""
    if facts.trips(s) < MANY_ROWS:
        return False
    inner = [x for x in walk(s.body.stmts) if isinstance(x, For)]
    if any(facts.totals(x) is None or facts.trips(x) < WARP for x in inner) or not any(
        map(facts.totals, inner)
    ):
        return False
    return all(follows(a, x, facts) for x in inner for a in walk(x.body.stmts))


def words_of_warp(kernel: Kernel) -> int:
    """The words of shared memory that each warp has, an even number so that they begin at a multiple of 16 bytes."""
    words = RESERVED + len(kernel.local)
    return words + words % 2
