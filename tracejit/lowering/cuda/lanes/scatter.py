"""Loops that write at places which they read, several times at one place perhaps: each thread does what belongs to it.

    for n in range(100000):                     for t in range(1024):        # a thread each
        i = index[n]                                for n in range(100000):
        z[i] = z[i] + x[n]              ->              i = index[n]
                                                        if i & 1023 == t:
                                                            z[i] = z[i] + x[n]

All threads read all indices, in the order of the program, and each does the iterations whose place is its own. So the
order at each place is the CPU's, whatever the operation is, and two threads never touch the same element. Where an
iteration is a loop over the elements of a row, there is a thread for each of them as well. Long loops are sorted by
their places instead (`segments`). Loops of such loops (what `vmap` makes of a scatter) are one loop first, whose places
are pairs.

    for b in range(16):                         for m in range(16 * 20000):
        for n in range(20000):                      b, n = m // 20000, m % 20000
            z[b, i[b, n]] += x[b, n]    ->          z[b, i[b, n]] += x[b, n]
"""

from __future__ import annotations

from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker, is_set_first
from tracejit.lowering.cuda.lanes.owners import Memory
from tracejit.lowering.cuda.lanes.places import Place, place_of, split
from tracejit.lowering.cuda.lanes.segments import Segments, has_room
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.nodes import (  # fmt: skip
    BOOL,
    I64,
    Block,
    Comment,
    Const,
    For,
    If,
    Inst,
    Reg,
    SetSlot,
    Store,
)
from tracejit.lowering.loops.uses import is_check, places

#: Iterations from which threads share such a loop, and threads that do at most.
LEAST, _MOST = 1024, 1 << 14
_AHEAD = 8  # keys that are found at a time


def scattered(
    loop: Any, facts: Facts, memory: Memory, maker: Maker, segments: Segments, outermost: bool
) -> list[Any] | None:
    """What a loop becomes, None if it is no such loop. `outermost`: no loop is around it."""
    while isinstance(loop, For):
        if not _follows(loop) or facts.span(loop) is None:
            return None
        fits = facts.trips(loop) >= LEAST and _is_plain(loop, facts)
        place = place_of(loop, facts, memory, maker) if fits else None
        if place is not None:
            break
        loop = _as_one(loop, facts, maker)
    else:
        return None
    finding, rest = split(loop, place.key)
    if any(
        map(is_check, walk(rest))
    ):  # all threads find all keys, so that the first one outside is the same for all
        return None
    if segments.suits(loop, place, finding):
        return segments.of(loop, place, (finding, rest), outermost)
    return [_shared(loop, place, (finding, rest), facts, maker)]


def _as_one(loop: For, facts: Facts, maker: Maker) -> For | None:
    """A loop around a loop, whose iterations follow one another, as one loop over both; None if it is no such loop, or
    if its iterations would be many more than there are elements, since what is sorted has to have room."""
    *before, inner = [s for s in loop.body.stmts if not isinstance(s, Comment)] or [None]
    if not isinstance(inner, For) or not _follows(inner) or loop.down or inner.down:
        return None
    (start, stop), span = facts.span(loop) or (0, 0), facts.span(inner)
    stmts = walk([inner])
    written = {s.buffer for s in stmts if isinstance(s, Store)}
    fixed = all(
        isinstance(s, Inst) and s.op not in ("get", "index") and s.attr not in written for s in before
    )
    if not fixed or span is None or span[0] >= span[1]:
        return None
    length = span[1] - span[0]
    if not has_room(stmts, (stop - start) * length):
        return None
    both, outer, turn = (maker.reg(I64) for _ in range(3))
    head = [
        Inst("sdiv", outer, (both, Const(length, I64))),
        Inst("iadd", loop.var, (outer, Const(start, I64))),
        Inst("srem", turn, (both, Const(length, I64))),
        Inst("iadd", inner.var, (turn, Const(span[0], I64))),
    ]
    body = Block([*head, *before, *inner.body.stmts])
    return For(both, Const(0, I64), Const((stop - start) * length, I64), body)


def _follows(loop: For) -> bool:
    """Whether the iterations of a loop follow one another."""
    return not (loop.independent or loop.vector or loop.private)


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


def _shared(loop: For, place: Place, parts: tuple[list[Any], list[Any]], facts: Facts, maker: Maker) -> For:
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
