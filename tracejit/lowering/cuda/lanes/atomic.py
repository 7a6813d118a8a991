"""Loops that add integers up at places that they read, or take their extremes: the order does not matter to the bits,
so each iteration is a thread's, which changes the element in one step.

    for n in range(100000):                     for n in range(100000):     # a thread each
        i = index[n]                    ->          i = index[n]
        z[i] = z[i] + x[n]                          z[i] += x[n]            # atomic

Sums of floats depend on the order; these are `scatter`'s.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda.facts import Facts
from tracejit.lowering.cuda.lanes.owners import Memory
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import Buffer, Comment, For, If, Inst, Store, blocks_of
from tracejit.lowering.loops.uses import is_check, operands, places

#: Operations of the loop IR whose order does not matter -> those of LLVM's `atomicrmw`.
OPERATIONS = {
    "iadd": "add",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "smin": "min",
    "smax": "max",
    "umin": "umin",
    "umax": "umax",
}
_SIZES = (4, 8)  # bytes of integers that cards change in one step


def atomic(loop: Any, facts: Facts, memory: Memory, least: int, outermost: bool) -> bool:
    """Make the iterations of a loop independent, if there are at least so many; False, and nothing is done: it is no
    such loop. `outermost`: no loop is around it, so that its arrays are no thread's own."""
    if not isinstance(loop, For) or loop.independent or loop.vector or loop.private or loop.down:
        return False
    if facts.span(loop) is None or facts.trips(loop) < least:
        return False
    found = _update(loop.body.stmts)
    if found is None or not _is_alone(loop, found, facts, memory):
        return False
    if found[3].buffer.kind == "stack" and not (
        outermost and _is_used_elsewhere(loop, found[3].buffer, facts)
    ):
        return False
    stmts, load, made, store = found
    store.op = OPERATIONS[made.op]
    a, b = made.args
    store.value = b if a is load.out else a
    stmts[:] = [s for s in stmts if s is not load and s is not made]
    loop.independent, loop.grain = True, 1
    for s in walk(loop.body.stmts):
        if isinstance(s, For):
            s.independent = True
    return True


def _update(stmts: list[Any]) -> tuple[list[Any], Inst, Inst, Store] | None:
    """The statements, at whatever depth, of which the last ones read an element, change it, and store it."""
    plain = [s for s in stmts if not isinstance(s, Comment)]
    if not plain or any(map(is_check, plain)) or not all(isinstance(s, Inst) for s in plain[:-1]):
        return None
    last = plain[-1]
    if isinstance(last, For) and not last.private and not last.down:
        return _update(last.body.stmts)
    if isinstance(last, If) and not last.orelse.stmts:
        return _update(last.then.stmts)
    if (
        not isinstance(last, Store)
        or last.value.dtype.kind not in "iu"
        or last.value.dtype.itemsize not in _SIZES
    ):
        return None
    made = next((s for s in plain[:-1] if s.out is last.value), None)
    if made is None or made.op not in OPERATIONS:
        return None
    load = next(
        (s for s in plain[:-1] if s.op == "load" and s.attr is last.buffer and s.out in made.args), None
    )
    if load is None or load.args[0] is not last.index or made.args.count(load.out) != 1:
        return None
    return stmts, load, made, last


def _is_alone(loop: For, found: tuple[list[Any], Inst, Inst, Store], facts: Facts, memory: Memory) -> bool:
    """Whether nothing else in the loop reads or writes the array, and nothing reads what the element was or becomes."""
    _, load, made, store = found
    target: Buffer = store.buffer
    stmts = walk(loop.body.stmts)
    if target.kind not in ("arg", "arena", "stack") or sum(isinstance(s, Store) for s in stmts) != 1:
        return False
    if not all(isinstance(s, (Inst, Store, If, For, Comment)) for s in stmts):
        return False
    for s in stmts:
        read = list(operands(s))
        if (s is not made and load.out in read) or (s is not store and made.out in read):
            return False
    loads = {s.attr for s in stmts if isinstance(s, Inst) and s.op == "load" and s is not load}
    reached = {t for b in loads for t in ({b} | memory.targets(b))}
    if any(b.kind in ("stack", "pointer") or b is target or memory.overlap(b, target) for b in reached):
        return False
    return not any(blocks_of(s) and isinstance(s, For) and facts.span(s) is None for s in stmts)


def _is_used_elsewhere(loop: For, b: Buffer, facts: Facts) -> bool:
    """Whether a small array is used outside of a loop as well: it is in memory of the block or the device then."""
    return sum(x is b for s in walk(loop.body.stmts) for x in places(s)) < facts.uses[b]
