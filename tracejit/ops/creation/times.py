"""Dates and times in programs: primitives move them, and are given their bits for everything else.

Programs hold them with their own dtypes, so that results have these. Native code has 64-bit integers in their place:
`interpreters/expand` makes them so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit import dtypes
from tracejit.errors import TypeRuleError
from tracejit.ir.avals import Aval
from tracejit.ir.jaxpr import Jaxpr, Literal
from tracejit.ir.primitive import Op
from tracejit.ops.creation.constant import Held

#: Primitives that look at no element, or hold others.
_MOVING = frozenset((
    "bitcast", "broadcast_in_dim", "call", "checkpoint", "concatenate", "cond", "constant", "copy",
    "dynamic_slice", "dynamic_update_slice", "expand_dims", "full", "gather", "optimization_barrier",
    "pad", "reshape", "rev", "scan", "scatter", "select", "slice", "slice_update", "squeeze",
    "stop_gradient", "transpose", "while",
))  # fmt: skip


def judge(op: Op, operands: Iterable[Aval], results: Iterable[Aval]) -> None:
    """Raises TypeRuleError where a primitive that looks at its operands is given times."""
    if op.name not in _MOVING and any(a.dtype.kind in "mM" for a in (*operands, *results)):
        raise TypeRuleError(op=op.name, problem="takes numbers, not dates and times")


def occur(jaxpr: Jaxpr) -> bool:
    """Whether a program has times, its loops and branches aside."""
    if not dtypes.TIMES:
        return False
    held = [*jaxpr.invars, *jaxpr.outs, *(v for e in jaxpr.eqns for v in (*e.invars, *e.outvars))]
    return any(v.aval.dtype.kind in "mM" for v in held)


def as_integers(x: Any) -> Any:
    """The type or the value of times as that of integers; anything else as it is."""
    if isinstance(x, Aval):
        return x.with_dtype(dtypes.int64) if x.dtype.kind in "mM" else x
    if isinstance(x, Literal):
        return Literal(as_integers(x.value))
    if isinstance(x, Held):
        return Held(as_integers(x.array)) if x.array.dtype.kind in "mM" else x
    if isinstance(x, np.dtype):
        return dtypes.int64 if x.kind in "mM" else x
    return x.view(dtypes.int64) if isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "mM" else x


def restored(avals: list[Aval], outs: Iterable[Any]) -> list[Aval]:
    """The types of results with the dtypes that they have in the program `outs` are of."""
    return [a.with_dtype(o.aval.dtype) for a, o in zip(avals, outs, strict=True)]
