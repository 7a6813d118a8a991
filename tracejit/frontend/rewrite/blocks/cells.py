"""Names of a function that blocks share with it: cells, which may be empty."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

#: What the cell of a name holds that is not assigned.
UNBOUND: Any = type("Unbound", (), {"__repr__": lambda self: "unbound"})()


class Place:
    """An attribute or element of `owner`, an object or container, used as the cell of a name is."""

    __slots__ = ("_read", "_write", "owner")

    def __init__(self, owner: Any, read: Callable[[], Any], write: Callable[[Any], None]) -> None:
        self.owner = owner
        self._read = read
        self._write = write

    @property
    def cell_contents(self) -> Any:
        return self._read()

    @cell_contents.setter
    def cell_contents(self, value: Any) -> None:
        self._write(value)


Cell = types.CellType | Place


def cells_of(*functions: Any) -> dict[str, Cell]:
    """The cells of the names that blocks (None: an empty one) share with the function around them."""
    found: dict[str, Cell] = {}
    for f in functions:
        if f is not None:
            found.update(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    return found


def get(cell: Cell) -> Any:
    """What the cell holds, or UNBOUND."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def put(cell: Cell, value: Any) -> None:
    """Let the cell hold `value`; UNBOUND empties it."""
    if value is not UNBOUND:
        cell.cell_contents = value
    elif get(cell) is not UNBOUND:
        del cell.cell_contents  # a place is never empty
