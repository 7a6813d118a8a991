"""Arguments that are followed as objects of outside are: leaves of the signature, whatever they hold."""

from __future__ import annotations

from typing import Any

from tracejit import frontend, tree
from tracejit.api.common import name_of
from tracejit.api.introspect import ShapeDtypeStruct
from tracejit.errors import UnfollowedError


class Followed:
    """In the structure of a call, an argument that is followed: a leaf."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _is_container(x: Any) -> bool:
    """Whether `x` is a container that can be followed: one of Python's, or an object of a dataclass."""
    return frontend.is_container(x) or (tree.dataclass_parts(x) is not None and not isinstance(x, type))


def _is_node(x: Any) -> bool:
    """Whether a leaf stands for a type of the arguments, or is a node of structures after all."""
    if isinstance(x, ShapeDtypeStruct):
        return True
    leaves = tree.leaves(x)
    return x is not None and (len(leaves) != 1 or leaves[0] is not x)


def can_be_followed(value: Any) -> bool:
    """Whether all nodes in the structure of an argument are Python's containers or dataclasses. It may hold itself."""
    seen: dict[int, Any] = {}
    left = [value]
    while left:
        x = left.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        if not _is_container(x):
            if x is value or _is_node(x):
                return False
        elif fields := tree.dataclass_parts(x):
            left += fields[0].values()
        elif isinstance(x, dict):  # a Counter too, which is a leaf of structures
            left += x.values()
        elif not isinstance(x, (set, frozenset)):
            left += tree.one_level(x)[0]
    return True


def take_apart(call: Any, followed: dict[int | str, Followed]) -> tuple[list[Any], tree.TreeDef]:
    """The leaves and the structure of the dynamic arguments of a `Call`, of which those that are followed are leaves.
    Those that hold themselves join these.

    Raises:
        UnfollowedError: such an argument can't be followed.
    """
    try:
        return tree.flatten_ordered(_given(call, followed))
    except RecursionError:
        for key, x in [*zip(call.positions(), call.dynamic, strict=True), *call.kwargs.items()]:
            if key in followed or not _is_endless(x):
                continue
            if not call.may_follow(key):
                reason = "it holds itself, or what it holds is nested too deep"
                raise UnfollowedError(what=f"argument {call.argument_name(key)}", reason=reason) from None
            followed[key] = Followed(x)
    try:
        return tree.flatten_ordered(_given(call, followed))
    except RecursionError:
        reason = "it is nested deeper than trees may be"
        raise UnfollowedError(what=f"an argument of `{name_of(call.fun)}`", reason=reason) from None


def _given(call: Any, followed: dict[int | str, Followed]) -> tuple[Any, ...]:
    if not followed:
        return call.dynamic, call.kwargs
    dynamic = [followed.get(n, x) for n, x in zip(call.positions(), call.dynamic, strict=True)]
    return tuple(dynamic), {k: followed.get(k, x) for k, x in call.kwargs.items()}


def _is_endless(value: Any) -> bool:
    """Whether an argument can't be taken apart."""
    try:
        tree.leaves(value)
    except RecursionError:
        return True
    return False
