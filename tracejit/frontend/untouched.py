"""What code that runs as it is may change while a function is traced: classes, closures, globals, attributes of
functions. It is put back when the trace ends: tracing has no effects.

What it has changed of classes and of objects that are used as they are, such as exceptions and members of
enumerations, is part of the journal then, where the run went straight on. Everything in these is guarded, so that the
program is one for what they held. Otherwise the trace is refused."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit.frontend.paths import Node, root

EMPTY = object()


class Left(NamedTuple):
    """A part of something that had changed: what it `was`, and what it had become `now`; EMPTY: not there."""

    kept: _Kept
    key: str
    was: Any
    now: Any


class _Kept:
    """The named parts of one thing as they were, and how one of them is set or deleted. `node`: the path to the thing,
    if the journal may have what is changed of it."""

    def __init__(
        self,
        name: str,
        owner: Any,
        read: Callable[[Any], dict[str, Any]],
        put: Any,
        drop: Any,
        node: Node | None = None,
    ) -> None:
        self.name, self.node = name, node
        self.owner = owner  # held, so that its id stays taken
        self.read, self.put, self.drop = read, put, drop
        self.was = dict(read(owner))

    def restore(self) -> list[Left]:
        """Put everything back; the parts that had changed."""
        now, found = dict(self.read(self.owner)), []
        for key in {**self.was, **now}:
            left = Left(self, key, self.was.get(key, EMPTY), now.get(key, EMPTY))
            if left.was is not left.now:
                found.append(left)
                if key in self.was:
                    self.put(self.owner, key, self.was[key])
                else:
                    self.drop(self.owner, key)
        return found


class Untouched:
    """The things that were met in one run. `left`: what it has changed of them; `straight`: whether all of it ran once,
    and no part of it for a branch that may not be taken, or as a step of a loop."""

    def __init__(self) -> None:
        self.seen: dict[Any, _Kept] = {}
        self.left: list[Left] = []
        self.straight = True

    def enter_class(self, cls: type) -> None:
        """A class, but for what Python and its libraries note in it."""
        plain = type(cls).__setattr__ is type.__setattr__ and type(cls).__delattr__ is type.__delattr__
        node = root(cls, "class attribute", cls.__name__) if plain else None
        self._enter(id(cls), _Kept(cls.__name__, cls, _members, type.__setattr__, type.__delattr__, node))

    def enter_object(self, name: str, obj: Any, node: Node | None = None) -> None:
        """The attributes of an object, an exception's arguments among them."""
        cls = type(obj)
        if cls.__setattr__ not in _PLAIN or cls.__delattr__ not in _PLAIN:
            node = None
        try:
            self._enter(id(obj), _Kept(name, obj, _attributes, _set, _delete, node))
        except AttributeError:
            return  # it has no attributes of its own

    def enter_wrapper(self, name: str, function: Any) -> None:
        """A jitted function: what the user gave to it."""
        self._enter(id(function), _Kept(name, function, type(function).users_attributes, setattr, delattr))

    def enter_dtype(self, name: str, dtype: np.dtype) -> None:
        """A structured dtype, of which the names of the fields may be assigned."""
        if dtype.names is not None:
            self._enter(id(dtype), _Kept(name, dtype, lambda d: {"names": d.names}, setattr, delattr))

    def enter_cell(self, name: str, cell: types.CellType) -> None:
        """A closure variable."""
        self._enter(id(cell), _Kept(name, cell, _contents, _fill, _clear))

    def enter_names(self, name: str, names: dict[str, Any], used: tuple[str, ...]) -> None:
        """The globals `used` of a module."""

        def read(d: dict[str, Any]) -> dict[str, Any]:
            return {n: d[n] for n in used if n in d}

        self._enter((id(names), used), _Kept(name, names, read, dict.__setitem__, dict.__delitem__))

    def _enter(self, key: Any, kept: _Kept) -> None:
        self.seen.setdefault(key, kept)

    def has_changed(self, cls: type, name: str, now: Any) -> bool:
        """Whether the run has let a class hold `now`."""
        kept = self.seen.get(id(cls))
        return kept is not None and kept.was.get(name, EMPTY) is not now

    def restore(self) -> None:
        """Put everything back, and take down what had changed."""
        self.left = [left for kept in self.seen.values() for left in kept.restore()]


#: How objects are assigned attributes by Python itself.
_PLAIN = (object.__setattr__, object.__delattr__, BaseException.__setattr__, BaseException.__delattr__)


def _members(cls: type) -> dict[str, Any]:
    return {n: x for n, x in vars(cls).items() if not n.startswith(("__", "_abc_"))}


def _attributes(obj: Any) -> dict[str, Any]:
    held = dict(object.__getattribute__(obj, "__dict__"))
    return {**held, "args": obj.args} if isinstance(obj, BaseException) else held


def _set(obj: Any, name: str, value: Any) -> None:
    if name == "args" and isinstance(obj, BaseException):
        obj.args = value
    else:
        object.__getattribute__(obj, "__dict__")[name] = value


def _delete(obj: Any, name: str) -> None:
    object.__getattribute__(obj, "__dict__").pop(name, None)


def _contents(cell: types.CellType) -> dict[str, Any]:
    try:
        return {"contents": cell.cell_contents}
    except ValueError:
        return {}


def _fill(cell: types.CellType, _: str, value: Any) -> None:
    cell.cell_contents = value


def _clear(cell: types.CellType, _: str) -> None:
    del cell.cell_contents
