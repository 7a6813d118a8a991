"""Loops of a program as calls of themselves with a schedule, by which their derivative keeps few states (`sweeps`)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.plans.binomial import Schedule, ways
from tracejit.control.plans.spilled import as_while, can_be_spilled
from tracejit.control.plans.weights import room, work
from tracejit.control.regions.rules import Typed, build
from tracejit.control.scan.op import bind_scan
from tracejit.control.scan.operands import Parts, split
from tracejit.interpreters.core import eval_jaxpr
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, has_side_effects
from tracejit.ir.kernel import ScanRegion
from tracejit.tracing import bind

#: A jaxpr on raw values, so that its derivative keeps what a schedule says: its operands, where there is none.
Again = Callable[[Jaxpr, Sequence[Any], Schedule | None], list[Any]]

_SHORTEST = 4  # steps below which a loop is left as it is
_BLOCK = 16  # steps for each state in a file
_ONE_BY_ONE = 4  # loops that get a schedule one after another, before all others do


def loops_of(jaxpr: Jaxpr) -> list[int]:
    """The numbers of the equations that are loops that can have a schedule, those first that hand on most."""
    found = [n for n, e in enumerate(jaxpr.eqns) if _can_be_cut(e)]
    return sorted(found, key=lambda n: -_handed_on(jaxpr.eqns[n]) * jaxpr.eqns[n].params["length"])


def spilled_of(jaxpr: Jaxpr) -> dict[int, Schedule]:
    """The schedules of the loops that can have their states in a file, by the numbers of their equations."""
    found = {n: on_disk(jaxpr.eqns[n].params["length"]) for n in loops_of(jaxpr)}
    found.update((n, on_disk(None)) for n, e in enumerate(jaxpr.eqns) if can_be_spilled(e))
    return found


def _can_be_cut(eqn: Eqn) -> bool:
    if not isinstance(eqn.op.kernel, ScanRegion) or has_side_effects(eqn.effects):
        return False
    static = all(a.aval.is_static for a in (*eqn.invars, *eqn.outvars))
    return static and (eqn.params["length"] or 0) >= _SHORTEST


def _handed_on(eqn: Eqn) -> int:
    """A measure of what reverse mode keeps of a step: the results of all its equations."""
    return sum(room(v.aval) for e in eqn.params["jaxpr"].eqns for v in e.outvars)


def _ways(eqn: Eqn, budget: int, needed: int) -> list[Schedule]:
    """Schedules that a loop may have within a budget. `needed`: bytes that the derivative needs without any."""
    length = eqn.params["length"]
    state = max(1, sum(room(v.aval) for v in split(eqn.invars, eqn.params).carry))
    weight = min(_handed_on(eqn), needed / length) / state
    return list(ways(length, max(weight, 0.5), budget / state))


def on_disk(length: int | None) -> Schedule:
    """The schedule of a loop whose states are in a file: blocks are short, since what a block keeps is in memory."""
    return Schedule(0, _BLOCK if length is None else max(1, min(_BLOCK, math.isqrt(length))), disk=True)


def schedules(jaxpr: Jaxpr, budget: int, needed: int) -> Iterator[dict[int, Schedule]]:
    """Schedules for the loops of a program, to those with the least memory, each costing more than the last: number of
    the equation -> schedule. The loops that hand on most get theirs first."""
    loops = loops_of(jaxpr)
    chosen: dict[int, Schedule] = {}
    found = [_ways(jaxpr.eqns[n], budget, needed) for n in loops]
    for at in itertools.zip_longest(*found):
        changed = [(n, way) for n, way in zip(loops, at, strict=True) if way is not None]
        for n, way in changed[:_ONE_BY_ONE]:
            chosen[n] = way
            yield dict(chosen)
        if changed[_ONE_BY_ONE:]:
            chosen.update(changed)
            yield dict(chosen)


def again_share(jaxpr: Jaxpr, chosen: Mapping[int, Schedule]) -> float:
    """The cost of the steps that loops with these schedules do again, over that of the program."""
    again = ((1 + s.again(jaxpr.eqns[n].params["length"])) * work(jaxpr.eqns[n]) for n, s in chosen.items())
    return sum(again) / (sum(map(work, jaxpr.eqns)) or 1.0)


def scheduled(jaxpr: Jaxpr, chosen: Mapping[int, Schedule], again: Again) -> Jaxpr:
    """`jaxpr` with schedules for the loops that are equations number n. Results are the same."""
    if not chosen:
        return jaxpr

    def fn(*args: Any) -> list[Any]:
        env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
        for n, e in enumerate(jaxpr.eqns):
            operands = [a.value if type(a) is Literal else env[a] for a in e.invars]
            schedule = chosen.get(n)
            if schedule is not None and e.params.get("length") is None:
                whole, given, first = as_while(operands, e)
                outs: Any = again(whole, given, schedule)[first:]
            elif schedule is not None:
                outs = _loop(operands, e.params, schedule, again)
            else:
                outs = bind(e.op, *operands, **e.params)
            env.update(zip(e.outvars, outs if e.op.multi else [outs], strict=True))
        return [a.value if type(a) is Literal else env[a] for a in jaxpr.outs]

    return build(fn, jaxpr.invars, jaxpr.name)


def _loop(operands: list[Any], params: dict[str, Any], schedule: Schedule, again: Again) -> list[Any]:
    """The results of a scan: the steps that are whole blocks by the schedule, and the rest in one block."""
    parts, length = split(operands, params), params["length"]
    whole = length - length % schedule.width

    def run(carry: list[Any], start: int, stop: int, plan: Schedule | None) -> tuple[list[Any], list[Any]]:
        if start == stop:
            return carry, []
        xs = [_cut(x, start, stop) for x in parts.xs]
        body = params["jaxpr"] if start == 0 else _later(params["jaxpr"], start)
        settings = {"length": stop - start, "reverse": params["reverse"], "bound": None}
        counts = len(parts.consts), len(carry)

        def loop(*args: Any) -> list[Any]:
            a, b = counts[0], sum(counts)
            return bind_scan(Parts([], list(args[:a]), list(args[a:b]), list(args[b:])), body, settings)

        values = [*parts.consts, *carry, *xs]
        jaxpr = build(loop, [Typed(aval_of(x), getattr(x, "bounds", None)) for x in values], body.name)
        outs = again(jaxpr, values, plan)
        return outs[: len(carry)], outs[len(carry) :]

    blocks, rest = (0, whole, schedule), (whole, length, None)
    carry, ys = parts.carry, {}
    for part in (rest, blocks) if params["reverse"] else (blocks, rest):
        carry, ys[part[0]] = run(carry, *part)
    if whole == length:
        return [*carry, *ys[0]]
    joined = [ops.concat.concatenate(a, b, dimension=0) for a, b in zip(ys[0], ys[whole], strict=True)]
    return [*carry, *joined]


def _later(body: Jaxpr, start: int) -> Jaxpr:
    """The body of a loop for rows from `start` on."""

    def step(i: Any, *rest: Any) -> list[Any]:
        return eval_jaxpr(body, [ops.arithmetic.add(i, np.int64(start)), *rest])

    return build(step, body.invars, body.name)


def _cut(x: Any, start: int, stop: int) -> Any:
    shape = aval_of(x).shape
    if start == 0 and stop == shape[0]:
        return x
    begin, end = (start, *(0,) * (len(shape) - 1)), (stop, *shape[1:])
    return ops.slices.slice(x, start_indices=begin, limit_indices=end)
