"""A capture that needs no other room: stand-ins are marked copies of the arrays."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from tracejit.frontend import GuardSet, Session


class Marked(np.ndarray):
    """A stand-in: an array of another class, so that tests see that it was captured."""


class FakeCapture:
    """Counts and names what is captured."""

    journaled = False
    near = 0
    trace = None

    def __init__(self, guarded: bool = True) -> None:
        self.guarded = guarded
        self.paths: list[str] = []
        self.values: list[np.ndarray] = []
        self.things: list[Any] = []

    def array(self, path: Any, value: Any) -> Any:
        self.paths.append(path.text)
        self.values.append(value)
        return value.copy().view(Marked)

    def owns(self, box: Any) -> bool:
        return False

    def scalar(self, path: Any, value: Any) -> Any:
        return NotImplemented

    def varies(self, path):
        return False

    def grows(self, path: Any, length: int) -> bool:
        return False

    def knows(self, path: Any) -> bool:
        return False

    def unfollowed(self, thing: Any) -> None:
        self.things.append(thing)


def traced(f: Any, *args: Any, **kwargs: Any) -> tuple[Any, GuardSet, FakeCapture]:
    """Runs `f` under a fake trace; its result, guards and capture. The guards hold at first."""
    capture = FakeCapture()
    session = Session(capture)
    out = session.run(f, args, kwargs)
    guards = session.guards()
    assert guards.why() is None
    assert guards.check()
    return out, guards, capture


def module(name: str, source: str, **values: Any) -> types.ModuleType:
    """A user's module made from source."""
    made = types.ModuleType(name)
    made.__dict__.update(values)
    exec(compile(source, f"/home/user/{name}.py", "exec"), made.__dict__)
    return made
