"""Reading and writing attributes of shadows (see objects.py)."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tracejit.errors import CapturedWriteError
from tracejit.frontend import members, structures
from tracejit.frontend.checks import unchanged
from tracejit.frontend.journal import GONE, Change
from tracejit.frontend.shadows import behind
from tracejit.frontend.shadows.behind import (
    MISSING,
    Kept,
    State,
    class_node,
    find,
    instance_dict,
    is_slot,
    keeps,
    making,
    no_attribute,
    owns,
    put,
    refused,
    state_of,
    written,
)
from tracejit.frontend.shadows.cached import LRU
from tracejit.frontend.shadows.containers import Copy

if TYPE_CHECKING:
    from tracejit.frontend.paths import Node
    from tracejit.frontend.run import Run

_BOUND = (types.FunctionType, LRU, staticmethod, classmethod, functools.cached_property)
_COPYING = ("__copy__", "__deepcopy__")


def read(self: Any, name: str) -> Any:
    """`shadow.name`, as Python looks it up on the object."""
    state = state_of(self)
    here = written(state, name)
    if here is not MISSING and here is not GONE and (state.names is None or not _is_behind(state, name)):
        return here
    if name in state.cache and here is MISSING:
        return state.cache[name]
    original = state.original
    if name == "__class__":
        return state.session.stand_in(type(original))
    owner, raw = find(type(original).__mro__, name)
    if name == "__dict__" and hasattr(original, "__dict__"):
        return _names(self, state)
    if owner is object or name == "__reduce_ex__" or (raw is MISSING and name in _COPYING):
        return object.__getattribute__(self, name)
    if owner is not type(original):
        behind.not_overridden(state.session, type(original), owner, name)
    if raw is not MISSING and hasattr(type(raw), "__set__"):
        if here is GONE:
            raise no_attribute(original, name)
        return data_descriptor(self, state, owner, raw, name)
    values = instance_dict(original)
    if name in values and here is not GONE:
        return _value(state, name, values[name], _acts_if_absent(type(original), raw))
    if hasattr(original, "__dict__") and here is not GONE:
        state.session.check(state.node.attr("__dict__"), "absent", name)
    if (changed := members.written(state.session, type(original), name)) is not MISSING:
        return changed
    if raw is MISSING:
        return _missing(self, state, name)
    return bind(self, state, owner, raw, name)


def _names(self: Any, state: State) -> dict[str, Any]:
    """`shadow.__dict__`: one dict in a run, in which writes are seen."""
    values = instance_dict(state.original)
    if state.names is not None:
        return state.names
    node = state.node.attr("__dict__")
    state.session.check(node, "keys", tuple(values))
    earlier = {k: x for k, x in state.writes.items() if not is_slot(state.original, k)}
    for name in earlier:
        del state.writes[name]
    held = {key: _wrapped(state, key) if _is_behind(state, key) else read(self, key) for key in values}
    entries = [x for pair in held.items() for x in pair]
    state.session.containers.append(Copy(node, held, entries))
    for name, value in earlier.items():
        if value is not GONE:
            held[name] = value
        else:
            held.pop(name, None)
    state.names = held
    return held


def _is_behind(state: State, name: str) -> bool:
    """Whether an entry of the object's `__dict__` lies behind a descriptor of the class, which is asked for the
    attribute, and may look there."""
    raw = find(type(state.original).__mro__, name)[1]
    return raw is not MISSING and hasattr(type(raw), "__set__") and not keeps(raw)


def _wrapped(state: State, name: str) -> Any:
    """The stand-in of what lies in the object's `__dict__`."""
    node = state.node.attr("__dict__").item(name, state.node.attr(name).text)
    return state.session.wrap(node, instance_dict(state.original)[name])


def _acts_if_absent(cls: type, raw: Any) -> bool:
    """Whether asking an object for an attribute runs the user's code once it is not the object's own: a later call that
    looks whether it is still there must not."""
    by_class = raw is not MISSING and hasattr(type(raw), "__get__") and type(raw) is not types.FunctionType
    return by_class or find(cls.__mro__, "__getattr__")[0] is not None


