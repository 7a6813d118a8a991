"""What containers, objects, functions and generators hold, so that a block's changes can be undone, or be those of
a loop or branch."""

from __future__ import annotations

import collections
import contextlib
import io
import operator
import sys
import types
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from tracejit.frontend.journal import GONE
from tracejit.frontend.lists.buffers import CLASSES
from tracejit.frontend.lists.columns import Columns
from tracejit.frontend.origins import is_library_class
from tracejit.frontend.outside.acts import Acts
from tracejit.frontend.rewrite.blocks import outside
from tracejit.frontend.rewrite.blocks.cells import UNBOUND, Cell, Place, get, put
from tracejit.frontend.rewrite.held_kinds import kind_of
from tracejit.frontend.shadows import randoms, refusing
from tracejit.frontend.shadows.copied import is_made_within
from tracejit.interpreters.stage import StageTrace
from tracejit.ir.jaxpr import DRAWN, JOURNAL
from tracejit.tracing import Box, current_trace

#: Classes whose objects never change or are looked after elsewhere, by identity: a metaclass may not let its classes be
#: hashed.
_ATOMS = frozenset(map(id, (bool, int, float, complex, str, type(None), types.CodeType, Box)))
_SMALL = 4096  # elements of arrays of NumPy's own
#: Containers and objects are looked into so deep, for what a block changed in them; for iterators less, which many
#: objects hold that have nothing to do with it.
DEPTH = 8
_ITERATORS = 4
_TOLD = {JOURNAL: "prints, logs or warns", DRAWN: "draws random numbers"}


def _goes_on(cls: type) -> bool:
    """Whether its objects have a place from which they go on: iterators and coroutines."""
    return hasattr(cls, "__next__") or cls in (types.CoroutineType, types.AsyncGeneratorType)


class Containers:
    """Lists, dicts, sets, objects, random generators and variables of functions as they were, with what they
    held. `iterators`: names of iterators among it, and of what holds them; these can't be put back. `turns`: lists that
    had another length when they were put back, what they held before, and then. `tuples`: these, by identity. `adds`:
    whether all that `restore` found to hold more or less had only new attributes and keys."""

    def __init__(
        self, names: dict[str, Any], known: Iterable[Cell] = (), more: Iterable[tuple[str, Any]] = ()
    ) -> None:
        self.seen: dict[int, tuple[str, Any, Held]] = {}
        self.known = {id(cell) for cell in known}
        self.iterators: list[str] = []
        self.turns: list[tuple[Any, list[Any], list[Any]]] = []
        self.tuples: dict[int, Any] = {}
        self.adds = True
        for name, value in names.items():
            self._look(name, value, DEPTH)
        for name, value in more:
            if type(value) is types.FunctionType:
                self._hold(name, value, DEPTH)
            else:
                self._look(name, value, DEPTH)

    def _look(self, name: str, x: Any, depth: int) -> None:
        if id(type(x)) in _ATOMS or not depth or id(x) in self.seen or id(x) in self.known:
            return
        if issubclass(type(x), tuple) and tuple.__len__(x):
            self.tuples[id(x)] = x
        if type(x) is tuple:
            inner: Iterable[tuple[str, Any]] = _numbered(name, x)
        elif isinstance(x, types.MethodType):
            inner = ((name, x.__self__), (name, x.__func__))
        elif type(x) is types.FunctionType:
            self._hold(name, x, depth)
            names = (f"{name}.{free}" for free in x.__code__.co_freevars)
            inner = zip(names, x.__closure__ or (), strict=True)
        elif _goes_on(type(refusing.held(x))):  # a stand-in that refuses has all special methods
            near = depth > DEPTH - _ITERATORS and not isinstance(x, io.IOBase)  # many objects hold a file
            if depth == DEPTH or near:
                self.iterators.append(name)
            return
        else:
            if type(x) is not refusing.Refusing:  # nothing can be done with it
                self._hold(name, x, depth)
            return
        for path, y in inner:
            self._look(path, y, depth - 1)

    def _hold(self, name: str, x: Any, depth: int) -> None:
        held = Held(x)
        if held.empty or id(x) in self.seen:
            return
        self.seen[id(x)] = name, x, held
        for path, y in held.values(name):
            self._look(path, y, depth - 1)
        if held.names is not None and not isinstance(x, type):
            for cls in type(x).__mro__:
                if not is_library_class(cls) and is_made_within(cls):
                    self._look(f"class `{cls.__name__}`", cls, depth - 1)

    def places(self, paths: Iterable[str]) -> dict[str, Cell]:
        """The places of these names, of those that there are."""
        found: dict[str, Cell] = {}
        for path in paths:
            places = (h.place(name, x, path) for name, x, h in self.seen.values() if path.startswith(name))
            place = next((p for p in places if p is not None), None)
            if place is not None:
                found[path] = place
        return found

    def restore(self, growing: Collection[int] = ()) -> tuple[str | None, dict[str, Cell]]:
        """Undo what was changed: (the name of one that holds more, less or anything but arrays and numbers
        afterwards, or None; the places of those that hold other ones), except of those that are `growing`."""
        lost: str | None = None
        places: dict[str, Cell] = {}
        for name, x, held in self.seen.values():
            if held.is_in(x):
                continue
            now = Held(x)
            held.refill(x)
            if id(x) in growing:
                continue
            changed = held.changes(name, x, now)
            if changed is None and type(x) in CLASSES and getattr(x, "maxlen", None) is None:
                self.turns.append((x, held.items, now.items))
            if changed is None:
                lost = name
                self.adds = self.adds and held.adds(now)
            places |= changed or {}
        return lost, places


