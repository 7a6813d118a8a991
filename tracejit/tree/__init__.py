"""Pytrees: nested containers of arrays, over optree.

Nodes are tuples, lists, dicts (leaves in sorted key order), namedtuples, OrderedDict, defaultdict, deque, None (an
empty node), dataclasses (registered when first seen; fields with `metadata={"static": True}` belong to the structure),
SciPy's sparse arrays (`sparse`) and classes given to `register`. Everything else is a leaf.

    leaves, treedef = tree.flatten({"w": w, "b": b})
    tree.unflatten(treedef, leaves)
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import importlib
import threading
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import optree
import optree._C as _C

from tracejit.docstrings import complete as _complete
from tracejit.errors import PytreeMismatchError, UnfollowedError, UnhashableStaticError
from tracejit.tree import sparse

__all__ = [
    "TreeDef",
    "all",
    "broadcast",
    "broadcast_prefix",
    "flatten",
    "flatten_axes",
    "flatten_ordered",
    "flatten_up_to",
    "flatten_with_path",
    "flatten_with_paths",
    "leaves",
    "leaves_with_path",
    "load",
    "map",
    "map_with_path",
    "paths",
    "reduce",
    "reduce_associative",
    "register",
    "register_dataclass",
    "register_leaf",
    "save",
    "static",
    "structure",
    "transpose",
    "unflatten",
]

NAMESPACE = "tracejit"
# Dicts keep insertion order and treedefs compare it, as functions see it that iterate: for guards.
_ORDERED = "tracejit.ordered"
_C.set_dict_insertion_ordered(True, _ORDERED)
# The same nodes, and objects that traced code makes (`frontend.rewrite.blocks.containers`).
OPENED = "tracejit.opened"

TreeDef = optree.PyTreeSpec
IsLeaf = Callable[[Any], bool]

#: Name of a class's module -> what makes nodes of its classes, called when an object of one is met.
LATER: dict[str, Callable[[], object]] = {}
_lock = threading.Lock()
_registered, _leaf_classes, found_classes = set[type](), set[type](), set[type]()
#: Dataclasses that are nodes -> names of their children, names of their static fields.
_fields: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}
# Leaf types: a flat tuple of these needs no optree.
_PLAIN: set[type] = {np.ndarray, float, int, bool, complex}
_PLAIN |= {np.float64, np.float32, np.int64, np.int32, np.bool_}
_zeros: Any = [(0,) * n for n in range(17)]
_FLAT: list[TreeDef] = [_C.flatten(t, None, False, NAMESPACE)[1] for t in _zeros]


def flatten(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeDef]:
    """The leaves of `tree`, and its structure (hashable, comparable)."""
    if is_leaf is None and type(tree) is tuple and len(tree) < 17 and _PLAIN.issuperset(map_types(tree)):
        return list(tree), _FLAT[len(tree)]
    return _flatten(tree, is_leaf, NAMESPACE)


def flatten_ordered(tree: Any) -> tuple[list[Any], TreeDef]:
    """Like `flatten`, for guards: treedefs that are equal mean the same program.

    Dicts are taken in insertion order, which a traced function may have seen, and what belongs to the structure
    must be hashable: an equal list may have changed.

    Raises:
        UnhashableStaticError: a static field or `aux` value is not hashable.
    """
    if type(tree) is tuple and len(tree) < 17 and _PLAIN.issuperset(map_types(tree)):
        return list(tree), _FLAT[len(tree)]
    return _flatten(tree, None, _ORDERED)


def map_types(xs: Iterable[Any]) -> Iterable[type]:
    """The types of the elements, lazily."""
    return builtins.map(type, xs)


def _flatten(tree: Any, is_leaf: IsLeaf | None, namespace: str) -> tuple[list[Any], TreeDef]:
    leaves, treedef = _C.flatten(tree, is_leaf, False, namespace)
    while (odd := {*map_types(leaves)} - _PLAIN) and _register_seen(leaves, is_leaf):
        leaves, treedef = _C.flatten(tree, is_leaf, False, namespace)
    if namespace == NAMESPACE and any(sparse.is_node(cls) for cls in odd):
        return _open(leaves, treedef, is_leaf)
    return leaves, treedef


def _register_seen(leaves: list[Any], is_leaf: IsLeaf | None) -> bool:
    """Register the dataclasses among `leaves`; True if there was one."""
    new = False
    for x in leaves:
        cls = type(x)
        if hasattr(cls, "__dataclass_fields__") and cls not in _leaf_classes and not (is_leaf and is_leaf(x)):
            register_dataclass(cls)
            found_classes.add(cls)  # a node though nobody has registered it
            new = True
        elif LATER and (make := LATER.get(cls.__module__)) is not None:
            make()
            LATER.pop(cls.__module__, None)  # now, since other threads have to wait for it as well
            new = True
    return new


def _open(leaves: list[Any], treedef: TreeDef, is_leaf: IsLeaf | None) -> tuple[list[Any], TreeDef]:
    """Leaves and a structure in which sparse arrays are nodes."""
    opened = [_C.flatten(x, None, False, NAMESPACE) for x in sparse.as_nodes(leaves, is_leaf)]
    structures = (structure for _, structure in opened)
    return [x for xs, _ in opened for x in xs], treedef.transform(None, lambda _: next(structures))


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """The tree with structure `treedef` and these leaves."""
    return treedef.unflatten(leaves)


def leaves(tree: Any, is_leaf: IsLeaf | None = None) -> list[Any]:
    """The leaves of `tree`, in order."""
    return flatten(tree, is_leaf)[0]


def structure(tree: Any, is_leaf: IsLeaf | None = None) -> TreeDef:
    """The structure of `tree`."""
    return flatten(tree, is_leaf)[1]


def map(f: Callable[..., Any], tree: Any, *rest: Any, is_leaf: IsLeaf | None = None) -> Any:
    """Apply `f` to the leaves of `tree` and the matching parts of `rest`.

    Raises:
        PytreeMismatchError: a tree of `rest` does not have the structure of `tree`.
    """
    first, treedef = flatten(tree, is_leaf)
    columns = zip(first, *(flatten_up_to(treedef, r) for r in rest), strict=True)
    return treedef.unflatten([f(*xs) for xs in columns])


def flatten_with_paths(tree: Any, is_leaf: IsLeaf | None = None) -> tuple[list[tuple[str, Any]], TreeDef]:
    """`([(path, leaf), ...], treedef)` with paths as Python writes them: `['w'][0].scale`."""
    xs, treedef = flatten(tree, is_leaf)
    return list(zip(paths(treedef), xs, strict=True)), treedef


def paths(treedef: TreeDef, root: str = "") -> list[str]:
    """How each leaf is reached from `root`."""
    return [accessor.codify(root) for accessor in treedef.accessors()]


def register(
    cls: type, to_iter: Callable[[Any], tuple[Iterable[Any], Any]], from_iter: Callable[..., Any]
) -> type:
    """Make `cls` a node: `to_iter(obj) -> (children, aux)`, `from_iter(aux, children) -> obj`.

    `aux` is part of the structure: it must be hashable and comparable. Returns `cls`.
    """
    _register(cls, to_iter, from_iter, optree.AutoEntry)
    return cls


def register_leaf(cls: type) -> type:
    """Make the dataclass (or any class) `cls` a leaf. Returns `cls`."""
    _leaf_classes.add(cls)
    _PLAIN.add(cls)
    return cls


def register_dataclass(
    cls: type, data_fields: Iterable[str] | None = None, meta_fields: Iterable[str] | None = None
) -> type:
    """Make the dataclass `cls` a node. Returns `cls`.

    Without lists of fields, those with `metadata={"static": True}` belong to the structure and all others are
    children. Objects are rebuilt without calling `__init__`, since their fields may then hold anything.
    """
    fields = dataclasses.fields(cls)
    if meta_fields is None:
        given = None if data_fields is None else set(data_fields)
        meta = [
            f.name for f in fields if (f.metadata.get("static") if given is None else f.name not in given)
        ]
    else:
        meta = list(meta_fields)
    data = tuple(f.name for f in fields if f.name not in meta) if data_fields is None else tuple(data_fields)

    known = {*data, *meta}

    def to_iter(obj: Any) -> tuple[Any, Any, Any]:
        static = tuple(getattr(obj, name) for name in meta)
        # The types too: 1, 1.0 and True are equal, and different programs.
        aux = static, tuple(map_types(static))
        others = tuple(n for n in getattr(obj, "__dict__", ()) if n not in known)
        return [getattr(obj, name) for name in data], (*aux, others) if others else aux, data

    def from_iter(aux: Any, children: Iterable[Any]) -> Any:
        if len(aux) > 2:  # attributes that are no fields would be lost
            what = f"attribute `{aux[2][0]}` of an object of the dataclass {cls.__qualname__}"
            reason = f"it is none of the fields, which the class declares: `{aux[2][0]}: Any`"
            raise UnfollowedError(what=what, reason=reason)
        obj = object.__new__(cls)
        for name, value in (*zip(data, children, strict=True), *zip(meta, aux[0], strict=True)):
            object.__setattr__(obj, name, value)
        return obj

    _register(cls, to_iter, from_iter, optree.DataclassEntry)
    _fields.setdefault(cls, (data, tuple(meta)))
    return cls


def dataclass_parts(x: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The children and the static fields, by name, of a dataclass that is a node; None for anything else."""
    known = _fields.get(type(x))
    if known is None:
        return None
    children, static = ({name: getattr(x, name) for name in names} for names in known)
    return children, static


