"""Captured objects of the user's classes: shadows that guard every attribute they read.

A shadow is an instance of a dynamic subclass, so `isinstance`, properties and operators
hold. It holds no attributes: reading one reads the object's, guards it by its path and
gives its stand-in; methods are copies bound to the shadow.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import optree

from tracejit import dtypes, tree
from tracejit.frontend import active
from tracejit.frontend.checks import IMMUTABLE, array_type, is_plain
from tracejit.frontend.journal import Change
from tracejit.frontend.origins import is_library_class, is_quiet, why_not
from tracejit.frontend.outside.derived import ordering, unlist
from tracejit.frontend.paths import Node
from tracejit.frontend.shadows import attributes, behind, copied
from tracejit.ir.elsewhere import is_elsewhere
from tracejit.ir.primitive import Op
from tracejit.numpy.dispatch import OBJECTS, Adopted

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

# Never forwarded: making, destroying and describing objects is the class's own business.
OWN = {
    *("__init__", "__new__", "__del__", "__post_init__", "__init_subclass__", "__class_getitem__"),
    *("__getattribute__", "__getattr__", "__setattr__", "__delattr__", "__subclasshook__"),
    *("__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__get__", "__set__", "__delete__"),
    *("__annotate__", "__annotate_func__"),
}


def _array(session: Run, node: Node, value: Any) -> Any:
    """The stand-in of an array on a device, which is read anew at every call, as NumPy's arrays are."""
    if not session.guarded:
        return session.capture.array(node, value)
    if not session.capture.follows_devices:
        session.refuse(str(node), value, "it is on a device, and the function runs on the CPU")
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    session.check(node, "array", array_type(value))
    session.array_nodes.append(node)
    return session.remember(value, session.capture.array(node, value), node)


def wrap_object(session: Run, node: Node, value: Any) -> Any:
    """The shadow of a user's object; anything else as it is, reported."""
    if "_tj_class" in vars(type(value)):  # made inside a traced run: its methods are copies already
        return value
    if is_elsewhere(value):
        return _array(session, node, value)
    outer = behind.is_shadow(value)
    if outer and behind.state_of(value).session is session:  # such as `self` of a method bound in this run
        return value
    if outer:
        value = _of_this_session(session, node, value)
    reason = why_not(type(value))
    if reason:
        ours = wrap_adopted(session, node, value)
        if ours is not None:
            return ours
        session.same(node, value)
        if not session.guarded and not is_library_class(type(value)):
            session.assigned[id(value)] = value  # by its own methods, perhaps, which run as they are
        if not is_quiet(type(value)):
            session.from_library(node, value, reason)
        elif session.guarded:
            _keep(session, node, value)
        if session.guarded and hasattr(cls := type(value), "users_attributes"):
            session.untouched.enter_wrapper(node.text, value)
            if node.kind != "const":  # what it is not given stays away; no name means the one that is jitted
                session.check(node.attr("__dict__"), "len", len(vars(value)))
            for name, x in {**_taken_over(value), **cls.users_attributes(value)}.items():
                session.check(node.attr(name), "value" if type(x) in IMMUTABLE else "is", x)
                if type(x) not in IMMUTABLE and not callable(x) and not isinstance(x, Op):
                    session.note(
                        f"{node}.{name}",
                        x,
                        "it belongs to a compiled function; changes inside it are not seen",
                    )
        return value
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    cls = type(value)
    session.orders(cls)
    params = getattr(cls, "__dataclass_params__", None)
    by_value = params is not None and params.frozen and params.eq and not outer  # identity means nothing then
    if by_value and cls not in session.unfrozen:
        session.check(node, "type", cls)
        here = node
    else:
        here = node.named(value) if outer else session.hold(node, value)
        session.differs(node, value)
    return session.remember(value, shadow(cls, behind.State(session, here, value)), node)


def tell_apart(state: behind.State) -> None:
    """Guard which of the frozen objects of a class are one object: the run changes one, past its class."""
    session, cls = state.session, type(state.original)
    if cls in session.unfrozen or not getattr(getattr(cls, "__dataclass_params__", None), "frozen", False):
        return
    session.unfrozen.add(cls)
    for value, stand_in in session.seen():
        if behind.is_shadow(stand_in) and type(value) is cls:
            node = behind.state_of(stand_in).node
            if not session.varies(node):
                session.check(node, "is", value)
            session.differs(node, value)


