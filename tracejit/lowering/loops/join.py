"""Loops one after another over the same rows become one, decided on the finished loop IR.

Where each row of what lies between them is written and read in the iteration of that row alone, the loops can take
turns: what one has written is still in the cache when the next one reads it, and a block that nothing else uses needs
room for one row only. So do indices and what reads them, block by block, where they are checked first. Whether that is
done does not depend on how many rows there are, if they are not few: programs of other sizes are the same code.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.extents import LEAST
from tracejit.lowering.loops.nodes import (  # fmt: skip
    I64,
    Block,
    Buffer,
    Comment,
    Const,
    For,
    If,
    Inst,
    Program,
    SetSlot,
    Store,
    blocks_of,
)
from tracejit.lowering.loops.uses import places, trips

_ROW = 1 << 14  # bytes of a row that stay in the nearest one
_MOST = 32  # statements that are looked at together
_KNOWN = (Inst, Store, SetSlot, For, If, Comment)  # what can be seen to touch nothing else
_SEEN = ("arena", "arg", "stack")  # kinds of buffers that share memory with no other

Range = tuple[int, int, int]  # the step from row to row, and the least and the largest of the rest


def join_loops(program: Program, homes: dict[Buffer, Block]) -> None:
    """Join loops of a program, which writes no argument, where parts of what they write are taken in turn.
    `homes`: as of `parallel.parallelise`; blocks that shrink to a part are at home in the loop."""
    uses = Counter(b for s in walk(program.body.stmts) for b in places(s))
    stmts = program.body.stmts
    at = 0
    while at < len(stmts):
        loops = _worth_joining(_follow(stmts, at), uses)
        if len(loops) > 1:
            _join(stmts, loops, _Rows(loops), uses, homes)
        else:
            _join_blocks(stmts, at, uses, homes)
        at += 1


def _worth_joining(loops: list[For], uses: Counter[Any]) -> list[For]:
    """The longest part from the first loop on that can be joined, after which something shrinks."""
    worth = 1
    for n in range(2, len(loops) + 1):
        rows = _Rows(loops[:n])
        if not rows.can_be_joined():
            break
        worth = n if rows.shrinking(uses) else worth
    return loops[:worth]


def _follow(stmts: list[Any], at: int) -> list[For]:
    """The loop there and those behind it over the same range, with nothing between them."""
    first = stmts[at]
    found: list[For] = []
    for s in stmts[at : at + _MOST] if type(first) is For else ():
        if type(s) is Comment:
            continue
        alike = type(s) is For and s.independent and not s.down and not s.vector
        if not alike or (s.start, s.stop) != (first.start, first.stop) or not _is_plain(s):
            break
        found.append(s)
    return found


def _is_plain(loop: For) -> bool:
    if type(loop.start) is not Const or type(loop.stop) is not Const or trips(loop) < LEAST:
        return False
    inside = walk(loop.body.stmts)
    return all(type(s) in _KNOWN for s in inside) and all(
        b.kind in _SEEN for s in inside for b in places(s) if isinstance(b, Buffer)
    )


class _Rows:
    """What several loops read and write, by rows."""

    def __init__(self, loops: list[For]) -> None:
        self.loops = loops
        self.touched: dict[Buffer, set[int]] = defaultdict(set)
        self.written: set[Buffer] = set()
        self.ranges: dict[Buffer, set[Range | None]] = defaultdict(set)
        for n, loop in enumerate(loops):
            known = _Ranges(loop)
            for s in walk(loop.body.stmts):
                if (access := _access(s)) is not None:
                    buffer, index = access
                    self.touched[buffer].add(n)
                    self.ranges[buffer].add(known.of(index))
                    if isinstance(s, Store):
                        self.written.add(buffer)

    def step(self, buffer: Buffer) -> int | None:
        """The size of the rows of a buffer that is read and written within the rows of the iterations; else None."""
        if None in self.ranges[buffer]:
            return None
        steps = {r[0] for r in self.ranges[buffer] if r is not None}
        low, high = (f(r[n] for r in self.ranges[buffer] if r) for n, f in ((1, min), (2, max)))
        (step, *others) = steps
        return step if not others and low >= 0 and high < step else None

    def between(self) -> list[Buffer]:
        """What one loop writes and another one touches."""
        return [b for b, ns in self.touched.items() if b in self.written and len(ns) > 1]

    def shrinking(self, uses: Counter[Any]) -> list[Buffer]:
        """Blocks that nothing else uses."""
        inside = Counter(b for loop in self.loops for s in walk([loop]) for b in places(s))
        return [b for b in self.between() if b.kind == "arena" and inside[b] == uses[b]]

    def can_be_joined(self) -> bool:
        """Whether the last loop takes up what the others write, and all of that by short rows."""
        between = self.between()
        steps = [self.step(b) for b in between]
        if None in steps or any(
            s * b.dtype.itemsize > _ROW for s, b in zip(steps, between, strict=True) if s
        ):
            return False
        last = len(self.loops) - 1
        return any(last in self.touched[b] for b in between)


class _Ranges:
    """Index operands of a loop as step * (its variable) + something within bounds."""

    def __init__(self, loop: For) -> None:
        self.made: dict[Any, Any] = {}
        for s in walk([loop]):
            if isinstance(s, For):
                self.made[s.var] = s
            elif isinstance(s, Inst):
                self.made[s.out] = s
        self.loop = loop
        self.known: dict[Any, Range | None] = {}

    def of(self, x: Any) -> Range | None:
        """None where it is of another form."""
        if isinstance(x, Const):
            return 0, x.value, x.value
        if x not in self.known:
            self.known[x] = self._of(self.made.get(x))
        return self.known[x]

    def _of(self, s: Any) -> Range | None:
        if s is self.loop:
            return 1, 0, 0
        if isinstance(s, For):
            start, stop = self.of(s.start), self.of(s.stop)
            return (
                None if start is None or stop is None or start[0] or stop[0] else (0, start[1], stop[2] - 1)
            )
        if s is None or s.op not in ("iadd", "isub", "imul"):
            return None
        a, b = (self.of(y) for y in s.args)
        if a is None or b is None:
            return None
        if s.op == "imul":
            a, b = (b, a) if isinstance(s.args[0], Const) else (a, b)
            return _scaled(a, b[1]) if b[0] == 0 and b[1] == b[2] else None
        b = b if s.op == "iadd" else _scaled(b, -1)
        return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _scaled(a: Range, c: int) -> Range:
    low, high = sorted((a[1] * c, a[2] * c))
    return a[0] * c, low, high


def _join(
    stmts: list[Any], loops: list[For], rows: _Rows, uses: Counter[Any], homes: dict[Buffer, Block]
) -> None:
    """Make the loops one, in the place of the first one, and shrink what only it uses."""
    first, *others = loops
    start, end = stmts.index(first), stmts.index(loops[-1])
    comments = [s for s in stmts[start:end] if type(s) is Comment]
    shrinking = {b: rows.step(b) or 0 for b in rows.shrinking(uses)}
    for loop in others:
        first.body.stmts += [Inst("iadd", loop.var, (first.var, Const(0, I64))), *loop.body.stmts]
    stmts[start : end + 1] = [*comments, first]
    starts = {step: first.var.k.reg(I64) for step in shrinking.values()}
    _shrink(first, {b: (step, starts[step]) for b, step in shrinking.items()}, homes)
    made = [Inst("imul", start, (first.var, Const(step, I64))) for step, start in starts.items()]
    first.body.stmts[:0] = made


def _shrink(loop: For, parts: dict[Buffer, tuple[int, Any]], homes: dict[Buffer, Block]) -> None:
    """Give buffers that only `loop` uses room for what an iteration uses: (size, the index where that starts)."""
    for buffer, (size, _) in parts.items():
        buffer.size = size
        homes[buffer] = loop.body
    _rebase(loop.body, parts)


def _rebase(block: Block, parts: dict[Buffer, tuple[int, Any]]) -> None:
    """Let indices count from the start of the part."""
    found: list[Any] = []
    for s in block.stmts:
        for inner in blocks_of(s):
            _rebase(inner, parts)
        access = _access(s)
        if access is not None and access[0] in parts:
            start = parts[access[0]][1]
            index = start.k.reg(I64)
            found.append(Inst("isub", index, (access[1], start)))
            if isinstance(s, Store):
                s.index = index
            else:
                s.args = (index,)
        found.append(s)
    block.stmts[:] = found


def _access(s: Any) -> tuple[Buffer, Any] | None:
    """The buffer and the index of a load or store."""
    if isinstance(s, Store):
        return s.buffer, s.index
    return (s.attr, s.args[0]) if isinstance(s, Inst) and s.op == "load" else None


# ---------------------------------------------------------------- blocks that are checked


def _join_blocks(stmts: list[Any], at: int, uses: Counter[Any], homes: dict[Buffer, Block]) -> None:
    """Let the flat loop behind a loop over blocks, whose elements are checked, take turns with it, if what is between
    them is used by these two only. What it writes is of no use to anybody if a later block fails."""
    checked, ends = stmts[at], _ends(stmts[at])
    end = next((n for n in range(at + 1, len(stmts)) if type(stmts[n]) is not Comment), at)
    if ends is None or not _is_flat(stmts[end], ends[2]):
        return
    (start, stop, _, size), reader = ends, stmts[end]
    inside = walk([checked, reader])
    touched = [{x[0] for s in walk([loop]) if (x := _access(s))} for loop in (checked, reader)]
    between = touched[0] & touched[1] & {s.buffer for s in inside if isinstance(s, Store)}
    elements = {s.var for s in inside if isinstance(s, For) and (s.start, s.stop) == (start, stop)} | {
        reader.var
    }
    accesses = [x for s in inside if (x := _access(s)) and x[0] in between]
    only = Counter(b for s in inside for b in places(s))
    kinds = {b.kind for s in inside for b in places(s) if isinstance(b, Buffer)}
    alone = all(b.kind == "arena" and only[b] == uses[b] for b in between) and kinds.issubset(_SEEN)
    if not between or not alone or any(i not in elements for _, i in accesses):
        return
    stmts[at : end + 1] = [*stmts[at + 1 : end], checked]
    reader.start, reader.stop, reader.independent = start, stop, False
    checked.body.stmts.append(reader)
    _shrink(checked, dict.fromkeys(between, (size, start)), homes)


def _is_flat(loop: Any, stop: Any) -> bool:
    """Whether this is one loop over that range, of nothing but loads, arithmetic and stores."""
    plain = type(loop) is For and loop.vector and loop.independent and not loop.down
    return plain and (loop.start, loop.stop) == (Const(0, I64), stop) and all(
        type(s) in (Inst, Store) for s in loop.body.stmts
    )  # fmt: skip


def _ends(loop: Any) -> tuple[Any, Any, Any, int] | None:
    """(first, last, stop of all, size) of the block in an iteration of a loop over blocks, see `checks`."""
    if type(loop) is not For or not loop.independent or loop.vector:
        return None
    made: dict[Any, Any] = {s.out: s for s in loop.body.stmts if isinstance(s, Inst)}
    for stop in made.values():
        end = made.get(stop.args[0]) if stop.op == "smin" else None
        start = made.get(end.args[0]) if end is not None and end.op == "iadd" else None
        if (
            end
            and start
            and start.op == "imul"
            and start.args[0] is loop.var
            and start.args[1] == end.args[1]
        ):
            return start.out, stop.out, stop.args[1], end.args[1].value
    return None
