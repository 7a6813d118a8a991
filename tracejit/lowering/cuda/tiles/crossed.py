"""Finds nests whose innermost loop strides through something that another loop walks through, and tiles them."""

from __future__ import annotations

import math
from typing import Any

from tracejit.lowering.cuda.facts import Facts, Maker
from tracejit.lowering.cuda.tiles.nests import Nest, Writer, nest_of
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.forms import Forms
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

_SIDE, _BITS = 32, 5  # elements of a tile's side, the threads of a warp
_ROOM = _SIDE + 1  # elements from row to row of a tile: columns lie in banks of their own then
_WORTH = 4 * _SIDE * _SIDE  # elements below which everything is in the cache anyway
_FAR = 16  # elements from which on a stride is worth a tile
_MOST = 3  # arrays with tiles
_ALIGN = 64


def tile(program: Program) -> None:
    """Let tiles take the place of nests of a program that read something across the grain."""
    tiler = _Tiler(program)
    for block in [program.body, *(b for s in walk(program.body.stmts) for b in blocks_of(s))]:
        block.stmts[:] = [tiler.tiled(s) or s for s in block.stmts]


class _Tiler:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.facts, self.maker = Facts(program), Maker(program)

    def tiled(self, s: Any) -> For | None:
        """The loop over tiles that a nest becomes; None if it has no use for them."""
        nest = nest_of(s, self.facts) if isinstance(s, For) else None
        if nest is None or nest.trips[-1] < _SIDE or math.prod(nest.trips) < _WORTH:
            return None
        forms, inner = Forms(self.facts.made, self.facts.number), nest.loops[-1].var
        if any(abs(forms.of(x.index).get(inner, 0)) > 2 for x in nest.body if isinstance(x, Store)):
            return None
        best: tuple[For | None, list[Inst]] = None, []
        for loop in nest.loops[:-1]:
            found = [x for x in nest.loads if self._is_crossed(x, nest, forms.of(x.args[0]), loop.var)]
            if len(found) > len(best[1]) and self.facts.trips(loop) >= _SIDE:
                best = loop, found
        if best[0] is None or len({x.attr for x in best[1]}) > _MOST or len(best[1]) > _MOST:
            return None
        return _Writer(self, nest, best[0], best[1]).loop()

    def _is_crossed(self, s: Inst, nest: Nest, form: dict[Any, int], var: Reg) -> bool:
        """Whether a load strides in the innermost loop and walks in that of `var`, through what the nest only reads."""
        strides = abs(form.get(nest.loops[-1].var, 0)) >= _FAR and abs(form.get(var, 0)) in (1, 2)
        b = s.attr
        others = {x for pair in self.program.may_alias if b in pair for x in pair}
        return strides and b.kind in ("arg", "arena") and nest.stored.isdisjoint({b, *others})