class Held:
    """What `x` holds: as a container, in its `__dict__`, in slots, in a cell, as a generator's state, or what was
    `written` to what stands for something of outside."""

    __slots__ = ("cell", "items", "names", "of_class", "slots", "state", "written")

    def __init__(self, x: Any) -> None:
        cls = type(x)
        self.items: Any = None
        self.names: dict[str, Any] | None = None
        self.slots: dict[Any, Any] = {}
        self.cell: list[Any] = [get(x)] if cls is types.CellType else []
        self.state: bytes | None = None
        self.of_class = issubclass(cls, type)
        self.written = outside.written(x)
        if self.written is not None:
            return
        kind = kind_of(cls)
        if kind.base is not None:
            self.items = _items(kind.base, x)
        elif kind.may_draw and randoms.is_generator(x):
            self.state = randoms.state_of(x)
        elif kind.is_bytes:
            self.state = bytes(x)
        if cls is np.ndarray:
            if x.size <= _SMALL and not x.dtype.hasobject:  # in an object of NumPy's
                self.state = x.tobytes()
        elif self.of_class:
            if not is_library_class(x):
                self.names = dict(vars(x))
        else:
            if kind.has_names and (cls is not types.ModuleType or sys.modules.get(x.__name__) is not x):
                self.names = _names(x)
            self.slots = {d: _slot(d, x) for d in kind.slots}

    @property
    def empty(self) -> bool:
        """Whether nothing in it can change."""
        return (
            self.items is None
            and self.names is None
            and self.state is None
            and self.written is None
            and not (self.slots or self.cell)
        )

    def values(self, name: str) -> Iterator[tuple[str, Any]]:
        """What it holds, with names; numbers and texts, which can't change, are left out."""
        items = self.items.items() if isinstance(self.items, dict) else enumerate(self.items or ())
        yield from ((f"{name}[{k!r}]", y) for k, y in items if id(type(y)) not in _ATOMS)
        names = (self.names or {}).items()
        yield from ((f"{name}.{k}", y) for k, y in names if id(type(y)) not in _ATOMS and not self.skips(y))
        yield from ((f"{name}.{d.__name__}", y) for d, y in self.slots.items() if id(type(y)) not in _ATOMS)
        yield from ((name, y) for y in self.cell)
        written = (self.written or {}).items()
        yield from ((f"{name}.{k}", y) for k, y in written if id(type(y)) not in _ATOMS)

    def skips(self, x: Any) -> bool:
        """Whether `x` is a method of a class, of which another object is found than this."""
        return self.of_class and hasattr(type(x), "__get__")

    def changes(self, name: str, x: Any, now: Held) -> dict[str, Cell] | None:
        """The places of `x` that held something else `now`; None if they are not the same places."""
        if self.written is not None:
            return self._rewritten(name, x, now.written or {})
        if self.state != now.state or isinstance(x, (set, type)):
            return None
        pairs = [(self.items, now.items), (self.names, now.names), (self.slots, now.slots)]
        if any(_keys(a) != _keys(b) for a, b in pairs):
            return None
        found: dict[str, Cell] = {name: x} if self.cell and self.cell[0] is not now.cell[0] else {}
        for n, (a, b) in enumerate(pairs):
            found |= {_path(name, n, k): _part(x, n, k) for k in _differing(a, b)}
        return found

    def place(self, name: str, x: Any, path: str) -> Cell | None:
        """The place of `x` that is called `path`, if it holds something."""
        if self.cell and path == name:
            return x
        if self.written is not None:
            keys = [k for k, y in self.written.items() if path == f"{name}.{k}" and y is not GONE]
            return _place(x, x, keys[0], outside.read, outside.write) if keys else None
        if self.state is not None or isinstance(x, (set, type)):
            return None
        for n, held in enumerate((self.items, self.names, self.slots)):
            for k in _keys(held):
                if path == _path(name, n, k):
                    return _part(x, n, k)
        return None

    def _rewritten(self, name: str, x: Any, now: dict[str, Any]) -> dict[str, Cell] | None:
        """The same of something of outside, which is as it was before again."""
        assert self.written is not None
        if outside.deletes(now) or any(k not in now for k in self.written):
            return None
        keys = [k for k, y in now.items() if k not in self.written or self.written[k] is not y]
        old = {k: outside.read(x, k) for k in keys}
        if any(y is UNBOUND for y in old.values()):
            return None
        changed = [k for k in keys if old[k] is not now[k]]
        return {f"{name}.{k}": _place(x, x, k, outside.read, outside.write) for k in changed}

    def adds(self, now: Held) -> bool:
        """Whether there is nothing but new attributes and keys `now`."""
        if self.state != now.state or not (self.items is None or isinstance(self.items, dict)):
            return False
        pairs = [(self.items, now.items), (self.names, now.names), (self.slots, now.slots)]
        if self.written is not None:
            pairs.append((self.written, now.written))
        return all(set(_keys(a)) <= set(_keys(b)) for a, b in pairs)

    def is_in(self, x: Any) -> bool:
        """Whether `x`, which held this, holds the same objects still."""
        if self.cell:
            return get(x) is self.cell[0]
        if type(x) is not types.FunctionType:
            return self.same(Held(x))
        return _identical(self.names, x.__dict__) and all(d.__get__(x) is y for d, y in self.slots.items())

    def same(self, other: Held) -> bool:
        """Whether both hold the same objects."""
        return self.state == other.state and all(
            _identical(getattr(self, part), getattr(other, part))
            for part in ("items", "names", "slots", "cell", "written")
        )

    def refill(self, x: Any) -> None:
        """Let `x` hold this again."""
        if self.written is not None:
            outside.rewrite(x, self.written)
            return
        if self.cell:
            put(x, self.cell[0])
            return
        kind = kind_of(type(x))
        base = kind.base
        if base is not None:
            base.clear(x)
            fill = base.extend if base in (list, collections.deque) else base.update
            fill(x, self.items)
        if kind.is_bytes:
            del x[:]
            x.extend(self.state or b"") if isinstance(x, bytearray) else x.frombytes(self.state or b"")
        elif type(x) is np.ndarray:
            x[...] = np.frombuffer(self.state or b"", x.dtype).reshape(x.shape)
        elif self.state is not None:
            randoms.restore(x, self.state)
        if isinstance(x, type):
            _refill_class(x, self.names or {})
        elif self.names is not None:
            held = object.__getattribute__(x, "__dict__")
            held.clear()
            held.update(self.names)
        for d, value in self.slots.items():
            if value is not UNBOUND:
                d.__set__(x, value)
            elif _slot(d, x) is not UNBOUND:
                d.__delete__(x)


