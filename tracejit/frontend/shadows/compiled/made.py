"""What stands for the lists and dicts of `numba.typed` that traced code makes.

These classes are followed as the user's own are (they count as those of a module `numba.typed.traced`): a list that
grows in a native loop or under a traced condition is one of Python's inside. Items are of the type of the first one, as
Numba's are: integers become floating-point numbers where the first was one, and what does not fit is refused. They
can't leave.
"""

from __future__ import annotations

import collections.abc
from typing import Any

from tracejit.frontend.shadows.compiled.items import fitting, kind_of_type, refused, sealed


class List:
    """`numba.typed.List`, as far as traced code uses it."""

    def __init__(self, iterable: Any = ()) -> None:
        self._kind = None
        self._items: list[Any] = []
        for x in iterable:
            self.append(x)

    @classmethod
    def empty_list(cls, item_type: Any, allocated: int = 0) -> Any:
        made = cls()
        made._kind = kind_of_type(item_type)
        return made

    def append(self, item: Any) -> None:
        self._kind, item = fitting(self._kind, item)
        self._items.append(item)

    def extend(self, iterable: Any) -> None:
        for x in iterable:
            self.append(x)

    def insert(self, i: int, item: Any) -> None:
        self._kind, item = fitting(self._kind, item)
        self._items.insert(i, item)

    def pop(self, i: int = -1) -> Any:
        return self._items.pop(i)

    def clear(self) -> None:
        self._items.clear()

    def reverse(self) -> None:
        self._items.reverse()

    def copy(self) -> Any:
        made = List()
        made._kind = self._kind
        made._items = self._items[:]
        return made

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            made = List()
            made._kind = self._kind
            made._items = self._items[i]
            return made
        return self._items[i]

    def __setitem__(self, i: Any, item: Any) -> None:
        self._kind, item = fitting(self._kind, item)
        self._items[i] = item

    def __iter__(self) -> Any:
        return iter(self._items)

    def __contains__(self, item: Any) -> bool:
        return item in self._items

    def __delitem__(self, i: Any) -> None:
        del self._items[i]

    def __eq__(self, other: object) -> bool:
        return other is self or refused("List", "==")

    def __lt__(self, other: object) -> bool:
        return refused("List", "<")

    def __le__(self, other: object) -> bool:
        return refused("List", "<=")

    def __gt__(self, other: object) -> bool:
        return refused("List", ">")

    def __ge__(self, other: object) -> bool:
        return refused("List", ">=")

    def __getattr__(self, name: str) -> Any:
        return refused("List", name)


class Dict:
    """`numba.typed.Dict`, as far as traced code uses it."""

    def __init__(self, iterable: Any = None) -> None:
        self._key = None
        self._kind = None
        self._items: dict[Any, Any] = {}
        if iterable is not None:
            for k, x in iterable.items():
                self[k] = x

    @classmethod
    def empty(cls, key_type: Any, value_type: Any, n_keys: int = 0) -> Any:
        made = cls()
        made._key = kind_of_type(key_type)
        made._kind = kind_of_type(value_type)
        return made

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, key: Any) -> Any:
        return self._items[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._key, key = fitting(self._key, key)
        self._kind, value = fitting(self._kind, value)
        self._items[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._items[key]

    def __iter__(self) -> Any:
        return iter(self._items)

    def __contains__(self, key: Any) -> bool:
        return key in self._items

    def keys(self) -> Any:
        return self._items.keys()

    def values(self) -> Any:
        return self._items.values()

    def items(self) -> Any:
        return self._items.items()

    def get(self, key: Any, default: Any = None) -> Any:
        return self._items.get(key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        return self._items.pop(key, *default)

    def clear(self) -> None:
        self._items.clear()

    def __eq__(self, other: object) -> bool:
        return other is self or refused("Dict", "==")

    def __getattr__(self, name: str) -> Any:
        return refused("Dict", name)


sealed(List, collections.abc.MutableSequence)
sealed(Dict, collections.abc.MutableMapping)
