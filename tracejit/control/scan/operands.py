"""A loop's operands, taken apart and put together."""

from __future__ import annotations

import itertools
from typing import Any

from tracejit.control.regions.rules import permute, spread, zero_tangents
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.ir.jaxpr import Jaxpr
from tracejit.records import record


@record(frozen=True)
class Parts:
    """Operands of a scan, taken apart."""

    lead: list[Any]
    consts: list[Any]
    carry: list[Any]
    xs: list[Any]

    def all(self) -> list[Any]:
        return [*self.lead, *self.consts, *self.carry, *self.xs]


def split(args: Any, params: dict[str, Any]) -> Parts:
    """The operands (or anything given one an operand) as lead, consts, carry and xs."""
    a = 0 if params["length"] is not None else 1
    b = a + params["consts"]
    c = b + params["carry"]
    args = list(args)
    return Parts(args[:a], args[a:b], args[b:c], args[c:])


def scan_params(parts: Parts, jaxpr: Jaxpr, params: dict[str, Any]) -> dict[str, Any]:
    return {**params, "jaxpr": jaxpr, "consts": len(parts.consts), "carry": len(parts.carry)}


@memoize_by_jaxpr
def interleave(
    new: Jaxpr, counts: tuple[int, int, int, int], flags: tuple[bool, ...], out_nz: tuple[bool, ...]
) -> Jaxpr:
    """A jvp's body with primals and tangents grouped as index, consts, carry and xs, of which it has `counts`."""
    n = sum(counts)
    ends = [sum(counts[: k + 1]) for k in range(4)]
    at = iter(range(n, n + sum(flags)))
    tangent_at = [next(at) if f else None for f in flags]
    ins = list(range(counts[0]))
    for lo, hi in itertools.pairwise(ends):
        ins += range(lo, hi)
        ins += [x for x in tangent_at[lo:hi] if x is not None]
    num_outs, num_carry = len(out_nz), counts[2]
    carry_t = sum(out_nz[:num_carry])
    outs = [*range(num_carry), *range(num_outs, num_outs + carry_t)]
    outs += [*range(num_carry, num_outs), *range(num_outs + carry_t, num_outs + sum(out_nz))]
    return permute(new, ins, outs)


def deal(outs: list[Any], num_carry: int, carry_nz: Any, ys_nz: Any) -> tuple[list[Any], list[Any]]:
    """(primals, tangents) from the outputs of a scan of both."""
    a = num_carry
    b = a + sum(carry_nz)
    c = b + len(ys_nz)
    primals = outs[:a] + outs[b:c]
    return primals, spread(outs[a:b] + outs[c:], (*carry_nz, *ys_nz), zero_tangents(primals))
