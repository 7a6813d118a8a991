"""Cotangents of a region's operands that begin with what later equations have given these.

A region that reads an element of an array would give the array's cotangent as zeros with one element set, which is
added to the cotangent so far: in a loop, two passes over the whole array in every step. Here the cotangent so far
goes into the transposed region, which adds to it in place, and what comes out is the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.control.regions.rules import pick, spread
from tracejit.interpreters.autodiff.transpose import transpose_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.avals import aval_of
from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.values import Total, Zero, is_linear


def starts_of(args: Sequence[Any]) -> list[Any]:
    """For each operand of a transpose rule the cotangent that the transposed region can begin with; None for those
    that are not linear or have none, and for scalars, for which a sum from zero that is added afterwards is as
    cheap, and is one that lanes can share."""
    return [_start(a) if is_linear(a) else None for a in args]


def _start(x: Any) -> Any:
    if x.start is None or x.aval.shape == () or aval_of(x.start) != x.aval:
        return None
    return x.start


def present(starts: Sequence[Any]) -> tuple[bool, ...]:
    """Which of the starts there are."""
    return tuple(s is not None for s in starts)


def transposed_region(
    jaxpr: Jaxpr, args: Sequence[Any], ct_nonzero: tuple[bool, ...]
) -> tuple[Jaxpr, tuple[bool, ...], list[Any]]:
    """(transpose of `jaxpr` over (*nonlinear operands, *starts, *nonzero cotangents), which linear operands get a
    cotangent, the starts, one an operand)."""
    linear = tuple(is_linear(a) for a in args)
    _, reached = transpose_jaxpr(jaxpr, linear, ct_nonzero)
    among = spread(reached, linear, [False] * len(linear))
    starts = [s if r else None for s, r in zip(starts_of(args), among, strict=True)]
    which = present(starts)
    body = passing(jaxpr, which) if any(which) else jaxpr
    return *transpose_jaxpr(body, linear, (*(True,) * sum(which), *ct_nonzero)), starts


@memoize_by_jaxpr
def passing(jaxpr: Jaxpr, which: tuple[bool, ...]) -> Jaxpr:
    """`jaxpr` with the inputs marked by `which` as outputs before its own.

    The cotangent of such an output is the start of the input's cotangent, when the region is transposed.
    """
    return Jaxpr(jaxpr.invars, jaxpr.eqns, (*pick(jaxpr.invars, which), *jaxpr.outs), jaxpr.name)


def given_back(
    args: Sequence[Any], nonzero: Sequence[bool], outs: Sequence[Any], starts: Sequence[Any]
) -> list[Any]:
    """What a transpose rule gives for its operands: `outs` are the cotangents of the linear ones marked by
    `nonzero`, those that have one of the `starts` (one an operand) with it in them."""
    linear = [is_linear(a) for a in args]
    full = iter(spread(outs, nonzero, [Zero(a.aval) for a in pick(args, linear)]))
    return totals([next(full) if lin else None for lin in linear], starts)


def totals(cts: Sequence[Any], starts: Sequence[Any]) -> list[Any]:
    """`cts`, those that have a start in them as a `Total`."""
    return [ct if s is None else Total(ct) for ct, s in zip(cts, starts, strict=True)]
