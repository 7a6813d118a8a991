"""Tracebacks as users see them: their own frames, and those of other libraries, without tracejit's between them."""

from __future__ import annotations

import functools
import opcode
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tracejit.config import config
from tracejit.errors import TracejitError, is_internal, is_library
from tracejit.tracing import is_tracing

#: How often a line of the user's is in a traceback whose end is that a function calls itself without end.
_CALLS_ITSELF = 20
_RAISING = frozenset(n for name, n in opcode.opmap.items() if name in ("RAISE_VARARGS", "RERAISE"))


def is_ours(error: BaseException) -> bool:
    """Whether code of tracejit's failed, rather than the user's or NumPy's, or a `raise` of ours that says what
    Python would."""
    frames = _frames(error.__traceback__)
    if not frames or not is_internal(frames[-1].tb_frame.f_code.co_filename):
        return False
    if calls_itself(error):
        return False  # what ends a function's calls of itself is not known while tracing
    return frames[-1].tb_frame.f_code.co_code[frames[-1].tb_lasti] not in _RAISING


def calls_itself(error: BaseException) -> bool:
    """Whether the user's functions call themselves until Python's stack ends."""
    lines = Counter(
        at for at in trail(error) if at[0] != "<string>"
    )  # functions of dataclasses and their like
    return isinstance(error, RecursionError) and max(lines.values(), default=0) >= _CALLS_ITSELF


def trail(error: BaseException) -> tuple[tuple[str, int], ...]:
    """The user's lines that an exception has come through."""
    places = [(at.tb_frame.f_code.co_filename, at.tb_lineno) for at in _frames(error.__traceback__)]
    return tuple(place for place in places if not is_library(place[0]))


def hide(error: BaseException) -> None:
    """Take the frames of this package out of what `error`, which was just caught, has come through. What called the
    package stays, and so does everything if code of tracejit's failed, or with `config.full_tracebacks`."""
    if config.full_tracebacks or is_tracing():  # there it goes on to the call that is the outermost one
        return
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        if isinstance(at, TracejitError) or not isinstance(at, Exception) or not is_ours(at):
            _relink(at)
        at = at.__cause__ or at.__context__


def _relink(error: BaseException) -> None:
    frames = _frames(error.__traceback__)
    kept = [at for at in frames[1:] if not is_internal(at.tb_frame.f_code.co_filename)]
    for at, following in zip([*frames[:1], *kept], [*kept, None], strict=False):
        at.tb_next = following


def _frames(at: TracebackType | None) -> list[TracebackType]:
    found = []
    while at is not None:
        found.append(at)
        at = at.tb_next
    return found


def door(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that users call, which hides the frames of exceptions that come out of it."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except BaseException as e:
            hide(e)
            raise

    call.__wrapped__ = getattr(f, "__wrapped__", f)
    return call
