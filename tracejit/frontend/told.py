"""Warnings that code which is not followed gives while a function is traced: a program would not give them again.

What NumPy warns of, of values that are known while tracing, becomes an entry of the program, which warns as from the
same line. All else is kept back. Where Python can do the call, it gives them itself; elsewhere they are given when
tracing is over. Errors of ours that NumPy wraps come out of it.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from typing import Any

from tracejit import dtypes
from tracejit.errors import TracejitError, UnfollowedError, is_internal, is_library
from tracejit.frontend.run import Run
from tracejit.frontend.text.places import Names, Place, here
from tracejit.frontend.text.sinks import is_recording
from tracejit.frontend.text.warned import of_library_at
from tracejit.numpy import options

#: What compiled code does not look for: no reason to leave a function to Python.
_NUMERIC = ("divide by zero", "overflow", "underflow", "invalid value")


class Told:
    """Keeps back what one thread warns in a `with` block, as far as the user's filters let it through. `over`: Python
    may do the call, which warns as from the very line; otherwise the program does as from the user's."""

    def __init__(self, over: bool = True) -> None:
        self.over = over
        self.kept: list[tuple[Any, ...]] = []
        self.active = False
        self.hook = self.show

    def __enter__(self) -> Told:
        self.thread = threading.get_ident()
        self.before, self.active = warnings.showwarning, True
        warnings.showwarning = self.hook  # type: ignore[assignment]
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self.active = False
        if warnings.showwarning is self.hook:
            before = self.before
            while isinstance(owner := getattr(before, "__self__", None), Told) and not owner.active:
                before = owner.before  # of a trace in another thread, which has ended meanwhile
            warnings.showwarning = before

    def show(
        self,
        message: Any,
        category: type[Warning],
        filename: str,
        line: int,
        file: Any = None,
        text: Any = None,
    ) -> None:
        """`warnings.showwarning`."""
        ours = category.__module__.startswith("tracejit") or issubclass(category, ResourceWarning)
        here = self.active and threading.get_ident() == self.thread
        if not here or ours:
            self.before(message, category, filename, line, file, text)
        else:
            place = None if str(message).startswith(_NUMERIC) else _place(filename, line, self.over)
            if place is None or not _entered(message, category, line, *place):
                self.kept.append((message, category, filename, line, file, text))

    def leave(self) -> None:
        """Refuse the trace if something was warned that Python would warn at each call."""
        for message, category, *_ in self.kept:
            if not str(message).startswith(_NUMERIC):
                what = f"`{category.__name__}: {message}`"
                raise UnfollowedError(what=what, reason="a program would not give this warning again")

    def drop(self) -> None:
        """Forget what was warned, and let Python forget that it was: by other filters, it may be warned again."""
        if self.kept:
            self.kept.clear()
            with warnings.catch_warnings():
                pass

    def give(self) -> None:
        """Give the warnings now."""
        while self.kept:
            self.before(*self.kept.pop(0))


@contextlib.contextmanager
def kept_back(session: Run) -> Iterator[None]:
    """Keep back what is warned while a program is made: Python gives it, or else it is given in the end."""
    if not session.guarded:
        yield
        return
    told = Told(session.over)
    try:
        with told:
            yield
        if told.kept:
            session.asked_over = True
        if session.over:
            told.leave()
    except BaseException:
        if session.over:
            told.drop()
        raise
    finally:
        told.give()


def _place(filename: str, line: int, over: bool) -> tuple[Place, dict[str, Any]] | None:
    """The line of NumPy's or the user's that something was warned of, if NumPy would warn of it there at each call: the
    user's code has called the very function that warns, of values that it knows. Where another function of NumPy's has
    called it, the user's line if Python is not `over` the program. With the names of the module in which Python has
    noted that it was shown."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename == warnings.__file__:
        frame = frame.f_back
    found: Place | None = None
    while frame is not None and _is_numpys(frame):
        if frame.f_code.co_filename == filename and frame.f_lineno == line and found is None:
            found = Place(filename, line, frame.f_code.co_name, Names(frame.f_globals))
        frame = frame.f_back
    users = _users_line()
    if frame is None or users is None:
        return None
    if not is_internal(frame.f_code.co_filename):
        at = found or (users if (users.file, users.line) == (filename, line) else None)
        return None if at is None else (at, at.names.of)
    is_first = frame.f_code.co_filename == filename and frame.f_lineno == line
    if not (found or is_first) or not _is_called_by_the_user(frame):
        return None if over else (users, users.names.of)
    return (users, frame.f_globals) if found is None else (found, found.names.of)


def _users_line() -> Place | None:
    """The innermost line of the user's."""
    return next((p for p in here() if p.file != warnings.__file__ and not is_library(p.file)), None)


def _is_numpys(frame: types.FrameType) -> bool:
    name = frame.f_code.co_filename
    return is_library(name) and not is_internal(name)


def _is_called_by_the_user(frame: types.FrameType) -> bool:
    """Whether the first of our frames hands a call of NumPy's function on that the user has made."""
    if frame.f_code not in (dtypes.asked.__code__, options.let_numpy_warn.__code__):
        return False
    function = frame.f_locals["function"]
    outer, above = frame, frame.f_back
    while above is not None and is_internal(above.f_code.co_filename):
        if above.f_code.co_name != "method":  # which calls the function of that name
            outer = above
        above = above.f_back
    return outer.f_code.co_name == "call" and outer.f_locals.get("np_function") is function


def _entered(message: Any, category: type[Warning], line: int, place: Place, names: dict[str, Any]) -> bool:
    """Let the program warn at this place, if it can."""
    if not is_recording():
        return False
    try:
        of_library_at(str(message), category, place)
    except UnfollowedError:
        return False
    key = str(message), category
    shown = names.get("__warningregistry__", {})
    for known in (key, (*key, 0), (*key, line)):  # so that the program's first warning is not held back
        shown.pop(known, None)
    vars(warnings)["onceregistry"].pop(key, None)
    return True


@contextlib.contextmanager
def our_errors() -> Iterator[None]:
    """Lets errors of ours through that NumPy's C code wrapped: `array[0] = traced` becomes "setting an array
    element with a sequence", with our explanation hidden as its cause."""
    try:
        yield
    except ValueError as e:
        if isinstance(e.__cause__, TracejitError):
            raise e.__cause__ from None
        raise
