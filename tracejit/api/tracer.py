"""Making a program: running the user's function on boxes, and sorting out what it returned and wrote."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import frontend, tree
from tracejit.api.common import name_of
from tracejit.api.introspect import ShapeDtypeStruct
from tracejit.api.programs import JitCapture, Program, const_sources
from tracejit.api.running import our_errors
from tracejit.api.signature import Call
from tracejit.interpreters.stage import StageTrace, make_args
from tracejit.tracing import Box, box, current_trace, new_trace, to_raw


def trace_program(call: Call) -> tuple[Program, list[Any]]:
    """Run the user's function on boxes and record the program; its constants' present values too."""
    fun = call.fun
    trace = StageTrace(current_trace(), name_of(fun), eager_constants=True)
    capture = JitCapture()
    capture.trace = trace
    session = frontend.Session(capture)
    args = make_args(trace, call.avals())
    boxes: list[Any] = []
    with new_trace(trace):
        for n, (v, w) in enumerate(zip(args, call.weak, strict=True)):
            boxes.append(box(v, w, origin=n))
        positional, kwargs = call.rebuild(boxes)
        with our_errors():
            out = session.run(fun, positional, kwargs)
        leaves, out_tree = tree.flatten(out)
        results, outs = _sort_results(leaves, boxes, name_of(fun))
        guards = session.guards()
        captured = [(p, b) for p, b in capture.boxes if b.storage.version > 0]
        changed = [n for n, b in enumerate(boxes) if b.storage.version > 0 and _is_array(call.leaves[n])]
        news = [*(b.storage.value for _, b in captured), *(boxes[n].storage.value for n in changed)]
        jaxpr, consts = trace.freeze(args, [*outs, *news])
    arrays = guards.arrays()
    assert arrays is not None, "guards hold right after tracing"
    sources = const_sources(consts, arrays)
    written = _written_inputs(captured, changed, consts, len(consts))
    donated = tuple(len(consts) + n for n in call.donated() if _is_array(call.leaves[n]))
    program = Program(
        fun, jaxpr, sources, guards, out_tree, results, written, call.names(), donated, capture.snapshots
    )
    return program, [arrays[s] if type(s) is int else s.value for s in sources]


def _is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, Box, ShapeDtypeStruct))


def _written_inputs(captured: list[Any], changed: list[int], consts: list[Any], offset: int) -> list[int]:
    """Positions among the program's inputs of what was written."""
    position = {id(c): n for n, c in enumerate(consts)}
    return [*(position[id(to_raw(p.read()))] for p, _ in captured), *(offset + n for n in changed)]


def _sort_results(leaves: list[Any], boxes: list[Any], name: str) -> tuple[list[tuple[str, Any]], list[Any]]:
    """What each leaf of the result is, and the raw outputs among them."""
    by_id = {id(b): n for n, b in enumerate(boxes)}
    results: list[tuple[str, Any]] = []
    outs: list[Any] = []
    for x in leaves:
        if id(x) in by_id:
            results.append(("arg", by_id[id(x)]))
        elif type(x) in (bool, int, float, complex):
            results.append(("value", x))
        else:
            results.append(("out", len(outs)))
            outs.append(to_raw(x, f"the result of {name}"))
    return results, outs
