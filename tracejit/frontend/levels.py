"""Which blocks of user code the current trace is in: steps of loops, branches of conditions."""

from __future__ import annotations

from typing import Any

from tracejit.interpreters.stage import StageTrace
from tracejit.tracing import current_trace

#: What the traces are called that stage a step of a loop.
_LOOPS = frozenset(("for", "while", "comprehension"))


def in_blocks_of(trace: Any) -> bool:
    """Whether the current trace is `trace`, or that of a loop or branch in it."""
    now = current_trace()
    while now is not trace:
        if type(now) is not StageTrace or now.name not in (*_LOOPS, "branch"):
            return False
        now = now.parent
    return True


def loop_of(trace: Any) -> StageTrace | None:
    """The innermost trace from `trace` outwards that stages a step of a loop, if one is at work."""
    while isinstance(trace, StageTrace):
        if trace.name in _LOOPS:
            return trace
        trace = trace.parent
    return None


def in_loop() -> StageTrace | None:
    """The innermost loop of the current trace."""
    return loop_of(current_trace())
