"""What an equation costs, roughly: units of an addition of one element in the cache."""

from __future__ import annotations

import math
from typing import Any

from tracejit.interpreters.autodiff.provenance import is_cheap
from tracejit.ir.avals import Aval, capacity
from tracejit.ir.jaxpr import Eqn, Jaxpr, sub_jaxprs
from tracejit.ir.kernel import (
    CallRegion,
    CondRegion,
    Contract,
    Cumulative,
    Pointwise,
    Pull,
    Reduce,
    ScanRegion,
    Update,
    WhileRegion,
)  # fmt: skip

_FAST = 5  # multiplications and additions that a product of matrices does in the time of another operation
_UNKNOWN = 1000  # steps of a loop of which nothing is known
_ROUTINE = 60  # a sort, a decomposition, a call of Python: an element


def room(aval: Aval) -> int:
    """The bytes of a value, of its bound where only a run knows its extent."""
    return aval.size * aval.dtype.itemsize


def is_light(eqn: Eqn) -> bool:
    """Whether a result is computed where it is read, so that it needs no memory: a few operations, or a view."""
    return is_cheap(eqn.op) and bool(eqn.outvars)


def work(eqn: Eqn) -> float:
    """What it costs to do an equation, with what it moves."""
    kernel, size = eqn.op.kernel, sum(v.aval.size for v in eqn.outvars)
    read = sum(a.aval.size for a in eqn.invars)
    if isinstance(kernel, Pointwise):
        return (kernel.cost + 1.0) * size
    if isinstance(kernel, Contract):
        return 2.0 * size * _contracted(eqn) / _FAST + size + read
    if isinstance(kernel, (Pull, Update)):
        return 0.5 * size
    if isinstance(kernel, (Reduce, Cumulative)):
        return 1.0 * read + size
    if isinstance(kernel, CondRegion):
        return max(map(_body, eqn.params["branches"]), default=0.0)
    if isinstance(kernel, ScanRegion):
        return (eqn.params["length"] or eqn.params["bound"] or _UNKNOWN) * _body(eqn.params["jaxpr"])
    if isinstance(kernel, (CallRegion, WhileRegion)):
        steps = _UNKNOWN if isinstance(kernel, WhileRegion) else 1
        return steps * sum(map(_body, sub_jaxprs(eqn.params)))
    return float(_ROUTINE * max(size, read))


def _contracted(eqn: Eqn) -> int:
    known: Any = eqn.params.get("dimension_numbers")
    if known is None:
        return 1
    shape = capacity(eqn.invars[0].aval.shape)
    return math.prod(shape[n] for n in known[0][0])


def _body(jaxpr: Jaxpr) -> float:
    return sum(map(work, jaxpr.eqns)) + 1.0
