"""Captured objects of the user's classes: shadows that guard every attribute they read.

A shadow is an instance of a dynamic subclass, so `isinstance`, properties and operators
hold. It holds no attributes: reading one reads the object's, guards it by its path and
gives its stand-in; methods are copies bound to the shadow.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
import functools
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import optree

from tracejit import tree
from tracejit.errors import CapturedWriteError
from tracejit.frontend.functions import LRU
from tracejit.frontend.library import is_library_class
from tracejit.frontend.paths import Node, root

if TYPE_CHECKING:
    from tracejit.frontend.session import Session

_MISSING = object()
_classes: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()
# Never forwarded: making, destroying and describing objects is the class's own business.
_OWN = {
    *("__init__", "__new__", "__del__", "__post_init__", "__init_subclass__", "__class_getitem__"),
    *("__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__subclasshook__", "__set_name__"),
    *("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__get__", "__set__", "__delete__"),
    *("__annotate__", "__annotate_func__"),
}


class State:
    """Behind a shadow: the object, the path to it, and the attributes read so far."""

    __slots__ = ("cache", "node", "original", "session")

    def __init__(self, session: Session, node: Node, original: Any) -> None:
        self.session = session
        self.node = node
        self.original = original
        self.cache: dict[str, Any] = {}


def is_shadow(x: Any) -> bool:
    return "_tj_state" in vars(type(x)) and type(x) in _shadow_classes


_shadow_classes: weakref.WeakSet[type] = weakref.WeakSet()


def state_of(shadow: Any) -> State:
    return vars(type(shadow))["_tj_state"].__get__(shadow)


def why_not(cls: type) -> str | None:
    """Why objects of `cls` can't be followed, or None."""
    if is_library_class(cls):
        return "its class comes from a library or is written in C"
    for base in cls.__mro__[:-1]:
        if not base.__flags__ & (1 << 9):
            return f"its class derives from {base.__name__}, which is written in C"
        if "__getattribute__" in vars(base):
            return "its class defines __getattribute__"
    return None


def is_quiet(cls: type) -> bool:
    """Objects without state to speak of: nothing to report when they are used as they are."""
    quiet = ("builtins", "typing", "types", "re")
    return issubclass(cls, (enum.Enum, BaseException)) or cls.__module__ in quiet


def wrap_object(session: Session, node: Node, value: Any) -> Any:
    """The shadow of a user's object; anything else as it is, reported."""
    reason = why_not(type(value))
    if reason:
        session.check(node, "is", value)
        if not is_quiet(type(value)):
            session.library(node, value, reason)
        return value
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    cls = type(value)
    params = getattr(cls, "__dataclass_params__", None)
    by_value = params is not None and params.frozen and params.eq  # identity means nothing then
    session.check(node, "type" if by_value else "is", cls if by_value else value)
    state = State(session, node if by_value else node.named(value), value)
    made = shadow_class(cls)
    shadow = object.__new__(made)
    vars(made)["_tj_state"].__set__(shadow, state)
    return session.remember(value, shadow, node)


class _Quiet:
    """Keeps `__init_subclass__` of the user's classes from seeing shadow classes."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        return None


def shadow_class(cls: type) -> type:
    """The dynamic subclass for shadows of `cls`, made once a class."""
    known = _classes.get(cls)
    if known is None:
        known = _classes[cls] = _make_class(cls)
        _shadow_classes.add(known)
        _register_node(cls, known)
    return known


def _make_class(cls: type) -> type:
    names = {n: f for base in cls.__mro__[:-1] for n, f in vars(base).items()}
    body: dict[str, Any] = {
        n: _forward(n)
        for n, f in names.items()
        if n[:2] == "__" == n[-2:] and n not in _OWN and isinstance(f, types.FunctionType)
    }
    body.update(_PROTOCOL, __slots__=("_tj_state",), __module__=cls.__module__, __qualname__=cls.__qualname__)
    if cls.__eq__ is object.__eq__:
        body["__eq__"] = _same_object
    if cls.__hash__ is object.__hash__:
        body["__hash__"] = _hash_of_original
    elif cls.__hash__ is None:
        body["__hash__"] = None
    meta = type(cls)
    new = abc.ABCMeta.__new__ if issubclass(meta, abc.ABCMeta) else type.__new__
    bases = (cls,) if "__init_subclass__" not in names else (_Quiet, cls)
    return new(meta, cls.__name__, bases, body)


def _register_node(cls: type, shadow: type) -> None:
    """Shadows of pytree classes are nodes too; they are rebuilt as plain objects."""
    if dataclasses.is_dataclass(cls) and not _is_leaf(cls):
        tree.register_dataclass(cls)
    handler = optree.register_pytree_node.get(cls, namespace=tree.NAMESPACE)  # type: ignore[attr-defined]
    if handler is not None:
        tree.register(shadow, lambda s: handler.flatten_func(s)[:2], handler.unflatten_func)


def is_node(cls: type) -> bool:
    """Whether objects of `cls` are pytree nodes."""
    if dataclasses.is_dataclass(cls) and not _is_leaf(cls):
        return True
    return optree.register_pytree_node.get(cls, namespace=tree.NAMESPACE) is not None  # type: ignore[attr-defined]


def _is_leaf(cls: type) -> bool:
    return cls in tree._leaf_classes


def _forward(name: str) -> Callable[..., Any]:
    """A special method that runs the copy of the class's own."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return read(self, name)(*args, **kwargs)

    method.__name__ = name
    return method


