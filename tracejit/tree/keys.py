"""Paths of leaves as JAX has them: tuples of keys.

A path is a tuple of `DictKey`, `SequenceKey`, `GetAttrKey` and `FlattenedIndexKey`, or of what a class names its
children by. As text it is what Python writes, `['w'][0].scale`.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import optree

from tracejit import tree as _tree
from tracejit.docstrings import complete as _complete
from tracejit.errors import ArgumentError
from tracejit.tree import TreeDef

T = TypeVar("T")
_MISSING: Any = object()


@dataclasses.dataclass(frozen=True)
class DictKey:
    """A key of a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """An index of a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """The name of a field."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


@dataclasses.dataclass(frozen=True)
class FlattenedIndexKey:
    """The number of a child of a registered class."""

    key: int

    def __str__(self) -> str:
        return f"[<flat index {self.key}>]"


class KeyPath(tuple[Any, ...]):
    """The keys that lead to a leaf. Equal to the plain tuple; as text, what Python writes."""

    __slots__ = ()

    def __str__(self) -> str:
        return keystr(self)


#: Classes that name their children themselves -> the function that gives their keys.
_keys: dict[type, Callable[[Any], Iterable[Any]]] = {}


def name_children(cls: type, keys: Callable[[Any], Iterable[Any]]) -> None:
    """Let `keys(obj)` be the keys of the children of objects of `cls`."""
    _keys[cls] = keys


def keystr(keys: tuple[Any, ...], *, simple: bool = False, separator: str = "") -> str:
    """A path as Python writes it, `['w'][0].scale`; with `simple` the bare keys, with a `separator` between them."""
    if not simple:
        return separator.join(map(str, keys))
    return separator.join(
        str(next(iter(vars(k).values()), k)) if dataclasses.is_dataclass(k) else str(k) for k in keys
    )


def flatten_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> tuple[list[tuple[KeyPath, Any]], TreeDef]:
    """`([(path, leaf), ...], treedef)`. With `is_leaf_takes_path`, `is_leaf(path, object)` is asked."""
    if is_leaf is not None and is_leaf_takes_path:
        is_leaf = _by_path(tree, is_leaf)
    leaves, treedef = _tree.flatten(tree, is_leaf)
    paths = [_path(tree, accessor) for accessor in treedef.accessors()]
    return list(zip(paths, leaves, strict=True)), treedef


def leaves_with_path(
    tree: Any, is_leaf: Callable[..., bool] | None = None, is_leaf_takes_path: bool = False
) -> list[tuple[KeyPath, Any]]:
    """`[(path, leaf), ...]`."""
    return flatten_with_path(tree, is_leaf, is_leaf_takes_path)[0]


def map_with_path(
    f: Callable[..., Any],
    tree: Any,
    *rest: Any,
    is_leaf: Callable[..., bool] | None = None,
    is_leaf_takes_path: bool = False,
) -> Any:
    """Like `map`, with the path of each leaf as the first argument of `f`."""
    pairs, treedef = flatten_with_path(tree, is_leaf, is_leaf_takes_path)
    columns = [_tree.flatten_up_to(treedef, r) for r in rest]
    values = [f(path, x, *xs) for (path, x), *xs in zip(pairs, *columns, strict=True)]
    return _tree.unflatten(treedef, values)


