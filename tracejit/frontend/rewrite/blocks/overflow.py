"""Python's integers have no bounds, those of native loops have 64 bits: which loops may tell the difference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.frontend.rewrite.blocks.results import Result
from tracejit.interpreters.stage import bounds_of
from tracejit.ir.jaxpr import Eqn, Jaxpr, Literal, Var, sub_jaxprs
from tracejit.ir.values import Value

_GROWING = frozenset({"mul", "integer_pow", "pow", "shift_left"})
_ADDING = frozenset({"add", "sub"})
_EXACT = _GROWING | _ADDING
_FAR = 1 << 62


def outgrows(result: Result) -> str | None:
    """What may outgrow 64 bits: an operation on integers whose range is known, such as the loop's position, or a name
    that starts as a Python integer and is multiplied, or added to another such.

    What is added to it otherwise makes it grow no faster than the number of steps."""
    beyond = _beyond(result.trace.eqns)
    if beyond is not None:
        return f"the result of {beyond}"
    names = _python_integers(result)
    tainted = {c for c in names if isinstance(c, Var)}
    if not tainted or not _grow(result.trace.eqns, tainted):
        return None
    return f"`{next(iter(names.values()))}`"


def _beyond(eqns: Sequence[Eqn]) -> str | None:
    """An operation on known ranges whose result is known not to fit at their ends."""
    for eqn in eqns:
        v = eqn.outvars[0] if eqn.outvars else None
        if eqn.op.name in _EXACT and v is not None and v.bounds is None and v.aval.dtype == np.int64:
            if not v.aval.shape and all(map(_is_known, eqn.invars)):
                return eqn.op.name
        for inner in sub_jaxprs(eqn.params):
            if found := _beyond(inner.eqns):
                return found
    return None


def _is_known(x: Any) -> bool:
    """Whether the range of an integer says more than that it has 64 bits."""
    found = bounds_of(x)
    return found is not None and found[0] > -_FAR and found[1] < _FAR


def _python_integers(result: Result) -> dict[Any, str]:
    """The inputs that are Python's integers, known before the loop, with their names."""
    found: dict[Any, str] = {}
    carried = iter(result.carried)
    for name, (form, weak) in result.names.items():
        for _leaf, w in zip(form.dynamic, weak, strict=True):
            c = next(carried)
            if w and c.var is not None and c.var.aval.dtype.kind == "i" and not isinstance(c.init, Value):
                found[c.var] = name
    return found


def _grow(eqns: Sequence[Eqn], tainted: set[Any]) -> bool:
    """Whether a value computed from `tainted` ones may not fit; what is computed is added to them."""
    for eqn in eqns:
        ours = [a in tainted for a in eqn.invars if type(a) is not Literal]
        if not any(ours):
            continue
        for inner in sub_jaxprs(eqn.params):
            if _inside(inner, eqn, tainted):
                return True
        for v in eqn.outvars:
            if v.aval.shape or v.aval.dtype.kind != "i":
                continue
            if v.bounds is None:
                if eqn.op.name in _GROWING or (eqn.op.name in _ADDING and len(ours) == 2 and all(ours)):
                    return True
                tainted.add(v)
    return False


def _inside(inner: Jaxpr, eqn: Eqn, tainted: set[Any]) -> bool:
    """The same in a branch or the body of a loop, whose last inputs are the equation's last operands."""
    pairs = zip(reversed(inner.invars), reversed(eqn.invars), strict=False)
    return _grow(inner.eqns, {v for v, a in pairs if type(a) is not Literal and a in tainted})


def bounds_afterwards(result: Result) -> dict[Any, tuple[int, int]]:
    """For each integer of the carry whose value after a step has known bounds: those, and where it starts."""
    found = {}
    for c in result.carried:
        known = bounds_of(c.out)
        if c.var is not None and known is not None and not isinstance(c.init, Value) and not c.var.aval.shape:
            found[c.var] = (min(known[0], int(c.init)), max(known[1], int(c.init)))
    return found
