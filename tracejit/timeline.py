"""The switch of profiles, and what the phases of compiling and calling tell them: spans of time.

    with span("pass", "cse"):
        ...

costs a look at an attribute while no profile is on. While one is, each span knows the one around it in its thread, so
that the time of its own is known. Who listens is installed by `lowering.runtime.stopwatch`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any


class Switch:
    """`on`: whether a profile is on. `take(span)`: what is told of each span that has ended. `epoch` is another number
    after each change."""

    __slots__ = ("epoch", "on", "take")

    def __init__(self) -> None:
        self.on = False
        self.epoch = 0
        self.take: Callable[[Span], None] = lambda span: None


SWITCH = Switch()
_NOTHING = contextlib.nullcontext()
_open = threading.local()


class Span:
    """A piece of time of one thread, in nanoseconds of `time.perf_counter_ns`. `inside`: the time of spans in it."""

    __slots__ = ("inside", "kind", "name", "outer", "start", "stop", "thread", "where")

    def __init__(self, kind: str, name: str, where: Any = None) -> None:
        self.kind, self.name, self.where = kind, name, where
        self.thread = threading.get_ident()
        self.inside = self.stop = 0
        self.outer: Span | None = None
        self.start = 0

    def __enter__(self) -> Span:
        self.outer = getattr(_open, "last", None)
        _open.last = self
        self.start = time.perf_counter_ns()
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self, tell: bool = True) -> None:
        """Close the span; with `tell` False as if it had never been."""
        self.stop = time.perf_counter_ns()
        outer = _open.last = self.outer
        if tell:
            if outer is not None:
                outer.inside += self.stop - self.start
            SWITCH.take(self)
        elif outer is not None:
            outer.inside += self.inside


def span(kind: str, name: str = "", where: Any = None) -> Any:
    """A context whose time is told to the profiles that are on."""
    return Span(kind, name, where) if SWITCH.on else _NOTHING
