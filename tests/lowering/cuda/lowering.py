"""Functions lowered for a device, and run there."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit as tj
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.expand import expand
from tracejit.lowering import fuse
from tracejit.lowering.cuda.emulated import emulated
from tracejit.lowering.cuda.running import DeviceProgram
from tracejit.lowering.lowered import Lowered
from tracejit.passes import pipeline
from tracejit.passes.constants import lift
from tracejit.tracing import use_trace


def lowered(f: Any, *args: Any) -> Lowered:
    """The program of a function of arrays, for a device."""
    jaxpr = tj.jit(f, fallback=False).lower(*args).jaxpr
    with use_trace(ROOT):
        jaxpr, consts = lift(pipeline.run(expand(jaxpr)))
        assert not consts
        return fuse.lower(jaxpr, [None] * len(jaxpr.invars), {}, device=True)


def on_device(f: Any, *args: Any) -> tuple[DeviceProgram, list[np.ndarray]]:
    """The program on the emulated device, and its results."""
    program = DeviceProgram(lowered(f, *args), emulated)
    return program, [x.get() for x in program(*map(emulated.array, map(np.asarray, args)))]
