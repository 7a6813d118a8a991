"""Programs on the emulated device: with kernels of many threads, and with the sizes from which there are some."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

import tracejit as tj
from tests.fuzz.checking import Invalid, compare, oracle, plainly, quiet
from tests.fuzz.program import Loaded
from tests.fuzz.spellings import Traced
from tracejit.errors import UnsupportedFunctionError
from tracejit.lowering.cuda import planner
from tracejit.lowering.cuda.lanes import ahead, gather, scatter, segments
from tracejit.lowering.cuda.sharing import warps
from tracejit.lowering.cuda.tiles import stencils


@contextmanager
def of_small_arrays() -> Iterator[None]:
    """What large arrays become, for small ones: launches, and threads for two lanes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planner, "ALONE", 0)
        patch.setattr(planner, "MANY", 4)
        patch.setattr(gather, "LEAST", 2)
        patch.setattr(scatter, "LEAST", 2)
        patch.setattr(segments, "LEAST", 5)
        patch.setattr(segments, "PLACES", 3)
        patch.setattr(planner, "FEW", 2)
        patch.setattr(warps, "MANY_ROWS", 2)
        patch.setattr(ahead, "STEPS", 2)
        patch.setattr(stencils, "WORTH", 16)
        patch.setattr(stencils, "SIDES", {2: (4, 8), 3: (2, 4, 8)})
        yield


def check_device(p: Loaded, setting: str = "emulate") -> None:
    """On the emulated device; every second program as if its arrays were large."""
    want = oracle(p, lambda s: functools.reduce(operator.iadd, plainly(p, s), []))
    inputs, fn = p.load(Traced())
    with quiet(), tj.config.override(cuda=setting):
        args = list(inputs())
        if p.seed % 2:
            with of_small_arrays():
                outs = tj.jit(fn, device="cuda")(*args)
        else:
            outs = tj.jit(fn, device="cuda")(*args)
        got = [np.asarray(o) for o in tj.device_get(list(outs))]
    compare([*got, *args], want, "on a device")


def device_failure(p: Loaded, setting: str = "emulate") -> str:
    """What is wrong with a program on the device, '' if nothing is."""
    try:
        check_device(p, setting)
    except (Invalid, UnsupportedFunctionError):
        return ""
    except Exception as e:
        return f"{type(e).__name__}: {str(e)[:600]}"
    return ""
