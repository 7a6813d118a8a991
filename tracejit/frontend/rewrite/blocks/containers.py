"""Lists, dicts and objects among the values of names: which of them a block leaves where they are, and which it
replaces by others.

    state["x"] += v            # stays: what is in it is carried, or chosen, place by place (`held`)
    state = {"x": x + v}       # replaced: the name holds a new one, made of its leaves

All that are changed in place may be seen by other names, so those that stay must stay themselves. `kept`: the
identities of containers that do; a value is taken apart as far as those, which are leaves then.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterator
from typing import Any

import optree

from tracejit import tree
from tracejit.frontend.text.deferred import Text
from tracejit.frontend.variants.node import Variant

NONE: frozenset[int] = frozenset()


def parts(value: Any, kept: Collection[int]) -> tuple[list[Any], tree.TreeDef]:
    """The leaves of a value, and its tree."""
    return flatten(value, (lambda x: id(x) in kept) if kept else None)


def flatten(value: Any, stays: Callable[[Any], bool] | None = None) -> tuple[list[Any], tree.TreeDef]:
    """`tree.flatten` to which the objects that the run has made are nodes, too. One that is met again, as in a ring, is
    a leaf there."""

    def leaf(x: Any) -> bool:
        if stays is not None and stays(x):
            return True
        again = id(x) in met
        if is_object(x):
            met.add(id(x))
        return again

    while True:
        met: set[int] = set()
        leaves, treedef = optree._C.flatten(value, leaf, False, tree.OPENED)  # type: ignore[attr-defined]
        new = [type(x) for x in leaves if is_object(x) and not _registered(type(x))]
        if not new and not tree._register_seen(leaves, stays):
            return leaves, treedef
        for cls in new:
            _register(cls)


def is_object(x: Any) -> bool:
    """Whether it is an object of a class of the user's that the run has made."""
    return "_tj_class" in vars(type(x)) and not isinstance(x, type)


def _registered(cls: type) -> bool:
    return optree.register_pytree_node.get(cls, namespace=tree.OPENED) is not None  # type: ignore[attr-defined]


def _register(cls: type) -> None:
    """Let objects of a class be nodes in blocks: they are made anew without its `__init__`, as they were."""
    if _registered(cls):
        return
    filled = [d for base in cls.__mro__ for d in vars(base).values() if type(d) is types.MemberDescriptorType]

    def to_iter(x: Any) -> Any:
        slots = {d.__name__: d.__get__(x) for d in filled if _holds(d, x)}
        held = {**getattr(x, "__dict__", {}), **slots}
        return tuple(held.values()), tuple(held), tuple(held)

    def from_iter(names: Any, children: Any) -> Any:
        made = object.__new__(cls)
        for name, value in zip(names, children, strict=True):
            object.__setattr__(made, name, value)
        return made

    optree.register_pytree_node(cls, to_iter, from_iter, namespace=tree.OPENED)


def _holds(slot: Any, x: Any) -> bool:
    try:
        slot.__get__(x)
    except AttributeError:
        return False
    return True


def is_leaf(x: Any) -> bool:
    """Whether it holds nothing that could be replaced."""
    return not is_object(x) and tree.is_leaf(x)


def _one_level(x: Any) -> tuple[list[Any], tuple[Any, ...]]:
    """What a container or object holds, and the keys, indices or names of it."""
    if is_object(x):
        _register(type(x))
    children, _, entries, _ = optree.tree_flatten_one_level(x, none_is_leaf=True, namespace=tree.OPENED)
    return list(children), tuple(entries)


def opened(value: Any, kept: Collection[int] = NONE, frozen: bool = False) -> list[Any]:
    """The containers that a value is made of and that can be changed, itself among them, without those that are
    kept and what is in these. `frozen`: also those that can't be changed."""
    found: list[Any] = []

    def see(x: Any) -> bool:
        if id(x) not in kept:
            found.append(x)
        return id(x) in kept

    ends = {id(x) for x in flatten(value, see)[0] if not is_object(x)}
    opened = [x for x in found if id(x) not in ends and not (_is_value(x) if frozen else _is_frozen(x))]
    return list({id(x): x for x in opened}.values())


def spread(value: Any, kept: Collection[int] = NONE) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The containers that a value is made of, itself among them, an outer one before what is in it, and where each
    is: the number of a part of each container on the way. One has each of its places, and so has what is in it, but
    for objects, as `flatten` has them, and for rings."""
    met: set[int] = set()
    left: list[tuple[tuple[int, ...], Any, frozenset[int]]] = [((), value, NONE)]
    for path, x, around in left:
        if is_leaf(x) or _is_value(x) or id(x) in kept:
            continue
        yield path, x
        if id(x) in met or id(x) in around:
            continue
        if is_object(x):
            met.add(id(x))
        inside = around | {id(x)}
        left += [((*path, n), y, inside) for n, y in enumerate(_one_level(x)[0])]


def _is_frozen(x: Any) -> bool:
    """Whether what a container holds can't be changed."""
    params = getattr(type(x), "__dataclass_params__", None)
    return _is_value(x) or isinstance(x, tuple) or (params is not None and params.frozen)


def _is_value(x: Any) -> bool:
    """Whether it is no container to Python."""
    return x is None or type(x) in (Text, Variant)


def replaced(a: Any, b: Any) -> Iterator[int]:
    """The containers of `a` of which `b` does not have the same at the same place."""
    if a is b or is_leaf(a):
        return
    yield id(a)
    (xs, keys), (ys, others) = _one_level(a), ((), None) if is_leaf(b) else _one_level(b)
    if type(a) is type(b) and keys == others:
        for x, y in zip(xs, ys, strict=True):
            yield from replaced(x, y)
    else:
        yield from map(id, opened(a))


def shared(a: Any, b: Any) -> Iterator[int]:
    """The containers that `a` and `b` have at the same places, and so all that is in them."""
    if is_leaf(a) or is_leaf(b):
        return
    if a is b:
        yield id(a)
        return
    (xs, keys), (ys, others) = _one_level(a), _one_level(b)
    if type(a) is type(b) and keys == others:
        for x, y in zip(xs, ys, strict=True):
            yield from shared(x, y)
