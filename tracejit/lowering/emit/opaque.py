"""Equations without native code: a library's routine, or the record's `eval` on views of the buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import SHOWN, Atom, Eqn, Var
from tracejit.ir.kernel import Composite, Filling, Routine, UserCode
from tracejit.ir.primitive import Op
from tracejit.lowering.emit import libraries
from tracejit.lowering.loops.nodes import UNKNOWN_COST
from tracejit.lowering.lowered import Callback, Spec
from tracejit.lowering.plan.access import Scalar, Stored

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body


def emit_call(body: Body, eqn: Eqn) -> None:
    """Store the operands, call out, take the results from where the call left them."""
    if (made := libraries.operation(body, eqn)) is not None:
        if body.ctx.notes is not None:
            body.ctx.notes.about("calls: device", eqn)
        for v, s in zip(eqn.outvars, made, strict=True):
            _bind(body, v, s)
        return
    ins = [_operand(body, a) for a in eqn.invars]
    outs = [_result(body, v) for v in eqn.outvars]
    by_routine = _by_routine(body, eqn, ins, outs)
    if not by_routine:
        _by_callback(body, eqn, ins, outs)
    if body.ctx.notes is not None:
        callback = eqn.params.get("callback")
        name = getattr(callback, "told", eqn.op.name)
        users = isinstance(eqn.op.kernel, UserCode)
        rule = "calls: library" if by_routine else "calls: user" if users else "calls: python"
        body.ctx.notes.about(getattr(callback, "rule", rule), eqn, name=name.partition(" (at ")[0])
    for v, s in zip(eqn.outvars, outs, strict=True):
        _bind(body, v, s)


def _by_routine(body: Body, eqn: Eqn, ins: list[Stored], outs: list[Stored]) -> bool:
    """Call a library by address, if the record knows how."""
    kernel, avals = eqn.op.kernel, [a.aval for a in eqn.invars]
    routine = kernel.routine if isinstance(kernel, (Composite, Routine)) else None
    if routine is None or not all(a.is_static for a in avals):
        return False
    body.check(eqn)
    return routine(body.k, [s.buffer for s in ins], [s.buffer for s in outs], avals, **eqn.params)


def _by_callback(body: Body, eqn: Eqn, ins: list[Stored], outs: list[Stored]) -> None:
    ctx, k = body.ctx, body.k
    avals = [a.aval for a in eqn.invars], [v.aval for v in eqn.outvars]
    callback = Callback(
        runner(eqn.op, eqn.params, bool(eqn.outvars)),
        [_spec(s, a) for s, a in zip(ins, avals[0], strict=True)],
        [_spec(s, a) for s, a in zip(outs, avals[1], strict=True)],
        _bounds(avals[0]),
        _bounds(avals[1]),
        getattr(eqn.params.get("callback"), "told", eqn.op.name),
        isinstance(eqn.op.kernel, UserCode),
        eqn.op,
        eqn.params,
    )
    dims = [body.extent(d) for a in (*avals[0], *avals[1]) for d in a.shape if isinstance(d, Dim)]
    kinds = ["ptr"] * (len(ins) + len(outs)) + ["i64"] * len(dims)
    target = k.external(f"callback:{len(ctx.callbacks)}", f"i32({','.join(kinds)})")
    ctx.callbacks.append(callback)
    cost = 1 if SHOWN in eqn.effects else UNKNOWN_COST
    k.call(target, (*(s.buffer for s in (*ins, *outs)), *dims), checked=True, cost=cost)


def _operand(body: Body, atom: Atom) -> Stored:
    if atom.aval.shape:
        return body.contiguous(atom)
    place = body.ctx.allocate(body, (), atom.aval.dtype, "arg")
    body.k.store(place.buffer, 0, body.read(atom, ()))
    return place


def _result(body: Body, var: Var) -> Stored:
    """Where the call writes: the value's own place, if that is a whole block."""
    if var in body.plan.storage:
        place = body.place(var)
        if place.offset == 0 and type(place.offset) is int and body.plan.storage[var].plain:
            return place
    return body.ctx.allocate(body, var.aval.shape, var.aval.dtype, "res")


def _bind(body: Body, var: Var, result: Stored) -> None:
    if not var.aval.shape:
        body.values[var] = Scalar(body.k.load(result.buffer, 0))
    elif var in body.plan.storage:
        value = body.define(var)
        if value.buffer is not result.buffer:
            body.ctx.copy(body, value, result, var.aval)


def _spec(place: Stored, aval: Aval) -> Spec:
    return place.buffer, tuple(None if isinstance(d, Dim) else d for d in aval.shape), aval.dtype


def _bounds(avals: list[Aval]) -> list[tuple[int, ...]]:
    if any(isinstance(d, Dim) and d.bound is None for a in avals for d in a.shape):
        return []
    return [tuple(d if type(d) is int else d.bound for d in a.shape) for a in avals]


def runner(op: Op, params: dict[str, Any], gives: bool) -> Callable[[list[Any], list[Any]], None]:
    """The function of a callback that evaluates `op`, which `gives` results or none."""
    direct = getattr(params.get("callback"), "direct", None)
    if direct is not None and not gives:

        def act(ins: list[Any], _: list[Any]) -> None:
            direct(*[a if a.ndim else a[()] for a in ins])

        act.for_numbers = getattr(params["callback"], "for_numbers", None)  # type: ignore[attr-defined]
        return act
    into = op.kernel.into if isinstance(op.kernel, (Composite, Filling)) else None

    def run(ins: list[Any], outs: list[Any]) -> None:
        if into is not None and into(*outs, *ins, **params):
            return
        result = op.eval(*[a if a.ndim else a[()] for a in ins], **params)
        for out, x in zip(outs, result if op.multi else (result,), strict=True):
            out[...] = x

    return run
