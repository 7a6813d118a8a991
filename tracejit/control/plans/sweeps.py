"""A loop that keeps the states of a schedule for its derivative, and reaches the others from these on the way back.

Three programs, of a scan whose steps are taken in blocks. The first half is the loop itself, which puts states into
slots, or into a file, as it passes. Tangents need no slots: they go with the loop, done again. Cotangents go back over
the blocks: for each one, the state before it is reached (`binomial.Reach`) or read, the block is linearized there, and
its transpose applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.callbacks.ops import pure_callback_op
from tracejit.control.callbacks.spilling import Site
from tracejit.control.custom.linear_call import linear_call_op
from tracejit.control.plans.binomial import Reach, Schedule, reaches
from tracejit.control.regions.rules import Typed, build, flags, pick, spread, union, zero_tangents
from tracejit.control.scan.op import bind_scan
from tracejit.control.scan.operands import Parts, split
from tracejit.control.while_loop.op import while_op
from tracejit.control.while_loop.operands import WhileParts, bind_while
from tracejit.interpreters.autodiff.jvp import jvp_jaxpr
from tracejit.interpreters.autodiff.linearize import linearize_jaxpr
from tracejit.interpreters.autodiff.transpose import transpose_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Eqn, Jaxpr
from tracejit.ir.kernel import ScanRegion
from tracejit.ir.values import Zero
from tracejit.ops.building.helpers import instantiate
from tracejit.records import record
from tracejit.tracing import bind

_ONE, _ZERO = np.int64(1), np.int64(0)
INDEX = Typed(aval_of(_ZERO))


@record(frozen=True)
class Sweeps:
    """forward: operands -> (*results, *slots); tangent: (*operands, *slots, *tangents) -> tangents of results;
    backward: (*operands, *slots, *cotangents of results) -> cotangents of operands, those that are not zero."""

    forward: Jaxpr
    tangent: Jaxpr
    backward: Jaxpr
    out_nonzero: tuple[bool, ...]


def linearize(
    tape: Any, primals: Sequence[Any], tangents: Sequence[Any], jaxpr: Jaxpr, schedule: Schedule
) -> tuple[list[Any], list[Any]] | None:
    """The rule for a loop that is a program of its own; None if the program is something else by now (a batch)."""
    loop = _loop_of(jaxpr)
    if loop is None or loop.params["length"] % schedule.width:
        return None
    return record_sweeps(tape, primals, tangents, jaxpr, _sweeps(jaxpr, schedule, flags(tangents)))


def record_sweeps(
    tape: Any, primals: Sequence[Any], tangents: Sequence[Any], jaxpr: Jaxpr, sweeps: Sweeps
) -> tuple[list[Any], list[Any]]:
    """The results and tangents of a loop of which these are the programs."""
    nonzero = flags(tangents)
    outs = eval_jaxpr(sweeps.forward, list(primals))
    values, slots = outs[: len(jaxpr.outs)], outs[len(jaxpr.outs) :]
    ts: list[Any] = []
    if any(sweeps.out_nonzero):
        params: dict[str, Any] = {"jaxpr": sweeps.tangent, "transposed": sweeps.backward, "name": jaxpr.name}
        params["residuals"] = len(primals) + len(slots)
        ts = tape.record(linear_call_op, (*primals, *slots, *pick(tangents, nonzero)), params)
    return values, spread(ts, sweeps.out_nonzero, zero_tangents(values))


def _loop_of(jaxpr: Jaxpr) -> Eqn | None:
    """The scan that a program is, from its inputs to its results."""
    if len(jaxpr.eqns) != 1:
        return None
    (e,) = jaxpr.eqns
    same = tuple(e.invars) == tuple(jaxpr.invars) and tuple(e.outvars) == tuple(jaxpr.outs)
    return e if same and isinstance(e.op.kernel, ScanRegion) and e.params["length"] else None


@memoize_by_jaxpr
def _sweeps(jaxpr: Jaxpr, schedule: Schedule, nonzero: tuple[bool, ...]) -> Sweeps:
    loop = _loop_of(jaxpr)
    assert loop is not None
    return _Blocks(jaxpr, loop, schedule, nonzero).sweeps()


class _Blocks:
    """The loop in blocks. A block takes (first row, *consts, *carry, *rows) and gives (*carry, *ys); the rows of all
    are axes of their own, (blocks, width, ...). `row` is the place of a block among these, which for a loop that goes
    backwards is not its place in time."""

    def __init__(self, jaxpr: Jaxpr, loop: Eqn, schedule: Schedule, nonzero: tuple[bool, ...]) -> None:
        self.jaxpr, self.nonzero, self.width = jaxpr, nonzero, schedule.width
        self.body: Jaxpr = loop.params["jaxpr"]
        self.reverse: bool = loop.params["reverse"]
        self.count: int = loop.params["length"] // self.width
        self.parts = split(jaxpr.invars, loop.params)
        self.site = Site([v.aval for v in self.parts.carry]) if schedule.disk else None
        self.slots = min(schedule.slots, self.count)
        self.reaches = [] if schedule.disk else reaches(self.count, self.slots)
        carry, xs = len(self.parts.carry), [_blocked(v.aval, self.count, self.width) for v in self.parts.xs]
        #: What lies between the two halves: the slots of each carry, or the number of the file.
        self.kept = [v.aval.with_shape((self.slots + 1, *v.aval.shape)) for v in self.parts.carry]
        self.kept = [aval_of(_ZERO)] if schedule.disk else self.kept
        self.rows = [Typed(a.with_shape(a.shape[1:])) for a in xs]
        self.block = build(self._steps, [INDEX, *self.parts.consts, *self.parts.carry, *self.rows])
        self.advance = Jaxpr(self.block.invars, self.block.eqns, self.block.outs[:carry], jaxpr.name)
        self.flags = [list(split(nonzero, loop.params).consts), list(split(nonzero, loop.params).carry)]
        self.flags.append(list(split(nonzero, loop.params).xs))
        self._linearize(carry)

    def _steps(self, first: Any, *args: Any) -> list[Any]:
        """What a block does."""
        consts, carry, xs = self._taken(args)
        index, *others = self.body.invars
        known = others[: len(consts) + len(carry)]

        def step(i: Any, first: Any, *rest: Any) -> list[Any]:
            return eval_jaxpr(self.body, [ops.arithmetic.add(i, first), *rest])

        body = build(step, [Typed(index.aval, index.bounds), INDEX, *known, *others[len(known) :]])
        params = {"length": self.width, "reverse": self.reverse, "bound": None}
        return bind_scan(Parts([], [first, *consts], carry, xs), body, params)

    def _linearize(self, carry: int) -> None:
        """The block's two halves, the second one transposed, where a carry has a tangent if any step gives it one."""
        consts_nz, carry_nz, xs_nz = (tuple(f) for f in self.flags)
        while True:
            given = (False, *consts_nz, *carry_nz, *xs_nz)
            forward, linear, out_nz, _ = linearize_jaxpr(self.block, given)
            wider = union(carry_nz, out_nz[:carry])
            if wider == carry_nz:
                break
            carry_nz = wider
        self.ys_nz = out_nz[carry:]
        if out_nz[:carry] != carry_nz:
            forward, linear, _, _ = linearize_jaxpr(self.block, given, (*carry_nz, *self.ys_nz))
        self.consts_nz, self.carry_nz, self.xs_nz = consts_nz, carry_nz, xs_nz
        residuals = len(forward.outs) - len(self.block.outs)
        linears = (*(False for _ in range(residuals)), *(True for _ in linear.invars[residuals:]))
        self.back, self.back_nz = transpose_jaxpr(linear, linears, (True,) * len(linear.outs))
        self.first = Jaxpr(forward.invars, forward.eqns, forward.outs[len(self.block.outs) :], forward.name)

    def _taken(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """(consts, carry, xs) of a row of values."""
        a = len(self.parts.consts)
        b = a + len(self.parts.carry)
        return list(args[:a]), list(args[a:b]), list(args[b:])

    def place(self, row: Any) -> Any:
        """The place in time of a block, or the row of one at a place in time."""
        return ops.arithmetic.sub(np.int64(self.count - 1), row) if self.reverse else row

    def first_row(self, row: Any) -> Any:
        return ops.arithmetic.mul(row, np.int64(self.width))

    def table(self, values: Sequence[int]) -> np.ndarray:
        """Numbers by place in time, as numbers by row."""
        found = np.array(values, np.int64)
        return found[::-1].copy() if self.reverse else found

    def over_rows(self, body: Any, consts: list[Any], carry: list[Any], xs: list[Any], reverse: bool) -> Any:
        """A loop over all blocks: body(row, consts, carry, xs) -> (carry, ys)."""
        counts = len(consts), len(consts) + len(carry)

        def flat(row: Any, *args: Any) -> list[Any]:
            new, ys = body(row, args[: counts[0]], args[counts[0] : counts[1]], list(args[counts[1] :]))
            return [*new, *ys]

        given = [aval_of(x) for x in xs]
        types = [*map(Typed, map(aval_of, (*consts, *carry)))]
        built = build(
            flat, [INDEX, *types, *(Typed(a.with_shape(a.shape[1:])) for a in given)], self.jaxpr.name
        )
        params = {"length": self.count, "reverse": reverse, "bound": None}
        outs = bind_scan(Parts([], consts, carry, xs), built, params)
        return outs[: len(carry)], outs[len(carry) :]

    # -- the three programs

    def sweeps(self) -> Sweeps:
        given, kept = list(self.jaxpr.invars), [Typed(a) for a in self.kept]
        out_nz = (*self.carry_nz, *self.ys_nz)
        cts = [Typed(v.aval.tangent()) for v in pick(self.jaxpr.outs, out_nz)]
        ts = [Typed(v.aval.tangent()) for v in pick(given, self.nonzero)]
        name = self.jaxpr.name
        forward = build(self._forward, given, name)
        tangent = build(self._tangent, [*given, *kept, *ts], name)
        return Sweeps(forward, tangent, build(self._backward, [*given, *kept, *cts], name), out_nz)

    def _forward(self, *args: Any) -> list[Any]:
        consts, carry, xs = self._taken(args)
        zeros = [ops.shape.broadcast_to(a.dtype.type(0), a.shape) for a in self.kept]

        def body(row: Any, consts: Any, state: Any, xs: list[Any]) -> Any:
            carry, kept = state[: len(self.parts.carry)], state[len(self.parts.carry) :]
            kept = self._keep(row, carry, kept, xs[0])
            outs = eval_jaxpr(self.block, [self.first_row(row), *consts, *carry, *xs[1:]])
            return [*outs[: len(carry)], *kept], outs[len(carry) :]

        rows = [self.table(self._targets()), *map(self._in_blocks, xs)]
        state, ys = self.over_rows(body, consts, [*carry, *zeros], rows, self.reverse)
        return [*state[: len(carry)], *map(_joined, ys), *state[len(carry) :]]

    def _keep(self, row: Any, carry: Sequence[Any], kept: Sequence[Any], slot: Any) -> list[Any]:
        """The slots, or the number of the file, with the state before a block put there."""
        if self.site is None:
            return [_put(s, c, slot) for s, c in zip(kept, carry, strict=True)]
        store = self.site.store
        params = {"callback": store, "results": store.results, "vmap_method": "broadcast_all"}
        return list(bind(pure_callback_op, *kept, self.place(row), *carry, **params))

    def _targets(self) -> list[int]:
        """For each block in time the slot to which its state goes: that of the next state that is kept, which so goes
        there last. Behind the last one there is a slot for what nobody needs."""
        stored = {0: 0, **dict(self.reaches[-1].stores)} if self.reaches else {}
        places, slot = [], self.slots
        for place in reversed(range(self.count)):
            slot = stored.get(place, slot)
            places.append(slot)
        return places[::-1]

    def _tangent(self, *args: Any) -> list[Any]:
        known, ts = args[: len(self.jaxpr.invars)], args[len(self.jaxpr.invars) + len(self.kept) :]
        out_nz = (*self.carry_nz, *self.ys_nz)
        both, _ = jvp_jaxpr(self.jaxpr, self.nonzero, out_nz)
        return eval_jaxpr(both, [*known, *ts])[len(self.jaxpr.outs) :]

    def _backward(self, *args: Any) -> list[Any]:
        n, s = len(self.jaxpr.invars), len(self.kept)
        consts, _, xs = self._taken(args[:n])
        kept, cts = list(args[n : n + s]), list(args[n + s :])
        ct_carry, ct_ys = cts[: sum(self.carry_nz)], cts[sum(self.carry_nz) :]
        whole = [*map(self._in_blocks, xs)]
        tables, lists = self._tables()
        sums = [instantiate(Zero(v.aval.tangent())) for v in pick(self.parts.consts, self.consts_nz)]
        counts, t = (len(consts), len(consts) + len(whole)), len(tables)

        def body(row: Any, fixed: Any, state: Any, rows: list[Any]) -> Any:
            known, wholes = list(fixed[: counts[0]]), list(fixed[counts[0] : counts[1]])
            kept, cts, sums = state[:s], state[s : s + len(ct_carry)], state[s + len(ct_carry) :]
            how, rows = rows[:t], rows[t:]
            carry, kept = self._state(row, list(kept), known, wholes, fixed[counts[1] :], how)
            values = eval_jaxpr(self.first, [self.first_row(row), *known, *carry, *rows[: len(wholes)]])
            found = iter(eval_jaxpr(self.back, [*values, *cts, *rows[len(wholes) :]]))
            types = [v.aval for v in pick(self.block.invars[1:], self._given_nz())]
            new = [
                next(found) if nz else instantiate(Zero(a)) for a, nz in zip(types, self.back_nz, strict=True)
            ]
            a, b = len(sums), len(sums) + len(cts)
            added = [ops.arithmetic.add(x, y) for x, y in zip(sums, new[:a], strict=True)]
            return [*kept, *new[a:b], *added], new[b:]

        rows = [*tables, *whole, *map(self._in_blocks, ct_ys)]
        fixed = [*consts, *whole, *lists]
        state, ct_xs = self.over_rows(body, fixed, [*kept, *ct_carry, *sums], rows, not self.reverse)
        carries = spread(state[s : s + len(ct_carry)], self.carry_nz, [None] * len(self.parts.carry))
        return [*state[s + len(ct_carry) :], *pick(carries, tuple(self.flags[1])), *map(_joined, ct_xs)]

    def _state(
        self, row: Any, kept: list[Any], known: list[Any], rows: list[Any], lists: Sequence[Any], how: Any
    ) -> tuple[list[Any], list[Any]]:
        """The state before a block, and what is kept from then on."""
        if self.site is None:
            slot, begin, start, stop = how
            return _Reached(self, known, rows, lists).state(kept, slot, begin, start, stop, self.place(row))
        load = self.site.load
        params = {"callback": load, "results": load.results, "vmap_method": "broadcast_all"}
        return list(bind(pure_callback_op, *kept, self.place(row), **params)), kept

    def _given_nz(self) -> tuple[bool, ...]:
        return (*self.consts_nz, *self.carry_nz, *self.xs_nz)

    def _tables(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """By row: the slot from which a state is reached, its place, and the first and the last of its stores in two
        lists, of places and of slots."""
        if self.site is not None:
            return [], []
        found = list(self.reaches)
        last = found[-1]  # the first half has made its stores
        place, slot = last.stores[-1] if last.stores else (0, 0)
        found[-1] = Reach(slot, place)
        stores = [s for r in found for s in r.stores] or [(0, 0)]
        ends = np.cumsum([len(r.stores) for r in found]).tolist()
        columns = ([r.slot for r in found], [r.begin for r in found], [0, *ends[:-1]], ends)
        return [*map(self.table, columns)], [np.array(c, np.int64) for c in zip(*stores, strict=True)]

    def _in_blocks(self, x: Any) -> Any:
        return ops.shape.reshape(x, shape=_blocked(aval_of(x), self.count, self.width).shape)


class _Reached:
    """Reaches states: `known` are the constants of the loop, `rows` all rows in blocks, and `lists` the places and
    slots of what is stored on the way."""

    def __init__(self, blocks: _Blocks, known: list[Any], rows: list[Any], lists: Sequence[Any]) -> None:
        self.blocks, self.fixed, self.lists = blocks, [*known, *rows], list(lists)
        self.counts = len(known), len(blocks.kept)

    def state(
        self, slots: list[Any], slot: Any, begin: Any, start: Any, stop: Any, place: Any
    ) -> tuple[list[Any], list[Any]]:
        """The state before the block at `place`, and the slots with what was stored on the way."""
        s = self.counts[1]
        types = [Typed(aval_of(x)) for x in self.fixed]
        lists = [Typed(aval_of(x)) for x in self.lists]
        carry = [_get(x, slot) for x in slots]
        inner = [INDEX, INDEX, *(Typed(aval_of(x)) for x in (*carry, *slots))]

        def store(*args: Any) -> list[Any]:
            fixed, (places, into), (n, at, *state) = (
                args[: len(types)],
                args[len(types) : len(types) + 2],
                args[len(types) + 2 :],
            )
            target, slot = _get(places, n), _get(into, n)
            carry = self.forth(fixed, at, state[:s], target)
            slots = [_put(x, c, slot) for x, c in zip(state[s:], carry, strict=True)]
            return [ops.arithmetic.add(n, _ONE), target, *carry, *slots]

        body = build(store, [*types, *lists, *inner])
        cond = build(lambda stop, n, *_: [ops.compare.lt(n, stop)], [INDEX, *inner])
        parts = WhileParts([stop], [*self.fixed, *self.lists], [start, begin, *carry, *slots])
        _, at, *state = bind_while(while_op, parts, cond, body)
        return self.forth(self.fixed, at, state[:s], place), state[s:]

    def forth(self, fixed: Sequence[Any], at: Any, carry: Sequence[Any], target: Any) -> list[Any]:
        """The state before the block at the place `target`, from that before the one at `at`."""
        blocks, known = self.blocks, self.counts[0]
        types = [Typed(aval_of(x)) for x in fixed]
        inner = [INDEX, *(Typed(aval_of(x)) for x in carry)]

        def step(*args: Any) -> list[Any]:
            fixed, (at, *carry) = args[: len(types)], args[len(types) :]
            row = blocks.place(at)
            rows = [_get(x, row) for x in fixed[known:]]
            given = [blocks.first_row(row), *fixed[:known], *carry, *rows]
            return [ops.arithmetic.add(at, _ONE), *eval_jaxpr(blocks.advance, given)]

        body = build(step, [*types, *inner])
        cond = build(lambda target, at, *_: [ops.compare.lt(at, target)], [INDEX, *inner])
        parts = WhileParts([target], list(fixed), [at, *carry])
        return bind_while(while_op, parts, cond, body)[1:]


def _blocked(aval: Aval, count: int, width: int) -> Aval:
    return aval.with_shape((count, width, *aval.shape[1:]))


def _joined(x: Any) -> Any:
    shape = aval_of(x).shape
    return ops.shape.reshape(x, shape=(shape[0] * shape[1], *shape[2:]))


def _get(x: Any, n: Any) -> Any:
    """x[n]."""
    shape = aval_of(x).shape
    row = ops.index.dynamic_slice(x, n, *(_ZERO,) * (len(shape) - 1), sizes=(1, *shape[1:]))
    return ops.shape.reshape(row, shape=shape[1:])


def _put(x: Any, row: Any, n: Any) -> Any:
    """`x` with x[n] = row."""
    shape = aval_of(x).shape
    row = ops.shape.reshape(row, shape=(1, *shape[1:]))
    return ops.index.dynamic_update_slice(x, row, n, *(_ZERO,) * (len(shape) - 1))
