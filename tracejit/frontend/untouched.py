"""What code that runs as it is may change while a function is traced: classes, closures, globals, attributes of
functions. It is put back when the trace ends, and the trace refused: tracing has no effects."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

_EMPTY = object()


class _Kept:
    """The named parts of one thing as they were, and how one of them is set or deleted."""

    def __init__(
        self, name: str, owner: Any, read: Callable[[Any], dict[str, Any]], put: Any, drop: Any
    ) -> None:
        self.name = name
        self.owner = owner  # held, so that its id stays taken
        self.read, self.put, self.drop = read, put, drop
        self.was = dict(read(owner))

    def restore(self) -> str | None:
        """Put everything back; the name of a part that had changed."""
        now, found = dict(self.read(self.owner)), None
        for key in {**self.was, **now}:
            if self.was.get(key, _EMPTY) is not now.get(key, _EMPTY):
                found = found or f"{self.name}.{key}"
                if key in self.was:
                    self.put(self.owner, key, self.was[key])
                else:
                    self.drop(self.owner, key)
        return found


class Untouched:
    """The things that were met in one run."""

    def __init__(self) -> None:
        self.seen: dict[Any, _Kept] = {}

    def enter_class(self, cls: type) -> None:
        """A class, but for what Python and its libraries note in it."""
        self._enter(id(cls), _Kept(cls.__name__, cls, _members, type.__setattr__, type.__delattr__))

    def enter_object(self, name: str, obj: Any) -> None:
        """The attributes of an object, an exception's arguments among them."""
        try:
            self._enter(id(obj), _Kept(name, obj, _attributes, _set, _delete))
        except AttributeError:
            return  # it has no attributes of its own

    def enter_wrapper(self, name: str, function: Any) -> None:
        """A jitted function: what the user gave to it."""
        self._enter(id(function), _Kept(name, function, type(function).users_attributes, setattr, delattr))

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

    def restore(self) -> str | None:
        """Put everything back; the name of something that had changed."""
        return next(iter([name for kept in self.seen.values() if (name := kept.restore())]), None)


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