@contextlib.contextmanager
def changed(f: Any, args: Sequence[Any] = ()) -> Iterator[list[str]]:
    """The list has, in the end, what a call of `f` with `args` in this context has done: changes of names and objects,
    which are as before then, and effects of equations. That it may take items from an iterator is one of them."""
    found: list[str] = []
    it = f"{getattr(f, '__name__', 'function')}"
    held = Containers({it: f, **{f"argument {n}": x for n, x in enumerate(args)}})
    trace, acts = current_trace(), Acts()
    before = len(trace.eqns) if isinstance(trace, StageTrace) else 0
    try:
        yield found
    finally:
        (lost, places), done = held.restore(), acts.end()
    names = [lost] if lost is not None else [*places]
    found += [f"changes `{name.removeprefix(it + '.')}`" for name in names]
    found += [f"may take items from `{name.removeprefix(it + '.')}`" for name in held.iterators]
    if isinstance(trace, StageTrace):
        effects = {e for eqn in trace.eqns[before:] for e in eqn.effects}
        found += [what for effect, what in _TOLD.items() if effect in effects]
    found += done


def buffer_places(name: str, x: Columns) -> dict[str, Cell]:
    """The places of a buffer that is called `name`: its length, and of a deque where it begins."""
    slots = [getattr(Columns, n) for n in Columns.tj_followed if n != "tj_first" or x.tj_ring]
    return {f"{name}.{d.__name__}": Place(x, partial(d.__get__, x), partial(d.__set__, x)) for d in slots}


