"""Which vmap axis a region's batch rule is being applied for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracejit.interpreters.vmap import processing_axis
from tracejit.ir.jaxpr import Jaxpr, sub_jaxprs
from tracejit.tracing import current_trace

__all__ = ["axis_names", "bound_axis", "processing_axis", "uses_axis"]


def uses_axis(jaxprs: Iterable[Jaxpr], name: Any) -> bool:
    """Whether a collective over axis `name` is in one of `jaxprs` or their regions."""
    return name is not None and any(name in axis_names(j) for j in jaxprs)


def axis_names(jaxpr: Jaxpr) -> set[Any]:
    """The axis names of the collectives in `jaxpr`."""
    out: set[Any] = set()
    for eqn in jaxpr.eqns:
        if "axis_name" in eqn.params:
            out.add(eqn.params["axis_name"])
        for sub in sub_jaxprs(eqn.params):
            out |= axis_names(sub)
    return out


def bound_axis(name: Any) -> Any:
    """The innermost surrounding BatchTrace with that axis name, or None."""
    trace = current_trace()
    while trace is not None:
        if name is not None and getattr(trace, "axis_name", None) == name:
            return trace
        trace = trace.parent
    return None
