"""Whether statements one after another can be one loop over lanes, and which of their loops run over the lanes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tracejit.lowering.cuda.facts import Facts, is_set_first
from tracejit.lowering.cuda.lanes.owners import Access, Memory, is_owned
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.forms import INNER, LANE, ONE, OUTER, Form, Forms
from tracejit.lowering.loops.nodes import (  # fmt: skip
    I64,
    Block,
    Buffer,
    Comment,
    For,
    If,
    Inst,
    Reg,
    Rotate,
    SetPointer,
    SetSlot,
    Slot,
    Store,
    While,
    blocks_of,
)
from tracejit.lowering.loops.ranges import ANY, Range, range_of_inst, range_of_number
from tracejit.lowering.loops.uses import is_check, places
from tracejit.records import record

_MOST_BUFFERS = 64
_KINDS = ("arg", "arena", "stack", "pointer")
#: Bytes of a thread's own memory that lie on its stack.
SMALL = 1024


class Apart(Exception):
    """The statements can't be one loop over lanes. `later`: with more statements they might be."""

    def __init__(self, later: bool = False) -> None:
        self.later = later


@record(eq=False)
class Over:
    """How a loop runs over the lanes: each lane takes `each` iterations, one after another (`rows`) or as far from each
    other as there are lanes; or it is two loops, and lanes are pairs of their variables (`inner`); or it is the part of
    the lanes that belongs to an iteration of `Parts` (`part`)."""

    each: int = 1
    rows: bool = True
    inner: For | None = None
    part: bool = False


@record(eq=False)
class Parts:
    """A loop whose iterations do not wait for each other, around loops of steps over `size` lanes each: their lanes are
    those of one loop. `most`: all lanes, where the last iteration has fewer."""

    loop: For
    size: int
    most: int | None = None

    def lanes(self, trips: int) -> int:
        """All lanes."""
        return self.size * trips if self.most is None else self.most


