"""Pure equations of constants, evaluated when a program is made: a part of `simplify`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.jaxpr import Eqn, Literal
from tracejit.ir.kernel import Cumulative, Pointwise, Pull, Reduce, Update

# Contractions, regions and library calls are not small, and opaque ones may not be repeatable.
_SMALL = (Pointwise, Pull, Reduce, Cumulative, Update)


def evaluate(eqn: Eqn) -> tuple[Literal, ...] | None:
    """The results of `eqn` as literals, or None if they can't be known now."""
    if not eqn.invars or eqn.effects or not isinstance(eqn.op.kernel, _SMALL):
        return None
    for a in eqn.invars:
        if type(a) is not Literal:
            return None
    if any(v.aval.shape for v in eqn.outvars):
        return None
    return _literals(eqn)


def _literals(eqn: Eqn) -> tuple[Literal, ...] | None:
    try:
        with np.errstate(all="ignore"):
            out: Any = eqn.op.eval(*(a.value for a in eqn.invars), **eqn.params)  # type: ignore[union-attr]
    except (ArithmeticError, ValueError, IndexError, TypeError):
        return None  # the compiled program raises it, if it gets there
    scalars: list[Any] = [np.asarray(x)[()] for x in (out if eqn.op.multi else (out,))]
    same = all(s.dtype == v.aval.dtype for s, v in zip(scalars, eqn.outvars, strict=True))
    return tuple(Literal(s) for s in scalars) if same else None
