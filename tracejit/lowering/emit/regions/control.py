"""Regions: conditionals, while loops and scans as native control flow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.ir.avals import Dim, Shape
from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Var
from tracejit.ir.kernel import Pointwise
from tracejit.lowering.emit.regions.carries import Carries, target_of, value_of
from tracejit.lowering.emit.regions.rowblocks import place_rows
from tracejit.lowering.emit.regions.spans import entry_of
from tracejit.lowering.emit.regions.tape import Tape
from tracejit.lowering.loops.nodes import I64, Block, Comment, For, Inst, Slot, Store, While
from tracejit.lowering.loops.ranges import hull
from tracejit.lowering.loops.uses import is_check, is_place
from tracejit.lowering.notes import Notes, room, type_of
from tracejit.lowering.plan.access import Scalar, Slice, Stored
from tracejit.lowering.plan.context import loops
from tracejit.lowering.plan.groups import Storage

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body


def _start(body: Body, eqn: Eqn) -> None:
    """Copy the initial values that are not in their place yet."""
    for operand, output in body.plan.copies.get(eqn, {}).items():
        body.fill(body.place(eqn.outvars[output]), eqn.invars[operand])


# ---------------------------------------------------------------- scan


def emit_scan(body: Body, eqn: Eqn) -> None:
    """A For loop. Slices of xs are views; rows of ys are written where they end."""
    params, k = eqn.params, body.k
    first = int(params["length"] is None)
    n_consts, n_carry, inner = params["consts"], params["carry"], params["jaxpr"]
    if body.ctx.notes is not None:
        _note_rows(body, eqn, body.ctx.notes)
    consts = eqn.invars[first : first + n_consts]
    inits = eqn.invars[first + n_consts : first + n_consts + n_carry]
    xs = eqn.invars[first + n_consts + n_carry :]
    place_rows(body, eqn)
    ys = [body.place(v) if v in body.plan.storage else None for v in eqn.outvars[n_carry:]]
    used = [*range(n_carry), *(n_carry + n for n, y in enumerate(ys) if y is not None)]
    carries = Carries(body, inits, eqn.outvars[:n_carry], inner, consts, 1 + n_consts, used)
    carries.start(_carry_copies(body, eqn), params["length"])
    values = {v: value_of(body, a) for v, a in zip(inner.invars[1:], consts, strict=False)}
    sources = [value_of(body, a) for a in xs]
    length = body.scalar(eqn.invars[0], I64) if first else params["length"]
    alone = not n_carry and inner.effects <= {"error"}
    down = params["reverse"] and not (alone and not inner.effects)  # otherwise the order means nothing
    with _loop(body, 0, length, down, alone) as i:
        values[inner.invars[0]] = Scalar(i)
        values.update(carries.values())
        for v, source in zip(inner.invars[1 + n_consts + n_carry :], sources, strict=True):
            values[v] = _slice(body, source, v, i)
        rows = [None if y is None else y.row(k, i) for y in ys]
        _step(body, inner, values, carries, list(zip(rows, eqn.outvars[n_carry:], strict=True)))
    carries.finish()
    for v, y in zip(eqn.outvars[n_carry:], ys, strict=True):
        if y is not None:
            body.define(v)


def _note_rows(body: Body, eqn: Eqn, notes: Notes) -> None:
    """Note what each step of a loop keeps for others, which is no result of the program."""
    rows = [
        v for v in eqn.outvars[eqn.params["carry"] :] if v in body.plan.storage and v not in body.jaxpr.outs
    ]
    if rows:
        sizes = {"bytes": sum(room(v.aval) for v in rows), "arrays": ", ".join(type_of(v.aval) for v in rows)}
        notes.add(
            "rows", f"loop of {eqn.params['length'] or 'n'} steps", eqn.source, count=len(rows), **sizes
        )


def _carry_copies(body: Body, eqn: Eqn) -> dict[int, int]:
    """Operand -> carry, for the initial values that are not in their place yet."""
    return body.plan.copies.get(eqn, {})


def _step(body: Body, inner: Jaxpr, values: dict[Var, Any], carries: Carries, rows: list[Any]) -> None:
    """Lower a step: the carries of the next one, and the rows where they end. `rows` has (place, or None for
    one that nobody reads; output of the loop that it is a row of)."""
    count = len(carries.vars)
    owned, targets = carries.storages()
    trailing = zip(inner.outs[count:], rows, strict=True)
    targets += [_row_target(body, a, row, v.aval.shape[1:]) for a, (row, v) in trailing]
    scalars = _run(body, inner, values, owned, targets, carries.used)
    for n, (row, _) in enumerate(rows, count):
        if row is not None and not inner.outs[n].aval.shape:
            body.put(row, (), scalars[n])
    carries.set(scalars)


#: Instructions of an iteration that are taken for several at once: more would not stay in registers.
_MOST_VECTOR = 100


class _loop:
    """A For loop whose invariant code may leave it, as a context with its body as the current home."""

    def __init__(self, body: Body, start: Any, stop: Any, down: bool, independent: bool) -> None:
        self.ctx = body.ctx
        self.manager = body.k.loop(start, stop, down=down, independent=independent)

    def __enter__(self) -> Any:
        i = self.manager.__enter__()
        self.outer, self.ctx.body = self.ctx.body, self.ctx.k.block
        return i

    def __exit__(self, *exc: Any) -> None:
        self.ctx.body = self.outer
        self.manager.__exit__(*exc)
        node = self.ctx.k.block.stmts[-1]
        node.vector = node.independent and _is_of_elements(node)


def _is_of_elements(node: For) -> bool:
    """Whether the iterations of a loop are elements, as those of a nest are: they compute numbers, and store them at
    the place of the iteration."""
    made = {s.out: s for s in node.body.stmts if isinstance(s, Inst)}
    stores = [s for s in node.body.stmts if isinstance(s, Store)]
    if not stores or any(is_check(s) or isinstance(s.attr, Slot) for s in made.values()):
        return False
    if len(made) > _MOST_VECTOR or any(not isinstance(s, (Inst, Store, Comment)) for s in node.body.stmts):
        return False
    written = {s.buffer for s in stores}
    apart = all(is_place(s.index, node.var, made) for s in stores)
    return apart and not any(s.op == "load" and s.attr in written for s in made.values())


def _slice(body: Body, source: Any, var: Var, i: Any) -> Any:
    """Slice `i` of a scanned value."""
    return source.row(body.k, i) if type(source) is Stored else Slice(source, var.aval, i)


def _row_target(body: Body, atom: Atom, row: Stored | None, outer: Shape) -> Storage | None:
    """Where a row of ys goes, whose shape is `outer` in the terms of the surrounding program."""
    if row is None or not atom.aval.shape:
        return None
    if any(isinstance(d, Dim) and d.bound is not None for d in atom.aval.shape):
        _clear(body, atom, row, outer)
    return target_of(row, atom.aval.shape)


def _clear(body: Body, atom: Atom, row: Stored, outer: Shape) -> None:
    """Zeros for the part of a row that its dynamic shape leaves out; extents without a bound leave out none."""
    shape = [d.bound if isinstance(d, Dim) and d.bound is not None else d for d in outer]
    with loops(body, shape) as idx:
        body.put(row, idx, body.k.const(0, atom.aval.dtype))


def _run(
    body: Body,
    inner: Jaxpr,
    values: dict[Var, Any],
    owned: dict[Var, Storage],
    targets: list[Any],
    used: list[int],
) -> list[Any]:
    """Lower a body's used outputs; the scalars of all outputs (None where there is none)."""
    needed = Jaxpr(inner.invars, inner.eqns, tuple(inner.outs[n] for n in used), inner.name)
    got = body.nested(needed, dict(values), owned, [targets[n] for n in used]).run()
    out: list[Any] = [None] * len(inner.outs)
    for n, x in zip(used, got, strict=True):
        out[n] = x
    return out


