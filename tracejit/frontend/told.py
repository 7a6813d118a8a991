"""Warnings that code which is not followed gives while a function is traced: a program would not give them again.

They are kept back. Where Python can do the call, it gives them itself; elsewhere they are given when tracing is over.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator
from typing import Any

from tracejit.errors import UnfollowedError
from tracejit.frontend.run import Run

#: What compiled code does not look for: no reason to leave a function to Python.
_NUMERIC = ("divide by zero", "overflow", "underflow", "invalid value")


class Told:
    """Keeps back what one thread warns in a `with` block, as far as the user's filters let it through."""

    def __init__(self) -> None:
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
    told = Told()
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
