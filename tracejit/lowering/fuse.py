"""The lowering: a jaxpr as one program of structured loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracejit.ir.avals import Aval, Dim, Shape
from tracejit.ir.jaxpr import Jaxpr, Literal, Var
from tracejit.lowering.emit.nests import Nests
from tracejit.lowering.llvm.streams import choose as choose_streams
from tracejit.lowering.loops.distribute import distribute
from tracejit.lowering.loops.extents import pass_sizes
from tracejit.lowering.loops.interrupt import make_interruptible
from tracejit.lowering.loops.join import join_loops
from tracejit.lowering.loops.lockstep import run_together
from tracejit.lowering.loops.memory import plan_memory
from tracejit.lowering.loops.nodes import I64, Buffer, Give
from tracejit.lowering.loops.parallel import parallelise
from tracejit.lowering.loops.strips import cut as cut_strips
from tracejit.lowering.lowered import Lowered
from tracejit.lowering.notes import Notes
from tracejit.lowering.plan.access import Scope, Stored, c_strides, is_contiguous
from tracejit.lowering.plan.context import Context, work_of
from tracejit.lowering.plan.groups import Storage

_SMALL = 20_000  # instructions below which a call does not release the GIL


def lower(
    jaxpr: Jaxpr,
    in_strides: Sequence[tuple[int, ...] | None],
    aliases: Mapping[int, int],
    notes: Notes | None = None,
    device: bool = False,
) -> Lowered:
    """Lower a jaxpr after the passes.

    Args:
        jaxpr: the program, in which no calls are left.
        in_strides: per input its strides in elements, or None for C order.
        aliases: output -> the input in whose buffer it has to end; that input is overwritten.
        notes: where decisions are told with their reasons, if anybody wants to know.
        device: for a device (`cuda`), where every loop that threads can share is one that they do.
    """
    ctx = Context(jaxpr.name or "main", notes, device)
    places = _inputs(ctx, jaxpr, in_strides)
    values = dict(zip(jaxpr.invars, places, strict=True))
    targets, owned = _outputs(ctx, jaxpr, places, aliases)
    body = Nests(
        ctx,
        jaxpr,
        values,
        owned,
        [t if a.aval.shape else None for t, a in zip(targets, jaxpr.outs, strict=True)],
    )
    scalars = body.run()
    for target, a, x in zip(targets, jaxpr.outs, scalars, strict=True):
        if not a.aval.shape and target.stored is not None:
            ctx.k.store(target.stored.buffer, target.stored.offset, x)
    program = ctx.k.program
    given = {n: targets[n].stored for n, a in enumerate(jaxpr.outs) if _is_given(jaxpr, a.aval)}
    if given:
        at = len(places)
        ctx.k.emit(Give(tuple((s.buffer, program.args[at + n]) for n, s in given.items() if s is not None)))
    if not aliases:
        join_loops(program, ctx.homes)
    if not device:
        cut_strips(program, ctx.homes)
        run_together(program, ctx.homes)
        distribute(program, ctx.homes)
    parallelise(program, ctx.homes, notes, *([1] if device else []))
    if not device:
        choose_streams(
            program, {t.stored.buffer for n, t in enumerate(targets) if t.stored and n not in aliases}
        )
    spans = plan_memory(program, ctx.homes)
    if notes is not None:
        notes.spans = spans
    may_be_long = not device and make_interruptible(program.body)
    pass_sizes(program)
    return Lowered(
        program=program,
        in_avals=jaxpr.in_avals,
        in_strides=[_known(p.strides) for p in places],
        out_avals=jaxpr.out_avals,
        out_dims=[_dims(jaxpr, a.aval) for a in jaxpr.outs],
        aliases=dict(aliases),
        given={n: _known(s.strides) for n, s in given.items() if s is not None},
        callbacks=ctx.callbacks,
        failures=ctx.failures,
        libraries=ctx.libraries or [],
        small=not may_be_long and work_of(program.body) < _SMALL,
    )


def _inputs(ctx: Context, jaxpr: Jaxpr, in_strides: Sequence[tuple[int, ...] | None]) -> list[Stored]:
    """Where the inputs are."""
    given = [*in_strides, *[None] * (len(jaxpr.invars) - len(in_strides))]
    buffers = [
        ctx.k.buffer(f"in{n}", v.aval.dtype, v.aval.size, "arg", n) for n, v in enumerate(jaxpr.invars)
    ]
    sizes = _scalars(ctx, jaxpr, buffers)
    return [
        Stored(buffer, _strides(ctx, sizes, v.aval.shape) if strides is None else tuple(strides))
        for v, buffer, strides in zip(jaxpr.invars, buffers, given, strict=True)
    ]


def _scalars(ctx: Context, jaxpr: Jaxpr, buffers: Sequence[Buffer]) -> Scope:
    """The inputs that are numbers, among which sizes of others are."""
    numbers = ((v, b) for v, b in zip(jaxpr.invars, buffers, strict=True) if not v.aval.shape)
    return Scope(ctx.k, {v: Stored(b, ()) for v, b in numbers})


def _strides(ctx: Context, sizes: Scope, shape: Shape) -> tuple[Any, ...]:
    """Strides in C order. Where extents decide them that nothing bounds, they are computed as the program starts."""
    if any(isinstance(d, Dim) and d.bound is None for d in shape[1:]):
        return ctx.layout(sizes, shape)[0]
    return c_strides(shape)


def _outputs(
    ctx: Context, jaxpr: Jaxpr, places: list[Stored], aliases: Mapping[int, int]
) -> tuple[list[Storage], dict[Var, Storage]]:
    """Where the outputs go: buffers of their own, or those of the inputs they replace."""
    targets, owned = [], {}
    sizes = _scalars(ctx, jaxpr, [p.buffer for p in places])
    for n, a in enumerate(jaxpr.outs):
        shape = a.aval.shape
        if _is_given(jaxpr, a.aval):
            ctx.k.buffer(f"out{n}", I64, 2, "arg", len(places) + n)
            targets.append(Storage(None, None, False))
            continue
        buffer = ctx.k.buffer(f"out{n}", a.aval.dtype, a.aval.size, "arg", len(places) + n)
        if n in aliases:
            v, place = jaxpr.invars[aliases[n]], places[aliases[n]]
            target = Storage(place, v if shape else None, is_contiguous(place, shape))
            if shape:
                owned[v] = target
        else:
            target = Storage(Stored(buffer, _strides(ctx, sizes, shape)), None, True)
        targets.append(target)
    return targets, owned


def _known(strides: tuple[Any, ...]) -> tuple[int, ...] | None:
    return strides if all(type(s) is int for s in strides) else None


def _is_given(jaxpr: Jaxpr, aval: Aval) -> bool:
    """Whether nobody can say before the program has run how large an output is."""
    dims = [d.var for d in aval.shape if isinstance(d, Dim) and d.bound is None]
    return any(not isinstance(v, Literal) and v not in jaxpr.invars for v in dims)


def _dims(jaxpr: Jaxpr, aval: Aval) -> tuple[Any, ...]:
    return tuple(_dim(jaxpr, d) for d in aval.shape)


def _dim(jaxpr: Jaxpr, d: Any) -> Any:
    if not isinstance(d, Dim):
        return d
    if isinstance(d.var, Literal):
        return int(d.var.value)
    if d.var in jaxpr.invars:
        return ("input", jaxpr.invars.index(d.var))
    return ("output", jaxpr.outs.index(d.var))
