"""Long lists in results: what native loops have appended leaves a program as one array, and is a list again for the
caller."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import tree
from tracejit.numpy.boxes.rows import Borrowed, StaleView, grid, rows, runs
from tracejit.tracing import Box

#: Shorter lists are results one by one.
SHORTEST = 16


class Listed:
    """A list in pieces: items, and arrays whose rows are items (lists of rows, at greater depth). `depths`: of each
    piece, 0 for an item."""

    def __init__(self, pieces: list[Any], depths: tuple[int, ...]) -> None:
        self.pieces = pieces
        self.depths = depths


def items(depths: tuple[int, ...], pieces: Any) -> Any:
    """The list; pieces that stand for something else are left in theirs."""
    pieces = list(pieces)
    if not all(isinstance(x, (Box, np.ndarray)) for x, d in zip(pieces, depths, strict=True) if d):
        return Listed(pieces, depths)
    found: list[Any] = []
    for x, depth in zip(pieces, depths, strict=True):
        found += [x] if not depth else rows(x.read(), depth) if type(x) is Box else _rows(x, depth)
    return found


def _rows(x: np.ndarray, depth: int) -> list[Any]:
    return [_rows(y, depth - 1) for y in x] if depth > 1 else list(x)


tree.register(Listed, lambda x: (x.pieces, x.depths), items)


def listed(out: Any) -> Any:
    """A result whose long lists are in pieces; views of what the caller sees elsewhere stay by themselves.

    Raises StaleView where a list has copies of such views."""
    leaves, structure = tree.flatten(out, is_leaf=is_long)
    elsewhere = {id(x.storage) for x in leaves if type(x) is Box}
    pieces = [
        _in_pieces(x) if is_long(x) and not any(_is_seen(i, elsewhere) for i in x) else x for x in leaves
    ]
    return tree.unflatten(structure, pieces)


def is_long(x: Any) -> bool:
    """Whether `x` is a list that may be in pieces."""
    return type(x) is list and len(x) >= SHORTEST


def _is_seen(x: Any, elsewhere: set[int]) -> bool:
    """Whether an item lies in an array of the caller's, or in one of the storages `elsewhere`."""
    if type(x) is not Box:
        return False
    if any(_visible(s, elsewhere) for view in x.chain if type(view) is Borrowed for s, _ in view.watched):
        raise StaleView
    return _visible(x.storage, elsewhere)


def _visible(storage: Any, elsewhere: set[int]) -> bool:
    return storage.origin is not None or id(storage) in elsewhere


def in_pieces(x: Any, elsewhere: set[int]) -> Listed | None:
    """A long list in pieces; None for others, and where items lie in memory that is seen elsewhere, in the storages
    `elsewhere`.

    Raises StaleView."""
    if not is_long(x) or any(_is_seen(item, elsewhere) for item in x):
        return None
    made = _in_pieces(x)
    return made if type(made) is Listed else None


def _in_pieces(items: list[Any]) -> Any:
    whole = grid(items)
    if whole is not None:
        return Listed([whole[0]], (whole[1],))
    found = runs(items)
    if found is None:
        return [listed(x) for x in items]
    return Listed(
        [x if joined else listed(x) for joined, x in found], tuple(int(joined) for joined, _ in found)
    )
