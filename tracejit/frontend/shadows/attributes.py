"""Reading and writing attributes of shadows (see objects.py)."""

from __future__ import annotations

import contextlib
import copy
import functools
import operator
import types
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tracejit.errors import CapturedWriteError
from tracejit.frontend.checks import unchanged
from tracejit.frontend.paths import Node, root
from tracejit.frontend.shadows.cached import LRU
from tracejit.tracing import Box

if TYPE_CHECKING:
    from tracejit.frontend.run import Run

_MISSING = object()
_BOUND = (types.FunctionType, LRU, staticmethod, classmethod, functools.cached_property)
_ON_SHADOW = ("__copy__", "__deepcopy__", "__reduce_ex__")
#: All shadow classes.
classes: weakref.WeakSet[type] = weakref.WeakSet()


class State:
    """Behind a shadow: the object, the path to it, and the attributes read so far."""

    __slots__ = ("_held", "_ref", "cache", "node", "session")

    def __init__(self, session: Run, node: Node, original: Any) -> None:
        self.session = session
        self.node = node
        self._held = original
        self._ref: Any = None
        self.cache: dict[str, Any] = {}

    @property
    def original(self) -> Any:
        """The object; None if it was an argument, and is gone."""
        return self._held if self._ref is None else self._ref()

    def weaken(self, original: Any) -> None:
        """Keep the object no longer alive, where that can be known."""
        with contextlib.suppress(TypeError):
            self._ref = weakref.ref(original)
            self._held = None


def is_shadow(x: Any) -> bool:
    """Whether `x` is the shadow of a captured object."""
    return "_tj_state" in vars(type(x)) and type(x) in classes


def state_of(shadow: Any) -> State:
    """The state behind a shadow."""
    return vars(type(shadow))["_tj_state"].__get__(shadow)


def original(x: Any) -> Any:
    """The object behind a shadow; anything else as it is."""
    return state_of(x).original if is_shadow(x) else x


def read(self: Any, name: str) -> Any:
    """`shadow.name`, as Python looks it up on the object."""
    state = state_of(self)
    if name in state.cache:
        return state.cache[name]
    original = state.original
    if name == "__class__":
        return state.session.stand_in(type(original))
    owner, raw = find(type(original).__mro__, name)
    values = _instance_dict(original)
    if name == "__dict__":
        state.session.check(state.node.attr("__dict__"), "keys", tuple(values))
        held = {key: read(self, key) for key in values}
        if state.session.guarded:  # what is written into it has to be seen
            entries = [x for pair in held.items() for x in pair]
            state.session.containers.append((state.node.attr("__dict__"), held, entries))
        return held
    if owner is object or name in _ON_SHADOW:
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
    result = state.session.wrap(state.node.attr(name), value)
    if state.session.guarded:
        state.cache[name] = result
    return result


def data_descriptor(self: Any, state: State, owner: type, raw: Any, name: str) -> Any:
    """A property, slot or other data descriptor of the class."""
    if isinstance(raw, property):
        here = class_node(owner, name)
        state.session.check(here, "is", raw)
        if raw.fget is None:
            return getattr(state.original, name)
        return state.session.wrap(here.named(raw).attr("fget"), raw.fget)(self)
    if _has_getter(raw):
        return _get(state.session, owner, name, raw, self, state.session.stand_in(type(state.original)))
    return _value(state, name, getattr(state.original, name))


def _has_getter(raw: Any) -> bool:
    """Whether it is a descriptor written in Python."""
    return isinstance(find(type(raw).__mro__, "__get__")[1], types.FunctionType)


def _get(session: Run, owner: type, name: str, raw: Any, obj: Any, cls: Any) -> Any:
    """What the getter of a descriptor gives, run as Python would: what it makes is new at every reading,
    so it can't be guarded by identity."""
    base, getter = find(type(raw).__mro__, "__get__")
    own = session.wrap(class_node(owner, name), raw)
    return session.wrap(class_node(base, "__get__"), getter)(own, obj, cls)


def bind(self: Any, state: State, owner: type, raw: Any, name: str) -> Any:
    """A class attribute as seen from the shadow: methods bound to it, constants guarded."""
    session = state.session
    if not isinstance(raw, _BOUND) and not _has_getter(raw):
        return _value(state, name, getattr(state.original, name))
    result = bind_member(session, owner, name, raw, self, session.stand_in(type(state.original)))
    if isinstance(raw, functools.cached_property):
        state.cache[name] = result
    return result