class Group:
    """Statements as a loop over `lanes`, or those of the body of the loop of `parts`. Raises Apart. `rows` as in
    `Over`."""

    def __init__(
        self,
        facts: Facts,
        memory: Memory,
        stmts: list[Any],
        lanes: int,
        rows: bool = True,
        parts: Parts | None = None,
    ) -> None:
        self.facts, self.stmts, self.rows, self.parts = facts, stmts, rows, parts
        self.lanes = lanes if parts is None else parts.lanes(facts.trips(parts.loop))
        self.side = lanes  # lanes that loops inside run over
        self.inside = walk(stmts if parts is None else [parts.loop])
        self.uses = Counter(x for s in self.inside for x in places(s))
        made = {s.out: s for s in self.inside if isinstance(s, Inst)}
        self.forms = Forms(made, facts.number)
        self.over: dict[For, Over] = {}
        self.ranges: dict[Any, tuple[int, int]] = {}
        self.accesses: list[Access] = []
        self.slots: list[Slot] = []  # that are set outside of loops over lanes
        self.private: list[Buffer] = []
        self.kept: dict[
            Buffer, list[Access]
        ] = {}  # buffers of which each lane has one element, all to itself
        self.scratch = 0
        self.steps = False  # whether there are loops of steps around loops over lanes
        self.width = 1  # iterations of inner loops that a lane runs at a time
        self.checked: set[For] = set()  # loops over lanes with checks
        if parts is not None:
            self._begin_parts(parts)
        self._level(stmts)
        if parts is not None and (self.checked or not all(map(self._is_of_part, self.slots))):
            raise Apart
        if len(self.checked) > 1 or any(c not in stmts or self.over[c].each > 1 for c in self.checked):
            raise Apart  # the first check to fail would be another one
        self._bound()
        self.classes = self._classes(memory)

    def is_whole(self, x: Any) -> bool:
        """Whether a slot or buffer is named nowhere else."""
        return self.uses[x] == self.facts.uses[x]

    # -- parts

    def _begin_parts(self, parts: Parts) -> None:
        """Take the variable of the loop of parts for known."""
        start = self.facts.number(parts.loop.start) or 0
        if parts.most is None:
            self.forms.inner = self.side
            self.forms.known[parts.loop.var] = {OUTER: 1} | ({ONE: start} if start else {})
        else:
            self._range(parts.loop)

    def _is_of_part(self, slot: Slot) -> bool:
        return self.is_whole(slot) and is_set_first(slot, Block(self.stmts))

    def _is_part(self, s: For) -> bool:
        """Whether a loop runs over `range(b * size, min(b * size + size, most))`, where b is the number of the part."""
        parts, size = self.parts, self.side
        stop = self.forms.made.get(s.stop) if isinstance(s.stop, Reg) else None
        if parts is None or parts.most is None or stop is None or stop.op != "smin":
            return False
        ends = [a for a in stop.args if self.facts.number(a) != parts.most]
        first = {parts.loop.var: size}
        return (
            len(ends) == 1
            and self.forms.of(s.start) == first
            and self.forms.of(ends[0]) == first | {ONE: size}
        )

    # -- statements

    def _level(self, stmts: list[Any]) -> None:
        """Statements outside of loops over lanes, which are the same for all lanes."""
        for s in stmts:
            if isinstance(s, For):
                self._loop(s)
            elif isinstance(s, (While, If)):
                before = len(self.over)
                for b in blocks_of(s):
                    self._level(b.stmts)
                self.steps |= isinstance(s, While) and len(self.over) > before
            elif isinstance(s, SetSlot):
                self.slots += [s.slot] * (s.slot not in self.slots)
            elif isinstance(s, (SetPointer, Rotate)):
                moved = (s.buffer,) if isinstance(s, SetPointer) else s.pointers
                if not all(map(self.is_whole, moved)):
                    raise Apart(later=True)
            elif isinstance(s, (Inst, Store)):
                self._access(s, None)
            elif not isinstance(s, Comment):
                raise Apart

    def _loop(self, s: For) -> None:
        over = self._runs_over(s)
        if over is not None:
            self.over[s] = over
            self._lanes(s, over)
            return
        if s.private:
            raise Apart
        before, steps = len(self.over), self.steps
        self._range(s)
        self._level(s.body.stmts)
        # Iterations that do not wait for each other are no steps: more threads can share them.
        self.steps |= len(self.over) > before and not s.independent
        if s.independent and self.steps and not steps:
            raise Apart

    def _runs_over(self, s: For) -> Over | None:
        """How a loop runs over the lanes; None: it does not."""
        if s.down or not (s.vector or s.independent):
            return None
        if self._is_part(s):
            return Over(part=True)
        if not self._is_known(s) or (self.parts is not None and self.parts.most is not None):
            return None
        trips = self.facts.trips(s)
        inner = [x for x in s.body.stmts if isinstance(x, For)]
        if (
            trips
            and trips < self.side
            and self.parts is None
            and len(inner) == 1
            and isinstance(s.body.stmts[-1], For)
        ):
            pair = inner[0]
            plain = all(isinstance(x, (Inst, Comment)) and not is_check(x) for x in s.body.stmts[:-1])
            suits = not pair.down and (pair.vector or pair.independent) and self._is_known(pair)
            if plain and suits and trips * self.facts.trips(pair) == self.side:
                return Over(inner=pair)
        if not trips or trips % self.side:
            return None
        return Over(trips // self.side, self.rows)

    def _is_known(self, s: For) -> bool:
        return self.facts.number(s.start) is not None and self.facts.number(s.stop) is not None

    def _range(self, s: For) -> None:
        """Note the values of a loop's variable."""
        start, stop = self.facts.number(s.start), self.facts.number(s.stop)
        if start is not None and stop is not None:
            self.ranges[s.var] = (start, max(stop - 1, start))

    def _lanes(self, s: For, over: Over) -> None:
        """A loop over the lanes."""
        lane = LANE if self.parts is None or over.part else INNER
        parts: list[tuple[For, Form]] = [(s, {lane: 1})]
        if over.inner is not None:
            length = self.facts.trips(over.inner)
            if self.forms.inner not in (1, length):
                raise Apart
            self.forms.inner = length
            parts = [(s, {OUTER: 1}), (over.inner, {INNER: 1})]
        elif over.each > 1:
            turn = ("turn", s)
            self.ranges[turn] = (0, over.each - 1)
            form = {lane: over.each, turn: 1} if over.rows else {lane: 1, turn: self.side}
            parts = [(s, form)]
        for loop, form in parts:
            start = 0 if over.part else self.facts.number(loop.start) or 0
            self.forms.known[loop.var] = form | ({ONE: start} if start else {})
        skipped = {x for x, _ in parts}
        width = over.each
        for x in walk([s]):
            if isinstance(x, For):
                self.private += [b for b in x.private if b not in self.private]
                self.scratch = max(self.scratch, x.scratch)
                if x not in skipped:
                    self._range(x)
                    width *= self.facts.trips(x) if x.vector or x.independent else 1
            elif isinstance(x, (Inst, Store)):
                self._access(x, s)
            elif not isinstance(x, (While, If, Comment, SetSlot)):
                raise Apart
        self.width = max(self.width, width)
        for slot in dict.fromkeys(x.slot for x in walk([s]) if isinstance(x, SetSlot)):
            self._check_slot(slot, s)

    def _check_slot(self, slot: Slot, s: For) -> None:
        """A slot that is set in a loop over lanes must be of one iteration."""
        inner = sum(x is slot for i in walk([s]) for x in places(i))
        if inner != self.facts.uses[slot] or not is_set_first(slot, s.body):
            raise Apart

    def _access(self, s: Inst | Store, loop: For | None) -> None:
        """Note a load or store."""
        if isinstance(s, Store):
            self.accesses.append(Access(s, s.buffer, s.index, True, loop))
        elif s.op == "load":
            self.accesses.append(Access(s, s.attr, s.args[0], False, loop))
        elif is_check(s) and loop is not None:
            self.checked.add(loop)

    # -- memory

    def _bound(self) -> None:
        """Note what integers can be that instructions make, as far as that is known: places that are held within an
        array."""
        known: dict[Any, Range] = dict(self.ranges)
        for s in self.inside:
            if isinstance(s, Inst) and s.out.dtype == I64:
                args = tuple(known.get(a) or self._number(a) for a in s.args)
                known[s.out] = low, high = range_of_inst(s.op, s.args, args)
                if ANY[0] < low and high < ANY[1]:
                    self.ranges.setdefault(s.out, (low, high))

    def _number(self, x: Any) -> Range:
        known = self.facts.number(x)
        return range_of_number(x) if known is None else (known, known)

    def _classes(self, memory: Memory) -> list[tuple[set[Buffer], list[Access]]]:
        """The classes of buffers with their accesses, which are independent."""
        for a in self.accesses:
            a.form = self.forms.index(a.index)
        of: dict[Buffer, list[Access]] = {}
        for a in self.accesses:
            of.setdefault(a.buffer, []).append(a)
        self._keep_parts(of)
        shared = [b for b, found in of.items() if not self._is_own(b, found)]
        written = {t for a in self.accesses if a.writes for t in memory.targets(a.buffer)}
        if len(of) > _MOST_BUFFERS or self.scratch > SMALL or any(b.kind not in _KINDS for b in shared):
            raise Apart
        classes = memory.classes(shared, written)
        if classes is None:
            raise Apart
        found = [(c, [a for b in c for a in of.get(b, ())]) for c in classes]
        if not all(is_owned(accesses, self.lanes, self.ranges) for _, accesses in found):
            raise Apart
        return found

    def _keep_parts(self, of: dict[Buffer, list[Access]]) -> None:
        """What each part has of its own is one element for each lane, whose accesses are all alike."""
        for b in self.parts.loop.private if self.parts is not None else ():
            forms = [self.forms.of(a.index) for a in of.get(b, ())]
            if any(f != forms[0] or not {LANE, INNER} & set(f) for f in forms):
                raise Apart
            self.kept[b] = of.get(b, [])

    def _is_own(self, b: Buffer, accesses: list[Access]) -> bool:
        """Whether each lane can have a buffer of its own: it is named here only, and what is written in a loop over
        lanes is read in that loop only."""
        if b in self.private or b in self.kept:
            return True
        if b.kind != "stack" or not self.is_whole(b):
            return False
        loops = {a.loop for a in accesses}
        return len(loops) == 1 or not any(a.writes and a.loop is not None for a in accesses)