def _same_object(self: Any, other: Any) -> Any:
    return _original(self) is _original(other) or NotImplemented


def _hash_of_original(self: Any) -> int:
    return hash(_original(self))


def _original(x: Any) -> Any:
    return state_of(x).original if is_shadow(x) else x


def read(self: Any, name: str) -> Any:
    """`shadow.name`, as Python looks it up on the object."""
    state = state_of(self)
    if name in state.cache:
        return state.cache[name]
    original = state.original
    if name == "__class__":
        return type(original)
    owner, raw = find(type(original).__mro__, name)
    values = _instance_dict(original)
    if name == "__dict__":
        return {key: read(self, key) for key in values}
    if owner is object:
        return object.__getattribute__(self, name)
    if raw is not _MISSING and hasattr(type(raw), "__set__"):
        return data_descriptor(self, state, owner, raw, name)
    if name in values:
        return _value(state, name, values[name])
    if hasattr(original, "__dict__"):
        state.session.check(state.node.attr("__dict__"), "absent", name)
    if raw is _MISSING:
        return _missing(self, state, name)
    return bind(self, state, owner, raw, name)


def find(mro: tuple[type, ...], name: str) -> tuple[Any, Any]:
    """The first class of `mro` that has `name`, and what it has."""
    for base in mro:
        if name in vars(base):
            return base, vars(base)[name]
    return None, _MISSING


def _instance_dict(obj: Any) -> dict[str, Any]:
    try:
        return object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return {}


def _value(state: State, name: str, value: Any) -> Any:
    result = state.cache[name] = state.session.wrap(state.node.attr(name), value)
    return result


def data_descriptor(self: Any, state: State, owner: type, raw: Any, name: str) -> Any:
    """A property, slot or other data descriptor of the class."""
    if isinstance(raw, property):
        here = _class_node(owner, name)
        state.session.check(here, "is", raw)
        if raw.fget is None:
            return getattr(state.original, name)
        return state.session.wrap(here.named(raw).attr("fget"), raw.fget)(self)
    return _value(state, name, getattr(state.original, name))


def bind(self: Any, state: State, owner: type, raw: Any, name: str) -> Any:
    """A class attribute as seen from the shadow: methods bound to it, constants guarded."""
    session, here = state.session, _class_node(owner, name)
    if isinstance(raw, (types.FunctionType, LRU)):
        return _bound(session.wrap(here, raw), self)
    if isinstance(raw, staticmethod):
        return session.wrap(here.attr("__func__"), raw.__func__)
    if isinstance(raw, classmethod):
        return _bound(session.wrap(here.attr("__func__"), raw.__func__), type(state.original))
    if isinstance(raw, functools.cached_property):
        fn = session.wrap(here.attr("func"), raw.func)
        result = state.cache[name] = fn(self)
        return result
    return _value(state, name, getattr(state.original, name))


def _bound(fn: Any, owner: Any) -> Any:
    get = getattr(type(fn), "__get__", None)
    return fn if get is None else get(fn, owner, type(owner))


def _class_node(owner: type, name: str) -> Node:
    return root(vars(owner), "class attribute", owner.__name__).item(name, f"{owner.__name__}.{name}")


def _missing(self: Any, state: State, name: str) -> Any:
    owner, fallback = find(type(state.original).__mro__, "__getattr__")
    if owner is None:
        state.session.check(state.node, "missing", name)
        return getattr(state.original, name)  # raises Python's own message
    return _bound(state.session.wrap(_class_node(owner, "__getattr__"), fallback), self)(name)


def _write(self: Any, name: str, value: Any) -> None:
    state = state_of(self)
    if state.session.guarded:
        raise CapturedWriteError(what=f"attribute `{state.node.text}.{name}`")
    state.cache.pop(name, None)
    setattr(state.original, name, state.session.original(value))


def _delete(self: Any, name: str) -> None:
    state = state_of(self)
    if state.session.guarded:
        raise CapturedWriteError(what=f"attribute `{state.node.text}.{name}`")
    state.cache.pop(name, None)
    delattr(state.original, name)


_PROTOCOL = {"__getattribute__": read, "__setattr__": _write, "__delattr__": _delete}