def shadow(cls: type, state: behind.State) -> Any:
    """A shadow of an object of class `cls`."""
    made = shadow_class(cls)
    new = object.__new__(made)
    vars(made)["_tj_state"].__set__(new, state)
    return new


def _keep(session: Run, node: Node, value: Any) -> None:
    """What is used as it is, such as an exception or a member of an enumeration, must keep its attributes."""
    if isinstance(value, dataclasses.Field):
        for name in type(value).__slots__:
            _keep_one(session, node.attr(name), getattr(value, name))
        _keep_items(session, node.attr("metadata"), value.metadata)
    held = getattr(value, "__dict__", None)
    if isinstance(value, type) or type(held) is not dict:
        return
    session.untouched.enter_object(node.text, value, node)
    _keep_items(session, node.attr("__dict__"), held)
    if isinstance(value, BaseException):
        session.check(node.attr("args"), "value" if is_plain(value.args) else "is", value.args)


def _keep_items(session: Run, node: Node, held: Mapping[Any, Any]) -> None:
    session.check(node, "keys", tuple(held))
    for name, x in held.items():
        if type(name) is not str or name[:1] != "_":
            _keep_one(session, node.item(name), x)


def _keep_one(session: Run, node: Node, x: Any) -> None:
    session.check(node, "value" if type(x) in IMMUTABLE else "is", x)


def changes(session: Run) -> Iterator[tuple[Change, bool]]:
    """The attributes of outside objects that the run has assigned, and whether each may be: not what was stored in a
    shadow itself, past its class, by `object.__setattr__`."""
    for _, shadow in session.seen():
        if not behind.is_shadow(shadow):
            continue
        yield from attributes.changes(shadow)
        cls = type(shadow)
        held = object.__getattribute__(shadow, "__dict__") if cls.__dictoffset__ else {}
        slots = [n for n in behind.slots(cls) if n != "_tj_state"]
        name = next(iter([*held, *(n for n in slots if _is_set(shadow, n))]), None)
        if name is not None:
            node = behind.state_of(shadow).node
            yield Change(node.attr(name), None), False


def _is_set(shadow: Any, name: str) -> bool:
    """Whether a slot of the shadow's own holds something."""
    try:
        behind.find(type(shadow).__mro__, name)[1].__get__(shadow)
    except AttributeError:
        return False
    return True


def _of_this_session(session: Run, node: Node, shadow: Any) -> Any:
    """The object of a shadow that an enclosing run left in a closure."""
    session.check(node, "is", shadow)
    return behind.state_of(shadow).original


class Quiet:
    """Keeps `__init_subclass__` of the user's classes from seeing shadow classes."""

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        session = active.session()
        if session is not None and not {"_tj_class", "_tj_state"} & vars(cls).keys():
            session.refuse_always(
                f"class `{cls.__name__}`", cls, "the `__init_subclass__` of its bases would not be called"
            )


def shadow_class(cls: type) -> type:
    """The dynamic subclass for shadows of `cls`, made once for the names that its classes have."""
    return _shadow_class(cls, tuple([tuple(vars(base)) for base in cls.__mro__[:-1]]))


@functools.lru_cache(maxsize=64)
def _shadow_class(cls: type, _: tuple[tuple[str, ...], ...]) -> type:
    made = _make_class(cls)
    unlist(made, cls)
    behind.classes.add(made)
    _register_node(cls, made)
    return made


def _make_class(cls: type) -> type:
    names = {n: f for base in cls.__mro__[:-1] for n, f in vars(base).items()}
    body: dict[str, Any] = {
        n: _forward(n)
        for n, f in names.items()
        if n[:2] == "__" == n[-2:] and n not in OWN and is_function(f)
    }
    body.update(attributes.protocol(cls), __slots__=("_tj_state",))
    body.update(__module__=cls.__module__, __qualname__=cls.__qualname__)
    if "__del__" in names:  # the object's own is for the object
        body["__del__"] = _leave
    body.setdefault("__copy__", copied.copy_of)
    body.setdefault("__deepcopy__", copied.deep_copy_of)
    if cls.__eq__ is object.__eq__:
        body["__eq__"] = _same_object
    if cls.__repr__ is object.__repr__:
        body["__repr__"] = _text_of_original
    if cls.__hash__ is object.__hash__:
        body["__hash__"] = _hash_of_original
    elif cls.__hash__ is None:
        body["__hash__"] = None
    meta = type(cls)
    new = abc.ABCMeta.__new__ if issubclass(meta, abc.ABCMeta) else type.__new__
    bases = (cls,) if "__init_subclass__" not in names else (Quiet, cls)
    return new(ordering(meta), cls.__name__, bases, body)


