"""Loops that write at places which they read, as segments: iterations are sorted by their place, and a thread for each
place does those of its own, in the order of the program.

    for n in range(1000000):              keys = index
        i = index[n]                      order = argsort(keys)                  # the library's; it is stable
        z[i] = z[i] + x[n]        ->      starts = searchsorted(keys[order], range(1001))
                                          for i in range(1000):                  # a thread each
                                              for j in range(starts[i], starts[i + 1]):
                                                  z[i] = z[i] + x[order[j]]

So the order at each place is the CPU's, as where threads read all places (`scatter`), and the work of all threads
together is that of the loop. What iterations read besides is loaded for several of them at a time, since a thread that
waited for each would wait most of its time.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker
from tracejit.lowering.cuda.lanes.owners import Memory
from tracejit.lowering.cuda.lanes.places import Place
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    BOOL,
    I64,
    Block,
    Buffer,
    Call,
    Const,
    External,
    For,
    If,
    Inst,
    Operand,
    Reg,
    SetSlot,
    Slot,
    Store,
    blocks_of,
)
from tracejit.lowering.loops.uses import defined, is_check, operands, places
from tracejit.lowering.lowered import Library, Lowered, View

#: Iterations from which sorting them is worth its launches, and places: with fewer, threads have too long segments.
LEAST, PLACES = 1 << 14, 32
#: Words that may be kept for statements: so many times the elements of their largest array, or so many.
_MORE, SMALL = 4, 1 << 20
_ALIGN = 256
_TOGETHER, _ROOM = (
    8,
    256,
)  # iterations whose loads are made at a time, and statements that these come to at most


def has_room(stmts: list[Any], words: int) -> bool:
    """Whether so many words may be kept for statements: about as many as there is data."""
    sizes = (b.size for s in stmts for b in places(s) if isinstance(b, Buffer) and type(b.size) is int)
    return words <= max(_MORE * max(sizes, default=0), SMALL)


class Segments:
    """Makes the statements for loops of a lowered program, to which calls of libraries are added."""

    def __init__(self, lowered: Lowered, facts: Facts, memory: Memory, maker: Maker) -> None:
        self.program, self.libraries = lowered.program, lowered.libraries
        self.facts, self.memory, self.maker = facts, memory, maker
        self.inputs = self.program.args[: len(lowered.in_avals)]
        self.sorted: dict[
            Any, Buffer
        ] = {}  # keys, and places besides -> their order, and where segments start

    def mark(self) -> Any:
        """What there is by now, for `back`."""
        return len(self.program.buffers), self.program.arena_bytes, len(self.libraries), dict(self.sorted)

    def back(self, mark: Any) -> None:
        """Forget what was made since then: none of its statements are used."""
        buffers, self.program.arena_bytes, libraries, self.sorted = mark
        del self.program.buffers[buffers:], self.libraries[libraries:]

    def suits(self, loop: For, place: Place, finding: list[Any]) -> bool:
        """Whether sorting is worth while. All checks come first then: an exception would leave arrays of the caller's
        without what the iterations before it have written."""
        seen = any(self.memory.overlap(t, b) for t in place.targets for b in self.inputs)
        checks = seen and any(map(is_check, finding))
        plain = all(isinstance(s, Inst) and s.op != "get" for s in finding) and place.key.dtype == I64
        return plain and not checks and self.facts.trips(loop) >= LEAST and place.rows >= PLACES

    def of(self, loop: For, place: Place, parts: tuple[list[Inst], list[Any]], outermost: bool) -> list[Any]:
        """What takes the place of a loop whose iterations find their key, and do the rest. `outermost`: no loop is
        around it, so that what was sorted for another such loop need not be sorted again."""
        finding, rest = parts
        start, stop = self.facts.span(loop) or (0, 0)
        count = stop - start
        found, keys = self._keys(loop, place, finding, count)
        shared = outermost and not found and self._is_fixed(keys)
        order, starts = (self.sorted.get(k) for k in ((keys, count), (keys, count, place.first, place.rows)))
        if order is None or not shared:
            order, starts = self.buffer("order", count), None
            found.append(self._sorted(keys, order, count))
        if starts is None:
            starts = self.buffer("starts", place.rows + 1)
            found.append(self._starts(place, keys, order, starts, count))
        if shared:
            self.sorted |= {(keys, count): order, (keys, count, place.first, place.rows): starts}
        return [*found, self._walk(loop, place, (finding, rest), order, starts)]

    def _is_fixed(self, keys: Buffer) -> bool:
        """Whether one statement at most writes an array, and before all that read it."""
        writers = sum(
            any(
                (isinstance(x, Store) and x.buffer is keys) or (isinstance(x, Call) and keys in places(x))
                for x in walk([s])
            )
            for s in self.program.body.stmts
        )
        aliased = any(
            self.memory.overlap(keys, b) for b in self.facts.written if b is not keys and b.kind == "arg"
        )
        pointed = any(keys in found for found in self.memory.pointees.values())
        return writers <= (keys.kind == "arena") and not aliased and not pointed

    def buffer(self, name: str, size: int) -> Buffer:
        """A new block of integers."""
        program = self.program
        place = -(-program.arena_bytes // _ALIGN) * _ALIGN
        made = Buffer(name, I64, size, "arena", place)
        program.arena_bytes = place + size * I64.itemsize
        program.buffers.append(made)
        return made

    # -- arithmetic

    def into(self, stmts: list[Any], op: str, *args: Any, attr: Any = None, dtype: Any = I64) -> Reg:
        """The register of a new instruction at the end of statements; integers may be given as they are."""
        out = self.maker.reg(dtype)
        stmts.append(Inst(op, out, tuple(Const(a, I64) if type(a) is int else a for a in args), attr))
        return out

    def _turn(self, loop: For, n: Operand, into: list[Any], out: Reg) -> None:
        """The variable of the loop in its turn number `n`."""
        start, stop = self.facts.span(loop) or (0, 0)
        args = (Const(stop - 1, I64), n) if loop.down else (n, Const(start, I64))
        into.append(Inst("isub" if loop.down else "iadd", out, args))

    # -- the parts

    def _keys(self, loop: For, place: Place, finding: list[Inst], count: int) -> tuple[list[Any], Buffer]:
        """What leaves the keys of all iterations in memory, if they do not lie there already, and where they are."""
        only, span = finding[0], self.facts.span(loop)
        is_there = len(finding) == 1 and only.op == "load" and only.args == (loop.var,) and not loop.down
        if is_there and span is not None and not span[0] and only.attr.kind in ("arg", "arena"):
            return [], only.attr
        keys, n = self.buffer("keys", count), self.maker.reg(I64)
        body: list[Any] = []
        var = self.maker.reg(I64)
        self._turn(loop, n, body, var)
        names: dict[Any, Operand] = {loop.var: var}
        body += self.again(finding, names)
        body.append(Store(keys, n, names[place.key]))
        made = For(n, Const(0, I64), Const(count, I64), Block(body), independent=True)
        made.grain = 1
        return [made], keys

    def _sorted(self, keys: Buffer, order: Buffer, count: int) -> Call:
        """The call that gives the order of the keys."""
        view = View((count,), (1,), 0, I64)
        target = External(f"library:argsort:{len(self.libraries)}", "void(ptr,ptr)")
        self.libraries.append(Library("argsort", {"axis": 0}, [view], [view]))
        return Call(target, (keys, order))

    def _starts(self, place: Place, keys: Buffer, order: Buffer, starts: Buffer, count: int) -> For:
        """Finds where the segment of each place starts, by bisection, and where the last one ends."""
        row, bit = self.maker.reg(I64), self.maker.reg(I64)
        before, body, after = list[Any](), list[Any](), list[Any]()
        wanted = self.into(before, "iadd", row, place.first)
        below = Slot("below", I64)
        before.append(SetSlot(below, Const(0, I64)))
        bits = count.bit_length()
        step = self.into(body, "shl", Const(1, I64), self.into(body, "isub", bits - 1, bit))
        was = self.into(body, "get", attr=below)
        further = self.into(body, "iadd", was, step)
        at = self.into(body, "isub", self.into(body, "smin", further, count), 1)
        key = self.into(body, "load", self.into(body, "load", at, attr=order), attr=keys)
        less = self.into(body, "cmp", key, wanted, attr="lt", dtype=BOOL)
        inside = self.into(body, "cmp", further, count, attr="le", dtype=BOOL)
        both = self.into(body, "and", less, inside, dtype=BOOL)
        body.append(SetSlot(below, self.into(body, "select", both, further, was)))
        after.append(Store(starts, row, self.into(after, "get", attr=below)))
        search = For(bit, Const(0, I64), Const(bits, I64), Block(body))
        return _of_lanes(row, place.rows + 1, [*before, search, *after])

    def _walk(self, loop: For, place: Place, parts: Any, order: Buffer, starts: Buffer) -> For:
        """The loop over places, and over the elements of their rows."""
        finding, rest = parts
        columns = self.facts.trips(place.inner) if place.inner is not None else 1
        thread = self.maker.reg(I64)
        head: list[Any] = []
        row = self.into(head, "sdiv", thread, columns)
        if place.inner is not None:
            column = self.into(head, "srem", thread, columns)
            n = rest.index(place.inner)
            head.append(Inst("iadd", place.inner.var, (column, place.inner.start)))
            rest = [*rest[:n], *place.inner.body.stmts, *rest[n + 1 :]]
        head.append(Inst("iadd", place.key, (row, Const(place.first, I64))))
        first = self.into(head, "load", row, attr=starts)
        end = self.into(head, "load", self.into(head, "iadd", row, 1), attr=starts)
        early, late = self._split(place, finding, rest)
        several = _TOGETHER if len(early) + len(late) <= _ROOM // _TOGETHER else 1
        if not all(map(_is_straight, late)):
            several = 1
        number, body = self.maker.reg(I64), list[Any]()
        whole = self.into(head, "iadd", self.into(head, "isub", end, first), several - 1)
        blocks = self.into(head, "ashr", whole, several.bit_length() - 1)
        last = self.into(head, "isub", end, 1)
        base = self.into(body, "iadd", first, self.into(body, "imul", number, several))
        turns = [self.into(body, "iadd", base, n) for n in range(several)]
        renamed: list[dict[Any, Operand]] = [{} for _ in turns]
        for names, turn in zip(renamed, turns, strict=True):
            at = self.into(body, "smin", turn, last) if several > 1 else turn
            names[loop.var] = var = self.maker.reg(I64)
            self._turn(loop, self.into(body, "load", at, attr=order), body, var)
        for s in early:  # statement by statement, so that loads do not wait for each other
            for names in renamed:
                body += self.again([s], names)
        for names, turn in zip(renamed, turns, strict=True):
            done = self.again(late, names)
            if several == 1:
                body += done
            else:
                mine = self.into(body, "cmp", turn, last, attr="le", dtype=BOOL)
                body.append(If(mine, Block(done), Block()))
        steps = For(number, Const(0, I64), blocks, Block(body))
        return _of_lanes(thread, place.rows * columns, [*head, steps])

    @staticmethod
    def _split(place: Place, finding: list[Inst], rest: list[Any]) -> tuple[list[Inst], list[Any]]:
        """The instructions of an iteration that do not depend on what is written, and the other statements. The key is
        known; what else was needed to find it only is left out."""
        needed = {r for s in walk(rest) for r in operands(s)}
        used: list[Inst] = []
        for s in reversed(finding):
            if s.out in needed and s.out is not place.key:
                needed.update(operands(s))
                used.append(s)
        early, late, waiting = used[::-1], list[Any](), set[Any]()
        for s in rest:
            reads_target = isinstance(s, Inst) and s.op == "load" and s.attr in place.targets
            if isinstance(s, Inst) and s.op != "get" and not reads_target and waiting.isdisjoint(operands(s)):
                early.append(s)
            else:
                late.append(s)
                waiting.update(r for x in walk([s]) for r in defined(x))
        return early, late

    def again(self, stmts: list[Any], names: dict[Any, Operand]) -> list[Any]:
        """Statements with registers of their own, whose `names` are added to those that are known."""
        found: list[Any] = []
        for s in stmts:
            if isinstance(s, Inst):
                args = tuple(_named(a, names) for a in s.args)
                names[s.out] = self.maker.reg(s.out.dtype)
                found.append(Inst(s.op, names[s.out], args, s.attr))  # type: ignore[arg-type]
            elif isinstance(s, Store):
                found.append(Store(s.buffer, _named(s.index, names), _named(s.value, names), s.op))
            elif isinstance(s, SetSlot):
                found.append(SetSlot(s.slot, _named(s.value, names)))
            elif isinstance(s, If):
                then, other = (Block(self.again(b.stmts, names)) for b in blocks_of(s))
                found.append(If(_named(s.cond, names), then, other))
            elif isinstance(s, For):
                names[s.var] = self.maker.reg(I64)
                made = For(names[s.var], _named(s.start, names), _named(s.stop, names), Block([]))  # type: ignore[arg-type]
                made.body.stmts[:] = self.again(s.body.stmts, names)
                made.down = s.down
                found.append(made)
        return found


def _named(x: Any, names: dict[Any, Operand]) -> Any:
    return names.get(x, x) if isinstance(x, Reg) else x


def _is_straight(s: Any) -> bool:
    """Whether there are no loops in a statement."""
    return not any(isinstance(x, For) for x in walk([s]))


def _of_lanes(thread: Reg, count: int, stmts: list[Any]) -> For:
    """A loop over threads."""
    made = For(thread, Const(0, I64), Const(count, I64), Block(stmts), independent=True)
    made.grain, made.lanes = 1, True
    return made
