"""Guarded names: the globals that copies of the user's functions run with.

A function's copy has the same code object and a dict subclass as its globals. CPython
leaves the fast paths for exact dicts then, also after specialisation, so that every
LOAD_GLOBAL asks `GuardedGlobals.__getitem__`. Class bodies, `eval` and the like use
LOAD_NAME, which reads globals physically but asks a dict subclass of builtins: names
missing from the (nearly empty) physical dict arrive there. Functions and classes made
inside inherit both. `globals()` gives this mapping: reading from it is guarded.
"""

from __future__ import annotations

import builtins
import opcode
import sys
import types
import weakref
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from tracejit.errors import CapturedWriteError, UnfollowedError
from tracejit.frontend.checks import unchanged
from tracejit.frontend.journal import Change
from tracejit.frontend.paths import Node, root
from tracejit.frontend.shadows.modules import rebound

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_PHYSICAL = ("__name__", "__file__", "__package__", "__spec__", "__loader__", "__doc__")
_MISSING = object()


#: Classes that eager runs have functions for where they are called at once, which no code is rewritten to say.
_CALLED = {"float": "float()"}
_LOAD = opcode.opmap["LOAD_GLOBAL"]


def _is_called(frame: types.FrameType) -> bool:
    """Whether the code of `frame` loads a global in order to call it at once."""
    code, at = frame.f_code.co_code, frame.f_lasti
    return at >= 0 and code[at] == _LOAD and bool(code[at + 1] & 1)


def _is_dunder(name: Any) -> bool:
    return isinstance(name, str) and name[:2] == "__" and name[-2:] == "__"


