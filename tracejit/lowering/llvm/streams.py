"""Results that go past the cache.

A processor reads a line of memory into its cache before it writes there. Where a loop fills a result, and what it
reads and writes is more than the cache holds, that is a third of the traffic for nothing: by the time somebody reads
the result it has been thrown out again. Such stores are marked as non-temporal, and go straight to memory.

LLVM's vectoriser leaves loops alone whose scalar stores are marked, so what is marked is its result (`mark`), as far
as LLVM can tell that a store of a whole vector starts at a multiple of its size, as the instructions demand. For
that, streamed results start at cache lines (those of `runtime.pool` do; `chunks` gives others a block in between),
and threads begin at multiples of UNIT elements. Non-temporal stores are ordered by fences only, which `chunks` adds.
"""

from __future__ import annotations

import functools
import os
import re

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import Buffer, Call, Const, Copy, For, Inst, Program, Store
from tracejit.lowering.loops.parallel import UNIT
from tracejit.lowering.loops.uses import places, trips

LINE = 64  # bytes at whose multiples streamed results start
_MOST_CACHE = 1 << 25  # bytes; larger caches are shared by more processors
_MOST_RESULTS = 8  # more lines are not kept open at once
_LOAD = re.compile(r"^ *(%[\w.]+) = load ptr, .*!align !", re.MULTILINE)
_PLACE = re.compile(r"^ *(%[\w.]+) = getelementptr .*?, ptr (%[\w.]+), ", re.MULTILINE)
_STORE = re.compile(r"^ *store <(\d+) x (\w+)> .*, ptr (%[\w.]+), align (\d+)(?=,|$)", re.MULTILINE)
_FUNCTION = re.compile(r"^define [^\n]*\{\n.*?^\}", re.MULTILINE | re.DOTALL)
_NODE = re.compile(r"^!(\d+) = ", re.MULTILINE)
_BITS = {"double": 64, "float": 32, "half": 16}
_MARK = "!nontemporal"


@functools.cache
def least() -> int:
    """Bytes of a loop's arrays from which its results are streamed: three quarters of the last cache, as in glibc's
    memcpy."""
    try:
        size = os.sysconf("SC_LEVEL3_CACHE_SIZE")
    except (ValueError, OSError):
        size = 0
    return min(size if size > 0 else _MOST_CACHE, _MOST_CACHE) * 3 // 4


def choose(program: Program, results: set[Buffer]) -> None:
    """Mark the loops that fill some of the `results`, arrays of their own, one element after another, and are too
    large for the cache. Only outermost loops that threads may share are such."""
    for node in program.body.stmts:
        if isinstance(node, For) and node.grain and _begins_at_zero(node):
            stmts = walk([node])
            buffers = {x for s in stmts for x in places(s) if isinstance(x, Buffer) and x.kind == "arg"}
            if sum(b.size * b.dtype.itemsize for b in buffers) >= least():
                node.streams = _streams(node, stmts, buffers & results)
                if node.streams:
                    node.grain = max(node.grain, UNIT)


def _begins_at_zero(node: For) -> bool:
    return isinstance(node.start, Const) and node.start.value == 0 and not node.down


def _streams(node: For, stmts: list, results: set[Buffer]) -> list[Buffer]:
    """The results that a loop only fills, and wholly, each by one statement of its own."""
    stores = [s for s in node.body.stmts if isinstance(s, Store) and s.index is node.var]
    read = {s.attr for s in stmts if isinstance(s, Inst)}
    read |= {x for s in stmts if isinstance(s, (Copy, Call)) for x in places(s)}
    written = [s.buffer for s in stmts if isinstance(s, Store)]
    found = [s.buffer for s in stores if written.count(s.buffer) == 1]
    found = [
        b for b in found if b in results and b not in read and b.dtype.kind != "c" and b.size == trips(node)
    ]
    return found if len(found) <= _MOST_RESULTS else []


def is_streamed(text: str) -> bool:
    """Whether a module has results to stream."""
    return "!align !" in text


def mark(text: str) -> str:
    """The module after optimisation with its stores to streamed results marked, where they may be."""
    node = f"!{max(map(int, _NODE.findall(text)), default=-1) + 1}"
    marked = _FUNCTION.sub(lambda m: _mark_function(m[0], node), text)
    return marked if marked == text else f"{marked}\n{node} = !{{i32 1}}\n"


def _mark_function(text: str, node: str) -> str:
    inside = set(_LOAD.findall(text))
    if not inside:
        return text
    single = len(inside) == 1
    places = [(m[1], m[2]) for m in _PLACE.finditer(text)]
    size = 0
    while size != len(inside):
        size = len(inside)
        inside |= {place for place, base in places if base in inside}

    def marked(m: re.Match[str]) -> str:
        count, type_, place, align = int(m[1]), m[2], m[3], int(m[4])
        bits = _BITS.get(type_) or (int(type_[1:]) if type_[1:].isdigit() else 0)
        whole = count * bits == 8 * LINE or (single and count * bits >= 2 * LINE)
        return f"{m[0]}, {_MARK} {node}" if place in inside and whole and count * bits <= 8 * align else m[0]

    return _STORE.sub(marked, text)