class _Writer(Writer):
    """Writes the loop over tiles of a nest, whose `crossed` loads walk with the loop `walking`."""

    def __init__(self, tiler: _Tiler, nest: Nest, walking: For, crossed: list[Inst]) -> None:
        super().__init__(tiler.facts, tiler.maker, nest)
        self.walking, self.inner, self.crossed = walking, nest.loops[-1], crossed
        self.tiles: list[Buffer] = []
        self.scratch = 0
        for s in crossed:
            self.tiles.append(Buffer("tile", s.out.dtype, _SIDE * _ROOM, "private", self.scratch))
            size = _SIDE * _ROOM * s.out.dtype.itemsize
            self.scratch += -(-size // _ALIGN) * _ALIGN
        tiler.program.buffers += self.tiles

    def loop(self) -> For:
        """The loop over all tiles."""
        tile, body = self.maker.reg(I64), Block()
        self.out = body.stmts
        counts = [
            -(-self.facts.trips(x) // _SIDE) if x in (self.walking, self.inner) else self.facts.trips(x)
            for x in self.nest.loops
        ]
        rest: Operand = tile
        places: dict[Reg, Operand] = {}
        for x, count in reversed(list(zip(self.nest.loops, counts, strict=True))):
            at = self.inst("urem", rest, count) if count > 1 else Const(0, I64)
            rest = self.inst("udiv", rest, count) if count > 1 else rest
            if x in (self.walking, self.inner):
                at = self.inst("shl", at, _BITS)
            places[x.var] = self.inst("iadd", at, self.facts.number(x.start) or 0)
        body.stmts += [self.fetch(places), self.compute(places)]
        made = For(tile, Const(0, I64), Const(math.prod(counts), I64), body, independent=True, grain=1)
        made.private, made.scratch = self.tiles, self.scratch
        return made

    def fetch(self, places: dict[Reg, Operand]) -> For:
        """The loop that fills the tiles: neighbours are neighbours along the loop that walks."""
        t, body = self.maker.reg(I64), Block()
        self.out = body.stmts
        low, high = self.inst("and", t, _SIDE - 1), self.inst("lshr", t, _BITS)
        at = self._clamped({**places, self.walking.var: (low,), self.inner.var: (high,)}, places)
        room = self.inst("iadd", self.inst("imul", high, _ROOM), low)
        known: dict[Any, Operand] = dict(at)
        for s, tile in zip(self.crossed, self.tiles, strict=True):
            x = self.inst("load", self.again(s.args[0], known), dtype=s.out.dtype, attr=s.attr)
            self.out.append(Store(tile, room, x))
        return self._over(t, body)

    def compute(self, places: dict[Reg, Operand]) -> For:
        """The loop that does what the nest does: neighbours are neighbours along its innermost loop."""
        t, body = self.maker.reg(I64), Block()
        self.out = body.stmts
        low, high = self.inst("and", t, _SIDE - 1), self.inst("lshr", t, _BITS)
        exact = {**places, self.walking.var: (high,), self.inner.var: (low,)}
        room = self.inst("iadd", self.inst("imul", low, _ROOM), high)
        inside = self._inside(places, low, high)
        guard: list[Any] | None = None
        if inside is not None and self.nest.updates:  # what others write is not read
            self.out.append(If(inside, Block(guard := []), Block()))
            self.out, inside = guard, None
        known: dict[Any, Operand] = dict(self._clamped(exact, places))
        stores = []
        for s in self.nest.body:
            if isinstance(s, Store):
                stores.append(Store(s.buffer, self.again(s.index, known), self.again(s.value, known), s.op))
            elif s in self.crossed:
                tile = self.tiles[self.crossed.index(s)]
                known[s.out] = self.inst("load", room, dtype=s.out.dtype, attr=tile)
            elif isinstance(s, Inst):
                self.again(s.out, known)
        self.out += stores if inside is None else [If(inside, Block(stores), Block())]
        return self._over(t, body)

    def _over(self, t: Reg, body: Block) -> For:
        return For(t, Const(0, I64), Const(_SIDE * _SIDE, I64), body, vector=True)

    def _clamped(self, at: dict[Reg, Any], places: dict[Reg, Operand]) -> dict[Reg, Operand]:
        """The variables of the loops for an element of a tile, within their ranges."""
        found: dict[Reg, Operand] = {}
        for x in self.nest.loops:
            value = at[x.var]
            if isinstance(value, tuple):
                value = self.inst("iadd", places[x.var], value[0])
                if self.facts.trips(x) % _SIDE:
                    value = self.inst("smin", value, (self.facts.number(x.stop) or 0) - 1)
            found[x.var] = value
        return found

    def _inside(self, places: dict[Reg, Operand], low: Reg, high: Reg) -> Operand | None:
        """Whether an element of a tile is one of the nest; None: all are."""
        tests = []
        for x, more in ((self.walking, high), (self.inner, low)):
            if self.facts.trips(x) % _SIDE:
                at = self.inst("iadd", places[x.var], more)
                tests.append(self.inst("cmp", at, self.facts.number(x.stop) or 0, dtype=BOOL, attr="lt"))
        if not tests:
            return None
        return tests[0] if len(tests) == 1 else self.inst("and", *tests, dtype=BOOL)