def bind_member(session: Run, owner: type, name: str, raw: Any, obj: Any, cls: Any) -> Any:
    """What the class attribute `raw` gives on `obj` (None: on the class), functions as copies."""
    here = class_node(owner, name)
    if isinstance(raw, (types.FunctionType, LRU)):
        return _bound(session.wrap(here, raw), obj, cls)
    if isinstance(raw, staticmethod):
        return session.wrap(here.attr("__func__"), raw.__func__)
    if isinstance(raw, classmethod):
        return _bound(session.wrap(here.attr("__func__"), raw.__func__), cls, type(cls))
    if isinstance(raw, property) and obj is not None and raw.fget is not None:
        return session.wrap(here.attr("fget"), raw.fget)(obj)
    if isinstance(raw, functools.cached_property) and obj is not None:
        return session.wrap(here.attr("func"), raw.func)(obj)
    if _has_getter(raw):
        return _get(session, owner, name, raw, obj, cls)
    if hasattr(type(raw), "__get__"):
        session.check(here, "is", raw)
        return raw.__get__(obj, cls)
    return session.wrap(here, raw)


def _bound(fn: Any, obj: Any, cls: Any) -> Any:
    get = getattr(type(fn), "__get__", None)
    return fn if get is None or obj is None else get(fn, obj, cls)


def class_node(owner: type, name: str) -> Node:
    """The path to a member of a class."""
    return root(vars(owner), "class attribute", owner.__name__).item(name, f"{owner.__name__}.{name}")


def _missing(self: Any, state: State, name: str) -> Any:
    owner, fallback = find(type(state.original).__mro__, "__getattr__")
    if owner is None:
        state.session.check(state.node, "missing", name)
        try:
            return getattr(state.original, name)
        except AttributeError as e:
            raise e.with_traceback(None) from None  # Python says it, and it is no error of ours
    return bind(self, state, owner, fallback, "__getattr__")(name)


def _write(self: Any, name: str, value: Any) -> None:
    state = state_of(self)
    if state.session.guarded:
        if _holds(self, state, name, value):
            return
        raise CapturedWriteError(what=f"attribute `{state.node.text}.{name}`")
    state.cache.pop(name, None)
    setattr(state.original, name, state.session.original(value))


def _holds(self: Any, state: State, name: str, value: Any) -> bool:
    """Whether the object itself has this very value there, as after `self.array += 1`: storing it is no effect."""
    cls = type(state.original)
    if find(cls.__mro__, "__setattr__")[0] is not object:
        return False
    raw = find(cls.__mro__, name)[1]
    if raw is not _MISSING and hasattr(type(raw), "__set__"):
        own = type(raw) is types.MemberDescriptorType
    else:
        own = name in _instance_dict(state.original)
    return own and unchanged(read(self, name), value)


def _delete(self: Any, name: str) -> None:
    state = state_of(self)
    if state.session.guarded:
        raise CapturedWriteError(what=f"attribute `{state.node.text}.{name}`")
    state.cache.pop(name, None)
    delattr(state.original, name)


def copy_of(self: Any) -> Any:
    """`copy.copy`: an object of the user's class that holds the stand-ins."""
    original = state_of(self).original
    new = object.__new__(type(original))
    for name in (*_instance_dict(original), *slots(type(original))):
        object.__setattr__(new, name, read(self, name))
    return new


def deep_copy_of(self: Any, memo: dict[int, Any]) -> Any:
    new = memo[id(self)] = copy_of(self)
    for name in (*_instance_dict(new), *slots(type(new))):
        object.__setattr__(new, name, copy.deepcopy(getattr(new, name), memo))
    return new


def slots(cls: type) -> list[str]:
    """The names of all slots of a class."""
    return [n for base in cls.__mro__ for n, x in vars(base).items() if type(x) is types.MemberDescriptorType]


def _reduce(self: Any, protocol: Any) -> Any:
    """Pickled, it is the object itself."""
    return state_of(self).original.__reduce_ex__(protocol)


#: Methods that Python calls itself and takes nothing but a value of its own from, and how to make one.
_ANSWERS: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool,
    "__float__": float,
    "__complex__": complex,
    "__int__": int,
    "__index__": operator.index,
    "__len__": operator.index,
}


def answering(name: str, method: Any) -> Any:
    """The special method `name` for Python to call; what it is made from is its `followed`."""
    convert = _ANSWERS.get(name)
    if convert is None:
        return method

    def answer(*args: Any) -> Any:
        out = method(*args)
        return convert(out) if type(out) is Box else out

    answer.followed = method  # type: ignore[attr-defined]
    return answer


#: What every shadow class defines.
PROTOCOL = {
    "__getattribute__": read,
    "__setattr__": _write,
    "__delattr__": _delete,
    "__reduce_ex__": _reduce,
}
