"""Running the user's function over guarded names, under whichever capture is in force."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tracejit import frontend
from tracejit.frontend.capture import EagerCapture


class _State(threading.local):
    session: Any = None  # the session of the jit trace that is being made in this thread


_state = _State()
_EAGER = EagerCapture()


def current_session() -> Any:
    """The guarded session of the enclosing jit trace, or None."""
    return _state.session


@contextlib.contextmanager
def use_session(session: Any) -> Iterator[None]:
    """Make `session` the one that user functions run in."""
    previous = _state.session
    _state.session = session
    try:
        yield
    finally:
        _state.session = previous


def run_user(f: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """Call `f` with `np` meaning tracejit.numpy; names it reads are guarded inside a jit trace."""
    session = _state.session
    if session is None:
        session = frontend.Session(_EAGER)
    return session.run(f, tuple(args), kwargs)
