"""SciPy's sparse arrays as nodes: the stored elements are the leaf, where they are belongs to the structure.

So the gradient by a sparse array is a sparse array with the same structure, and `tree.map` goes over elements. The
arguments and results of a compiled function are not taken apart like this: there they are objects, whose structure is
guarded (`frontend/structures.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

#: The bases of the classes -> the attributes that say where elements are.
_PLACES = {
    **dict.fromkeys(("_csr_base", "_csc_base", "_bsr_base"), ("indices", "indptr")),
    "_coo_base": ("coords",),
    "_dia_base": ("offsets",),
}
#: Attributes of arrays besides these, of those that have them.
_OTHERS = ("_shape", "maxprint", "has_canonical_format")


@functools.cache
def is_sparse(cls: type) -> bool:
    """Whether `cls` is one of SciPy's classes of sparse arrays, or derives from one."""
    return any((c.__module__, c.__name__) == ("scipy.sparse._base", "_spbase") for c in cls.__mro__)


@functools.cache
def _places(cls: type) -> tuple[str, ...]:
    return next((_PLACES[c.__name__] for c in cls.__mro__ if c.__name__ in _PLACES), ())


def is_node(cls: type) -> bool:
    """Whether arrays of the class have their elements in one array, `data`, as those of `lil` and `dok` have not."""
    return is_sparse(cls) and bool(_places(cls))


def _own_class(cls: type, data: Any) -> type:
    return cls


#: The class of a sparse array of class `cls` with the elements `data`: the frontend has one whose methods are followed
#: for those that are traced.
class_for: Callable[[type, Any], type] = _own_class


class Places:
    """Where the elements of a sparse array are, its class and its shape. Equal to others by what they are."""

    def __init__(self, array: Any) -> None:
        # The class behind those that the frontend makes.
        self.cls = next(
            c for c in type(array).__mro__ if "_tj_class" not in vars(c) and "_tj_state" not in vars(c)
        )
        places = _places(self.cls)
        others = [k for k in _OTHERS if k != "has_canonical_format" or "coords" in places]
        self.shape = array.shape
        self.attributes = {k: getattr(array, k) for k in (*places, *others)}
        self.arrays = [x for k in places for x in _as_tuple(self.attributes[k])]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Places)
            and (self.cls, self.shape, len(self.arrays)) == (other.cls, other.shape, len(other.arrays))
            and all(map(_same, self.arrays, other.arrays))
        )

    def __hash__(self) -> int:
        return hash((self.cls, self.shape, tuple(x.shape for x in self.arrays)))

    def __repr__(self) -> str:
        return f"{self.cls.__name__} of shape {self.shape}"


class Node:
    """A sparse array in its place in a tree."""

    def __init__(self, array: Any) -> None:
        self.array = array


def as_nodes(leaves: Iterable[Any], is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves, of which sparse arrays are nodes, unless `is_leaf` says otherwise."""
    return [Node(x) if is_node(type(x)) and not (is_leaf and is_leaf(x)) else x for x in leaves]


def parts(node: Node) -> tuple[tuple[Any, ...], Places, tuple[str, ...]]:
    """The elements, and where they are."""
    return (node.array.data,), Places(node.array), ("data",)


def whole(places: Places, children: Iterable[Any]) -> Any:
    """The sparse array with these elements. Its structure is a copy, since SciPy's methods sort and sum in place; where
    the elements are traced they can't, as elements of a derivative are in the order of the argument."""
    (data,) = children
    cls = class_for(places.cls, data)
    made = object.__new__(cls)
    vars(made).update({k: _copy(x, cls is places.cls) for k, x in places.attributes.items()}, data=data)
    return made


#: The class of nodes, and the functions that take one apart and make the array.
NODE: tuple[Any, Any, Any] = (Node, parts, whole)


def _copy(x: Any, writeable: bool) -> Any:
    if isinstance(x, tuple):
        return tuple(_copy(y, writeable) for y in x)
    if type(x) is not np.ndarray:
        return x
    out = x.copy()
    out.flags.writeable = writeable
    return out


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _same(a: Any, b: Any) -> bool:
    """Whether two arrays, which may be boxes of known ones, have the same elements."""
    a, b = (x.read() if hasattr(x, "read") else x for x in (a, b))
    return a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b))
