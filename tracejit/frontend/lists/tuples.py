"""Tuples that are taken from lists of traced length, and stay in these.

    return pts, pts[0]             the list has numbers only, and gives another tuple of them for `pts[0]`

To Python this is one tuple in two places. A function that hands out both, or asks whether two are one, is refused. A
list is named by a token, which its copies have, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tracejit.errors import BufferedListError
from tracejit.frontend.lists.columns import Columns


class Taken:
    """The tuples of one run that are taken, by identity: each with the token of its list."""

    def __init__(self) -> None:
        self.found: dict[int, tuple[Any, Any]] = {}

    def note(self, x: Any, token: Any) -> None:
        """`x` stays in a list."""
        self.found[id(x)] = x, token

    def has(self, x: Any) -> bool:
        """Whether `x` stays in a list."""
        return id(x) in self.found

    def check(self, values: Iterable[Any]) -> None:
        """No tuple is in two places of what the run hands out. Raises BufferedListError."""
        tokens: set[int] = set()
        met: set[int] = set()
        left = [*values]
        for x in left:
            if id(x) in met:
                continue
            met.add(id(x))
            token = self._token(x)
            if token is not None and id(token) in tokens:
                raise BufferedListError(what="tuples, which may be in two places of the result,")
            tokens |= {id(token)} if token is not None else set()
            left += _inside(x)

    def _token(self, x: Any) -> Any:
        """The token of the list that `x` is, or comes from."""
        if isinstance(x, Columns):
            return None if x.tj_items.tree.is_leaf() else x.tj_tuples
        return self.found[id(x)][1] if id(x) in self.found else None


def _inside(x: Any) -> list[Any]:
    """What a container or object holds."""
    if isinstance(x, dict):
        return [*x.keys(), *x.values()]
    if isinstance(x, (list, tuple, set, frozenset)):
        return [*x]
    return [*getattr(x, "__dict__", {}).values()] if "_tj_class" in vars(type(x)) else []
