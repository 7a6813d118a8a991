"""Paths to captured values: a tree of nodes, each one step from its parent.

A root is an object that can't be replaced (a function's globals, a cell), or an argument: an
object that is another one at every call, known by its number. Steps are items, attributes,
cell contents, and functions of what is there. `node.read()` walks from the root, so it gives
the value as it is now; guards compile the same walk into straight-line code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CONST, GIVEN, ITEM, ATTR, CELL, APPLIED = "const", "given", "item", "attr", "cell", "applied"


class Node:
    """One step on the way to a captured value. `word` and `text` name it: global `cfg.lr`."""

    __slots__ = ("key", "kind", "parent", "text", "word")

    def __init__(self, parent: Node | None, kind: str, key: Any, word: str, text: str) -> None:
        self.parent = parent
        self.kind = kind
        self.key = key
        self.word = word
        self.text = text

    def item(self, key: Any, text: str | None = None) -> Node:
        return Node(self, ITEM, key, self.word, text or f"{self.text}[{key!r}]")

    def attr(self, name: str) -> Node:
        return Node(self, ATTR, name, self.word, f"{self.text}.{name}")

    def cell(self) -> Node:
        return Node(self, CELL, None, self.word, self.text)

    def applied(self, function: Any) -> Node:
        """What `function` gives of the value here."""
        return Node(self, APPLIED, function, self.word, self.text)

    def named(self, obj: Any) -> Node:
        """A root at `obj`, called as this node is. For parts of an object guarded by identity."""
        return Node(None, CONST, obj, self.word, self.text)

    def root(self) -> Node:
        """Where the path begins."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    @property
    def given(self) -> bool:
        """Whether the path begins at an argument, so that it leads to other objects at other calls."""
        return self.root().kind == GIVEN

    def read(self, given: Sequence[Any] = ()) -> Any:
        """The value at the path now, with the arguments `given`; raises what the access raises."""
        if self.parent is None:
            return given[self.key] if self.kind == GIVEN else self.key
        owner = self.parent.read(given)
        if self.kind == ITEM:
            return owner[self.key]
        if self.kind == APPLIED:
            return self.key(owner)
        return owner.cell_contents if self.kind == CELL else getattr(owner, self.key)

    def steps(self) -> tuple[Any, ...]:
        """The path as a tuple: the root object, then `(kind, key)` for each step."""
        if self.parent is None:
            return (self.key,)
        return (*self.parent.steps(), (self.kind, self.key))

    def place(self) -> tuple[Any, ...]:
        """The path as a key: two nodes have the same if they lead to the same place."""
        if self.parent is None:
            return (GIVEN, self.key) if self.kind == GIVEN else (id(self.key),)
        before = self.parent.place()
        if self.kind == ITEM and before[-1] == (ATTR, "__dict__"):  # an attribute by another way
            return (*before[:-1], (ATTR, self.key))
        return (*before, (self.kind, self.key))

    def __str__(self) -> str:
        """As the user calls it: `self.rate` of a method, not an attribute of the method's `__self__`."""
        text = self.text.replace(".__func__", "")
        method, bound, rest = text.rpartition(".__self__")
        word, text, end = ("object", f"self{rest}", f" of `{method}`") if bound else (self.word, text, "")
        if text.endswith(".__dict__"):
            word, text = f"attributes of {word}", text.removesuffix(".__dict__")
        return f"{word} `{text}`{end}"

    def __repr__(self) -> str:
        return f"<{self}>"


class Members(Node):
    """The attributes of a class itself, of which the root is a view: Python makes another view each time."""

    __slots__ = ("owner",)

    def __init__(self, owner: type) -> None:
        super().__init__(None, CONST, vars(owner), "class attribute", owner.__name__)
        self.owner = owner

    def place(self) -> tuple[Any, ...]:
        return (id(self.owner), (ATTR, "__dict__"))


def argument(number: int, text: str) -> Node:
    """A path that begins at an argument of the call, which is not held."""
    return Node(None, GIVEN, number, "argument", text)


def root(obj: Any, word: str, text: str) -> Node:
    """A path that begins at `obj`, which is held strongly."""
    return Node(None, CONST, obj, word, text)
