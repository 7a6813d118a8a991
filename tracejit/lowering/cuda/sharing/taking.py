"""How many iterations of a loop a thread takes at a time: adjacent ones, so that it moves 16 bytes by one instruction,
and several such groups, so that more loads are under way.

A loop qualifies if its body is straight code. Adjacent iterations are worth while if most of its accesses are to
adjacent elements, of which the first is known to lie at a multiple of 16 bytes (arrays begin at such). That is seen
here, from the sizes of the program: what an index is a multiple of.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from tracejit.lowering.cuda.facts import Facts
from tracejit.lowering.cuda.nodes import WARP, Fragment, Kernel, Taking
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.llvm.text import mem_type
from tracejit.lowering.loops.nodes import (  # fmt: skip
    Buffer,
    Comment,
    Const,
    For,
    If,
    Inst,
    Operand,
    Reg,
    SetSlot,
    Store,
    blocks_of,
)

#: Bytes of the widest loads and stores.
BYTES = 16
#: Iterations from which a thread of a whole loop takes adjacent ones, and several groups: with fewer, more threads are
#: better.
ADJACENT, GROUPS = 1 << 16, 1 << 20
_MOST, _SUMS, _MOVES = 8, 4, 2  # adjacent iterations at most; groups of sums, and of loops that do little
_OF_WARP = 5, 3, 1  # groups of a warp that takes a row at most: of sums, of other short code, of long code
_ROOM, _LITTLE = 240, 12  # instructions that the copies of a body come to, and that little is
_MUCH = 30  # instructions of a body from which on registers are scarce
_HEAVY = {"math": 40, "fdiv": 12, "sqrt": 12, "sdiv": 20, "srem": 20, "udiv": 20, "urem": 20}
_ANYTHING = 1 << 20  # what zero is a multiple of


def taking(f: Fragment, kernel: Kernel, facts: Facts) -> Taking:
    """How the threads of a kernel take the iterations of the loop that they share in a fragment."""
    node = f.shared
    if node is None or kernel.kind == "block" or not straight(node):
        return Taking()
    work = 1 + sum(_HEAVY.get(s.op, 1) if isinstance(s, Inst) else 1 for s in walk(node.body.stmts))
    trips = facts.trips(node)
    made = Taking()
    whole = kernel.kind == "threads"
    if not whole or trips >= ADJACENT:
        made = _adjacent(node, facts, _ROOM // work)
    if kernel.warps:
        most = _OF_WARP[0] if f.totals and work <= _MUCH else _OF_WARP[1 + (work > _MUCH)]
        at_once = bool(f.totals) and not any(isinstance(s, Store) for s in node.body.stmts)
        room = 2 * _ROOM // (work * made.adjacent)
        made.groups = _fewest(trips // (WARP * made.adjacent), min(most, room), at_once)
    elif f.totals and work <= _MUCH:
        made.groups = max(min(_SUMS, _ROOM // (work * made.adjacent)), 1)
    elif work <= _MUCH and not whole and made.adjacent == 1:
        made.groups = 2 * _MOVES
    elif work <= _LITTLE and (not whole or trips >= GROUPS):
        made.groups = _MOVES
    return made


def taking_at_once(f: Fragment, facts: Facts, most: int = _MOST) -> Taking:
    """The adjacent iterations that a thread takes of a loop of which it takes all at once, `most` of them."""
    assert f.shared is not None
    return _adjacent(f.shared, facts, most)


def _fewest(count: int, most: int, at_once: bool) -> int:
    """How many of `count` groups are to be taken at a time so that the turns are the fewest: those of the loop, and
    those of the groups that are left over, which sums take `at_once`. A warp waits in each of them for memory."""
    return min(range(1, max(most, 1) + 1), key=lambda n: (count // n + (n > 1 if at_once else count % n), n))


def straight(node: For, placed: Collection[Buffer] = ()) -> bool:
    """Whether the iterations of a loop are straight code that touches nothing that each thread has of its own. Small
    buffers that are `placed` are the block's."""
    if node.down or node.private:
        return False
    inside = {s.buffer for s in walk(node.body.stmts) if isinstance(s, Store)}
    if any(b.kind == "stack" and b not in placed for b in inside):
        return False
    return all(isinstance(s, (Inst, Store, SetSlot, Comment)) or _is_guard(s) for s in node.body.stmts)


