"""Long lists in results: what native loops have appended leaves a program as one array, and is a list again for the
caller."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import tree
from tracejit.numpy.boxes.rows import grid, rows, runs
from tracejit.tracing import Box

#: Shorter lists are results one by one.
SHORTEST = 16


class Listed:
    """A list in pieces: items, and arrays whose rows are items (lists of rows, at greater depth). `depths`: of each
    piece, 0 for an item."""

    def __init__(self, pieces: list[Any], depths: tuple[int, ...]) -> None:
        self.pieces = pieces
        self.depths = depths


def _items(depths: tuple[int, ...], pieces: Any) -> Any:
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


tree.register(Listed, lambda x: (x.pieces, x.depths), _items)


def listed(out: Any) -> Any:
    """A result whose long lists are in pieces."""
    leaves, structure = tree.flatten(out, is_leaf=_is_long)
    return tree.unflatten(structure, [_in_pieces(x) if _is_long(x) else x for x in leaves])


def _is_long(x: Any) -> bool:
    """Views of arrays that the caller has stay what they are."""
    return (
        type(x) is list
        and len(x) >= SHORTEST
        and not any(type(i) is Box and i.storage.origin is not None for i in x)
    )


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
