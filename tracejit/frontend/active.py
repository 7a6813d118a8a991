"""The session whose traced code runs in this thread."""

from __future__ import annotations

import threading
from typing import Any

from tracejit.errors import refusals


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
