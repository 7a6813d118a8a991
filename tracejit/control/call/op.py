"""The call op: a jaxpr applied to operands. Passes inline it; evaluated, it is one native program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.control.regions.axes import processing_axis
from tracejit.control.regions.lanes import over_lanes
from tracejit.control.regions.residuals import close, local_axes
from tracejit.control.regions.rules import flags, pick, region_avals, spread, union_effects, zero_tangents
from tracejit.control.regions.totals import given_back, present, transposed_region
from tracejit.control.scan.op import scan_op
from tracejit.errors import DynamicExtentError
from tracejit.errors.refusals import attempt
from tracejit.interpreters import jit
from tracejit.interpreters.autodiff.jvp import jvp_jaxpr
from tracejit.interpreters.autodiff.linearize import linearize_jaxpr
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.memo import kept, memoize_by_jaxpr
from tracejit.interpreters.stage import is_staging
from tracejit.interpreters.vmap import batch_flat, batch_jaxpr
from tracejit.ir.avals import Aval, Dim
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.kernel import CallRegion
from tracejit.ir.primitive import with_starts
from tracejit.ir.values import is_linear
from tracejit.ops.building import helpers
from tracejit.tracing import bind, use_trace


def call(jaxpr: Jaxpr, args: Sequence[Any], *, name: str = "", inline: bool = False) -> list[Any]:
    """The outputs of `jaxpr` on raw values, as one equation; its equations one by one if it cannot be
    one (an output whose extent is computed inside), or where a program is recorded and `inline` asks for it."""
    if has_local_extents(jaxpr) or (inline and is_staging()):
        return eval_jaxpr(jaxpr, args)
    return list(bind(call_op, *args, jaxpr=jaxpr, name=name))


def has_local_extents(jaxpr: Jaxpr) -> bool:
    """Whether an output has an extent that is computed inside of `jaxpr`, and is no output itself."""
    return any(local_axes(a.aval, (*jaxpr.invars, *jaxpr.outs)) for a in jaxpr.outs)


def _has_rows(jaxpr: Jaxpr) -> bool:
    """Whether it takes or gives the rows of a loop whose length nothing bounds."""
    avals = (*jaxpr.in_avals, *jaxpr.out_avals)
    return any(isinstance(d, Dim) and d.bound is None for a in avals for d in a.shape)


def _type(*avals: Aval, jaxpr: Jaxpr, name: str) -> list[Aval]:
    return region_avals(jaxpr, range(len(avals)), name or "call", own=True)


def _eval(*args: Any, jaxpr: Jaxpr, name: str) -> list[Any]:
    with use_trace(ROOT):
        return list(jit.execute(jaxpr, args))


def _jvp(primals: Any, tangents: Any, *, jaxpr: Jaxpr, name: str) -> tuple[list[Any], list[Any]]:
    nonzero = flags(tangents)
    with kept():
        new, out_nz = jvp_jaxpr(jaxpr, nonzero)
    outs = call(new, [*primals, *pick(tangents, nonzero)], name=name)
    values = outs[: len(out_nz)]
    return values, spread(outs[len(out_nz) :], out_nz, zero_tangents(values))


@memoize_by_jaxpr
def closed_linearization(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...], lasting: tuple[bool, ...] | None
) -> tuple[Jaxpr, Jaxpr, tuple[bool, ...]]:
    """(forward, linear, out_nonzero); residuals have no extents that are computed inside but outputs. `lasting`:
    the operands that are there when the derivative runs, kept or not."""
    forward, linear, out_nz, _ = linearize_jaxpr(jaxpr, nonzero, False, None, lasting)
    forward, linear, _ = close(forward, linear, len(jaxpr.outs), nonzero, own=True)
    return forward, linear, out_nz


def _linearize(tape: Any, primals: Any, tangents: Any, params: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    nonzero = flags(tangents)
    with kept():
        forward, linear, out_nz = closed_linearization(params["jaxpr"], nonzero, tape.lasts_in(primals))
    outs = call(forward, primals, name=params["name"])
    values, residuals = outs[: len(out_nz)], outs[len(out_nz) :]
    ts: list[Any] = []
    if any(out_nz):
        operands = (*residuals, *pick(tangents, nonzero))
        ts = tape.record(call_op, operands, {**params, "jaxpr": linear})
    return values, spread(ts, out_nz, zero_tangents(values))


def _transpose(cts: Any, *args: Any, jaxpr: Jaxpr, name: str) -> list[Any]:
    with kept():
        back, nonzero, starts = transposed_region(jaxpr, args, flags(cts))
    known = [a for a in args if not is_linear(a)]
    outs = call(back, [*known, *pick(starts, present(starts)), *pick(cts, flags(cts))], name=name)
    return given_back(args, nonzero, outs, starts)


def _batch(size: Any, args: Any, dims: Any, *, jaxpr: Jaxpr, name: str) -> tuple[Any, Any]:
    if (
        _has_rows(jaxpr) or type(size) is not int
    ):  # lanes are not put before rows, and may end at different times
        return batch_flat(lambda *raw: eval_jaxpr(jaxpr, raw), size, args, dims, processing_axis())
    from_front = helpers.batch_axes_first(args, dims)
    batched = tuple(d is not None for d in dims)
    try:
        with attempt(DynamicExtentError), kept():
            new, out_b = batch_jaxpr(jaxpr, size, batched, False, processing_axis())
    except DynamicExtentError:  # extents that differ between the lanes
        return over_lanes(scan_op, lambda *raw: call(jaxpr, raw, name=name), size, args, dims, name)
    outs = call(new, from_front, name=name)
    return outs, [0 if b else None for b in out_b]


call_op = helpers.plain(
    name="call",
    doc="a jaxpr applied to operands",
    multi=True,
    type=_type,
    eval=_eval,
    jvp=_jvp,
    linearize=_linearize,
    transpose=with_starts(_transpose),
    batch=_batch,
    effects=lambda params: union_effects(params["jaxpr"]),
    kernel=CallRegion(leading=()),
)
