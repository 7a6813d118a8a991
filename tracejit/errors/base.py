"""Every error a user can cause: one class, one stable code, one page.

A class states its code, a one-sentence cause (a format string), and remedies.
`python -m tracejit help TJ012` prints the page. The user's own file and line
are added when the error is raised.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import os
import re
import sys
import textwrap
from typing import Any, ClassVar

import numpy as np

from tracejit.errors import refusals

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NUMBA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(np.__file__))), "numba") + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep

CODES: dict[str, type[TracejitError]] = {}


def is_internal(filename: str) -> bool:
    """True for files of this package (frames that no user wrote)."""
    return filename.startswith((_PACKAGE, "<tracejit"))


def is_library(filename: str) -> bool:
    """True for files of this package, of NumPy and Numba, and of the import system."""
    return filename.startswith((_PACKAGE, "<tracejit", _NUMPY, _NUMBA, "<frozen"))


#: Files of Python's that this package calls, and that call it back: errors name the user's line instead.
_BETWEEN = frozenset(m.__file__ for m in (contextlib, copy, dataclasses, functools))


def is_passed_over(filename: str) -> bool:
    """True for files with no line of a user's program, where errors look for one."""
    return filename in _BETWEEN or is_library(filename)


#: How a size that only a run knows is written in the printed types.
TRACED_SIZE = re.compile(r"\bv[0-9a-f]+<=(\?|\d+)")


def user_location() -> str | None:
    """`file:line` of the innermost frame outside the package, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not is_passed_over(name):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return None


class TracejitError(Exception):
    """Base of all. Subclasses also derive from the builtin exception Python would raise."""

    code: ClassVar[str] = "TJ000"
    cause: ClassVar[str] = ""
    remedies: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""  # Python that raises it; the tests run it
    #: Whether it says what tracing can't do, where Python could: then it ends the trace, whoever catches it.
    limit: ClassVar[bool] = False
    #: The traced values whose numbers were needed, where they are known.
    traced: tuple[Any, ...] = ()
    #: The places of outside that it was asked for, if another trace may follow those as wholes.
    places: tuple[Any, ...] = ()
    #: The traced integers that the structure of a sparse array depends on.
    structure: tuple[Any, ...] = ()
    #: The arguments, by position or keyword, whose containers another trace may follow.
    arguments: frozenset[Any] = frozenset()
    #: Whether the user's function, run in Python, gives what a native run that fails with this should have given.
    redo: ClassVar[bool] = False
    #: Whether another trace, in which lists of traced length share their arrays, may go on.
    shares_arrays = False
    #: Whether another trace, in which tuples have numbers, may go on.
    numbers_tuples = False
    #: Of loops: whether a known number of steps, however large, is enough.
    fills_lists = False
    #: Of loops: whether that is asked for since it makes lists of a known length, and is not needed.
    by_count = False

    @property
    def asks(self) -> bool:
        """Whether another trace may know what is missing in this one."""
        return bool(self.places or self.structure or self.arguments or self.by_count)

    def __init_subclass__(cls) -> None:
        if "code" in cls.__dict__:
            if cls.code in CODES:
                raise TypeError(f"{cls.__name__} reuses {cls.code}")
            CODES[cls.code] = cls

    def __init__(self, *, where: str | None = None, **details: Any) -> None:
        self.details = details
        self.where = where or user_location()
        super().__init__(self._message())
        if self.limit:
            refusals.add(self)

    def _message(self) -> str:
        return TRACED_SIZE.sub(lambda m: m[1] if m[1] == "?" else f"<={m[1]}", self._text())

    def _text(self) -> str:
        """The message, in which sizes that only a run knows have the names of variables that nobody knows."""
        lines = [f"[{self.code}] {self.cause.format(**self.details)}"]
        if self.where:
            lines.append(f"  at {self.where}")
        lines += [f"  - {r.format(**self.details)}" for r in self.remedies]
        lines.append(f"  (python -m tracejit help {self.code})")
        return "\n".join(lines)

    def advise(self, remedy: str) -> None:
        """Add a remedy that depends on where it was raised."""
        before, last = self.args[0].rsplit("\n", 1)
        self.args = (f"{before}\n  - {remedy}\n{last}", *self.args[1:])

    def __str__(self) -> str:  # KeyError-like bases would print a repr
        return self.args[0]

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.where, {k: str(v) for k, v in self.details.items()})

    @classmethod
    def page(cls) -> str:
        """The help page: cause, remedies, an example that raises it."""
        out = [f"{cls.code}  {cls.__name__}", "", textwrap.dedent(cls.__doc__ or "").strip(), ""]
        out += ["Message:", f"  {blanks(cls.cause)}", "", "Remedies:"]
        out += [f"  - {blanks(r)}" for r in cls.remedies]
        if cls.example:
            out += ["", "Example:", textwrap.indent(textwrap.dedent(cls.example).strip(), "    ")]
        return "\n".join(out)


def blanks(text: str) -> str:
    """A format string for reading: `{shape!r}` as `<shape>`."""
    return re.sub(r"\{(\w+)[^}]*\}", r"<\1>", text)


def _rebuild(cls: type[TracejitError], where: str | None, details: dict[str, str]) -> TracejitError:
    return cls(where=where, **details)


class InternalTypeError(TracejitError, AssertionError):
    """The IR is inconsistent. This is a bug in tracejit, never the user's fault."""

    code = "TJ007"
    limit = True
    cause = "inconsistent IR: {problem}"
    remedies = ("please report it with the program that caused it",)