def _is_guard(s: Any) -> bool:
    """Whether a statement is a branch without anything but instructions and stores."""
    return isinstance(s, If) and all(isinstance(x, (Inst, Store)) for b in blocks_of(s) for x in b.stmts)


def _adjacent(node: For, facts: Facts, most: int) -> Taking:
    """As many adjacent iterations as the narrowest of the accesses to adjacent elements asks for."""
    accesses = [(s, x) for s in node.body.stmts if (x := _index(s)) is not None]
    places = {s: _offset(x, node, facts) for s, x in accesses}
    found = {s: n for s, n in places.items() if n is not None and _is_memory(_buffer(s))}
    sizes = {s: _size(s) for s in places}
    start = multiple_of(node.start, facts)
    wanted = min(BYTES // min((sizes[s] for s in found), default=BYTES), _MOST, start)
    while wanted > most:
        wanted //= 2
    if wanted < 2:
        return Taking()
    aligned = {}
    for s, n in found.items():
        bytes_ = min(sizes[s] * min(n, _MOST), sizes[s] * wanted, BYTES)
        if bytes_ >= min(sizes[s] * wanted, BYTES):
            aligned[s] = bytes_
    wide = sum(sizes[s] for s in aligned)
    return Taking(wanted, 1, aligned) if 2 * wide > sum(sizes.values()) else Taking()


def _index(s: Any) -> Operand | None:
    """The index of an access."""
    if isinstance(s, Store):
        return s.index
    return s.args[0] if isinstance(s, Inst) and s.op == "load" else None


def _buffer(s: Any) -> Buffer:
    return s.buffer if isinstance(s, Store) else s.attr


def _size(s: Any) -> int:
    """Bytes of an element."""
    dtype: np.dtype = s.value.dtype if isinstance(s, Store) else s.out.dtype
    return 1 if mem_type(dtype) == "i8" else dtype.itemsize


def _is_memory(b: Buffer) -> bool:
    """Whether a buffer begins at a multiple of 16 bytes."""
    return b.kind in ("arg", "arena", "private")


def follows(s: Any, node: For, facts: Facts) -> bool:
    """Whether what a statement accesses in memory is the next element in the next iteration of a loop, or the same."""
    x = _index(s)
    return x is None or not _depends(x, node, facts) or _offset(x, node, facts) is not None


def _offset(x: Operand, node: For, facts: Facts) -> int | None:
    """What the index of an access is a multiple of besides the variable of the loop, None if the next iteration's is
    not the next element."""
    if x is node.var:
        return _ANYTHING
    made = facts.made.get(x) if isinstance(x, Reg) else None
    if made is None or made.op != "iadd":
        return None
    a, b = made.args
    for this, other in ((a, b), (b, a)):
        rest = _offset(this, node, facts)
        if rest is not None and not _depends(other, node, facts):
            return min(rest, multiple_of(other, facts))
    return None


def _depends(x: Operand, node: For, facts: Facts) -> bool:
    """Whether a value may differ between iterations of a loop."""
    if x is node.var:
        return True
    return isinstance(x, Reg) and x in facts.inside(node)


def multiple_of(x: Operand, facts: Facts) -> int:
    """A power of two that an integer is a multiple of."""
    number = facts.number(x)
    if number is not None:
        return min(number & -number, _ANYTHING) if number else _ANYTHING
    made = facts.made.get(x) if isinstance(x, Reg) else None
    if made is None:
        return 1
    if made.op in ("iadd", "isub", "smin", "smax"):
        return min(multiple_of(a, facts) for a in made.args)
    if made.op == "imul":
        a, b = (multiple_of(a, facts) for a in made.args)
        return min(a * b, _ANYTHING)
    if made.op == "shl" and isinstance(made.args[1], Const):
        return min(multiple_of(made.args[0], facts) << int(made.args[1].value), _ANYTHING)
    return 1
