"""Regions: conditionals, while loops and scans as native control flow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.ir.avals import Dim, Shape
from tracejit.ir.jaxpr import Atom, Eqn, Jaxpr, Literal, Var
from tracejit.lowering.access import Inline, Scalar, Slice, Stored, is_contiguous
from tracejit.lowering.context import loops
from tracejit.lowering.loopir import I64, Block, While
from tracejit.lowering.plan import Storage
from tracejit.lowering.roots import passed_through
from tracejit.lowering.views import as_view

if TYPE_CHECKING:
    from tracejit.lowering.emit import Body


def _value_of(body: Body, atom: Atom) -> Any:
    """An operand as a value that another scope can read: a buffer where it is a view of one."""
    if isinstance(atom, Literal):
        return Scalar(body.k.const(atom.value, atom.aval.dtype))
    value = body.stored(body.values[atom])
    if not atom.aval.shape:
        return Scalar(body.read(atom, ()))
    if type(value) is Inline:
        return as_view(body, value) or value
    return value


def _target(place: Stored, shape: Any, owner: Var | None = None) -> Storage:
    plain = is_contiguous(place, shape) or not all(type(d) is int for d in shape)
    return Storage(place, owner, plain)


class _Carries:
    """The carries of a loop: 0-d ones in slots, arrays in their own storage, updated in place."""

    def __init__(self, body: Body, inits: Any, outs: Any, passed: list[int]) -> None:
        self.body = body
        self.inits = inits
        self.outs = outs
        self.passed = set(passed)
        self.slots: dict[int, Any] = {}
        self.places: dict[int, Stored] = {}
        for n, a in enumerate(inits):
            if n in self.passed:
                continue
            if a.aval.shape:
                self.places[n] = body.place(outs[n])
            else:
                self.slots[n] = body.k.slot(body.read(a, ()), "carry")

    def values(self, invars: Any) -> dict[Var, Any]:
        """The carries as the values of a body's arguments, read now."""
        k, out = self.body.k, dict[Var, Any]()
        for n, v in enumerate(invars):
            if n in self.passed:
                out[v] = _value_of(self.body, self.inits[n])
            elif n in self.slots:
                out[v] = Scalar(k.get(self.slots[n]))
            else:
                out[v] = replace(self.places[n], since=k.depth)
        return out

    def storages(self, invars: Any) -> dict[Var, Storage]:
        """The storage of the array carries, owned by the body."""
        return {invars[n]: _target(p, invars[n].aval.shape, invars[n]) for n, p in self.places.items()}

    def targets(self, owned: dict[Var, Storage], invars: Any) -> list[Storage | None]:
        return [owned.get(v) for v in invars]

    def set(self, scalars: list[Any]) -> None:
        """The next iteration's 0-d carries."""
        for n, slot in self.slots.items():
            self.body.k.set(slot, scalars[n])

    def finish(self) -> None:
        """Make the results values of the scope around the loop."""
        body = self.body
        for n, (a, v) in enumerate(zip(self.inits, self.outs, strict=True)):
            if n in self.passed:
                _pass_on(body, a, v)
            elif n in self.slots:
                body.values[v] = Scalar(body.k.get(self.slots[n]))
            else:
                body.define(v)


def _pass_on(body: Body, atom: Atom, var: Var) -> None:
    if not var.aval.shape:
        body.values[var] = Scalar(body.read(atom, ()))
    elif var in body.plan.storage:
        body.fill(body.place(var), atom)
        body.define(var)
    else:
        body.values[var] = body.values[atom] if type(atom) is Var else None


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
    consts = eqn.invars[first : first + n_consts]
    inits = eqn.invars[first + n_consts : first + n_consts + n_carry]
    xs = eqn.invars[first + n_consts + n_carry :]
    _start(body, eqn)
    passed = passed_through(inner, 1 + n_consts, n_carry)
    carries = _Carries(body, inits, eqn.outvars[:n_carry], passed)
    ys = [body.place(v) if v in body.plan.storage else None for v in eqn.outvars[n_carry:]]
    values = {v: _value_of(body, a) for v, a in zip(inner.invars[1:], consts, strict=False)}
    sources = [_value_of(body, a) for a in xs]
    length = body.scalar(eqn.invars[0], I64) if first else params["length"]
    carry_vars = inner.invars[1 + n_consts : 1 + n_consts + n_carry]
    alone = not n_carry and inner.effects <= {"error"}
    down = params["reverse"] and not (alone and not inner.effects)  # otherwise the order means nothing
    with _loop(body, 0, length, down, alone) as i:
        values[inner.invars[0]] = Scalar(i)
        values.update(carries.values(carry_vars))
        for v, source in zip(inner.invars[1 + n_consts + n_carry :], sources, strict=True):
            values[v] = _slice(body, source, v, i)
        owned = carries.storages(carry_vars)
        rows = [None if y is None else y.row(k, i) for y in ys]
        targets = carries.targets(owned, carry_vars)
        outs = inner.outs
        used = [
            n
            for n in range(len(outs))
            if (n < n_carry and n not in passed) or (n >= n_carry and rows[n - n_carry] is not None)
        ]
        trailing = zip(outs[n_carry:], rows, eqn.outvars[n_carry:], strict=True)
        targets += [_row_target(body, a, r, v.aval.shape[1:]) for a, r, v in trailing]
        scalars = _run(body, inner, values, owned, targets, used)
        for n, row in enumerate(rows):
            if row is not None and not outs[n_carry + n].aval.shape:
                body.put(row, (), scalars[n_carry + n])
        carries.set(scalars)
    carries.finish()
    for v, y in zip(eqn.outvars[n_carry:], ys, strict=True):
        if y is not None:
            body.define(v)


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


