"""While loops of many lanes, several lanes at a time.

    for i in range(100000):               for b in range(3125):                    # shared among threads
        s = f(a[i])                           for j in range(32): S[j] = f(a[32 * b + j])
        while c(s):                 ->        while any(going):
            s = g(s)                              for j in range(32):              # vectors
        out[i] = s                                    going = c(S[j]); S[j] = g(S[j]) if going else S[j]
                                              for j in range(32): out[32 * b + j] = S[j]

A lane by itself is one chain of operations, of which each waits for the one before, and ends in a jump that the
processor can't foresee. In a vector a lane that is done keeps its state until the last is. What is computed of each
lane stays the same, and steps after its end do no harm: they load the first elements of arrays. Where a check fails,
the lanes of the block are computed again, one after the other, to end the program as it would have ended. This is what
`vmap` makes of a while loop of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    BOOL,
    I64,
    Block,
    Buffer,
    Comment,
    Const,
    For,
    If,
    Inst,
    Operand,
    Program,
    Reg,
    SetSlot,
    Slot,
    Store,
    While,
)
from tracejit.lowering.loops.uses import defined, is_check, operands, places, trips

#: Bytes of a lane's largest number times the lanes of a block: some vectors, whose chains overlap.
BYTES = 256
#: Lanes that are worth it, and the most statements of a step: more would not stay in registers.
LEAST, _MOST = 256, 64
#: What is noted of a block besides 1, that some lane goes on: in some lane a check failed.
_FAILS = 2
_DIVISIONS = frozenset({"sdiv", "srem", "udiv", "urem"})


def run_together(program: Program, homes: dict[Buffer, Block]) -> None:
    """Let lanes of while loops take their steps together, as far as they can. `homes`: see `plan_memory`."""
    uses: dict[Slot, set[int]] = {}
    for n, s in enumerate(program.body.stmts):
        for x in walk([s]):
            for slot in places(x):
                if isinstance(slot, Slot):
                    uses.setdefault(slot, set()).add(n)
    stmts: list[Any] = []
    for s in program.body.stmts:
        together = isinstance(s, For) and _suits(s, uses)
        stmts += _Lanes(s).blocks(program, homes) if together else [s]
    program.body.stmts[:] = stmts


def _suits(node: For, uses: dict[Slot, set[int]]) -> bool:
    """Whether the iterations of a loop are lanes: numbers, a while loop of numbers, stores."""
    loops = [s for s in node.body.stmts if isinstance(s, While)]
    known = isinstance(node.start, Const) and node.start.value == 0 and LEAST <= trips(node) < float("inf")
    if not known or len(loops) != 1 or node.down or not (node.independent or node.vector):
        return False
    (loop,) = loops
    at = node.body.stmts.index(loop)
    before, after = node.body.stmts[:at], node.body.stmts[at + 1 :]
    step = [*loop.head.stmts, *loop.body.stmts]
    if not isinstance(loop.cond, Reg) or len(step) > _MOST:
        return False
    if any(isinstance(s, Store) for s in (*before, *step)):
        return False
    if any(isinstance(s, SetSlot) for s in loop.head.stmts):
        return False
    if any(map(is_check, (*before, *after))) or not all(map(_is_number, (*before, *step, *after))):
        return False
    if any(map(_may_harm, step)):
        return False
    slots = {x for s in walk([node]) for x in places(s) if isinstance(x, Slot)}
    inside = {r for s in step for r in defined(s)}
    return all(len(uses[x]) == 1 for x in slots) and not any(r in inside for s in after for r in operands(s))


def _is_number(s: Any) -> bool:
    return isinstance(s, (Comment, SetSlot, Store, Inst))


def _may_harm(s: Any) -> bool:
    """Whether a lane that is done can't take a step, or it is not worth it: vectors have no division of integers."""
    if not isinstance(s, Inst):
        return False
    if s.op == "load":
        b = s.attr
        return b.kind not in ("arg", "arena", "stack") or not isinstance(b.size, int) or b.size < 1
    if is_check(s):
        return not isinstance(s.args[1], Const) or s.args[1].value < 1
    return s.op in _DIVISIONS


