"""What the passes and the lowering make of a program, for pictures: the jaxpr after each pass, and its outline.

A door of `interpreters/jit.py`'s kind: what draws programs asks here, and knows neither passes nor lowering."""

from __future__ import annotations

from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.expand import expand
from tracejit.interpreters.jit import Compiled
from tracejit.ir.jaxpr import Jaxpr
from tracejit.lowering.outline import Outline, Room, Step
from tracejit.passes import pipeline
from tracejit.tracing import use_trace

__all__ = ["Outline", "Room", "Step", "outlined", "stages"]


def stages(jaxpr: Jaxpr, fastmath: bool = False) -> list[tuple[str, Jaxpr]]:
    """(name, program) for each step from a traced program to what is lowered: as it was traced, with formulas in the
    place of composite primitives, and after each pass that changed it."""
    found = [("traced", jaxpr)]
    with use_trace(ROOT):
        expanded = expand(jaxpr)
        if expanded is not jaxpr:
            found.append(("formulas", expanded))
        pipeline.run(expanded, watch=lambda name, after: found.append((name, after)), fastmath=fastmath)
    return found


def outlined(compiled: Compiled) -> tuple[Jaxpr, Outline]:
    """The program that was compiled, and what the lowering made of it. It is lowered again."""
    return compiled.jaxpr, compiled.outline()
