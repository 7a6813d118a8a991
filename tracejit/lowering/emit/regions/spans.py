"""The integers that the carries of a loop can be: ranges that a step stays in, found by the ops' `bounds` rules.

A bound that two steps move is given up, but a number that moves by little in each step does not overflow in the time
that anyone waits: it stays in -2**62 … 2**62.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, Var
from tracejit.ir.kernel import CondRegion, ScanRegion, WhileRegion
from tracejit.ir.primitive import Sentinel
from tracejit.lowering.emit.regions.implied import Never, Span, implied, meet
from tracejit.lowering.loops.ranges import ANY, hull
from tracejit.records import record

_FAR = 2**62
_STEP = 64  # by how much a number may move in a step: 2**56 steps take years
_ROUNDS = 8


@record()
class Entry:
    """What is known of a while loop's carries where its body begins, since the condition holds.

    `always`: of all; `first`: of the initial values; `again`: of those that an iteration gives.
    """

    always: Sequence[Span]
    first: Sequence[Span]
    again: Sequence[Span]

    def spans(self, inits: Sequence[Span], outs: Sequence[Span]) -> list[Span]:
        """The carries in the body, given those before the loop and after an iteration."""
        return [_inside(*s) for s in zip(inits, outs, self.always, self.first, self.again, strict=True)]


def _inside(init: Span, out: Span, always: Span, first: Span, again: Span) -> Span:
    ways = []
    for span, known in ((init, first), (out, again)):
        try:
            ways.append(meet(span, known))
        except Never:
            continue
    try:
        found = meet(hull(ways), always) if ways else None
        return found and meet(found, ANY)
    except Never:
        return None


def entry_of(
    cond: Jaxpr, inner: Jaxpr, consts: tuple[int, int], before: Jaxpr | None, inits: Sequence[Any]
) -> Entry:
    """What a loop's condition says; `consts`: how many operands of the condition and the body are no carries; `before`:
    the jaxpr that has the loop, and `inits` its operands there."""
    count = len(cond.invars) - consts[0]
    carries, outs = cond.invars[consts[0] :], inner.outs[:count]
    nothing: list[Span] = [None] * count
    always = implied(cond, [(cond.outs[0], (1, 1))], carries) or nothing
    again = implied(inner, list(zip(outs, always, strict=True)), outs) or nothing
    first = None if before is None else implied(before, list(zip(inits, always, strict=True)), inits)
    return Entry(always, first or nothing, again)


def of_carries(
    inner: Jaxpr, given: Sequence[Span], inits: Sequence[Span], entry: Entry | None = None
) -> tuple[list[Span], list[Span]]:
    """Those of the carries of a loop, between its steps and in them: arguments of its body `inner` after those in
    `given`; `inits` before the loop."""
    carries = inner.invars[len(given) : len(given) + len(inits)]
    start = [s if _is_integer(v) else None for s, v in zip(inits, carries, strict=True)]
    now, unknown = start, list[Span]([None]) * len(inits)
    for n in range(_ROUNDS):
        inside = now if entry is None else entry.spans(start, now)
        inside = [s if _is_integer(v) else None for s, v in zip(inside, carries, strict=True)]
        if not any(inside):
            break
        rest: list[Span] = [None] * (len(inner.invars) - len(given) - len(now))
        outs = _outs(inner, [*given, *inside, *rest])
        new = [_widened(a, b) for a, b in zip(now, outs, strict=False)]
        if new == now:
            return now, inside
        now = new if n else [hull(pair) for pair in zip(now, outs, strict=False)]
    return unknown, unknown


def _widened(old: Span, new: Span) -> Span:
    """`old`, without a bound that `new` exceeds."""
    if old is None or new is None:
        return None
    low, high = old
    if new[0] < low:
        low = -_FAR
    if new[1] > high:
        high = _FAR
    if low > high:  # the numbers are beyond what is taken for far
        return None
    return (low, high) if low - _STEP <= new[0] and new[1] <= high + _STEP else None


def _is_integer(a: Any) -> bool:
    return a.aval.shape == () and a.aval.dtype == np.int64


def _outs(jaxpr: Jaxpr, args: Sequence[Span]) -> list[Span]:
    """Those of a jaxpr's results."""
    known: dict[Any, Span] = dict(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        if any(map(_is_integer, eqn.outvars)):
            known.update(zip(eqn.outvars, _of_eqn(eqn, [_of(known, a) for a in eqn.invars]), strict=True))
    return [_of(known, a) for a in jaxpr.outs]


def _of(known: dict[Any, Span], a: Any) -> Span:
    if isinstance(a, Literal):
        return (int(a.value), int(a.value)) if not a.aval.shape and a.aval.dtype.kind in "iu" else None
    found = known.get(a)
    return a.bounds if found is None and type(a) is Var else found


def _of_eqn(eqn: Eqn, args: list[Span]) -> list[Span]:
    rule = _REGIONS.get(type(eqn.op.kernel))
    if rule is not None:
        return rule(eqn.params, args)
    if eqn.op.multi or isinstance(eqn.op.bounds, Sentinel):
        return [None] * len(eqn.outvars)
    found = eqn.op.bounds(args, **eqn.params)
    info = np.iinfo(eqn.outvars[0].aval.dtype)
    return [found if found is not None and info.min <= found[0] and found[1] <= info.max else None]


def _of_cond(params: dict[str, Any], args: list[Span]) -> list[Span]:
    each = [_outs(b, args[1:]) for b in params["branches"]]
    return [hull(outs) for outs in zip(*each, strict=True)]


def _of_scan(params: dict[str, Any], args: list[Span]) -> list[Span]:
    body, count = params["jaxpr"], params["carry"]
    args = args[params["length"] is None :]
    at = params["consts"]
    spans, _ = of_carries(body, [body.invars[0].bounds, *args[:at]], args[at : at + count])
    return spans + [None] * (len(body.outs) - count)


def _of_while(params: dict[str, Any], args: list[Span]) -> list[Span]:
    body, first = params["body"], params["cond_consts"]
    at = first + params["body_consts"]
    entry = entry_of(params["cond"], body, (first, at - first), None, ())
    spans, _ = of_carries(body, args[first:at], args[at:], entry)
    return spans + [None] * (len(body.outs) - len(args[at:]))


_REGIONS: dict[type, Callable[..., list[Span]]] = {
    CondRegion: _of_cond,
    ScanRegion: _of_scan,
    WhileRegion: _of_while,
}
