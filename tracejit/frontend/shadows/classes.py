"""The user's classes as traced code sees them: subclasses whose methods are copies.

What traced code calls `Model` is a subclass of it, in a hierarchy that mirrors the user's
so that `super()` goes on to copies too. `isinstance`, `==` and `hash` treat it as the
class itself. Its members are looked up in the user's class when they are needed, and
guarded then. Pytree classes are left alone (containers are known by their exact class);
so are enumerations, exceptions, and classes with a metaclass of their own.
"""

from __future__ import annotations

import abc
import builtins
import contextlib
import functools
import inspect
import itertools
import sys
import threading
import types
import weakref
from typing import Any

from tracejit.errors import CapturedWriteError, UnfollowedError
from tracejit.frontend import active, members
from tracejit.frontend.origins import is_library_file, why_not
from tracejit.frontend.outside.derived import order_of, unlist
from tracejit.frontend.shadows import attributes, behind, objects

_SKIP = objects.OWN - {
    *(
        "__new__",
        "__init__",
        "__post_init__",
        "__getattr__",
        "__setattr__",
        "__delattr__",
        "__class_getitem__",
    ),
    *("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__getnewargs__", "__getnewargs_ex__"),
}
#: All stand-ins.
_all: weakref.WeakSet[type] = weakref.WeakSet()
_MADE = (staticmethod, classmethod, functools.cached_property)


class _Member:
    """A name of the user's class: resolved and guarded when it is read."""

    def __init__(self, cls: type, name: str) -> None:
        self.cls = cls
        self.name = name

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        raw = vars(self.cls)[self.name]
        session = active.session()
        if session is None:
            return raw.__get__(obj, owner) if hasattr(type(raw), "__get__") else raw
        if (real := users_class(owner)) is not owner:
            behind.not_overridden(session, real, self.cls, self.name)
        if (changed := members.written(session, real, self.name)) is not behind.MISSING:
            return changed
        cls = self._holder(real, session.stored)
        raw = vars(cls)[self.name]
        value = attributes.bind_member(session, cls, self.name, raw, obj, owner)
        if isinstance(raw, functools.cached_property) and obj is not None:
            vars(obj)[self.name] = value
        return behind.answering(self.name, value)

    def _holder(self, real: Any, stored: Any) -> type:
        """The class of which it is read: one before has got its own if an eager run has `stored` it."""
        before = itertools.takewhile(lambda c: c is not self.cls, real.__mro__) if stored else ()
        own = (c for c in before if (id(c), self.name) in stored and self.name in vars(c))
        return next(own, self.cls)


class _Property(_Member):
    """A property: like a method, but assignment goes to it."""

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        try:
            return super().__get__(obj, owner)
        except AttributeError as e:
            _missed.last = obj, self.name, e
            raise

    def __set__(self, obj: Any, value: Any) -> None:
        self._accessor("fset")(obj, value)

    def __delete__(self, obj: Any) -> None:
        self._accessor("fdel")(obj)

    def _accessor(self, name: str) -> Any:
        raw, session = vars(self.cls)[self.name], active.session()
        fn = getattr(raw, name)
        if fn is None:
            raise AttributeError(f"property {self.name!r} of {self.cls.__name__!r} object can't be assigned")
        here = behind.class_node(self.cls, self.name)
        return fn if session is None else session.wrap(here.named(raw).attr(name), fn)


class _Asked(_Member):
    """The `__getattr__` of a class, which Python asks for attributes that there are not: that none of the classes gets
    one is guarded. Where the class of the user's has no such method, its error is Python's, or that of a property."""

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        if obj is not None:
            return functools.partial(self._ask, obj, owner)
        if self.name in vars(self.cls):
            return super().__get__(obj, owner)
        raise AttributeError(f"type object {self.cls.__name__!r} has no attribute {self.name!r}")

    def _ask(self, obj: Any, owner: Any, name: str) -> Any:
        session, real = active.session(), users_class(owner)
        if session is not None:
            behind.not_overridden(session, real, behind.find(real.__mro__, name)[0] or object, name)
        if self.name in vars(self.cls):
            return super().__get__(obj, owner)(name)
        raise _missed.pop(obj, name) or behind.no_attribute(obj, name)


class _Missed(threading.local):
    """The AttributeError that a property has raised, for whoever is asked for the attribute then."""

    def __init__(self) -> None:
        self.last: tuple[Any, str, AttributeError] | None = None

    def pop(self, obj: Any, name: str) -> AttributeError | None:
        last, self.last = self.last, None
        return last[2] if last is not None and last[0] is obj and last[1] == name else None


_missed = _Missed()