def _value(state: State, name: str, value: Any, by_dict: bool = False) -> Any:
    node = state.node.attr(name)
    if by_dict:
        node = state.node.attr("__dict__").item(name, node.text)
    result = structures.part(state.session, type(state.original), node, value)
    if result is None:
        result = state.session.wrap(node, value)
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
    if not keeps(raw) and _has_getter(raw):
        return _get(state.session, owner, name, raw, self, state.session.stand_in(type(state.original)))
    if keeps(raw) and not hasattr(state.original, name):
        state.session.check(state.node, "missing", name)
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
    if not hasattr(type(raw), "__get__"):
        part = structures.part(session, type(state.original), state.node.attr(name), raw)
        return members.read(session, owner, name, raw) if part is None else part
    if not isinstance(raw, _BOUND) and not _has_getter(raw):
        return _value(state, name, getattr(state.original, name))
    result = bind_member(session, owner, name, raw, self, session.stand_in(type(state.original)))
    if isinstance(raw, functools.cached_property):
        if not session.guarded:
            behind.keep_at_once(state, name, result)
        elif session.capture.journaled:
            _put(self, state, name, result)
        else:
            state.cache[name] = result
    return result


def bind_member(session: Run, owner: type, name: str, raw: Any, obj: Any, cls: Any) -> Any:
    """What the class attribute `raw` gives on `obj` (None: on the class), functions as copies."""
    here = class_node(owner, name)
    if name == "__init__" and (init := making.init_of(owner, raw)) is not None:
        return _bound(init, obj, cls)
    if isinstance(raw, (types.FunctionType, LRU)):
        return _bound(session.wrap(here, raw), obj, cls)
    if isinstance(raw, staticmethod):
        return session.wrap(here.attr("__func__"), raw.__func__)
    if isinstance(raw, classmethod):
        return _bound(session.wrap(here.attr("__func__"), raw.__func__), cls, type(cls))
    if isinstance(raw, property) and obj is not None and raw.fget is not None:
        return session.wrap(here.attr("fget"), raw.fget)(obj)
    if type(raw) is property and obj is None:
        return _accessors(session, here, raw)
    if isinstance(raw, functools.cached_property) and obj is not None:
        return session.wrap(here.attr("func"), raw.func)(obj)
    if _has_getter(raw):
        return _get(session, owner, name, raw, obj, cls)
    if hasattr(type(raw), "__get__"):
        session.check(here, "is", raw)
        return raw.__get__(obj, cls)
    return members.read(session, owner, name, raw)


def _accessors(session: Run, here: Node, raw: property) -> Any:
    """A property that its class is asked for, as in `Base.value.fset(self, x)`: one of copies of its functions."""
    session.check(here, "is", raw)
    known = session.known(raw)
    if known is not None:
        return known
    parts = {n: getattr(raw, n) for n in ("fget", "fset", "fdel")}
    get, put, delete = (f and session.wrap(here.named(raw).attr(n), f) for n, f in parts.items())
    return session.remember(raw, property(get, put, delete, raw.__doc__), here)


def _bound(fn: Any, obj: Any, cls: Any) -> Any:
    get = getattr(type(fn), "__get__", None)
    return fn if get is None or obj is None else get(fn, obj, cls)


def _missing(self: Any, state: State, name: str) -> Any:
    owner, fallback = find(type(state.original).__mro__, "__getattr__")
    if owner is None and written(state, name) is GONE:
        raise no_attribute(state.original, name)
    if owner is None:
        state.session.check(state.node, "missing", name)
        try:
            return getattr(state.original, name)
        except AttributeError as e:
            raise e.with_traceback(None) from None  # Python says it, and it is no error of ours
    try:
        return bind(self, state, owner, fallback, "__getattr__")(name)
    except AttributeError as e:
        state.missed = e
        raise


def _looked_up(self: Any, name: str) -> Any:
    """`read` of an object whose class has a `__getattr__`."""
    state_of(self).missed = None
    return read(self, name)


def _asked(self: Any, name: str) -> Any:
    """What Python asks where `_looked_up` has raised AttributeError, as a property may: the class's `__getattr__`,
    unless that was it."""
    state = state_of(self)
    error, state.missed = state.missed, None
    if error is not None:
        raise error
    return _missing(self, state, name)


def _write(self: Any, name: str, value: Any) -> None:
    state = state_of(self)
    if not state.session.guarded:
        state.cache.pop(name, None)
        behind.at_once(state, _wrapped, name, state.session.original(value))
    elif not state.session.capture.journaled:
        if not _holds(self, state, name, value):
            raise refused(state, name)
    elif not _of_class(self, state, name, "__setattr__", value):
        assign(self, name, value)


def assign(self: Any, name: str, value: Any) -> None:
    """`object.__setattr__` of a shadow: by a property or descriptor, or as the object's own."""
    state = state_of(self)
    if not _of_descriptor(self, state, name, ("fset", "__set__"), value):
        raw = find(type(state.original).__mro__, name)[1]
        _put(self, state, name, raw.cast(value) if isinstance(raw, Kept) else value)


def _put(self: Any, state: State, name: str, value: Any) -> None:
    """`put`; what was deleted before is the last one in the `__dict__` then."""
    if written(state, name) is GONE and not is_slot(state.original, name):
        _names(self, state)
    put(self, name, value)


