"""Nests that compute elements become one loop over all of them, so that neighbours among the threads are neighbours in
memory, however short the rows are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.lowering.cuda.facts import Facts, Maker
from tracejit.lowering.cuda.tiles.joined import join
from tracejit.lowering.cuda.tiles.nests import Nest, Writer, nest_of
from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.forms import ONE, Form, Forms
from tracejit.lowering.loops.nodes import (
    I64,
    Block,
    Const,
    For,
    Inst,
    Operand,
    Program,
    Reg,
    Store,
    blocks_of,
)

_LEAST = 8  # elements
#: Elements of a row that a block may as well take, unless rows follow one another without gaps.
_LONG = 256
U32 = np.dtype(np.uint32)


def flatten(program: Program) -> None:
    """Let loops over all elements take the place of nests of a program."""
    facts, maker = Facts(program), Maker(program)
    for block in [program.body, *(b for s in walk(program.body.stmts) for b in blocks_of(s))]:
        block.stmts[:] = [_one(s, facts, maker) if isinstance(s, For) else s for s in block.stmts]


def _one(s: For, facts: Facts, maker: Maker) -> For:
    """The loop that is to take the place of a nest: of its elements, or of its rows."""
    return flat(s, facts, maker) or join(s, facts, maker)


def flat(s: For, facts: Facts, maker: Maker) -> For | None:
    """The loop over all elements that a nest becomes; None if it is better as it is."""
    nest = nest_of(s, facts)
    if nest is None or math.prod(nest.trips) < _LEAST:
        return None
    writer = _Writer(facts, maker, nest)
    return writer.loop() if nest.trips[-1] < _LONG or writer.is_in_order() else None


class _Writer(Writer):
    def __init__(self, facts: Facts, maker: Maker, nest: Nest) -> None:
        super().__init__(facts, maker, nest)
        self.forms = Forms(facts.made, facts.number)
        self.count = math.prod(nest.trips)
        steps = [math.prod(nest.trips[n + 1 :]) for n in range(len(nest.trips))]
        #: The number of an element, in order, as a sum of the loops' variables.
        self.order: Form = {x.var: n for x, n, t in zip(nest.loops, steps, nest.trips, strict=True) if t > 1}
        self.begin = sum(n * (facts.number(x.start) or 0) for x, n in zip(nest.loops, steps, strict=True))

    def is_in_order(self) -> bool:
        """Whether what is read and written by rows lies in the order of the elements."""
        (*outer, inner) = (x.var for x in self.nest.loops)
        indices = [x.index for x in self.nest.body if isinstance(x, Store)]
        for i in [*indices, *(x.args[0] for x in self.nest.loads)]:
            form = self.forms.of(i)
            if form.get(inner) and any(map(form.get, outer)) and self.place(i) is None:
                return False
        return True

    def place(self, index: Operand) -> tuple[int, int] | None:
        """An index as a multiple of the element's number and a constant; None if it is none."""
        form = dict(self.forms.of(index))
        more = form.pop(ONE, 0)
        form = {s: c for s, c in form.items() if s in self.order or not self._is_still(s)}
        times = form.get(min(self.order, key=self.order.__getitem__), 0) if self.order else 0
        if not times or form != {s: c * times for s, c in self.order.items()}:
            return None
        return times, more + times * self.begin

    def _is_still(self, symbol: Any) -> bool:
        """Whether a symbol is the variable of a loop of one iteration that begins with 0."""
        found = [x for x in self.nest.loops if x.var is symbol]
        return bool(found) and self.facts.trips(found[0]) == 1 and self.facts.number(found[0].start) == 0

    def loop(self) -> For:
        """The loop over all elements."""
        t, body = self.maker.reg(I64), Block()
        self.out = body.stmts
        known: dict[Any, Operand] = {}
        self._variables(t, known)
        stores = []
        for s in self.nest.body:
            if isinstance(s, Store):
                stores.append(
                    Store(s.buffer, self._index(s.index, t, known), self.again(s.value, known), s.op)
                )
            elif isinstance(s, Inst) and s.op == "load":
                at = self._index(s.args[0], t, known)
                known[s.out] = self.inst("load", at, dtype=s.out.dtype, attr=s.attr)
            elif isinstance(s, Inst) and s.out in self._values():
                self.again(s.out, known)
        self.out += stores
        self._drop_unused(body)
        return For(t, Const(0, I64), Const(self.count, I64), body, vector=True, independent=True, grain=1)

    def _values(self) -> set[Reg]:
        """What the body computes besides indices."""
        return {s.out for s in self.nest.body if isinstance(s, Inst)}

    def _index(self, index: Operand, t: Reg, known: dict[Any, Operand]) -> Operand:
        place = self.place(index)
        if place is None:
            return self.again(index, known)
        times, more = place
        at: Operand = t if times == 1 else self.inst("imul", t, times)
        return self.inst("iadd", at, more) if more else at

    def _variables(self, t: Reg, known: dict[Any, Operand]) -> None:
        """The variables of the loops, from the number of an element; in 32 bits where these do."""
        short = self.count < 1 << 32
        rest: Any = self.inst("cast", t, dtype=U32) if short else t
        dtype = U32 if short else I64
        for n, x in reversed(list(enumerate(self.nest.loops))):
            trips, start = self.nest.trips[n], self.facts.number(x.start) or 0
            by = Const(trips, dtype)
            at: Any = rest if n == 0 else self.inst("urem", rest, by, dtype=dtype)
            rest = self.inst("udiv", rest, by, dtype=dtype) if n else rest
            at = self.inst("cast", at, dtype=I64) if short else at
            known[x.var] = self.inst("iadd", at, start) if start else at

    @staticmethod
    def _drop_unused(body: Block) -> None:
        """Leave out instructions that nothing reads."""
        while True:
            read = {a for s in body.stmts for a in (s.args if isinstance(s, Inst) else (s.index, s.value))}
            kept = [s for s in body.stmts if not isinstance(s, Inst) or s.out in read]
            if len(kept) == len(body.stmts):
                return
            body.stmts[:] = kept
