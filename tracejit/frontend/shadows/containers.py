"""Captured lists, tuples, dicts and sets: structure and entries are guarded.

Traced code gets a copy of the same class with the entries' stand-ins, so that anything
that knows lists and dicts (pytrees too) takes it. What the run changes in the copy is a
change of the container, which is noticed when the run ends.
"""

from __future__ import annotations

import collections
import copy as copying
import functools
import operator
import threading
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tracejit.frontend.checks import unchanged
from tracejit.frontend.journal import Change
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.origins import is_library_class
from tracejit.frontend.paths import ITEM, Node
from tracejit.frontend.shadows import behind, growing
from tracejit.numpy.captured import written
from tracejit.tracing import Box

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

SCALARS = (int, float, str, bool, complex, bytes, type(None))
#: What has no stand-in, or is looked into where it is used.
_PLAIN = frozenset({*SCALARS, np.ndarray, Box, np.float64, np.float32, np.int64, np.bool_})
#: What an eager run sees as it is in containers of few arrays, whose writes into these it knows.
_HELD = _PLAIN - {np.ndarray}
_FEW = 256
#: What is the user's itself.
PLAIN = _PLAIN - {Box}


class Copy(NamedTuple):
    """The copy of a container in a run, what it held first, and whether the container may be changed."""

    node: Node
    copy: Any
    before: list[Any]
    free: bool = True


_LISTS = (list, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict, collections.Counter)
_SETS = (set, frozenset)
CONTAINERS = (*_LISTS, *_DICTS, *_SETS, tuple)


def is_container(value: Any) -> bool:
    """Whether `value` is a container whose entries are followed."""
    cls = type(value)
    return cls in CONTAINERS or is_namedtuple(cls)


def is_namedtuple(cls: type) -> bool:
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def wrap_container(session: Run, node: Node, value: Any) -> Any:
    """The copy of a container with stand-ins for what it holds."""
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    if not session.guarded:
        return (
            _eager_tuple(session, node, value) if isinstance(value, tuple) else _eager(session, node, value)
        )
    cls = type(value)
    session.check(node, "type", cls)
    if not issubclass(cls, tuple):
        session.differs(node, value)
    if cls is collections.deque:
        session.check(node.attr("maxlen"), "value", value.maxlen)
    if cls in growing.CLASSES and session.capture.grows(node, len(value)):
        made = growing.Growing(session, node, value)
        session.containers.append(Copy(node, made, []))
        return session.remember(value, made, node)
    if cls in _DICTS:
        return wrap_dict(session, node, value)
    if cls in _SETS:
        return _wrap_set(session, node, value)
    if is_derived(value):
        return _wrap_derived(session, node, value)
    return _wrap_sequence(session, node, value)


def _eager_tuple(session: Run, node: Node, value: Any) -> Any:
    """The tuple itself where nothing in it has a stand-in."""
    items = [session.wrap(node.item(i), x) for i, x in enumerate(value)]
    if all(x is y for x, y in zip(items, value, strict=True)):
        return value
    return session.remember(value, tuple.__new__(type(value), items), node)


def _eager(session: Run, node: Node, value: Any) -> Any:
    """The container itself, into which writes happen; where something in it has a stand-in, such as a function, a copy
    with the stand-ins, of which the writes are made in the end."""
    keys = list(value) if type(value) in (*_DICTS, *_SETS) else []
    entries = list(value.values()) if type(value) in _DICTS else [] if keys else list(value)
    plain = _HELD if len(entries) <= _FEW or any(map(_is_written, entries)) else _PLAIN
    if _PLAIN.issuperset(map(type, keys)) and plain.issuperset(map(type, entries)):
        return _in_place(session, value)
    copy = copying.copy(value)
    session.remember(value, copy, node)  # before its entries: it may hold itself
    new_keys = [wrap_key(session, k) for k in keys]
    items = [x if type(x) in plain else session.wrap(node.item(n), x) for n, x in enumerate(entries)]
    if all(map(operator.is_, [*keys, *entries], [*new_keys, *items])):
        session.forget(value, copy)
        return _in_place(session, value)
    with behind.apart:
        if type(value) is frozenset:
            return session.remember(value, frozenset(new_keys), node)
        _refill(copy, dict(zip(new_keys, items, strict=True)) if type(value) in _DICTS else new_keys or items)
    session.containers.append(Copy(node, copy, contents(copy)))
    return copy


