"""Captured lists, tuples, dicts and sets: structure and entries are guarded.

Traced code gets a copy of the same class with the entries' stand-ins, so that anything
that knows lists and dicts (pytrees too) takes it. A captured container may not be changed
while tracing; that is checked when the run ends.
"""

from __future__ import annotations

import collections
import copy as copying
import types
from typing import TYPE_CHECKING, Any

from tracejit.errors import CapturedWriteError
from tracejit.frontend.checks import unchanged
from tracejit.frontend.paths import ITEM, Node

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

SCALARS = (int, float, str, bool, complex, bytes, type(None))
_LISTS = (list, collections.deque)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_SETS = (set, frozenset)


def is_container(value: Any) -> bool:
    """Whether `value` is a container whose entries are followed."""
    cls = type(value)
    return cls in _LISTS or cls in _DICTS or cls in _SETS or cls is tuple or is_namedtuple(cls)


def is_namedtuple(cls: type) -> bool:
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def wrap_container(session: Run, node: Node, value: Any) -> Any:
    """The copy of a container with stand-ins for what it holds."""
    if not session.guarded:  # writes into lists and dicts happen; tuples may hold functions to follow
        return _eager_tuple(session, node, value) if isinstance(value, tuple) else value
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    cls = type(value)
    session.check(node, "type", cls)
    if not issubclass(cls, tuple):
        session.differs(node, value)
    if cls in _DICTS:
        return wrap_dict(session, node, value)
    if cls in _SETS:
        return _wrap_set(session, node, value)
    return _wrap_sequence(session, node, value)


def _eager_tuple(session: Run, node: Node, value: Any) -> Any:
    """The tuple itself where nothing in it has a stand-in."""
    items = [session.wrap(node.item(i), x) for i, x in enumerate(value)]
    if all(x is y for x, y in zip(items, value, strict=True)):
        return value
    return session.remember(value, tuple.__new__(type(value), items), node)


def _wrap_sequence(session: Run, node: Node, value: Any) -> Any:
    if all(type(x) in SCALARS for x in value):
        session.check(node, "scalars", tuple(value))
        copy = value if isinstance(value, tuple) else copying.copy(value)
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


def wrap_key(session: Run, key: Any) -> Any:
    """What stands for a key or an element of a set: functions and objects have stand-ins."""
    if type(key) in SCALARS or type(key) is tuple:
        return key
    return session.stand_in(key, "a key")


def wrap_namespace(session: Run, node: Node, value: types.SimpleNamespace) -> Any:
    """`types.SimpleNamespace`: a dict with dots."""
    if not session.guarded:
        return value
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    session.check(node, "type", types.SimpleNamespace)
    copy = session.remember(value, types.SimpleNamespace(), node)
    inner = node.attr("__dict__")
    session.check(inner, "keys", tuple(vars(value)))
    for key, x in vars(value).items():
        setattr(copy, key, session.wrap(Node(inner, ITEM, key, node.word, f"{node.text}.{key}"), x))
    session.containers.append((node, vars(copy), contents(vars(copy))))
    return copy


def _wrap_set(session: Run, node: Node, value: Any) -> Any:
    session.check(node, "set", frozenset(value))
    copy = type(value)(wrap_key(session, x) for x in value)
    return _watched(session, node, value, copy)


def _watched(session: Run, node: Node, value: Any, copy: Any) -> Any:
    session.remember(value, copy, node)
    if copy is not value:
        session.containers.append((node, copy, contents(copy)))
    return copy


def contents(copy: Any) -> list[Any]:
    """What a mutable container holds, in order: two lists of the same objects if unchanged."""
    if isinstance(copy, dict):
        return [x for pair in copy.items() for x in pair]
    return list(copy)


def finish_containers(session: Run) -> None:
    """Refuses changes to captured containers."""
    for node, copy, before in session.containers:
        now = contents(copy)
        if len(now) != len(before) or not all(map(unchanged, before, now)):
            what = f"an entry of the {type(copy).__name__} {node}"
            raise CapturedWriteError(what=what, where=session.call_site)
