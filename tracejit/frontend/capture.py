"""What the frontend needs from whoever traces: the `Capture` protocol.

A `Capture` decides what stands for a captured array. Under `jit` that is a box over an
extra argument of the compiled program; in eager transformations it is the array itself.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from tracejit.frontend import active
from tracejit.frontend.paths import Node
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.seen import asked
from tracejit.numpy.captured.array import CapturedArray
from tracejit.tracing import Box, shown


class Unfollowed(NamedTuple):
    """A value that can't be followed: what it does, and what changes inside of it, is not seen."""

    path: str
    value: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} = {self.value}: {self.reason}"


class NotFollowed(Exception):
    """What a capture raises that does not let such a value be used."""

    def __init__(self, thing: Unfollowed) -> None:
        super().__init__(thing)
        self.thing = thing


class Capture(Protocol):
    """How a traced run sees the arrays and values its function reads through names.

    `guarded` is True where the result of tracing is kept for later calls (jit): reads are
    recorded as guards and side effects on captured things are refused. It is False for
    eager transformations: everything is read afresh at each call, effects happen.
    `draws`: whether draws from random generators are recorded; absent, they are not.
    """

    guarded: bool
    #: Whether arrays on devices that the function reads by name are followed: not where the program runs on the CPU.
    follows_devices: bool
    #: Whether what the run changes of outside is carried out later; otherwise a guarded run refuses it.
    journaled: bool
    #: The trace in which the function runs.
    trace: Any

    @property
    def near(self) -> int:
        """The greatest size of a Python integer that `scalar` takes."""
        ...

    def array(self, path: Node, value: Any) -> Any:
        """The stand-in for a captured array (or a box of an enclosing trace).

        Called once an array and run, in the order of `GuardSet.arrays()`.
        """
        ...

    def owns(self, box: Any) -> bool:
        """Whether the box holds a value of this run, or of a transformation inside it."""
        ...

    def scalar(self, path: Node, value: Any) -> Any:
        """A stand-in for a captured Python float, int or complex that shall be read at every
        call, like an array; NotImplemented to guard its value instead."""
        ...

    def varies(self, path: Node) -> bool:
        """Whether what is at the path may be another object at each call, of which the same is read."""
        ...

    def grows(self, path: Node, length: int) -> bool:
        """Whether the list at the path, of so many items, is known only as far as the run appends to it."""
        ...

    def may_grow(self, path: Node) -> bool:
        """Whether that would do for the list at the path, as far as is known."""
        ...

    def knows(self, path: Node) -> bool:
        """Whether the elements of the integer array at the path are known while tracing, and guarded."""
        ...

    def unfollowed(self, thing: Unfollowed) -> None:
        """Called for what can't be followed, before it is used; may raise NotFollowed."""
        ...


def _of_outside(x: Any) -> Any:
    """What the current run has for an array of outside."""
    session = active.session()
    return x if session is None or x is None else session.stand_in(x, "base")


asked.stand_in = _of_outside


class EagerCapture:
    """The capture of transformations that run at every call: values are used as they are,
    but arrays may be indexed by traced values."""

    guarded = False
    journaled = False
    follows_devices = True
    trace: Any = None

    def array(self, path: Node, value: Any) -> Any:
        if is_elsewhere(value):
            return shown(value)
        return (
            CapturedArray.of(value) if type(value) is np.ndarray and value.dtype.kind in "biufcmM" else value
        )

    def owns(self, box: Any) -> bool:
        return True  # boxes are used as they are

    def scalar(self, path: Node, value: Any) -> Any:
        return NotImplemented

    def varies(self, path: Node) -> bool:
        return False

    def grows(self, path: Node, length: int) -> bool:
        return False

    def may_grow(self, path: Node) -> bool:
        return False

    def knows(self, path: Node) -> bool:
        return False

    @property
    def near(self) -> int:
        return 0

    def unfollowed(self, thing: Unfollowed) -> None:
        return None


class FollowedCapture(EagerCapture):
    """The capture of rules whose result is kept as long as what they read stays as it is, values of arrays
    included."""

    guarded = True
    follows_devices = False

    def __init__(self) -> None:
        self.values: list[bytes | None] = []  # of the arrays, in the order of the guards' arrays

    def array(self, path: Node, value: Any) -> Any:
        self.values.append(None if type(value) is Box else value.tobytes())
        return super().array(path, value)

    def owns(self, box: Any) -> bool:
        return True

    def same(self, arrays: tuple[Any, ...] | None) -> bool:
        """Whether the arrays are there and hold what they held. Those of an enclosing trace are never the same."""
        return arrays is not None and all(
            old is not None and new.tobytes() == old for new, old in zip(arrays, self.values, strict=True)
        )