def broadcast(prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """A tree like `full_tree`, with the entry of `prefix_tree` that stands for the part in which a leaf is.

    Raises:
        PytreeMismatchError: `full_tree` does not begin with the structure of `prefix_tree`.
    """
    entries, treedef = _tree.flatten(prefix_tree, is_leaf)
    parts = _tree.flatten_up_to(treedef, full_tree)
    spread = [
        _tree.map(lambda _, e=e: e, part, is_leaf=is_leaf) for e, part in zip(entries, parts, strict=True)
    ]
    return _tree.unflatten(treedef, spread)


def all(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether every leaf is true."""
    return builtins.all(_tree.leaves(tree, is_leaf))


def reduce(
    f: Callable[[Any, Any], Any],
    tree: Any,
    initializer: Any = _MISSING,
    is_leaf: Callable[[Any], bool] | None = None,
) -> Any:
    """`f(f(initializer, leaf0), leaf1)` and so on."""
    xs = _tree.leaves(tree, is_leaf)
    return functools.reduce(f, xs) if initializer is _MISSING else functools.reduce(f, xs, initializer)


def reduce_associative(
    operation: Callable[[T, T], T],
    tree: Any,
    *,
    identity: T = _MISSING,
    is_leaf: Callable[[Any], bool] | None = None,
) -> T:
    """The leaves joined by an associative operation, neighbours first, in log2(n) rounds.

    Raises:
        ArgumentError: there is no leaf, and no `identity`.
    """
    values = _tree.leaves(tree, is_leaf)
    if not values:
        if identity is _MISSING:
            raise ArgumentError(name="reduce_associative", problem="a tree without leaves needs `identity`")
        return identity
    while len(values) > 1:
        odd = values[-1:] if len(values) % 2 else []
        values = [operation(a, b) for a, b in zip(values[0::2], values[1::2], strict=False)] + odd
    return values[0]


def transpose(outer: TreeDef, inner: TreeDef | None, tree: Any) -> Any:
    """A tree of trees turned inside out: structure outer∘inner becomes inner∘outer. Without `inner` it is that of what
    is at the first leaf of `outer`.

    Raises:
        PytreeMismatchError: `tree` is not made of `inner` trees in an `outer` tree.
    """
    parts = _tree.flatten_up_to(outer, tree)
    inner = _tree.structure(parts[0]) if inner is None else inner
    rows = [_tree.flatten_up_to(inner, sub) for sub in parts]
    return inner.unflatten([outer.unflatten(column) for column in zip(*rows, strict=True)])


def static(**kwargs: Any) -> Any:
    """A field of a dataclass that belongs to the structure: `dataclasses.field` with `metadata={"static": True}`."""
    metadata = {**(kwargs.pop("metadata", None) or {}), "static": True}
    return dataclasses.field(metadata=metadata, **kwargs)


def _by_path(whole: Any, is_leaf: Callable[..., bool]) -> Callable[[Any], bool]:
    """A function of an object that asks `is_leaf` with its path, too: objects are asked about from the root on, each
    before what it holds, in the order of the leaves."""
    paths = _every_path((), whole)
    ended: list[KeyPath] = []  # what lies below a leaf is not asked about

    def ask(x: Any) -> bool:
        path = next(p for p in paths if not any(p[: len(e)] == e for e in ended))
        if is_leaf(path, x):
            ended.append(path)
            return True
        return False

    return ask


def _every_path(before: tuple[Any, ...], x: Any) -> Iterator[KeyPath]:
    yield KeyPath(before)
    level = None if _tree.is_leaf(x) else _tree.structure(x).one_level()
    for accessor in [] if level is None else level.accessors():
        key, child = _step(x, accessor[0])
        yield from _every_path((*before, key), child)


def _path(x: Any, accessor: Any) -> KeyPath:
    keys = []
    for entry in accessor:
        key, x = _step(x, entry)
        keys.append(key)
    return KeyPath(keys)


def _step(x: Any, entry: Any) -> tuple[Any, Any]:
    """The key of a child of `x`, and the child."""
    children, entries = _tree.one_level(x)
    n = entries.index(entry.entry)
    own = _keys.get(type(x))
    return list(own(x))[n] if own is not None else _key(entry), children[n]


def _key(entry: Any) -> Any:
    if isinstance(entry, optree.MappingEntry):
        return DictKey(entry.key)
    if isinstance(entry, (optree.NamedTupleEntry, optree.DataclassEntry)):
        return GetAttrKey(entry.field)
    if isinstance(entry, optree.SequenceEntry):
        return SequenceKey(entry.index)
    if isinstance(entry, optree.GetAttrEntry):
        return GetAttrKey(entry.name)
    return FlattenedIndexKey(entry.entry)


_complete("tracejit.tree", globals())
_complete("tracejit.tree_util", globals())
