"""Loops over independent iterations around loops over others, with code in these that is not straight, become one loop
over all of them: rows of an array of three axes and more are rows for the planner then, however few the first axis has.

    for i in range(n):                              for t in range(n * m):
        for j in range(m):          ->                  i, j = t / m, t % m
            ...                                         ...
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.lowering.cuda.facts import Facts, Maker
from tracejit.lowering.loops.nodes import I64, Block, Comment, Const, For, Inst, Reg

_U32 = np.dtype(np.uint32)


def join(s: For, facts: Facts, maker: Maker) -> For:
    """A loop that threads share, with the loop inside of it if that is all that it does; as it is otherwise."""
    while (inner := _inner(s, facts)) is not None:
        s = _joined(s, inner, facts, maker)
    return s


def _inner(s: For, facts: Facts) -> For | None:
    """The loop that can be joined with the one around it. What is computed between them is the same in each of its
    iterations, and so may be computed in each."""
    *before, last = [x for x in s.body.stmts if not isinstance(x, Comment)] or [None]
    if not (s.independent and isinstance(last, For) and last.independent):
        return None
    if (
        s.down
        or last.down
        or last.vector
        or last.lanes
        or s.lanes
        or any(facts.span(x) is None for x in (s, last))
    ):
        return None
    if any(not isinstance(x, Inst) or x.op in ("get", "index", "load", "math") for x in before):
        return None
    return last if (not last.private if s.grain else _is_shared(s, last, facts)) else None


def _is_shared(s: For, inner: For, facts: Facts) -> bool:
    """Whether threads can share a loop of few iterations as well as the one inside of it, which they share. It has the
    memory of the inner one's iterations then."""
    if not inner.grain:
        return False
    s.grain, s.private, s.scratch = 1, inner.private, inner.scratch
    if facts.totals(s) == []:
        return True
    s.grain, s.private, s.scratch = 0, [], 0
    return False


def _joined(s: For, inner: For, facts: Facts, maker: Maker) -> For:
    t, trips = maker.reg(I64), facts.trips(inner)
    count = facts.trips(s) * trips
    dtype = _U32 if count < 1 << 31 else I64  # divided in 32 bits where these do
    out: list[Any] = []

    def inst(op: str, *args: Any, to: Reg | None = None, dtype: Any = I64) -> Reg:
        made = to or maker.reg(dtype)
        out.append(Inst(op, made, args))
        return made

    number, by = (inst("cast", t, dtype=dtype) if dtype is _U32 else t), Const(max(trips, 1), dtype)
    for op, loop in (("udiv", s), ("urem", inner)):
        at: Any = inst(op, number, by, dtype=dtype)
        at = inst("cast", at) if dtype is _U32 else at
        inst("iadd", at, Const(facts.number(loop.start) or 0, I64), to=loop.var)
    between = [x for x in s.body.stmts if x is not inner]
    body = Block([*out, *between, *inner.body.stmts])
    return For(
        t,
        Const(0, I64),
        Const(count, I64),
        body,
        independent=True,
        grain=1,
        private=s.private,
        scratch=s.scratch,
    )
