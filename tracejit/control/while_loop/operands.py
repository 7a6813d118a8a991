"""A while loop's operands, taken apart and put together."""

from __future__ import annotations

from typing import Any

from tracejit.ir.jaxpr import Jaxpr
from tracejit.ir.primitive import Op
from tracejit.records import record
from tracejit.tracing import bind


@record(frozen=True)
class WhileParts:
    cond_consts: list[Any]
    body_consts: list[Any]
    carry: list[Any]

    def all(self) -> list[Any]:
        return [*self.cond_consts, *self.body_consts, *self.carry]


def split_while(args: Any, params: dict[str, Any]) -> WhileParts:
    a = params["cond_consts"]
    b = a + params["body_consts"]
    args = list(args)
    return WhileParts(args[:a], args[a:b], args[b:])


def bind_while(op: Op, parts: WhileParts, cond: Jaxpr, body: Jaxpr) -> list[Any]:
    """Bind the while op over `parts`."""
    counts = {"cond_consts": len(parts.cond_consts), "body_consts": len(parts.body_consts)}
    return list(bind(op, *parts.all(), cond=cond, body=body, **counts))