class _Lanes:
    """The loop over lanes `node`, to be written as one over blocks of lanes."""

    def __init__(self, node: For) -> None:
        self.node = node
        at = next(n for n, s in enumerate(node.body.stmts) if isinstance(s, While))
        self.loop: While = node.body.stmts[at]
        self.before, self.after = node.body.stmts[:at], node.body.stmts[at + 1 :]
        self.k = node.var.k
        self.made = 0

    def blocks(self, program: Program, homes: dict[Buffer, Block]) -> list[Any]:
        """The loop over blocks, and the one over the lanes that are left over."""
        self.made = max((r.id for x in walk(program.body.stmts) for r in defined(x)), default=0)
        held = self._held()
        widest = max(x.dtype.itemsize for x in held)
        self.width = BYTES // widest
        self.places = {x: Buffer(f"lane{n}", x.dtype, self.width, "stack") for n, x in enumerate(held)}
        self.flag = np.dtype(f"i{max(widest, 4)}")
        program.buffers += self.places.values()
        number, first = self._reg(I64), self._reg(I64)
        going = Slot(f"going{self.made}", self.flag)
        program.slots.append(going)
        block = Block(
            [
                Inst("imul", first, (number, Const(self.width, I64)), "nsw"),
                self._each(first, self._start),
                SetSlot(going, Const(1, self.flag)),
                self._together(going),
            ]
        )
        end = self._each(first, self._end)
        if any(map(is_check, (*self.loop.head.stmts, *self.loop.body.stmts))):
            block.stmts += self._or_again(going, end, first, program)
        else:
            block.stmts.append(end)
        homes.update(dict.fromkeys(self.places.values(), block))
        n = int(trips(self.node))
        count = n // self.width
        out: list[Any] = [For(number, Const(0, I64), Const(count, I64), block, independent=True)]
        if count * self.width < n:
            self.node.start = Const(count * self.width, I64)
            out.append(self.node)
        return out

    def _held(self) -> list[Any]:
        """The slots and registers that hold numbers of a lane from one part to another."""
        later = [*self.loop.head.stmts, *self.loop.body.stmts, *self.after]
        slots = {x for s in later for x in places(s) if isinstance(x, Slot)}
        slots |= {x for s in self.loop.body.stmts for x in places(s) if isinstance(x, Slot)}
        made = {r for s in self.before for r in defined(s)}
        read = {r for s in later for r in operands(s)}
        return sorted(slots, key=lambda s: s.name) + sorted(made & read, key=lambda r: r.id)

    def _reg(self, dtype: np.dtype) -> Reg:
        self.made += 1
        return Reg(self.made, dtype, self.k)

    def _each(self, first: Operand | None, part: Any) -> For:
        """A loop over the lanes of a block."""
        j, stmts = self._reg(I64), []
        known: dict[Any, Any] = {}
        if first is not None:
            known[self.node.var] = i = self._reg(I64)
            stmts.append(Inst("iadd", i, (first, j), "nsw"))
        part(_Lane(self, j, known, stmts))
        return For(j, Const(0, I64), Const(self.width, I64), Block(stmts), vector=True)

    def _start(self, lane: _Lane) -> None:
        lane.write(self.before)
        for x in self.places:
            if x in lane.known:  # else it is given its value in the loop
                lane.keep(x, lane.known[x])

    def _end(self, lane: _Lane) -> None:
        lane.write(self.after)

    def _together(self, going: Slot) -> While:
        """A step of all lanes, until none of them goes on."""

        def step(lane: _Lane) -> None:
            lane.write(self.loop.head.stmts)
            goes_on = lane.value(self.loop.cond)
            held = {x: lane.value(x) for x in self.places if isinstance(x, Slot) and self._changes(x)}
            lane.goes_on = goes_on
            lane.write(self.loop.body.stmts)
            for x, old in held.items():
                new = lane.inst("select", x.dtype, (goes_on, lane.known[x], old))
                lane.keep(x, new)
            flag = lane.inst("cast", self.flag, (goes_on,))
            for fails in lane.failures:
                flags = Const(_FAILS, self.flag), Const(0, self.flag)
                flag = lane.inst("or", self.flag, (flag, lane.inst("select", self.flag, (fails, *flags))))
            others = lane.inst("get", self.flag, (), going)
            lane.stmts.append(SetSlot(going, lane.inst("or", self.flag, (others, flag))))

        last, some = self._reg(self.flag), self._reg(BOOL)
        head = [Inst("get", last, (), going), Inst("cmp", some, (last, Const(1, self.flag)), "eq")]
        return While(Block(head), some, Block([SetSlot(going, Const(0, self.flag)), self._each(None, step)]))

    def _or_again(self, going: Slot, end: For, first: Reg, program: Program) -> list[Any]:
        """The end of a block of lanes, or all of its lanes one by one where a check has failed."""
        last, fails, stop, var = self._reg(self.flag), self._reg(BOOL), self._reg(I64), self._reg(I64)
        again = _Copy(self, program)
        again.known[self.node.var] = var
        lane = For(var, first, stop, Block(again.stmts(self.node.body.stmts)))
        return [
            Inst("get", last, (), going),
            Inst("cmp", fails, (last, Const(_FAILS, self.flag)), "ge"),
            Inst("iadd", stop, (first, Const(self.width, I64)), "nsw"),
            If(fails, Block([lane]), Block([end])),
        ]

    def _changes(self, x: Slot) -> bool:
        return any(isinstance(s, SetSlot) and s.slot is x for s in self.loop.body.stmts)


