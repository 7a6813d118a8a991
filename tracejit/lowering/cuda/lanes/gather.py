"""Finds statements one after another that are worth being one loop over lanes."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker, is_loop
from tracejit.lowering.cuda.lanes import scatter
from tracejit.lowering.cuda.lanes.apart import apart
from tracejit.lowering.cuda.lanes.atomic import atomic
from tracejit.lowering.cuda.lanes.checks import checks_first
from tracejit.lowering.cuda.lanes.group import Apart, Group, Parts
from tracejit.lowering.cuda.lanes.interchange import interchange
from tracejit.lowering.cuda.lanes.owners import Memory
from tracejit.lowering.cuda.lanes.segments import Segments
from tracejit.lowering.llvm.alias import pointees, walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    Block,
    Comment,
    For,
    If,
    Inst,
    Rotate,
    SetPointer,
    SetSlot,
    Store,
    While,
    blocks_of,
)
from tracejit.lowering.loops.uses import defined, is_check, operands, places
from tracejit.lowering.lowered import Lowered

#: Lanes from which a group is made.
LEAST = 8
_MOST = 32  # statements of a group, and lengths that are tried
_AHEAD = 3  # loops whose lengths are looked at
_NARROW, _MANY = 16, 8192  # iterations that a lane runs at a time, and lanes from which it may be any number
_TOGETHER = 4  # elements side by side that threads take without being slower than by themselves
_SIMPLE = (Inst, SetSlot, SetPointer, Rotate, Comment, Store)


def gather(lowered: Lowered) -> None:
    """Let loops over lanes take the place of statements of a program, which has no copies. What the device's libraries
    are to do for that is added."""
    _Gatherer(lowered).block(lowered.program.body)


class _Gatherer:
    def __init__(self, lowered: Lowered) -> None:
        program = lowered.program
        self.body = program.body
        self.facts = Facts(program)
        self.maker = Maker(program)
        self.memory = Memory(program, pointees(program))
        self.segments = Segments(lowered, self.facts, self.memory, self.maker)
        self.reads = Counter(r for s in walk(program.body.stmts) for r in operands(s))

    def block(self, block: Block) -> None:
        """Look at the statements of a block, and at those of the loops and branches in it that stay."""
        stmts, found, at = block.stmts, [], 0
        while at < len(stmts):
            s = stmts[at]
            made = self._without_checks(stmts, at, block is self.body)
            if made is not None:
                found += made[0]
                at += made[1]
                continue
            if is_loop(s) and not (isinstance(s, For) and (s.vector or s.independent)):
                for b in blocks_of(s):
                    self.block(b)
            found.append(s)
            at += 1
        block.stmts[:] = found

    def _made(self, stmts: list[Any], at: int, outermost: bool) -> tuple[list[Any], int] | None:
        """What takes the place of the statements from one on, and of how many; None: it stays."""
        window = self._window(stmts, at)
        made = self._longest(window) if window else None
        if made is not None:
            group, before, end = made
            return [*before, *interchange(group, self.maker)], end
        shared = self._shared(stmts[at], outermost)
        return None if shared is None else (shared, 1)

    def _shared(self, s: Any, outermost: bool) -> list[Any] | None:
        """A loop that writes where it reads, as loops of many threads."""
        if atomic(s, self.facts, self.memory, scatter.LEAST, outermost):
            return [s]
        return scatter.scattered(s, self.facts, self.memory, self.maker, self.segments, outermost)

    def _without_checks(self, stmts: list[Any], at: int, outermost: bool) -> tuple[list[Any], int] | None:
        """As `_made`, where a loop may have its checks before it, or be loops for each of its arrays."""
        s, mark = stmts[at], self.segments.mark()
        first = checks_first(s, self.facts, self.memory, self.maker, self.segments)
        made = self._made(stmts, at, outermost) or self._in_parts(s, outermost)
        if made is not None:
            return [*(first.first if first is not None else ()), *made[0]], made[1]
        self.segments.back(mark)
        if first is None:
            return None
        first.undone()
        return self._made(stmts, at, outermost)

    def _in_parts(self, s: Any, outermost: bool) -> tuple[list[Any], int] | None:
        """A loop over several arrays as a loop for each of them."""
        found: list[Any] = []
        for loop in apart(s, self.facts, self.memory, self.maker, self.segments):
            shared = self._shared(loop, outermost)
            if shared is None:
                return None
            found += shared
        return (found, 1) if found else None

    @staticmethod
    def _window(stmts: list[Any], at: int) -> list[Any]:
        """The statements that a group which begins there may have; none if it does not begin there."""
        s, found = stmts[at], []
        for x in stmts[at : at + _MOST]:
            if not isinstance(x, (For, While, If, *_SIMPLE)):
                break
            found.append(x)
        loop = next((x for x in found if is_loop(x)), None)
        if isinstance(s, (SetSlot, SetPointer)):
            begins = loop is not None and any(x in places(s) for i in walk([loop]) for x in places(i))
        else:
            begins = isinstance(s, (For, While))
        return found if begins else []

    def _longest(self, window: list[Any]) -> tuple[Group, list[Any], int] | None:
        """The longest group that a window begins with, what comes before it, and its length in the window."""
        best, most = self._of_parts(window[0]), 0
        if best is not None:
            return best
        for lanes in _lengths(window, self.facts):
            for rows in (True, False):
                made = self._grown(window, lanes, rows)
                if made is not None and (n := len(made[0].over)) > most:
                    best, most = made, n
                if made is None or all(o.each == 1 for o in made[0].over.values()):
                    break
        return best

    def _of_parts(self, s: Any) -> tuple[Group, list[Any], int] | None:
        """A loop whose iterations do not wait for each other around loops of steps over lanes, as a group."""
        trips = self.facts.trips(s) if isinstance(s, For) and s.independent and not s.down else 0
        if trips < 2 or self.facts.span(s) is None:
            return None
        for parts in _parts(s, self.facts):
            try:
                group = Group(self.facts, self.memory, s.body.stmts, parts.size, parts=parts)
            except Apart:
                continue
            if group.steps and _is_worth_it(group):
                return group, [], 1
        return None

    def _grown(self, window: list[Any], lanes: int, rows: bool) -> tuple[Group, list[Any], int] | None:
        best = None
        for n, s in enumerate(window, 1):
            if not is_loop(s):
                continue
            before, stmts = self._split(window[:n])
            try:
                group = Group(self.facts, self.memory, stmts, lanes, rows)
                self._keeps_registers(stmts)
            except Apart as e:
                if e.later:
                    continue
                break
            if _is_worth_it(group):
                best = group, before, n
        return best

    def _split(self, stmts: list[Any]) -> tuple[list[Any], list[Any]]:
        """What can as well be computed before a group of these statements, and the others."""
        stay: set[Any] = {s.slot for s in walk(stmts) if isinstance(s, SetSlot)}
        before, rest = [], []
        for s in stmts:
            if isinstance(s, Inst) and not is_check(s) and not stay.intersection((*operands(s), *places(s))):
                fixed = s.op != "load" or (s.attr.kind == "arg" and s.attr not in self.facts.written)
                if fixed:
                    before.append(s)
                    continue
            stay.update(defined(s))
            rest.append(s)
        return before, rest

    def _keeps_registers(self, stmts: list[Any]) -> None:
        """Raises Apart if a register of these statements is read by others."""
        mine = {r for s in stmts for r in defined(s) if isinstance(s, Inst)}
        if mine:
            inside = Counter(r for s in walk(stmts) for r in operands(s))
            if any(inside[r] < self.reads[r] for r in mine):
                raise Apart(later=True)


def _lengths(window: list[Any], facts: Facts) -> list[int]:
    """The numbers of lanes that the first loops of a window may have, the largest first."""
    found: set[int] = set()
    for first in [s for s in window if is_loop(s)][:_AHEAD]:
        for s in walk([first]):
            if isinstance(s, For) and (s.vector or s.independent):
                trips = facts.trips(s)
                found |= {trips, *(trips * facts.trips(x) for x in s.body.stmts if isinstance(x, For))}
    return sorted((n for n in found if n >= LEAST), reverse=True)[:_MOST]


def _parts(loop: For, facts: Facts) -> list[Parts]:
    """The parts that the iterations of a loop may be: as long as a loop inside, or cut from a range by its number."""
    found = [Parts(loop, n) for n in _lengths(loop.body.stmts, facts)]
    trips = facts.trips(loop)
    for s in walk(loop.body.stmts):
        start, stop = (facts.made.get(x) for x in (s.start, s.stop)) if isinstance(s, For) else (None, None)
        if start is None or stop is None or start.op not in ("imul", "shl") or stop.op != "smin":
            continue
        by = facts.number(start.args[1]) or 0
        size = by if start.op == "imul" else 1 << by
        ends = [n for n in map(facts.number, stop.args) if n is not None]
        found += [Parts(loop, size, n) for n in ends if (trips - 1) * size < n <= trips * size]
    return found[:_AHEAD]


def _is_worth_it(group: Group) -> bool:
    """Whether a group is better than its statements one by one."""
    if group.steps:
        return group.width <= _NARROW or group.lanes >= _MANY
    together = max(o.each for o in group.over.values()) if group.over else 0
    return len(group.over) > 1 and (
        group.width == 1 or (group.width <= _NARROW and group.lanes >= _MANY and together <= _TOGETHER)
    )
