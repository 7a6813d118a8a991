"""Staging where there is no place for constants: they become equations of the jaxpr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import LeakedTracerError
from tracejit.interpreters.stage import stage
from tracejit.ir.avals import Aval
from tracejit.ir.jaxpr import Eqn, Jaxpr
from tracejit.ir.values import Value, origin
from tracejit.ops.creation.constant import Held, constant_op


def stage_closed(
    fn: Callable[..., Sequence[Any]], avals: Sequence[Aval], name: str = "", bounds: Any = None
) -> Jaxpr:
    """The jaxpr of `fn(*raw) -> list of raw` over its arguments alone, for transformations of jaxprs.

    Raises:
        LeakedTracerError: it closes over a traced value.
    """
    return with_constants(*stage(fn, avals, name, bounds))


def with_constants(jaxpr: Jaxpr, values: Sequence[Any]) -> Jaxpr:
    """`jaxpr` without its leading inputs, which are `values`.

    Raises:
        LeakedTracerError: one of them is traced: it belongs to a transformation that the jaxpr doesn't know.
    """
    if not values:
        return jaxpr
    for x in values:
        if isinstance(x, Value):
            raise LeakedTracerError(value=origin(x))
    return holding(jaxpr, dict(enumerate(values)))


def holding(jaxpr: Jaxpr, arrays: dict[int, np.ndarray]) -> Jaxpr:
    """`jaxpr` with the inputs that are keys of `arrays` computed inside, as constants."""
    if not arrays:
        return jaxpr
    eqns = [Eqn(constant_op, (), (jaxpr.invars[n],), {"value": Held(x)}) for n, x in arrays.items()]
    rest = tuple(v for n, v in enumerate(jaxpr.invars) if n not in arrays)
    return Jaxpr(rest, (*eqns, *jaxpr.eqns), jaxpr.outs, jaxpr.name)
