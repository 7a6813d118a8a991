"""Names of a function that blocks share with it: cells, which may be empty."""

from __future__ import annotations

import types
from typing import Any

#: What the cell of a name holds that is not assigned.
UNBOUND: Any = type("Unbound", (), {"__repr__": lambda self: "unbound"})()


def cells_of(*functions: Any) -> dict[str, types.CellType]:
    """The cells of the names that blocks (None: an empty one) share with the function around them."""
    found: dict[str, types.CellType] = {}
    for f in functions:
        if f is not None:
            found.update(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    return found


def get(cell: types.CellType) -> Any:
    """What the cell holds, or UNBOUND."""
    try:
        return cell.cell_contents
    except ValueError:
        return UNBOUND


def put(cell: types.CellType, value: Any) -> None:
    """Let the cell hold `value`; UNBOUND empties it."""
    if value is not UNBOUND:
        cell.cell_contents = value
    elif get(cell) is not UNBOUND:
        del cell.cell_contents
