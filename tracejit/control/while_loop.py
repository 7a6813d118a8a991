"""The while op: a body repeated as long as a condition holds.

Operands: cond_consts + body_consts + carry; outputs: the carry. Derivatives in
reverse: the loop runs once and counts its trips; a scan of that length, which
is a traced integer, then does what scans do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit import ops
from tracejit.control.axes import processing_axis, uses_axis
from tracejit.control.cond_batch import select_lanes, without_checks
from tracejit.control.execute import evaluate
from tracejit.control.lanes import over_lanes
from tracejit.control.regions import (
    Typed,
    build,
    flags,
    instantiated,
    permute,
    pick,
    region_avals,
    spread,
    union,
    union_effects,
    zero_tangents,
)
from tracejit.control.scan import scan_op
from tracejit.errors import DynamicExtentError
from tracejit.interpreters.core import eval_jaxpr
from tracejit.interpreters.jvp import jvp_jaxpr
from tracejit.interpreters.linearize import linearize_jaxpr
from tracejit.interpreters.memo import memoize_by_jaxpr
from tracejit.interpreters.vmap import batch_jaxpr
from tracejit.ir.avals import Aval, aval_of
from tracejit.ir.jaxpr import Jaxpr, Var
from tracejit.ir.kernel import WhileRegion
from tracejit.ir.primitive import NO_BOUNDS, NO_IDENTITIES, NO_INPLACE, NONLINEAR, Op
from tracejit.ops import helpers
from tracejit.tracing import bind


@dataclass(frozen=True)
class _Parts:
    cond_consts: list[Any]
    body_consts: list[Any]
    carry: list[Any]

    def all(self) -> list[Any]:
        return [*self.cond_consts, *self.body_consts, *self.carry]


def _split(args: Any, params: dict[str, Any]) -> _Parts:
    a = params["cond_consts"]
    b = a + params["body_consts"]
    args = list(args)
    return _Parts(args[:a], args[a:b], args[b:])


def _bind(parts: _Parts, cond: Jaxpr, body: Jaxpr) -> list[Any]:
    counts = {"cond_consts": len(parts.cond_consts), "body_consts": len(parts.body_consts)}
    return list(bind(while_op, *parts.all(), cond=cond, body=body, **counts))


def _type(*avals: Aval, cond: Jaxpr, body: Jaxpr, cond_consts: int, body_consts: int) -> list[Aval]:
    return region_avals(body, range(cond_consts, len(avals)), "while")


def _python(*args: Any, **params: Any) -> list[Any]:
    p = _split(args, params)
    carry = p.carry
    while bool(eval_jaxpr(params["cond"], [*p.cond_consts, *carry])[0]):
        carry = eval_jaxpr(params["body"], [*p.body_consts, *carry])
    return carry


def _eval(*args: Any, **params: Any) -> list[Any]:
    return evaluate(while_op, _python, args, params)


def _with_ignored(cond: Jaxpr, extra: list[Aval]) -> Jaxpr:
    """`cond` with further carries that it doesn't look at."""
    return Jaxpr((*cond.invars, *(Var(None, a) for a in extra)), cond.eqns, cond.outs, cond.name)
'''
