"""Keys of dicts and items of sets: traced integers and text among them are taken for known where that may be
(`numpy.assumed`), since Python's containers look at what they hash, and keep it."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tracejit.errors import TracerFloatError, TracerIntegerError
from tracejit.frontend.lists import lookups, picked, tables
from tracejit.frontend.rewrite.blocks.decisions import capturing
from tracejit.frontend.rewrite.source.texts import BY_KEY
from tracejit.frontend.shadows.kinds import traced_getattr
from tracejit.frontend.text.deferred import Text
from tracejit.frontend.text.strings import known
from tracejit.numpy.boxes.conversions import class_of, known_value
from tracejit.tracing import Box

_DICTS = (
    dict,
    collections.OrderedDict,
    collections.defaultdict,
    collections.Counter,
    types.MappingProxyType,
)
_SETS = (set, frozenset)
#: By identity: a metaclass may not let its classes be hashed.
HASHED = frozenset(map(id, (*_DICTS, *_SETS)))


def key(x: Any) -> Any:
    """A key that a container hashes: no traced integer and no text of traced values."""
    kind = type(x)
    if kind is Box:
        cls = class_of(x)
        if cls is np.ndarray:
            return x  # which has no hash
        error = TracerIntegerError if x.aval.dtype.kind in "biu" else TracerFloatError
        value = known_value(x, error)[()]
        return value.item() if cls.__module__ == "builtins" else value
    if kind is Text:
        return known(x, "its hash, as a key of a dict")
    if kind is tuple and any(id(type(v)) in _LOOKED_AT for v in x):
        session: Any = capturing()
        found = tuple(map(key, x))
        if session is None or all(a is b for a, b in zip(x, found, strict=True)):
            return x
        return session.choices.tuples.key(x, lambda: found)
    return x


_LOOKED_AT = frozenset(map(id, (Box, Text, tuple)))


class _Keyed:
    """Stands for a dict in `d[k]`, with what is done by key only."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __getitem__(self, k: Any) -> Any:
        found = lookups.item_of(self.held, k)
        return self.held[key(k)] if found is picked.NOTHING else found

    def __setitem__(self, k: Any, value: Any) -> None:
        lookups.ask(self.held, k, value)
        self.held[key(k)] = value

    def __delitem__(self, k: Any) -> None:
        lookups.ask_to_take(self.held, k)
        del self.held[key(k)]


class _Placed:
    """Stands for a list or tuple in `xs[k]`, where `k` may be a traced position. `got`: the one that was read last,
    its item, which `xs[k] += v` puts there again, and what the list held."""

    __slots__ = ("got", "held")

    def __init__(self, held: Any) -> None:
        self.held = held
        self.got: tuple[Any, Any, list[Any]] = (None, None, [])

    def __getitem__(self, k: Any) -> Any:
        if picked.is_position(k) and (found := picked.item(self.held, k)) is not picked.NOTHING:
            self.got = k, found, [*self.held]
            return found
        return self.held[k]

    def __setitem__(self, k: Any, value: Any) -> None:
        if picked.is_position(k) and type(self.held) is list:
            if self._is_there(k, value) or picked.put(self.held, k, value):
                return
        self.held[k] = value

    def _is_there(self, k: Any, value: Any) -> bool:
        """Whether item `k` is the array `value`, which was read from there and written since."""
        at, found, items = self.got
        if at is not k or found is not value or type(value) is not Box or value.scalar:
            return False
        return len(items) == len(self.held) and all(x is y for x, y in zip(items, self.held, strict=True))

    def __delitem__(self, k: Any) -> None:
        del self.held[k]


def place(held: Any) -> Any:
    """What `held[k]` is asked of in traced code, where `k` is no constant."""
    stand_in = _PLACES.get(id(type(held)))
    return held if stand_in is None or capturing() is None else stand_in(held)


_PLACES: dict[int, Any] = {id(cls): _Keyed for cls in _DICTS} | {id(list): _Placed, id(tuple): _Placed}


def member(x: Any, name: str) -> Any:
    """`x.name` in the source."""
    if name in BY_KEY and id(type(x)) in HASHED and capturing() is not None:
        return _by_key(x, name)
    return traced_getattr(x, name)


def _by_key(x: Any, name: str) -> Callable[..., Any]:
    """A method of a dict or set that is given a key first."""
    method = getattr(x, name)

    def called(*args: Any, **kwargs: Any) -> Any:
        if name in lookups.METHODS and not kwargs:
            found = lookups.method(x, name, *args)
            if found is not picked.NOTHING:
                return found
        return method(key(args[0]), *args[1:], **kwargs) if args else method(**kwargs)

    called.tj_method = method  # type: ignore[attr-defined]
    return called


def set_(*args: Any) -> Any:
    """`set`."""
    if len(args) == 1 and type(args[0]) is tables.Table:
        return args[0].tj_copy_as(set)
    return set(map(key, args[0])) if len(args) == 1 else set(*args)


def frozenset_(*args: Any) -> Any:
    """`frozenset`."""
    return frozenset(map(key, args[0])) if len(args) == 1 else frozenset(*args)


def dict_(*args: Any, **kwargs: Any) -> Any:
    """`dict`."""
    if len(args) == 1 and not kwargs and type(args[0]) is tables.Table:
        return args[0].tj_copy_as(dict)
    if len(args) != 1 or hasattr(args[0], "keys"):
        return dict(*args, **kwargs)
    return dict(_pairs(args[0]), **kwargs)


def _pairs(items: Any) -> Iterable[Any]:
    for item in items:
        yield (key(item[0]), item[1]) if type(item) in (tuple, list) and len(item) == 2 else item
