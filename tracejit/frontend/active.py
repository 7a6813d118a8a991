"""The session whose traced code runs in this thread, and which of its blocks does."""

from __future__ import annotations

import threading
from typing import Any

from tracejit.errors import refusals
from tracejit.interpreters.autodiff.derivative import DerivativeTrace
from tracejit.interpreters.stage import StageTrace
from tracejit.tracing import current_trace


class _State(threading.local):
    session: Any = None


_state = _State()


def session() -> Any:
    """The current session, or None where no traced code runs."""
    return _state.session


class use:
    """Make a session current in this thread for a `with` block; None for code that is not traced."""

    __slots__ = ("previous", "refusals", "session")

    def __init__(self, session: Any) -> None:
        self.session = session
        self.refusals = refusals.into(None if session is None else session.refusals)

    def __enter__(self) -> None:
        self.previous = _state.session
        _state.session = self.session
        self.refusals.__enter__()

    def __exit__(self, *_: object) -> None:
        _state.session = self.previous
        self.refusals.__exit__()


#: What the traces are called that stage a step of a loop.
_LOOPS = frozenset(("for", "while", "comprehension"))


def in_blocks_of(trace: Any) -> bool:
    """Whether the current trace is `trace`, or that of a loop, branch or derivative in it, which runs as the user's
    function does."""
    now: Any = current_trace()
    while now is not trace:
        staged = type(now) is not StageTrace or now.name not in (*_LOOPS, "branch")
        if staged and not isinstance(now, DerivativeTrace):
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
