"""The session whose traced code runs in this thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class _State(threading.local):
    session: Any = None


_state = _State()


def session() -> Any:
    """The current session, or None where no traced code runs."""
    return _state.session


@contextlib.contextmanager
def use(session: Any) -> Iterator[None]:
    """Make `session` current in this thread for the block; None for code that is not traced."""
    previous = _state.session
    _state.session = session
    try:
        yield
    finally:
        _state.session = previous