def _register_node(cls: type, shadow: type) -> None:
    """Shadows of pytree classes are nodes too; they are rebuilt as plain objects."""
    if dataclasses.is_dataclass(cls) and not _is_leaf(cls):
        tree.register_dataclass(cls)
    handler = optree.register_pytree_node.get(cls, namespace=tree.NAMESPACE)  # type: ignore[attr-defined]
    if handler is not None:
        tree.register(shadow, lambda s: handler.flatten_func(s)[:2], handler.unflatten_func)


def is_function(x: Any) -> bool:
    """Whether a member of a class is a function, or one that Numba compiled."""
    return isinstance(x, types.FunctionType) or isinstance(getattr(x, "py_func", None), types.FunctionType)


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
        if behind.apart.on and name == "__eq__":
            return False
        return attributes.read(self, name)(*args, **kwargs)

    method.__name__ = name
    return behind.answering(name, method)


def _leave(self: Any) -> None:
    return None


def _same_object(self: Any, other: Any) -> Any:
    if behind.original(self) is behind.original(other):
        return True
    if not behind.is_shadow(other) and type(other) is type(behind.original(self)):
        pin(self)
    return NotImplemented


def pin(shadow: Any) -> None:
    """What is traced depends on which object this is."""
    state = behind.state_of(shadow)
    state.session.same(state.node, state.original)


def _text_of_original(self: Any) -> str:
    pin(self)
    return object.__repr__(behind.original(self))


def _hash_of_original(self: Any) -> int:
    pin(self)
    return hash(behind.original(self))


# ---- objects of libraries that have counterparts -----------------------------------------------------


def counterpart(value: Any) -> Adopted | None:
    """How the counterpart of a library's object, such as a spline of SciPy's, is made; None if there is none."""
    find = OBJECTS.get(type(value).__module__.partition(".")[0])
    return None if find is None else find(value)


def wrap_adopted(session: Run, node: Node, value: Any) -> Any:
    """The counterpart of a library's object; None if there is none. What it is made of is guarded, as what a user's
    object holds is."""
    found = counterpart(value)
    if found is None:
        return None
    known = session.known(value)
    if known is not None:
        session.alias(node, value)
        return known
    session.check(node, "type", type(value))
    values = [session.wrap(*_at(node, value, path)) for path in found.values]
    settings = []
    for path in found.settings:
        at, x = _at(node, value, path)
        session.check(at, "value", x)
        settings.append(x)
    ours = session.remember(value, found.make(*values, *settings), node)
    if found.back is not None and not session.guarded:
        session.adopted.append((found.back, value, ours))
    return ours


def is_structured(value: Any) -> bool:
    """Whether it is a structured array of NumPy's."""
    return type(value) in (np.ndarray, np.recarray) and dtypes.structure_of(value.dtype) is not None


def _taken_over(function: Any) -> dict[str, Any]:
    """The attributes that a transformed function has of the user's function of which it was made."""
    made_of = inspect.unwrap(function, stop=lambda f: type(f) is types.FunctionType)
    names = vars(made_of).keys() if type(made_of) is types.FunctionType else ()
    return {n: x for n, x in vars(function).items() if n in names and n != "__wrapped__"}


def wrap_structured(session: Run, node: Node, value: Any) -> Any:
    """The counterpart of a structured array, of which each field is an array of outside; None for other arrays."""
    if not is_structured(value):
        return None
    session.untouched.enter_dtype(f"{node.text}.dtype", value.dtype)
    return wrap_adopted(session, node, value)


def _at(node: Node, value: Any, path: str) -> tuple[Node, Any]:
    """What lies at the path, and where."""
    for name in path.split("."):
        field = isinstance(value, np.ndarray) and name in (value.dtype.names or ())
        if type(value) is dict or field or name.isdigit():
            key = name if type(value) is dict or field else int(name)
            node, value = node.item(key), value[key]
        else:
            node, value = node.attr(name), getattr(value, name)
    return node, value