def _place(owner: Any, x: Any, key: Any, read: Any, write: Any) -> Place:
    return Place(owner, partial(read, x, key), partial(write, x, key))


def _path(name: str, part: int, key: Any) -> str:
    """What a place is called: an item, a name in a `__dict__`, or a slot."""
    return (f"{name}[{key!r}]", f"{name}.{key}", f"{name}.{getattr(key, '__name__', '')}")[part]


def _part(x: Any, part: int, key: Any) -> Place:
    """That place."""
    if part == 0:
        base: Any = kind_of(type(x)).base
        return _place(x, x, key, base.__getitem__, base.__setitem__)
    if part == 1:
        return _place(x, object.__getattribute__(x, "__dict__"), key, dict.__getitem__, dict.__setitem__)
    return Place(x, partial(key.__get__, x), partial(key.__set__, x))


def _numbered(name: str, xs: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"{name}[{n}]", x) for n, x in enumerate(xs))


def _keys(part: Any) -> list[Any]:
    """Where a part of what is held has its values."""
    return (
        [k for k, x in part.items() if x is not UNBOUND]
        if isinstance(part, dict)
        else [*range(len(part or ()))]
    )


def _differing(a: Any, b: Any) -> list[Any]:
    """The keys at which `a` and `b`, which have the same, hold different objects."""
    return [k for k in _keys(a) if a[k] is not b[k]]


def _items(base: Any, x: Any) -> Any:
    return dict(base.items(x)) if issubclass(base, dict) else list(base.__iter__(x))


def _refill_class(cls: type, names: dict[str, Any]) -> None:
    """Let a class that the function has made have these attributes again."""
    for name in [n for n in vars(cls) if n not in names]:
        type.__delattr__(cls, name)
    for name, x in names.items():
        if vars(cls).get(name) is not x:
            type.__setattr__(cls, name, x)


def _names(x: Any) -> dict[str, Any] | None:
    try:
        names = object.__getattribute__(x, "__dict__")
    except (AttributeError, TypeError):
        return None
    return dict(names) if type(names) is dict else None


def _slot(descriptor: Any, x: Any) -> Any:
    try:
        return descriptor.__get__(x)
    except AttributeError:
        return UNBOUND


def _identical(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if len(a) != len(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(operator.is_, a.values(), b.values()))
    return all(map(operator.is_, a, b))
