"""Where in the user's program an entry is: the frames that Python would have there.

Warnings and log records name the line, the function and the module of their caller. When an entry is done, the stack
has none of the user's functions that were traced; so these are written down while tracing. Below the traced function
come its callers of that moment.
"""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any, NamedTuple

from tracejit.errors import is_internal
from tracejit.frontend import active

_HOOKS = ("rewrite/hooks/", "rewrite\\hooks\\")
_FRONTEND = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")
_SOLVERS = os.path.join(os.path.dirname(os.path.dirname(_FRONTEND)), "scipy", "")


class Names:
    """The globals of a module, by identity."""

    __slots__ = ("of",)

    def __init__(self, of: dict[str, Any]) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and other.of is self.of

    def __hash__(self) -> int:
        return id(self.of)


class Place(NamedTuple):
    """A frame of the user's: file, line, function, globals."""

    file: str
    line: int
    function: str
    names: Names

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def here() -> tuple[Place, ...]:
    """The frames from the user's line that is traced now to the traced function, innermost first."""
    found: list[Place] = []
    end, line = 0, None
    frame: FrameType | None = sys._getframe(1)
    session = active.session()
    while frame is not None:
        code = frame.f_code
        if is_internal(code.co_filename):
            if code.co_name == "run" and frame.f_locals.get("self") is session:
                end = len(found)
        elif _is_block(frame):
            line = line or frame.f_lineno
        else:
            names = Names(getattr(frame.f_globals, "real", frame.f_globals))
            name = "<listcomp>" if _is_item(frame) else code.co_name
            found.append(Place(code.co_filename, line or frame.f_lineno, name, names))
            line = None
        frame = frame.f_back
    return tuple(found[:end])


def by_a_solver() -> bool:
    """Whether what is being entered is said by a solver of SciPy's that is written here, rather than by the user."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_FRONTEND):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_SOLVERS)


def _is_block(frame: FrameType) -> bool:
    """Whether it runs a block of a function that is a function of its own in the rewritten code only."""
    code = frame.f_code
    if code.co_name.startswith("_tj_"):
        return True
    return _is_of_hooks(frame) and (not code.co_argcount or (_is_item(frame) and sys.version_info >= (3, 12)))


def _is_item(frame: FrameType) -> bool:
    """Whether it computes an item of a list comprehension, which is a function in Python before 3.12."""
    return (
        _is_of_hooks(frame)
        and frame.f_code.co_argcount == 1
        and _file_of_caller(frame).endswith("comprehensions.py")
    )


def _is_of_hooks(frame: FrameType) -> bool:
    return frame.f_code.co_name == "<lambda>" and any(part in _file_of_caller(frame) for part in _HOOKS)


def _file_of_caller(frame: FrameType) -> str:
    return "" if frame.f_back is None else frame.f_back.f_code.co_filename


def caller(places: tuple[Place, ...], level: int) -> Place | None:
    """The frame `level` callers up from the first of `places`, of those or of the functions that have called the
    compiled one; None if there are not so many."""
    if level < len(places):
        return places[max(level, 0)]
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    for _ in range(level - len(places)):
        frame = None if frame is None else frame.f_back
    if frame is None:
        return None
    return Place(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, Names(frame.f_globals))
