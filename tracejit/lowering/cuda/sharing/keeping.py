"""Rows that threads keep in registers: what a loop over the elements of a row reads or makes and a later loop reads
again does not go through memory.

    m = max(x[r, j] for j)                   a thread has x[r, j] for its j's from the first loop on,
    e[j] = exp(x[r, j] - m); s = sum(e)      and e[j] from the second
    y[r, j] = e[j] / s

Every loop over the elements gives each thread the same ones then, all at once (`Taking.trips`), so that what it keeps
are words of its own at places that are constants, which LLVM makes registers. That is for rows of a few thousand
elements. A block has about as many threads as leave each sixteen elements: a softmax of 10⁵ rows of 1000 doubles takes
386 microseconds on an H200 with 64 threads, as long as a copy, 409 with 128, 550 with 256, and 467 with a warp, whose
threads have 32 elements each. The rows are so many blocks, which the card gives out: blocks that take every n-th row
take 436.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracejit.lowering.cuda.facts import Facts
from tracejit.lowering.cuda.nodes import WARP, Control, Fragment, Kernel, Taking
from tracejit.lowering.cuda.sharing.taking import follows, straight, taking_at_once
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import Buffer, Const, For, Inst, Reg, Store
from tracejit.lowering.loops.uses import is_check

#: Elements of a thread, as about there are and at most; threads of a block, and words that a thread keeps, at most.
_EACH, _THREADS, _WORDS = 16, 256, 32
_PLACES = frozenset(("iadd", "isub", "imul", "shl", "param"))


def keep(kernel: Kernel, facts: Facts) -> bool:
    """Let the threads of a kernel keep what they read or make of a row, if there is such a thing. Whether they do."""
    loops = _loops(kernel, facts)
    if len(loops) < 2:
        return False
    kept, fresh = _kept(loops, kernel, facts)
    words = len(set(kept.values()))
    if not 0 < words <= _WORDS:
        return False
    trips = facts.trips(loops[0].shared)  # type: ignore[arg-type]
    threads = min(max(-(-trips // (min(_EACH, _WORDS // words) * WARP)), 1) * WARP, _THREADS)
    wide = min(taking_at_once(f, facts).adjacent for f in loops)
    wide = wide if trips % wide == 0 else 1
    each = -(-trips // (threads * wide)) * wide
    if words * each > _WORDS:
        return False
    kernel.threads, kernel.kept = threads, words * each
    for f in loops:
        made = taking_at_once(f, facts, wide)
        f.taking = Taking(wide, -(-each // wide), made.aligned if made.adjacent == wide else {}, trips)
        f.kept = {s: kept[s] * each for s in f.shared.body.stmts if s in kept}  # type: ignore[union-attr]
        f.fresh = fresh.intersection(f.kept)
    assert kernel.loop is not None
    rows = {*kernel.places, *(b for b in kernel.loop.private if facts.uses[b])}
    if rows <= {s.buffer for s in kept if isinstance(s, Store)}:
        kernel.scratch = 0
    return True


def _loops(kernel: Kernel, facts: Facts) -> list[Fragment]:
    """The fragments whose loops go over the elements of a row, which are all of the same range, known and straight
    code; none, if there are others."""
    if kernel.kind != "rows" or not isinstance(kernel.items[-1], Control):
        return []
    inside = kernel.items[-1].first
    if not all(isinstance(f, Fragment) for f in inside):
        return []
    found = [f for f in inside if f.shared is not None]
    spans = {facts.span(f.shared) for f in found}
    if len(spans) != 1 or None in spans or any(is_check(s) for f in inside for s in walk(f.stmts)):
        return []
    return found if all(straight(f.shared, kernel.places) for f in found if f.shared) else []


def _kept(loops: list[Fragment], kernel: Kernel, facts: Facts) -> tuple[dict[Any, int], set[Any]]:
    """The loads and stores of what threads keep, and which of these values it is; and the loads that read memory."""
    accesses: dict[Any, list[Any]] = {}
    everywhere: dict[Buffer, int] = {}
    for f in loops:
        node: Any = f.shared
        for s in node.body.stmts:
            for b, index in _access(s):
                accesses.setdefault((b, _place(index, node, facts)), []).append((s, node, f))
                everywhere[b] = everywhere.get(b, 0) + 1
    kept: dict[Any, int] = {}
    fresh: set[Any] = set()
    for (b, _), found in accesses.items():
        first, node, _ = found[0]
        if not follows(first, node, facts) or _index(first) not in facts.inside(node) | {node.var}:
            continue
        is_rows = b.kind == "private" or b in kernel.places
        is_made = is_rows and isinstance(first, Store) and facts.uses[b] == len(found) == everywhere[b]
        is_read = b.kind == "arg" and b not in facts.written and len({id(f) for _, _, f in found}) > 1
        if (is_made or is_read) and not any(isinstance(s, Store) and s.op for s, _, _ in found):
            n = len(set(kept.values()))
            kept.update((s, n) for s, _, _ in found)
            fresh |= {first} if is_read else set()
    return kept, fresh


def _access(s: Any) -> Iterator[tuple[Buffer, Any]]:
    """The buffer and the index of an access."""
    if isinstance(s, Store):
        yield s.buffer, s.index
    elif isinstance(s, Inst) and s.op == "load":
        yield s.attr, s.args[0]


def _index(s: Any) -> Any:
    return s.index if isinstance(s, Store) else s.args[0]


def _place(x: Any, node: For, facts: Facts) -> Any:
    """An index as what it is computed from: equal ones of two loops are the same place in the same iteration."""
    if x is node.var:
        return "turn"
    if isinstance(x, Const):
        return int(x.value)
    made = facts.made.get(x) if isinstance(x, Reg) else None
    if made is None or made.op not in _PLACES:
        return x
    return (made.op, made.attr, *[_place(a, node, facts) for a in made.args])
