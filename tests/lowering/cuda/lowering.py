"""Functions lowered for a device, and run there: on the emulated one, or on a card where `make test-gpu` found one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import tracejit as tj
from tracejit.interpreters.eval import ROOT
from tracejit.interpreters.expand import expand
from tracejit.interpreters.jit_cuda.device import device
from tracejit.lowering import fuse
from tracejit.lowering.cuda.running import DeviceProgram
from tracejit.lowering.cuda.sharing.occupancy import room_of
from tracejit.lowering.lowered import Lowered
from tracejit.passes import pipeline
from tracejit.passes.constants import lift
from tracejit.tracing import use_trace

#: What plans of these tests are made for.
ROOM = room_of((9, 0))
#: The setting `cuda` of these tests: "emulate", or "auto" on a card.
SETTING = os.environ.get("GPU_TESTS", "emulate")


def first() -> Any:
    """The first device."""
    with tj.config.override(cuda=SETTING):
        return device("cuda")


def lowered(f: Any, *args: Any) -> Lowered:
    """The program of a function of arrays, for a device."""
    jaxpr = tj.jit(f, fallback=False).lower(*args).jaxpr
    with use_trace(ROOT):
        jaxpr, consts = lift(pipeline.run(expand(jaxpr)))
        assert not consts
        return fuse.lower(jaxpr, [None] * len(jaxpr.invars), {}, device=True)


def on_device(f: Any, *args: Any) -> tuple[DeviceProgram, list[np.ndarray]]:
    """The program on the first device, and its results."""
    program = DeviceProgram(lowered(f, *args), on := first())
    return program, [x.get() for x in program(*map(on.array, map(np.asarray, args)))]
