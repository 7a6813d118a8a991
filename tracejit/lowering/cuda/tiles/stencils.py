"""Finds nests that read neighbours of the same element of an array, and lets blocks take tiles: the threads of a block
fetch a tile with what surrounds it into shared memory, each element once, and compute from there.

    for i in range(1, 999):                        for tile in ...:                      # a block each
        for j in range(1, 999):                        for t in range(18 * 66): t[..] = x[..]
            y[i, j] = x[i - 1, j] + x[i, j - 1] + ...  for t in range(16 * 64): y[..] = t[..] + t[..] + ...

What is fetched is what the iterations of the tile read, no element more: the corners are left out where nothing
reads them.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit.lowering.cuda.facts import Facts, Maker
from tracejit.lowering.cuda.nodes import NEAR
from tracejit.lowering.cuda.tiles.nests import Nest, Writer, nest_of
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.forms import ONE, Forms
from tracejit.lowering.loops.nodes import (  # fmt: skip
    BOOL,
    I64,
    Block,
    Buffer,
    Const,
    For,
    If,
    Inst,
    Operand,
    Program,
    Reg,
    Store,
    blocks_of,
)
from tracejit.records import record

#: The sides of a tile, by the loops that it is cut from, and elements below which there are too few blocks.
SIDES = {2: (16, 64), 3: (4, 8, 32)}
WORTH = 1 << 14
_FEWEST, _FAR = 3, 4  # places of an array that are read at least, and steps between two of them at most
_ALIGN = 64
_U32 = np.dtype(np.uint32)


def tile_stencils(program: Program) -> None:
    """Let tiles take the place of nests of a program that read neighbours."""
    facts, maker = Facts(program), Maker(program)
    for block in [program.body, *(b for s in walk(program.body.stmts) for b in blocks_of(s))]:
        block.stmts[:] = [_tiled(s, facts, maker) or s for s in block.stmts]


def _tiled(s: Any, facts: Facts, maker: Maker) -> For | None:
    """The loop over tiles that a nest becomes; None if it has no use for them."""
    nest = nest_of(s, facts) if isinstance(s, For) else None
    if nest is None or math.prod(nest.trips) < WORTH:
        return None
    loads = _by_array(nest, facts)
    wanted = {x.var: x for g in loads for x in _walked(nest, g, facts)}
    loops = [x for x in nest.loops if x.var in wanted]
    if len(loops) not in SIDES:
        return None
    sides = [min(n, 1 << (facts.trips(x) - 1).bit_length())
             for n, x in zip(SIDES[len(loops)], loops, strict=True)]  # fmt: skip
    tiles, room = list[_Tile](), NEAR
    for g in loads:
        made = _tile(g, loops, sides, facts)
        if made is not None and made.bytes <= room:
            room -= made.bytes
            tiles.append(made)
    return _Writer(facts, maker, nest, loops, sides, tiles).loop() if tiles else None


def _by_array(nest: Nest, facts: Facts) -> list[dict[Inst, int]]:
    """Loads of a nest that differ by constants from each other, with these; those of many places first."""
    forms, found = Forms(facts.made, facts.number), dict[Any, dict[Inst, int]]()
    others = {x for pair in facts.program.may_alias if not nest.stored.isdisjoint(pair) for x in pair}
    for s in nest.loads:
        if s.attr.kind in ("arg", "arena", "pointer") and s.attr not in nest.stored | others:
            form = dict(forms.of(s.args[0]))
            at = form.pop(ONE, 0)
            found.setdefault((s.attr, frozenset(form.items())), {})[s] = at
    several = [g for g in found.values() if len(set(g.values())) >= _FEWEST]
    return sorted(several, key=lambda g: -len(set(g.values())))


def _strides(nest: list[For], loads: dict[Inst, int], facts: Facts) -> list[int]:
    """How far what is loaded moves with the variable of each loop."""
    form = Forms(facts.made, facts.number).of(next(iter(loads)).args[0])
    return [form.get(x.var, 0) for x in nest]


def _walked(nest: Nest, loads: dict[Inst, int], facts: Facts) -> list[For]:
    """The loops along which places that are read lie beside each other, and the innermost one; none if that is all:
    what is read along a row is in the nearest cache."""
    steps = _places(nest.loops, loads, facts)
    if steps is None:
        return []
    found = [x for n, x in enumerate(nest.loops[:-1]) if len({p[n] for p in steps.values()}) > 1]
    return [*found, nest.loops[-1]] if found else []


def _places(loops: list[For], loads: dict[Inst, int], facts: Facts) -> dict[Inst, tuple[int, ...]] | None:
    """How many iterations of each loop a load is away from the first one; None: not so, or too far."""
    strides = _strides(loops, loads, facts)
    if abs(strides[-1]) != 1:
        return None
    order = sorted((n for n, x in enumerate(strides) if x), key=lambda n: -abs(strides[n]))
    start, found = next(iter(loads.values())), {}
    for s, at in loads.items():
        rest, steps = at - start, [0] * len(loops)
        for n in order:
            steps[n] = round(rest / strides[n])
            rest -= steps[n] * strides[n]
        if rest or any(abs(x) > _FAR for x in steps):
            return None
        found[s] = tuple(steps)
    return found


@record(eq=False)
class _Tile:
    """A tile of an array with what surrounds it. `places`: of its loads, from the element of an iteration; `low` and
    `high`: the least and the greatest of them; `cross`: the corners are not read."""

    first: Inst
    places: dict[Inst, tuple[int, ...]]
    low: list[int]
    high: list[int]
    cross: bool
    sizes: list[int]
    buffer: Buffer

    @property
    def bytes(self) -> int:
        """The room that it takes."""
        size = math.prod(self.sizes) * self.buffer.dtype.itemsize
        return -(-size // _ALIGN) * _ALIGN

    @property
    def pitches(self) -> list[int]:
        """How far its elements are from each other."""
        return [math.prod(self.sizes[n + 1 :]) for n in range(len(self.sizes))]


def _tile(loads: dict[Inst, int], loops: list[For], sides: list[int], facts: Facts) -> _Tile | None:
    """The tile for loads, if their places are all of a box, or the arms of a cross: then each element of these is
    read by an iteration of the tile."""
    steps = _places(loops, loads, facts)
    if steps is None or not all(_strides(loops, loads, facts)):
        return None
    axes = list(zip(*steps.values(), strict=True))
    middle = [_middle(a) for a in axes]
    places = {s: tuple(x - m for x, m in zip(p, middle, strict=True)) for s, p in steps.items()}
    axes = [{0, *a} for a in zip(*places.values(), strict=True)]
    low, high = [min(a) for a in axes], [max(a) for a in axes]
    read = set(places.values())
    spans = [hi - lo for lo, hi in zip(low, high, strict=True)]
    within = all(n < side and n <= facts.trips(x) for n, side, x in zip(spans, sides, loops, strict=True))
    close = all(len(a) == n + 1 for a, n in zip(axes, spans, strict=True))
    box = read.issuperset(itertools.product(*zip(low, high, strict=True)))
    both = any(lo < 0 < hi for lo, hi in zip(low, high, strict=True))
    cross = all(sum(map(bool, p)) <= 1 for p in read) and (both or (0,) * len(loops) in read)
    if not (within and close and (box or cross)):
        return None
    first = next(iter(loads))
    sizes = [side + n for side, n in zip(sides, spans, strict=True)]
    buffer = Buffer("tile", first.out.dtype, math.prod(sizes), "private", 0)
    return _Tile(first, places, low, high, not box, sizes, buffer)


def _middle(steps: Iterable[int]) -> int:
    """What most steps are in one direction: those of the arms of a cross in the others. Of several, the one between."""
    counts = Counter(steps)
    most = sorted(x for x, n in counts.items() if n == max(counts.values()))
    return most[len(most) // 2]


class _Writer(Writer):
    """Writes the loop over tiles of a nest, which are cut from `loops`."""

    def __init__(
        self, facts: Facts, maker: Maker, nest: Nest, loops: list[For], sides: list[int], tiles: list[_Tile]
    ) -> None:
        super().__init__(facts, maker, nest)
        self.loops, self.sides, self.tiles = loops, sides, tiles
        self.starts: dict[Reg, Operand] = {}  # of the tile at hand, or the variable of a loop that is not cut
        self.lengths: dict[Reg, Operand] = {}  # of the tile at hand, if it may be the last one
        self.scratch = 0
        for t in tiles:
            t.buffer.slot = self.scratch
            self.scratch += t.bytes
        facts.program.buffers += [t.buffer for t in tiles]

    def loop(self) -> For:
        """The loop over all tiles."""
        number, body = self.maker.reg(I64), Block()
        self.out = body.stmts
        side = dict(zip(self.loops, self.sides, strict=True))
        counts = [-(-self.facts.trips(x) // side.get(x, 1)) for x in self.nest.loops]
        rest: Operand = number
        for x, count in reversed(list(zip(self.nest.loops, counts, strict=True))):
            at = self.inst("urem", rest, count) if count > 1 else Const(0, I64)
            rest = self.inst("udiv", rest, count) if count > 1 else rest
            at = self.inst("imul", at, side[x]) if x in side else at
            self.starts[x.var] = start = self.inst("iadd", at, self.facts.number(x.start) or 0)
            if x in side and self.facts.trips(x) % side[x]:
                left = self.inst("isub", self.facts.number(x.stop) or 0, start)
                self.lengths[x.var] = self.inst("smin", left, side[x])
        body.stmts += [*map(self.fetch, self.tiles), self.compute()]
        made = For(number, Const(0, I64), Const(math.prod(counts), I64), body, independent=True, grain=1)
        made.private, made.scratch = [t.buffer for t in self.tiles], self.scratch
        return made

    def fetch(self, tile: _Tile) -> For:
        """The loop that fills a tile."""
        t, body = self.maker.reg(I64), Block()
        self.out = body.stmts
        numbers, tests = self._numbers(t, tile.sizes), list[Operand]()
        known, outside = dict[Any, Operand](self.starts), list[Operand]()
        for n, (x, side) in enumerate(zip(self.loops, self.sides, strict=True)):
            at = self.inst("iadd", numbers[n], tile.low[n])
            length = self.lengths.get(x.var, Const(side, I64))
            if x.var in self.lengths:
                tests.append(self._less(at, self.inst("iadd", length, tile.high[n])))
            if tile.cross and tile.low[n] < tile.high[n]:
                below, inside = self._less(at, 0), self._less(at, length)
                outside.append(self.inst("or", below, self.inst("not", inside, dtype=BOOL), dtype=BOOL))
            at = self.inst("iadd", at, self.starts[x.var])
            # The first load is read here at the element of an iteration, from which it is some steps away.
            known[x.var] = self.inst("isub", at, tile.places[tile.first][n])
        for a, b in itertools.combinations(outside, 2):
            tests.append(self.inst("not", self.inst("and", a, b, dtype=BOOL), dtype=BOOL))
        self._guarded(tests)
        x = self.inst(
            "load", self.again(tile.first.args[0], known), dtype=tile.first.out.dtype, attr=tile.first.attr
        )
        self.out.append(Store(tile.buffer, t, x))
        return For(t, Const(0, I64), Const(math.prod(tile.sizes), I64), body, vector=True)

    def compute(self) -> For:
        """The loop that does what the nest does."""
        t, body = self.maker.reg(I64), Block()
        self.out = body.stmts
        numbers = self._numbers(t, self.sides)
        cut = [(x.var, at) for x, at in zip(self.loops, numbers, strict=True) if x.var in self.lengths]
        self._guarded([self._less(at, self.lengths[var]) for var, at in cut])
        known: dict[Any, Operand] = dict(self.starts)
        for x, at in zip(self.loops, numbers, strict=True):
            known[x.var] = self.inst("iadd", at, self.starts[x.var])
        tiles = {s: tile for tile in self.tiles for s in tile.places}
        rooms = {tile: self._room(numbers, tile) for tile in self.tiles}
        stores = []
        for s in self.nest.body:
            if isinstance(s, Store):
                stores.append(Store(s.buffer, self.again(s.index, known), self.again(s.value, known), s.op))
            elif s in tiles:
                tile = tiles[s]
                more = [(x - lo) * n for x, lo, n in zip(tile.places[s], tile.low, tile.pitches, strict=True)]
                at = self.inst("iadd", rooms[tile], sum(more))
                known[s.out] = self.inst("load", at, dtype=s.out.dtype, attr=tile.buffer)
            elif isinstance(s, Inst):
                self.again(s.out, known)
        self.out += stores
        return For(t, Const(0, I64), Const(math.prod(self.sides), I64), body, vector=True)

    def _room(self, numbers: list[Operand], tile: _Tile) -> Operand:
        """Where a tile has the element that is the least in each direction of those that an iteration reads."""
        *outer, at = (self.inst("imul", x, n) for x, n in zip(numbers, tile.pitches, strict=True))
        for x in outer:
            at = self.inst("iadd", at, x)
        return at

    def _numbers(self, t: Reg, sizes: list[int]) -> list[Operand]:
        """The number of an element in each direction, from that of all."""
        rest: Operand = self.inst("cast", t, dtype=_U32)
        found = []
        for size in sizes[:0:-1]:
            by = Const(size, _U32)
            found.append(self.inst("cast", self.inst("urem", rest, by, dtype=_U32)))
            rest = self.inst("udiv", rest, by, dtype=_U32)
        return [self.inst("cast", rest), *reversed(found)]

    def _less(self, a: Operand, b: Any) -> Operand:
        return self.inst("cmp", a, b, dtype=BOOL, attr="lt")

    def _guarded(self, tests: list[Operand]) -> None:
        """Let statements be done where all tests hold."""
        if tests:
            test, *others = tests
            for x in others:
                test = self.inst("and", test, x, dtype=BOOL)
            self.out.append(If(test, Block(inside := []), Block()))
            self.out = inside