def _in_place(session: Run, value: Any) -> Any:
    session.in_place.append(value)
    if session.acting is not None:
        session.first.append((value, contents(value)))
    return value


def _is_written(x: Any) -> bool:
    """Whether the run has written something traced into an array."""
    return type(x) is np.ndarray and written.find(x) is not None


def _refill(x: Any, new: Any) -> None:
    x.clear()
    (x.extend if type(x) in _LISTS else x.update)(new)


def _write_back(session: Run, copy: Any) -> None:
    """Make the writes into a copy in the container itself."""

    own, value = functools.partial(_own, session), session.original_of(copy)
    _refill(
        value, {own(k): own(x) for k, x in copy.items()} if isinstance(copy, dict) else list(map(own, copy))
    )


def written_eagerly(session: Run) -> Iterator[Any]:
    """The containers of the user's that an eager run may have written into."""
    yield from session.in_place
    yield from (session.original_of(c.copy) for c in session.containers if session.is_stand_in(c.copy))


def _own(session: Run, x: Any) -> Any:
    """What stands for an object of the user's as that object. What is in containers that the run has made is made so in
    the end (`outside.lasting`)."""
    known = session.original_of(x)
    return session.original(x) if known is x and type(x) not in (list, tuple, dict) else known


def _wrap_sequence(session: Run, node: Node, value: Any) -> Any:
    if all(type(x) in SCALARS for x in value) and not session.capture.varies(node):
        session.check(node, "scalars", tuple(value))
        copy = tuple.__new__(type(value), [*value]) if isinstance(value, tuple) else copying.copy(value)
        return _watched(session, node, value, copy)
    session.check(node, "len", len(value))
    if isinstance(value, tuple):
        items = [session.wrap(node.item(i), x) for i, x in enumerate(value)]
        return session.remember(value, tuple.__new__(type(value), items), node)
    copy = copying.copy(value)
    session.remember(value, copy, node)  # before its entries: it may hold itself
    for i, x in enumerate(value):
        copy[i] = session.wrap(node.item(i), x)
    return _watched(session, node, value, copy)


def wrap_dict(session: Run, node: Node, value: Any) -> Any:
    """Keys and their order are guarded together, values one by one."""
    session.check(node, "keys", tuple(value))
    copy = copying.copy(value)
    session.remember(value, copy, node)
    if isinstance(value, collections.defaultdict):
        session.same(node.attr("default_factory"), value.default_factory)
    if any(type(key) not in SCALARS for key in value):
        copy.clear()  # functions are met as their stand-ins, also when something is looked up by them
    for key, x in value.items():
        copy[wrap_key(session, key)] = session.wrap(node.item(key), x)
    return _watched(session, node, value, copy)


#: What a user's subclass of list or dict may define besides methods, and still hold its entries as a list or dict does.
_DEFINED = frozenset(
    {
        *("__init__", "__getattr__", "__setattr__", "__delattr__", "__dir__", "__repr__", "__str__"),
        *("__module__", "__doc__", "__dict__", "__weakref__", "__setstate__", "__getstate__", "__missing__"),
        *("__annotations__", "__qualname__", "__firstlineno__", "__static_attributes__", "__parameters__"),
        *("__orig_bases__", "__hash__", "__format__"),
    }
)
#: What such a class must not define: Python's own ways to what is in it.
_OF_ENTRIES = frozenset({n for n in (*dir(list), *dir(dict)) if n[:2] == "__"}) - _DEFINED | {
    "__getattribute__",
    "__copy__",
    "__deepcopy__",
    "__slots__",
    "items",
    "keys",
    "values",
}


@functools.lru_cache(1024)
def base_of(cls: type) -> type | None:
    """list or dict, if `cls` is a class of the user's that derives from it and holds its entries in the same way (a
    stack with more methods, a table of constants with dots)."""
    base = dict if issubclass(cls, dict) else list
    bases = cls.__mro__[: -len(base.__mro__)]
    if not bases or type(cls) is not type or cls.__mro__[len(bases) :] != base.__mro__:
        return None
    return None if any(is_library_class(b) or vars(b).keys() & _OF_ENTRIES for b in bases) else base


