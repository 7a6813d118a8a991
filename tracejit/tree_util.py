"""JAX's names for functions of trees: `jax.tree_util` over `tracejit.tree`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from tracejit import tree
from tracejit.docstrings import complete as _complete
from tracejit.tree import TreeDef as PyTreeDef
from tracejit.tree import keys
from tracejit.tree.keys import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    KeyPath,
    SequenceKey,
    keystr,
    name_children,
)

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "is_tree_node",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
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
tree_transpose = keys.transpose
tree_unflatten = tree.unflatten
tree_broadcast = keys.broadcast
tree_flatten_with_path = keys.flatten_with_path
tree_leaves_with_path = keys.leaves_with_path
tree_map_with_path = keys.map_with_path
tree_reduce_associative = keys.reduce_associative
KeyEntry = Any  # of a path: one of the classes of keys, or what a class names its children by


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


def is_tree_node(typ: type) -> bool:
    """Whether objects of the class are containers: Python's own, named tuples, dataclasses and registered classes."""
    return tree.is_node(typ)


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
        name_children(nodetype, lambda obj: [key for key, _ in flatten_with_keys_func(obj)[0]])


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
