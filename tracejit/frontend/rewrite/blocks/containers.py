"""Lists, dicts and objects among the values of names: which of them a block leaves where they are, and which it
replaces by others.

    state["x"] += v            # stays: what is in it is carried, or chosen, place by place (`held`)
    state = {"x": x + v}       # replaced: the name holds a new one, made of its leaves

All that are changed in place may be seen by other names, so those that stay must stay themselves. `kept`: the
identities of containers that do; a value is taken apart as far as those, which are leaves then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from tracejit import tree
from tracejit.frontend.text.deferred import Text

NONE: frozenset[int] = frozenset()


def parts(value: Any, kept: Collection[int]) -> tuple[list[Any], tree.TreeDef]:
    """The leaves of a value, and its tree."""
    return tree.flatten(value, is_leaf=(lambda x: id(x) in kept) if kept else None)


def opened(value: Any, kept: Collection[int] = NONE, frozen: bool = False) -> list[Any]:
    """The containers that a value is made of and that can be changed, itself among them, without those that are
    kept and what is in these. `frozen`: also those that can't be changed."""
    found: list[Any] = []

    def see(x: Any) -> bool:
        if id(x) not in kept:
            found.append(x)
        return id(x) in kept

    leaves = {id(x) for x in tree.flatten(value, is_leaf=see)[0]}
    return [x for x in found if id(x) not in leaves and not (_is_value(x) if frozen else _is_frozen(x))]


def _is_frozen(x: Any) -> bool:
    """Whether what a container holds can't be changed."""
    params = getattr(type(x), "__dataclass_params__", None)
    return _is_value(x) or isinstance(x, tuple) or (params is not None and params.frozen)


def _is_value(x: Any) -> bool:
    """Whether it is no container to Python."""
    return x is None or type(x) is Text


def replaced(a: Any, b: Any) -> Iterator[int]:
    """The containers of `a` of which `b` does not have the same at the same place."""
    if a is b or tree.is_leaf(a):
        return
    yield id(a)
    (xs, keys), (ys, others) = tree.one_level(a), ((), None) if tree.is_leaf(b) else tree.one_level(b)
    if type(a) is type(b) and keys == others:
        for x, y in zip(xs, ys, strict=True):
            yield from replaced(x, y)
    else:
        yield from map(id, opened(a))


def shared(a: Any, b: Any) -> Iterator[int]:
    """The containers that `a` and `b` have at the same places, and so all that is in them."""
    if tree.is_leaf(a) or tree.is_leaf(b):
        return
    if a is b:
        yield id(a)
        return
    (xs, keys), (ys, others) = tree.one_level(a), tree.one_level(b)
    if type(a) is type(b) and keys == others:
        for x, y in zip(xs, ys, strict=True):
            yield from shared(x, y)