def is_derived(value: Any) -> bool:
    """Whether `value` is of such a class."""
    return (
        isinstance(value, (list, dict)) and type(value) not in CONTAINERS and base_of(type(value)) is not None
    )


def entries_of(value: Any) -> Any:
    """What a list or dict holds, as one of Python's own; what its class has methods for is not asked."""
    return dict(dict.items(value)) if isinstance(value, dict) else list(list.__iter__(value))


def _wrap_derived(session: Run, node: Node, value: Any) -> Any:
    """A copy of the same class, with what the object has as attributes. Methods that Python's own code calls run as
    they are."""
    entries, names = entries_of(value), node.attr("__dict__")
    is_dict = isinstance(value, dict)
    session.check(node, *(("keys", tuple(entries)) if is_dict else ("len", len(entries))))
    session.check(names, "keys", tuple(vars(value)))
    base: Any = base_of(type(value))
    copy = session.remember(value, base.__new__(type(value)), node)
    for key, x in entries.items() if is_dict else enumerate(entries):
        entry = session.wrap(node.item(key), x)
        _ = dict.__setitem__(copy, wrap_key(session, key), entry) if is_dict else list.append(copy, entry)
    for key, x in vars(value).items():
        vars(copy)[key] = session.wrap(names.item(key, f"{node.text}.{key}"), x)
    for where, held in ((node, copy), (names, vars(copy))):
        session.containers.append(Copy(where, held, contents(held)))
    return copy


def wrap_key(session: Run, key: Any) -> Any:
    """What stands for a key or an element of a set: functions and objects have stand-ins."""
    if type(key) in SCALARS or type(key) is tuple:
        return key
    return session.stand_in(key, "a key")


def wrap_namespace(session: Run, node: Node, value: types.SimpleNamespace | threading.local) -> Any:
    """`types.SimpleNamespace`: a dict with dots; and `threading.local`, which is one for each thread."""
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    if not session.guarded:
        held = _eager(session, node.attr("__dict__"), vars(value))
        if held is vars(value):
            return value
        copy = session.remember(value, type(value)(), node)
        vars(copy).update(held)
        session.containers[-1] = Copy(node, vars(copy), contents(vars(copy)))
        session.remember(vars(value), vars(copy), node.attr("__dict__"))
        return copy
    session.check(node, "type", type(value))
    copy = session.remember(value, type(value)(), node)
    inner = node.attr("__dict__")
    session.check(inner, "keys", tuple(vars(value)))
    for key, x in vars(value).items():
        setattr(copy, key, session.wrap(Node(inner, ITEM, key, node.word, f"{node.text}.{key}"), x))
    session.containers.append(Copy(inner, vars(copy), contents(vars(copy))))
    return copy


def _wrap_set(session: Run, node: Node, value: Any) -> Any:
    session.check(node, "set", frozenset(value))
    copy = type(value)(wrap_key(session, x) for x in value)
    return _watched(session, node, value, copy)


def _watched(session: Run, node: Node, value: Any, copy: Any) -> Any:
    session.remember(value, copy, node)
    if copy is not value:
        session.containers.append(Copy(node, copy, contents(copy)))
    return copy


def contents(copy: Any) -> list[Any]:
    """What a mutable container holds, in order: two lists of the same objects if unchanged."""
    copy = growing.appended_to(copy)
    if isinstance(copy, Columns):
        return [copy]  # of which only the program knows what is in it
    held = entries_of(copy) if is_derived(copy) else copy
    return [x for pair in held.items() for x in pair] if isinstance(held, dict) else list(held)


def changes(session: Run) -> Iterator[tuple[Change, bool]]:
    """The captured containers that the run has changed, and whether each may be changed."""
    for node, copy, before, free in session.containers:
        now = contents(copy)
        if not session.guarded and session.is_stand_in(copy):
            if len(now) != len(before) or not all(map(operator.is_, before, now)):
                _write_back(session, copy)
                before[:] = now
            continue
        if _differ(before, now):
            yield Change(node, growing.appended_to(copy), before), free


def is_changed(copy: Copy) -> bool:
    """Whether the run has changed a container so far."""
    return _differ(copy.before, contents(copy.copy))


def _differ(before: list[Any], now: list[Any]) -> bool:
    return len(now) != len(before) or not all(map(unchanged, before, now))
