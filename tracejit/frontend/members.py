"""What a run writes to attributes of the user's classes: `Model.count += 1`, `type(self).calls += 1`.

The class itself stays as it is while a function is traced. Who asks it, what stands for it, or one of its objects for
an attribute is given what the run has written to the first class of the method resolution order that has it.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tracejit.errors import CapturedWriteError
from tracejit.frontend import active
from tracejit.frontend.checks import is_plain, unchanged
from tracejit.frontend.journal import Change
from tracejit.frontend.paths import Members as NamesOf
from tracejit.frontend.paths import root
from tracejit.frontend.shadows.behind import MISSING, class_node, find, making, no_attribute

if TYPE_CHECKING:
    from tracejit.frontend.run import Run


class Members:
    """The attributes of one class that a run has read, and those that it has written."""

    __slots__ = ("cls", "read", "session", "writes")

    def __init__(self, session: Run, cls: type) -> None:
        self.session, self.cls = session, cls
        self.read: dict[str, Any] = {}
        self.writes: dict[str, Any] = {}

    def lookup(self, name: str) -> Any:
        """What the class itself has now. KeyError if it has no such attribute."""
        if name in self.writes:
            return self.writes[name]
        if name not in self.read:
            self.read[name] = self.session.wrap(class_node(self.cls, name), vars(self.cls)[name])
        return self.read[name]

    def changes(self) -> Iterator[tuple[Change, bool]]:
        """The attributes that the run has left with something else."""
        for name, value in self.writes.items():
            if not (name in self.read and unchanged(self.read[name], value)):
                node = root(self.cls, "class attribute", self.cls.__name__).attr(name)
                yield Change(node, value), True


def of(session: Run, cls: type) -> Members:
    """Those of a class."""
    known = session.members.get(id(cls))
    if known is None:
        known = session.members[id(cls)] = Members(session, cls)
    return known


def written(session: Run, cls: type, name: str, after: type | None = None) -> Any:
    """What the run has written to the attribute that a class, or an object of it, has by this name, or of those `after`
    one of its classes if that is given; MISSING if it is the one of before."""
    if session.members:
        for base in cls.__mro__ if after is None else cls.__mro__[cls.__mro__.index(after) + 1 :]:
            names = session.members.get(id(base))
            if names is not None and name in names.writes:
                return names.writes[name]
            if name in vars(base):
                break
    return MISSING


def read(session: Run, owner: type, name: str, raw: Any) -> Any:
    """The stand-in of `raw`, which `owner` has by this name and which is no descriptor."""
    if session.guarded and session.capture.journaled and not isinstance(raw, type):
        return of(session, owner).lookup(name)
    return session.wrap(class_node(owner, name), raw)


def write(session: Run, cls: type, name: str, value: Any) -> None:
    """Assign an attribute of a class in this run.

    Raises CapturedWriteError: Python would look at it in another way, as at a method."""
    owner, raw = find(cls.__mro__, name)
    old = raw if owner is None or (now := written(session, cls, name)) is MISSING else now
    bound = isinstance(value, types.MethodType) or hasattr(type(value), "__get__")
    if not session.capture.journaled or bound or hasattr(type(old), "__get__"):
        raise CapturedWriteError(what=f"class attribute `{cls.__name__}.{name}`")
    if raw is MISSING:
        for base in cls.__mro__[:-1]:
            session.check(NamesOf(base), "absent", name)
        stand_in = making.stand_in(cls)
        if stand_in is None:
            raise CapturedWriteError(what=f"class attribute `{cls.__name__}.{name}`")
        type.__setattr__(stand_in, name, _New(cls, name))
    of(session, cls).writes[name] = value


class _New:
    """What a stand-in of `cls` has by a name that the class itself has not: objects that traced code makes are asked
    for it as Python asks, and have it in runs that have assigned it."""

    def __init__(self, cls: type, name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        session = active.session()
        if session is not None:
            found = written(session, vars(owner).get("_tj_class", owner), self.name)
            if found is not MISSING:
                return found
        if obj is not None:
            raise no_attribute(obj, self.name)
        raise AttributeError(f"type object {owner.__name__!r} has no attribute {self.name!r}")


def keep(session: Run, member: Any) -> None:
    """Guard the attributes of a member of an enumeration, which is used as it is."""
    if not session.guarded or id(member) in session.watched:
        return
    session.watched[id(member)] = member
    held = root(member, "attribute", str(member)).attr("__dict__")
    session.check(held, "len", len(vars(member)))
    for name, x in vars(member).items():
        if name[:1] != "_":
            session.check(held.item(name), "value" if is_plain(x) else "is", x)


#: What functions and classes are called, and what is said of them: attributes that anyone may assign.
NAMES = frozenset(("__name__", "__qualname__", "__module__", "__doc__"))


def keep_name(x: Any, name: str) -> None:
    """Guard what a function or a class of outside is called, of which the traced code has `x`; nothing of others."""
    session = active.session()
    if session is None or not session.guarded:
        return
    real, here = session.original_of(x), session.where_is(x)
    itself = isinstance(real, type) or hasattr(type(real), "users_attributes")
    if not (itself or (here is not None and type(real) is types.FunctionType)):
        return  # it is none, or new
    if is_plain(found := getattr(real, name, None)):
        node = here or root(real, "attribute", getattr(real, "__name__", ""))
        session.check(node.attr(name), "value", found)


def changes(session: Run) -> Iterator[tuple[Change, bool]]:
    """The attributes of classes that the run has left with something else."""
    for names in session.members.values():
        yield from names.changes()
