"""A scan's operands, taken apart and put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tracejit.ir.jaxpr import Jaxpr


@dataclass(frozen=True)
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
