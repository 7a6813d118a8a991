"""JAX's names for functions of trees: `jax.tree_util` over `tracejit.tree`.

Paths are tuples of keys, as in JAX: `DictKey`, `SequenceKey`, `GetAttrKey` and `FlattenedIndexKey`; `keystr` writes
them as Python does. (`tracejit.tree` has the same paths as text.)
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import Any

import optree

from tracejit import tree
from tracejit.docstrings import complete as _complete
from tracejit.tree import TreeDef as PyTreeDef

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

tree_all = tree.all
tree_flatten = tree.flatten
tree_leaves = tree.leaves
tree_map = tree.map
tree_reduce = tree.reduce
tree_structure = tree.structure
tree_unflatten = tree.unflatten


def tree_transpose(
    outer_treedef: PyTreeDef, inner_treedef: PyTreeDef | None, pytree_to_transpose: Any
) -> Any:
    """`tracejit.tree.transpose`; without `inner_treedef` it is that of the first leaf of `outer_treedef`."""
    if inner_treedef is None:
        inner_treedef = tree.structure(tree.flatten_up_to(outer_treedef, pytree_to_transpose)[0])
    return tree.transpose(outer_treedef, inner_treedef, pytree_to_transpose)


# ---------------------------------------------------------------- paths


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


KeyPath = tuple[Any, ...]
#: Classes that name their children themselves -> the function that gives their keys.
_keys: dict[type, Callable[[Any], Iterable[Any]]] = {}


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """A path as Python writes it, `['w'][0].scale`; with `simple` the bare keys, with a `separator` between them."""
    if not simple:
        return separator.join(map(str, keys))
    return separator.join(
        str(next(iter(vars(k).values()), k)) if dataclasses.is_dataclass(k) else str(k) for k in keys
    )


def tree_flatten_with_path(pytree: Any, is_leaf: Any = None) -> tuple[list[tuple[KeyPath, Any]], PyTreeDef]:
    """`([(path, leaf), ...], treedef)`."""
    leaves, treedef = tree.flatten(pytree, is_leaf)
    return list(zip(_paths(pytree, treedef), leaves, strict=True)), treedef


def tree_leaves_with_path(pytree: Any, is_leaf: Any = None) -> list[tuple[KeyPath, Any]]:
    """`[(path, leaf), ...]`."""
    return tree_flatten_with_path(pytree, is_leaf)[0]


def tree_map_with_path(f: Callable[..., Any], pytree: Any, *rest: Any, is_leaf: Any = None) -> Any:
    """Like `tree_map`, with the path of each leaf as the first argument of `f`."""
    leaves, treedef = tree.flatten(pytree, is_leaf)
    columns = [tree.flatten_up_to(treedef, r) for r in rest]
    paths = _paths(pytree, treedef)
    return tree.unflatten(treedef, [f(*xs) for xs in zip(paths, leaves, *columns, strict=True)])


def _paths(pytree: Any, treedef: PyTreeDef) -> list[KeyPath]:
    return [_path(pytree, accessor) for accessor in treedef.accessors()]


def _path(pytree: Any, accessor: Any) -> KeyPath:
    keys = []
    for entry in accessor:
        own = _keys.get(type(pytree))
        n = _position(pytree, entry)
        keys.append(list(own(pytree))[n] if own is not None else _key(entry))
        pytree = tree.one_level(pytree)[0][n]
    return tuple(keys)


def _position(pytree: Any, entry: Any) -> int:
    return tree.one_level(pytree)[1].index(entry.entry)


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


# ---------------------------------------------------------------- structures


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Whether it is the structure of a single leaf."""
    return treedef.is_leaf()


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The structures of what the outermost container holds."""
    return treedef.children()


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """The structure of a tuple of trees with these structures."""
    parts = [t.unflatten([0] * t.num_leaves) for t in treedefs]
    return tree.structure(tuple(parts))


def all_leaves(iterable: Iterable[Any], is_leaf: Any = None) -> bool:
    """Whether none of these objects is a container."""
    return all(tree.structure(x, is_leaf).is_leaf() for x in iterable)


# ---------------------------------------------------------------- registration


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> None:
    """Make `nodetype` a node: `flatten_func(obj) -> (children, aux)`, `unflatten_func(aux, children) -> obj`.

    `flatten_with_keys_func` gives pairs of keys and children; its keys are in paths."""
    tree.register(nodetype, flatten_func, unflatten_func)
    if flatten_with_keys_func is not None:
        _keys[nodetype] = lambda obj: [key for key, _ in flatten_with_keys_func(obj)[0]]


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Iterable[Any]], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
) -> None:
    """`register_pytree_node` by a function that gives pairs of keys and children."""

    def flatten(obj: Any) -> tuple[list[Any], Any]:
        pairs, aux = flatten_with_keys(obj)
        return [child for _, child in pairs], aux

    register_pytree_node(nodetype, flatten_func or flatten, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: type) -> type:
    """Decorator: a class with the methods `tree_flatten(self)` and `tree_unflatten(cls, aux, children)` is a node."""
    register_pytree_node(cls, lambda x: x.tree_flatten(), cls.tree_unflatten)  # type: ignore[attr-defined]
    return cls


def register_pytree_with_keys_class(cls: type) -> type:
    """Decorator: the same by the method `tree_flatten_with_keys(self)`."""
    own = getattr(cls, "tree_flatten", None)
    unflatten = cls.tree_unflatten  # type: ignore[attr-defined]
    register_pytree_with_keys(
        cls,
        lambda x: x.tree_flatten_with_keys(),
        unflatten,
        None if own is None else lambda x: x.tree_flatten(),
    )
    return cls


def register_dataclass(nodetype: type, data_fields: Any = None, meta_fields: Any = None) -> type:
    """Make a dataclass a node; `meta_fields` belong to the structure (see `tracejit.tree.register_dataclass`)."""
    return tree.register_dataclass(nodetype, data_fields, meta_fields)


def register_static(cls: type) -> type:
    """Decorator: objects of the class, which must be hashable, are nodes without children: they belong to the
    structure."""
    return tree.register(cls, lambda x: ((), x), lambda x, _: x)


class Partial(functools.partial):
    """`functools.partial` that is a tree: its arguments are children, the function belongs to the structure.

    Where a partial is an argument of `jit`, its arrays are inputs of the program then."""


tree.register(
    Partial,
    lambda p: ((p.args, p.keywords), p.func),
    lambda func, children: (lambda args, keywords: Partial(func, *args, **keywords))(*children),
)

_complete(__name__)
