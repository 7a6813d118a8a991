"""Arguments that are followed as objects of outside are: leaves of the signature, whatever they hold."""

from __future__ import annotations

from typing import Any

from tracejit import frontend, tree
from tracejit.api.introspect import ShapeDtypeStruct


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
    """Whether all nodes in the structure of an argument are Python's containers or dataclasses."""
    leaves = tree.leaves(value, is_leaf=lambda x: not _is_container(x))
    return _is_container(value) and not any(map(_is_node, leaves))
