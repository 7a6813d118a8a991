"""Values that a program takes for known: its trace goes on with the value that this call has, and a check of the
program makes sure of it. For other values there are other programs (`api.assumed`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.interpreters.autodiff.tangents import TangentTrace
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.jaxpr import Var
from tracejit.ir.values import Value
from tracejit.tracing import current_trace

#: What is decided at the line of a condition, in the words of `explain`.
TAKEN = "condition"


def assumed(raw: Any, refusal: Callable[[], Exception]) -> Any:
    """The value that the program takes a traced truth value or integer to have, a NumPy array or scalar; None where
    tracing can't go on like this: in the step of a native loop or in a branch, of numbers that are no integers, and
    where Python does no calls over. `refusal` makes what is raised then."""
    while isinstance(raw, Value) and type(raw) is not Var:
        raw = getattr(raw, "primal", None)
    if type(raw) is not Var or not isinstance(raw.trace, StageTrace) or raw.trace.assume is None:
        return None
    return raw.trace.assume(raw, refusal) if _runs_once(raw.trace) else None


def is_decided(raw: Any) -> bool:
    """Whether integers among the arguments decide a traced value, for which the function can be traced."""
    while isinstance(raw, Value) and type(raw) is not Var:
        raw = getattr(raw, "primal", None)
    recording: Any = raw.trace if type(raw) is Var else None
    return isinstance(recording, StageTrace) and recording.decides is not None and recording.decides([raw])


def value_now(raw: Any) -> Any:
    """The value that a raw value has in the call for which is traced, an array; None where that is not known: in the
    step of a native loop, in a branch, and where nothing is called."""
    while isinstance(raw, Value) and type(raw) is not Var:
        raw = getattr(raw, "primal", None)
    if type(raw) is not Var:
        return None if raw is None else np.asarray(raw)
    recording: Any = raw.trace
    if not isinstance(recording, StageTrace) or recording.now is None or not _runs_once(recording):
        return None
    found = recording.now(raw)
    return None if found is None else np.asarray(found)


def _runs_once(recording: StageTrace) -> bool:
    """Whether what is traced now is part of the program itself, and of no loop or branch in it."""
    trace = current_trace()
    while trace is not None and trace is not recording:
        if isinstance(trace, StageTrace) and not isinstance(trace, TangentTrace):
            return False
        trace = trace.parent
    return trace is recording