# ---------------------------------------------------------------- while


def emit_while(body: Body, eqn: Eqn) -> None:
    """A While loop whose head computes the condition; its rows go to a tape."""
    params, k, ctx = eqn.params, body.k, body.ctx
    n_cond, n_body = params["cond_consts"], params["body_consts"]
    cond, inner = params["cond"], params["body"]
    inits = eqn.invars[n_cond + n_body :]
    ys = eqn.outvars[len(inits) :]
    read = [v for v in ys if v in body.plan.storage]
    used = [*range(len(inits)), *(n for n, v in enumerate(ys, len(inits)) if v in read)]
    consts = eqn.invars[: n_cond + n_body]
    entry = entry_of(cond, inner, (n_cond, n_body), body.jaxpr, inits)
    carries = Carries(body, inits, eqn.outvars[: len(inits)], inner, consts[n_cond:], n_body, used, entry)
    carries.start(_carry_copies(body, eqn), None)
    tape = Tape(body, [v.aval.with_shape(v.aval.shape[1:]) for v in read])
    fields = dict(zip(read, tape.fields, strict=True))
    rows: dict[Var, Stored] = {}
    given = [value_of(body, a) for a in consts]
    node = While(Block(), None, Block())
    k.emit(node)
    outer, ctx.body = ctx.body, node.body
    with k.into(node.head):
        values = dict(zip(cond.invars, given[:n_cond], strict=False))
        values.update(zip(cond.invars[n_cond:], carries.values(inside=False).values(), strict=True))
        (node.cond,) = body.nested(cond, values, {}, [None]).run()
    with k.into(node.body):
        values = dict(zip(inner.invars, given[n_cond:], strict=False))
        values.update(carries.values())
        if fields:
            count = values[carries.vars[0]].operand
            tape.push(count)
            rows = {v: field.row(k, count) for v, field in fields.items()}
        _step(body, inner, values, carries, [(rows.get(v), v) for v in ys])
    ctx.body, node.most = outer, carries.most
    carries.finish()
    for v, field in fields.items():
        body.plan.storage[v].stored = field
        body.define(v)


