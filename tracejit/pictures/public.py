"""draw: the public function, and which picture an object has."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tracejit.api.explain import Report
from tracejit.api.jit.aot import CompiledFunction, Lowering
from tracejit.api.jit.jitted import Jitted, jit
from tracejit.errors import FunctionNeededError, PictureProgramError
from tracejit.interpreters import jit_pictured
from tracejit.ir.jaxpr import ClosedJaxpr, Jaxpr
from tracejit.pictures.building import graph_of
from tracejit.pictures.model import Graph
from tracejit.pictures.picture import Picture, Stages


def draw(f: Callable[..., Any], stage: str | None = None, graphviz: bool = True) -> Callable[..., Picture]:
    """`draw(f)(*args)`: the program that `jit(f)` makes for these arguments as a `Picture`. Nothing is run.

    `stage` is one of the picture's `stages`; by default what was recorded, before all passes. `graphviz`: whether
    Graphviz places the boxes, where it is installed; otherwise tracejit does. What `jit` refuses is raised. Raises
    PictureStageError for a stage that the program does not have.
    """
    FunctionNeededError.check("draw", f)
    jitted = f if isinstance(f, Jitted) else jit(f)

    def picture(*args: Any, **kwargs: Any) -> Picture:
        return picture_of(jitted.lower(*args, **kwargs), stage, graphviz)

    return picture


def picture_of(x: Any, stage: str | None = None, graphviz: bool = True) -> Picture:
    """The picture of what holds a program. Raises PictureProgramError for a report on a function that Python runs."""
    if isinstance(x, Report):
        if x.compiled is None:
            raise PictureProgramError(function=x.name, reason=x.fallback)
        x = x.compiled
    if isinstance(x, CompiledFunction):
        x, stage = x._lowering, stage or "compiled"
    if isinstance(x, Lowering):
        jaxpr, captured = x.jaxpr, len(x.program.const_sources)
        inputs = [x.program.input_name(n) for n in range(len(jaxpr.invars))]
        make = partial(_stages, jaxpr, _bare(inputs), captured, x.program.fastmath, x.compile)
    elif isinstance(x, ClosedJaxpr):
        jaxpr, make = x.jaxpr, partial(_stages, x.jaxpr, [], len(x.consts))
    else:
        jaxpr, make = x, partial(_stages, x, [], 0)
    found = Picture(jaxpr.name, make, "traced", graphviz)
    return found if stage in (None, "traced") else found.at(stage)


def _bare(names: list[str]) -> list[str]:
    """The names of inputs, as messages call them, without words around them."""
    return [(n.partition("`")[2] or n).replace("`", "") for n in names]


def _stages(
    jaxpr: Jaxpr,
    inputs: list[str],
    captured: int,
    fastmath: bool = False,
    compiled: Callable[[], CompiledFunction] | None = None,
) -> Stages:
    found: dict[str, Callable[[], Any]] = {}
    for name, program in jit_pictured.stages(jaxpr, fastmath):
        n = sum(key.partition(" ")[0] == name for key in found)
        found[f"{name} {n + 1}" if n else name] = partial(graph_of, program, inputs, (), captured)
    if compiled is not None:
        found["compiled"] = lambda: _compiled(compiled(), inputs, captured)
    return found


def _compiled(function: CompiledFunction, inputs: list[str], captured: int) -> Graph:
    """The graph of what was compiled; its first inputs are arrays that the passes took out of the program."""
    program, outline = jit_pictured.outlined(function._compiled)
    lifted = len(program.invars) - len(inputs)
    return graph_of(program, inputs, (), captured + lifted, outline)
