"""Update forms: writing operands into a base (slices, scatters, concatenation, padding).

An update that reads ahead of what it overwrites is written in order, into the base itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tracejit.ir.jaxpr import Eqn
from tracejit.ir.kernel import Segment, Update
from tracejit.lowering.loops.nodes import I64
from tracejit.lowering.plan.access import ZERO, Index, Operand, Scalar, Stored
from tracejit.lowering.plan.context import loops
from tracejit.lowering.plan.probe import box_written

if TYPE_CHECKING:
    from tracejit.lowering.emit.body import Body


def emit_update(body: Body, eqn: Eqn) -> None:
    """Start from the base (in place where the plan says so), then write the segments in order."""
    form: Update = eqn.op.kernel  # type: ignore[assignment]
    out = eqn.outvars[0]
    is_scalar = not out.aval.shape
    target = body.ctx.allocate(body, (), out.aval.dtype, "t") if is_scalar else body.place(out)
    segments = form.segments(eqn.params, [a.aval for a in eqn.invars], out.aval)
    _start(body, eqn, form.base(eqn.params), target, segments)
    for segment in segments:
        _write(body, eqn, segment, target)
    if is_scalar:
        body.values[out] = Scalar(body.k.load(target.buffer, target.offset))
        return
    body.define(out)
    if eqn in body.plan.read_back:
        u = body.plan.read_back[eqn]
        body.read_back(u, out, _place(body, eqn, segments[0], (ZERO,) * u.aval.ndim)[0])


def _start(body: Body, eqn: Eqn, base: Any, target: Stored, segments: list[Segment]) -> None:
    filled = type(base) is tuple
    source = eqn.invars[base[1] if filled else base] if base is not None else None
    if source is None or not (filled or eqn in body.plan.copies or not target.strides):
        return
    shape = eqn.outvars[0].aval.shape
    box = box_written(eqn, segments[0]) if len(segments) == 1 and all(type(d) is int for d in shape) else None
    if box is None and not filled:
        body.fill(target, source)
        return
    for part in [shape] if box is None else _around(shape, box):
        with loops(body, part, independent=True) as idx:
            body.put(target, idx, body.read(source, () if filled else idx))


def _around(shape: Any, box: Any) -> Iterator[Sequence[Any]]:
    """The parts of an array that lie outside of a box, which may reach beyond the array."""
    box = [(min(max(low, 0), d), min(max(high, 0), d)) for (low, high), d in zip(box, shape, strict=True)]
    for n, (low, high) in enumerate(box):
        rest = shape[n + 1 :]
        for part in ((0, low), (high, shape[n])):
            if part[0] < part[1]:
                yield [*box[:n], part, *rest]


def _place(body: Body, eqn: Eqn, segment: Segment, idx: Index) -> tuple[Index, Any]:
    """Where element `idx` of a segment goes, and the condition for that, if there is one."""
    operands, out = [Operand(body, a) for a in eqn.invars], Operand(body, eqn.outvars[0])
    at, inside = segment.place(body.k, idx, operands, out)
    return tuple(body.k.lift(i, I64) for i in at), inside


def _write(body: Body, eqn: Eqn, segment: Segment, target: Stored) -> None:
    k, source = body.k, eqn.invars[segment.source]
    free = not segment.repeats and eqn not in body.plan.in_order
    with loops(body, source.aval.shape, free, free) as idx:
        x = body.read(source, idx)
        at, inside = _place(body, eqn, segment, idx)
        if inside is None:
            _combine(body, segment, target, at, x)
        else:
            with k.when(inside):
                _combine(body, segment, target, at, x)


def _combine(body: Body, segment: Segment, target: Stored, at: Any, x: Any) -> None:
    k = body.k
    position = target.at(k, at)
    if segment.combine is not None:
        x = segment.combine(k, k.load(target.buffer, position), x)
    k.store(target.buffer, position, x)
