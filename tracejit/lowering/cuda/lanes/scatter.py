"""Loops that write at places which they read, several times at one place perhaps: each thread does what belongs to it.

    for n in range(100000):                     for t in range(1024):        # a thread each
        i = index[n]                                for n in range(100000):
        z[i] = z[i] + x[n]              ->              i = index[n]
                                                        if i & 1023 == t:
                                                            z[i] = z[i] + x[n]

All threads read all indices, in the order of the program, and each does the iterations whose place is its own. So the
order at each place is the CPU's, whatever the operation is, and two threads never touch the same element. Where an
iteration is a loop over the elements of a row, there is a thread for each of them as well.
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker, is_set_first
from tracejit.lowering.cuda.lanes.owners import Memory
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.forms import ONE, Form, Forms, bounds
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
    Reg,
    SetSlot,
    Store,
)
from tracejit.lowering.loops.uses import defined, is_check, operands, places
from tracejit.records import record

#: Iterations from which threads share such a loop, threads that do at most, and elements of a row that are threads'.
LEAST, _MOST, _ROW = 1024, 1 << 14, 1 << 10
_AHEAD = 8  # keys that are found at a time


@record(eq=False)
class _Place:
    """Where an iteration writes: at elements of the row `key` of `target`, which has `rows` of them. `inner`: the loop
    over the elements of a row, one each."""

    target: Buffer
    key: Reg
    rows: int
    inner: For | None = None


def scattered(loop: Any, facts: Facts, memory: Memory, maker: Maker) -> For | None:
    """The loop over threads that a loop becomes, None if it is no such loop."""
    if not isinstance(loop, For) or loop.independent or loop.vector or loop.private:
        return None
    if facts.span(loop) is None or facts.trips(loop) < LEAST or not _is_plain(loop, facts):
        return None
    place = _place(loop, facts, memory)
    if place is None:
        return None
    finding, rest = _split(loop, place.key)
    if any(
        map(is_check, walk(rest))
    ):  # all threads find all keys, so that the first one outside is the same for all
        return None
    return _shared(loop, place, (finding, rest), facts, maker)


def _is_plain(loop: For, facts: Facts) -> bool:
    """Whether an iteration hands nothing on but by memory."""
    stmts = walk(loop.body.stmts)
    if not all(isinstance(s, (Inst, Store, SetSlot, If, For, Comment)) for s in stmts):
        return False
    slots = {s.slot for s in stmts if isinstance(s, SetSlot)}
    for slot in slots:
        inner = sum(x is slot for s in stmts for x in places(s))
        if inner != facts.uses[slot] or not is_set_first(slot, loop.body):
            return False
    return not any(isinstance(s, For) and s.private for s in stmts)


def _place(loop: For, facts: Facts, memory: Memory) -> _Place | None:
    """Where the iterations of a loop write, if all that they touch of this array is in one row each."""
    stmts = walk(loop.body.stmts)
    targets = {s.buffer for s in stmts if isinstance(s, Store)}
    if len(targets) != 1 or (target := targets.pop()).kind not in ("arg", "arena"):
        return None
    loads = {s.attr for s in stmts if isinstance(s, Inst) and s.op == "load"}
    reached = {t for b in loads - {target} for t in ({b} | memory.targets(b))}
    if any(b.kind in ("stack", "pointer") or memory.overlap(b, target) for b in reached):
        return None
    made = {s.out: s for s in stmts if isinstance(s, Inst)}
    forms = Forms(made, facts.number)
    ranges = {}
    for s in stmts:
        if isinstance(s, For) and (span := facts.span(s)) is not None:
            ranges[s.var] = (span[0], max(span[1] - 1, span[0]))
    found = [forms.of(s.index if isinstance(s, Store) else s.args[0]) for s in stmts if _touches(s, target)]
    keys = {x for f in found for x in f if x != ONE and x not in ranges}
    outermost = {s.out for s in loop.body.stmts if isinstance(s, Inst)}
    if len(keys) != 1 or (key := keys.pop()) not in outermost or not _in_one_row(found, key, ranges):
        return None
    width = found[0][key]
    inner = [s for s in loop.body.stmts if isinstance(s, For)]
    row = inner[0] if len(inner) == 1 and _is_row(inner[0], loop, found, facts) else None
    return _Place(target, key, max(int(target.size) // width, 1), row)


def _touches(s: Any, target: Buffer) -> bool:
    return (isinstance(s, Store) and s.buffer is target) or (
        isinstance(s, Inst) and s.op == "load" and s.attr is target
    )


def _in_one_row(found: list[Form], key: Reg, ranges: dict[Any, tuple[int, int]]) -> bool:
    """Whether all indices are in the row of a key, the same for all of them."""
    widths = {f.get(key, 0) for f in found}
    spans = [bounds({s: c for s, c in f.items() if s is not key}, ranges, 0) for f in found]
    if len(widths) != 1 or (width := widths.pop()) < 1 or None in spans:
        return False
    return max(s[1] for s in spans if s) - min(s[0] for s in spans if s) < width


def _is_row(inner: For, loop: For, found: list[Form], facts: Facts) -> bool:
    """Whether a loop runs over the elements of a row, and nothing else writes."""
    span = facts.span(inner)
    others = [s for s in loop.body.stmts if s is not inner]
    plain = all(isinstance(s, (Inst, Comment)) for s in others) and not any(
        isinstance(s, SetSlot) and not is_set_first(s.slot, inner.body) for s in walk(inner.body.stmts)
    )
    alike = all(f == found[0] and f.get(inner.var, 0) for f in found)
    return span is not None and plain and alike and 1 < span[1] - span[0] <= _ROW


def _shared(loop: For, place: _Place, parts: tuple[list[Any], list[Any]], facts: Facts, maker: Maker) -> For:
    """The loop over threads, with the loop inside."""
    columns = facts.trips(place.inner) if place.inner is not None else 1
    threads = 1
    while threads < min(place.rows, _MOST // columns):
        threads *= 2
    thread, owner = maker.reg(I64), maker.reg(I64)
    before = [Inst("sdiv", owner, (thread, Const(columns, I64)))]
    finding, rest = parts
    if place.inner is not None:
        column = maker.reg(I64)
        before.append(Inst("srem", column, (thread, Const(columns, I64))))
        n = rest.index(place.inner)
        var = Inst("iadd", place.inner.var, (column, place.inner.start))
        rest = [*rest[:n], var, *place.inner.body.stmts, *rest[n + 1 :]]
    test, has = _test(place.key, owner, threads, maker)
    turn = For(loop.var, loop.start, loop.stop, Block([*finding, *test, If(has, Block(rest), Block())]))
    turn.down = loop.down
    plain = all(isinstance(s, Inst) for s in finding) and not loop.down
    steps = _ahead(turn, finding, place.key, (owner, threads), facts, maker) if plain else turn
    made = For(
        thread, Const(0, I64), Const(threads * columns, I64), Block([*before, steps]), independent=True
    )
    made.grain, made.lanes = 1, True
    return made


def _split(loop: For, key: Reg) -> tuple[list[Any], list[Any]]:
    """The statements of an iteration that find its key, and the others."""
    stmts = [s for s in loop.body.stmts if not isinstance(s, Comment)]
    at = next(n for n, s in enumerate(stmts) if key in defined(s)) + 1
    if not all(isinstance(s, Inst) for s in stmts[:at]):
        return stmts[:at], stmts[at:]
    needed, finding = {key}, []
    for s in reversed(stmts[:at]):
        if needed.intersection(defined(s)):
            needed.update(operands(s))
            finding.append(s)
    return finding[::-1], [s for s in stmts if s not in finding]


def _test(key: Reg, owner: Reg, threads: int, maker: Maker) -> tuple[list[Any], Reg]:
    """What finds out whether a key belongs to an owner, and its result."""
    mine, has = maker.reg(I64), maker.reg(BOOL)
    return [Inst("and", mine, (key, Const(threads - 1, I64))), Inst("cmp", has, (mine, owner), "eq")], has


def _ahead(turn: For, finding: list[Inst], key: Reg, of: tuple[Reg, int], facts: Facts, maker: Maker) -> For:
    """A loop that finds several keys at a time, whose loads need not wait for each other, and runs iterations where one
    of them is its own."""
    start, stop = facts.span(turn) or (0, 0)
    number, base, past, some = maker.reg(I64), maker.reg(I64), maker.reg(I64), []
    body: list[Any] = [
        Inst("imul", number, (block := maker.reg(I64), Const(_AHEAD, I64))),
        Inst("iadd", base, (number, Const(start, I64))),
    ]
    for n in range(_AHEAD):
        at, var = maker.reg(I64), maker.reg(I64)
        body += [Inst("iadd", at, (base, Const(n, I64))), Inst("smin", var, (at, Const(stop - 1, I64)))]
        names: dict[Any, Reg] = {turn.var: var}
        for s in finding:
            names[s.out] = maker.reg(s.out.dtype)
            body.append(Inst(s.op, names[s.out], tuple(names.get(a, a) for a in s.args), s.attr))
        test, has = _test(names[key], *of, maker)
        body += test
        some.append(has)
    while len(some) > 1:
        a, b, *others = some
        body.append(Inst("or", both := maker.reg(BOOL), (a, b)))
        some = [*others, both]
    turn.start, turn.stop = base, past
    body += [
        Inst("iadd", end := maker.reg(I64), (base, Const(_AHEAD, I64))),
        Inst("smin", past, (end, Const(stop, I64))),
        If(some[0], Block([turn]), Block()),
    ]
    return For(block, Const(0, I64), Const(-(-(stop - start) // _AHEAD), I64), Block(body))