class _Descriptor(_Member):
    """A descriptor of the user's that assignments go to: by its own methods, as copies."""

    def __get__(self, obj: Any, owner: Any = None) -> Any:
        raw = vars(self.cls)[self.name]
        if obj is not None and not hasattr(type(raw), "__get__"):  # Python looks into the object then
            return behind.instance_dict(obj).get(self.name, raw)
        return super().__get__(obj, owner)

    def __set__(self, obj: Any, value: Any) -> None:
        self._do("__set__", obj, value)

    def __delete__(self, obj: Any) -> None:
        self._do("__delete__", obj)

    def _do(self, by: str, obj: Any, *value: Any) -> None:
        raw, session = vars(self.cls)[self.name], active.session()
        base, method = behind.find(type(raw).__mro__, by)
        if base is None:
            raise AttributeError(by)
        if session is None or not isinstance(method, types.FunctionType):
            method(raw, obj, *value)
            return
        own = session.wrap(behind.class_node(self.cls, self.name), raw)
        session.wrap(behind.class_node(base, by), method)(own, obj, *value)


def refuse_names(cls: type) -> None:
    """Refuse the `__dict__` of a stand-in, in which others lie than in the class's."""
    name = users_class(cls).__name__
    raise UnfollowedError(what=f"`{name}.__dict__`", reason="traced code has other methods than the class")


_names_of = vars(type)["__dict__"].__get__


class _Around:
    """What a class says of its place among classes, of its stand-in: stand-ins, as traced code has them. Libraries,
    which look where a class has its slots, are told what Python knows."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.own = getattr(type, name) if name in ("mro", "__subclasses__") else vars(type)[name]

    def __get__(self, cls: Any, meta: Any) -> Any:
        if cls is None:
            return self.own
        asking = sys._getframe(1).f_code.co_filename
        if users_class(cls) is cls or (is_library_file(asking) and asking != inspect.__file__):
            if self.name == "mro" and (order := order_of(cls)) is not None:
                return lambda: order
            return self.own.__get__(cls, meta)
        found = getattr(users_class(cls), self.name)
        if isinstance(found, type):
            return stand_in(found)
        return tuple(map(stand_in, found)) if type(found) is tuple else lambda: list(map(stand_in, found()))


def stand_in(cls: Any) -> Any:
    """What traced code has for a class."""
    return traced_class(cls) or cls


class _TracedMeta(type):
    """Makes the stand-in count as the user's class."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        out = type.__call__(cls, *args, **kwargs)
        # Its `__new__` may give an object of outside, of what is the same class to Python.
        if all(c is not cls for c in type(out).__mro__) and isinstance(out, users_class(cls)):
            out.__init__(*args, **kwargs)
        return out

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, users_class(cls))

    def __subclasscheck__(cls, c: type) -> bool:
        return cls._counts(c)

    def _counts(cls, c: type) -> bool:
        return issubclass(c, users_class(cls))

    __mro__, __bases__, __base__ = _Around(), _Around(), _Around()  # type: ignore[assignment]
    mro, __subclasses__ = _Around(), _Around()

    def __dir__(cls) -> list[str]:
        return dir(users_class(cls))

    @property
    def __dict__(cls) -> Any:  # type: ignore[override]
        of_user = hasattr(sys._getframe(1).f_globals, "real")  # traced code has other globals than a dict
        if active.session() is not None and of_user:
            refuse_names(cls)
        return _names_of(cls)

    def __getattr__(cls, name: str) -> Any:
        session, real = active.session(), users_class(cls)
        if session is not None and real is not cls and name[:2] != "__":
            if (changed := members.written(session, real, name)) is not behind.MISSING:
                return changed
            behind.not_overridden(session, real, object, name)
        return getattr(real, name) if real is not cls else _missing(cls, name)

    def __eq__(cls, other: object) -> bool:
        return users_class(cls) is users_class(other)

    def __hash__(cls) -> int:
        return hash(users_class(cls))

    def __setattr__(cls, name: str, value: Any) -> None:
        session, real = active.session(), users_class(cls)
        special = name[:2] == "__" == name[-2:] or name == "_abc_impl"
        # What abc and typing note about the stand-in while it is made, and `copy`, when it copies an object.
        if (session is None and special) or name == "__slotnames__":
            type.__setattr__(cls, name, value)
        elif session is None or not session.guarded:
            setattr(real, name, value)
            if session is not None:
                session.stored[id(real), name] = real
                session.acted(f"changes `{real.__name__}.{name}`")
                _forget(real)
        elif special:  # which Python itself reads
            raise CapturedWriteError(what=f"class attribute `{real.__name__}.{name}`")
        else:
            members.write(session, real, name, value)

    def __delattr__(cls, name: str) -> None:
        session, real = active.session(), users_class(cls)
        if session is not None and session.guarded:
            raise CapturedWriteError(what=f"class attribute `{real.__name__}.{name}`")
        delattr(real, name)
        _forget(real)


def _forget(cls: type) -> None:
    """Let stand-ins forget what Python has looked up in `cls`, which has changed."""
    for made in list(_all):
        if issubclass(users_class(made), cls):
            type.__setattr__(made, "_tj_run", vars(made)["_tj_run"])