class GuardedGlobals(dict):
    """Looks names up in the real globals, then in builtins; records what was read."""

    __slots__ = ("__weakref__", "builtins", "cache", "path", "prefix", "real", "session", "size")

    def __init__(self, session: Run, real: dict[str, Any], prefix: str) -> None:
        super().__init__()
        for name in _PHYSICAL:
            if name in real:
                dict.__setitem__(self, name, real[name])
        self.session = session
        self.real = real
        self.prefix = prefix
        self.path = root(real, "global", prefix.rstrip(".") or "globals")
        self.cache: dict[str, Any] = {}
        found = real.get("__builtins__", builtins)
        self.builtins: dict[str, Any] = vars(found) if isinstance(found, types.ModuleType) else found
        dict.__setitem__(self, "__builtins__", GuardedBuiltins(self))
        self.size = dict.__len__(self)

    def node(self, name: str) -> Node:
        return self.path.item(name, self.prefix + str(name))

    def lookup(self, name: str) -> Any:
        """The stand-in of a name in the real globals; KeyError if it isn't there."""
        if dict.__contains__(self, name):
            return self._physical(name)
        value = self.cache.get(name, _MISSING)
        if value is _MISSING:
            real = self.real[name]
            if (
                not self.session.guarded
            ):  # a name may be assigned on the way: asked each time, NumPy's quickly
                ours = rebound(real) if type(real) is types.ModuleType else None
                return self.session.wrap(self.node(name), real) if ours is None else ours
            value = self.cache[name] = self.session.wrap(self.node(name), real)
        return value

    def resolve(self, name: str) -> Any:
        """What LOAD_GLOBAL gives for `name`."""
        if dict.__contains__(self, name):
            return self._physical(name)
        if not self.session.guarded and dict.__len__(self) > self.size:
            self.finish()
        called = name in _CALLED and not self.session.guarded and _is_called(sys._getframe(1))
        key = _CALLED[name] if called else name
        value = self.cache.get(key, _MISSING)
        if value is not _MISSING:
            return value
        if name in self.real:
            return self.lookup(name)
        self.session.check(self.path, "absent", name)
        value = self.cache[key] = self.session.builtin(self, key, self.builtins[name])
        return value

    def _physical(self, name: str) -> Any:
        value = dict.__getitem__(self, name)
        if not _is_dunder(name) and not self.session.guarded:
            self.finish()
        return value

    def written(self) -> list[tuple[str, Any]]:
        """The names that STORE_GLOBAL put into the physical dict."""
        return [(n, v) for n, v in dict.items(self) if not (isinstance(n, str) and n[:2] == "__" == n[-2:])]

    def finish(self) -> None:
        """Carries out assignments to globals, where effects happen."""
        for name, value in self.written():
            self.real[name] = self.session.original(value)
            self.session.acted(f"changes `{name}`")
            self.session.stored[id(self.real), name] = self.real
            dict.__delitem__(self, name)

    def changes(self) -> Iterator[tuple[Change, bool]]:
        """The globals that the run has assigned, and whether each may be."""
        for name, value in self.written():
            if not (name in self.real and name in self.cache and unchanged(self.cache[name], value)):
                where = partial(self.session.where, self, name)
                yield Change(self.node(name), value, where=where), True

    def restore(self, before: dict[str, Any]) -> None:
        """Let the names that the run has assigned be `before` again."""
        for name, _ in self.written():
            dict.__delitem__(self, name)
        dict.update(self, before)

    def put(self, name: str, value: Any) -> None:
        """Assign a global."""
        dict.__setitem__(self, name, value)

    __getitem__ = resolve

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if name not in self.real and not dict.__contains__(self, name):
            self.session.check(self.path, "absent", name)
            return False
        return True

    def get(self, name: Any, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[str]:
        return iter(self.real)

    def keys(self) -> Any:
        return self.real.keys()

    def values(self) -> Any:
        return [self[name] for name in list(self.real)]

    def items(self) -> Any:
        return [(name, self[name]) for name in list(self.real)]

    def __len__(self) -> int:
        return len(self.real)

    def __setitem__(self, name: Any, value: Any) -> None:
        if self.session.guarded and not _is_dunder(name):
            raise CapturedWriteError(what=f"global `{self.prefix}{name}`")
        self.cache.pop(name, None)
        dict.__setitem__(self, name, value)


class _Names:
    """What `globals()` gives: globals by their names. What asks for all of them is refused."""

    __slots__ = ("_scope",)

    def __init__(self, scope: GuardedGlobals) -> None:
        self._scope = scope

    def __contains__(self, name: object) -> bool:
        return name in self._scope

    def __getitem__(self, name: str) -> Any:
        if name not in self._scope:
            raise KeyError(name)
        return self._scope.lookup(name)

    def get(self, name: str, default: Any = None) -> Any:
        """As of a dict."""
        try:
            return self[name]
        except KeyError:
            return default

    def __setitem__(self, name: str, value: Any) -> None:
        session = self._scope.session
        kept = session.capture.journaled or not session.guarded
        if not kept or type(name) is not str or _is_dunder(name):
            raise CapturedWriteError(what=f"global `{self._scope.prefix}{name}`")
        self._scope.put(name, value)

    def update(self, *given: Any, **names: Any) -> None:
        """As of a dict."""
        for name, value in dict(*given, **names).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """As of a dict."""
        if name not in self:
            self[name] = default
        return self[name]

    def __getattr__(self, name: str) -> Any:
        raise self._refusal(name)

    def tj_example(self) -> Any:
        """The dict, for those who ask for its class."""
        raise self._refusal("__class__")

    def __iter__(self) -> Any:
        raise self._refusal("__iter__")

    def __len__(self) -> int:
        raise self._refusal("__len__")

    def __eq__(self, other: object) -> bool:
        raise self._refusal("__eq__")

    __hash__ = None  # type: ignore[assignment]

    def _refusal(self, name: str) -> UnfollowedError:
        return UnfollowedError(what=f"`globals().{name}`", reason="it shows Python's own objects")


def names_of_caller() -> Any:
    """`globals`."""
    scope = sys._getframe(1).f_globals
    if not isinstance(scope, GuardedGlobals):
        raise UnfollowedError(what="builtin `globals`", reason="it shows Python's own objects")
    return _Names(scope)


class GuardedBuiltins(dict):
    """Builtins for LOAD_NAME: names that a class body did not find locally.

    They hold their globals weakly, so that both go with the last function that runs over them."""

    __slots__ = ("scope",)

    def __init__(self, scope: GuardedGlobals) -> None:
        super().__init__(scope.builtins)
        self.scope = weakref.ref(scope)
        dict.__setitem__(self, "__import__", scope.session.builtin(scope, "__import__", None))

    def __getitem__(self, name: str) -> Any:
        if name == "__import__":  # from 3.13 on, import statements ask here
            return dict.__getitem__(self, name)
        scope = self.scope()
        assert scope is not None  # who runs over these has the globals too
        return scope.resolve(name)
