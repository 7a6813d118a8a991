"""What a run of a user's function leaves changed: the journal.

While a function is traced nothing of Python's that outlives it changes. Writes go to what stands for the user's
objects, where the function reads them again. In the end the journal is the list of the places that hold something
else than before, each with its last value. A compiled program carries it out after each run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tracejit.frontend.paths import ATTR, Node

#: What a place holds that is deleted.
GONE: Any = type("Gone", (), {"__repr__": lambda self: "gone", "__slots__": ()})()


class Change(NamedTuple):
    """A place that holds something else after a run.

    `node`: the path to the place, which holds `value` then, as the run sees it; GONE if nothing is there any more. Of
    a container all contents are one change: `value` is its copy in the run, which held `before` first
    (`containers.contents`). `where`: gives the line that assigns it, for messages. `past`: an attribute is stored
    without asking its class, whose own `__setattr__` did it.
    """

    node: Node
    value: Any
    before: list[Any] | None = None
    where: Callable[[], str | None] | None = None
    past: bool = False

    @property
    def what(self) -> str:
        """How messages call it."""
        if self.before is not None:
            return f"an entry of the {type(self.value).__name__} {self.node}"
        word = (
            "attribute" if self.node.kind == ATTR and self.node.word != "class attribute" else self.node.word
        )
        return f"{word} `{self.node.text}`"

    def places(self) -> list[tuple[Any, ...]]:
        """The places (`Node.place`) that it changes; those of a list are the list."""
        found = [self.node.place()]
        if self.before is not None and isinstance(self.value, dict):
            old = dict(zip(self.before[::2], self.before[1::2], strict=True))
            changed = [k for k, x in self.value.items() if k not in old or old[k] is not x]
            found += [self.node.item(k).place() for k in changed]
        return found