# ---------------------------------------------------------------- cond

#: What the operations of two branches may cost together if both are computed (`Pointwise.cost`).
_MOST_WORK = 20


def emit_cond(body: Body, eqn: Eqn) -> None:
    """If statements; only the branch taken runs."""
    k = body.k
    starts = body.plan.starts[eqn]
    _start(body, eqn)
    values = [value_of(body, a) if n + 1 not in starts else None for n, a in enumerate(eqn.invars[1:])]
    slots: dict[int, Any] = {}
    for n, v in enumerate(eqn.outvars):
        if not v.aval.shape:
            slots[n] = k.slot(k.const(0, v.aval.dtype), "out"), []
    places = {n: body.place(v) for n, v in enumerate(eqn.outvars) if v in body.plan.storage}
    index = body.read(eqn.invars[0], ())
    numbers = k.noted is None and index.dtype == np.bool_ and not places and not starts
    if numbers and _checked_numbers(eqn.params["branches"]):
        _both(body, eqn, index, values, slots)
    else:
        _branches(body, eqn, index, 0, values, slots, places)
    for n, v in enumerate(eqn.outvars):
        if n in slots:
            slot, ranges = slots[n]
            body.values[v] = Scalar(k.within(k.get(slot), hull(ranges)))
        elif n in places:
            body.define(v)


def _checked_numbers(branches: tuple[Jaxpr, ...]) -> bool:
    """Whether branches are a few operations on numbers, some of them checks."""
    eqns = [e for b in branches for e in b.eqns]
    kernels = [e.op.kernel for e in eqns if all(not a.aval.shape for a in e.invars)]
    costs = [kernel.cost for kernel in kernels if isinstance(kernel, Pointwise)]
    return any(e.effects for e in eqns) and len(costs) == len(eqns) and sum(costs) <= _MOST_WORK


def _both(body: Body, eqn: Eqn, index: Any, values: Any, slots: Any) -> None:
    """Both branches are computed, and one is chosen: a jump that cannot be predicted costs more. LLVM does that itself
    for branches without checks. If a check fails in the one that is chosen, that is computed again, with its checks,
    which end the program: so what comes after reads the choice, and no value depends on whether a check failed."""
    k, found, failed = body.k, [], []
    for branch in eqn.params["branches"]:
        failed.append(k.slot(k.const(0, I64), "failed"))
        with k.noting(failed[-1]):
            args = dict(zip(branch.invars, values, strict=True))
            found.append(_run(body, branch, args, {}, [None] * len(branch.outs), sorted(slots)))
    no, yes = (k.ne(k.get(slot), 0) for slot in failed)
    with k.when(k.select(index, yes, no)):
        _branches(body, eqn, index, 0, values, slots, {})
    for n, (slot, ranges) in slots.items():
        no, yes = (scalars[n] for scalars in found)
        k.set(slot, k.select(index, yes, no))
        ranges[:] = [k.range_of(no), k.range_of(yes)]


def _branches(body: Body, eqn: Eqn, index: Any, n: int, values: Any, slots: Any, places: Any) -> None:
    """Branch n if the index is n (or less), otherwise the later ones."""
    branches, k = eqn.params["branches"], body.k
    if n == len(branches) - 1:
        _branch(body, eqn, branches[n], values, slots, places)
        return
    chosen = k.not_(index) if index.dtype == np.bool_ else k.le(index, n)
    with k.when(chosen) as node:
        _branch(body, eqn, branches[n], values, slots, places)
    with k.into(node.orelse):
        _branches(body, eqn, index, n + 1, values, slots, places)


def _branch(body: Body, eqn: Eqn, branch: Jaxpr, values: Any, slots: Any, places: Any) -> None:
    k, owned = body.k, dict[Var, Storage]()
    args = dict(zip(branch.invars, values, strict=True))
    targets: list[Any] = [None] * len(branch.outs)
    for n, place in places.items():
        targets[n] = target_of(place, branch.outs[n].aval.shape)
    for operand, output in body.plan.starts[eqn].items():
        v = branch.invars[operand - 1]
        args[v] = replace(places[output], since=k.depth)
        targets[output].owner = v
        owned[v] = targets[output]
    used = [n for n in range(len(branch.outs)) if n in slots or n in places]
    scalars = _run(body, branch, args, owned, targets, used)
    for n, (slot, ranges) in slots.items():
        k.set(slot, scalars[n])
        ranges.append(k.range_of(scalars[n]))
