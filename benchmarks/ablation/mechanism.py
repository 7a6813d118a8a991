"""A mechanism: what it promises, where it is, what it serves, and how it is switched off from outside.

`off` maps places, such as "tracejit.lowering.fuse:join_loops", to what is put there instead. The programs that are
compiled then compute the same; only their code is another. Names are imported into the files that use them, so the
place is where a mechanism is used, not always where it is defined.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Mechanism:
    """One line of the table.

    `files` are below tracejit/, "file.py" or "file.py:name" for a part of one. `rows` are labels of workloads, with
    " @size dtype" where that is not "@middle f8". `serves` says what a mechanism is for that these rows do not show,
    so that it stays although they gain nothing.
    """

    name: str
    promise: str
    files: tuple[str, ...]
    off: Mapping[str, Any]
    rows: tuple[str, ...]
    serves: str = ""
    threads: int = 1

    def switch_off(self) -> None:
        """Put what stands for its absence in its places, for the life of this process."""
        for place, value in self.off.items():
            holder, name = resolve(place)
            old = getattr(holder, name)
            setattr(holder, name, value(old) if isinstance(value, Changed) else value)


@dataclass(frozen=True)
class Changed:
    """A replacement that is made from what it replaces."""

    make: Callable[[Any], Any] = field()

    def __call__(self, old: Any) -> Any:
        return self.make(old)


def resolve(place: str) -> tuple[Any, str]:
    """The object that holds what a place names, and its name there. Raises AttributeError if there is none."""
    module, _, path = place.partition(":")
    holder: Any = importlib.import_module(module)
    *parts, name = path.split(".")
    for part in parts:
        holder = getattr(holder, part)
    getattr(holder, name)
    return holder, name


def gives(value: Any) -> Callable[..., Any]:
    """A function that gives `value` whatever it is called with."""
    return lambda *args, **kwargs: value


def without(name: str) -> Changed:
    """The list of passes without one."""
    return Changed(lambda passes: tuple(p for p in passes if p.name != name))