def _missing(cls: type, name: str) -> Any:
    raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")


class _Questions(threading.local):
    """The questions to abstract classes that are being answered: (the class, about which)."""

    def __init__(self) -> None:
        self.pairs: set[tuple[type, type]] = set()


_asked = _Questions()


class _TracedABCMeta(_TracedMeta, abc.ABCMeta):
    """An abstract class asks all its subclasses, the stand-in among them, which knows no more than it does."""

    def _counts(cls, c: type) -> bool:
        pair = (users_class(cls), c)
        if pair in _asked.pairs:
            return False
        _asked.pairs.add(pair)
        try:
            return issubclass(c, pair[0])
        finally:
            _asked.pairs.discard(pair)


_METAS = {type: _TracedMeta, abc.ABCMeta: _TracedABCMeta}


def users_class(cls: Any) -> Any:
    """The class behind a stand-in; anything else as it is."""
    return vars(cls)["_tj_class"] if isinstance(cls, type) and "_tj_class" in vars(cls) else cls


def traced_class(cls: type) -> type | None:
    """The stand-in of the user's class `cls`; None if it is used as it is."""
    if users_class(cls) is not cls:
        return cls
    session = active.session()
    if type(cls) not in _METAS or (session is not None and session.own.get(id(cls)) is cls):
        return None
    said = cls.__name__, cls.__qualname__, cls.__doc__
    made = _make(cls, (said, *(tuple(vars(base)) for base in cls.__mro__)))
    if made is not None and session is not None and vars(made)["_tj_run"]() is not session:
        type.__setattr__(
            made, "_tj_run", weakref.ref(session)
        )  # what Python has looked up in it is forgotten
    return made


def build_class(*args: Any, **kwargs: Any) -> Any:
    """What a `class` statement calls: the run has a class for itself that it has defined."""
    made = builtins.__build_class__(*args, **kwargs)
    session = active.session()
    if session is not None and isinstance(made, type):
        session.own[id(made)] = made
    return made


@functools.lru_cache(maxsize=64)
def _make(cls: type, _: tuple[tuple[Any, ...], ...]) -> type | None:
    """The stand-in of a class that is called so, and of which each base has attributes of these names."""
    if why_not(cls) or objects.is_node(cls):
        return None
    bases = tuple(t for base in cls.__bases__ if (t := traced_class(base)) is not None)
    body: dict[str, Any] = {
        name: _member(cls, name, raw) for name, raw in vars(cls).items() if _is_member(name, raw)
    }
    if behind.find(cls.__mro__, "__getattr__")[0] is None:
        body["__getattr__"] = _Asked(cls, "__getattr__")
    body.update(_tj_class=cls, __slots__=(), __module__=cls.__module__, __doc__=cls.__doc__)
    body["_tj_run"] = type(None)  # of no run
    body["__qualname__"] = cls.__qualname__
    if "__hash__" in vars(cls) and vars(cls)["__hash__"] is None:
        body["__hash__"] = None
    new = abc.ABCMeta.__new__ if isinstance(cls, abc.ABCMeta) else type.__new__
    loud = any("__init_subclass__" in vars(base) for base in cls.__mro__[:-1])
    if loud and not any(objects.Quiet in base.__mro__ for base in bases):
        bases = (objects.Quiet, *bases)
    try:
        with active.use(None):  # abc reads members; that is no reading by the user
            made = new(_METAS[type(cls)], cls.__name__, (*bases, cls), body)
    except TypeError:  # bases that don't go together in this order
        return None
    type.__delattr__(made, "__slots__")  # who asks for them gets the user's
    unlist(made, cls)
    _all.add(made)
    return made


def _is_member(name: str, raw: Any) -> bool:
    if name[:2] == "__" == name[-2:]:
        return name not in _SKIP and (isinstance(raw, _MADE) or objects.is_function(raw))
    return name[:4] != "_tj_" and not behind.keeps(raw) and not isinstance(raw, types.GetSetDescriptorType)


def _member(cls: type, name: str, raw: Any) -> _Member:
    if isinstance(raw, property):
        return _Property(cls, name)
    if name == "__getattr__":
        return _Asked(cls, name)
    takes = hasattr(type(raw), "__set__") or hasattr(type(raw), "__delete__")
    return _Descriptor(cls, name) if takes else _Member(cls, name)


def demote(obj: Any) -> None:
    """Give an object that traced code made the user's class, as it leaves the run.

    Raises UnfollowedError for what only stands for an object of the user's, and can't be made one."""
    real = users_class(type(obj))
    if real is not type(obj):
        if behind.stays(real):
            reason = "another compiler makes objects of its class"
            raise UnfollowedError(what=f"a `{real.__name__}` that traced code makes", reason=reason)
        with contextlib.suppress(TypeError):  # memory laid out differently (see Quiet)
            object.__setattr__(obj, "__class__", real)  # past what the class does


behind.making.stand_in = traced_class
