"""Which loops are shared among threads, decided on the finished loop IR.

Who writes a loop knows whether its iterations are independent (`For.independent`). Here it is seen what each of
them needs of its own, and whether the work is worth it: the outermost loop that will do is marked with a
`grain`. Whether threads really take part is decided at run time, from the range and `config.num_threads`;
results are the same bits in any case, since the order of operations within an iteration is.

The work is estimated in rough instructions. On one machine a launch costs some microseconds, and a loop that
is bound by memory gains little and loses nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tracejit.lowering.llvm.alias import pointees, walk
from tracejit.lowering.loops.comments import commented
from tracejit.lowering.loops.extents import LEAST
from tracejit.lowering.loops.nodes import (  # fmt: skip
    Alloc,
    Block,
    Buffer,
    Call,
    Const,
    Copy,
    For,
    Grow,
    If,
    Inst,
    Operand,
    Program,
    Reg,
    Rotate,
    SetPointer,
    SetSlot,
    Slot,
    Store,
    While,
    blocks_of,
)
from tracejit.lowering.loops.uses import is_written_out, places
from tracejit.lowering.notes import Notes, type_of

UNIT = 256  # larger grains are multiples of it, and so are the places where a range is cut

_WORTH = 250_000  # instructions from which a loop is shared: about 80 microseconds
_SHARE = 60_000  # instructions that a thread should be given at a time
_LANES = 4  # elements that one instruction of a vectorised loop serves
_FEW = 8  # iterations below which the loops inside are looked at first
_UNKNOWN = 1000  # iterations of a loop over a range that is not known
_TURNS = 30  # iterations of a while loop
_MATH = 10  # instructions of a transcendental function


def parallelise(
    program: Program, homes: dict[Buffer, Block], notes: Notes | None = None, worth: int | None = None
) -> None:
    """Mark the loops that threads share. `homes`: the loop bodies in which a buffer's contents do not outlive an
    iteration; arena buffers of such an iteration become 'private' ones of its loop. `notes`: where it is told. `worth`:
    instructions from which a loop is shared."""
    worth = _WORTH if worth is None else worth
    marker = _Marker(program, homes, worth)
    if marker.block_work(program.body) >= worth:
        marker.block(program.body, False)
    if notes is not None:
        for what, source, loop in commented(program.body, For):
            notes.add(
                f"threads: {marker.verdict(loop)}",
                type_of(what),
                source,
                work=marker.work(loop),
                least=_WORTH,
            )


class _Marker:
    def __init__(self, program: Program, homes: dict[Buffer, Block], worth: int) -> None:
        self.homes, self.worth = homes, worth
        self.pointees = pointees(program)
        self.uses = Counter(x for s in walk(program.body.stmts) for x in places(s))
        self.params = {
            s.out: program.params[s.attr]
            for s in walk(program.body.stmts)
            if isinstance(s, Inst) and s.op == "param"
        }
        self.made = {s.out: s for s in walk(program.body.stmts) if isinstance(s, Inst)}
        self.works: dict[Block, int] = {}
        #: Loops that were looked at -> why they are shared or not.
        self.verdicts: dict[For, str] = {}

    def verdict(self, node: For) -> str:
        """Why a loop is shared among threads, or is not."""
        found = self.verdicts.get(node, "small")
        inside = any(self.verdicts.get(s) == "shared" for s in walk(node.body.stmts) if isinstance(s, For))
        return "inside" if inside and found != "shared" else found

    def block(self, block: Block, inside: bool) -> bool:
        """Mark loops in a block, `inside` of a loop or not; whether there are any."""
        marked = False
        for s in block.stmts:
            if isinstance(s, For):
                marked |= self.loop(s, inside)
            else:
                for b in blocks_of(s):
                    marked |= self.block(b, inside or isinstance(s, While))
        return marked

    def loop(self, node: For, inside: bool) -> bool:
        is_worth_it = self.work(node) >= self.worth
        if not (is_worth_it or (not inside and (self.trips(node) or 0) >= LEAST)):
            return False
        suits = node.independent and (self.trips(node) is not None or not inside)
        trips = self.trips(node) or self.most(node)
        if suits and trips < _FEW and self.block(node.body, True):
            return True
        against = "order" if not suits else "one step" if trips <= 1 else self.share(node)
        if against is None:
            each = max(self.block_work(node.body), 1)
            # A loop that is worth it at another size only is the same code, and never cut at this one.
            wanted = min(max(_SHARE // each, 1), max(trips // 2, 1)) if is_worth_it else 2 * trips
            node.grain = max(1 << wanted.bit_length() - 1, _least_grain(node))
            self.verdicts[node] = "shared" if is_worth_it else "small"
            return True
        self.verdicts[node] = against if is_worth_it else "small"
        return self.block(node.body, True)

    # -- work

    def trips(self, node: For) -> int | None:
        """The iterations of a loop, as far as they are known."""
        start, stop = self.number(node.start), self.number(node.stop)
        return None if start is None or stop is None else max(stop - start, 0)

    def _maker(self, x: Operand) -> Inst | None:
        """The instruction that makes a value, if one does."""
        return self.made.get(x) if isinstance(x, Reg) else None

    def most(self, node: For) -> int:
        """An estimate of the iterations of a loop over a range that is not known: a block of a longer loop,
        `range(b, min(b + 32, n))`, has no more than its block."""
        stop = self._maker(node.stop)
        ends = [self._maker(a) for a in stop.args] if stop is not None and stop.op == "smin" else []
        lengths = [
            self.number(x)
            for e in ends
            if e is not None and e.op == "iadd"
            for x in e.args
            if node.start in e.args
        ]
        return int(min([*(n for n in lengths if n), node.most, _UNKNOWN]))

    def number(self, x: Any) -> int | None:
        return x.value if isinstance(x, Const) else self.params.get(x)

    def block_work(self, block: Block) -> int:
        if block not in self.works:
            self.works[block] = sum(map(self.work, block.stmts))
        return self.works[block]

    def work(self, s: Any) -> int:
        """A rough number of the instructions that a statement executes."""
        if isinstance(s, For):
            trips = self.trips(s)
            total = (self.most(s) if trips is None else trips) * self.block_work(s.body)
            return total // _LANES if s.vector else total
        if isinstance(s, While):
            return _TURNS * (self.block_work(s.head) + self.block_work(s.body))
        if isinstance(s, If):
            return max(self.block_work(s.then), self.block_work(s.orelse))
        if isinstance(s, Copy):
            return (self.number(s.count) or _UNKNOWN) // _LANES
        if isinstance(s, Call):
            return s.work
        return _MATH if isinstance(s, Inst) and s.op == "math" else 1

    # -- what an iteration needs of its own

    def share(self, node: For) -> str | None:
        """Why threads cannot share a loop; None if they can: its private buffers are its own from now on."""
        stmts = walk([node])
        inner = Counter(x for s in stmts for x in places(s))
        whole = {x for x, n in inner.items() if n == self.uses[x]}
        if node.down:
            return "order"
        if any(_needs_caller(s) for s in stmts):
            return "caller"
        bodies = {b for s in stmts for b in blocks_of(s)}
        private = {b for b in whole if isinstance(b, Buffer) and self.is_private(b, bodies, whole, stmts)}
        if not all(self.is_harmless(s, whole, private) for s in stmts):
            return "order"
        if not Taint(node, stmts, private).reaches_all_stores():
            return "one place"
        node.private = [b for b in inner if isinstance(b, Buffer) and b in private]
        for b in node.private:
            b.kind = "private" if b.kind == "arena" else b.kind
        return None

    def is_private(self, b: Buffer, bodies: set[Block], whole: set[Any], stmts: list[Any]) -> bool:
        """Whether each iteration fills a buffer anew, all of whose uses are in the loop."""
        if b.kind == "heap":
            return any(isinstance(s, (Alloc, Grow)) and s.buffer is b for s in stmts)
        if b.kind == "field":
            return b.block is not None and b.block in whole and self.is_private(b.block, bodies, whole, stmts)
        if b.kind == "pointer":
            targets = self.pointees.get(b, set())
            return all(t in whole and self.is_private(t, bodies, whole, stmts) for t in targets)
        return b.kind in ("arena", "stack") and self.homes.get(b) in bodies

    @staticmethod
    def is_harmless(s: Any, whole: set[Any], private: set[Any]) -> bool:
        """Whether a statement does nothing that a later iteration depends on."""
        if isinstance(s, SetSlot):
            return s.slot in whole
        if isinstance(s, (SetPointer, Alloc, Grow)):
            return s.buffer in private
        if isinstance(s, Rotate):
            return private.issuperset(s.pointers)
        return not isinstance(s, Copy) or s.target in private


def _least_grain(node: For) -> int:
    """Sums whose loops LLVM writes out may be rounded otherwise in the iterations that are left over when the
    others have been taken together in vectors. Cut at multiples of UNIT, a range leaves the same ones over."""
    inside = walk(node.body.stmts)
    sums = any(isinstance(s, Inst) and s.attr == "reassoc" for s in inside)
    loops = any(
        isinstance(s, While) or (isinstance(s, For) and s.vector and not is_written_out(s)) for s in inside
    )
    return UNIT if sums and not loops else 1


def _needs_caller(s: Any) -> bool:
    """Whether a statement calls Python, or what has threads of its own."""
    return isinstance(s, Call) and not s.work


class Taint:
    """What depends on the number of the iteration. A store to memory that all iterations see must be at an index
    that does: scratch space that somebody forgot to make private is found here."""

    def __init__(self, node: For, stmts: list[Any], private: set[Any]) -> None:
        self.stmts = stmts
        self.private = private
        self.found: set[Any] = {node.var}
        size = 0
        while size != len(self.found):
            size = len(self.found)
            for s in stmts:
                self.spread(s)

    def spread(self, s: Any) -> None:
        if isinstance(s, Inst):
            memory = isinstance(s.attr, (Buffer, Slot)) and (s.attr in self.private or s.attr in self.found)
            if memory or any(a in self.found for a in s.args):
                self.found.add(s.out)
        elif isinstance(s, Call) and s.out is not None and any(a in self.found for a in s.args):
            self.found.add(s.out)
        elif isinstance(s, SetSlot) and s.value in self.found:
            self.found.add(s.slot)
        elif isinstance(s, For) and (s.start in self.found or s.stop in self.found):
            self.found.add(s.var)

    def reaches_all_stores(self) -> bool:
        return all(b in self.private or i in self.found for s in self.stmts for b, i in _written(s))


def _written(s: Any) -> Iterator[tuple[Buffer, Any]]:
    """The elements that a statement may write."""
    if isinstance(s, Store):
        yield s.buffer, s.index
    elif isinstance(s, Call):
        yield from (a for a in s.args if isinstance(a, tuple))