def own(self: Any, name: str) -> Any:
    """An attribute that is the object's own. AttributeError if it is not."""
    state = state_of(self)
    if written(state, name) is MISSING and not owns(state.original, name):
        raise AttributeError(name)
    return read(self, name)


def drop(self: Any, name: str) -> None:
    """Let the object have an attribute no longer, in this run."""
    state = state_of(self)
    read(self, name)  # it is guarded to be there
    if state.names is not None and not is_slot(state.original, name):
        if name not in state.names:
            raise refused(state, name)
        del state.names[name]
    elif written(state, name) is MISSING and not owns(state.original, name):
        raise refused(state, name)
    else:
        state.writes[name] = GONE


def _of_class(self: Any, state: State, name: str, by: str, *value: Any) -> bool:
    """Whether the object's class does an assignment (or deletion) itself, in the method `by`."""
    owner, method = find(type(state.original).__mro__, by)
    if owner is object:
        return False
    if not isinstance(method, types.FunctionType):
        raise refused(state, name)
    bind(self, state, owner, method, by)(name, *value)
    return True


def _of_descriptor(self: Any, state: State, name: str, by: tuple[str, str], *value: Any) -> bool:
    """Whether a property or a descriptor of the class does it: by the accessor or method that `by` names. Those that
    are not written in Python are refused."""
    cls, session = type(state.original), state.session
    owner, raw = find(cls.__mro__, name)
    if isinstance(raw, property):
        here, accessor = class_node(owner, name), getattr(raw, by[0])
        session.check(here, "is", raw)
        if accessor is None:
            raise CapturedWriteError(what=f"attribute `{cls.__name__}.{name}`")
        session.wrap(here.named(raw).attr(by[0]), accessor)(self, *value)
        return True
    if raw is MISSING or keeps(raw) or not hasattr(type(raw), by[1]):
        return False
    base, method = find(type(raw).__mro__, by[1])
    if not isinstance(method, types.FunctionType):
        raise CapturedWriteError(what=f"attribute `{cls.__name__}.{name}`")
    own = session.wrap(class_node(owner, name), raw)
    session.wrap(class_node(base, by[1]), method)(own, self, *value)
    return True


def changes(self: Any) -> Iterator[tuple[Change, bool]]:
    """The attributes that the run has left with something else, and whether each may be."""
    state = state_of(self)
    cls = type(state.original)
    past = cls.__setattr__ is not object.__setattr__ or cls.__delattr__ is not object.__delattr__
    for name, value in state.writes.items():
        own = owns(state.original, name)
        if value is GONE:
            behind.keep_presence(state, name, own)
            if not own:
                continue
        if not (own and name in state.cache and unchanged(state.cache[name], value)):
            yield Change(state.node.attr(name), value, past=past), True


def _holds(self: Any, state: State, name: str, value: Any) -> bool:
    """Whether the object itself has this very value there, as after `self.array += 1`: storing it is no effect."""
    cls = type(state.original)
    if find(cls.__mro__, "__setattr__")[0] is not object:
        return False
    raw = find(cls.__mro__, name)[1]
    if raw is not MISSING and hasattr(type(raw), "__set__"):
        own = keeps(raw)
    else:
        own = name in instance_dict(state.original)
    return own and unchanged(read(self, name), value)


def _delete(self: Any, name: str) -> None:
    state = state_of(self)
    if not state.session.guarded:
        state.cache.pop(name, None)
        if (state.names or {}).pop(name, MISSING) is MISSING or owns(state.original, name):
            behind.at_once(state, _wrapped, name)
    elif not state.session.capture.journaled:
        raise refused(state, name)
    elif not _of_class(self, state, name, "__delattr__"):
        delete(self, name)


def delete(self: Any, name: str) -> None:
    """`object.__delattr__` of a shadow."""
    if not _of_descriptor(self, state_of(self), name, ("fdel", "__delete__")):
        drop(self, name)


def _reduce(self: Any, protocol: Any) -> Any:
    """Pickled, it is the object itself."""
    state = state_of(self)
    if state.writes or state.names is not None:
        raise refused(state, next(iter(state.writes), "__dict__"))
    return state.original.__reduce_ex__(protocol)


_PROTOCOL = {
    "__getattribute__": read,
    "__setattr__": _write,
    "__delattr__": _delete,
    "__reduce_ex__": _reduce,
}


def protocol(cls: type) -> dict[str, Any]:
    """What a shadow class of `cls` defines."""
    if find(cls.__mro__, "__getattr__")[0] is None:
        return _PROTOCOL
    return _PROTOCOL | {"__getattribute__": _looked_up, "__getattr__": _asked}