def _register(cls: type, to_iter: Any, from_iter: Any, entry: Any) -> None:
    with _lock:
        if cls in _registered:
            return
        for namespace, flat in ((NAMESPACE, to_iter), (_ORDERED, _hashed(cls, to_iter)), (OPENED, to_iter)):
            optree.register_pytree_node(cls, flat, from_iter, path_entry_type=entry, namespace=namespace)
        _registered.add(cls)


def _hashed(cls: type, to_iter: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`to_iter` that insists on a hashable structure."""

    def checked(obj: Any) -> Any:
        out = to_iter(obj)
        try:
            hash(out[1])
        except TypeError as e:
            raise UnhashableStaticError(
                argument="data", function=f"the pytree class {cls.__qualname__}", type=str(e)
            ) from e
        return out

    return checked


# ---- matching a tree against a structure --------------------------------------------------------


def flatten_up_to(treedef: TreeDef, tree: Any, what: str = "the tree") -> list[Any]:
    """The subtrees of `tree` at the leaves of `treedef`.

    Raises:
        PytreeMismatchError: `tree` does not begin with that structure.
    """
    try:
        with contextlib.suppress(ValueError):
            return treedef.flatten_up_to(tree)
        leaves, found = _C.flatten(tree, None, False, NAMESPACE)
        return treedef.flatten_up_to(found.unflatten(sparse.as_nodes(leaves)))
    except ValueError as e:
        found = structure(tree)
        raise PytreeMismatchError(
            what=what, path="", problem=f"expected {show(treedef)}, got {show(found)}"
        ) from e


def broadcast_prefix(prefix: Any, full_tree: Any, what: str = "the prefix") -> list[Any]:
    """One entry of `prefix` for each leaf of `full_tree`. None in `prefix` is an entry.

    Raises:
        PytreeMismatchError: `prefix` is not a prefix of `full_tree`; names the path.
    """
    return flatten_axes(what, structure(full_tree), prefix)


def flatten_axes(what: str, treedef: TreeDef, axes: Any) -> list[Any]:
    """One entry of `axes`, a prefix tree such as `in_axes`, for each leaf of `treedef`.

    Raises:
        PytreeMismatchError: it is not a prefix; the message starts with `what` and the path.
    """
    out: list[Any] = []
    _spread(what, "", treedef, axes, out)
    return out


def _spread(what: str, path: str, treedef: TreeDef, axes: Any, out: list[Any]) -> None:
    if is_leaf(axes):
        out.extend([axes] * treedef.num_leaves)
        return
    children, entries = one_level(axes)
    if treedef.type is not type(axes) or builtins.set(entries) != builtins.set(treedef.entries()):
        problem = f"it is {_kind(axes, len(children))} where the value is {_kind_of(treedef)}"
        raise PytreeMismatchError(what=what, path=path, problem=problem)
    by_entry = dict(zip(entries, children, strict=True))
    for entry, child, accessor in zip(
        treedef.entries(), treedef.children(), _accessors(treedef), strict=True
    ):
        _spread(what, accessor.codify(path), child, by_entry[entry], out)


def field_of(treedef: TreeDef, n: int) -> str:
    """How messages call leaf `n` if it is a field of a dataclass: ", field `name` of the dataclass Config"."""
    accessor = treedef.accessors()[n]
    cls = accessor[-1].type if len(accessor) else None
    if cls is None or not dataclasses.is_dataclass(cls):
        return ""
    return f", field `{accessor[-1].entry}` of the dataclass {cls.__qualname__},"


def _accessors(treedef: TreeDef) -> list[Any]:
    """How each child is reached from its node."""
    node = treedef.one_level()
    return [] if node is None else node.accessors()


def is_leaf(tree: Any) -> bool:
    """Whether `tree` holds nothing: it is no container, or None."""
    return _C.is_leaf(tree, None, True, NAMESPACE)


def is_node(cls: type) -> bool:
    """Whether objects of the class are containers."""
    if cls in _leaf_classes:
        return False
    known = optree.register_pytree_node.get(cls, namespace=NAMESPACE) is not None
    return known or dataclasses.is_dataclass(cls) or optree.is_namedtuple_class(cls)


def one_level(tree: Any) -> tuple[list[Any], tuple[Any, ...]]:
    """What a container holds, and the keys, indices or names of it."""
    (tree,) = sparse.as_nodes([tree])
    children, _, entries, _ = optree.tree_flatten_one_level(tree, none_is_leaf=True, namespace=NAMESPACE)
    return list(children), tuple(entries)


def _kind(tree: Any, n: int) -> str:
    return f"a {type(tree).__name__} of {n}"


def _kind_of(treedef: TreeDef) -> str:
    return "a leaf" if treedef.type is None else f"a {treedef.type.__name__} of {treedef.num_children}"


def show(treedef: TreeDef) -> str:
    """The structure as its containers are written, `*` in place of each leaf: for messages."""
    if treedef.is_leaf():
        return "a single value"
    return (
        str(treedef).removeprefix("PyTreeSpec(").removesuffix(")").replace(f", namespace='{NAMESPACE}'", "")
    )


optree.register_pytree_node(*sparse.NODE, path_entry_type=optree.GetAttrEntry, namespace=NAMESPACE)
#: What is imported when it is first asked for, by the file of this folder that has it.
_LATER = {
    "files": ("load", "save"),
    "keys": (
        *("all", "broadcast", "flatten_with_path", "leaves_with_path", "map_with_path", "reduce"),
        *("reduce_associative", "static", "transpose"),
    ),
}
_complete(__name__)


def __getattr__(name: str) -> Any:
    """What has to do with files and with keys is imported when it is first asked for."""
    place = next((module for module, names in _LATER.items() if name in names), None)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"tracejit.tree.{place}"), name)
    globals()[name] = found
    return found