def _slice(body: Body, source: Any, var: Var, i: Any) -> Any:
    """Slice `i` of a scanned value."""
    return source.row(body.k, i) if type(source) is Stored else Slice(source, var.aval, i)


def _row_target(body: Body, atom: Atom, row: Stored | None, outer: Shape) -> Storage | None:
    """Where a row of ys goes, whose shape is `outer` in the terms of the surrounding program."""
    if row is None or not atom.aval.shape:
        return None
    if any(isinstance(d, Dim) and d.bound is not None for d in atom.aval.shape):
        _clear(body, atom, row, outer)
    return _target(row, atom.aval.shape)


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
    """A While loop whose head computes the condition."""
    params, k, ctx = eqn.params, body.k, body.ctx
    n_cond, n_body = params["cond_consts"], params["body_consts"]
    cond, inner = params["cond"], params["body"]
    inits = eqn.invars[n_cond + n_body :]
    _start(body, eqn)
    passed = passed_through(inner, n_body, len(inits))
    carries = _Carries(body, inits, eqn.outvars, passed)
    consts = [_value_of(body, a) for a in eqn.invars[: n_cond + n_body]]
    node = While(Block(), None, Block())
    k.emit(node)
    outer, ctx.body = ctx.body, node.body
    with k.into(node.head):
        values = dict(zip(cond.invars, consts[:n_cond], strict=False))
        values.update(carries.values(cond.invars[n_cond:]))
        (node.cond,) = body.nested(cond, values, {}, [None]).run()
    with k.into(node.body):
        values = dict(zip(inner.invars, consts[n_cond:], strict=False))
        carry_vars = inner.invars[n_body:]
        values.update(carries.values(carry_vars))
        owned = carries.storages(carry_vars)
        used = [n for n in range(len(inits)) if n not in passed]
        carries.set(_run(body, inner, values, owned, carries.targets(owned, carry_vars), used))
    ctx.body = outer
    carries.finish()


# ---------------------------------------------------------------- cond


def emit_cond(body: Body, eqn: Eqn) -> None:
    """If statements; only the branch taken runs."""
    k = body.k
    starts = body.plan.starts[eqn]
    _start(body, eqn)
    values = [_value_of(body, a) if n + 1 not in starts else None for n, a in enumerate(eqn.invars[1:])]
    slots: dict[int, Any] = {}
    for n, v in enumerate(eqn.outvars):
        if not v.aval.shape:
            slots[n] = k.slot(k.const(0, v.aval.dtype), "out")
    places = {n: body.place(v) for n, v in enumerate(eqn.outvars) if v in body.plan.storage}
    index = body.read(eqn.invars[0], ())
    _branches(body, eqn, index, 0, values, slots, places)
    for n, v in enumerate(eqn.outvars):
        if n in slots:
            body.values[v] = Scalar(k.get(slots[n]))
        elif n in places:
            body.define(v)


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
        targets[n] = _target(place, branch.outs[n].aval.shape)
    for operand, output in body.plan.starts[eqn].items():
        v = branch.invars[operand - 1]
        args[v] = replace(places[output], since=k.depth)
        targets[output].owner = v
        owned[v] = targets[output]
    used = [n for n in range(len(branch.outs)) if n in slots or n in places]
    scalars = _run(body, branch, args, owned, targets, used)
    for n, slot in slots.items():
        k.set(slot, scalars[n])
