"""The two halves of a linearized function, of which the second computes again what the first has not kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.control.regions.residuals import once_only, rematerialize
from tracejit.control.regions.rules import pick, prune
from tracejit.ir.avals import Dim
from tracejit.ir.jaxpr import Jaxpr, has_side_effects, used_vars
from tracejit.records import record


@record(frozen=True)
class Halves:
    """forward: primals -> (*outs, *saved values); linear: (*the primals that it `reads`, *saved values,
    *tangents) -> nonzero out tangents; it computes its residuals itself."""

    forward: Jaxpr
    linear: Jaxpr
    reads: tuple[bool, ...]


def recomputing(
    forward: Jaxpr,
    linear: Jaxpr,
    num_outs: int,
    nonzero: Sequence[bool],
    saved: Sequence[Any],
    guard: Callable[[Any], Any],
) -> Halves:
    """The halves where `saved`, variables of `forward`, are kept besides the primals.

    `forward` gives num_outs results and residuals, which `linear` takes before its tangents; `nonzero` says which
    primals have these. `guard` is applied to primals before anything is computed from them again.
    """
    saved = [*saved, *(v for v in once_only(forward, forward.outs[num_outs:])[0] if v not in saved)]
    num_ins = len(forward.invars)
    # What is saved becomes an input of what computes the residuals.
    again = Jaxpr((*forward.invars, *saved), _without(forward, saved), forward.outs, forward.name)
    linear = rematerialize(again, linear, num_outs, (*nonzero, *(False,) * len(saved)), guard)[1]
    reads = _read(linear)
    kept = tuple(linear.invars[n] for n, r in enumerate(reads) if r or n >= num_ins + len(saved))
    linear = Jaxpr(kept, linear.eqns, linear.outs, linear.name)
    saved = pick(saved, reads[num_ins : num_ins + len(saved)])
    first = Jaxpr(forward.invars, forward.eqns, (*forward.outs[:num_outs], *saved), forward.name)
    return Halves(prune(first, [True] * len(first.outs)), linear, tuple(reads[:num_ins]))


def _read(jaxpr: Jaxpr) -> list[bool]:
    """Which inputs are read, by an equation or as an extent."""
    used = used_vars(jaxpr)
    typed = (*jaxpr.invars, *(v for e in jaxpr.eqns for v in e.outvars))
    used.update(d.var for v in typed for d in v.aval.shape if isinstance(d, Dim))
    return [v in used for v in jaxpr.invars]


def _without(jaxpr: Jaxpr, known: Sequence[Any]) -> tuple[Any, ...]:
    """The equations but for those that gave `known` only, and for those that must not run twice."""
    return tuple(
        e
        for e in jaxpr.eqns
        if not (has_side_effects(e.effects) or (e.outvars and all(v in known for v in e.outvars)))
    )
