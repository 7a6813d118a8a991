"""What the translation of the loop IR needs of a target: `cpu` and `cuda` have one each."""

from __future__ import annotations

from typing import Any, Protocol

from tracejit.lowering.llvm.text import Function
from tracejit.lowering.loops.nodes import Buffer, External, For


class Translation(Protocol):
    """What a target asks of the translation that it serves (`llvm/memory`)."""

    f: Function

    def register(self, name: str, signature: str, /) -> External:
        """An external function of the program."""
        ...


class Target:
    """What a body needs from its surroundings."""

    def arg(self, f: Function, buffer: Buffer) -> str:
        """The pointer of an 'arg' buffer."""
        raise NotImplementedError

    def arena(self, f: Function, buffer: Buffer) -> str:
        """The pointer of an 'arena' buffer."""
        raise NotImplementedError

    def param(self, f: Function, index: int, flags: str = "") -> str:
        """The int64 parameter `index`; `flags` are metadata of a load."""
        raise NotImplementedError

    def given(self, f: Function, value: int) -> str:
        """A number that follows from the sizes of a program."""
        return str(value)

    def external(self, f: Function, external: External) -> str:
        """The address of an external function."""
        raise NotImplementedError

    def detail(self, f: Function, index: int, operand: str) -> None:
        """Leave an int64 detail of a failure for the message."""
        raise NotImplementedError

    def share(self, f: Function) -> tuple[str, str] | None:
        """(first, step) of the iterations of an outermost loop that run here; None for all of them."""
        return None

    def launch(self, body: Any, node: For) -> bool:
        """Let threads share a loop of `body`, a translator; False if it is to be translated as any other."""
        return False

    def apart(self, body: Any, node: For) -> bool:
        """Make an outermost loop of `body`, a translator, a function of its own; False if it is to stay where it is."""
        return False

    #: Whether long loops can look for signals.
    interruptible = False

    def look(self, body: Translation) -> str:
        """Look for signals: 0, or the code to end with."""
        raise NotImplementedError
