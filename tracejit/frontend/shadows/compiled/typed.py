"""Lists and dicts of `numba.typed` that a function is given or captures: their numbers are one array, which is read
at every call, their arrays are arrays. Writing into one is refused; `made` has those that traced code makes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.frontend.paths import Node
from tracejit.frontend.shadows.compiled import made
from tracejit.frontend.shadows.compiled.items import array_of, number_of, refused
from tracejit.tracing import Box, box

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_CLASSES: dict[tuple[str, str], type] = {
    ("numba.typed.typedlist", "List"): made.List,
    ("numba.typed.typeddict", "Dict"): made.Dict,
}
#: Longer lists are copied by code that Numba compiles for this.
_FEW = 32
_KEYS = (int, float, bool, str)


def class_of(cls: type) -> type | None:
    """The class by which one of `numba.typed` is followed; None for others."""
    return _CLASSES.get((cls.__module__, cls.__name__))


def kind_of(value: Any) -> Any:
    """Numba's type of a list or dict that can be followed; None for everything else."""
    cls = class_of(type(value))
    if cls is None or not value._typed:
        return None
    type_ = value._numba_type_
    if cls is made.Dict and any(type(k) not in _KEYS for k in value):
        return None
    return None if number_of(_of_items(type_)) is None and array_of(_of_items(type_)) is None else type_


def _of_items(type_: Any) -> Any:
    return type_.value_type if hasattr(type_, "value_type") else type_.item_type


def wrap_typed(session: Run, node: Node, value: Any) -> Any:
    """The stand-in of a list or dict of `numba.typed`."""
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    here = session.hold(node, value)
    session.differs(node, value)
    type_ = value._numba_type_
    session.check(here.applied(_type_of), "value", type_)
    keys = None
    if hasattr(type_, "value_type"):
        keys = tuple(value)
        session.check(here.applied(tuple), "scalars", keys)
    if number_of(_of_items(type_)) is not None:
        items = session.wrap(here.applied(_numbers), _numbers(value))
    else:
        held = _items(value)
        session.check(here.applied(_items), "len", len(held))
        items = [session.wrap(here.applied(_items).item(n), x) for n, x in enumerate(held)]
    return session.remember(value, Given(type_, items, keys), node)


def _type_of(value: Any) -> Any:
    return value._numba_type_


def _items(value: Any) -> list[Any]:
    return [value[k] for k in value] if hasattr(value, "keys") else list(value)


def _numbers(value: Any) -> np.ndarray:
    """The numbers of a list, or of a dict in the order of its keys, as an array."""
    if hasattr(value, "keys"):
        return np.array([value[k] for k in value], number_of(value._numba_type_.value_type))
    dtype = number_of(value._numba_type_.item_type)
    if len(value) <= _FEW:
        return np.array(list(value), dtype)
    out = np.empty(len(value), dtype)
    _copier()(value, out)
    return out


@functools.cache
def _copier() -> Callable[[Any, np.ndarray], None]:
    numba: Any = sys.modules["numba"]

    @numba.njit
    def copy(value: Any, out: Any) -> None:
        for n in range(len(out)):
            out[n] = value[n]

    return copy


class Given:
    """What stands for such a list or dict: it is read, and nothing else."""

    def __init__(self, type_: Any, items: Any, keys: tuple[Any, ...] | None) -> None:
        self._tj_type = type_
        self._items = items
        self._keys = keys
        self._places = None if keys is None else {k: n for n, k in enumerate(keys)}

    @property
    def __class__(self) -> type:
        return made.List if self._keys is None else made.Dict

    def _item(self, n: Any) -> Any:
        x = self._items[n]
        if type(self._items) is list:
            return x
        return box(x.read(), weak=True) if type(x) is Box else x.item()

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, key: Any) -> Any:
        if self._places is not None:
            if isinstance(key, Box):
                return self._refused("a traced key")
            return self._item(self._places[key])
        if isinstance(key, slice):
            return Given(self._tj_type, self._items[key], None)
        return self._item(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys) if self._keys is not None else map(self._item, range(len(self)))

    def __contains__(self, key: Any) -> bool:
        if self._places is None or isinstance(key, Box):
            return self._refused("in")
        return key in self._places

    def keys(self) -> Any:
        return (self._places or {}).keys() if self._keys is not None else self._refused("keys")

    def values(self) -> Any:
        return [self._item(n) for n in range(len(self.keys()))]

    def items(self) -> Any:
        return list(zip(self.keys(), self.values(), strict=True))

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self.keys() else default

    def __setitem__(self, key: Any, value: Any) -> None:
        self._refused("a write")

    def __getattr__(self, name: str) -> Any:
        return self._refused(name)

    def __eq__(self, other: object) -> bool:
        return other is self or self._refused("==")

    __hash__ = None  # type: ignore[assignment]

    def _refused(self, what: str) -> Any:
        return refused(self.__class__.__name__, what)
