"""Captured objects of the user's classes: shadows that guard every attribute they read.

A shadow is an instance of a dynamic subclass, so `isinstance`, properties and operators
hold. It holds no attributes: reading one reads the object's, guards it by its path and
gives its stand-in; methods are copies bound to the shadow.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import optree

from tracejit import tree
from tracejit.frontend.origins import is_quiet, why_not
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows import attributes

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

# Never forwarded: making, destroying and describing objects is the class's own business.
OWN = {
    *("__init__", "__new__", "__del__", "__post_init__", "__init_subclass__", "__class_getitem__"),
    *("__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__subclasshook__", "__set_name__"),
    *("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__get__", "__set__", "__delete__"),
    *("__annotate__", "__annotate_func__"),
}


def wrap_object(session: Run, node: Node, value: Any) -> Any:
    """The shadow of a user's object; anything else as it is, reported."""
    if "_tj_class" in vars(type(value)):  # made inside a traced run: its methods are copies already
        return value
    outer = attributes.is_shadow(value)
    if (
        outer and attributes.state_of(value).session is session
    ):  # such as `self` of a method bound in this run
        return value
    if outer:
        value = _of_this_session(session, node, value)
    reason = why_not(type(value))
    if reason:
        session.same(node, value)
        if not is_quiet(type(value)):
            session.from_library(node, value, reason)
        return value
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    cls = type(value)
    params = getattr(cls, "__dataclass_params__", None)
    by_value = params is not None and params.frozen and params.eq and not outer  # identity means nothing then
    if by_value:
        session.check(node, "type", cls)
        here = node
    else:
        here = node.named(value) if outer else session.hold(node, value)
        session.differs(node, value)
    state = attributes.State(session, here, value)
    made = shadow_class(cls)
    shadow = object.__new__(made)
    vars(made)["_tj_state"].__set__(shadow, state)
    return session.remember(value, shadow, node)


def _of_this_session(session: Run, node: Node, shadow: Any) -> Any:
    """The object of a shadow that an enclosing run left in a closure."""
    session.check(node, "is", shadow)
    return attributes.state_of(shadow).original


class Quiet:
    """Keeps `__init_subclass__` of the user's classes from seeing shadow classes."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        return None


@functools.lru_cache(maxsize=64)
def shadow_class(cls: type) -> type:
    """The dynamic subclass for shadows of `cls`, made once a class."""
    made = _make_class(cls)
    attributes.classes.add(made)
    _register_node(cls, made)
    return made


def _make_class(cls: type) -> type:
    names = {n: f for base in cls.__mro__[:-1] for n, f in vars(base).items()}
    body: dict[str, Any] = {
        n: _forward(n)
        for n, f in names.items()
        if n[:2] == "__" == n[-2:] and n not in OWN and isinstance(f, types.FunctionType)
    }
    body.update(
        attributes.PROTOCOL,
        __slots__=("_tj_state",),
        __module__=cls.__module__,
        __qualname__=cls.__qualname__,
    )
    body.setdefault("__copy__", attributes.copy_of)
    body.setdefault("__deepcopy__", attributes.deep_copy_of)
    if cls.__eq__ is object.__eq__:
        body["__eq__"] = _same_object
    if cls.__hash__ is object.__hash__:
        body["__hash__"] = _hash_of_original
    elif cls.__hash__ is None:
        body["__hash__"] = None
    meta = type(cls)
    new = abc.ABCMeta.__new__ if issubclass(meta, abc.ABCMeta) else type.__new__
    bases = (cls,) if "__init_subclass__" not in names else (Quiet, cls)
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
        return attributes.read(self, name)(*args, **kwargs)

    method.__name__ = name
    return attributes.answering(name, method)


def _same_object(self: Any, other: Any) -> Any:
    if attributes.original(self) is attributes.original(other):
        return True
    if not attributes.is_shadow(other) and type(other) is type(attributes.original(self)):
        pin(self)
    return NotImplemented


def pin(shadow: Any) -> None:
    """What is traced depends on which object this is."""
    state = attributes.state_of(shadow)
    state.session.same(state.node, state.original)


def _hash_of_original(self: Any) -> int:
    pin(self)
    return hash(attributes.original(self))
