"""Objects of outside that a program changes and that are not among the arguments.

A list that a function appends to (`log.append(x)`) may also be what it is given: then it would see its own changes in
the argument, which a program that was traced for two objects does not. Such a call is traced again, with this argument
followed as what lives outside is, where that can be (`arguments`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracejit.api.jit import handed
from tracejit.errors import UnfollowedError
from tracejit.frontend.journal import Change
from tracejit.frontend.paths import ATTR, ITEM, Node


class Apart:
    """`nodes`: the paths to the objects and containers that `changes` change."""

    def __init__(self, changes: Iterable[Change]) -> None:
        found = {node.place(): node for change in changes if (node := _owner(change)) is not None}
        self.nodes = list(found.values())

    def met(self, values: Iterable[Any], given: Sequence[Any]) -> Node | None:
        """The path to one that is among the arguments `values`, or in one; `given` are the objects among them."""
        changed = {id(node.read(given)): node for node in self.nodes}
        return next((changed[id(x)] for x in handed.containers(values) if id(x) in changed), None)

    def are(self, values: Iterable[Any], given: Sequence[Any]) -> bool:
        """Whether none is among the arguments."""
        return self.met(values, given) is None

    @staticmethod
    def of(changes: Iterable[Change], values: Iterable[Any]) -> Apart | None:
        """What there is to look at in calls with arguments like these; None if nothing is."""
        apart = Apart(changes)
        return apart if apart.nodes and any(True for _ in handed.containers(values)) else None


def distinct(told: Iterable[tuple[Any, Any]], places: Mapping[int, Any]) -> list[tuple[int, int]]:
    """The pairs of a program's inputs, by position, that the function has told apart with `is`: `told` are their
    storages, `places` the boxes of inputs.

    Raises:
        UnfollowedError: one is no input, so that nobody would see it at other calls.
    """
    at = {id(b.storage): n for n, b in places.items()}
    pairs = {(at.get(id(a)), at.get(id(b))) for a, b in told}
    if any(None in pair for pair in pairs):
        raise UnfollowedError(what="whether two arrays are one", reason="that may differ from call to call")
    return sorted(pairs)  # type: ignore[arg-type]


def _owner(change: Change) -> Node | None:
    """What a change changes: a container, or the object that has the attribute or item."""
    if change.before is not None:
        return change.node
    return change.node.parent if change.node.kind in (ATTR, ITEM) else None
