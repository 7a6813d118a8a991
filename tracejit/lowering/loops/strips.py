"""Loops of steps over long arrays, a strip of the arrays at a time.

    for t in range(200):                         for b in range(98):                 # shared among threads
        for i in range(100000):        ->            for t in range(200):
            c[i] = c[i] * a[i] + t                       for i in range(b * 1024, min(b * 1024 + 1024, 100000)):
                                                             c[i] = c[i] * a[i] + t

Where element i of each step depends on elements i of steps before it only, the order of elements does not matter: what
is computed of each stays the same. A strip stays in the first cache over all steps, and threads take strips, where
they would have to wait for each other after each step. This is what `vmap` makes of a loop, and a loop over arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tracejit.lowering.llvm.alias import walk
from tracejit.lowering.loops.forms import LANE, Forms, owned
from tracejit.lowering.loops.nodes import (  # fmt: skip
    I64,
    Block,
    Buffer,
    Comment,
    Const,
    For,
    Inst,
    Program,
    Reg,
    Slot,
    Store,
)
from tracejit.lowering.loops.uses import defined, is_check, is_shared, trips

#: Elements of a strip, a multiple of `parallel.UNIT`, and arrays that are worth being cut into such.
STRIP, LEAST = 1024, 8192
_KINDS = ("arg", "arena")


def cut(program: Program, homes: dict[Buffer, Block]) -> None:
    """Let the outermost loops of steps of a program take strips, as far as they can. `homes`, see `plan_memory`: what
    a step needs for itself is needed over all steps now, since other strips may be at another place of the step."""
    related = {frozenset(map(id, pair)) for pair in program.may_alias}
    for n, s in enumerate(program.body.stmts):
        if isinstance(s, For) and not (s.independent or s.vector or s.down) and trips(s) > 1:
            lanes = _lanes_of(s)
            if lanes and _are_apart(s, lanes, related):
                last = max((r.id for x in walk(program.body.stmts) for r in defined(x)), default=0)
                homes.update(dict.fromkeys((b for b, _, _ in _accesses(walk([s]))), program.body))
                program.body.stmts[n] = _in_strips(s, lanes, last)


def _lanes_of(steps: For) -> list[For]:
    """The loops over elements that the steps consist of, all of the same length; none if they are more than that."""
    loops = [s for s in steps.body.stmts if isinstance(s, For)]
    rest = [s for s in steps.body.stmts if not isinstance(s, (For, Comment))]
    known = (trips(steps), *map(trips, loops))
    plain = all(_is_plain(s) for s in rest) and all(
        (x.vector or x.independent) and not x.down and isinstance(x.start, Const) and x.start.value == 0
        and all(isinstance(s, (Store, Comment)) or _is_plain(s) for s in x.body.stmts)
        for x in loops
    )  # fmt: skip
    fits = plain and len(set(known[1:])) == 1 and LEAST <= known[1] < float("inf")
    return loops if fits and known[0] < float("inf") else []


def _is_plain(s: Any) -> bool:
    """Whether a statement computes a number, and nothing else."""
    return isinstance(s, Inst) and not is_check(s) and not isinstance(s.attr, Slot)


def _accesses(stmts: Iterable[Any]) -> Iterator[tuple[Buffer, Any, bool]]:
    """What statements load and store: buffers, indices, whether it is stored."""
    for s in stmts:
        if isinstance(s, Store):
            yield s.buffer, s.index, True
        elif isinstance(s, Inst) and s.op == "load":
            yield s.attr, s.args[0], False


def _are_apart(steps: For, lanes: list[For], related: set[frozenset[int]]) -> bool:
    """Whether what is written of each element is read for that element only."""
    forms = Forms({s.out: s for s in walk([steps]) if isinstance(s, Inst)}, _number)
    forms.known |= {x.var: {LANE: 1} for x in lanes}
    found: dict[Buffer, list[Any]] = {}
    inside = list(_accesses(walk([steps])))
    for b, index, _ in inside:
        found.setdefault(b, []).append(index)
    written = {b for b, _, stores in inside if stores}
    if any(b.kind not in _KINDS for b in found) or any(
        b in written for b, _, _ in _accesses(steps.body.stmts)
    ):
        return False
    if written.isdisjoint(b for b, _, stores in inside if not stores):  # steps leave nothing for each other
        return False
    if any(is_shared(a, b, related) for a in written for b in found if a is not b):
        return False
    return all(owned([forms.index(i) for i in found[b]], int(trips(lanes[0])), {}) for b in written)


def _number(x: Any) -> int | None:
    return int(x.value) if isinstance(x, Const) else None


def _in_strips(steps: For, lanes: list[For], last: int) -> For:
    """The loop over strips."""
    n = int(trips(lanes[0]))
    number, first, end, stop = (Reg(last + k, I64, steps.var.k) for k in range(1, 5))
    for loop in lanes:
        loop.start, loop.stop, loop.most = first, stop, STRIP
    ends: list[Any] = [
        Inst("imul", first, (number, Const(STRIP, I64)), "nsw"),
        Inst("iadd", end, (first, Const(STRIP, I64)), "nsw"),
        Inst("smin", stop, (end, Const(n, I64))),
    ]
    return For(number, Const(0, I64), Const(-(-n // STRIP), I64), Block([*ends, steps]), independent=True)