class _Lane:
    """Writes statements for lane `j` of a block. `known`: what registers and slots of the loop are there."""

    def __init__(self, lanes: _Lanes, j: Reg, known: dict[Any, Any], stmts: list[Any]) -> None:
        self.lanes, self.j, self.known, self.stmts = lanes, j, known, stmts
        self.goes_on: Any = None  # whether the lane takes the step that is written, if it may be done already
        self.failures: list[Any] = []

    def inst(self, op: str, dtype: np.dtype, args: tuple[Operand, ...], attr: Any = None) -> Reg:
        out = self.lanes._reg(dtype)
        self.stmts.append(Inst(op, out, args, attr))
        return out

    def value(self, x: Any) -> Any:
        """What a register or slot is in this lane: what is kept of it, or of all lanes."""
        if x not in self.known and x in self.lanes.places:
            self.known[x] = self.inst("load", x.dtype, (self.j,), self.lanes.places[x])
        return self.known.get(x, x)

    def keep(self, x: Any, value: Any) -> None:
        self.stmts.append(Store(self.lanes.places[x], self.j, value))

    def write(self, stmts: Iterable[Any]) -> None:
        for s in stmts:
            if isinstance(s, SetSlot):
                self.known[s.slot] = self.value(s.value)
            elif isinstance(s, Store):
                self.stmts.append(Store(s.buffer, self.value(s.index), self.value(s.value), s.op))
            elif isinstance(s, Inst) and s.op == "get":
                self.known[s.out] = self.value(s.attr)
            elif is_check(s):
                self.known[s.out] = self.inside(self.value(s.args[0]), self.value(s.args[1]), s.attr.wraps)
            elif isinstance(s, Inst):
                args = tuple(map(self.value, s.args))
                if s.op == "load" and self.goes_on is not None:
                    args = (self.inst("select", I64, (self.goes_on, args[0], Const(0, I64))),)
                self.known[s.out] = self.inst(s.op, s.out.dtype, args, s.attr)

    def inside(self, i: Any, size: Any, wraps: bool) -> Reg:
        """An index that is noted as a failure where it is outside, and 0 there."""
        zero = Const(0, I64)
        if wraps:
            below = self.inst("cmp", BOOL, (i, zero), "lt")
            i = self.inst("select", I64, (below, self.inst("iadd", I64, (i, size)), i))
        ends = self.inst("cmp", BOOL, (i, zero), "lt"), self.inst("cmp", BOOL, (i, size), "ge")
        outside = self.inst("or", BOOL, ends)
        fails = outside if self.goes_on is None else self.inst("and", BOOL, (self.goes_on, outside))
        self.failures.append(fails)
        return self.inst("select", I64, (outside, zero, i))


class _Copy:
    """The same statements with registers and slots of their own."""

    def __init__(self, lanes: _Lanes, program: Program) -> None:
        self.lanes, self.program = lanes, program
        self.known: dict[Any, Any] = {}

    def of(self, x: Any) -> Any:
        return self.known.get(x, x)

    def slot(self, x: Slot) -> Slot:
        if x not in self.known:
            self.known[x] = Slot(f"{x.name}again", x.dtype)
            self.program.slots.append(self.known[x])
        return self.known[x]

    def stmts(self, stmts: Iterable[Any]) -> list[Any]:
        return [self.one(s) for s in stmts]

    def one(self, s: Any) -> Any:
        if isinstance(s, SetSlot):
            return SetSlot(self.slot(s.slot), self.of(s.value))
        if isinstance(s, Store):
            return Store(s.buffer, self.of(s.index), self.of(s.value), s.op)
        if isinstance(s, While):
            head = Block(self.stmts(s.head.stmts))
            return While(head, self.of(s.cond), Block(self.stmts(s.body.stmts)))
        if isinstance(s, Inst):
            self.known[s.out] = out = self.lanes._reg(s.out.dtype)
            attr = self.slot(s.attr) if isinstance(s.attr, Slot) else s.attr
            return Inst(s.op, out, tuple(map(self.of, s.args)), attr)
        return s
