"""What a run has met, and what is guarded of it."""

from __future__ import annotations

import operator
import weakref
from typing import Any

from tracejit.errors import UnfollowedError
from tracejit.frontend.checks import Check
from tracejit.frontend.origins import is_library_class, is_part_of_library, why_not
from tracejit.frontend.paths import CONST, Node

#: The flag of classes that Python code has made: objects of such a class may be given another.
_IN_PYTHON = 1 << 9


class Memory:
    """The objects that a run has met with their stand-ins and paths, and the checks of them."""

    def __init__(self, guarded: bool) -> None:
        self.guarded = guarded
        self.checks: list[Check] = []
        #: Whether what was traced serves one object only, which nothing may keep.
        self.unkept = False
        self.pairs: list[list[Any]] = []  # paths to two objects each that were told apart
        self.distinct: list[tuple[Any, Any]] = []  # storages of two arrays each of outside, which are not one
        self._seen: dict[int, tuple[Any, Any, Node | None]] = {}  # id -> object, stand-in, first path
        self._originals: dict[int, Any] = {}
        self._objects: dict[type, list[Node]] = {}  # by class the paths to objects, which are all different
        self._ordered: set[int] = set()  # the classes whose bases are guarded

    def known(self, value: Any) -> Any:
        """The stand-in that `value` already has, or None."""
        entry = self._seen.get(id(value))
        return None if entry is None else entry[1]

    def remember(self, value: Any, stand_in: Any, node: Node | None = None) -> Any:
        self._seen[id(value)] = (value, stand_in, node)
        self._originals[id(stand_in)] = value
        return stand_in

    def forget(self, value: Any, stand_in: Any) -> None:
        """`value` has no stand-in after all."""
        del self._seen[id(value)], self._originals[id(stand_in)]

    def met(self) -> list[tuple[Any, Any, Node | None]]:
        """(object, stand-in, path) of all that was met."""
        return list(self._seen.values())

    def where_is(self, value: Any) -> Node | None:
        """The path to the object of outside behind a stand-in, or to an object that is used as it is; None if it is
        new."""
        value = self._originals.get(id(value), value)
        entry = self._seen.get(id(value))
        return entry[2] if entry is not None and entry[0] is value else None

    def path(self, value: Any) -> Node:
        """The path at which `value` was met first."""
        node = self._seen[id(value)][2]
        assert node is not None
        return node

    def alias(self, node: Node, value: Any) -> None:
        """`value` was met before at another path: both must stay the same object."""
        first = self._seen[id(value)][2]
        if first is not None and first is not node and not first.kind == node.kind == CONST:
            self.check(node, "alias", first)

    def differs(self, node: Node, value: Any) -> None:
        """The object at `node` is none of those that were met before."""
        if self.guarded:
            self._objects.setdefault(type(value), []).append(node)

    def told_apart(self, x: Any, y: Any) -> None:
        """The function has seen that two objects of outside, behind these stand-ins, are not one. Raises
        UnfollowedError if they are: a tuple of outside that is also a constant of the code."""
        if self._originals.get(id(x), x) is self._originals.get(id(y), y):
            raise UnfollowedError(
                what="whether two containers are one", reason="that may differ from call to call"
            )
        nodes = [self.where_is(v) for v in (x, y)]
        if self.guarded and None not in nodes:
            self.pairs.append(nodes)

    def check(self, node: Node, kind: str, expected: Any) -> None:
        """Record a guard. A root is held: there is no doubt which object it is. Code of libraries is not guarded."""
        certain = node.kind == CONST and kind in ("is", "value")
        if self.guarded and not certain and not is_part_of_library(node.root().key):
            self.checks.append(Check(node, kind, expected))

    def hold(self, node: Node, value: Any) -> Node:
        """Guard the object at `node`, and give the path to its parts. What is captured is guarded by identity and
        held; what an argument leads to is another object at other calls, of which the class is guarded."""
        if self.varies(node):
            self.check(node, "type", type(value))
            return node
        self.check(node, "is", value)
        itself = node.named(value)
        if type(value).__flags__ & _IN_PYTHON:
            self.check(itself, "type", type(value))
        return itself

    def orders(self, cls: type) -> None:
        """Guard the bases of the user's class `cls`, in which Python looks for what it inherits."""
        if (
            self.guarded
            and len(cls.__mro__) > 2
            and id(cls) not in self._ordered
            and not is_library_class(cls)
        ):
            self._ordered.add(id(cls))
            node = Node(None, CONST, cls, "class", cls.__name__)
            self.check(node.attr("__mro__"), "is", cls.__mro__)

    def varies(self, node: Node) -> bool:
        """Whether what is at the path may be another object at each call."""
        return node.given

    def same(self, node: Node, value: Any) -> None:
        """Guard an object by its identity; what an argument leads to is not kept alive for this."""
        if not node.given:
            self.check(node, "is", value)
            return
        try:
            self.checks.append(Check(node, "same", weakref.ref(value)))
        except TypeError:
            self.check(node, "is", value)
            self.unkept = self.unkept or why_not(type(value)) is None

    def serve_these(self) -> None:
        """Guard the objects that arguments lead to by identity: functions that run later know them."""
        for value, _, node in self._seen.values():
            if node is not None and node.given and type(value) in self._objects:
                self.same(node, value)


class Remade:
    """Containers that are made again with other items in them; a container that lies at two places is one again."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, Any]] = {}  # by the id of the first, which is kept

    def of(self, x: Any, items: list[Any]) -> Any:
        """The list, tuple or dict `x` with `items` (a dict's values) in it."""
        made = dict(zip(x, items, strict=True)) if type(x) is dict else type(x)(items)
        _, before = self._made.get(id(x), (x, None))
        if before is not None and _same_items(before, made):
            return before
        self._made[id(x)] = x, made
        return made

    def clear(self) -> None:
        self._made.clear()


def _same_items(x: Any, y: Any) -> bool:
    inside = [[*c, *(c.values() if type(c) is dict else ())] for c in (x, y)]
    return len(x) == len(y) and all(map(operator.is_, *inside))
