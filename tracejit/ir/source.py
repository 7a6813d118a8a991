"""Where in the user's program an equation came from.

Recorded for every equation, eager gradients included, so it must be cheap: a
code object and an instruction offset, turned into a line only when printed.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType
from typing import Any

from tracejit.errors import is_passed_over

_internal: dict[str, bool] = {}  # file name -> is it a file of this package or of NumPy


class Source:
    """A place in a user's function: code object and instruction offset."""

    __slots__ = ("code", "lasti")
    #: How many derivatives in reverse lie between the line and what was recorded for it.
    order = 0
    #: The names of the scopes (`named_scope`) around it, with slashes between them.
    scope = ""

    def __init__(self, code: CodeType, lasti: int) -> None:
        self.code = code
        self.lasti = lasti

    @property
    def filename(self) -> str:
        return self.code.co_filename

    @property
    def line(self) -> int:
        for start, end, line in self.code.co_lines():
            if start <= self.lasti < end and line is not None:
                return line
        return self.code.co_firstlineno

    def __str__(self) -> str:
        place = f"{os.path.basename(self.filename)}:{self.line}"
        return f"{place} in {self.scope}" if self.scope else place

    def full(self) -> str:
        return f"{self.filename}:{self.line}"

    def __reduce__(self) -> Any:
        """Pickled as the line that it is: code objects can't be."""
        return Line, (self.filename, self.line, self.scope)


class Scoped(Source):
    """A place inside of a `named_scope`."""

    __slots__ = ("scope",)

    def __init__(self, code: CodeType, lasti: int, scope: str) -> None:
        super().__init__(code, lasti)
        self.scope = scope


class Line(Source):
    """A place that was in another process: the file and line of that."""

    __slots__ = ("_filename", "_line", "scope")

    def __init__(self, filename: str, line: int, scope: str = "") -> None:
        self._filename = filename
        self._line = line
        self.scope = scope

    @property
    def filename(self) -> str:
        return self._filename

    @property
    def line(self) -> int:
        return self._line


class Pulled(Source):
    """A line for which not the operation was recorded but what reverse mode makes of it. `order` is 1 in a gradient,
    2 in the gradient of one."""

    __slots__ = ("order", "origin")

    def __init__(self, source: Source) -> None:
        self.origin = source.origin if type(source) is Pulled else source
        self.order = source.order + 1

    @property
    def scope(self) -> str:  # type: ignore[override]
        return self.origin.scope

    @property
    def filename(self) -> str:
        return self.origin.filename

    @property
    def line(self) -> int:
        return self.origin.line

    def __reduce__(self) -> Any:
        return _pulled, (self.origin, self.order)


def _pulled(source: Source, order: int) -> Source:
    for _ in range(order):
        source = Pulled(source)
    return source


def _classify(name: str) -> bool:
    hidden = is_passed_over(name)
    _internal[name] = hidden
    return hidden


class _Replay(threading.local):
    source: Source | None = None
    scope: str = ""


#: While a jaxpr is run again by an interpreter, `replay.source` is the line of the equation at hand. `replay.scope`
#: has the names of the scopes that this thread is in.
replay = _Replay()


def user_source() -> Source | None:
    """The innermost frame outside of this package and NumPy (or the replayed equation's), or None."""
    if replay.source is not None:
        return replay.source
    frame = sys._getframe(1)
    known = _internal
    while frame is not None:
        code = frame.f_code
        name = code.co_filename
        hidden = known.get(name)
        if hidden is None:
            hidden = _classify(name)
        if not hidden:
            return Scoped(code, frame.f_lasti, replay.scope) if replay.scope else Source(code, frame.f_lasti)
        frame = frame.f_back
    return None
